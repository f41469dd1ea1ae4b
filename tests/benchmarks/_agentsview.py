"""agentsview over the same conversations, in an environment of the benchmark's own; else "not run".

It reads the logs of other programs, so ours are told again in the form of one of them. Both begin
without an index, in turn, until all is searchable; the best wall clock of each counts. Processor
time, with that of the processes begun, is told beside it; ours has the merging in it that goes on
when all can be found already.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from typing import Any

from app.engine.search.index import MemoryIndex
from tests.benchmarks._workspace import Writer

PLACE = Path(__file__).parent / ".agentsview"
PACKAGE = "agentsview"
MEGABYTES = 30.0
ROUNDS = 12

Row = dict[str, float | str]


def compared(folder: Path, *, install: bool) -> Row:
    """Seconds until all is searchable, ours to theirs."""
    rows: Row = {"agentsview_ratio": "not run", "agentsview_ratio_limit": 1.2}
    program = _program(install)
    if program is None:
        return rows
    root = folder / "conversations"
    Writer(root).fill(MEGABYTES)
    told = folder / "told"
    for log in (root / "agents/palimpsest/sessions").glob("*.log.jsonl"):
        _tell_again(log, told / "project")
    ours: list[tuple[float, float]] = []
    theirs: list[tuple[float, float]] = []
    for n in range(ROUNDS):
        ours.append(asyncio.run(_ours(root, folder / f"ours-{n}.db")))
        theirs.append(_theirs(program, told, folder / f"home-{n}"))
    wall, spent = (min(each) for each in zip(*ours, strict=True))
    their_wall, their_spent = (min(each) for each in zip(*theirs, strict=True))
    return rows | {
        "agentsview_wall_seconds": round(their_wall, 2),
        "agentsview_our_wall_seconds": round(wall, 2),
        "agentsview_processor_seconds": round(their_spent, 2),
        "agentsview_our_processor_seconds": round(spent, 2),
        "agentsview_ratio": round(wall / their_wall, 3),
    }


def _spent() -> float:
    """Processor time of this process and of those it waited for."""
    return sum(os.times()[:4])


def _program(install: bool) -> Path | None:
    program = PLACE / "bin" / "agentsview"
    if not program.exists() and install:
        subprocess.run([sys.executable, "-m", "venv", str(PLACE)], check=True)
        pip = [str(PLACE / "bin" / "python"), "-m", "pip", "install", "-q", PACKAGE]
        if subprocess.run(pip, check=False).returncode:
            shutil.rmtree(PLACE)
    return program if program.exists() else None


async def _ours(root: Path, path: Path) -> tuple[float, float]:
    index = MemoryIndex(root, path, zone=UTC)
    await index.open()
    begun, own = time.perf_counter(), _spent()
    whole = asyncio.create_task(index.index_all_from_workspace())
    while not whole.done() and index.state.state != "ready":
        await asyncio.sleep(0.01)  # later by so much at most; to look more often slows it down
    wall = time.perf_counter() - begun
    await whole
    spent = _spent() - own
    await index.close()
    return wall, spent


def _theirs(program: Path, told: Path, home: Path) -> tuple[float, float]:
    home.mkdir()
    own = {"HOME": str(home), "CLAUDE_PROJECTS_DIR": str(told), "AGENTSVIEW_NO_DAEMON": "1"}
    own["DO_NOT_TRACK"] = "1"
    begun, before = time.perf_counter(), _spent()
    subprocess.run(
        [str(program), "sync", "--full"], env=os.environ | own, check=True, capture_output=True
    )
    return time.perf_counter() - begun, _spent() - before


def _tell_again(log: Path, folder: Path) -> None:
    """One of our logs as a conversation of another program."""
    folder.mkdir(parents=True, exist_ok=True)
    session = str(uuid.uuid5(uuid.NAMESPACE_URL, log.name))
    with (folder / f"{session}.jsonl").open("w", encoding="utf-8") as out:
        parent = None
        for number, (role, content, when) in enumerate(_messages(log)):
            one = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{session}/{number}"))
            line = {
                "type": role, "uuid": one, "parentUuid": parent, "sessionId": session,
                "timestamp": when, "cwd": "/project", "version": "2.0.0",
                "message": {"role": role, "content": content},
            }  # fmt: skip
            out.write(json.dumps(line, ensure_ascii=False) + "\n")
            parent = one


def _messages(log: Path) -> Iterator[tuple[str, Any, str]]:
    for raw in log.read_text("utf-8").splitlines():
        entry = json.loads(raw)
        when = entry["timestamp"]
        match entry["type"]:
            case "message" if entry["role"] == "USER":
                yield "user", entry["content"], when
            case "message":
                yield "assistant", [{"type": "text", "text": entry["content"]}], when
            case "tool_use":
                use = {"type": "tool_use", "id": entry["id"][1:], "name": entry["name"]}
                yield "assistant", [use | {"input": entry["input"]}], when
            case _:
                result = {"type": "tool_result", "tool_use_id": entry["id"][1:]}
                yield "user", [result | {"content": entry["output"]}], when
