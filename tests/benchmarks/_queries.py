"""What asking costs: 200 mixed queries against ripgrep, and giving one up."""

from __future__ import annotations

import asyncio
import random
import re
import shutil
import statistics
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path

from app.engine.records import Query
from app.engine.search.answers import Answering
from app.engine.search.index import MemoryIndex
from app.engine.search.logs import text_of
from app.engine.search.store import Store
from tests.benchmarks._workspace import Writer

COUNT = 200
PAGE = 30
"""Hits asked for: more than a window shows at once, and what the agent's tool is given."""
MEANT_FOR = 500.0
"""Megabytes for which the limits against ripgrep are meant."""
LIMITS = {"median": 0.05, "p95": 0.2}
"""Of ripgrep's time, at that size; its time grows with the bytes, ours hardly does, so at another
size the limits are scaled, and the rows say by how much."""
CANCEL_MS = 5.0

Row = dict[str, float | str]


def mixed(root: Path, writer: Writer, seed: int = 5) -> list[str]:
    """Rare and frequent words, beginnings, two words that stand together, two and four Chinese
    characters, filters; the same number of each, and all of them found."""
    rng = random.Random(seed)
    texts = _texts(root, rng)
    english = [word for word in re.findall(r"[a-z]{3,}", texts) if len(word) > 5]
    chinese = [run for run in re.findall(r"[\u4e00-\u9fff]+", texts) if len(run) >= 6]
    pairs = re.findall(r"[a-z]{3,} [a-z]{3,}", texts)
    queries: list[str] = []
    for _ in range(COUNT // 8):
        run = rng.choice(chinese)
        queries += [
            max(rng.choices(english, k=20), key=len),
            rng.choice(writer.words.english[:60]),
            rng.choice(pairs),
            rng.choice(english)[:4],
            run[:2],
            run[1:5],
            f"{rng.choice(english)} role:tool after:2025-10",
            f"{rng.choice(writer.words.english[:60])} tool:grep",
        ]
    return queries


def _texts(root: Path, rng: random.Random) -> str:
    """What some of the sessions say, without the keys it is filed under."""
    logs = sorted((root / "agents/palimpsest/sessions").glob("*.log.jsonl"))
    chosen = rng.sample(logs, min(len(logs), 12))
    lines = (line for log in chosen for line in log.read_bytes().splitlines(keepends=True)[:60])
    return "\n".join(text for text in map(text_of, lines) if text)


async def measured(root: Path, path: Path, megabytes: float, writer: Writer) -> Row:
    """All rows about asking."""
    index = MemoryIndex(root, path, zone=UTC)
    await index.open()
    try:
        rows = await _against_ripgrep(index, root, mixed(root, writer), MEANT_FOR / megabytes)
        return rows | await _stopped(index, root, path, writer)
    finally:
        await index.close()


async def _against_ripgrep(index: MemoryIndex, root: Path, queries: list[str], scale: float) -> Row:
    """What a person waits for until hits are there, and until they are ranked and counted."""
    first: list[float] = []
    ranked: list[float] = []
    others: list[float] = []
    for n, text in enumerate(queries):
        if n % 10 == 0:
            others.append(await asyncio.to_thread(_ripgrep, root, text.split()[0]))
        first.append(await _asked(index, Query(text, quick=True, limit=PAGE)))
        ranked.append(await _asked(index, Query(text, limit=PAGE)))
    grep = statistics.median(others)
    rows: Row = {
        "ripgrep_ms": round(grep * 1000, 2),
        "query_limits_scaled_by_500_over_megabytes": round(scale, 3),
    }
    for name, spent in (("query_first", first), ("query_ranked", ranked)):
        for part, seconds in (("median", statistics.median(spent)), ("p95", _p95(spent))):
            key = f"{name}_{part}"
            rows[f"{key}_ms"] = round(seconds * 1000, 2)
            rows[f"{key}_ratio"] = round(seconds / grep, 3) if grep else "not run"
            if name == "query_first" or part == "p95":
                rows[f"{key}_ratio_limit"] = round(LIMITS[part] * scale, 3)
                rows[f"{key}_ratio_limit_at_500_megabytes"] = LIMITS[part]
    return rows


def _p95(values: list[float]) -> float:
    return sorted(values)[int(len(values) * 0.95)]


async def _asked(index: MemoryIndex, query: Query) -> float:
    begun = time.perf_counter()
    await index.search(query)
    return time.perf_counter() - begun


def _ripgrep(root: Path, word: str) -> float:
    """Seconds of one warm ripgrep for a word; 0 where there is no ripgrep."""
    program = shutil.which("rg")
    if program is None:
        return 0.0
    for _ in range(2):
        begun = time.perf_counter()
        subprocess.run(
            [program, "--no-ignore", "-i", "-F", "-c", "--", word, str(root)],
            stdout=subprocess.DEVNULL, check=False,
        )  # fmt: skip
        spent = time.perf_counter() - begun
    return spent


async def _stopped(index: MemoryIndex, root: Path, path: Path, writer: Writer) -> Row:
    """From the moment a heavy question is given up until the reader begins the next one."""
    heavy = Query(" ".join(writer.words.english[:12]), mode="natural", limit=200)
    light = Query(writer.words.english[0], mode="words", newest_first=True, limit=1)
    alone = min([await _asked(index, light) for _ in range(5)])
    spent: list[float] = []
    for n in range(20):
        asking = asyncio.create_task(index.search(heavy))
        await asyncio.sleep(0.004 + 0.002 * n)
        if asking.done():
            continue
        begun = time.perf_counter()
        asking.cancel()
        await index.search(light)
        spent.append((time.perf_counter() - begun - alone) * 1000)
    median = statistics.median(spent) if spent else 0.0
    return _unheard(root, path, heavy) | {
        "cancel_ms": round(median, 2),
        "cancel_ratio": round(median / CANCEL_MS, 3),
        "cancel_ratio_limit": 1.0,
    }


def _unheard(root: Path, path: Path, heavy: Query) -> Row:
    """The longest processor time in which a heavy question does not look whether to stop: what
    giving up costs on a machine that does nothing else."""
    gaps: list[float] = []
    last = time.thread_time()

    def halt() -> bool:
        nonlocal last
        gaps.append(time.thread_time() - last)
        last = time.thread_time()
        return False

    store = Store(path, str(root), reading=True)
    for _ in range(3):
        last = time.thread_time()
        Answering(
            root, store, heavy, now=datetime.now(UTC), zone=UTC, halt=halt
        ).answer()  # fmt: skip
    store.close()
    longest = sorted(gaps)[-3] * 1000  # of three rounds: one hiccup of the machine is none of ours
    return {
        "cancel_step_ms": round(longest, 2),
        "cancel_step_ratio": round(longest / CANCEL_MS, 3),
        "cancel_step_ratio_limit": 1.0,
    }
