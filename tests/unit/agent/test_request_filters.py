"""Request filters have the last word on what is sent, and none on what is kept."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from app.engine.agent.filters import RequestFilter
from app.engine.agent.tools import ToolFailed, tool
from app.engine.config import CompactionConfig, EngineConfig, ToolResultEvictionConfig
from app.engine.errors import Interrupted
from app.engine.llm.endpoint import Delta, Request
from app.engine.records import Message, ToolCall
from tests.helpers.fake_server import Reply, Seen, call, say, use
from tests.helpers.waiting import run
from tests.helpers.workspaces import EngineDesk, engine_on, without_memory

LONG = "nothing new under the sun\n" * 200
CONFIG = without_memory(
    EngineConfig(
        compaction=CompactionConfig(trigger_messages=0, trigger_tokens=0),
        eviction=ToolResultEvictionConfig(max_result_chars=1_000, preview_chars=50),
    )
)


def report(output: str = LONG, *, fails: bool = False) -> Any:
    async def work(_arguments: dict[str, Any]) -> str:
        if fails:
            raise ToolFailed(output)
        return output

    return tool("execute", "Run a command.", work)


def model(seen: Seen) -> Reply:
    last = seen.body["messages"][-1]
    if last["role"] == "user" and last["content"] == "Go":
        return use(call("execute", {}, id="c1"))
    return say("Done.")


class Overheard:
    """The desk's endpoint, with what it was handed by the agent kept."""

    def __init__(self, desk: EngineDesk) -> None:
        self._inner = desk.engine.endpoints.resolve("fake").inner
        self.requests: list[Request] = []
        desk.engine.endpoints.use("fake", self)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        self.requests.append(request)
        async for delta in self._inner.stream(request):
            yield delta


def results(desk: EngineDesk) -> list[str]:
    return [str(m["content"]) for m in desk.sent() if m["role"] == "tool"]


async def kept(desk: EngineDesk) -> Message:
    """The tool result as the session's context holds it."""
    live = await desk.engine._rooms.session(desk.session)
    return next(m for m in live.session.context if m.role == "tool")


def without_results(messages: Sequence[Message]) -> list[Message]:
    return [m for m in messages if m.role != "tool"]


@pytest.mark.case("EVI-3")
def test_a_result_a_filter_removed_is_put_aside_and_not_brought_back(tmp_path: Path) -> None:
    async def main() -> None:
        scripts = (use(call("execute", {}, id="c1")), say("Done."))
        async with engine_on(
            tmp_path, *scripts, config=CONFIG, tools=[report()], request_filters=[without_results]
        ) as desk:
            assert (await desk.send("Go")).reply == "Done."
            for request in desk.server.requests[1:]:
                messages = request.body["messages"]
                assert [m["role"] for m in messages] == ["system", "user"]
                assert "nothing new" not in str(messages)
                assert "put aside" not in str(messages[1:])
                assert not any(m.get("tool_calls") for m in messages), "no call without result"
            result = await kept(desk)
            assert result.evicted
            (one,) = await desk.engine.ask.evicted()
            assert (tmp_path / one.path).read_text("utf-8") == LONG
            shown = await desk.engine.ask.context(desk.session)
            assert [p.role for p in shown.parts if p.kind == "history"] == ["user", "assistant"]

    run(main())


Rewrite = Callable[[Message], Message]


def rewriting(change: Rewrite) -> RequestFilter:
    async def apart(messages: Sequence[Message]) -> list[Message]:
        return [change(m) if m.role == "tool" else m for m in messages]

    return apart


def anew(message: Message) -> Message:
    return Message(
        id=message.id,
        role="tool",
        content=message.content.replace("sun", "[name]"),
        name="renamed",
        call_id=message.call_id,
        is_error=True,
        origin="filtered",
        block_types=("text",),
    )


@pytest.mark.case("EVI-4")
def test_a_result_a_filter_wrote_anew_keeps_what_it_was_given_and_is_flagged(
    tmp_path: Path,
) -> None:
    async def main() -> None:
        async with engine_on(
            tmp_path, model, config=CONFIG, tools=[report()], request_filters=[rewriting(anew)]
        ) as desk:
            heard = Overheard(desk)
            assert (await desk.send("Go")).reply == "Done."
            (sent,) = [m for m in heard.requests[-1].messages if m.role == "tool"]
            assert sent.evicted
            assert (sent.is_error, sent.name, sent.origin, sent.block_types) == (
                True, "renamed", "filtered", ("text",),
            )  # fmt: skip
            # What the filter took out of the text stays out: the eviction does not put it back.
            (text,) = results(desk)
            assert "put aside" in text
            assert "under the [name]" in text
            assert "sun" not in text
            # State, file and log are the tool's own.
            result = await kept(desk)
            assert (result.is_error, result.name, result.origin) == (False, "execute", "")
            assert result.evicted
            assert "under the sun" in result.content

    run(main())


