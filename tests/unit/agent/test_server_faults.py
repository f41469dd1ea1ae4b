"""Servers that misbehave, seen through whole turns: what is asked again, kept, and said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.engine.agent.tools import Tool, tool
from app.engine.config import (
    AgentConfig,
    CompactionConfig,
    EngineConfig,
    ToolResultEvictionConfig,
)
from app.engine.events import Activity, TurnEvent
from app.engine.llm.endpoint import Request
from tests.helpers.fake_server import Reply, Seen, call, chunk, error, say, use
from tests.helpers.models import ScriptedModel
from tests.helpers.waiting import run
from tests.helpers.workspaces import EngineDesk, engine_on

SUMMARY = say("SESSION INTENT: talk\nSUMMARY: we talked\nARTIFACTS: None\nNEXT STEPS: None")
LATE = CompactionConfig(trigger_messages=0, trigger_tokens=0)  # only an overflow compacts
BARE = AgentConfig(
    memory_hooks=False, memory_tools=False, file_tools=False, workspace_context=False
)


def config(**compaction: Any) -> EngineConfig:
    return EngineConfig(agent=BARE, compaction=LATE.replace(**compaction))


def compactions(desk: EngineDesk) -> int:
    return desk.log().count('"type":"compaction"')


def recorder(output: str = "done") -> tuple[Tool, list[dict]]:
    """A tool, and the arguments it was really called with."""
    seen: list[dict] = []

    async def work(arguments: dict) -> str:
        seen.append(arguments)
        return output

    return tool("execute", "Run a command.", work, a=("integer", "a number")), seen


# ---------------------------------------------------------------------------- cut prompts


def counted(request: Request) -> int:
    """Our own count of a request, as the case has it: long ones are 6,000 tokens."""
    return 6_000 if len(request.messages) >= 5 else 200


@pytest.mark.case("SRV-11")
def test_a_prompt_that_was_cut_is_noticed_made_smaller_and_sent_once_more(tmp_path: Path) -> None:
    async def main() -> None:
        scripts = [say("a"), say("b"), say("from half of it", prompt=2_050), SUMMARY]
        scripts += [say("from all of it", prompt=190)]
        async with engine_on(
            tmp_path, *scripts, config=config(), window=4_096, estimate=counted
        ) as desk:
            await desk.send("first")
            await desk.send("second")
            result = await desk.send("third")
            assert (result.state, result.reply) == ("finished", "from all of it"), result.error
            assert len(desk.server.requests) == 5
            assert compactions(desk) == 1
            assert "from half of it" not in desk.log()
            assert desk.log().count('"third"') == 1
            assert [m["content"] for m in desk.sent()].count("third") == 1
            assert len(desk.sent()) < len(desk.sent(2))
            said = [e for e in desk.events if isinstance(e, Activity)]
            (suspected,) = [e for e in said if e.step == "suspected_truncation"]
            assert suspected.session_id == desk.session
            assert "2,050" in suspected.reason
            assert "num_ctx" in suspected.remedy
            kinds = [e.kind for e in desk.events if isinstance(e, TurnEvent)]
            assert kinds.count("again") == 1

    run(main())


def test_a_prompt_that_is_cut_again_is_not_sent_a_third_time(tmp_path: Path) -> None:
    async def main() -> None:
        always = lambda _request: 6_000  # noqa: E731
        cut = say("half", prompt=2_050)
        scripts = [say("a"), say("b"), cut, SUMMARY, cut]
        async with engine_on(
            tmp_path, *scripts, config=config(), window=4_096, estimate=always
        ) as desk:
            await desk.send("first")
            await desk.send("second")
            assert (await desk.send("third")).reply == "half"
            assert len(desk.server.requests) == 5
            steps = [e.step for e in desk.events if isinstance(e, Activity)]
            assert steps.count("suspected_truncation") == 2

    run(main())


def test_room_is_made_once_in_a_turn_of_several_steps(tmp_path: Path) -> None:
    """Each step's prompt is cut: the first makes room and asks again, the second is only said."""

    async def main() -> None:
        always = lambda _request: 6_000  # noqa: E731
        execute, ran = recorder()
        scripts = [
            say("a"), say("b"), say("half", prompt=2_050), SUMMARY,
            use(call("execute", {"a": 1}, id="c1"), prompt=2_050), say("done, half", prompt=2_050),
            say("never asked for"),
        ]  # fmt: skip
        async with engine_on(
            tmp_path, *scripts, config=config(), tools=[execute], window=4_096, estimate=always
        ) as desk:
            await desk.send("first")
            await desk.send("second")
            result = await desk.send("third")
            assert (result.state, result.reply) == ("finished", "done, half")
            assert ran == [{"a": 1}]
            assert len(desk.server.requests) == 6
            assert compactions(desk) == 1
            kinds = [e.kind for e in desk.events if isinstance(e, TurnEvent)]
            assert kinds.count("again") == 1
            steps = [e.step for e in desk.events if isinstance(e, Activity)]
            assert steps.count("suspected_truncation") == 3
            # The next turn may make room once more.
            desk.server.scripts[:] = [say("half", prompt=2_050), SUMMARY, say("whole")]
            assert (await desk.send("fourth")).reply == "whole"

    run(main())


