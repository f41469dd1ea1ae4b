"""Jobs run one by one, outlive the program, and fail without a sound for the caller."""

from __future__ import annotations

import asyncio
import itertools
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from app.engine.errors import StorageError
from app.engine.events import Activity, Bus, Changed, Event
from app.engine.jobs import JobContext, JobQueue, MemoryJournal, Skipped
from app.engine.memory.journal import DiskJournal, newest_jobs
from app.engine.workspace.layout import Layout
from tests.helpers.waiting import until


def make(journal=None, bus: Bus | None = None, **options) -> JobQueue:
    ids = itertools.count(1)
    options.setdefault("new_id", lambda: f"j-{next(ids)}")
    options.setdefault("look_every", 0)
    return JobQueue(bus or Bus(), journal, **options)


def test_jobs_run_one_after_the_other_in_order():
    async def main():
        queue = make()
        seen: list[str] = []

        def step(name: str):
            async def run(_job: JobContext) -> str:
                seen.append(f"+{name}")
                await asyncio.sleep(0.01)
                seen.append(f"-{name}")
                return f"did {name}"

            return run

        await queue.start()
        first = queue.enqueue("flush", "end of call", step("a"), session_id="s-1")
        queue.enqueue("flush", "end of call", step("b"), session_id="s-1")
        assert first is not None
        assert first.state == "waiting"
        assert seen == []  # nothing ran while the caller went on
        assert await queue.drain(20)
        assert seen == ["+a", "-a", "+b", "-b"]
        past = queue.jobs()
        assert [(j.id, j.state, j.result) for j in past] == [
            ("j-2", "done", "did b"),
            ("j-1", "done", "did a"),
        ]
        assert past[0].queued <= past[0].started <= past[0].ended
        assert past[1].session_id == "s-1"
        await queue.close()

    asyncio.run(main())


def test_a_failure_is_a_record_with_a_remedy_and_the_next_job_runs():
    async def main():
        bus, heard = Bus(), []
        bus.subscribe(heard.append)
        queue = make(bus=bus)

        async def full(_job: JobContext) -> str:
            raise StorageError("The disk is full.", "Free some space.")

        async def bug(_job: JobContext) -> str:
            raise KeyError("x")

        async def nothing(_job: JobContext) -> str:
            raise Skipped("Nothing was new.")

        async def good(job: JobContext) -> str:
            job.progress(1, 2, "half")
            job.target = "memory/2026-06-02.md"
            return "ok"

        await queue.start()
        for kind, run in (("a", full), ("b", bug), ("c", nothing), ("d", good)):
            queue.enqueue(kind, "test", run)
        assert await queue.drain(20)
        by_kind = {job.kind: job for job in queue.jobs()}
        assert (by_kind["a"].state, by_kind["a"].reason, by_kind["a"].remedy) == (
            "failed", "The disk is full.", "Free some space.",
        )  # fmt: skip
        assert by_kind["b"].state == "failed"
        assert "KeyError" in by_kind["b"].reason
        assert by_kind["b"].remedy
        assert (by_kind["c"].state, by_kind["c"].reason) == ("skipped", "Nothing was new.")
        assert (by_kind["d"].state, by_kind["d"].target) == ("done", "memory/2026-06-02.md")
        said = [(e.detail["kind"], e.state) for e in heard if isinstance(e, Activity)]
        assert said == [
            ("a", "started"), ("a", "failed"), ("b", "started"), ("b", "failed"),
            ("c", "started"), ("c", "skipped"), ("d", "started"), ("d", "progress"),
            ("d", "finished"),
        ]  # fmt: skip
        assert any(isinstance(e, Changed) and "jobs" in e.kinds for e in heard)
        await queue.close()

    asyncio.run(main())


