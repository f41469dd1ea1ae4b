"""Motus, in an environment of the benchmark's own, doing what the engine does; else "not run"."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from app.engine.context.tokenizer import VOCABULARY
from app.engine.memory.compaction_memory import CompactionMemory
from app.resources import resource
from tests.benchmarks._sessions import logged, plain_messages

PLACE = Path(__file__).parent / ".motus"
PACKAGE = "lithosai-motus"
SIZE = 10_000
RESTORED = 100_000
NOT_RUN = "not run"

SCRIPT = """
import asyncio, json, sys, time
from pathlib import Path
from motus.memory import CompactionMemory, CompactionMemoryConfig
from motus.models import ChatMessage

size, log = int(sys.argv[1]), Path(sys.argv[2])
messages = [ChatMessage(**one) for one in json.loads(log.with_suffix(".json").read_text())]

async def adding():
    config = CompactionMemoryConfig(token_threshold=10**9)
    memory = CompactionMemory(config=config, model_name="gpt-4o")
    memory._messages = messages[:size]
    spent = []
    for one in messages[size : size + 5]:
        begun = time.process_time()
        await memory.add_message(one)
        spent.append(time.process_time() - begun)
    return min(spent)

def restoring():
    begun = time.process_time()
    CompactionMemory.restore_from_log("s", log_base_path=str(log.parent))
    return time.process_time() - begun

print(json.dumps([asyncio.run(adding()), min(restoring() for _ in range(3))]))
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


def compared(python: Path | None, folder: Path, added: float) -> dict[str, float | str]:
    """What a message costs at ten thousand, and a restore of the same hundred thousand."""
    rows: dict[str, float | str] = {"add_motus_ratio": NOT_RUN, "restore_motus_ratio": NOT_RUN}
    if python is not None:
        adding, restoring, ours = _measured(python, folder)
        rows = {
            "add_motus_seconds": round(adding, 4),
            "add_motus_ratio": round(added / adding, 6),
            "restore_motus_seconds": round(restoring, 3),
            "restore_motus_ratio": round(ours / restoring, 3),
        }
    return rows | {"add_motus_ratio_limit": 0.001, "restore_motus_ratio_limit": 0.4}


def _measured(python: Path, folder: Path) -> tuple[float, float, float]:
    folder.mkdir()
    (folder / "s.json").write_text(plain_messages(SIZE + 5), encoding="utf-8")
    with (folder / "s.jsonl").open("w", encoding="utf-8") as file:
        for one in json.loads(plain_messages(RESTORED)):
            line = {"type": "message", "ts": "2026-06-02T01:15:12.5+00:00", "message": one}
            file.write(json.dumps(line) + "\n")
    logged(folder / "ours", RESTORED)
    # Its tokenizer fetches a vocabulary by its address: it finds ours under that name.
    surroundings = {**os.environ, "TIKTOKEN_CACHE_DIR": str(resource(VOCABULARY).parent)}
    command = [str(python), "-c", SCRIPT, str(SIZE), str(folder / "s.jsonl")]
    theirs = subprocess.run(
        command, env=surroundings, capture_output=True, text=True, check=True
    ).stdout
    ours: list[float] = []
    for _ in range(3):
        begun = time.process_time()
        CompactionMemory.restore_from_log("s", folder / "ours")
        ours.append(time.process_time() - begun)
    adding, restoring = json.loads(theirs.splitlines()[-1])
    return adding, restoring, min(ours)
