"""Motus, in an environment of the benchmark's own, doing what the engine does; else "not run".

Both get the same messages, keep a log of them and leave fsync out. They work in turn, round by
round, each timed by its own processor time, and the best round of each counts.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

from app.engine.context.tokenizer import VOCABULARY, Tiktoken
from app.engine.context.tokens import Counter
from app.engine.memory.compaction_memory import CompactionMemory
from app.engine.memory.log_store import LocalConversationLogStore
from app.engine.memory.motus_settings import CompactionMemoryConfig
from app.resources import resource
from tests.benchmarks._sessions import logged, plain_messages, said

PLACE = Path(__file__).parent / ".motus"
PACKAGE = "lithosai-motus"
SIZE = 10_000
RESTORED = 100_000
ROUNDS = 8
OURS_A_ROUND = 50  # messages of ours, while Motus adds one
NOT_RUN = "not run"

SCRIPT = """
import asyncio, json, sys, time
from pathlib import Path
from motus.memory import CompactionMemory, CompactionMemoryConfig
from motus.models import ChatMessage

size, folder = int(sys.argv[1]), Path(sys.argv[2])
messages = [ChatMessage(**one) for one in json.loads((folder / "s.json").read_text())]
config = CompactionMemoryConfig(token_threshold=10**9, log_base_path=str(folder / "added"))
memory = CompactionMemory(config=config, model_name="gpt-4o")
memory._messages = messages[:size]
fresh = iter(messages[size:])

def timed(act):
    begun = time.process_time()
    act()
    return time.process_time() - begun

def add():
    one = next(fresh)
    async def adding():
        spent = time.process_time()
        await memory.add_message(one)
        return time.process_time() - spent
    return asyncio.run(adding())

def restore():
    return timed(lambda: CompactionMemory.restore_from_log("s", log_base_path=str(folder)))

for line in sys.stdin:
    print(json.dumps({"add": add, "restore": restore}[line.strip()]()), flush=True)
"""


def environment(*, install: bool) -> Path | None:
    """The interpreter that has Motus; None when it is not there. Installs it when told to."""
    python = PLACE / "bin" / "python"
    if not python.exists() and install:
        subprocess.run([sys.executable, "-m", "venv", str(PLACE)], check=True)
        # It declares a newer Python than it needs.
        pip = [str(python), "-m", "pip", "install", "--quiet", "--ignore-requires-python", PACKAGE]
        if subprocess.run(pip, check=False).returncode:
            shutil.rmtree(PLACE)
    return python if python.exists() else None


def compared(python: Path | None, folder: Path) -> dict[str, float | str]:
    """What a message costs at ten thousand, and a restore of a hundred thousand."""
    rows: dict[str, float | str] = {"add_motus_ratio": NOT_RUN, "restore_motus_ratio": NOT_RUN}
    if python is not None:
        folder.mkdir()
        with _Motus(python, folder) as motus:
            added, adding = asyncio.run(_adding(motus, folder))
            restored, restoring = _restoring(motus, folder)
        rows = {
            "add_ours_seconds": round(added, 6),
            "add_motus_seconds": round(adding, 4),
            "add_motus_ratio": round(added / adding, 6),
            "restore_ours_seconds": round(restored, 3),
            "restore_motus_seconds": round(restoring, 3),
            "restore_motus_ratio": round(restored / restoring, 3),
        }
    return rows | {"add_motus_ratio_limit": 0.001, "restore_motus_ratio_limit": 0.4}


async def _adding(motus: _Motus, folder: Path) -> tuple[float, float]:
    tokenizer = Tiktoken()
    tokenizer.wait()
    config = CompactionMemoryConfig(session_id="added", token_threshold=10**9)
    store = LocalConversationLogStore(folder / "ours", fsync="never")
    memory = CompactionMemory(config, log_store=store, counter=Counter(tokenizer))
    for n in range(SIZE):
        await memory.add_message(said(n))
    ours: list[float] = []
    theirs: list[float] = []
    for at in range(SIZE, SIZE + ROUNDS * OURS_A_ROUND, OURS_A_ROUND):
        theirs.append(motus.ask("add"))
        spent: list[float] = []
        for n in range(at, at + OURS_A_ROUND):
            message = said(n)
            begun = time.process_time()
            await memory.add_message(message)
            spent.append(time.process_time() - begun)
        ours.append(statistics.median(spent))
    memory.close()
    return min(ours), min(theirs)


def _restoring(motus: _Motus, folder: Path) -> tuple[float, float]:
    logged(folder / "ours" / "s.log.jsonl", RESTORED)
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(ROUNDS):
        theirs.append(motus.ask("restore"))
        begun = time.process_time()
        CompactionMemory.restore_from_log("s", folder / "ours")
        ours.append(time.process_time() - begun)
    return min(ours), min(theirs)


class _Motus:
    """Motus in a process of its own; `ask` gives the seconds one thing took there."""

    def __init__(self, python: Path, folder: Path) -> None:
        (folder / "s.json").write_text(plain_messages(SIZE + ROUNDS), encoding="utf-8")
        with (folder / "s.jsonl").open("w", encoding="utf-8") as file:
            for one in json.loads(plain_messages(RESTORED)):
                line = {"type": "message", "ts": "2026-06-02T01:15:12.5+00:00", "message": one}
                file.write(json.dumps(line) + "\n")
        # Its tokenizer fetches a vocabulary by its address: it finds ours under that name.
        surroundings = {**os.environ, "TIKTOKEN_CACHE_DIR": str(resource(VOCABULARY).parent)}
        self._process = subprocess.Popen(
            [str(python), "-c", SCRIPT, str(SIZE), str(folder)],
            env=surroundings, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip

    def __enter__(self) -> _Motus:
        return self

    def __exit__(self, *_error: object) -> None:
        self._process.communicate()

    def ask(self, what: str) -> float:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{what}\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())
