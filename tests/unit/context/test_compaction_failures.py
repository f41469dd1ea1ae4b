"""What goes wrong in a compaction, and that the history then stays."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from app.engine.config import CompactionConfig
from app.engine.context.compaction import Compaction, Frame, NotCompacted, Outcome
from app.engine.context.compactor import ConversationCompactor
from app.engine.context.pace import Pace
from app.engine.context.summaries import SummaryAnswer, SummaryRequest
from app.engine.context.tokens import Counter
from app.engine.errors import ContextOverflow, Interrupted, interruption
from app.engine.events import Activity
from app.engine.records import Message, Window
from tests.helpers.talk import FakeSummariser, answer, calls, result, user

SMALL = CompactionConfig(trigger_messages=4, trigger_tokens=0, keep_messages=2)


def dialogue(size: int, text: str = "") -> list[Message]:
    return [
        user(f"m{n}", text and f"{text} {n}")
        if n % 2 == 0
        else answer(f"m{n}", text and f"{text} {n}")
        for n in range(size)
    ]


def compactor(
    model: Any,
    config: CompactionConfig = SMALL,
    *,
    window: int = 128_000,
    pace: Pace | None = None,
    events: list[Activity] | None = None,
    system_tokens: int = 0,
) -> ConversationCompactor:
    frame = Frame(window=Window(window), system_tokens=system_tokens)
    emit = events.append if events is not None else None
    return ConversationCompactor(config, Counter(), frame, summarise=model, pace=pace, emit=emit)


def due(made: ConversationCompactor, context: Sequence[Message], **hooks: Any) -> Outcome | None:
    return asyncio.run(made.compact_if_due(context, **hooks))


def wrapped(inner: BaseException) -> Exception:
    outer = RuntimeError("the step failed")
    outer.__cause__ = inner
    return outer


@pytest.mark.parametrize("error", [asyncio.CancelledError(), Interrupted(), wrapped(Interrupted())])
@pytest.mark.case("CMP-7")
def test_an_interrupted_flush_propagates(error: BaseException) -> None:
    model = FakeSummariser()

    async def flush(_prefix: tuple[Message, ...]) -> None:
        raise error

    with pytest.raises(type(error)):
        due(compactor(model), dialogue(6), flush=flush)
    assert model.requests == []


@pytest.mark.parametrize("inner", [asyncio.CancelledError(), Interrupted()])
@pytest.mark.case("CMP-8")
def test_a_wrapped_interruption_of_the_offload_propagates(inner: BaseException) -> None:
    model = FakeSummariser()

    async def offload() -> None:
        raise wrapped(inner)

    with pytest.raises(RuntimeError) as caught:
        due(compactor(model), dialogue(6), offload=offload)
    assert interruption(caught.value) is inner
    assert model.requests == []


@pytest.mark.parametrize(
    "bad",
    [
        SummaryAnswer("   "),
        SummaryAnswer("## SUMMARY\nhalf of", finish="length"),
        SummaryAnswer("forty words of a summary", finish=""),
        SummaryAnswer("Error generating summary: quota"),
        SummaryAnswer("I'm sorry, but I can't help with that."),
        SummaryAnswer("抱歉，我无法总结这段对话。"),
        SummaryAnswer("<!DOCTYPE html><html><body>502</body></html>"),
        SummaryAnswer('{"error": {"message": "overloaded"}}'),
        SummaryAnswer("<think>let me see, the person wants"),
        ConnectionError("the server went away after 40 words"),
        RuntimeError(),
    ],
)
@pytest.mark.case("CMP-12")
def test_a_summary_that_fails_costs_nothing_and_is_tried_again(bad: Any) -> None:
    events: list[Activity] = []
    pace = Pace()
    context = dialogue(6)
    model = FakeSummariser(bad, "Good.")
    outcome = due(compactor(model, pace=pace, events=events), context)
    assert isinstance(outcome, NotCompacted)
    assert outcome.kind == "failed"
    assert outcome.reason
    assert [event.state for event in events] == ["started", "failed"]
    assert events[-1].reason == outcome.reason
    pace.new_turn()
    again = due(compactor(model, pace=pace, events=events), [*context, user("m6")])
    assert isinstance(again, Compaction)


@pytest.mark.parametrize(
    "bad", [ConnectionError("after 40 words"), "Error generating summary", asyncio.CancelledError()]
)
@pytest.mark.case("B63")
def test_the_history_is_as_it_was(bad: Any) -> None:
    events: list[Activity] = []
    context = dialogue(6)
    before = list(context)
    made = compactor(FakeSummariser(bad), events=events)
    if isinstance(bad, asyncio.CancelledError):
        with pytest.raises(asyncio.CancelledError):
            asyncio.run(made.compact(context))
    else:
        outcome = asyncio.run(made.compact(context))
        assert isinstance(outcome, NotCompacted)
        assert outcome.remedy or outcome.reason
    assert all(one is other for one, other in zip(context, before, strict=True))
    assert "finished" not in [event.state for event in events]
    assert events[-1].state in ("failed", "skipped")


def test_an_answer_with_thinking_is_used_without_it() -> None:
    made = due(compactor(FakeSummariser("<think>hmm</think>\nThe summary.")), dialogue(6))
    assert isinstance(made, Compaction)
    assert made.summary == "The summary."


def test_an_apology_in_a_whole_summary_is_no_refusal() -> None:
    text = "I can't eat nuts, the person said.\n\n## SUMMARY\nDinner is planned."
    assert isinstance(due(compactor(FakeSummariser(text)), dialogue(6)), Compaction)


def test_a_cycle_of_causes_ends() -> None:
    one, two = RuntimeError("one"), RuntimeError("two")
    one.__cause__, two.__cause__ = two, one
    assert interruption(one) is None
    model = FakeSummariser(one)
    outcome = due(compactor(model), dialogue(6))
    assert isinstance(outcome, NotCompacted)
    assert len(model.requests) == 1


def test_a_time_limit_is_a_failure_and_no_interruption() -> None:
    async def slow(_request: SummaryRequest) -> SummaryAnswer:
        async with asyncio.timeout(0.01):
            await asyncio.sleep(5)
        raise AssertionError

    outcome = due(compactor(slow), dialogue(6))
    assert isinstance(outcome, NotCompacted)
    assert outcome.kind == "failed"


def test_without_a_model_sentences_are_picked() -> None:
    config = SMALL.replace(extractive_fallback=True)
    context = [
        user("a", "Please move the backup to 03:00 and write it to docs/backup.md"),
        answer("b", "Done, docs/backup.md now says 03:00."),
        user("c", "Also tell Ines."),
        answer("d", "I told Ines."),
        user("e"),
        answer("f"),
    ]
    made = due(compactor(None, config), context)
    assert isinstance(made, Compaction)
    assert made.extractive
    parts = made.summary.split("## ")
    assert parts[1].startswith("SESSION INTENT\nPlease move the backup")
    assert "Also tell Ines." in parts[2]
    assert "docs/backup.md" in parts[3]
    assert "I told Ines." in parts[4]
    again = due(compactor(None, config), [*made.context, user("g"), answer("h")])
    assert isinstance(again, Compaction)
    assert "Please move the backup" in again.summary
    assert again.summary.count("docs/backup.md") == made.summary.count("docs/backup.md")


# ---------------------------------------------------------------------------- in parts


class Narrow:
    """A model that refuses what is longer than its window, in its own count."""

    def __init__(self, window: int) -> None:
        self.window = window
        self.sizes: list[int] = []
        self.requests: list[SummaryRequest] = []

    async def __call__(self, request: SummaryRequest) -> SummaryAnswer:
        size = sum(Counter().message(m) for m in request.messages) + Counter().text(request.system)
        self.sizes.append(size)
        self.requests.append(request)
        if size > self.window:
            raise ContextOverflow("too long", requested=size, window=self.window)
        return SummaryAnswer(f"Summary number {len(self.sizes)}.")


def unanswered(messages: Sequence[Message]) -> list[str]:
    """What a strict server would refuse: calls without results, results without calls."""
    wrong: list[str] = []
    waiting: list[str] = []
    for message in messages:
        if message.role == "tool":
            if message.call_id not in waiting:
                wrong.append(message.id)
            else:
                waiting.remove(message.call_id)
            continue
        wrong += waiting
        waiting = [call.id for call in message.calls]
    return wrong + waiting


@pytest.mark.parametrize("profile", ["four_part", "working_state"])
@pytest.mark.case("B64")
def test_a_history_larger_than_the_window_is_summarised_in_parts(profile: str) -> None:
    model = Narrow(8_000)
    events: list[Activity] = []
    config = SMALL.replace(prompt_profile=profile)
    context = dialogue(120, "word " * 240)
    assert Counter().messages(context) > 28_000
    made = compactor(model, config, window=8_000, events=events)
    outcome = asyncio.run(made.compact(context))
    assert isinstance(outcome, Compaction)
    assert len(model.sizes) > 3
    assert max(model.sizes) <= 8_000
    assert "Summary number 1." in "".join(m.content for m in model.requests[1].messages)
    assert [e.state for e in events].count("finished") == 0
    assert events[-1].state == "progress"
    asyncio.run(made.committed(outcome, 1))
    assert events[-1].state == "finished"


def test_a_window_smaller_than_it_was_said_to_be_is_found_out() -> None:
    model = Narrow(3_000)
    outcome = asyncio.run(
        compactor(model, SMALL, window=32_000).compact(dialogue(60, "word " * 240))
    )
    assert isinstance(outcome, Compaction)
    assert sum(size > 3_000 for size in model.sizes) == 1


def test_one_message_larger_than_the_window_is_shortened_in_the_request() -> None:
    model = Narrow(4_000)
    context = [user("a", "word " * 20_000), answer("b"), user("c"), answer("d")]
    outcome = asyncio.run(compactor(model, SMALL, window=4_000).compact(context))
    assert isinstance(outcome, Compaction)
    assert max(model.sizes) <= 4_000


@pytest.mark.case("B57")
def test_pairs_stay_whole_in_every_request() -> None:
    config = SMALL.replace(prompt_profile="working_state", keep_messages=1)
    context: list[Message] = []
    for n in range(20):
        context += [
            user(f"u{n}", "word " * 100),
            calls(f"a{n}", f"c{n}1", f"c{n}2", f"c{n}3"),
            *(result(f"t{n}{k}", f"c{n}{k}", "out " * 120) for k in (1, 2, 3)),
        ]
    context.append(user("end"))
    model = Narrow(2_500)
    outcome = asyncio.run(compactor(model, config, window=6_000).compact(context))
    assert isinstance(outcome, Compaction)
    assert len(model.requests) > 3
    for request in model.requests:
        assert unanswered(request.messages) == []


# ---------------------------------------------------------------------------- does it help?


def tight(**changes: Any) -> CompactionConfig:
    config = CompactionConfig(trigger_messages=0, trigger_tokens=1_000, keep_messages=4)
    return config.replace(**changes)


@pytest.mark.case("B65")
def test_a_prompt_above_the_threshold_is_named_and_not_tried_for() -> None:
    model, pace, events = FakeSummariser(), Pace(), list[Activity]()
    kinds: list[str] = []
    context = dialogue(6)
    for n in range(6):
        pace.new_turn()
        made = compactor(model, tight(), pace=pace, events=events, system_tokens=1_500)
        outcome = due(made, context)
        assert isinstance(outcome, NotCompacted)
        kinds.append(outcome.kind)
        context = [*context, user(f"more{n}")]
    assert model.requests == []
    assert kinds == ["no_gain"] + ["waiting"] * 5
    assert [e.state for e in events] == ["skipped"]
    assert "1500 tokens by itself" in events[0].reason
    assert events[0].remedy


@pytest.mark.case("B65")
def test_a_summary_as_long_as_its_input_is_thrown_away_and_the_tries_are_counted() -> None:
    text = "word " * 2_000
    model, pace, events = FakeSummariser(text), Pace(), list[Activity]()
    context = dialogue(12, "word " * 100)
    outcome = due(compactor(model, tight(), pace=pace, events=events), context)
    assert isinstance(outcome, NotCompacted)
    assert outcome.kind == "no_gain"
    assert outcome.largest
    assert len(model.requests) == 2  # max_attempts_per_turn
    assert [e.state for e in events] == ["started", "skipped"]
    for _ in range(3):
        again = due(compactor(model, tight(), pace=pace, events=events), context)
        assert isinstance(again, NotCompacted)
        assert again.kind == "waiting"
    assert len(model.requests) == 2


@pytest.mark.case("B65")
def test_the_count_is_taken_anew_from_the_new_history() -> None:
    pace = Pace()
    context = dialogue(12, "word " * 100)
    made = due(compactor(FakeSummariser("Short."), tight(), pace=pace), context)
    assert isinstance(made, Compaction)
    assert made.after == Counter().messages(made.context) < made.before
    assert compactor(FakeSummariser(), tight()).due(made.context) == ""


def test_a_long_tail_is_shortened_until_the_context_is_below_the_threshold() -> None:
    model = FakeSummariser("Short.")
    context = dialogue(12, "word " * 100)
    made = due(compactor(model, tight(keep_messages=11)), context)
    assert isinstance(made, Compaction)
    assert len(made.kept) < 11
    assert made.after < 1_000
    assert len(model.requests) == 1
    assert made.note == ""


def test_after_two_failures_it_pauses_for_the_cool_down() -> None:
    model, pace = FakeSummariser(RuntimeError("down")), Pace()
    config = SMALL.replace(cooldown_units=2)
    context = dialogue(6)
    kinds: list[str] = []
    for n in range(6):
        pace.new_turn()
        outcome = due(compactor(model, config, pace=pace), context)
        assert isinstance(outcome, NotCompacted)
        kinds.append(outcome.kind)
        context = [*context, user(f"more{n}")]
    assert kinds == ["failed", "failed", "waiting", "failed", "failed", "waiting"]


@pytest.mark.case("CMP-16")
def test_one_session_is_interrupted_while_another_goes_on() -> None:
    async def main() -> None:
        release = asyncio.Event()

        async def slow(_request: SummaryRequest) -> SummaryAnswer:
            await release.wait()
            return SummaryAnswer("Slow summary.")

        first = asyncio.create_task(compactor(slow).compact(dialogue(6)))
        second = asyncio.create_task(compactor(slow).compact(dialogue(6)))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0)
        release.set()
        outcome = await second
        assert isinstance(outcome, Compaction)
        with pytest.raises(asyncio.CancelledError):
            await first

    asyncio.run(main())
