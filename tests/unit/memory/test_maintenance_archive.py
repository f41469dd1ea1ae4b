"""Old daily logs go to the archive, whole, and nothing else moves."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from app.engine.config import EngineConfig, MemoryConfig
from tests.helpers.maintaining import NOW, MaintenanceHouse, ago, drive, tree


@pytest.mark.case("MNT-1")
def test_daily_logs_strictly_older_than_retention_are_archived(tmp_path: Path):
    async def scenario(h: MaintenanceHouse):
        old, kept = h.day(ago(91).date()), h.day(ago(90).date())
        text = old.read_bytes()
        job = await h.round()
        assert job.state == "done"
        assert not old.exists()
        assert (h.layout.archive_dir / old.name).read_bytes() == text
        assert kept.exists()

    drive(tmp_path, scenario, daily_file_retention_days=90)


@pytest.mark.case("MNT-2")
def test_other_files_stay_where_they_are(tmp_path: Path):
    async def scenario(h: MaintenanceHouse):
        names = ["notes.md", ".hidden.md", "2020-01-01-topic.md", "2020-13-01.md", "2020-01-01.txt"]
        for name in names:
            (h.layout.memory_dir / name).write_text("x", "utf-8")
        (h.layout.memory_dir / ".consolidation_state").write_text("2020-01-01T00:00:00Z", "utf-8")
        (h.layout.memory_dir / "2020-01-02.md").mkdir()
        before = tree(h.layout.memory_dir)
        await h.round()
        assert tree(h.layout.memory_dir) == before

    drive(tmp_path, scenario)


@pytest.mark.case("MNT-4")
def test_an_archived_days_waiting_sections_are_still_waiting(tmp_path: Path):
    async def scenario(h: MaintenanceHouse):
        h.day(ago(200).date(), "- merged once")
        first = h.states.waiting()[0]
        h.states.set([first.key], "merged", when=NOW)
        h.day(ago(200).date(), "- not yet merged")
        seen: list[list[str]] = []

        async def consolidate(_job) -> str:
            seen.append([s.path for s in h.states.waiting()])
            return ""

        h.steps["consolidation"] = consolidate
        await h.round()
        name = f"{ago(200).date().isoformat()}.md"
        assert seen == [[f"memory/archive/{name}"]]
        (left,) = h.states.waiting()
        assert left.section.lines[0].text == "- not yet merged"

    drive(tmp_path, scenario)


@pytest.mark.case("MNT-8")
def test_a_name_the_archive_holds_already_loses_neither_file(tmp_path: Path):
    async def scenario(h: MaintenanceHouse):
        old = h.day(ago(200).date(), "- the newer file")
        h.layout.archive_dir.mkdir(parents=True)
        there = h.layout.archive_dir / old.name
        there.write_text("- the older file", "utf-8")
        text = old.read_bytes()
        await h.round()
        assert there.read_text("utf-8") == "- the older file"
        others = [p for p in h.layout.archive_dir.iterdir() if p != there]
        assert [p.read_bytes() for p in others] == [text]
        assert not old.exists()
        assert {s.section.lines[0].text for s in h.states.waiting()} == {
            "- the older file", "- the newer file",
        }  # fmt: skip

    drive(tmp_path, scenario)


def test_never_keeps_everything_and_a_huge_number_too(tmp_path: Path):
    async def scenario(h: MaintenanceHouse):
        h.day(date(2001, 1, 1))
        h.session("s-old", ago(9_000))
        for days in ("never", 9_999, 10**12):
            h.config = EngineConfig(
                memory=MemoryConfig(daily_file_retention_days=days, session_retention_days=days)
            )
            assert await h.scheduler.preview() == []
            assert (await h.round()).state == "done"
        assert h.layout.session_log("s-old").exists()
        assert h.layout.daily(date(2001, 1, 1)).exists()

    drive(tmp_path, scenario)
