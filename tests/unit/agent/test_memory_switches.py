"""What the switches and settings of the memory change in a turn."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.engine.config import AgentConfig, EngineConfig, MemoryConfig
from tests.helpers.fake_server import Reply, Seen, call, say, use
from tests.helpers.waiting import run
from tests.helpers.workspaces import engine_on, without_memory


@pytest.mark.case("TOL-3")
def test_thirty_hits_and_the_rest_is_counted(tmp_path: Path) -> None:
    async def main() -> None:
        facts = [f"- Harbour rule {n} is in force\n" for n in range(43)]
        (tmp_path / "MEMORY.md").write_text("".join(facts), encoding="utf-8")
        scripts = (use(call("memory_search", {"query": "harbour rule"}, id="c1")), say("Many."))
        async with engine_on(tmp_path, *scripts, config=without_memory()) as desk:
            await desk.engine.index_ready()
            await desk.send("What are the rules?")
            lines = str(desk.sent()[-1]["content"]).split("\n")
            assert sum(line.startswith("Source: MEMORY.md#") for line in lines) == 30
            assert "43" in lines[0]
            assert lines[1] == ""
            assert lines[-1].startswith("13 more")

    run(main())


@pytest.mark.case("TOL-5")
def test_without_memory_tools_there_are_no_session_tools_either(tmp_path: Path) -> None:
    async def main() -> None:
        async def offered(switches: AgentConfig) -> set[str]:
            config = EngineConfig(agent=switches)
            async with engine_on(tmp_path, say("Hi."), config=config) as desk:
                await desk.send("Hello")
                body = desk.server.requests[0].body
                return {t["function"]["name"] for t in body.get("tools", [])}

        memory = {
            "memory_search", "memory_get", "memory_save",
            "session_search", "session_list", "session_history",
        }  # fmt: skip
        with_them = await offered(AgentConfig(memory_hooks=False))
        without = await offered(AgentConfig(memory_hooks=False, memory_tools=False))
        assert memory <= with_them
        assert not memory & without
        assert without == with_them - memory

    run(main())


@pytest.mark.case("CFG-11")
def test_a_percent_sign_in_a_persons_prompt_stays(tmp_path: Path) -> None:
    async def main() -> None:
        prompt = "Keep about 50% of it within %d tokens (%d characters)."
        asked: list[str] = []

        def model(seen: Seen) -> Reply:
            system = str(seen.body["messages"][0]["content"])
            if "NO_REPLY" in system:
                return say("- The boat is called Selkie")
            if "50%" in system:
                asked.append(system)
                return say("# Memory\n\n- The boat is called Selkie")
            return say("Hello.")

        memory = MemoryConfig(policy="review", consolidation_prompt=prompt)
        async with engine_on(tmp_path, model, config=EngineConfig(memory=memory)) as desk:
            await desk.send("The boat is called Selkie.")
            await desk.engine.drain()
            assert "Keep about 50% of it within 4000 tokens (16000 characters)." in asked[0]
            assert len(await desk.engine.ask.proposals(waiting=True)) == 1

    run(main())
