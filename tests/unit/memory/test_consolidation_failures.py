"""Runs of consolidation that go wrong, lose nothing, and are made good."""

from __future__ import annotations

import asyncio
import errno
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from app.engine.errors import ContextOverflow, ModelUnavailable
from app.engine.events import Activity
from app.engine.llm.endpoint import Answer, Request
from app.engine.memory.review import accept_all
from app.engine.workspace.sections import EPOCH, write_watermark
from tests.helpers.consolidating import START, Desk, echo

FACT = "- Ines prefers answers in Portuguese"
BASE = "# Memory\n\n## People\n- Bo is the designer of the studio\n"
GOOD = BASE + FACT
REFUSAL = "I'm sorry, but I can't help with that request."
LONG = BASE + "\n".join(f"- fact number {n} of a long list" for n in range(900))


@pytest.mark.case("CON-7")
def test_a_blank_answer_changes_nothing(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "  \n", prepare=BASE)
    desk.flush(FACT)
    outcome = asyncio.run(desk.run())
    assert outcome.state == "failed"
    assert outcome.reason
    assert desk.memory == BASE
    assert not desk.layout.consolidation_state.exists()
    assert desk.fates() == ["waiting"]
    assert desk.store.load(outcome.run).state == "failed"


@pytest.mark.case("CON-11")
def test_a_failed_write_moves_no_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk(tmp_path, GOOD, prepare=BASE)
    desk.flush(FACT)
    real = os.replace

    def full(source: str, target: str | Path) -> None:
        if Path(target).name == "MEMORY.md":
            raise OSError(errno.ENOSPC, "No space left on device")
        real(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        outcome = asyncio.run(desk.run())
    assert outcome.state == "failed"
    assert "no space" in outcome.reason
    assert desk.memory == BASE
    assert not desk.layout.consolidation_state.exists()
    assert desk.fates() == ["waiting"]
    assert desk.store.load("r-1").state == "in_review"


@pytest.mark.parametrize("left", [None, "", " \n\n\t\n"])
@pytest.mark.case("CON-12")
def test_a_lost_memory_is_rebuilt_from_all_daily_logs(tmp_path: Path, left: str | None) -> None:
    mark = datetime(2025, 6, 15, 12, tzinfo=UTC)
    desk = Desk(tmp_path, echo)
    desk.layout.sections.unlink()
    write_watermark(desk.layout, mark)
    for day, fact in (("2025-06-14", "older fact"), ("2025-06-16", "fresh fact")):
        path = desk.layout.memory_dir / f"{day}.md"
        path.write_text(f"{fact}\n")
        stamp = datetime.fromisoformat(f"{day}T12:00:00+00:00").timestamp()
        os.utime(path, (stamp, stamp))
    if left is not None:
        desk.layout.memory_md.write_text(left)
    desk.open()
    outcome = asyncio.run(desk.run())
    asked = desk.model.asked
    assert asked.index("older fact") < asked.index("fresh fact")
    assert outcome.rebuild
    said = [e.reason for e in desk.events if isinstance(e, Activity) and e.state != "started"]
    assert "rebuilt from all daily logs" in said[0]
    shown = desk.review.show(outcome.run)
    assert shown.info.rebuild
    assert "rebuilt" in shown.note
    assert shown.candidate == "older fact\nfresh fact"


@pytest.mark.case("CON-12", "B03")
def test_a_rebuild_of_many_days_goes_in_batches_and_drops_none(tmp_path: Path) -> None:
    def small(request: Request) -> str | ContextOverflow:
        tokens = (len(request.system) + len(request.messages[0].content)) // 4
        if tokens > 32_000:
            return ContextOverflow("too long", requested=tokens, window=32_000)
        return "\n".join(sorted({w for w in request.messages[0].content.split() if "fact" in w}))

    desk = Desk(tmp_path, small, window=1_000_000)
    desk.layout.sections.unlink()
    write_watermark(desk.layout, START)
    for n in range(400):
        path = desk.layout.memory_dir / f"{(START - timedelta(days=n)).date()}.md"
        path.write_text(f"- fact{n:03d} " + "word " * 1_600 + "\n")
        os.utime(path, (0, 0))
    desk.open()
    outcome = asyncio.run(desk.run())
    assert outcome.rebuild
    shown = desk.store.load(outcome.run)
    assert shown.candidate.split() == [f"fact{n:03d}" for n in range(400)]
    assert len(shown.inputs) == 400
    order = [line for r in desk.model.requests for line in r.messages[0].content.split("\n")
             if line.startswith("### ")]  # fmt: skip
    kept = list(dict.fromkeys(order))
    assert kept == sorted(kept)


@pytest.mark.case("B03")
def test_a_batch_that_fails_leaves_what_was_done_and_the_rest_waiting(tmp_path: Path) -> None:
    replies = [lambda r: echo(r), ModelUnavailable("The server is down.")]
    desk = Desk(tmp_path, *replies, prepare=BASE, window=3_000, policy="review")
    desk.flush("- one " + "alpha " * 400, at=START - timedelta(days=3))
    desk.flush("- two " + "beta " * 400, at=START - timedelta(days=2))
    desk.flush("- three " + "gamma " * 400, at=START - timedelta(days=1))
    outcome = asyncio.run(desk.run())
    assert outcome.state == "proposed"
    assert len(desk.model.requests) == 2
    stored = desk.store.load(outcome.run)
    assert 0 < len(stored.inputs) < 3
    assert "The server is down." in stored.note
    desk.review.apply(outcome.run, accept_all(desk.review.show(outcome.run).changes), when=START)
    done = len(stored.inputs)
    assert desk.fates() == ["merged"] * done + ["waiting"] * (3 - done)
    assert desk.watermark == EPOCH  # nothing is skipped by it


@pytest.mark.parametrize(
    ("answer", "check"),
    [
        pytest.param(REFUSAL, "refusal", id="refusal"),
        pytest.param("很抱歉，我无法协助完成这个请求。", "refusal", id="chinese refusal"),
        pytest.param(f"```markdown\n{GOOD}\n```", "code_fence", id="fenced"),
        pytest.param(LONG, "over_budget", id="over budget"),
    ],
)
@pytest.mark.case("CON-13")
def test_an_unfit_answer_becomes_a_proposal_with_the_failed_check(
    tmp_path: Path, answer: str, check: str
) -> None:
    desk = Desk(tmp_path, answer, prepare=BASE)
    desk.flush(FACT)
    outcome = asyncio.run(desk.run())
    assert outcome.state == "proposed"
    assert desk.memory == BASE
    shown = desk.review.show(outcome.run)
    assert check in [c.name for c in shown.checks if not c.ok]
    assert all(c.detail for c in shown.checks)
    assert shown.raw == answer
    assert [p.id for p in desk.store.infos(waiting=True)] == [outcome.run]


@pytest.mark.parametrize(
    "answer",
    [
        "", "<think>All of it matters.</think>", Answer("", reasoning="I think about it"),
        Answer(BASE + "- Ines prefers answ", finish="length"), "<think>never closed",
    ],
)  # fmt: skip
@pytest.mark.case("B13")
def test_thinking_and_cut_answers_never_replace_anything(
    tmp_path: Path, answer: str | Answer
) -> None:
    desk = Desk(tmp_path, answer, prepare=BASE)
    desk.flush(FACT)
    outcome = asyncio.run(desk.run())
    assert outcome.state == "failed"
    assert outcome.reason
    assert desk.memory == BASE
    assert "think" not in desk.store.load(outcome.run).candidate
    assert desk.fates() == ["waiting"]


@pytest.mark.case("CON-14", "B15")
def test_what_is_saved_or_edited_during_the_call_survives(tmp_path: Path) -> None:
    desk = Desk(tmp_path, prepare=BASE)

    def answer(_request: Request) -> str:
        desk.writer.save("- Backup window moved to 03:00", when=START)
        edited = desk.memory.replace("## People", "- fact X\n\n## People")
        desk.layout.memory_md.write_text(edited)
        desk.flush("- appended meanwhile", at=START + timedelta(seconds=1))
        return GOOD

    desk.model.replies = [answer]
    desk.flush(FACT)
    outcome = asyncio.run(desk.run())
    assert outcome.state == "applied"
    text = desk.memory
    assert "- fact X" in text
    assert "- Backup window moved to 03:00" in text
    assert FACT in text
    assert desk.fates() == ["merged", "waiting"]


@pytest.mark.case("B15")
def test_the_review_says_that_the_file_changed_and_no_hand_edit_is_overwritten(
    tmp_path: Path,
) -> None:
    desk = Desk(tmp_path, GOOD, prepare=BASE, policy="review")
    desk.flush(FACT)
    run = asyncio.run(desk.run()).run
    assert not desk.review.show(run).base_changed
    desk.layout.memory_md.write_text(BASE.replace("# Memory", "# Memory\nfact X"))
    shown = desk.review.show(run)
    assert shown.base_changed
    assert "fact X" in shown.base
    assert "fact X" in shown.candidate


def test_an_unreadable_memory_stops_the_run(tmp_path: Path) -> None:
    desk = Desk(tmp_path, GOOD)
    data = "记忆".encode("gbk") * 9
    desk.layout.memory_md.write_bytes(data)
    desk.flush(FACT)
    outcome = asyncio.run(desk.run())
    assert outcome.state == "failed"
    assert "UTF-8" in outcome.reason
    assert desk.model.requests == []
    assert desk.layout.memory_md.read_bytes() == data


def test_after_a_failure_it_pauses_longer_each_time_up_to_a_day(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "<html><head><title>404 Not Found</title></head></html>", prepare=BASE)
    desk.flush(FACT)
    at = START
    asyncio.run(desk.run(at))
    gaps: list[timedelta] = []
    for _ in range(8):
        begin = at
        while asyncio.run(desk.run(at)).state == "pausing":
            at += timedelta(minutes=30)
        gaps.append(at - begin)
    hours = [gap / timedelta(hours=1) for gap in gaps]
    assert hours == [0.5, 1, 2, 4, 8, 16, 24, 24]
    assert desk.memory == BASE
    assert asyncio.run(desk.run(at, manual=True)).state == "failed"
