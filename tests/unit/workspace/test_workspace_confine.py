"""Paths that people and models give."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from app.engine.errors import PathRefused
from app.engine.workspace.confine import (
    MEMORY_AREAS,
    inside,
    readable,
    same_file,
    write_target,
)

posix = pytest.mark.skipif(sys.platform == "win32", reason="links and FIFOs of POSIX")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    root = tmp_path / "workspace"
    (root / "memory").mkdir(parents=True)
    (root / ".palimpsest").mkdir()
    (root / "MEMORY.md").write_text("kept")
    (root / "notes.md").write_text("notes")
    (root / "memory" / "2026-01-01.md").write_text("day")
    (tmp_path / "secret.md").write_text("outside")
    return root


@pytest.mark.case("SES-11")
@pytest.mark.parametrize(
    "text",
    [
        "../secret.md", "/etc/hostname", "memory/../../x", "memory/../../../x",
        "memory/2026-01-01.md\x00.txt", "MEMORY.md/../.env", "C:\\x", "C:/x", "file:///x",
        "..\\x", "memory\\..\\..\\x", "\\\\server\\x", "x" * 5_000, "a" * 300, "", "  ", "..",
        "bad\ud83dname",
    ],
)  # fmt: skip
def test_what_leaves_or_is_no_path_is_refused(home: Path, text: str) -> None:
    for check in (inside, readable):
        with pytest.raises(PathRefused) as caught:
            check(home, text)
        assert "secret" not in str(caught.value)
        assert str(home.parent) not in str(caught.value)
        assert len(str(caught.value)) < 120


@pytest.mark.case("SES-11")
def test_a_name_that_holds_two_dots_is_fine(home: Path) -> None:
    assert inside(home, "memory/a..b.md") == home / "memory" / "a..b.md"
    assert inside(home, "v1..v2/notes...md") == home / "v1..v2" / "notes...md"


@posix
def test_links_are_followed_only_inside_the_area(home: Path) -> None:
    (home / "memory" / "link.md").symlink_to(home.parent / "secret.md")
    (home / "memory" / "dirlink").symlink_to(home.parent)
    (home / "memory" / "up.md").symlink_to(home / "notes.md")
    (home / "memory" / "same.md").symlink_to("2026-01-01.md")
    (home / "memory" / "circle.md").symlink_to("circle.md")
    for text in ("memory/link.md", "memory/dirlink/secret.md", "memory/up.md", "memory/circle.md"):
        with pytest.raises(PathRefused) as caught:
            readable(home, text, areas=MEMORY_AREAS)
        assert "secret" not in str(caught.value)
    for text in ("memory/link.md", "memory/dirlink/secret.md", "memory/dirlink/new.md"):
        with pytest.raises(PathRefused):
            inside(home, text)
    assert readable(home, "memory/same.md", areas=MEMORY_AREAS).read_text() == "day"
    assert readable(home, "memory/up.md").read_text() == "notes"


@posix
def test_only_regular_files_are_read_and_a_fifo_does_not_hang(home: Path) -> None:
    os.mkfifo(home / "memory" / "fifo")
    for text in ("memory/fifo", "memory/", "memory", "memory/missing.md"):
        with pytest.raises(PathRefused):
            readable(home, text, areas=MEMORY_AREAS)


def test_the_memory_area_is_not_the_whole_workspace(home: Path) -> None:
    assert readable(home, "MEMORY.md", areas=MEMORY_AREAS).read_text() == "kept"
    with pytest.raises(PathRefused):
        readable(home, "notes.md", areas=MEMORY_AREAS)


def test_the_engines_own_folder_is_closed(home: Path) -> None:
    for text in (".palimpsest/config.toml", ".palimpsest", "memory/./../.palimpsest/x"):
        with pytest.raises(PathRefused):
            inside(home, text)


@posix
def test_an_alias_is_the_same_file(home: Path) -> None:
    (home / "alias.md").symlink_to("MEMORY.md")
    os.link(home / "MEMORY.md", home / "hard.md")
    for name in ("alias.md", "hard.md", "MEMORY.md"):
        assert same_file(inside(home, name), home / "MEMORY.md")
    assert not same_file(home / "notes.md", home / "MEMORY.md")


@posix
def test_a_write_goes_to_a_links_target_unless_it_leaves(home: Path) -> None:
    (home / "real.md").write_text("x")
    (home / "in.md").symlink_to("real.md")
    (home / "out.md").symlink_to(home.parent / "secret.md")
    (home / "round.md").symlink_to("round.md")
    assert write_target(home, home / "in.md") == home / "real.md"
    for name in ("out.md", "round.md"):
        with pytest.raises(PathRefused) as caught:
            write_target(home, home / name)
        assert "secret" not in str(caught.value)
