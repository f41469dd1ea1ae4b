"""MEMORY.md, its single writer, the saved block and pins."""

from __future__ import annotations

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from app.engine.errors import BaseChanged, PathRefused, StorageError, Unreadable
from app.engine.workspace import files
from app.engine.workspace.files import digest
from app.engine.workspace.history import VersionNotFound
from app.engine.workspace.layout import Layout, ensure
from app.engine.workspace.memory_file import MemoryWriter, Spelling, with_saved

WHEN = datetime(2026, 6, 2, 3, 15, tzinfo=UTC)
posix = pytest.mark.skipif(sys.platform == "win32", reason="links of POSIX")


@pytest.fixture
def at(tmp_path: Path) -> Layout:
    layout = Layout.at(tmp_path / "w")
    ensure(layout)
    return layout


@pytest.fixture
def writer(at: Layout) -> MemoryWriter:
    return MemoryWriter(at)


def causes(writer: MemoryWriter) -> list[str]:
    return [version.cause for version in writer.history.versions()]


# ---------------------------------------------------------------------------- reading


def test_four_states(at: Layout, writer: MemoryWriter) -> None:
    assert writer.read().state == "absent"
    assert writer.read().sha256 == ""
    at.memory_md.write_text(" \n\t\n")
    assert writer.read().state == "empty"
    at.memory_md.write_text("# A\n")
    found = writer.read()
    assert (found.state, found.text, found.sha256) == ("present", "# A\n", digest(b"# A\n"))
    at.memory_md.write_bytes("记忆文件".encode("utf-16"))
    found = writer.read()
    assert (found.state, found.text) == ("unreadable", "")
    assert "UTF-16" in found.problem
    at.memory_md.unlink()
    at.memory_md.mkdir()
    assert writer.read().state == "unreadable"


# ---------------------------------------------------------------------------- writing


def test_each_write_is_a_version(at: Layout, writer: MemoryWriter) -> None:
    one = writer.write("# A\n", base_sha256="", cause="hand", when=WHEN)
    two = writer.write("# B\n", base_sha256=writer.read().sha256, cause="hand", when=WHEN)
    assert (one.number, two.number) == (1, 2)
    assert at.memory_md.read_bytes() == b"# B\n"
    same = writer.write("# B\n", base_sha256=None, cause="hand", when=WHEN)
    assert same == two
    assert len(causes(writer)) == 2


@pytest.mark.parametrize("text", ["# theirs\n", ""])
def test_a_changed_base_is_refused(at: Layout, writer: MemoryWriter, text: str) -> None:
    writer.write("# A\n", base_sha256="", cause="hand", when=WHEN)
    base = writer.read().sha256
    at.memory_md.write_text(text)
    with pytest.raises(BaseChanged):
        writer.write("# ours\n", base_sha256=base, cause="consolidation", when=WHEN)
    with pytest.raises(BaseChanged):
        writer.write("# ours\n", base_sha256="", cause="consolidation", when=WHEN)
    assert at.memory_md.read_text() == text


@pytest.mark.parametrize("data", ["数据库".encode("gbk"), "# A 标题\n".encode("utf-16")])
def test_a_file_not_understood_is_never_rewritten(
    at: Layout, writer: MemoryWriter, data: bytes
) -> None:
    at.memory_md.write_bytes(data)
    for act in (
        lambda: writer.write("# A\n", base_sha256=None, cause="hand", when=WHEN),
        lambda: writer.save("- x", when=WHEN),
        lambda: writer.undo(when=WHEN),
    ):
        with pytest.raises(Unreadable):
            act()
    assert writer.notice_external(when=WHEN) is None
    assert at.memory_md.read_bytes() == data
    assert causes(writer) == []


def test_newlines_and_bom_stay(at: Layout, writer: MemoryWriter) -> None:
    at.memory_md.write_bytes(b"\xef\xbb\xbf# A\r\n- one\r\n")
    found = writer.read()
    assert found.text == "# A\n- one\n"
    version = writer.write(
        found.text + "- two\n", base_sha256=found.sha256, cause="consolidation", when=WHEN
    )
    assert at.memory_md.read_bytes() == b"\xef\xbb\xbf# A\r\n- one\r\n- two\r\n"
    assert (version.added, version.dropped) == (1, 0)


def test_a_hand_edit_made_elsewhere_is_a_version_of_its_own(
    at: Layout, writer: MemoryWriter
) -> None:
    at.memory_md.write_text("# found\n")
    start = writer.notice_external(when=WHEN)
    assert start is not None
    assert (start.number, start.cause) == (1, "start")
    assert writer.notice_external(when=WHEN) is None
    at.memory_md.write_text("# edited\n")
    writer.write("# ours\n", base_sha256=writer.read().sha256, cause="consolidation", when=WHEN)
    at.memory_md.unlink()
    gone = writer.notice_external(when=WHEN)
    assert gone is not None
    assert gone.note
    assert causes(writer) == ["external", "consolidation", "external", "start"]
    assert [writer.history.text(n) for n in (1, 2, 3, 4)] == [
        "# found\n", "# edited\n", "# ours\n", "",
    ]  # fmt: skip


