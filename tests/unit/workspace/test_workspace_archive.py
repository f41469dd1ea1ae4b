"""Old days move to the archive and back; a person's texts keep their form."""

from __future__ import annotations

import os
import sys
from datetime import date, timedelta
from pathlib import Path

import pytest

from app.engine.errors import BaseChanged, PathRefused, Unreadable
from app.engine.workspace.archive import archive, bring_back, expired
from app.engine.workspace.documents import rewrite
from app.engine.workspace.files import digest
from app.engine.workspace.layout import Layout, ensure

TODAY = date(2026, 6, 2)


@pytest.fixture
def at(tmp_path: Path) -> Layout:
    layout = Layout.at(tmp_path / "w")
    ensure(layout)
    return layout


def put(at: Layout, name: str, text: str = "- x\n") -> Path:
    path = at.memory_dir / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.case("MNT-1")
def test_the_name_decides_and_the_last_day_stays(at: Layout) -> None:
    old, kept = TODAY - timedelta(days=91), TODAY - timedelta(days=90)
    put(at, f"{old}.md", "- old\n")
    os.utime(put(at, f"{kept}.md"), (1, 1))
    due = expired(at, today=TODAY, retention_days=90)
    assert [info.path for info in due] == [f"memory/{old}.md"]
    assert archive(at, due[0].path) == f"memory/archive/{old}.md"
    assert (at.archive_dir / f"{old}.md").read_text() == "- old\n"
    assert not at.daily(old).exists()
    assert at.daily(kept).exists()
    assert expired(at, today=TODAY, retention_days=90) == []


@pytest.mark.case("MNT-2")
def test_other_files_stay(at: Layout) -> None:
    names = ["notes.md", ".consolidation_state", ".2020-01-01.md", "2020-01-01-topic.md",
             "2020-1-1.md", "2020-01-01.txt", "2020-13-01.md"]  # fmt: skip
    for name in names:
        put(at, name)
    before = sorted(p.name for p in at.memory_dir.iterdir())
    for info in expired(at, today=TODAY, retention_days=1):
        archive(at, info.path)
    assert sorted(p.name for p in at.memory_dir.iterdir()) == before


@pytest.mark.case("MNT-8")
def test_a_name_taken_in_the_archive_gets_a_number(at: Layout) -> None:
    put(at, "archive/2026-01-01.md", "first")
    put(at, "2026-01-01.md", "second")
    assert archive(at, "memory/2026-01-01.md") == "memory/archive/2026-01-01-2.md"
    put(at, "2026-01-01.md", "third")
    assert archive(at, "memory/2026-01-01.md") == "memory/archive/2026-01-01-3.md"
    assert sorted(p.read_text() for p in at.archive_dir.iterdir()) == ["first", "second", "third"]


def test_an_archived_day_comes_back(at: Layout) -> None:
    put(at, "archive/2026-01-01.md", "first")
    assert bring_back(at, "memory/archive/2026-01-01.md") == "memory/2026-01-01.md"
    assert at.daily(date(2026, 1, 1)).read_text() == "first"
    for path in ("MEMORY.md", "memory/missing.md", "memory/../../x"):
        with pytest.raises(PathRefused):
            bring_back(at, path)


def test_a_persons_text_keeps_newlines_and_bom(at: Layout) -> None:
    at.agents_md.write_bytes(b"\xef\xbb\xbfBe kind.\r\n")
    rewrite(at, at.agents_md, "Be brief.\nBe kind.\n")
    assert at.agents_md.read_bytes() == b"\xef\xbb\xbfBe brief.\r\nBe kind.\r\n"
    with pytest.raises(BaseChanged):
        rewrite(at, at.agents_md, "x", base_sha256=digest(b"older"))
    at.agents_md.write_bytes("请用中文".encode("utf-16"))
    with pytest.raises(Unreadable, match="UTF-16"):
        rewrite(at, at.agents_md, "x")
    rewrite(at, at.knowledge, "new\n", base_sha256="")
    assert at.knowledge.read_bytes() == b"new\n"


@pytest.mark.skipif(sys.platform == "win32", reason="links and modes of POSIX")
def test_engine_folders_that_leave_open_read_only(tmp_path: Path) -> None:
    at = Layout.at(tmp_path / "w")
    at.root.mkdir()
    (tmp_path / "away").mkdir()
    at.memory_dir.symlink_to(tmp_path / "away")
    opened = ensure(at)
    assert opened.read_only
    assert "away" not in opened.problem
    assert list((tmp_path / "away").iterdir()) == []