def test_a_cut_prompt_without_compaction_is_only_said(tmp_path: Path) -> None:
    async def main() -> None:
        switched_off = EngineConfig(agent=BARE.replace(compaction=False))
        scripts = [say("a"), say("b"), say("half", prompt=2_050)]
        async with engine_on(
            tmp_path, *scripts, config=switched_off, window=4_096, estimate=counted
        ) as desk:
            for text in ("first", "second", "third"):
                result = await desk.send(text)
            assert (result.state, result.reply) == ("finished", "half")
            assert len(desk.server.requests) == 3
            steps = [e.step for e in desk.events if isinstance(e, Activity)]
            assert steps.count("suspected_truncation") == 1

    run(main())


# ---------------------------------------------------------------------------- broken streams


@pytest.mark.case("SRV-13")
def test_an_answer_that_just_stops_is_no_answer(tmp_path: Path) -> None:
    async def main() -> None:
        scripts = [say("Half an ", "ans", finish=None), say("Whole.")]
        async with engine_on(tmp_path, *scripts, config=config()) as desk:
            result = await desk.send("Tell me")
            assert result.state == "failed"
            assert result.error
            assert "Half an" not in desk.log()
            items = await desk.engine.ask.transcript(desk.session)
            assert [i.kind for i in items if i.kind == "assistant"] == []
            assert len(desk.server.requests) == 1
            assert (await desk.send("Again")).reply == "Whole."
            assert "Half an" not in str(desk.sent())

    run(main())


@pytest.mark.case("SRV-40")
def test_calls_that_end_with_stop_are_executed(tmp_path: Path) -> None:
    async def main() -> None:
        events = [chunk({"tool_calls": [call("execute", {"a": 1}, id="c1")]}), chunk(finish="stop")]
        execute, seen = recorder()
        scripts = [Reply(events=events), say("Done.")]
        async with engine_on(tmp_path, *scripts, config=config(), tools=[execute]) as desk:
            assert (await desk.send("Go")).reply == "Done."
            assert seen == [{"a": 1}]
            assert [m["content"] for m in desk.sent() if m["role"] == "tool"] == ["done"]

    run(main())


@pytest.mark.case("SRV-42")
@pytest.mark.parametrize("reset", [False, True])
def test_a_call_that_was_cut_is_not_executed(tmp_path: Path, reset: bool) -> None:
    async def main() -> None:
        half = chunk({"tool_calls": [call("execute", '{"a": 1, "b', id="call-half")]})
        execute, seen = recorder()
        scripts = [Reply(events=[half], done=False, cut=reset)]
        async with engine_on(tmp_path, *scripts, config=config(), tools=[execute]) as desk:
            result = await desk.send("Go")
            assert result.state == "failed"
            assert seen == []
            assert '"tool_use"' not in desk.log()
            assert '"c1"' not in desk.log()
            desk.server.scripts[:] = [say("Fine.")]
            assert (await desk.send("Again")).reply == "Fine."
            assert not any(m.get("tool_calls") for m in desk.sent())

    run(main())


