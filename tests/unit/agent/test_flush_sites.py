"""The flush sees everything before it is summarised, on every way that leads to a summary (B23)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from app.engine.agent.tools import tool
from app.engine.config import CompactionConfig, EngineConfig, FlushTrigger, MemoryConfig
from tests.helpers.fake_server import Reply, Seen, call, overflow, say, use
from tests.helpers.waiting import run
from tests.helpers.workspaces import engine_on, to_the_end

SUMMARY = "SESSION INTENT: talk\nSUMMARY: we talked\nARTIFACTS: None\nNEXT STEPS: None"
NINE, EIGHT = "word " * 8_400, "line " * 8_000  # thousands of tokens, with what stands around them


class Model:
    """Calls the tool once a round; refuses a request that is too long when it is told to."""

    def __init__(self, refuses: bool) -> None:
        self.refuses = refuses
        self.flushes: list[str] = []

    def __call__(self, seen: Seen) -> Reply:
        messages = seen.body["messages"]
        last = str(messages[-1]["content"])
        if "NO_REPLY" in str(messages[0]["content"]):
            self.flushes.append(last)
            return say("NO_REPLY")
        if "SESSION INTENT" in last:
            return say(SUMMARY)
        if self.refuses and sum(len(str(m["content"])) for m in messages) > 60_000:
            return overflow(17_500, 16_000)
        if last.startswith("<ask"):
            return use(call("execute", {}, id=f"c{last[5]}"))
        return say("Done.")


@pytest.mark.case("B23")
@pytest.mark.parametrize("way", ["threshold", "overflow"])
def test_three_summaries_in_a_row_are_three_flushes_of_everything(tmp_path: Path, way: str) -> None:
    async def main() -> None:
        rounds = iter(range(3))

        async def work(_arguments: dict[str, Any]) -> str:
            return f"<result {next(rounds)}> {EIGHT}"

        model = Model(refuses=way == "overflow")
        config = EngineConfig(
            compaction=CompactionConfig(
                trigger_messages=0, trigger_tokens=10_000 if way == "threshold" else 0,
                keep_messages=1,
            ),
            memory=MemoryConfig(flush_trigger=FlushTrigger.never()),
        )  # fmt: skip
        tools = [tool("execute", "Run a command.", work)]
        async with engine_on(tmp_path, model, config=config, tools=tools, window=200_000) as desk:
            for n in range(3):
                done = await desk.send(f"<ask {n}> {NINE} <end {n}>")
                assert done.reply == "Done.", done.error
                entry = "compaction" if way == "threshold" else "overflow"
                assert desk.log().count(f'"type":"{entry}"') > n
                await desk.engine.drain()
                assert len(model.flushes) > n, "every time, not every other time"
                seen = "".join(model.flushes)
                for m in range(n + 1):
                    for part in (f"<ask {m}>", f"<end {m}>", f"<result {m}>"):
                        assert seen.count(part) == 1, "before anything of it was cut, and once"

    run(main())


@to_the_end
async def test_a_flush_while_a_tool_runs_leaves_its_result_to_the_next(tmp_path: Path) -> None:
    async def work(_arguments: dict[str, Any]) -> str:
        await desk.engine.do.flush(desk.session)
        async with asyncio.timeout(30):
            while not any("<ask 0>" in seen for seen in model.flushes):
                await asyncio.sleep(0.01)
        return "<result 0>"

    model = Model(refuses=False)
    tools = [tool("execute", "Run a command.", work)]
    async with engine_on(tmp_path, model, tools=tools, window=200_000) as desk:
        assert (await desk.send("<ask 0>")).reply == "Done."
        await desk.engine.drain()
        seen = "".join(model.flushes)
        assert (seen.count("<ask 0>"), seen.count("<result 0>")) == (1, 1)
