"""Servers that answer with values of other types and sizes than the protocol says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from app.engine.llm.failures import Kind, classify, from_body
from app.engine.records import TurnResult
from tests.helpers.fake_server import Reply, call, chunk, error, overflow, say, use
from tests.helpers.waiting import run
from tests.helpers.workspaces import engine_on, without_memory


def turns(folder: Path, *scripts: Reply, count: int = 2) -> list[TurnResult]:
    """So many turns of one session on a server that answers with the scripts, then "fine"."""

    async def main() -> list[TurnResult]:
        replies = (*scripts, say("fine"), say("fine"))
        async with engine_on(folder, *replies, config=without_memory()) as desk:
            return [await desk.send(f"Hello {n}") for n in range(count)]

    return run(main())


def streamed(*events: Any) -> Reply:
    return Reply(events=events)


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": "many"}, {"prompt_tokens": [1]}, {"prompt_tokens": 1e30},
        {"prompt_tokens": 1.5, "completion_tokens": 2}, {"prompt_tokens": 10**30},
        {"prompt_tokens": True, "completion_tokens": "x"}, {"prompt_tokens": -5}, "much", [1],
    ],
    ids=str,
)  # fmt: skip
def test_a_count_that_is_none_does_not_cost_the_answer(tmp_path: Path, usage: Any) -> None:
    told = {**chunk(), "choices": [], "usage": usage}
    done = turns(tmp_path, streamed(chunk({"content": "ok"}), chunk(finish="stop"), told))
    assert [(one.state, one.reply) for one in done] == [("finished", "ok"), ("finished", "fine")]
    assert done[0].usage.prompt >= 0


@pytest.mark.parametrize(
    "function",
    [{"name": "list_files", "arguments": 5}, {"name": 5, "arguments": "{}"}, "list_files", None],
    ids=str,
)
def test_a_call_of_other_types_ends_no_session(tmp_path: Path, function: Any) -> None:
    made = chunk({"tool_calls": [{"index": "zero", "id": 7, "function": function}]})
    done = turns(tmp_path, streamed(made, chunk(finish="tool_calls")))
    assert [one.state for one in done] == ["finished", "finished"]


@pytest.mark.parametrize(
    "body",
    [
        {"choices": "abc"}, {"choices": [5]}, {"choices": [{"message": "x"}]},
        {"choices": [{"message": {"tool_calls": [5]}, "finish_reason": "stop"}]},
        {"choices": [{"message": {"tool_calls": 5}, "finish_reason": "stop"}]},
        {"choices": [{"message": {"tool_calls": [{"function": "x"}]}, "finish_reason": "stop"}]},
        {"choices": [{"message": {"content": "fine"}, "finish_reason": "stop"}], "usage": [1]},
    ],
    ids=str,
)  # fmt: skip
def test_a_whole_answer_of_the_wrong_shape_is_no_traceback(tmp_path: Path, body: Any) -> None:
    done = turns(tmp_path, Reply(200, body))
    assert all(one.state == "finished" or (one.error and one.remedy) for one in done)
    assert done[-1].reply == "fine"


def test_arguments_that_are_nested_too_deeply_kill_no_session(tmp_path: Path) -> None:
    deep = '{"path":' + "[" * 5_000 + "]" * 5_000 + "}"
    done = turns(tmp_path, use(call("list_files", deep)))
    assert [(one.state, one.reply) for one in done] == [("finished", "fine")] * 2


def test_a_character_in_two_fragments_is_one_and_half_a_one_is_replaced(tmp_path: Path) -> None:
    async def main() -> None:
        pieces = ["a \ud83c", "\udf78 b", "\ud83d", " c \ud83d"]
        reply = streamed(*(chunk({"content": one}) for one in pieces), chunk(finish="stop"))
        async with engine_on(tmp_path, reply, config=without_memory()) as desk:
            done = await desk.send("Hello")
            assert done.reply == "a 🍸 b\ufffd c \ufffd"
            assert "".join(desk.said("text")) == done.reply

    run(main())


@pytest.mark.parametrize(
    ("message", "fields"),
    [
        ("request (X tokens) exceeds the available context size (X tokens)", {}),
        ("context window exceeded, error 5", {}),
        ("exceeds the available context size", {"n_ctx": 7}),
        ("exceeds the available context size", {"n_ctx": 10**40, "n_prompt_tokens": 10**40}),
    ],
)
def test_no_window_is_learned_from_a_number_that_is_none(
    message: str, fields: dict[str, int]
) -> None:
    said = {"message": message.replace("X", "9" * 5_000), "type": "exceed_context_size_error"}
    verdict = classify(from_body({"error": said | fields}, 400))
    assert (verdict.kind, verdict.window) == (Kind.OVERFLOW, None)


def test_such_an_error_is_answered_with_a_retry_and_nothing_of_it_stays(tmp_path: Path) -> None:
    said = {"message": "context window exceeded, error 5", "code": "context_length_exceeded"}
    turns(tmp_path, error(400, {"error": said}))
    known = tmp_path / ".palimpsest" / "windows.json"
    assert not known.exists() or not json.loads(known.read_text("utf-8")).get("windows")
    assert turns(tmp_path, count=1)[0].reply == "fine"


@pytest.mark.parametrize("requested", [10**11, 1])
def test_an_absurd_count_in_an_overflow_is_not_believed(tmp_path: Path, requested: int) -> None:
    summary = say("SESSION INTENT: talk\nSUMMARY: we talked\nARTIFACTS: None\nNEXT STEPS: None")
    scripts = [*(say(f"answer {n}") for n in range(12)), overflow(requested, 4_096), summary]
    done = turns(tmp_path, *scripts, count=13)[-1]
    assert (done.state, done.reply) == ("finished", "fine"), done.error
