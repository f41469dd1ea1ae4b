"""Names and places, and opening a workspace."""

from __future__ import annotations

import stat
import sys
from datetime import UTC, date, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from app.engine.errors import PathRefused
from app.engine.workspace.layout import Layout, ensure, local_day, valid_session_id


def test_paths_are_those_of_the_specification(tmp_path: Path) -> None:
    at = Layout.at(tmp_path, "my bot")
    named = [
        at.agents_md, at.memory_md, at.daily(date(2026, 6, 2)), at.archive_dir,
        at.consolidation_state, at.knowledge, at.sessions_index, at.session_log("s-4"),
        at.session_view("s-4"), at.eviction_dir(), at.history, at.sections, at.trash_run("r-1"),
        at.index(),
    ]  # fmt: skip
    assert [at.relative(path) for path in named] == [
        "AGENTS.md", "MEMORY.md", "memory/2026-06-02.md", "memory/archive",
        "memory/.consolidation_state", "knowledge/KNOWLEDGE.md",
        "agents/my_bot/sessions/sessions.json", "agents/my_bot/sessions/s-4.log.jsonl",
        "agents/my_bot/sessions/s-4.jsonl", "large_tool_results/my_bot",
        ".palimpsest/history.git", ".palimpsest/sections.jsonl", ".palimpsest/trash/r-1",
        ".palimpsest/index.db",
    ]  # fmt: skip


def test_the_index_may_lie_elsewhere(tmp_path: Path) -> None:
    at = Layout.at(tmp_path / "w")
    assert at.index("seed_v1_location") == tmp_path / "memory_index.db"
    assert at.index("/var/x.db") == Path("/var/x.db")


@pytest.mark.parametrize("name", ["", ".hidden", "../x", "a/b", "a b", "x" * 129, "日"])
def test_unfit_session_ids_name_no_file(tmp_path: Path, name: str) -> None:
    assert not valid_session_id(name)
    at = Layout.at(tmp_path)
    for place in (at.session_log, at.session_view, at.trash_run, at.proposal, at.lock_file):
        with pytest.raises(PathRefused):
            place(name)


def test_an_id_with_two_dots_is_fine(tmp_path: Path) -> None:
    assert Layout.at(tmp_path).session_log("a..b").name == "a..b.log.jsonl"


@pytest.mark.parametrize(
    ("zone", "instant", "day"),
    [
        ("Asia/Shanghai", datetime(2026, 4, 11, 19, 53, tzinfo=UTC), date(2026, 4, 12)),
        ("America/Los_Angeles", datetime(2026, 4, 12, 3, 0, tzinfo=UTC), date(2026, 4, 11)),
    ],
)
def test_a_moment_belongs_to_the_local_day(zone: str, instant: datetime, day: date) -> None:
    assert local_day(instant, ZoneInfo(zone)) == day


def test_a_moment_without_a_zone_belongs_to_no_day() -> None:
    with pytest.raises(ValueError, match="zone"):
        local_day(datetime(2026, 1, 1))


def test_opening_makes_private_folders_and_the_format(tmp_path: Path) -> None:
    at = Layout.at(tmp_path / "new" / "w")
    assert ensure(at) == ensure(at)
    assert not ensure(at).read_only
    assert at.format_file.read_bytes() == b"1"
    assert not at.memory_md.exists()
    if sys.platform != "win32":
        assert stat.S_IMODE(at.memory_dir.stat().st_mode) == 0o700
        assert stat.S_IMODE(at.format_file.stat().st_mode) == 0o600


@pytest.mark.parametrize("text", ["2", "17\n", "one"])
def test_a_newer_or_odd_format_opens_read_only_and_stays(tmp_path: Path, text: str) -> None:
    at = Layout.at(tmp_path)
    at.dot.mkdir()
    at.format_file.write_text(text)
    opened = ensure(at)
    assert opened.read_only
    assert opened.problem
    assert at.format_file.read_text() == text
    assert not at.memory_dir.exists()
