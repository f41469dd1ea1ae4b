"""From daily logs to a proposal, and what must stay as it was when something fails."""

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
from app.engine.workspace.sections import EPOCH, read_watermark, write_watermark
from tests.helpers.consolidating import START, Desk, ScriptedModel, echo

FACT = "- Ines prefers answers in Portuguese"
BASE = "# Memory\n\n## People\n- Bo is the designer of the studio\n"
GOOD = BASE + FACT


@pytest.mark.case("CON-1", "CON-3")
def test_an_absent_or_corrupt_state_is_the_epoch(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    desk = Desk(tmp_path)
    assert read_watermark(desk.layout).instant == EPOCH
    desk.layout.consolidation_state.write_text("yesterday")
    found = read_watermark(desk.layout)
    assert found.instant == EPOCH
    assert found.warning
    assert found.warning in caplog.text


@pytest.mark.case("CON-2")
def test_the_state_is_read_as_it_was_written(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    write_watermark(desk.layout, START)
    assert read_watermark(desk.layout).instant == START
    assert (tmp_path / "memory" / ".consolidation_state").read_text() == START.isoformat()


@pytest.mark.case("CON-5")
def test_nothing_new_asks_no_model_and_leaves_the_state(tmp_path: Path) -> None:
    desk = Desk(tmp_path, GOOD, prepare=BASE)
    outcome = asyncio.run(desk.run())
    assert outcome.state == "nothing"
    assert outcome.reason
    assert desk.model.requests == []
    assert not desk.layout.consolidation_state.exists()
    assert desk.memory == BASE


@pytest.mark.case("CON-6")
def test_at_the_first_opening_only_files_newer_than_the_watermark_are_sent(tmp_path: Path) -> None:
    mark = datetime(2026, 5, 1, 12, tzinfo=UTC)
    desk = Desk(tmp_path, GOOD, prepare=BASE)
    desk.layout.sections.unlink()
    write_watermark(desk.layout, mark)
    for name, shift in (
        ("2026-04-01", -60), ("2026-04-30", 0), ("2026-05-03", 90), ("2026-05-02", 60),
    ):  # fmt: skip
        path = desk.layout.memory_dir / f"{name}.md"
        path.write_text(f"- note of {name}\n")
        stamp = (mark + timedelta(seconds=shift)).timestamp()
        os.utime(path, (stamp, stamp))
    desk.open()
    asyncio.run(desk.run())
    asked = desk.model.asked
    assert "note of 2026-04-01" not in asked
    assert "note of 2026-04-30" not in asked
    assert asked.index("### 2026-05-02.md") < asked.index("### 2026-05-03.md")
    assert mark.isoformat() in asked


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


@pytest.mark.case("CON-8")
def test_policy_auto_writes_the_stripped_answer(tmp_path: Path) -> None:
    desk = Desk(tmp_path, f"\n{GOOD}\n\n", prepare=BASE.rstrip())
    desk.flush(FACT)
    outcome = asyncio.run(desk.run())
    assert outcome.state == "applied"
    assert desk.memory == GOOD
    assert desk.watermark == START
    assert desk.fates() == ["merged"]
    assert desk.indexed == ["MEMORY.md"]
    version = desk.writer.history.latest()
    assert version is not None
    assert (version.cause, version.run, version.model) == ("consolidation", "r-1", "scripted")


@pytest.mark.parametrize("data", [
    b"# Memory\n\n- Bo is the designer\n",
    b"# Memory\n\n- Bo is the designer",
    b"# Memory\n\n- Bo is the designer\n\n \n",
    b"\xef\xbb\xbf\r\n# Memory\r\n\r\n- Bo is the designer\r\n",
])  # fmt: skip
def test_the_files_own_first_and_last_newlines_stay(tmp_path: Path, data: bytes) -> None:
    desk = Desk(tmp_path, prepare=BASE)
    desk.layout.memory_md.write_bytes(data)
    desk.open()
    desk.model.replies = [lambda _request: f"# Memory\n\n- Bo is the designer\n{FACT}"]
    desk.flush(FACT)
    outcome = asyncio.run(desk.run())
    assert outcome.state == "applied"
    end = b"\r\n" if b"\r" in data else b"\n"
    assert desk.layout.memory_md.read_bytes() == data.replace(
        b"- Bo is the designer", b"- Bo is the designer" + end + FACT.encode()
    )
    stored = desk.store.load(outcome.run)
    assert stored.candidate == desk.writer.read().text, "accepting everything gives the candidate"
    assert stored.counts == (1, 0, 1), "the added line, and no change of blank lines"


@pytest.mark.case("CON-9")
def test_a_section_appended_during_the_call_waits_for_the_next_run(tmp_path: Path) -> None:
    desk = Desk(tmp_path, prepare=BASE)
    later = "- Release 4.2 is frozen until 2026-06-10"

    def answer(request: Request) -> str:
        if len(desk.model.requests) == 1:
            desk.flush(later, at=START + timedelta(seconds=5))
            return GOOD
        assert later in request.messages[0].content
        assert FACT not in request.messages[0].content.split("<daily_logs>")[1]
        return f"{GOOD}\n{later}"

    desk.model.replies = [answer]
    desk.flush(FACT)
    asyncio.run(desk.run())
    assert desk.fates() == ["merged", "waiting"]
    assert desk.watermark == START
    asyncio.run(desk.run(START + timedelta(hours=1)))
    assert desk.memory == f"{GOOD}\n{later}\n"
    assert desk.fates() == ["merged", "merged"]


@pytest.mark.case("CON-10")
def test_the_prompt_names_both_budgets(tmp_path: Path) -> None:
    desk = Desk(tmp_path, GOOD, prepare=BASE, consolidation_max_tokens=4_000)
    desk.flush(FACT)
    asyncio.run(desk.run())
    system = desk.model.requests[0].system
    assert "4000" in system
    assert "16000" in system
    assert system.index("4000") < system.index("16000")
    assert "%d" not in system


def test_other_percent_signs_of_a_custom_prompt_stay(tmp_path: Path) -> None:
    prompt = "Keep 100% within %d tokens, %d characters, 5%s"
    desk = Desk(tmp_path, GOOD, prepare=BASE, consolidation_prompt=prompt)
    desk.flush(FACT)
    asyncio.run(desk.run())
    assert desk.model.requests[0].system == ("Keep 100% within 4000 tokens, 16000 characters, 5%s")


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


REFUSAL = "I'm sorry, but I can't help with that request."
LONG = BASE + "\n".join(f"- fact number {n} of a long list" for n in range(900))


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


@pytest.mark.case("CON-15")
def test_a_blank_memory_is_empty_and_no_placeholder_is_written(tmp_path: Path) -> None:
    desk = Desk(tmp_path, echo, prepare="\n  \n")
    desk.flush(FACT)
    outcome = asyncio.run(desk.run())
    asked = desk.model.asked
    assert '<current_file empty="true"></current_file>' in asked
    assert "placeholder" not in (asked + desk.model.requests[0].system).lower()
    assert outcome.state == "applied"
    assert desk.memory == FACT


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


def test_every_model_call_is_on_record(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ModelUnavailable("No server answers."), GOOD, prepare=BASE)
    desk.flush(FACT)
    asyncio.run(desk.run())
    asyncio.run(desk.run(START + timedelta(hours=1)))
    (first,), (second,) = desk.runs.calls("r-1"), desk.runs.calls("r-2")
    assert first.error == "No server answers."
    assert second.answer == GOOD
    assert FACT in second.prompt
    assert second.step == "consolidation"


@pytest.mark.case("B17")
def test_the_same_fact_twice_stays_once(tmp_path: Path) -> None:
    desk = Desk(tmp_path, GOOD, prepare=GOOD + "\n")
    desk.flush(FACT, "-  Ines  prefers answers in Portuguese ")
    outcome = asyncio.run(desk.run())
    assert outcome.state == "unchanged"
    assert desk.memory.count("Ines prefers answers in Portuguese") == 1
    assert desk.fates() == ["merged"]
    desk.model.replies = [BASE]
    desk.flush(FACT, at=START + timedelta(minutes=1))
    outcome = asyncio.run(desk.run(START + timedelta(hours=1)))
    assert outcome.state == "proposed"
    shown = desk.review.show(outcome.run)
    assert [(c.kind, c.before) for c in shown.changes] == [("dropped", (FACT,))]
    assert FACT in desk.memory


def test_a_proposal_that_waits_is_not_asked_for_again(tmp_path: Path) -> None:
    desk = Desk(tmp_path, GOOD, prepare=BASE, policy="review")
    desk.flush(FACT)
    first = asyncio.run(desk.run())
    again = asyncio.run(desk.run(START + timedelta(hours=1)))
    assert again.state == "nothing"
    assert len(desk.model.requests) == 1
    desk.flush("- Release 4.2 is frozen", at=START + timedelta(hours=1))
    desk.model.replies = [f"{GOOD}\n- Release 4.2 is frozen"]
    second = asyncio.run(desk.run(START + timedelta(hours=2)))
    assert desk.store.load(first.run).state == "superseded"
    assert desk.store.load(second.run).state == "proposed"


def test_a_proposal_somebody_opened_is_left_alone_and_its_sections_too(tmp_path: Path) -> None:
    desk = Desk(tmp_path, GOOD, prepare=BASE, policy="review")
    desk.flush(FACT)
    first = asyncio.run(desk.run())
    desk.review.keep(first.run, [])
    desk.flush("- Release 4.2 is frozen", at=START + timedelta(hours=1))
    desk.model.replies = [f"{BASE}- Release 4.2 is frozen"]
    second = asyncio.run(desk.run(START + timedelta(hours=2)))
    assert desk.store.load(first.run).state == "in_review"
    assert FACT not in desk.model.asked
    assert desk.store.load(second.run).inputs != desk.store.load(first.run).inputs


def test_without_a_fit_model_the_extractive_curator_works(tmp_path: Path) -> None:
    desk = Desk(tmp_path, prepare=BASE)
    desk.model.fit_for_memory = False
    assert asyncio.run(desk.run()).state == "nothing"
    desk.flush(FACT)
    desk.consolidator.extract = lambda text, sections: (
        text + "\n".join(line.text for s in sections for line in s.section.lines)
    )
    outcome = asyncio.run(desk.run())
    assert outcome.state == "applied"
    assert desk.memory == f"{GOOD}\n"
    assert desk.model.requests == []


def test_a_line_from_a_tool_is_never_written_without_a_person(tmp_path: Path) -> None:
    desk = Desk(tmp_path, GOOD, prepare=BASE)
    desk.flush(FACT, origin="tool")
    outcome = asyncio.run(desk.run())
    assert outcome.state == "proposed"
    assert "tool" in outcome.reason
    assert desk.memory == BASE


def test_additions_only_lets_nothing_else_through(tmp_path: Path) -> None:
    reworded = GOOD.replace("designer of the studio", "lead designer of the studio")
    desk = Desk(tmp_path, reworded, prepare=BASE, policy="auto_additions")
    desk.flush(FACT)
    assert asyncio.run(desk.run()).state == "proposed"
    desk.model.replies = [GOOD]
    desk.flush("- something else", at=START)
    assert asyncio.run(desk.run(START + timedelta(hours=1))).state == "applied"


def test_a_scripted_model_is_an_endpoint() -> None:
    assert ScriptedModel("x").name == "scripted"