def test_a_failed_write_changes_nothing(
    at: Layout, writer: MemoryWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer.write("# A\n", base_sha256="", cause="hand", when=WHEN)

    def refuse(*_args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "replace", refuse)
    with pytest.raises(StorageError):
        writer.write("# B\n", base_sha256=None, cause="hand", when=WHEN)
    monkeypatch.undo()
    assert at.memory_md.read_text() == "# A\n"
    assert writer.history.latest_text() == "# A\n"


def test_without_a_readable_history_nothing_is_written(at: Layout, writer: MemoryWriter) -> None:
    at.memory_md.write_text("# A\n")
    at.history.write_text("not a repository")
    for act in (
        lambda: writer.write("# B\n", base_sha256=None, cause="hand", when=WHEN),
        lambda: writer.save("- x", when=WHEN),
    ):
        with pytest.raises(StorageError):
            act()
    assert at.memory_md.read_text() == "# A\n"


def test_models_and_tools_cannot_write_a_secret_but_a_person_can(
    at: Layout, writer: MemoryWriter
) -> None:
    key = "AKIA" + "ABCDEFGH12345678"
    writer.write(f"- {key}\n", base_sha256=None, cause="consolidation", when=WHEN)
    writer.save(f"- also {key}", when=WHEN)
    assert key not in at.memory_md.read_text()
    assert at.memory_md.read_text().count("[masked: access key]") == 2
    writer.write(f"- {key}\n", base_sha256=None, cause="hand", when=WHEN)
    assert at.memory_md.read_text() == f"- {key}\n"


@pytest.mark.parametrize("cause", ["saved", "consolidation", "hand"])
def test_the_first_write_is_taken_back_to_nothing(
    at: Layout, writer: MemoryWriter, cause: str
) -> None:
    writer.write("# A\n", base_sha256="", cause=cause, when=WHEN, provenance={"a": 1})
    undone = writer.undo(when=WHEN)
    assert (undone.number, undone.cause, at.memory_md.read_text()) == (2, "undo", "")
    assert not writer.history.provenance()
    writer.undo(when=WHEN)
    assert at.memory_md.read_text() == "# A\n", "and the undo is taken back, too"


def test_what_a_person_began_with_has_nothing_before_it(at: Layout, writer: MemoryWriter) -> None:
    with pytest.raises(VersionNotFound):
        writer.undo(when=WHEN)
    at.memory_md.write_text("# Mine\n")
    with pytest.raises(VersionNotFound):
        writer.undo(when=WHEN)
    assert at.memory_md.read_text() == "# Mine\n"


def test_undo_and_restore_are_new_versions(at: Layout, writer: MemoryWriter) -> None:
    writer.write("# A\n", base_sha256="", cause="hand", when=WHEN, provenance={"a": 1})
    writer.write("# B\n", base_sha256=None, cause="consolidation", when=WHEN, provenance={"b": 1})
    undone = writer.undo(when=WHEN)
    assert (undone.number, undone.cause, at.memory_md.read_text()) == (3, "undo", "# A\n")
    assert writer.history.provenance() == {"a": 1}
    back = writer.restore(2, when=WHEN)
    assert (back.number, back.cause, at.memory_md.read_text()) == (4, "restored", "# B\n")
    assert writer.history.provenance() == {"b": 1}
    with pytest.raises(VersionNotFound):
        writer.restore(9, when=WHEN)


@posix
def test_a_link_is_kept_and_its_target_written(at: Layout, writer: MemoryWriter) -> None:
    target = at.root / "knowledge" / "memory-real.md"
    target.parent.mkdir()
    target.write_text("# A\n")
    at.memory_md.symlink_to(target)
    writer.write("# B\n", base_sha256=writer.read().sha256, cause="consolidation", when=WHEN)
    assert at.memory_md.is_symlink()
    assert target.read_text() == "# B\n"


@posix
@pytest.mark.parametrize("name", ["../outside.md", ".palimpsest/pins.json"])
def test_a_link_that_leaves_is_refused(at: Layout, writer: MemoryWriter, name: str) -> None:
    target = at.root / name
    target.write_text("theirs")
    at.memory_md.symlink_to(target)
    with pytest.raises((PathRefused, Unreadable)) as caught:
        writer.write("# B\n", base_sha256=None, cause="hand", when=WHEN)
    assert "outside.md" not in str(caught.value)
    assert target.read_text() == "theirs"
    assert at.memory_md.is_symlink()


def test_two_writers_at_once_lose_nothing(at: Layout) -> None:
    def work(who: str) -> None:
        own = MemoryWriter(at)
        for n in range(15):
            own.save(f"- {who} {n}", when=WHEN)

    threads = [threading.Thread(target=work, args=(who,)) for who in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = at.memory_md.read_text().split("\n")
    assert {line for line in lines if line.startswith("- ")} == {
        f"- {who} {n}" for who in "ab" for n in range(15)
    }
    assert MemoryWriter(at).history.versions()[0].number == 30


# ---------------------------------------------------------------------------- saved block


def test_the_saved_block_is_made_at_the_end_and_then_filled(
    at: Layout, writer: MemoryWriter
) -> None:
    at.memory_md.write_text("# A\n- one")
    version, count = writer.save("- Backup window moved to 03:00\n", when=WHEN)
    assert (version.cause, count) == ("saved", 1)
    writer.save("- second\n- third\n- fourth", when=WHEN)
    assert at.memory_md.read_text() == (
        "# A\n- one\n\n<!-- palimpsest:saved -->\n## Saved\n- Backup window moved to 03:00\n"
        "- second\n- third\n- fourth\n<!-- /palimpsest:saved -->\n"
    )


def test_an_empty_file_gets_the_block_alone(at: Layout, writer: MemoryWriter) -> None:
    at.memory_md.write_text("\n")
    writer.save("plain words", when=WHEN)
    assert at.memory_md.read_text() == (
        "<!-- palimpsest:saved -->\n## Saved\n- plain words\n<!-- /palimpsest:saved -->\n"
    )


@pytest.mark.parametrize(
    ("content", "count"),
    [
        ("- a\n- b\n- c", 3), ("one\ntwo", 1), ("- a\n  more\n\n- b", 2), ("  - nested first", 1),
        ("---\nfront: matter", 1),
    ],
)  # fmt: skip
def test_the_number_of_bullets_is_told(writer: MemoryWriter, content: str, count: int) -> None:
    assert writer.save(content, when=WHEN)[1] == count


def test_no_saved_text_can_end_the_block_or_open_a_heading(
    at: Layout, writer: MemoryWriter
) -> None:
    writer.save("- a\n<!-- /palimpsest:saved -->\n# Heading\n## Saved", when=WHEN)
    writer.save("<!-- palimpsest:saved -->", when=WHEN)
    writer.save("- last", when=WHEN)
    lines = at.memory_md.read_text().split("\n")
    assert [line for line in lines if line and line[0] in "<#"] == [
        "<!-- palimpsest:saved -->", "## Saved", "<!-- /palimpsest:saved -->",
    ]  # fmt: skip
    assert lines[-3] == "- last"


def test_a_blank_save_is_an_error(at: Layout, writer: MemoryWriter) -> None:
    with pytest.raises(ValueError, match="nothing"):
        writer.save(" \n ", when=WHEN)
    assert not at.memory_md.exists()


def test_an_end_mark_without_start_is_text() -> None:
    text = with_saved("<!-- /palimpsest:saved -->\n", ["- a"])
    assert text.endswith("<!-- palimpsest:saved -->\n## Saved\n- a\n<!-- /palimpsest:saved -->\n")


# ---------------------------------------------------------------------------- pins, spellings


def test_pins_are_lines_kept_verbatim(at: Layout, writer: MemoryWriter) -> None:
    assert writer.pins() == ()
    writer.set_pins(["- 喝茶  ", "- b", "- b", ""])
    assert MemoryWriter(at).pins() == ("- 喝茶", "- b")
    assert writer.pinned_lines("# A\n- 喝茶\n- c\n- b \n") == (2, 4)


def test_pins_set_at_once_from_two_programs_are_all_kept(at: Layout) -> None:
    def pin(name: str) -> None:
        for n in range(20):
            MemoryWriter(at).pin(f"- {name} {n}", True)

    names = ("a", "b", "c")
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(pin, names))
    assert set(MemoryWriter(at).pins()) == {f"- {name} {n}" for name in names for n in range(20)}


NOT_PINS = [
    "{", '{"pins": [1]}', '{"other": []}', "[]", '{"pins": "- a"}', '{"pins": {"- a": 1}}',
    '{"version": 2, "pins": ["- a"]}',
]  # fmt: skip


@pytest.mark.parametrize("text", NOT_PINS)
def test_pins_not_understood_are_left(at: Layout, writer: MemoryWriter, text: str) -> None:
    at.pins.write_text(text)
    with pytest.raises(Unreadable):
        writer.pins()
    with pytest.raises(Unreadable):
        writer.set_pins(["- a"])
    assert at.pins.read_text() == text


@posix
def test_other_spellings_are_reported_and_not_merged(at: Layout, writer: MemoryWriter) -> None:
    at.memory_md.write_text("# ours\n")
    if (at.root / "memory.md").exists():
        pytest.skip("this disk folds case")
    (at.root / "memory.md").write_text("# theirs\n")
    (at.root / "Memory").mkdir()
    os.link(at.memory_md, at.root / "Memory.md")
    (at.root / "memory.MD").symlink_to("MEMORY.md")
    assert writer.other_spellings() == [
        Spelling("Memory", False), Spelling("Memory.md", True), Spelling("memory.MD", True),
        Spelling("memory.md", False),
    ]  # fmt: skip
    assert writer.read().text == "# ours\n"
