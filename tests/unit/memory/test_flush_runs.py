"""When a flush runs, and over which range: each range once, and nobody waits for it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from app.engine.config import FlushTrigger
from app.engine.records import Message, ToolCall
from app.engine.workspace.daily_log import append_section
from tests.helpers.flushing import START, Access, FlushHouse, drive, flushes, turn


@pytest.mark.case("FLU-17")
def test_a_range_is_flushed_once(tmp_path: Path):
    async def scenario(h: FlushHouse):
        session = h.session(*turn(1, "old words"))
        await h.run()
        assert (await h.run()).state == "skipped"
        assert len(h.model.requests) == 1
        for message in turn(2, "new words"):
            session.add(message)
        await h.run()
        conversation = h.conversations()[1]
        assert "new words" in conversation
        assert "old words" not in conversation
        session.close()
        h.live["s-1"] = Access(h.store.open("s-1"))  # and also after a restart
        assert (await h.run()).state == "skipped"
        assert len(h.model.requests) == 2

    drive(tmp_path, scenario)


def test_the_range_ends_where_it_ended_when_the_job_was_queued(tmp_path: Path):
    async def scenario(h: FlushHouse):
        session = h.session(*turn(1, "first words"))
        h.model.hold = asyncio.Event()
        h.session(*turn(7), id="s-0")
        h.flush.request("s-0", "keeps the queue busy")
        first = h.flush.request("s-1", "end of call", "a-1")
        for message in turn(2, "second words"):
            session.add(message)
        second = h.flush.request("s-1", "end of call", "a-2")
        h.model.hold.set()
        assert await h.jobs.drain(20)
        assert first
        assert second
        texts = h.conversations()
        assert "second words" not in texts[1]
        assert "first words" not in texts[2]
        assert "second words" in texts[2]
        assert [(e.from_, e.to) for e in flushes(session)] == [("u-1", "a-1"), ("u-2", "a-2")]

    drive(tmp_path, scenario)


def test_a_section_that_was_never_noted_is_not_written_twice(tmp_path: Path):
    """The program went away between the daily log and the session's log."""

    async def scenario(h: FlushHouse):
        session = h.session(*turn(1))
        append_section(
            h.layout, kind="flush", text="- a fact", now=START, run="r-0", session="s-1",
            first="u-1", last="a-1",
        )  # fmt: skip
        before = h.today().read_bytes()
        assert (await h.run()).state == "skipped"
        assert h.model.requests == []
        assert h.today().read_bytes() == before
        assert [(e.to, e.run, e.bullets) for e in flushes(session)] == [("a-1", "r-0", 1)]
        for message in turn(2):
            session.add(message)
        assert (await h.run()).state == "done"
        assert len(h.sections()) == 2

    drive(tmp_path, scenario)


def test_a_flush_that_waits_already_is_not_queued_twice(tmp_path: Path):
    async def scenario(h: FlushHouse):
        h.session(*turn(1))
        h.session(*turn(2), id="s-2")
        h.model.hold = asyncio.Event()
        h.flush.request("s-2", "keeps the queue busy")
        await asyncio.sleep(0.02)
        first = h.flush.request("s-1", "end of call")
        again = h.flush.request("s-1", "before compaction")
        assert first
        assert again
        assert first.id == again.id
        h.model.hold.set()
        assert await h.jobs.drain(20)
        assert len(h.model.requests) == 2

    drive(tmp_path, scenario)


@pytest.mark.case("GATE-1")
@pytest.mark.parametrize(
    ("trigger", "count"), [(FlushTrigger.always(), 5), (FlushTrigger.never(), 0)]
)
def test_always_and_never(tmp_path: Path, trigger: FlushTrigger, count: int):
    async def scenario(h: FlushHouse):
        session = h.session()
        for n in range(5):
            for message in turn(n):
                session.add(message)
            await h.flush.after_call("s-1")
            await h.jobs.drain(20)
        assert len(h.model.requests) == count
        assert len(flushes(session)) == count

    drive(tmp_path, scenario, flush_trigger=trigger)


