"""What a search field does with a paste that no query is: an answer or a notice, soon.

The pastes are searched as a person's live query would be, in a workspace of `--megabytes` of
made-up sessions. `paste_ratio` is the slowest answer against the 0.3 seconds that nobody notices;
`paste_memory_ratio` is by how much the process grew at most, against 32 MB.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import resource
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from app.engine.records import Query
from app.engine.search.index import MemoryIndex

SOON = 0.3
ROOM = 32 * 1024 * 1024
MEGABYTE = 1_000_000
FIRST = datetime(2026, 1, 2, tzinfo=UTC)
PASTES = {
    "letters": "a" * 2_000,
    "chinese": "哈" * 2_000,
    "brackets": "(" * 100 + "[" * 100,
    "nested": "NEAR(" * 200 + ")" * 200,
    "quotes": '"' * 2_000,
    "minuses": "-" * 2_000 + " -" * 2_000,
    "stars": "a* " * 2_000,
    "alphabet": " ".join(f"{letter}*" for letter in "abcdefghijklmnopqrstuvwxyz"),
    "ors": "a OR " * 2_000,
    "filters": "in:daily role:user " * 2_000,
    "words_5mb": "seldom wordy " * 400_000,
    "letters_5mb": "a" * 5 * MEGABYTE,
    "chinese_5mb": "数据库迁移" * 350_000,
    "lines_5mb": "one line\n" * 600_000,
}


def main(argv: list[str]) -> int:
    """Print the figures; 1 when the slowest paste, or the growth, is past its limit."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks pastes")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--megabytes", type=int, default=20)
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), options.megabytes)
        figures = asyncio.run(measure(Path(folder)))
    if options.json:
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            print(f"{name:28} {value}")
    names = ("paste_ratio", "paste_memory_ratio")
    return int(any(figures[name] > figures[f"{name}_limit"] for name in names))


async def measure(root: Path) -> dict[str, Any]:
    """Seconds of each paste (the best of three), and what the process grew by."""
    index = MemoryIndex(root)
    await index.open()
    await index.index_all_from_workspace()
    await index.search(Query("warm up"), supersede=True)
    before = _memory()
    figures: dict[str, Any] = {}
    for name, text in PASTES.items():
        figures[f"paste_{name}_seconds"] = min([await _seconds(index, text) for _ in range(3)])
    slowest = max(figures.values())
    await index.close()
    return figures | {
        "paste_ratio": round(slowest / SOON, 3), "paste_ratio_limit": 1.0,
        "paste_memory_ratio": round((_memory() - before) / ROOM, 3),
        "paste_memory_ratio_limit": 1.0,
    }  # fmt: skip


async def _seconds(index: MemoryIndex, text: str) -> float:
    begun = time.perf_counter()
    result = await index.search(Query(text), supersede=True)
    spent = time.perf_counter() - begun
    if not result.hits and not result.reason:
        raise AssertionError("a paste got neither an answer nor a notice")
    return round(spent, 4)


def _memory() -> int:
    """Bytes this process has held at most."""
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return held if sys.platform == "darwin" else held * 1024


def write(root: Path, megabytes: int) -> None:
    """Sessions of made-up words, half a megabyte each."""
    rng = random.Random(3)
    letters = "aeioubdklmnrst"
    words = ["".join(rng.choices(letters, k=rng.randint(2, 9))) for _ in range(20_000)]
    words += ["".join(chr(rng.randint(0x4E00, 0x6000)) for _ in range(4)) for _ in range(5_000)]
    weights = [1 / (n + 2) for n in range(len(words))]
    folder = root / "agents" / "bot" / "sessions"
    folder.mkdir(parents=True)
    for number in range(megabytes * 2):
        lines: list[str] = []
        size = 0
        while size < MEGABYTE // 2:
            text = " ".join(rng.choices(words, weights, k=rng.randint(10, 400)))
            minute = len(lines)
            entry = {
                "v": 1, "seq": minute, "type": "message", "id": f"m-{number}-{minute}",
                "timestamp": (FIRST + timedelta(days=number, minutes=minute)).isoformat(),
                "role": "USER", "content": text,
            }  # fmt: skip
            lines.append(json.dumps(entry, ensure_ascii=False))
            size += len(lines[-1].encode())
        (folder / f"s-{number}.log.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
