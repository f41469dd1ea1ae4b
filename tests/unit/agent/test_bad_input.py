"""What people, models, disks and other programs put in the way, met by a whole engine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.engine.config import CompactionConfig, EngineConfig, MemoryConfig
from app.engine.records import Query
from tests.helpers.fake_server import Reply, Seen, say
from tests.helpers.waiting import run
from tests.helpers.workspaces import EngineDesk, engine_on, without_memory

PAGE = "<html><head><title>404 Not Found</title></head><body><h1>Not Found</h1></body></html>"


def site(seen: Seen) -> str:
    """What a request is for: flush, consolidation, summary or chat."""
    messages = seen.body["messages"]
    first, last = str(messages[0]["content"]), str(messages[-1]["content"])
    if "NO_REPLY" in first:
        return "flush"
    if "sole owner" in first:
        return "consolidation"
    return "summary" if "SESSION INTENT" in last else "chat"


def asked_for(desk: EngineDesk, what: str) -> int:
    return sum(site(seen) == what for seen in desk.server.requests)


# ---------------------------------------------------------------------------- B11


@pytest.mark.case("B11")
@pytest.mark.parametrize("policy", ["review", "auto"])
def test_an_error_page_is_neither_memory_nor_a_summary(tmp_path: Path, policy: str) -> None:
    def model(seen: Seen) -> Reply:
        what = site(seen)
        if what == "flush":
            return say("- The boat is called Selkie")
        return say(PAGE) if what in ("consolidation", "summary") else say("Fine.")

    async def main() -> None:
        config = EngineConfig(
            memory=MemoryConfig(policy=policy),
            compaction=CompactionConfig(
                trigger_messages=4, trigger_tokens=0, keep_messages=1, cooldown_units=50
            ),
        )
        async with engine_on(tmp_path, model, config=config) as desk:
            for n in range(6):
                result = await desk.send(f"The boat is called Selkie, {n}.")
                assert (result.state, result.reply) == ("finished", "Fine."), "chat goes on"
                await desk.engine.drain()
            assert not (tmp_path / "MEMORY.md").exists()
            assert await desk.engine.ask.proposals(waiting=True) == []
            assert asked_for(desk, "consolidation") == 1, "six turns, not six calls"
            assert asked_for(desk, "summary") == 2, "one retry, then the cool-down"
            items = await desk.engine.ask.transcript(desk.session)
            assert [i.kind for i in items].count("compaction") == 0
            assert [i.text for i in items if i.kind == "user"] == [
                f"The boat is called Selkie, {n}." for n in range(6)
            ]
            # What was said instead is kept as it came, to be shown as text.
            failures = [i for i in items if i.kind == "failure"]
            assert any("error report" in i.text for i in failures)
            assert PAGE in str([i.detail for i in failures])
            sent = [m["content"] for m in desk.server.requests[-1].body["messages"]]
            assert PAGE not in str(sent)
            jobs = await desk.engine.ask.jobs()
            (failed,) = [job for job in jobs if job.kind == "maintain"]
            assert (failed.state, "error page" in failed.reason) == ("failed", True)
            calls = await desk.engine.ask.model_calls(failed.target)
            assert calls[0].answer == PAGE

    run(main())


# ---------------------------------------------------------------------------- B25


@pytest.mark.case("B25")
@pytest.mark.parametrize("other", ["different", "hard link", "link", "folder"])
def test_only_memory_md_counts(tmp_path: Path, other: str) -> None:
    async def main() -> None:
        memory, beside = tmp_path / "MEMORY.md", tmp_path / "memory.md"
        memory.write_text("- The boat is called Selkie\n", encoding="utf-8")
        if other == "different":
            beside.write_text("- The boat is called Otter\n", encoding="utf-8")
        elif other == "hard link":
            os.link(memory, beside)
        elif other == "link":
            beside.symlink_to("MEMORY.md")
        else:
            (tmp_path / "Memory").mkdir()
            (tmp_path / "Memory" / "2026-06-02.md").write_text("- Otter, a boat\n", "utf-8")
        async with engine_on(tmp_path, say("Yes."), config=without_memory()) as desk:
            await desk.engine.index_ready()
            await desk.send("What is it called?")
            prompt = str(desk.sent()[0]["content"])
            assert prompt.count("The boat is called Selkie") == 1
            assert "Otter" not in prompt
            found = await desk.engine.ask.search(
                Query("boat", layers=frozenset({"memory", "daily"}))
            )
            assert [hit.path for hit in found.hits] == ["MEMORY.md"]
            assert not (await desk.engine.ask.search(Query("Otter"))).hits
            reported = [f.where for f in await desk.engine.ask.doctor() if f.severity == "warning"]
            told = [where.rstrip("/") for where in reported if where.lower().startswith("mem")]
            assert told == {"different": ["memory.md"], "folder": ["Memory"]}.get(other, [])
            assert memory.read_text(encoding="utf-8") == "- The boat is called Selkie\n"
            await desk.engine.do.remember("The boat is blue")
            assert "blue" in memory.read_text(encoding="utf-8")
            if other == "different":
                assert beside.read_text(encoding="utf-8") == "- The boat is called Otter\n"

    run(main())