@pytest.mark.case("FLU-13")
def test_the_gate_holds_only_the_flush_at_the_end_of_a_call(tmp_path: Path):
    async def scenario(h: FlushHouse):
        session = h.session(*turn(1))
        assert await h.flush.after_call("s-1") is not None
        await h.jobs.drain(20)
        for message in turn(2):
            session.add(message)
        assert await h.flush.after_call("s-1") is None
        assert any(a.step == "gate" and a.state == "skipped" for a in h.heard)
        assert await h.flush.before_compaction("s-1") is not None
        await h.jobs.drain(20)
        assert len(h.model.requests) == 2
        assert [e.to for e in flushes(session)] == ["a-1", "a-2"]  # the log has both, too
        ids = [e.id for e in h.store.open("s-1").entries()]
        assert {"u-1", "a-1", "u-2", "a-2"} <= set(ids)

    drive(tmp_path, scenario, flush_trigger=FlushTrigger.throttled(3_600))


@pytest.mark.case("B23")
def test_three_compactions_are_three_full_flushes(tmp_path: Path):
    """Before anything is cut the whole range is recorded; three of three, also under a gate."""

    async def scenario(h: FlushHouse):
        session = h.session()
        for n in range(3):
            big = Message("", "tool", f"<result {n}> " + "r" * 8_000, name="run", call_id=f"c{n}")
            for message in (
                Message(f"u-{n}", "user", f"<ask {n}>"),
                Message(f"a-{n}", "assistant", calls=(ToolCall(f"c{n}", "run", "{}"),)),
                big,
            ):
                session.add(message)
            site = "after an overflow" if n == 1 else "before compaction"
            assert h.flush.request("s-1", site) is not None
            session.commit_compaction(  # the context is cut at once, before the job has run
                summary=f"summary {n}",
                message=Message(f"sum-{n}", "user", f"summary {n}", origin="summary"),
                covered=[m.id for m in session.context],
            )
            await h.jobs.drain(20)
        assert len(h.model.requests) == 3
        for n, request in enumerate(h.model.requests):
            text = request.messages[0].content
            assert f"<ask {n}>" in text
            assert f"<result {n}>" in text

    drive(tmp_path, scenario, flush_trigger=FlushTrigger.never())


def test_flush_wait_waits_for_the_flush(tmp_path: Path):
    async def scenario(h: FlushHouse):
        session = h.session(*turn(1))
        await h.flush.before_compaction("s-1", wait=True)
        assert len(flushes(session)) == 1

    drive(tmp_path, scenario)


@pytest.mark.case("FLU-15")
def test_memory_switched_off_writes_nothing_and_spends_nothing(tmp_path: Path):
    async def scenario(h: FlushHouse):
        session = h.session(*turn(1), *turn(2))
        assert await h.flush.before_compaction("s-1", wait=True) is None
        assert await h.flush.after_call("s-1") is None
        assert h.flush.request("s-1", "after an overflow") is None
        assert session.commit_compaction(
            summary="s",
            message=Message("sum", "user", "s", origin="summary"),
            covered=["u-1", "a-1"],
        )
        await h.jobs.drain(20)
        assert h.model.requests == []
        assert not h.today().exists()
        assert flushes(session) == []

    drive(tmp_path, scenario, enabled=False)


@pytest.mark.case("FLU-12")
def test_two_flushes_of_one_session_never_overlap(tmp_path: Path):
    async def scenario(h: FlushHouse):
        session = h.session(*turn(1))
        one = asyncio.create_task(h.flush.flush("s-1"))
        two = asyncio.create_task(h.flush.flush("s-1"))
        await asyncio.gather(one, two)
        assert h.model.most_active == 1
        assert len(h.model.requests) == 1  # the second found nothing left
        assert len(flushes(session)) == 1

    drive(tmp_path, scenario)