@pytest.mark.parametrize("fails", [False, True])
def test_a_filter_cannot_undo_an_eviction(tmp_path: Path, fails: bool) -> None:
    async def main() -> None:
        def at_length(message: Message) -> Message:
            return replace(message, content=LONG, evicted=False)

        async with engine_on(
            tmp_path, model, config=CONFIG, tools=[report(fails=fails)],
            request_filters=[rewriting(at_length)],
        ) as desk:  # fmt: skip
            heard = Overheard(desk)
            await desk.send("Go")
            (sent,) = [m for m in heard.requests[-1].messages if m.role == "tool"]
            assert (sent.evicted, sent.is_error) == (True, fails)
            assert sent.content == (await kept(desk)).content
            assert len(sent.content) < 1_000

    run(main())


def test_filters_see_all_there_is_and_run_one_after_the_other(tmp_path: Path) -> None:
    async def main() -> None:
        heard: list[list[str]] = []

        def first(messages: Sequence[Message]) -> Sequence[Message]:
            heard.append([m.role for m in messages])
            return [*messages[:-1], replace(messages[-1], content="first")]

        async def second(messages: Sequence[Message]) -> Sequence[Message]:
            await asyncio.sleep(0)
            return [*messages[:-1], replace(messages[-1], content=messages[-1].content + " second")]

        async with engine_on(
            tmp_path, say("Yes."), config=CONFIG, request_filters=[first, second]
        ) as desk:
            await desk.send("My key is 1234")
            assert desk.sent()[-1] == {"role": "user", "content": "first second"}
            assert heard == [["user"]]
            (said,) = [
                i for i in await desk.engine.ask.transcript(desk.session) if i.kind == "user"
            ]
            assert said.text == "My key is 1234"

    run(main())


def raising(_messages: Sequence[Message]) -> Sequence[Message]:
    raise ValueError("no such table")


def texts(messages: Sequence[Message]) -> Any:
    return [m.content for m in messages]


def nothing(_messages: Sequence[Message]) -> Any:
    return None


def refusing(_messages: Sequence[Message]) -> Sequence[Message]:
    raise KeyError


class Wordless(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def wordless(_messages: Sequence[Message]) -> Sequence[Message]:
    raise Wordless


async def one_by_one(messages: Sequence[Message]) -> Any:
    for message in messages:
        yield message


def late(messages: Sequence[Message]) -> Any:
    yield messages[0]
    raise RuntimeError("too late")


def filled(name: str, value: Any) -> RequestFilter:
    """A filter that puts a value of another type into a field."""

    def filling(messages: Sequence[Message]) -> Sequence[Message]:
        return [replace(m, **{name: value}) for m in messages]

    return filling


ODD = [
    ("role", "banana"), ("role", 5), ("content", None), ("content", [{"type": "text"}]),
    ("id", None), ("images", None), ("calls", None), ("calls", (ToolCall("c", "x", {}),)),  # pyright: ignore[reportArgumentType]
]  # fmt: skip


@pytest.mark.parametrize(
    "broken",
    [raising, texts, nothing, refusing, wordless, one_by_one, late, *(filled(*one) for one in ODD)],
)
def test_what_a_broken_filter_should_have_taken_out_is_not_sent(
    tmp_path: Path, broken: RequestFilter
) -> None:
    async def main() -> None:
        async with engine_on(
            tmp_path, say("Yes."), config=CONFIG, request_filters=[broken]
        ) as desk:
            result = await desk.send("My key is 1234")
            assert result.state == "failed"
            assert f"{broken.__name__} failed: " in result.error or "else than" in result.error
            assert broken.__name__ in result.error
            assert not result.error.endswith(": ")
            assert "kept" in result.remedy
            assert desk.server.requests == []
            assert "My key is 1234" in desk.log()

    run(main())


def test_a_generator_is_a_filters_answer_and_half_an_emoji_of_it_is_replaced(
    tmp_path: Path,
) -> None:
    async def main() -> None:
        def halved(messages: Sequence[Message]) -> Any:
            return (replace(m, content="half \ud83d") for m in messages)

        async with engine_on(
            tmp_path, say("Yes."), config=CONFIG, request_filters=[halved]
        ) as desk:
            assert (await desk.send("Hello")).reply == "Yes."
            assert desk.sent()[-1]["content"] == "half \ufffd"

    run(main())


def test_an_interruption_in_a_filter_is_one(tmp_path: Path) -> None:
    async def main() -> None:
        def stopping(_messages: Sequence[Message]) -> Sequence[Message]:
            raise RuntimeError("outer") from Interrupted()

        async with engine_on(
            tmp_path, say("Yes."), config=CONFIG, request_filters=[stopping]
        ) as desk:
            with pytest.raises(RuntimeError, match="outer"):
                await desk.send("Hello")
            assert desk.server.requests == []

    run(main())


def test_a_call_whose_message_a_filter_removed_leaves_no_result_behind(tmp_path: Path) -> None:
    async def main() -> None:
        def without_calls(messages: Sequence[Message]) -> list[Message]:
            return [m for m in messages if not m.calls]

        scripts = (use(call("execute", {}, id="c1")), say("Done."))
        async with engine_on(
            tmp_path, *scripts, config=CONFIG, tools=[report("short")],
            request_filters=[without_calls],
        ) as desk:  # fmt: skip
            assert (await desk.send("Go")).reply == "Done."
            assert [m["role"] for m in desk.sent()] == ["system", "user"]

    run(main())
