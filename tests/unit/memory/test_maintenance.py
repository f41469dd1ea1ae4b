"""A round of maintenance: its steps in order, each failing alone; the timer and the gap."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from app.engine.config import MaintenanceConfig
from app.engine.errors import StorageError
from app.engine.jobs import Skipped
from app.engine.memory.gate import Gate
from app.engine.workspace.trash import Trash
from tests.helpers.maintaining import MaintenanceHouse, ago, drive
from tests.helpers.waiting import until


@pytest.mark.case("MNT-3")
def test_the_steps_come_in_order(tmp_path: Path):
    async def scenario(h: MaintenanceHouse):
        h.day(ago(200).date())
        h.session("s-old", ago(400))
        when: dict[str, tuple[bool, bool]] = {}

        def look(name: str):
            async def run(_job) -> str:
                archived = not h.layout.daily(ago(200).date()).exists()
                when[name] = (archived, not h.layout.session_log("s-old").exists())
                return ""

            return run

        h.steps = {"consolidation": look("consolidate"), "reindex": look("reindex")}
        job = await h.round()
        assert job.state == "done"
        assert when == {"consolidate": (True, False), "reindex": (True, True)}
        steps = [a.reason for a in h.heard if a.step == "job" and a.state == "progress"]
        assert steps == ["archive", "consolidation", "prune", "reindex"]

    drive(tmp_path, scenario)


@pytest.mark.case("MNT-7")
@pytest.mark.parametrize("broken", ["archive", "consolidation", "prune", "reindex", "bug"])
def test_a_step_that_fails_does_not_stop_the_next(tmp_path: Path, broken: str):
    async def scenario(h: MaintenanceHouse):
        h.day(ago(200).date())
        h.session("s-old", ago(400))
        if broken == "archive":
            h.layout.archive_dir.write_text("a file where the folder should be", "utf-8")
        elif broken == "prune":
            h.layout.trash_dir.rmdir()
            h.layout.trash_dir.write_text("a file where the folder should be", "utf-8")
        elif broken == "bug":
            h.fail["consolidation"] = ZeroDivisionError("oops")
        else:
            h.fail[broken] = StorageError("The disk is full.", "Free some space.")
        job = await h.round()
        assert job.state == "failed"
        assert job.reason
        assert job.remedy
        assert h.ran == ["consolidation", "reindex"]
        failed = {a.step for a in h.heard if a.state == "failed" and a.step != "job"}
        assert failed == {"consolidation" if broken == "bug" else broken}
        archived = not h.layout.daily(ago(200).date()).exists()
        pruned = not h.layout.session_log("s-old").exists()
        assert archived is (broken != "archive")
        assert pruned is (broken != "prune")

    drive(tmp_path, scenario)


def test_without_a_model_the_other_steps_run(tmp_path: Path):
    async def scenario(h: MaintenanceHouse):
        h.day(ago(200).date())
        assert (await h.round()).state == "done"
        assert h.ran == ["reindex"]
        assert not h.layout.daily(ago(200).date()).exists()
        assert any(a.step == "consolidation" and a.state == "skipped" for a in h.heard)

    drive(tmp_path, scenario, model=False)


def test_a_step_with_nothing_to_do_is_skipped_not_failed(tmp_path: Path):
    async def scenario(h: MaintenanceHouse):
        h.fail["consolidation"] = Skipped("Nothing is waiting.")
        assert (await h.round()).state == "done"
        said = [a for a in h.heard if a.step == "consolidation"]
        assert [(a.state, a.reason) for a in said] == [("skipped", "Nothing is waiting.")]

    drive(tmp_path, scenario)


@pytest.mark.case("MNT-6")
def test_the_timer_and_requests(tmp_path: Path):
    async def scenario(h: MaintenanceHouse):
        h.scheduler.start()
        await until(lambda: h.sleep.asked)
        assert h.sleep.asked == [6 * 3600]
        assert h.jobs.jobs() == []  # nothing before one interval has passed
        h.now += timedelta(hours=6)
        await h.sleep.tick()
        await until(h.jobs.jobs)
        await h.jobs.drain(20)
        assert [j.trigger for j in h.jobs.jobs()] == ["timer"]

    async def requests(h: MaintenanceHouse):
        assert await h.scheduler.request_consolidation() is not None  # no recorded run
        h.now += timedelta(minutes=29)
        assert await h.scheduler.request_consolidation() is None
        h.now += timedelta(minutes=1)
        assert await h.scheduler.request_consolidation() is not None
        h.now += timedelta(hours=5)
        await h.scheduler.stop()
        assert await h.scheduler.request_consolidation() is None
        await h.jobs.drain(20)
        assert len(h.jobs.jobs()) == 2

    drive(tmp_path / "timer", scenario)
    drive(tmp_path / "requests", requests)


def test_the_timer_goes_on_and_respects_the_gap(tmp_path: Path):
    async def scenario(h: MaintenanceHouse):
        h.scheduler.start()
        assert await h.scheduler.request_consolidation() is not None
        h.now += timedelta(minutes=1)
        await h.sleep.tick()  # a round was just made
        assert any(a.step == "gate" and a.state == "skipped" for a in h.heard)
        h.now += timedelta(hours=6)
        await h.sleep.tick()
        await h.jobs.drain(20)
        assert [j.trigger for j in h.jobs.jobs()] == ["timer", "after a flush"]

    drive(tmp_path, scenario)


def test_an_own_gap(tmp_path: Path):
    async def scenario(h: MaintenanceHouse):
        h.config = h.config.replace(
            maintenance=MaintenanceConfig(opportunistic_gap=timedelta(hours=3))
        )
        assert await h.scheduler.request_consolidation() is not None
        h.now += timedelta(hours=2)
        assert await h.scheduler.request_consolidation() is None

    drive(tmp_path, scenario)


def test_a_full_queue_gives_the_slot_back(tmp_path: Path):
    async def scenario(h: MaintenanceHouse):
        assert await h.scheduler.request_consolidation() is None
        assert Gate(h.layout, clock=lambda: h.now).last("maintenance") is None

    drive(tmp_path, scenario, queue_limit=0)


def test_until_the_preview_was_seen_nothing_is_moved_or_deleted_and_the_round_says_so(
    tmp_path: Path,
):
    async def scenario(h: MaintenanceHouse):
        await h.round()
        h.session("s-older", ago(400))
        await h.round()  # to the trash
        h.now += timedelta(days=31)
        h.allow(False)
        old = h.day(ago(200).date())
        log = h.session("s-old", ago(400))
        job = await h.round()
        assert job.state == "done"
        due = len(await h.scheduler.preview())
        assert job.result.startswith(
            f"{due} files are due. Nothing is put away until you have seen the list"
        )
        assert old.exists()
        assert log.exists()
        assert Trash(h.layout).list() != []
        skipped = [a.step for a in h.heard if a.state == "skipped" and "seen the list" in a.reason]
        assert skipped == ["archive", "prune"]
        assert h.ran[-2:] == ["consolidation", "reindex"]
        h.scheduler.start()
        await asyncio.sleep(0)
        (next_round,) = h.scheduler.upcoming()[-1:]
        assert next_round.reason == f"{due} files waiting until you have seen the list"
        h.allow(True)
        assert h.scheduler.upcoming()[-1].reason == ""
        await h.scheduler.stop()
        job = await h.round()
        assert "due" not in job.result
        assert not old.exists()
        assert not log.exists()
        assert await h.scheduler.preview() == []

    drive(tmp_path, scenario)


def test_a_held_round_with_nothing_due_says_nothing_of_it(tmp_path: Path):
    async def scenario(h: MaintenanceHouse):
        h.allow(False)
        h.day(ago(1).date())
        assert (await h.round()).result == "consolidation done. reindex done."

    drive(tmp_path, scenario)
