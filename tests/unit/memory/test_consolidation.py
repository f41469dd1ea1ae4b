"""From daily logs to a proposal: what is sent, what is written, and what waits."""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from app.engine.errors import ModelUnavailable
from app.engine.llm.endpoint import Request
from app.engine.workspace.sections import EPOCH, read_watermark, write_watermark
from tests.helpers.consolidating import START, Desk, echo

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