@pytest.mark.case("SRV-43")
def test_broken_arguments_are_repaired_or_told_to_the_model(tmp_path: Path) -> None:
    async def main() -> None:
        execute, seen = recorder()
        scripts = [
            use(call("execute", '{"a":1', id="c1"), call("execute", "a is one", id="c2", index=1)),
            say("I see."),
        ]
        async with engine_on(tmp_path, *scripts, config=config(), tools=[execute]) as desk:
            assert (await desk.send("Go")).reply == "I see."
            assert seen == [{"a": 1}]
            results = {m["tool_call_id"]: m["content"] for m in desk.sent() if m["role"] == "tool"}
            assert results["c1"] == "done"
            assert "not valid JSON" in results["c2"]
            assert desk.log().count('"isError":true') == 1
            (asked,) = [m for m in desk.sent() if m.get("tool_calls")]
            sent_back = [c["function"]["arguments"] for c in asked["tool_calls"]]
            assert [text.replace(" ", "") for text in sent_back] == ['{"a":1}', "{}"]

    run(main())


@pytest.mark.case("SRV-47")
@pytest.mark.parametrize("form", ["reasoning_content", "reasoning", "tags"])
def test_reasoning_stays_out_of_the_content_and_in_the_log(tmp_path: Path, form: str) -> None:
    async def main() -> None:
        thought = "The pier, hm."
        if form == "tags":
            events = [
                chunk({"content": "<think>The pier,"}),
                chunk({"content": " hm.</think>Six."}),
            ]
        else:
            events = [chunk({form: "The pier,"}), chunk({form: " hm."}), chunk({"content": "Six."})]
        scripts = [Reply(events=[*events, chunk(finish="stop")]), say("Next.")]
        async with engine_on(tmp_path, *scripts, config=config()) as desk:
            assert (await desk.send("When?")).reply == "Six."
            assert "".join(desk.said("text")).strip() == "Six."
            assert "".join(desk.said("reasoning")) == thought
            items = await desk.engine.ask.transcript(desk.session)
            (answer,) = [i for i in items if i.kind == "assistant"]
            assert (answer.text, answer.reasoning) == ("Six.", thought)
            assert thought in desk.log()
            await desk.send("And?")
            assert "The pier" not in str(desk.server.requests[-1].body)

    run(main())


# ---------------------------------------------------------------------------- is this an overflow?

PHRASES = [
    "context_length_exceeded", "context length", "maximum context", "token limit",
    "too many tokens", "exceeds the model's maximum", "reduce the length",
]  # fmt: skip
REPORTED = [
    "Prompt 超长",
    "exceeded model token limit: 262144 (requested: 269030)",
    "Input length 131393 exceeds the maximum allowed input length of 131040 tokens.",
    "Input length (265330) exceeds model's maximum context length (262144).",
    "Range of input length should be [1, 30720]",
]
OTHER = [
    (400, "Too many tokens, please wait before trying again"),
    (400, "max_tokens must be at least 1"),
    (429, "Rate limit reached: 30000 tokens per minute"),
    (400, "The picture could not be read"),
]


async def after(desk: EngineDesk, fault: Reply, *more: Reply) -> Any:
    """Two turns that are fine, then one that meets the fault; that one's result."""
    desk.server.scripts[:] = [say("a"), say("b"), fault, *more]
    await desk.send("first")
    await desk.send("second")
    return await desk.send("third")


@pytest.mark.case("OVF-1", "B68")
@pytest.mark.parametrize(
    "text", [*[f"Error: {one}" for one in PHRASES], *[one.upper() for one in PHRASES], *REPORTED]
)
def test_these_are_overflows_and_recover_with_one_retry(tmp_path: Path, text: str) -> None:
    async def main() -> None:
        async with engine_on(tmp_path, config=config()) as desk:
            fault = error(400, {"error": {"message": text}})
            result = await after(desk, fault, SUMMARY, say("recovered"))
            assert (result.state, result.reply) == ("finished", "recovered"), result.error
            assert len(desk.server.requests) == 5
            assert compactions(desk) == 1

    run(main())


