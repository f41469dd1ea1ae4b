"""Turns over a memory that was handed to the agent, and sessions with a strategy of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.engine.agent.tools import tool
from app.engine.config import EngineConfig, FlushTrigger, MemoryConfig
from app.engine.context.tokens import Counter
from app.engine.errors import ConfigError
from app.engine.memory.base import BaseMemory, BasicMemory
from app.engine.memory.compaction_memory import BackgroundMemory, CompactionMemory
from app.engine.memory.motus_settings import CompactionMemoryConfig
from app.engine.records import Message
from tests.helpers.fake_server import call, overflow, say, use
from tests.helpers.waiting import run
from tests.helpers.workspaces import engine_on, without_memory


def echo() -> Any:
    async def answer(arguments: dict[str, Any]) -> str:
        return f"heard {arguments.get('text', '')}"

    return tool("echo", "Say it again.", answer, text=("string", "what"))


class Mine(BaseMemory):
    """Nothing but what is asked of a strategy."""

    async def compact(self, **kwargs: Any) -> str | None:
        return None

    def reset(self) -> dict[str, int]:
        count = len(self._messages)
        self._messages.clear()
        return {"messages": count}


@pytest.mark.case("MOT-113")
def test_a_memory_of_ones_own_drives_a_turn_with_a_tool(tmp_path: Path) -> None:
    async def main() -> None:
        scripts = (use(call("echo", {"text": "tea"}, id="c1")), say("You said tea."), say("Yes."))
        memory = Mine()
        async with engine_on(tmp_path, *scripts, config=without_memory(), tools=[echo()]) as desk:
            desk.session = await desk.engine.do.new_session(memory=memory)
            done = await desk.send("Say tea")
            assert (done.state, done.reply) == ("finished", "You said tea.")
            said = [(m.role, m.content) for m in memory.messages]
            assert said == [
                ("user", "Say tea"),
                ("assistant", ""),
                ("tool", "heard tea"),
                ("assistant", "You said tea."),
            ]
            roles = [m["role"] for m in desk.sent(1)]
            assert roles == ["system", "user", "assistant", "tool"]
            # It works on the session of the workspace: there is one log.
            items = await desk.engine.ask.transcript(desk.session)
            assert [i.kind for i in items] == ["user", "tool", "assistant"]
            assert "heard tea" in desk.log()
            assert memory.reset() == {"messages": 4}
            await desk.send("Anything left?")
            assert [m["role"] for m in desk.sent(2)] == ["system", "user"]

    run(main())


def test_what_a_memory_shows_is_what_is_sent(tmp_path: Path) -> None:
    class Whispering(Mine):
        def construct_system_prompt(self) -> str:
            return "Whisper."

        def get_context(self) -> list[Message]:
            return [super().get_context()[0], *self.messages[-1:]]

    async def main() -> None:
        async with engine_on(tmp_path, say("Hush."), config=without_memory()) as desk:
            memory = Whispering(counter=Counter())
            await memory.add_message({"role": "user", "content": "from before"})
            desk.session = await desk.engine.do.new_session(memory=memory)
            await desk.send("Hello")
            system, only = desk.sent()
            assert "Whisper." in system["content"]
            assert only["content"] == "Hello"
            assert "from before" in desk.log()

    run(main())


@pytest.mark.case("MOT-96")
def test_reasoning_is_not_sent_and_images_are(tmp_path: Path) -> None:
    async def main() -> None:
        async with engine_on(tmp_path, say("Ok."), config=without_memory()) as desk:
            memory = BasicMemory(counter=Counter())
            image = "data:image/png;base64,AA"
            await memory.add_message(Message(id="", role="user", content="Look", images=(image,)))
            await memory.add_message(
                Message(id="", role="assistant", content="I see.", reasoning="a hidden thought")
            )
            desk.session = await desk.engine.do.new_session(memory=memory)
            await desk.send("Go on")
            body = str(desk.server.requests[-1].body)
            assert "a hidden thought" not in body
            assert image in body

    run(main())


@pytest.mark.case("MOT-32", "MOT-88")
def test_the_agents_model_and_prompt_fill_what_is_unset(tmp_path: Path) -> None:
    async def main() -> None:
        values = CompactionMemoryConfig(log_base_path=tmp_path / "logs", session_id="s-1")
        first = CompactionMemory(values, system_prompt="Stored prompt.", counter=Counter())
        await first.add_message({"role": "user", "content": "a"})
        await first.add_message({"role": "assistant", "content": "b"})
        first.close()
        memory = CompactionMemory.restore_from_log("s-1", tmp_path / "logs", counter=Counter())
        folder = tmp_path / "ws"
        async with engine_on(folder, say("Ok."), say("S."), config=without_memory()) as desk:
            session = await desk.engine.do.new_session(memory=memory)
            assert session == "s-1"
            await desk.engine.do.send(session, "c")
            assert "Stored prompt." in desk.sent()[0]["content"]
            assert await memory.compact() == "S."
            assert "Stored prompt." in desk.sent()[0]["content"]
        again = CompactionMemory.restore_from_log("s-1", tmp_path / "logs", counter=Counter())
        assert again.messages == memory.messages

    run(main())


def test_an_overflow_is_answered_by_the_memorys_own_compaction(tmp_path: Path) -> None:
    class Forgetful(Mine):
        async def compact(self, **kwargs: Any) -> str | None:
            self._messages = self._messages[-1:]
            return "forgot"

    async def main() -> None:
        scripts = (say("b"), overflow(9_000, 8_000), say("There."), overflow(9_000, 8_000))
        async with engine_on(tmp_path, *scripts, config=without_memory()) as desk:
            desk.session = await desk.engine.do.new_session(memory=Forgetful(counter=Counter()))
            await desk.send("a")
            assert (await desk.send("c")).reply == "There."
            assert [m["content"] for m in desk.sent()[1:]] == ["c"]
            basic = await desk.engine.do.new_session(memory=BasicMemory(counter=Counter()))
            failed = await desk.engine.do.send(basic, "d")
            assert failed.state == "failed"
            assert len(desk.server.requests) == 4

    run(main())


def test_a_sessions_own_type_decides_what_its_memory_does(tmp_path: Path) -> None:
    async def main() -> None:
        fact = "My name is Ada and I prefer tea over coffee."
        async with engine_on(tmp_path, say("Noted.")) as desk:
            for kind, flushed in (("basic", 0), ("compact", 0), ("background", 1)):
                desk.session = await desk.engine.do.new_session(memory_type=kind)
                await desk.send(fact)
                await desk.engine.drain()
                jobs = [j for j in await desk.engine.ask.jobs() if j.session_id == desk.session]
                assert len([j for j in jobs if j.kind == "flush"]) == flushed, kind
                assert f'"strategy":"{kind}"' in desk.log()
            with pytest.raises(ConfigError):
                await desk.engine.do.new_session(memory_type="eternal")
            quiet = await desk.engine.do.new_session(memory_type="basic")
            await desk.engine.do.send(quiet, fact)
        # Opened again, it is still the kind of session it was made as.
        async with engine_on(tmp_path, say("Noted.")) as desk:
            await desk.engine.do.send(quiet, "My deadline is 5 December.")
            await desk.engine.drain()
            assert not [j for j in await desk.engine.ask.jobs() if j.session_id == quiet]

    run(main())


def test_a_background_memory_hands_over_what_it_compacts(tmp_path: Path) -> None:
    async def main() -> None:
        # No flush by itself: one that came first would leave the compaction nothing to hand over.
        only = EngineConfig(memory=MemoryConfig(flush_trigger=FlushTrigger.never()))
        async with engine_on(tmp_path, say("Noted."), config=only) as desk:
            memory = BackgroundMemory(compact_fn=lambda *_: "S", counter=Counter())
            desk.session = await desk.engine.do.new_session(memory=memory)
            await desk.send("My name is Ada and I prefer tea over coffee.")
            await desk.engine.drain()
            await desk.send("My deadline is 5 December.")
            report = await desk.engine.do.compact(desk.session)
            assert report.summary == "S"
            await desk.engine.drain()
            jobs = [j for j in await desk.engine.ask.jobs() if j.kind == "flush"]
            assert any("compaction" in j.trigger for j in jobs)
            assert EngineConfig().agent.strategy == "background"

    run(main())
