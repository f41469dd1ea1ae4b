"""Evicted tool results on the disk."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest

from app.engine.errors import PathRefused, StorageError, Unreadable
from app.engine.workspace import files
from app.engine.workspace.evictions import Evictions
from app.engine.workspace.layout import Layout, ensure
from app.engine.workspace.trash import Trash


@pytest.fixture
def at(tmp_path: Path) -> Layout:
    layout = Layout.at(tmp_path / "w", "my bot")
    ensure(layout)
    return layout


def test_a_result_is_a_file_of_exactly_its_text(at: Layout) -> None:
    text = "a\r\nb\u2028c\n\n 你"
    put = Evictions(at).write("call/1.é", text)
    hash16 = sha256(text.encode()).hexdigest()[:16]
    assert put.path == f"large_tool_results/my_bot/call_1__-{hash16}"
    assert (put.chars, put.sha256) == (len(text), sha256(text.encode()).hexdigest())
    assert (at.root / put.path).read_bytes() == text.encode()


def test_same_text_is_reused_and_other_text_is_a_second_file(at: Layout) -> None:
    store = Evictions(at)
    one = store.write("c", "first")
    stamp = (at.root / one.path).stat()
    again = store.write("c", "first")
    two = store.write("c", "second")
    assert (again.path, again.reused, two.reused) == (one.path, True, False)
    assert (at.root / one.path).stat().st_ino == stamp.st_ino
    assert two.path != one.path
    assert store.text(one.path) == "first"
    assert len(store.list()) == 2


@pytest.mark.case("EVI-7")
def test_absolute_base_is_kept_and_trailing_slashes_trimmed(at: Layout, tmp_path: Path) -> None:
    away = Evictions(at, f"{tmp_path}/away//").write("c", "x")
    assert away.path.startswith(f"{tmp_path}/away/my_bot/c-")
    assert Path(away.path).read_text() == "x"
    assert Evictions(at, f"{tmp_path}/away").text(away.path) == "x"
    near = Evictions(at, "results///").write("c", "x")
    assert near.path.startswith("results/my_bot/c-")


def test_a_failed_write_leaves_nothing(at: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "replace", refuse)
    store = Evictions(at)
    with pytest.raises(StorageError):
        store.write("c", "x")
    assert store.list() == []
    assert list(store.folder.iterdir()) == []


def test_a_torn_file_is_made_whole(at: Layout) -> None:
    store = Evictions(at)
    path = at.root / store.write("c", "the whole text").path
    path.write_text("the wh")
    assert not store.write("c", "the whole text").reused
    assert path.read_text() == "the whole text"


def test_pages_of_one_long_line_join_to_the_original(at: Layout) -> None:
    store = Evictions(at)
    text = ("你好🍸x" * 80_000)[:300_001]
    path = store.write("c", text).path
    pages = []
    start = 0
    while True:
        page = store.page(path, start, 40_000)
        assert len(page.text) <= 40_000
        assert (page.start, page.end, page.total) == (start, start + len(page.text), len(text))
        pages.append(page.text)
        start = page.end
        if start == page.total:
            break
    assert "".join(pages) == text
    assert store.page(path, 10**12, 5).text == ""
    assert store.page(path, -5, 2).text == text[:2]
    assert store.page(path, 299_999, 10).text == text[-2:]


def test_an_empty_result_has_an_empty_page(at: Layout) -> None:
    store = Evictions(at)
    page = store.page(store.write("c", "").path)
    assert (page.text, page.total) == ("", 0)


def test_a_missing_file_is_told_and_restored_when_the_hash_matches(at: Layout) -> None:
    store = Evictions(at)
    put = store.write("c", "the text")
    (at.root / put.path).unlink()
    with pytest.raises(Unreadable):
        store.page(put.path)
    assert not store.restore(put.path, "another text", put.sha256)
    with pytest.raises(Unreadable):
        store.text(put.path)
    assert store.restore(put.path, "the text", put.sha256)
    assert store.text(put.path) == "the text"


@pytest.mark.parametrize(
    "path",
    [
        "large_tool_results/my_bot/../../MEMORY.md", "MEMORY.md", "/etc/hostname",
        "large_tool_results/my_bot/notes.md", "large_tool_results/other/c-0123456789abcdef",
    ],
)  # fmt: skip
def test_only_files_of_the_folder_are_paged(at: Layout, path: str) -> None:
    with pytest.raises(PathRefused):
        Evictions(at).page(path)


@pytest.mark.skipif(sys.platform == "win32", reason="links of POSIX")
def test_links_are_not_followed(at: Layout, tmp_path: Path) -> None:
    store = Evictions(at)
    put = store.write("c", "x")
    (tmp_path / "secret").write_text("theirs")
    (at.root / put.path).unlink()
    (at.root / put.path).symlink_to(tmp_path / "secret")
    with pytest.raises(PathRefused):
        store.page(put.path)
    with pytest.raises(PathRefused):
        store.write("c", "x")
    assert (tmp_path / "secret").read_text() == "theirs"
    assert store.list() == []


def test_list_orphans_and_trash(at: Layout) -> None:
    store = Evictions(at)
    old, new = store.write("a-1", "1"), store.write("b", "22")
    os.utime(at.root / old.path, (1, 1))
    (store.folder / "README").write_text("not ours")
    assert [(f.path, f.call, f.bytes) for f in store.list()] == [
        (new.path, "b", 2),
        (old.path, "a-1", 1),
    ]
    assert [f.path for f in store.orphans({new.path})] == [old.path]
    Trash(at).move("r-1", [old.path], rule="cleaned", when=datetime(2026, 6, 1, tzinfo=UTC))
    assert [f.path for f in store.list()] == [new.path]