def test_a_full_queue_skips_and_says_so():
    async def main():
        bus = Bus()
        heard: list[Event] = []
        bus.subscribe(heard.append)
        queue = make(bus=bus, limit=2)

        async def wait(_job: JobContext) -> str:
            await asyncio.sleep(60)
            return ""

        await queue.start()
        queue.enqueue("flush", "t", wait)
        await asyncio.sleep(0.01)  # it runs now and waits no more
        assert queue.enqueue("flush", "t", wait)
        assert queue.enqueue("flush", "t", wait)
        assert queue.enqueue("flush", "t", wait, session_id="s-9") is None
        skipped = [e for e in heard if isinstance(e, Activity) and e.state == "skipped"]
        assert len(skipped) == 1
        assert skipped[0].session_id == "s-9"
        assert "2 jobs" in skipped[0].reason
        await queue.close(timeout=0.01)

    asyncio.run(main())


def test_waiting_and_running_jobs_can_be_cancelled():
    async def main():
        queue = make()
        begun = asyncio.Event()

        async def wait(_job: JobContext) -> str:
            begun.set()
            await asyncio.sleep(60)
            return ""

        await queue.start()
        running, waiting = queue.enqueue("a", "t", wait), queue.enqueue("b", "t", wait)
        await begun.wait()
        assert running
        assert waiting
        assert queue.cancel(waiting.id)
        assert queue.cancel(running.id)
        assert await queue.drain(20)
        assert {job.kind: job.state for job in queue.jobs()} == {"a": "cancelled", "b": "cancelled"}
        assert not queue.cancel(running.id)
        info = await queue.ended(running.id)
        assert info
        assert info.state == "cancelled"
        await queue.close()

    asyncio.run(main())


def test_what_closing_cuts_off_is_run_at_the_next_start(tmp_path: Path):
    layout = Layout.at(tmp_path)
    ran: list[tuple[str, dict]] = []

    async def endless(_job: JobContext) -> str:
        await asyncio.sleep(60)
        return ""

    async def runner(job: JobContext) -> str:
        ran.append((job.session_id, job.payload))
        return "resumed"

    async def first():
        queue = make(DiskJournal(layout))
        await queue.start()
        queue.enqueue("flush", "close", endless, session_id="s-1", payload={"from": "u-1"})
        queue.enqueue("flush", "close", endless, session_id="s-2", payload={"from": "u-7"})
        queue.enqueue("unknown", "newer program", endless)
        await until(queue.running)
        async with asyncio.timeout(20):
            await queue.close(timeout=0.1)
        assert queue.enqueue("flush", "too late", endless) is None

    async def second():
        queue = make(DiskJournal(layout), new_id=iter(["j-10"]).__next__)
        queue.register("flush", runner)
        await queue.start()
        assert await queue.drain(20)
        assert ran == [("s-1", {"from": "u-1"}), ("s-2", {"from": "u-7"})]
        states = {job.kind: job.state for job in queue.jobs()}
        assert states == {"flush": "done", "unknown": "waiting"}  # kept for who knows it
        await queue.close()

    async def third():
        queue = make(DiskJournal(layout))
        queue.register("flush", runner)
        await queue.start()
        assert await queue.drain(20)
        assert len(ran) == 2  # ended jobs stay ended
        assert [j.result for j in queue.jobs() if j.kind == "flush"] == ["resumed", "resumed"]
        await queue.close()

    for part in (first, second, third):
        asyncio.run(part())


def test_a_job_that_takes_the_program_down_is_given_up():
    journal = MemoryJournal()
    time = "2026-06-02T01:00:00+00:00"
    journal.append({"event": "queued", "id": "x", "kind": "flush", "time": time, "payload": {}})
    for _ in range(3):
        journal.append({"event": "started", "id": "x", "time": time})

    async def main():
        queue = make(journal)

        async def crash(_job: JobContext) -> str:
            raise AssertionError("must not run again")

        queue.register("flush", crash)
        await queue.start()
        assert await queue.drain(20)
        (job,) = queue.jobs()
        assert job.state == "failed"
        assert "3 times" in job.reason
        await queue.close()

    asyncio.run(main())


