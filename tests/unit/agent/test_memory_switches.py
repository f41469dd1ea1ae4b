"""Memory tools and switches in a turn; other spellings of MEMORY.md; error pages as answers."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from app.engine.config import AgentConfig, CompactionConfig, EngineConfig, MemoryConfig
from app.engine.records import Query
from tests.helpers.fake_server import Reply, Seen, call, say, use
from tests.helpers.workspaces import engine_on, without_memory


def run(main: Any) -> None:
    asyncio.run(asyncio.wait_for(main, 60))


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


@pytest.mark.case("B25")
@pytest.mark.parametrize("other", ["text", "hard link", "symbolic link", "folder"])
def test_only_one_spelling_is_the_memory(tmp_path: Path, other: str) -> None:
    async def main() -> None:
        (tmp_path / "MEMORY.md").write_text("- The boat is called Selkie\n", encoding="utf-8")
        second = tmp_path / "memory.md"
        if other == "text":
            second.write_text("- The boat is called Kelpie\n", encoding="utf-8")
        elif other == "hard link":
            os.link(tmp_path / "MEMORY.md", second)
        elif other == "symbolic link":
            second.symlink_to("MEMORY.md")
        else:
            (tmp_path / "Memory").mkdir()
            (tmp_path / "Memory" / "2026-06-02.md").write_text("- a boat of Kelpie\n", "utf-8")
        async with engine_on(tmp_path, say("Selkie."), config=without_memory()) as desk:
            await desk.engine.index_ready()
            await desk.send("What is the boat called?")
            system = desk.sent()[0]["content"]
            assert system.count("The boat is called Selkie") == 1
            assert "Kelpie" not in system
            layers = frozenset({"memory", "daily"})
            found = await desk.engine.ask.search(Query("boat", layers=layers))
            assert [hit.path for hit in found.hits] == ["MEMORY.md"]
            reported = [f.where for f in await desk.engine.ask.doctor() if f.severity == "warning"]
            named = {"text": ["memory.md"], "folder": ["Memory"]}.get(other, [])
            assert [where.rstrip("/") for where in reported if where.lower().startswith("mem")] == (
                named
            )
        assert (tmp_path / "MEMORY.md").read_text() == "- The boat is called Selkie\n"

    run(main())


PAGE = "<html><head><title>404 Not Found</title></head><body>nginx</body></html>"


@pytest.mark.case("B11")
def test_an_error_page_is_no_summary_and_no_memory(tmp_path: Path) -> None:
    async def main() -> None:
        asked = {"summary": 0, "consolidation": 0}

        def model(seen: Seen) -> Reply:
            messages = seen.body["messages"]
            system, last = str(messages[0]["content"]), str(messages[-1]["content"])
            if "NO_REPLY" in system:
                return say("- The boat is called Selkie")
            if "sole owner" in system:
                asked["consolidation"] += 1
                return say(PAGE)
            if "SESSION INTENT" in last:
                asked["summary"] += 1
                return say(PAGE)
            return say("Hello.")

        config = EngineConfig(
            compaction=CompactionConfig(
                trigger_messages=4, trigger_tokens=0, keep_messages=1, cooldown_units=50
            ),
            memory=MemoryConfig(policy="auto"),
        )
        async with engine_on(tmp_path, model, config=config) as desk:
            for n in range(8):
                done = await desk.send(f"The boat is called Selkie, number {n}.")
                assert (done.state, done.reply) == ("finished", "Hello."), "chat goes on"
                await desk.engine.drain()
            assert asked["consolidation"] == 1
            assert asked["summary"] == 2, "one retry, then the cool-down"
            assert '"type":"compaction"' not in desk.log()
            assert not (tmp_path / "MEMORY.md").exists()
            assert not await desk.engine.ask.proposals(waiting=True)
            jobs = [
                j for j in await desk.engine.ask.jobs() if j.kind in ("consolidate", "maintain")
            ]
            assert any(j.state == "failed" or j.reason for j in jobs)
            # What was said instead is kept as it came, to be shown as text.
            items = await desk.engine.ask.transcript(desk.session)
            assert any("error report" in i.text for i in items if i.kind == "failure")
            assert "404 Not Found" in desk.log()

    run(main())
