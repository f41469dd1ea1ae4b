"""Kill a working program at a random moment, and see that nothing it acknowledged is lost.

One `CrashYard` keeps a fake server, a nursery of children (`crash_child`) and a workspace. Each
`kill()` lets a child work for a while, sends it SIGKILL, opens the workspace with a whole engine
and returns what is wrong with it, in sentences; none means that all is well.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from app.engine.engine import Engine
from tests.helpers.crash_child import CONFIG, endpoints, report_tool
from tests.helpers.fake_server import FakeServer, Reply, Seen, call, say, use

FACT = re.compile(r"Boat K\d+x\d+ lies at pier \d+")
SUMMARY = "## SESSION INTENT\nBoats.\n## SUMMARY\nBoats lie at piers.\n## ARTIFACTS\nNone\n"
STEP = 0.01  # seconds between looks at what was acknowledged
PATIENCE = 2_000  # looks
LONGER = 0.4  # seconds a life goes on at most after its last acknowledgement counted
ROOT = Path(__file__).parents[2]


def model(seen: Seen) -> Reply:
    """A model that answers chats, flushes, summaries and consolidations by their prompts."""
    messages = seen.body["messages"]
    texts = [str(m.get("content") or "") for m in messages]
    facts = list(dict.fromkeys(FACT.findall("\n".join(texts[1:]))))
    if "NO_REPLY" in texts[0]:
        return say("\n".join(f"- {fact}" for fact in facts) or "NO_REPLY")
    if "sole owner" in texts[0]:
        return say("# Boats\n\n" + "\n".join(f"- {fact}" for fact in facts))
    if "SESSION INTENT" in texts[-1]:
        return say(f"{SUMMARY}## NEXT STEPS\nNone")
    if messages[-1]["role"] == "user" and len(texts[-1]) % 3 == 0:
        return use(call("report", {"boat": "K"}, id=f"c{len(messages)}x{abs(hash(texts[-1]))}"))
    return say("It is ", "noted.", pause=0.002)


@dataclass
class CrashYard:
    """A place to crash in. `acknowledged` is everything any child wrote down."""

    folder: Path
    server: FakeServer
    nursery: subprocess.Popen[str]
    random: random.Random
    notes: Path
    number: int = 0
    moments: dict[str, int] = field(default_factory=dict)

    async def kill(self) -> list[str]:
        """One life, one death, one look: what is wrong afterwards.

        A life lasts until a few things were acknowledged and then a random moment longer; some die
        while they open the workspace.
        """
        self.number += 1
        begun = len(self.acknowledged())
        line = f"{self.folder} {self.server.base_url} {self.notes} {self.number}\n"
        child = int(await asyncio.to_thread(self._ask, line))
        wanted = self.random.choice([0, 1, 2, 3, 4])
        for _ in range(PATIENCE):
            if len(self.acknowledged()) >= begun + wanted:
                break
            await asyncio.sleep(STEP)
        await asyncio.sleep(self.random.uniform(0.0, LONGER))
        with contextlib.suppress(ProcessLookupError):  # it ended by itself, and says why
            os.kill(child, signal.SIGKILL)
        await asyncio.to_thread(self._ask, "")
        notes = self.acknowledged()
        last = str(notes[-1]["kind"]) if len(notes) > begun else "start"
        self.moments[last] = self.moments.get(last, 0) + 1
        wrong = [str(n["error"]) for n in notes[begun:] if n["kind"] in ("raised", "failed")]
        return [*wrong, *await self._look(notes)]

    def _ask(self, line: str) -> str:
        assert self.nursery.stdin is not None
        assert self.nursery.stdout is not None
        if line:
            self.nursery.stdin.write(line)
            self.nursery.stdin.flush()
        return self.nursery.stdout.readline()

    def acknowledged(self) -> list[dict[str, Any]]:
        if not self.notes.exists():
            return []
        lines = self.notes.read_bytes().split(b"\n")
        return [json.loads(line) for line in lines[:-1]]

    # ------------------------------------------------------------------ looking

    async def _look(self, notes: list[dict[str, Any]]) -> list[str]:
        wrong = torn_files(self.folder)
        engine = await Engine.open(
            self.folder,
            endpoints(self.server.base_url),
            config=CONFIG,
            tools=[report_tool()],
            watch=False,
        )
        try:
            wrong += [
                f"doctor: {one.where}: {one.what}"
                for one in await engine.ask.doctor()
                if one.severity == "error"
            ]
            wrong += await self._lost(engine, notes)
        finally:
            await engine.close()
        return wrong

    async def _lost(self, engine: Engine, notes: list[dict[str, Any]]) -> list[str]:
        memory = (await engine.ask.memory()).text
        days = ""
        for info in await engine.ask.days():
            log = await engine.ask.day(info.path)
            days += "".join(f"{line.text}\n" for part in log.sections for line in part.lines)
        lost: list[str] = []
        spoken: dict[str, list[str]] = {}
        for note in notes:
            if note["kind"] == "said":
                session = note["session"]
                if session not in spoken:
                    items = await engine.ask.transcript(session, limit=100_000)
                    spoken[session] = [item.text for item in items]
                said = spoken[session]
                if said.count(note["text"]) != 1 or note["reply"] not in said:
                    lost.append(f"said in {session}: {note['text']}")
            elif note["kind"] == "flushed" and note["fact"] not in days:
                lost.append(f"flushed: {note['fact']}")
            elif note["kind"] == "remembered" and not (
                note["fact"] in days and note["fact"] in memory
            ):
                lost.append(f"remembered: {note['fact']}")
            elif note["kind"] == "applied":
                lost += [f"applied: {line}" for line in note["lines"] if line not in memory]
        newest = (await engine.ask.versions(1) or [None])[0]
        if newest is not None and await engine.ask.version_text(newest.number) != memory:
            lost.append("the newest version is not what MEMORY.md holds")
        done = [n["version"] for n in notes if "version" in n]
        if done and (newest is None or newest.number < max(done)):
            lost.append(f"version {max(done)} is gone")
        for one in await engine.ask.evicted():
            page = await engine.ask.evicted_page(one.path, 0, 10)
            if one.chars and page.total != one.chars:  # 0: killed before its entry was written
                lost.append(f"{one.path} holds {page.total} of {one.chars} characters")
        return lost


def torn_files(folder: Path) -> list[str]:
    """Files that another program would stumble over. A session's last line may be unfinished: it
    is set aside before the next one is written."""
    wrong: list[str] = []
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        name = path.relative_to(folder).as_posix()
        if ".git/" in name or path.suffix in (".db", ".tmp") or name.endswith(("-wal", "-shm")):
            continue
        data = path.read_bytes()
        if path.suffix == ".json":
            parts = [data]
        elif path.suffix == ".jsonl":
            parts = data.split(b"\n")[:-1]
        else:
            parts = []
            try:
                data.decode()
            except UnicodeDecodeError:
                wrong.append(f"{name} is no text")
        for part in parts:
            try:
                msgspec.json.decode(part)
            except msgspec.DecodeError:
                wrong.append(f"{name} is torn: {part[:60]!r}")
    return wrong


def _nursery() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.helpers.crash_child"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


@asynccontextmanager
async def crash_yard(folder: Path, seed: int) -> AsyncIterator[CrashYard]:
    """A yard on a fresh workspace; the nursery ends with it."""
    workspace = folder / "ws"
    workspace.mkdir(parents=True)
    nursery = _nursery()
    try:
        assert nursery.stdout is not None
        assert (await asyncio.to_thread(nursery.stdout.readline)).strip() == "ready"
        async with FakeServer(model) as server:
            yield CrashYard(workspace, server, nursery, random.Random(seed), folder / "notes.jsonl")
    finally:
        assert nursery.stdin is not None
        assert nursery.stdout is not None
        nursery.stdin.close()
        nursery.kill()
        nursery.wait(10)
        nursery.stdout.close()
