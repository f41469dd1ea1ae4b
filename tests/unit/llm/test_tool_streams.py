"""Streamed tool calls as servers really send them, and the other ways a stream can end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import aclosing
from typing import Any

import pytest

from app.engine.errors import ContextOverflow, IncompleteAnswer, ModelUnavailable
from app.engine.llm.endpoint import (
    Answer,
    Delta,
    ReasoningDelta,
    Request,
    TextDelta,
    ToolSpec,
    WaitingDelta,
    user,
    wire,
)
from app.engine.llm.openai_endpoint import OpenAIEndpoint, Options
from app.engine.llm.stream import ReasoningSplitter, mended
from app.engine.records import Message, ToolCall, Usage
from tests.helpers.fake_server import FakeServer, Reply, Script, chunk, error, say, usage_chunk
from tests.helpers.waiting import until

TOOLS = (
    ToolSpec("search", "Finds.", {"type": "object", "properties": {}}),
    ToolSpec("read", "Reads.", {"type": "object", "properties": {}}),
)
REQUEST = Request((user("go"),), tools=TOOLS)


async def _no_sleep(seconds: float) -> None:
    return None


def run(
    *scripts: Script, options: Options | None = None, request: Request = REQUEST
) -> tuple[list[Delta], list[Any]]:
    async def main() -> tuple[list[Delta], list[Any]]:
        numbers = iter(range(1, 100))
        async with FakeServer(*scripts) as server:
            endpoint = OpenAIEndpoint(
                server.base_url, "m", options=options, sleep=_no_sleep,
                new_id=lambda: f"made_{next(numbers)}",
            )  # fmt: skip
            try:
                async with aclosing(endpoint.stream(request)) as stream:
                    return [delta async for delta in stream], server.requests
            finally:
                await endpoint.close()

    return asyncio.run(main())


def answer_of(*scripts: Script, options: Options | None = None) -> Answer:
    last = run(*scripts, options=options)[0][-1]
    assert isinstance(last, Answer)
    return last


def part(
    index: int | None = 0, id: str | None = None, name: str | None = None, args: str | None = None
) -> dict[str, Any]:
    """One fragment of a call; what is None is not in it."""
    function = {k: v for k, v in (("name", name), ("arguments", args)) if v is not None}
    fields = {"index": index, "id": id, "function": function}
    return {k: v for k, v in fields.items() if v is not None}


def calling(*parts: dict[str, Any], finish: str | None = "tool_calls", **more: Any) -> Reply:
    events: list[Any] = [chunk({"role": "assistant"})]
    events += [chunk({"tool_calls": [one]}) for one in parts]
    if finish:
        events.append(chunk(finish=finish))
    return Reply(events=events, done=finish is not None, **more)


def plain(calls: Sequence[ToolCall]) -> list[tuple[str, str, dict[str, Any]]]:
    return [(c.id, c.name, json.loads(c.arguments)) for c in calls]


A = ("a", "search", {"q": "x"})
B = ("b", "read", {"path": "y"})
QX, PY = '{"q": "x"}', '{"path": "y"}'

TWO = [
    pytest.param(
        [
            part(0, "a", "search", ""), part(0, args='{"q"'), part(0, args=': "x"}'),
            part(1, "b", "read", ""), part(1, args='{"path": '), part(1, args='"y"}'),
        ],
        marks=pytest.mark.case("SRV-30"), id="reference",
    ),
    pytest.param(
        [part(0, "a", "search", QX), part(1, "b", "read", PY)],
        marks=pytest.mark.case("SRV-31"), id="whole",
    ),
    pytest.param(
        [
            part(None, "a", "search", '{"q":'), part(None, "b", "read", '{"path":'),
            part(None, "a", args=' "x"}'), part(None, "b", args=' "y"}'),
        ],
        marks=pytest.mark.case("SRV-32"), id="no index, by id",
    ),
    pytest.param(
        [part(None, "a", "search", QX), part(None, "b", "read", PY)],
        marks=pytest.mark.case("SRV-32"), id="no index, whole",
    ),
    pytest.param(
        [part(0, "a", "search", QX), part(0, "b", "read", PY)],
        marks=[pytest.mark.case("SRV-33"), pytest.mark.case("MOT-104")], id="same index",
    ),
    pytest.param(
        [part(1, "a", "search", QX), part(4, "b", "read", PY)],
        marks=pytest.mark.case("SRV-39"), id="from one, with a gap",
    ),
]  # fmt: skip


@pytest.mark.parametrize("parts", TWO)
def test_two_calls_are_two_calls(parts: list[dict[str, Any]]) -> None:
    answer = answer_of(calling(*parts))
    assert plain(answer.calls) == [A, B]
    assert answer.finish == "tool_calls"


@pytest.mark.case("SRV-34")
def test_two_whole_calls_with_one_index_and_no_ids() -> None:
    answer = answer_of(calling(part(0, None, "search", QX), part(0, None, "read", PY)))
    assert [c[1:] for c in plain(answer.calls)] == [A[1:], B[1:]]
    assert len({c.id for c in answer.calls}) == 2


def test_the_same_tool_twice_with_other_arguments_is_two_calls() -> None:
    answer = answer_of(calling(part(0, None, "search", QX), part(0, None, "search", '{"q": "z"}')))
    assert [json.loads(c.arguments)["q"] for c in answer.calls] == ["x", "z"]


ONE = [
    pytest.param(
        [part(0, "a", "search", ""), part(0, "", "", '{"q": '), part(0, "", "", '"x"}')],
        marks=pytest.mark.case("SRV-35"), id="empty id and name",
    ),
    pytest.param(
        [
            part(0, "a", "search", '{"q"'),
            part(0, None, "search", ': "x"'),
            part(0, "a", "search", "}"),
        ],
        marks=pytest.mark.case("SRV-36"), id="name again and again",
    ),
    pytest.param(
        [part(0, "a", "search", QX), part(0, None, "search", "")], id="name again at the end",
    ),
    pytest.param(
        [part(0, "a", "search", '{"q": '), part(0, args='"x"}'), part(0, args=QX)],
        marks=pytest.mark.case("SRV-37"), id="arguments repeated",
    ),
    pytest.param(
        [part(0, "a", "search", '{"q": "x"}'), part(0, "a", "search", '{"q": "x"}')],
        marks=pytest.mark.case("SRV-37"), id="the whole call repeated",
    ),
    pytest.param(
        [part(0, "a", "search", '{"q": '), part(0, "other", args='"x"}')],
        marks=pytest.mark.case("SRV-38"), id="another id without a name",
    ),
]  # fmt: skip


@pytest.mark.parametrize("parts", ONE)
def test_one_call_is_one_call(parts: list[dict[str, Any]]) -> None:
    assert plain(answer_of(calling(*parts)).calls) == [A]


def test_finish_stop_with_calls_means_calls() -> None:
    answer = answer_of(calling(part(0, "a", "search", QX), finish="stop"))
    assert (plain(answer.calls), answer.finish) == ([A], "tool_calls")


@pytest.mark.case("SRV-41")
def test_a_call_cut_by_the_output_limit_is_reported_and_not_run() -> None:
    with pytest.raises(IncompleteAnswer, match="output limit") as caught:
        run(calling(part(0, "a", "search", '{"q": "x'), finish="length"))
    assert "output limit" in caught.value.remedy


@pytest.mark.parametrize("cut", [True, False])
def test_a_stream_cut_in_the_middle_of_arguments_is_incomplete(cut: bool) -> None:
    with pytest.raises(IncompleteAnswer):
        run(calling(part(0, "a", "search", '{"q": "x'), finish=None, cut=cut))


@pytest.mark.parametrize("cut", [True, False])
def test_a_stream_that_just_stops_is_incomplete(cut: bool) -> None:
    with pytest.raises(IncompleteAnswer) as caught:
        run(say("Half an ans", finish=None, cut=cut))
    assert "kept" in caught.value.remedy


def test_arguments_are_mended_once_and_never_invented() -> None:
    assert mended('{"a":1') == '{"a":1}'
    assert json.loads(mended('{"a": ["x", {"b": "c')) == {"a": ["x", {"b": "c"}]}
    assert json.loads(mended('{"a": 1}}')) == {"a": 1}
    assert mended("") == "{}"
    assert mended("search for cats") == "search for cats"
    broken = answer_of(calling(part(0, "a", "search", "search for cats"))).calls
    assert broken[0].arguments == "search for cats"
    sent = wire([Message(id="m", role="assistant", calls=broken)])
    assert sent[0]["tool_calls"][0]["function"]["arguments"] == "{}"


@pytest.mark.case("SRV-44")
def test_a_lost_call_is_asked_for_once_more_without_streaming() -> None:
    whole = {
        "choices": [
            {
                "index": 0,
                "finish_reason": "tool_calls",
                "message": {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {
                            "id": "a",
                            "type": "function",
                            "function": {"name": "search", "arguments": QX},
                        }
                    ],
                },
            }
        ]
    }
    deltas, requests = run(calling(), Reply(body=whole))
    assert isinstance(deltas[-1], Answer)
    assert plain(deltas[-1].calls) == [A]
    assert [one.body["stream"] for one in requests] == [True, False]


@pytest.mark.case("SRV-45")
def test_calls_written_as_text_count_only_when_the_model_is_known_for_it() -> None:
    text = '<tool_call>\n{"name": "search", "arguments": {"q": "x"}}\n</tool_call>'
    assert answer_of(say(text)).calls == ()
    assert answer_of(say(text)).text == text
    allowed = answer_of(say(text), options=Options(text_calls=True))
    assert [c[1:] for c in plain(allowed.calls)] == [A[1:]]
    assert (allowed.text, allowed.finish) == ("", "tool_calls")
    other = say('[TOOL_REQUEST]{"name": "rm", "arguments": {}}[END_TOOL_REQUEST]')
    assert answer_of(other, options=Options(text_calls=True)).calls == ()


@pytest.mark.case("SRV-46")
def test_a_call_without_id_gets_one_that_its_result_pairs_with() -> None:
    answer = answer_of(calling(part(0, None, "search", QX)))
    (made,) = answer.calls
    assert made.id
    sent = wire(
        [
            Message(id="1", role="assistant", calls=answer.calls),
            Message(id="2", role="tool", content="found", call_id=made.id),
        ]
    )
    assert sent[0]["tool_calls"][0]["id"] == sent[1]["tool_call_id"]


REASONING = [
    pytest.param(say("Yes.", reasoning="Let me see."), id="reasoning_content"),
    pytest.param(
        Reply(events=[chunk({"reasoning": "Let me see."}), chunk({"content": "Yes."}, "stop")]),
        id="reasoning",
    ),
    pytest.param(say("<th", "ink>Let me", " see.</thi", "nk>\n\nYes."), id="tags"),
    pytest.param(say("Let me see.\n", "</think>\n", "Yes."), id="closing tag alone"),
]


@pytest.mark.parametrize("reply", REASONING)
def test_reasoning_is_apart_from_the_answer(reply: Reply) -> None:
    answer = answer_of(reply)
    assert (answer.text, answer.reasoning) == ("Yes.", "Let me see.")


def test_reasoning_streams_as_such_and_is_never_sent() -> None:
    deltas, _ = run(say("<think>Hm.</think>Yes."))
    assert "".join(d.text for d in deltas if isinstance(d, ReasoningDelta)) == "Hm."
    assert "".join(d.text for d in deltas if isinstance(d, TextDelta)) == "Yes."
    sent = wire([Message(id="1", role="assistant", content="Yes.", reasoning="Hm.")])
    assert "Hm." not in json.dumps(sent)


@pytest.mark.parametrize("text", ["Use <think> tags.", "a </think> b", "<thin ice>", "< think"])
def test_writing_about_tags_is_not_reasoning(text: str) -> None:
    for size in (1, 3, 100):
        splitter = ReasoningSplitter()
        parts = [p for i in range(0, len(text), size) for p in splitter.feed(text[i : i + size])]
        parts += splitter.end()
        assert "".join(t for _, t in parts) == text
        assert {kind for kind, _ in parts} == {"text"}
    assert answer_of(say(text)).text == text


@pytest.mark.case("SRV-48")
def test_the_last_chunk_with_usage_has_no_choices() -> None:
    deltas, requests = run(Reply(events=[chunk({"content": "Hi"}, "stop"), usage_chunk(31, 2)]))
    assert isinstance(deltas[-1], Answer)
    assert deltas[-1].usage == Usage(31, 2)
    assert requests[0].body["stream_options"] == {"include_usage": True}


@pytest.mark.case("SRV-50")
def test_a_template_that_fails_on_past_arguments_is_not_asked_for_ever() -> None:
    past = Request(
        (
            user("go"),
            Message(id="1", role="assistant", calls=(ToolCall("a", "search", '{"q": '),)),
            Message(id="2", role="tool", content="not valid JSON", call_id="a", is_error=True),
        ),
        tools=TOOLS,
    )
    requests: list[Any] = []

    def fails(seen: Any) -> Reply:
        requests.append(seen.body)
        return error(500, {"error": {"message": "Failed to parse tool call arguments as JSON"}})

    with pytest.raises(ModelUnavailable):
        run(fails, request=past)
    assert len(requests) == 3
    for body in requests:
        for message in body["messages"]:
            for call in message.get("tool_calls", ()):
                assert isinstance(json.loads(call["function"]["arguments"]), dict)


def test_length_without_any_output_is_an_overflow_suspect() -> None:
    with pytest.raises(ContextOverflow):
        run(Reply(events=[chunk(finish="length")]))


def test_an_empty_answer_that_ends_properly_is_an_answer() -> None:
    assert answer_of(say(finish="stop")).text == ""


def test_an_answer_that_came_whole_although_a_stream_was_asked_for() -> None:
    message = {"role": "assistant", "content": "Whole."}
    body = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    assert answer_of(Reply(body=body)).text == "Whole."


def test_closing_the_stream_hangs_up() -> None:
    async def main() -> None:
        async with FakeServer(say(*"abcdefgh", pause=0.2)) as server:
            endpoint = OpenAIEndpoint(server.base_url, "m")
            stream = endpoint.stream(REQUEST)
            async for delta in stream:
                if isinstance(delta, TextDelta):
                    break
            await stream.aclose()
            await until(lambda: server.requests[0].aborted)
            await endpoint.close()

    asyncio.run(main())


def test_cancelling_while_the_server_is_silent_hangs_up_at_once() -> None:
    async def main() -> None:
        async with FakeServer(Reply(delay=30)) as server:
            endpoint = OpenAIEndpoint(server.base_url, "m")
            waits: list[str] = []

            async def consume() -> None:
                async for delta in endpoint.stream(REQUEST):
                    waits.append(delta.what if isinstance(delta, WaitingDelta) else "")

            task = asyncio.ensure_future(consume())
            await until(lambda: waits and waits[-1].startswith("waiting for the model"))
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await until(lambda: server.requests[0].aborted)
            await endpoint.close()

    asyncio.run(main())


def test_progress_of_reading_the_prompt_is_told() -> None:
    progress = {"total": 1000, "cache": 0, "processed": 250}
    events = [chunk({}, prompt_progress=progress), chunk({"content": "Hi"}, "stop")]
    deltas, _ = run(Reply(events=events))
    assert WaitingDelta("reading 1,000 tokens", 0.25) in deltas
