"""A program that works on a workspace until somebody kills it, made to be started quickly.

`python -m tests.helpers.crash_child` is the nursery: it imports everything once and forks one
child for each line `folder url acknowledgements seed` it reads, says the child's id, and says its
end when it was killed. The child takes turns, compacts, evicts, flushes, consolidates and applies,
and writes down, as JSON lines, what the engine said was done. Nothing it writes down may ever be
lost.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import traceback
from datetime import timedelta
from pathlib import Path

from app.engine.agent.tools import tool
from app.engine.config import (
    CompactionConfig,
    EngineConfig,
    MemoryConfig,
    ToolResultEvictionConfig,
)
from app.engine.context.tokenizer import load_o200k
from app.engine.engine import Engine
from app.engine.errors import UserError
from app.engine.llm.configured import ConfiguredEndpoint
from app.engine.llm.keys import Keys
from app.engine.llm.openai_endpoint import warm_up
from app.engine.llm.roles import Endpoints, EndpointSettings, RoleSettings
from app.engine.records import Decision

CONFIG = EngineConfig(
    memory=MemoryConfig(policy="review", consolidation_min_gap=timedelta(0)),
    compaction=CompactionConfig(trigger_messages=12, trigger_tokens=0, keep_messages=4),
    eviction=ToolResultEvictionConfig(max_result_chars=1_000, preview_chars=50),
)


def endpoints(url: str) -> Endpoints:
    """The fake server as the only model."""
    server = EndpointSettings(url=url, model="fake-model", window=32_000, trust_with_memory=True)
    return Endpoints(
        {"fake": server},
        RoleSettings(chat="fake"),
        lambda _name, one: ConfiguredEndpoint(one, Keys({})),
        lambda: ConfiguredEndpoint(server, Keys({})),
    )


def report_tool():
    """A tool whose result is so long that it is put aside."""

    async def report(arguments: dict) -> str:
        return f"Report on {arguments.get('boat')}.\n" + "nothing new under the sun\n" * 80

    return tool("report", "Report on a boat.", report, boat=("string", "which boat"))


class Worker:
    """One life: what it does, and what it says of it."""

    def __init__(self, engine: Engine, notes: int, seed: int) -> None:
        self._engine = engine
        self._notes = notes
        self._random = random.Random(seed)
        self._seed = seed
        self._said = 0

    def note(self, kind: str, **details: object) -> None:
        """One acknowledged thing, in one write."""
        os.write(self._notes, json.dumps({"kind": kind, **details}).encode() + b"\n")

    async def work(self) -> None:
        """Go on until the end."""
        known = await self._engine.ask.sessions()
        goes_on = bool(known) and self._random.random() < 0.7
        session = known[0].id if goes_on else await self._engine.do.new_session()
        self.note("open", session=session)
        while True:
            await self._turn(session)
            act = self._random.choice([self._flush, self._remember, self._merge, self._turn])
            await act(session)

    async def _turn(self, session: str) -> None:
        self._said += 1
        text = f"Boat K{self._seed}x{self._said} lies at pier {self._seed + self._said}."
        result = await self._engine.do.send(session, text)
        if result.state == "finished":
            self.note("said", session=session, text=text, reply=result.reply)
        else:
            self.note("failed", error=f"{result.error} {result.remedy}")

    async def _flush(self, session: str) -> None:
        said = f"Boat K{self._seed}x{self._said} lies at pier {self._seed + self._said}"
        await self._engine.do.flush(session)
        if await self._engine.drain(20):
            self.note("flushed", fact=said)

    async def _remember(self, session: str) -> None:
        self._said += 1
        fact = f"Boat K{self._seed}x{self._said} lies at pier {self._seed + self._said}"
        applied = await self._engine.do.remember(fact, session_id=session)
        self.note("remembered", fact=fact, version=applied.version)

    async def _merge(self, session: str) -> None:
        await self._engine.do.consolidate()
        await self._engine.drain(20)
        for info in await self._engine.ask.proposals(waiting=True):
            proposal = await self._engine.ask.proposal(info.id)
            kept = [change for change in proposal.changes if change.kind != "dropped"]
            decisions = [Decision(change.n, "accept") for change in kept]
            try:
                applied = await self._engine.do.apply(info.id, decisions)
            except UserError:  # nothing to accept in it, or a job was quicker
                continue
            lines = [line for change in kept for line in change.after]
            self.note("applied", version=applied.version, lines=lines)


async def live(folder: Path, url: str, notes: Path, seed: int) -> None:
    """One life of the program."""
    handle = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    engine = await Engine.open(
        folder, endpoints(url), config=CONFIG, tools=[report_tool()], watch=False
    )
    await Worker(engine, handle, seed).work()


def _child(folder: str, url: str, notes: str, seed: str) -> None:
    try:
        asyncio.run(live(Path(folder), url, Path(notes), int(seed)))
    except BaseException:
        with Path(notes).open("a", encoding="utf-8") as file:
            file.write(json.dumps({"kind": "raised", "error": traceback.format_exc()}) + "\n")
    os._exit(3)


def _tell(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> None:
    warm_up()
    load_o200k()
    _tell("ready")
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _child(*line.split())
        _tell(str(child))
        os.waitpid(child, 0)
        _tell("ended")


if __name__ == "__main__":
    main()
