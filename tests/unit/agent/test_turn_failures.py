"""Turns in which something goes wrong: summaries, interruptions, huge texts."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app.engine.agent.tools import tool
from app.engine.config import CompactionConfig, EngineConfig, TruncateArgsConfig
from app.engine.errors import Interrupted, ModelUnavailable
from app.engine.llm.endpoint import Answer, Delta, Request, TextDelta
from tests.helpers.fake_server import Reply, Seen, call, overflow, say, use
from tests.helpers.models import ScriptedModel
from tests.helpers.waiting import run
from tests.helpers.workspaces import EngineDesk, engine_on, without_memory


def quiet(**parts: Any) -> EngineConfig:
    return without_memory(EngineConfig(**parts))


def compacting(**values: Any) -> EngineConfig:
    """Compaction is due with the third message, and keeps one."""
    return quiet(
        compaction=CompactionConfig(trigger_messages=3, trigger_tokens=0, keep_messages=1, **values)
    )


def giving(output: str, name: str = "execute") -> Any:
    async def work(_arguments: dict[str, Any]) -> str:
        return output

    return tool(name, "Run a command.", work, cmd=("string", "what to run"))


SUMMARY = "SESSION INTENT: talk\nSUMMARY: we talked\nARTIFACTS: None\nNEXT STEPS: None"


class Failing(ScriptedModel):
    """Raises what it is given: before the first delta, or after one."""

    def __init__(self, fault: BaseException, *, later: bool = False) -> None:
        super().__init__()
        self.fault = fault
        self.later = later

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        self.requests.append(request)
        if self.later:
            yield TextDelta("half a ")
        raise self.fault
        yield Answer("")


def spoken(desk: EngineDesk, number: int = -1) -> list[tuple[str, str]]:
    return [(m["role"], m["content"]) for m in desk.sent(number)[1:]]


# ---------------------------------------------------------------------------- the summary


@pytest.mark.case("CMP-11")
def test_a_summary_that_cannot_even_start(tmp_path: Path) -> None:
    async def main() -> None:
        model = Failing(ModelUnavailable("No server answers."))
        config = compacting(model=model)
        async with engine_on(tmp_path, say("a"), say("b"), config=config) as desk:
            await desk.send("one")
            done = await desk.send("two")
            assert done.reply == "b"
            assert len(desk.server.requests) == 2
            assert spoken(desk) == [("user", "one"), ("assistant", "a"), ("user", "two")]
            assert len(model.requests) == 1
            assert '"type":"compaction_failed"' in desk.log()

    run(main())


def wrapped() -> BaseException:
    outer = RuntimeError("the summary broke")
    outer.__cause__ = Interrupted("enough")
    return outer


def cyclic() -> BaseException:
    one, two = RuntimeError("one"), RuntimeError("two")
    one.__cause__, two.__cause__ = two, one
    return one


@pytest.mark.case("CMP-13")
@pytest.mark.parametrize(
    ("fault", "later"),
    [(Interrupted("now"), False), (Interrupted("now"), True), (wrapped(), False)],
    ids=["at start", "later", "wrapped"],
)
def test_an_interrupted_summary_ends_the_turn(
    tmp_path: Path, fault: BaseException, later: bool
) -> None:
    async def main() -> None:
        config = compacting(model=Failing(fault, later=later))
        async with engine_on(tmp_path, say("a"), say("b"), config=config) as desk:
            await desk.send("one")
            with pytest.raises(type(fault)):
                await desk.send("two")
            assert len(desk.server.requests) == 1
            assert desk.said("stopped") == [""]
            assert '"type":"compaction"' not in desk.log()
            kept = [i.text for i in await desk.engine.ask.transcript(desk.session)]
            assert "two" in kept

    run(main())


@pytest.mark.case("CMP-14")
def test_causes_that_go_round_in_a_circle(tmp_path: Path) -> None:
    async def main() -> None:
        config = compacting(model=Failing(cyclic()))
        async with engine_on(tmp_path, say("a"), say("b"), config=config) as desk:
            await desk.send("one")
            done = await desk.send("two")
            assert done.reply == "b"
            assert len(desk.server.requests) == 2

    run(main())


@pytest.mark.case("CMP-15")
def test_an_interruption_after_a_compaction_passes(tmp_path: Path) -> None:
    async def main() -> None:
        config = compacting(model=ScriptedModel("All of it."))
        async with engine_on(tmp_path, say("a"), config=config) as desk:
            await desk.send("one")
            chat = Failing(Interrupted("now"))
            desk.engine.endpoints.use("fake", chat)
            with pytest.raises(Interrupted):
                await desk.send("two")
            assert len(chat.requests) == 1
            assert '"type":"compaction"' in desk.log()

    run(main())


@pytest.mark.case("CMP-17")
def test_an_interruption_in_mid_stream(tmp_path: Path) -> None:
    async def main() -> None:
        def model(seen: Seen) -> Any:
            slow = seen.body["messages"][-1]["content"] == "the slow one"
            return say("half ", "an answer", pause=1.5 if slow else 0.0)

        async with engine_on(tmp_path, model, config=quiet()) as desk:
            slow = asyncio.create_task(desk.send("the slow one"))
            while not desk.server.requests:
                await asyncio.sleep(0.01)
            other = await desk.engine.do.new_session()
            turn = asyncio.create_task(desk.engine.do.send(other, "the quick one"))
            await desk.engine.do.stop(desk.session)
            stopped, quick = await slow, await turn
            assert stopped.state == "stopped"
            assert (quick.state, quick.reply) == ("finished", "half an answer")
            asked = [r.body["messages"][-1]["content"] for r in desk.server.requests]
            assert asked.count("the slow one") == 1
            last = json.loads(desk.log().splitlines()[-1])
            assert last["type"] == "interrupted"
            assert '"type":"interrupted"' not in desk.log(other)

    run(main())


# ---------------------------------------------------------------------------- pre-passes


@pytest.mark.case("TRU-4", "TRU-5")
def test_truncated_arguments_are_sent_and_the_log_keeps_the_originals(tmp_path: Path) -> None:
    async def main() -> None:
        long = "a very long argument " * 200
        config = quiet(
            compaction=CompactionConfig(
                trigger_messages=7,
                trigger_tokens=0,
                keep_messages=1,
                truncate_args=TruncateArgsConfig(
                    trigger_messages=3, keep_messages=1, max_arg_length=100
                ),
                model=ScriptedModel("All of it."),
            )
        )
        scripts = (use(call("execute", {"cmd": long}, id="c1")), say("ok"), say("b"), say("c"))
        async with engine_on(tmp_path, *scripts, config=config, tools=[giving("done")]) as desk:
            await desk.send("one")
            await desk.send("two")
            sent = json.dumps(desk.sent(2))
            assert long not in sent
            assert "argument cut" in sent
            assert '"type":"compaction"' not in desk.log()
            await desk.send("three")
            rows = [json.loads(line) for line in desk.log().splitlines()]
            assert [r["type"] for r in rows].count("compaction") == 1
            (asked,) = [r for r in rows if r["type"] == "tool_use"]
            assert asked["input"] == {"cmd": long}
            assert asked["toolCallId"] == "c1"
            assert asked["id"].endswith(":use:c1")
            assert desk.log().count(long.strip()) == 1

    run(main())


# ---------------------------------------------------------------------------- huge texts


@pytest.mark.case("B70")
@pytest.mark.parametrize("window", [32_000, 0])
def test_one_result_of_sixteen_million_characters(tmp_path: Path, window: int) -> None:
    async def main() -> None:
        huge = "0123456789abcdef" * 1_000_000
        scripts = (use(call("execute", {}, id="c1")), say("A lot."))
        async with engine_on(
            tmp_path, *scripts, config=quiet(), tools=[giving(huge)], window=window
        ) as desk:
            done = await desk.send("Go")
            assert done.reply == "A lot.", done.error
            assert len(desk.server.requests) == 2
            assert len(json.dumps(desk.sent(1))) < 100_000
            session = desk.session
            (one,) = await desk.engine.ask.evicted()
            assert (tmp_path / one.path).read_text("utf-8") == huge
        async with engine_on(tmp_path, say("Still here."), config=quiet(), window=window) as desk:
            desk.session = session
            items = await desk.engine.ask.transcript(session)
            assert [item.kind for item in items] == ["user", "tool", "eviction", "assistant"]
            assert (await desk.send("And now?")).reply == "Still here."
            assert len(json.dumps(desk.sent())) < 100_000

    run(main())


TOO_LONG = "a word after the other " * 3_000


@pytest.mark.case("B70")
@pytest.mark.parametrize("known", [True, False])
def test_a_question_larger_than_the_window_is_said_to_be_one_and_is_in_nobodys_way(
    tmp_path: Path, known: bool
) -> None:
    async def main() -> None:
        refusing = overflow(15_000, 8_000)

        def model(seen: Seen) -> Reply:
            return refusing if TOO_LONG in str(seen.body["messages"]) else say("Hello.")

        async with engine_on(tmp_path, model, config=quiet(), window=8_000 if known else 0) as desk:
            await desk.send("Hi")
            done = await desk.send(TOO_LONG)
            assert (done.state, done.failure) == ("failed", "question")
            assert "Your message is too long for this model" in done.error
            assert "kept in the input field" in done.remedy
            asked = [r for r in desk.server.requests if TOO_LONG in str(r.body)]
            assert len(asked) == (0 if known else 1), "what cannot fit is not sent"
            assert TOO_LONG in desk.log(), "the log keeps what was said"
            done = await desk.send("A shorter one")
            assert done.reply == "Hello.", done.error
            said = [m["content"] for m in desk.sent() if m["role"] == "user"]
            assert said == ["Hi", "A shorter one"]
            session = desk.session
        async with engine_on(tmp_path, model, config=quiet(), window=8_000) as desk:
            desk.session = session
            assert (await desk.send("And after a restart?")).reply == "Hello."

    run(main())


def test_a_question_that_is_too_long_on_a_disk_that_is_full_is_a_sentence_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write

    def full(fd: int, data: bytes) -> int:
        if b'"type":"mark"' in bytes(data):
            raise OSError(28, "No space left on device")
        return write(fd, data)

    async def main() -> None:
        async with engine_on(tmp_path, say("Hello."), config=quiet(), window=8_000) as desk:
            await desk.send("Hi")
            with monkeypatch.context() as patch:
                patch.setattr(os, "write", full)
                done = await desk.send(TOO_LONG)
            assert (done.state, done.failure) == ("failed", "question")
            assert (await desk.send("Shorter")).reply == "Hello."

    run(main())


@pytest.mark.parametrize("window", [8_000, 0])
def test_a_history_that_cannot_fit_is_made_smaller_before_it_is_sent(
    tmp_path: Path, window: int
) -> None:
    """Some servers would cut it in silence. A window that is a mere guess stops nothing."""

    async def main() -> None:
        def model(seen: Seen) -> Reply:
            text = str(seen.body["messages"][-1]["content"])
            return say(SUMMARY) if "SESSION INTENT" in text else say("answer " + "word " * 2_500)

        late = quiet(compaction=CompactionConfig(trigger_messages=0, trigger_tokens=0))
        async with engine_on(tmp_path, model, config=late, window=window) as desk:
            for n in range(4):
                done = await desk.send(f"question {n}")
                assert done.state == "finished", done.error
            chats = [r.body["messages"] for r in desk.server.requests]
            longest = max(str(m).count("word ") for m in chats if "SESSION INTENT" not in str(m))
            assert longest == (5_000 if window else 7_500)
            assert desk.log().count('"type":"compaction"') == (1 if window else 0)
            assert desk.log().count('"question 3"') == 1

    run(main())


def test_a_tight_fit_is_tried(tmp_path: Path) -> None:
    """What fits the window but leaves less than the reserve for an answer is sent all the same."""

    async def main() -> None:
        async with engine_on(tmp_path, say("Yes."), config=quiet(), window=8_000) as desk:
            await desk.send("Hi")
            view = await desk.engine.ask.context(desk.session)
            room = 8_000 - view.total
            done = await desk.send("word " * (room - 300))
            assert done.reply == "Yes.", done.error
            assert len(desk.server.requests) == 2

    run(main())
