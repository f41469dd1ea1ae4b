"""A flush that goes wrong writes nothing, moves nothing, and is tried again."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from app.engine.errors import ModelUnavailable, StorageError
from app.engine.jobs import MemoryJournal
from app.engine.llm.endpoint import Answer
from app.engine.workspace.daily_log import section_text
from tests.helpers.flushing import FlushHouse, drive, flushes, turn
from tests.helpers.waiting import until

BAD = [
    "<think>hm</think>- a fact",
    "I'm sorry, but I can't help with that.",
    "<html><head><title>404 Not Found</title></head></html>",
    '{"error": {"message": "slow down"}}',
    '{"facts": [{"a": 1}]}',
    Answer("- cut in the mid", finish="length"),
    Answer("", reasoning="I thought for long"),
]


@pytest.mark.case("B13")
@pytest.mark.parametrize("answer", BAD)
def test_an_unfit_answer_writes_nothing_and_moves_nothing(tmp_path: Path, answer):
    async def scenario(h: FlushHouse):
        session = h.session(*turn(1))
        job = await h.run()
        assert job.state == "failed"
        assert job.reason
        assert job.remedy
        assert not h.today().exists()
        assert flushes(session) == []
        h.model.replies = ["- a fact"]
        assert (await h.run()).state == "done"  # the next round works
        assert section_text(h.sections()[0]) == "- a fact"

    drive(tmp_path, scenario, answer)


@pytest.mark.case("FLU-9")
def test_a_model_error_leaves_everything_as_it_was(tmp_path: Path):
    async def scenario(h: FlushHouse):
        session = h.session(*turn(1, answer="the delivered reply"))
        before = h.layout.session_log("s-1").read_bytes()
        assert await h.flush.after_call("s-1") is not None  # the caller goes on at once
        await h.jobs.drain(20)
        assert session.context[-1].content == "the delivered reply"
        assert h.layout.session_log("s-1").read_bytes() == before
        assert not h.today().exists()
        failed = [a for a in h.heard if (a.step, a.state) == ("flush", "failed")]
        assert [a.reason for a in failed] == ["No server answers."]

    drive(tmp_path, scenario, ModelUnavailable("No server answers."))


def test_after_a_failure_the_end_of_call_flush_pauses(tmp_path: Path):
    async def scenario(h: FlushHouse):
        h.session(*turn(1))
        for _ in range(5):  # five turns in a row pay once
            await h.flush.after_call("s-1")
            await h.jobs.drain(20)
        assert len(h.model.requests) == 1
        h.now += timedelta(minutes=1, seconds=1)
        await h.flush.after_call("s-1")
        await h.jobs.drain(20)
        assert len(h.model.requests) == 2
        h.now += timedelta(minutes=1, seconds=1)  # twice as long now
        assert await h.flush.after_call("s-1") is None
        assert h.flush.request("s-1", "asked for") is not None  # a person need not wait

    drive(tmp_path, scenario, "<html>404</html>")


@pytest.mark.case("B22")
def test_a_flush_cut_off_by_closing_is_done_at_the_next_start(tmp_path: Path):
    journal = MemoryJournal()

    async def closing(h: FlushHouse):
        h.session(*turn(1))
        h.model.hold = asyncio.Event()
        await h.flush.after_call("s-1", "a-1")
        await until(lambda: h.model.active)
        async with asyncio.timeout(20):
            await h.jobs.close(timeout=0.1)

    first = drive(tmp_path / "one", closing, journal=journal)
    assert not first.today().exists()

    async def elsewhere(h: FlushHouse):  # another workspace meanwhile has nothing to do with it
        h.session(*turn(5))
        assert await h.jobs.drain(1)
        assert h.model.requests == []

    drive(tmp_path / "two", elsewhere)

    async def again(h: FlushHouse):
        assert await h.jobs.drain(20)
        assert len(h.model.requests) == 1
        assert section_text(h.sections()[0]) == "- a fact"
        assert len(flushes(h.live["s-1"].session)) == 1

    drive(tmp_path / "one", again, journal=journal)


def test_an_unreadable_day_is_not_added_to(tmp_path: Path):
    async def scenario(h: FlushHouse):
        session = h.session(*turn(1))
        h.today().write_bytes("中文".encode("utf-16"))
        before = h.today().read_bytes()
        job = await h.run()
        assert job.state == "failed"
        assert h.today().read_bytes() == before
        assert flushes(session) == []

    drive(tmp_path, scenario)


def test_an_index_that_fails_does_not_undo_the_flush(tmp_path: Path):
    async def scenario(h: FlushHouse):
        h.index_error = StorageError("The index is gone.")
        session = h.session(*turn(1))
        assert (await h.run()).state == "done"
        assert h.today().exists()
        assert len(flushes(session)) == 1

    drive(tmp_path, scenario)
