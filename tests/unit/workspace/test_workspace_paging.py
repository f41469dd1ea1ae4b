"""Reading files in pages."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from app.engine.errors import PathRefused, Unreadable
from app.engine.workspace.layout import Layout, ensure
from app.engine.workspace.paging import NoSuchLines, memory_lines, read_page


@pytest.fixture
def at(tmp_path: Path) -> Layout:
    layout = Layout.at(tmp_path / "w")
    ensure(layout)
    layout.memory_md.write_text("# A\n- one\n- two\n")
    (layout.memory_dir / "2026-01-01.md").write_text("no final newline")
    (layout.root / "notes.md").write_text("not memory")
    (tmp_path / "secret").write_text("outside")
    return layout


@pytest.mark.case("TOL-1")
def test_ranges_of_lines(at: Layout) -> None:
    assert memory_lines(at, "MEMORY.md", 2, 3) == "2|- one\n3|- two"
    assert memory_lines(at, "MEMORY.md", -1, 1) == "1|# A"
    assert memory_lines(at, "MEMORY.md", 0, 1) == "1|# A"
    assert memory_lines(at, "MEMORY.md", 3, 10**12) == "3|- two\n4|"
    assert memory_lines(at, "MEMORY.md", 3, 2) == ""
    assert memory_lines(at, "MEMORY.md") == "1|# A\n2|- one\n3|- two\n4|"
    assert memory_lines(at, "memory/2026-01-01.md") == "1|no final newline"
    (at.memory_dir / "blank.md").write_text(" \n\n")
    errors = []
    for path in ("", "  ", "memory/missing.md", "memory/blank.md"):
        with pytest.raises(PathRefused) as caught:
            memory_lines(at, path)
        errors.append(str(caught.value))
    assert len(set(errors)) == 1
    with pytest.raises(NoSuchLines, match=r"\b9\b.*\b4\b"):
        memory_lines(at, "MEMORY.md", 9, 12)


@pytest.mark.case("B82", "TOL-2")
@pytest.mark.skipif(sys.platform == "win32", reason="links and FIFOs of POSIX")
def test_only_regular_files_of_the_memory_are_read(at: Layout) -> None:
    outside = at.root.parent
    (at.memory_dir / "link.md").symlink_to(outside / "secret")
    (at.memory_dir / "dirlink").symlink_to(outside)
    (outside / "x.md").write_text("outside")
    os.mkfifo(at.memory_dir / "fifo")
    (at.root / ".env").write_text("outside")
    for path in (
        "../secret", "/etc/hostname", "memory/../../x", "memory/link.md", "memory/dirlink/x.md",
        "memory/2026-01-01.md\x00.txt", "MEMORY.md/../.env", "memory/fifo", "memory/", "C:\\x",
        "file:///x", "x" * 5_000, "notes.md", ".palimpsest/format", ".env",
    ):  # fmt: skip
        for first, last in ((None, None), (-1, 0), (0, 10**12), (10**12, -1)):
            with pytest.raises(PathRefused) as caught:
                memory_lines(at, path, first, last)
            said = f"{caught.value} {caught.value.remedy}"
            assert len(said) < 160
            assert "secret" not in said
            assert str(outside) not in said


def test_lines_count_as_everywhere_else(at: Layout) -> None:
    at.memory_md.write_bytes("\ufeff# A\r\n- x\u2028y\x0bz\r\n- 三\r\n".encode())
    assert memory_lines(at, "MEMORY.md", 1, 3) == "1|# A\n2|- x\u2028y\x0bz\n3|- 三"


def test_memory_in_another_encoding_is_refused_by_name(at: Layout) -> None:
    at.memory_md.write_bytes("数据库迁移".encode("gbk"))
    with pytest.raises(Unreadable, match="GBK"):
        memory_lines(at, "MEMORY.md")


def test_a_huge_answer_is_bounded_and_says_how_to_go_on(at: Layout) -> None:
    at.memory_md.write_text("".join(f"- line {n}\n" for n in range(10_000)))
    text = memory_lines(at, "MEMORY.md", cap=1_000)
    assert len(text) < 1_100
    assert "startLine" in text
    at.memory_md.write_text("x" * 50_000 + "\nend\n")
    text = memory_lines(at, "MEMORY.md", cap=1_000)
    assert len(text) < 1_200
    assert "50000" in text


# ---------------------------------------------------------------------------- read_file


@pytest.fixture
def long_line(tmp_path: Path) -> tuple[Path, str]:
    text = ('{"key": "你好🍸"}, ' * 350_000)[:5_000_003]
    path = tmp_path / "one-line"
    path.write_bytes(text.encode())
    return path, text


@pytest.mark.case("EVI-13")
def test_a_one_line_file_never_comes_back_whole(long_line: tuple[Path, str]) -> None:
    path, text = long_line
    page = read_page(path, offset=1, limit=1, cap=250_000)
    assert len(page.text) == 250_000
    assert f"charOffset={page.end}" in page.hint
    pages = [page.text]
    while page.hint:
        page = read_page(path, char_offset=page.end, char_limit=10**9, cap=250_000)
        assert len(page.text) <= 250_000
        pages.append(page.text)
    assert "".join(pages) == text


def test_line_pages_join_to_the_original(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    text = "".join(f"第 {n} 行\u2028x\r\n" for n in range(1_000)) + "tail without newline"
    path.write_bytes(text.encode())
    pages, offset = [], 1
    while True:
        page = read_page(path, offset=offset, limit=300, cap=40_000)
        pages.append(page.text)
        if not page.hint:
            break
        offset += 300
        assert f"offset={offset}" in page.hint
    assert "".join(pages) == text
    assert read_page(path, offset=1_001).text == "tail without newline"
    with pytest.raises(NoSuchLines, match=r"5000.*1001"):
        read_page(path, offset=5_000)


@pytest.mark.parametrize("size", [(1 << 20) - 1, 1 << 20, (1 << 20) + 1, (1 << 21) + 1])
@pytest.mark.parametrize("unit", ["x", "é", "你", "🍸"])
def test_characters_across_the_chunks_of_a_stream(tmp_path: Path, unit: str, size: int) -> None:
    path = tmp_path / "big"
    text = "a" * (size % 5) + unit * (size // len(unit.encode()) + 3)
    path.write_bytes(text.encode())
    at = (1 << 20) // len(unit.encode()) - 1
    page = read_page(path, char_offset=at, char_limit=4)
    assert page.text == text[at : at + 4]
    assert page.total == len(text)


def test_line_starts_across_the_chunks_of_a_stream(tmp_path: Path) -> None:
    path = tmp_path / "big"
    lines = [f"{n} " + "你" * 50 + "\n" for n in range(20_000)]
    path.write_bytes("".join(lines).encode())
    for n in (1, 2, 6_765, 6_766, 6_767, 13_000, 20_000):
        page = read_page(path, offset=n, limit=1)
        assert page.text == lines[n - 1]
        assert page.start == sum(map(len, lines[: n - 1]))


@pytest.mark.parametrize(
    "data", ["# 标题 A".encode("utf-16"), "数据库迁移".encode("gbk"), b"\x89PNG\r\n\x1a\n\xff"]
)
def test_what_is_no_utf8_text_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "x"
    path.write_bytes(data)
    for ask in ({"offset": 1}, {"char_offset": 0}):
        with pytest.raises(Unreadable, match="UTF-8"):
            read_page(path, **ask)


def test_empty_and_missing_files(tmp_path: Path) -> None:
    path = tmp_path / "x"
    with pytest.raises(Unreadable):
        read_page(path)
    path.write_bytes(b"")
    assert read_page(path).text == ""
    assert read_page(path, char_offset=5).text == ""