@pytest.mark.case("OVF-1", "B68")
@pytest.mark.parametrize(("status", "text"), OTHER)
def test_these_never_compact_the_history(tmp_path: Path, status: int, text: str) -> None:
    async def main() -> None:
        async with engine_on(tmp_path, config=config()) as desk:
            fault = error(status, {"error": {"message": text}}, retry_after="0")
            result = await after(desk, fault, say("later"))
            waits = "wait" in text or status == 429
            assert result.state == ("finished" if waits else "failed")
            assert compactions(desk) == 0
            assert '"type":"overflow"' not in desk.log()
            assert len(desk.server.requests) == (4 if waits else 3)

    run(main())


# ---------------------------------------------------------------------------- recovering


@pytest.mark.case("OVF-5")
@pytest.mark.parametrize("huge", ["result", "question", "answer"])
def test_five_messages_with_a_huge_one_recover(tmp_path: Path, huge: str) -> None:
    async def main() -> None:
        big = "All the boats of the harbour, one by one. " * 700
        execute, _ = recorder(big if huge == "result" else "done")
        answer = big if huge == "answer" else "I see."
        question = f"Look. {big}" if huge == "question" else "Look."
        patient = config().replace(eviction=ToolResultEvictionConfig(max_result_chars=90_000))
        fault = error(400, {"error": {"message": "the prompt exceeds the context window"}})

        def recovering(seen: Seen) -> Reply:
            asked = str(seen.body["messages"][-1]["content"])
            return SUMMARY if "SESSION INTENT" in asked else say("recovered")

        scripts = [use(call("execute", {"a": 1}, id="c1")), say(answer), fault, recovering]
        async with engine_on(
            tmp_path, *scripts, config=patient, tools=[execute], window=0
        ) as desk:  # the window is not known, so only the server can say that it does not fit
            await desk.send(question)
            result = await desk.send("And the ferry?")
            assert (result.state, result.reply) == ("finished", "recovered"), result.error
            turns = [m for m in map(str, (r.body for r in desk.server.requests)) if "ferry?" in m]
            assert len(turns) == 2, "one retry"
            assert compactions(desk) == (0 if huge == "result" else 1)
            assert big in str(desk.sent(2))
            assert big not in str(desk.sent())
            assert [m["content"] for m in desk.sent()].count("And the ferry?") == 1
            assert big in desk.log()

    run(main())


@pytest.mark.case("OVF-8")
def test_forced_compaction_follows_the_persons_settings(tmp_path: Path) -> None:
    async def main() -> None:
        other = ScriptedModel("The boats were counted.")
        told: list[dict[str, Any]] = []
        own = config(
            summary_prompt="Count the boats in this: {messages}",
            model=other,
            keep_messages=3,
            on_compact=told.append,
        )
        async with engine_on(tmp_path, config=own) as desk:
            fault = error(400, {"error": {"message": "prompt is too long"}})
            result = await after(desk, fault, say("recovered"))
            assert result.reply == "recovered", result.error
            assert len(desk.server.requests) == 4, "the summary went to the other model"
            assert len(other.requests) == 1
            assert [one["summary"] for one in told] == ["The boats were counted."]
            asked = str(other.requests[0].messages[-1].content)
            assert asked.startswith("Count the boats in this: ")
            assert "first" in asked
            assert "third" not in asked
            sent = [m["content"] for m in desk.sent() if m["role"] != "system"]
            assert "The boats were counted." in sent[0]
            assert sent[1:] == ["second", "b", "third"]

    run(main())


def test_a_stream_of_nonsense_is_a_sentence_without_the_parsers_words(tmp_path: Path) -> None:
    async def main() -> None:
        nonsense = Reply(events=["data: {not json\n\n"])
        async with engine_on(tmp_path / "ws", nonsense, config=config()) as desk:
            result = await desk.send("Hi")
        assert result.state == "failed"
        assert "not understood" in result.error
        assert "column" not in result.error

    run(main())
