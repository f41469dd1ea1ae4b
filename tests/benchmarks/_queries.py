"""What asking costs: 200 mixed queries against ripgrep, giving one up, a huge paste."""

from __future__ import annotations

import asyncio
import random
import shutil
import statistics
import subprocess
import time
from datetime import UTC
from pathlib import Path

from app.engine.records import Query
from app.engine.search.index import MemoryIndex
from tests.benchmarks._workspace import Writer

COUNT = 200
MEANT_FOR = 500.0
"""Megabytes for which the limits against ripgrep are meant."""
CANCEL_MS, PASTE_MS = 5.0, 300.0

Row = dict[str, float | str]


def mixed(writer: Writer, seed: int = 5) -> list[str]:
    """Rare and frequent words, beginnings, two and four Chinese characters, filters; the same
    number of each."""
    rng = random.Random(seed)
    words = writer.words
    queries: list[str] = []
    for _ in range(COUNT // 8):
        long = [word for word in rng.choices(words.chinese, k=40) if len(word) >= 2]
        queries += [
            rng.choice(words.english[15_000:]),
            rng.choice(words.english[:60]),
            " ".join(rng.choices(words.english[100:3_000], k=2)),
            rng.choice([word for word in rng.choices(words.english, k=40) if len(word) > 5])[:4],
            long[0][:2],
            (long[1] + long[2])[:4],
            f"{rng.choice(words.english[:2_000])} role:user after:2026-05",
            f"{rng.choice(words.english[:2_000])} tool:grep",
        ]
    return queries


async def measured(root: Path, path: Path, megabytes: float, writer: Writer) -> Row:
    """All rows about asking."""
    index = MemoryIndex(root, path, zone=UTC)
    await index.open()
    try:
        rows = await _against_ripgrep(index, root, mixed(writer), MEANT_FOR / megabytes)
        rows |= await _stopped(index, writer)
        return rows | await _pasted(index)
    finally:
        await index.close()


async def _against_ripgrep(index: MemoryIndex, root: Path, queries: list[str], scale: float) -> Row:
    spent: list[float] = []
    first: list[float] = []
    others: list[float] = []
    for n, text in enumerate(queries):
        if n % 10 == 0:
            others.append(await asyncio.to_thread(_ripgrep, root, text.split()[0]))
        spent.append(await _asked(index, Query(text)))
        first.append(await _asked(index, Query(text, newest_first=True)))
    rows: Row = {
        "query_median_ms": round(statistics.median(spent) * 1000, 2),
        "query_p95_ms": round(_p95(spent) * 1000, 2),
        "query_newest_median_ms": round(statistics.median(first) * 1000, 2),
        "query_newest_p95_ms": round(_p95(first) * 1000, 2),
        "query_median_ratio": "not run",
        "query_p95_ratio": "not run",
        "query_median_ratio_limit": round(0.05 * scale, 3),
        "query_p95_ratio_limit": round(0.2 * scale, 3),
    }
    if others[0] > 0:
        grep = statistics.median(others)
        rows["ripgrep_ms"] = round(grep * 1000, 2)
        rows["query_median_ratio"] = round(statistics.median(spent) / grep, 3)
        rows["query_p95_ratio"] = round(_p95(spent) / grep, 3)
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


async def _stopped(index: MemoryIndex, writer: Writer) -> Row:
    """From the moment a heavy question is given up until the reader begins the next one."""
    heavy = Query(" ".join(writer.words.english[:12]), mode="natural", limit=200)
    alone = min([await _asked(index, Query("zzzzqq", mode="words")) for _ in range(5)])
    spent: list[float] = []
    for n in range(20):
        asking = asyncio.create_task(index.search(heavy))
        await asyncio.sleep(0.004 + 0.002 * n)
        if asking.done():
            continue
        begun = time.perf_counter()
        asking.cancel()
        await index.search(Query("zzzzqq", mode="words"))
        spent.append((time.perf_counter() - begun - alone) * 1000)
    median = statistics.median(spent) if spent else 0.0
    return {
        "cancel_ms": round(median, 2),
        "cancel_ratio": round(median / CANCEL_MS, 3),
        "cancel_ratio_limit": 1.0,
    }


async def _pasted(index: MemoryIndex) -> Row:
    """The slowest answer to a paste that is no question."""
    pastes = ("a" * 2_000, "数" * 2_000, "[(" * 100, "word " * 1_000_000)
    spent = [await _asked(index, Query(text)) * 1000 for text in pastes]
    return {
        "paste_ms": round(max(spent), 1),
        "paste_ratio": round(max(spent) / PASTE_MS, 3),
        "paste_ratio_limit": 1.0,
    }
