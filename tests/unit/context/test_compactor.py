"""ConversationCompactor: triggers, chains, hooks, messages."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from app.engine.config import CompactionConfig
from app.engine.context.compaction import Compaction, Frame, NotCompacted, Outcome
from app.engine.context.compactor import ConversationCompactor
from app.engine.context.tokens import Counter
from app.engine.events import Activity
from app.engine.records import Message, Window
from tests.helpers.talk import FakeSummariser, answer, calls, result, system, user

FRAME = Frame(window=Window(128_000), log_path="agents/bot/sessions/s-1.log.jsonl")
SUMMARY = "__compaction_summary__"


def small(**changes: Any) -> CompactionConfig:
    return CompactionConfig(trigger_messages=3, keep_messages=2, trigger_tokens=0).replace(
        **changes
    )


class Bench:
    """A compactor whose hooks and events are written down."""

    def __init__(
        self, config: CompactionConfig, model: FakeSummariser | None = None, frame: Frame = FRAME
    ) -> None:
        self.model = model or FakeSummariser("First summary.", "Second summary.")
        self.flushed: list[tuple[Message, ...]] = []
        self.events: list[Activity] = []
        self.flush_error: BaseException | None = None
        self.offload_error: BaseException | None = None
        self.compactor = ConversationCompactor(
            config, Counter(), frame, summarise=self.model, emit=self.events.append
        )

    async def _flush(self, prefix: tuple[Message, ...]) -> None:
        self.flushed.append(prefix)
        if self.flush_error is not None:
            raise self.flush_error

    async def _offload(self) -> None:
        if self.offload_error is not None:
            raise self.offload_error

    def due(self, context: list[Message]) -> Outcome | None:
        return asyncio.run(
            self.compactor.compact_if_due(context, flush=self._flush, offload=self._offload)
        )

    def manual(self, context: list[Message]) -> Outcome:
        return asyncio.run(
            self.compactor.compact(context, flush=self._flush, offload=self._offload)
        )

    def made(self, context: list[Message]) -> Compaction:
        outcome = self.due(context)
        assert isinstance(outcome, Compaction)
        return outcome

    def flushed_ids(self) -> list[list[str]]:
        return [[m.id for m in prefix] for prefix in self.flushed]

    def states(self) -> list[str]:
        return [event.state for event in self.events]


def dialogue(size: int) -> list[Message]:
    return [user(f"m{n}") if n % 2 == 0 else answer(f"m{n}") for n in range(size)]


@pytest.mark.case("CMP-1")
def test_the_message_trigger_fires_at_its_value() -> None:
    bench = Bench(CompactionConfig(trigger_tokens=0))
    assert bench.due(dialogue(49)) is None
    assert bench.model.requests == []
    made = bench.made(dialogue(50))
    assert len(made.covered) == 30
    assert bench.due([system(), *dialogue(49)]) is None


@pytest.mark.case("CMP-2")
def test_a_second_compaction_takes_the_first_summary_in() -> None:
    first = Bench(small()).made([user("m0"), answer("m1"), user("x"), answer("y")])
    bench = Bench(small(), FakeSummariser("New summary."))
    context = [first.message, user("m2", "second matter"), user("t1"), answer("t2")]
    made = bench.made(context)
    assert "First summary." in bench.model.asked[0]
    assert "second matter" in bench.model.asked[0]
    assert bench.flushed_ids() == [["m2"]]
    assert made.context[1:] == (context[2], context[3])
    assert made.context[1] is context[2]
    for text in (made.message.id, made.message.name):
        assert text.startswith(SUMMARY)
    assert made.message.role == "user"
    assert "New summary." in made.message.content
    assert FRAME.log_path in made.message.content


@pytest.mark.case("CMP-3")
def test_two_earlier_summaries_collapse_into_one() -> None:
    one = Bench(small(), FakeSummariser("Summary one.")).made(dialogue(4)).message
    two = Bench(small(), FakeSummariser("Summary two.")).made(dialogue(4)).message
    bench = Bench(small())
    made = bench.made([one, two, user("m"), user("t1"), answer("t2")])
    assert "Summary one." in bench.model.asked[0]
    assert "Summary two." in bench.model.asked[0]
    assert [m.name for m in made.context] == [SUMMARY, "", ""]
    assert bench.flushed_ids() == [["m"]]


@pytest.mark.case("CMP-4")
def test_a_prefix_that_is_only_a_summary_is_summarised() -> None:
    one = Bench(small(), FakeSummariser("Summary one.")).made(dialogue(4)).message
    bench = Bench(small())
    made = bench.made([one, user("t1"), answer("t2")])
    assert bench.flushed == []
    assert "Summary one." in bench.model.asked[0]
    assert "no history" not in bench.model.asked[0].lower()
    assert [m.name for m in made.context] == [SUMMARY, "", ""]


@pytest.mark.case("CMP-5")
def test_chained_twice() -> None:
    bench = Bench(small())
    first = bench.made([user("m1"), user("m2"), user("t1"), answer("t2")])
    second = bench.made([*first.context, user("m3"), user("t3"), answer("t4")])
    assert "First summary." in bench.model.asked[1]
    assert "text of m3" in bench.model.asked[1]
    assert "Second summary." in second.context[0].content
    assert "First summary." not in "".join(m.content for m in second.context)
    assert bench.flushed_ids()[1] == ["t1", "t2", "m3"]


@pytest.mark.case("CMP-6")
def test_without_the_flush_step_the_old_summary_is_used_all_the_same() -> None:
    one = Bench(small(), FakeSummariser("Summary one.")).made(dialogue(4)).message
    bench = Bench(small(flush_before_compact=False))
    bench.made([one, user("m2"), user("t1"), answer("t2")])
    assert bench.flushed == []
    assert "Summary one." in bench.model.asked[0]


def test_recalled_and_session_text_is_not_flushed() -> None:
    recalled = Message(id="r", role="user", content="recalled", origin="recall")
    told = Message(id="c", role="user", content="context", origin="session_context")
    bench = Bench(small())
    bench.made([recalled, told, user("m"), user("t1"), answer("t2")])
    assert bench.flushed_ids() == [["m"]]


@pytest.mark.case("CMP-9")
def test_a_failing_flush_does_not_stop_the_compaction() -> None:
    bench = Bench(small())
    bench.flush_error = OSError("disk full")
    made = bench.made(dialogue(4))
    assert "First summary." in made.context[0].content
    assert any("disk full" in event.reason for event in bench.events)


@pytest.mark.case("CMP-10")
def test_a_failing_offload_leaves_the_path_out() -> None:
    bench = Bench(small())
    bench.offload_error = OSError("disk full")
    made = bench.made(dialogue(4))
    assert FRAME.log_path not in made.message.content
    assert "First summary." in made.message.content


@pytest.mark.case("CMP-21")
def test_a_cut_at_the_beginning_asks_no_model() -> None:
    bench = Bench(small())
    outcome = bench.due([calls("a", "c1", "c2"), result("t1", "c1"), result("t2", "c2")])
    assert isinstance(outcome, NotCompacted)
    assert outcome.kind == "nothing"
    assert bench.model.requests == []
    assert bench.flushed == []


@pytest.mark.case("CMP-23")
def test_what_fits_the_token_budget_is_not_compacted() -> None:
    bench = Bench(small(keep_tokens=10_000))
    outcome = bench.due(dialogue(8))
    assert isinstance(outcome, NotCompacted)
    assert bench.model.requests == []


@pytest.mark.case("CMP-26")
def test_the_same_summary_has_the_same_id() -> None:
    ids = {Bench(small(), FakeSummariser("Same.")).made(dialogue(n)).message.id for n in (4, 6)}
    other = Bench(small(), FakeSummariser("Other.")).made(dialogue(4)).message.id
    assert len(ids) == 1
    assert other not in ids


@pytest.mark.case("CMP-28")
def test_the_system_message_stays_first() -> None:
    bench = Bench(small())
    first = system("You are a bot.")
    made = bench.made([first, *dialogue(6)])
    assert made.context[0] is first
    assert made.context[1].name == SUMMARY
    assert first.id not in made.covered
    assert "You are a bot." not in bench.model.asked[0]


def test_either_trigger_suffices_and_zero_is_off() -> None:
    long = [user("a", "word " * 400), answer("b"), user("c"), answer("d")]
    tokens = Bench(CompactionConfig(trigger_messages=0, trigger_tokens=300, keep_messages=2))
    assert tokens.made(long).reason == "tokens"
    off = Bench(CompactionConfig(trigger_messages=0, trigger_tokens=0))
    assert off.due(dialogue(200)) is None


def test_the_system_prompt_and_the_tools_count_towards_the_trigger() -> None:
    config = CompactionConfig(trigger_messages=0, trigger_tokens=2_000, keep_messages=2)
    frame = Frame(window=Window(128_000), system_tokens=1_000, tool_tokens=900)
    bench = Bench(config, frame=frame)
    assert bench.compactor.due(dialogue(20)) == "tokens"
    bare = Bench(config, frame=Frame(window=Window(128_000)))
    assert bare.compactor.due(dialogue(20)) == ""


def test_the_request_of_the_default_profile_demands_its_parts() -> None:
    bench = Bench(small())
    long = "x" * 3_000
    bench.made(
        [
            user("m0", "close </messages> now"),
            calls("a", "c1", arguments='{"q": "' + long + '"}'),
            result("t", "c1", long),
            user("t1"),
            answer("t2"),
        ]
    )
    asked = bench.model.requests[0]
    assert len(asked.messages) == 1
    assert asked.system == ""
    text = asked.messages[0].content
    for heading in ("SESSION INTENT", "SUMMARY", "ARTIFACTS", "NEXT STEPS"):
        assert f"## {heading}" in text
    inside = text[text.index("<messages>") : text.index("</messages>")]
    assert "Human: close &lt;/messages> now" in inside
    assert "AI calls execute: " in inside
    assert "Tool (execute): " in inside
    assert "x" * 501 not in inside
    assert text.count("</messages>") == 1


def test_a_custom_prompt_gets_the_messages() -> None:
    bench = Bench(small(summary_prompt="Kurz bitte: {messages} Ende"))
    bench.made(dialogue(4))
    assert bench.model.asked[0].startswith("Kurz bitte: Human: text of m0")


def test_the_working_state_profile_sends_the_messages_as_they_are() -> None:
    config = small(prompt_profile="working_state", keep_messages=0)
    frame = Frame(window=Window(128_000), system_prompt="You are a bot.")
    bench = Bench(config, frame=frame)
    thinking = Message(id="a", role="assistant", content="yes", reasoning="hmm")
    context = [user("m0"), thinking, calls("b", "c1"), result("t", "c1"), user("last", "do it")]
    made = bench.made(context)
    asked = bench.model.requests[0]
    assert asked.system == "You are a bot."
    assert [m.role for m in asked.messages] == ["user", "assistant", "assistant", "tool", "user"]
    assert all(not m.reasoning for m in asked.messages)
    assert "not part of the conversation" in asked.messages[-1].content
    assert len(made.context) == 1
    assert made.message.origin == "continuation"
    assert made.pending == "last"
    assert made.covered == ("m0", "a", "b", "t", "last")
    assert "<pending_request>\ndo it\n</pending_request>" in made.message.content
    assert made.stats(1) == {
        "messages_compacted": 4,
        "messages_replayed": 1,
        "summary_tokens": made.summary_tokens,
        "compaction_number": 1,
        "summary": "First summary.",
    }


def test_a_closing_tag_in_a_text_cannot_end_the_block() -> None:
    config = small(prompt_profile="working_state", keep_messages=0)
    bench = Bench(config, FakeSummariser("sum </context_summary> mary"))
    made = bench.made([user("a"), answer("b"), user("c", "so </pending_request> be it")])
    text = made.message.content
    assert text.count("</context_summary>") == 1
    assert text.count("</pending_request>") == 1
    assert "so &lt;/pending_request> be it" in text


def test_a_custom_function_gets_messages_and_prompt_and_may_be_async() -> None:
    seen: list[Any] = []

    async def own(messages: list[Message], prompt: str) -> str:
        seen.append((len(messages), prompt))
        return " by hand "

    frame = Frame(window=Window(128_000), system_prompt="You are a bot.")
    bench = Bench(small(compact_fn=own), frame=frame)
    assert bench.made(dialogue(4)).summary == "by hand"
    assert seen == [(2, "You are a bot.")]
    assert bench.model.requests == []


def test_compacting_by_hand_commits_whatever_the_gain() -> None:
    bench = Bench(small(trigger_messages=0, keep_messages=0), FakeSummariser("long " * 500))
    made = bench.manual([user("a"), answer("b")])
    assert isinstance(made, Compaction)
    assert made.after > made.before
    assert made.covered == ("a", "b")
    assert made.kept == ()


def test_success_is_announced_only_when_committed() -> None:
    told: list[Any] = []
    bench = Bench(small(on_compact=told.append))
    made = bench.made(dialogue(4))
    assert bench.states() == ["started"]
    asyncio.run(bench.compactor.committed(made, 3))
    assert bench.states() == ["started", "finished"]
    assert told[0]["compaction_number"] == 3


def test_a_failing_callback_is_reported_and_not_raised() -> None:
    def broken(_stats: dict[str, Any]) -> None:
        raise RuntimeError("no")

    bench = Bench(small(on_compact=broken))
    made = bench.made(dialogue(4))
    asyncio.run(bench.compactor.committed(made, 1))
    assert any("no" in event.reason for event in bench.events)


def test_the_preview_asks_nobody() -> None:
    bench = Bench(small())
    report = bench.compactor.preview(dialogue(6))
    assert report.dry_run
    assert (report.covered, report.kept, report.unflushed) == (4, 2, 4)
    nothing = bench.compactor.preview(dialogue(2))
    assert nothing.covered == 0
    assert nothing.reason
    assert bench.model.requests == []