def test_damaged_journal_lines_are_passed_over_and_kept(tmp_path: Path):
    layout = Layout.at(tmp_path)
    layout.dot.mkdir()
    layout.jobs.write_text('{"event": "queued", "id"\n[1]\n{"event":"queued"}\n', "utf-8")
    before = layout.jobs.read_bytes()

    async def main():
        queue = make(DiskJournal(layout))

        async def run(_job: JobContext) -> str:
            return "ok"

        await queue.start()
        queue.enqueue("flush", "t", run)
        assert await queue.drain(20)
        await queue.close()

    asyncio.run(main())
    assert layout.jobs.read_bytes().startswith(before)


def test_only_one_process_runs_jobs_and_it_runs_those_of_others(tmp_path: Path):
    """A process without the job lock only queues; the holder finds its jobs in the journal."""
    layout = Layout.at(tmp_path)
    script = textwrap.dedent(
        """
        import asyncio, sys
        from app.engine.events import Bus
        from app.engine.jobs import JobQueue
        from app.engine.memory.journal import DiskJournal
        from app.engine.workspace.layout import Layout

        async def never(job):
            print("RAN")
            return ""

        async def main():
            queue = JobQueue(Bus(), DiskJournal(Layout.at(sys.argv[1])), look_every=0)
            queue.register("flush", never)
            await queue.start()
            queue.enqueue("flush", "other window", session_id="s-7")
            await queue.drain(0.2)
            await queue.close()

        asyncio.run(main())
        """
    )
    ran: list[str] = []

    async def runner(job: JobContext) -> str:
        ran.append(job.session_id)
        return ""

    async def main():
        queue = make(DiskJournal(layout))
        queue.register("flush", runner)
        await queue.start()
        other = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-c", script, str(tmp_path)],
            capture_output=True, text=True, timeout=60, check=True,
        )  # fmt: skip
        assert "RAN" not in other.stdout
        assert ran == []
        await queue.look()
        assert await queue.drain(20)
        assert ran == ["s-7"]
        await queue.close()

    asyncio.run(main())


def test_a_queue_without_the_claim_takes_over_when_it_is_free(tmp_path: Path):
    layout = Layout.at(tmp_path)
    ran: list[str] = []

    async def runner(job: JobContext) -> str:
        ran.append(job.session_id)
        return ""

    async def main():
        holder = make(DiskJournal(layout), new_id=iter(["h-1"]).__next__)
        second = make(DiskJournal(layout), new_id=iter(["s-1", "s-2"]).__next__)
        for queue in (holder, second):
            queue.register("flush", runner)
            await queue.start()
        second.enqueue("flush", "t", session_id="one")
        await second.drain(0.05)
        assert ran == []
        await holder.look()
        assert await holder.drain(20)
        assert ran == ["one"]
        await second.look()
        assert [job.state for job in second.jobs()] == ["done"]
        second.enqueue("flush", "t", session_id="two")
        await holder.close()
        await second.look()
        assert await second.drain(20)
        assert ran == ["one", "two"]
        await second.close()

    asyncio.run(main())


def test_old_ended_jobs_are_dropped_and_open_ones_never():
    records = [{"event": "queued", "id": str(i)} for i in range(6)]
    records += [{"event": "ended", "id": str(i)} for i in range(5)]
    kept = newest_jobs(records, 2)
    assert {r["id"] for r in kept} == {"3", "4", "5"}


def test_a_disk_that_refuses_stops_no_job(caplog: pytest.LogCaptureFixture):
    class Broken(MemoryJournal):
        def append(self, record):
            raise StorageError("full")

    async def main():
        queue = make(Broken())

        async def run(_job: JobContext) -> str:
            return "ok"

        await queue.start()
        queue.enqueue("flush", "t", run)
        assert await queue.drain(20)
        assert queue.jobs()[0].state == "done"
        await queue.close()

    asyncio.run(main())
    assert "journal" in caplog.text
