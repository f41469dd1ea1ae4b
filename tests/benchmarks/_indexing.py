"""What indexing costs: against the bare insert of the same terms, in bytes, in memory, in gaps."""

from __future__ import annotations

import asyncio
import os
import statistics
import time
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from typing import Any

import apsw

from app.engine.records import Query
from app.engine.search.index import MemoryIndex
from app.engine.search.preparing import batches
from app.engine.search.scanner import newest_first, scan
from app.engine.search.store import HASH_BYTES
from tests.benchmarks._queue import in_queue, stolen

LOOK = 0.02
"""Seconds after which one looks what the machine took."""
GAP_MS = 50.0
"""The longest time the window may not answer."""
TODAY_SECONDS = 5.0
"""After how long the newest session has to be found."""
DAILY_MS = 2.0
"""Processor time that one changed daily log may cost."""

Row = dict[str, float | str]


def compared(root: Path, folder: Path, written: int, rounds: int) -> Row:
    """Time and bytes of our index, in turn with the bare insert of its terms.

    The ratios are of processor time: of the two processes that work at once, the slower one counts.
    One is until all can be found; the other has the merging of the parts in it, which goes on
    behind that (the bare insert leaves its parts as they come).
    """
    ours: list[Spent] = []
    bare: list[tuple[float, float]] = []
    terms = size = 0
    for n in range(rounds):
        path = folder / f"index-{n}.db"
        spent, terms = asyncio.run(_index(root, path))
        ours.append(spent)
        size = path.stat().st_size
        bare.append(_insert(root, folder / f"bare-{n}.db"))
    wall, found, writing, preparing = (min(each) for each in zip(*ours, strict=True))
    bare_wall, inserting = (min(each) for each in zip(*bare, strict=True))
    return {
        "index_wall_seconds": round(wall, 2),
        "index_megabytes_per_wall_second": round(written / 1e6 / wall, 2),
        "index_writing_seconds": round(found, 2),
        "index_writing_and_merging_seconds": round(writing, 2),
        "index_preparing_seconds": round(preparing, 2),
        "bare_wall_seconds": round(bare_wall, 2),
        "bare_seconds": round(inserting, 2),
        "index_seconds_ratio": round(max(found, preparing) / inserting, 3),
        "index_seconds_ratio_limit": round(1 / 0.9, 3),
        "index_and_merging_seconds_ratio": round(max(writing, preparing) / inserting, 3),
        "index_and_merging_seconds_ratio_limit": round(1 / 0.7, 3),
        "index_size_ratio": round(size / written, 3),
        "index_size_ratio_limit": 1.0,
        "index_terms": float(terms),
    }


Spent = tuple[float, float, float, float]
"""Wall clock of a pass; processor time of this process until all can be found, and in all; that of
the process that prepares."""


async def _index(root: Path, path: Path) -> tuple[Spent, int]:
    """What a first pass costs, and how many terms it brought."""
    index = MemoryIndex(root, path, zone=UTC)
    await index.open()
    begun, own, helpers = time.perf_counter(), time.process_time(), _of_children()
    whole = asyncio.create_task(index.index_all_from_workspace())
    while not whole.done() and index.state.state != "ready":
        await asyncio.sleep(0.01)
    found = time.process_time() - own
    done = await whole
    spent = (
        time.perf_counter() - begun, found, time.process_time() - own, _of_children() - helpers,
    )  # fmt: skip
    await index.close()
    return spent, done.terms


def _of_children() -> float:
    times = os.times()
    return times.children_user + times.children_system


def _insert(root: Path, path: Path) -> tuple[float, float]:
    """Wall clock and processor time SQLite alone needs for the same terms, as many at a time."""
    db: Any = apsw.Connection(str(path))
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("PRAGMA synchronous=NORMAL")
    db.execute(
        "CREATE VIRTUAL TABLE terms USING fts5(t, content='', contentless_delete=1, "
        "tokenize='ascii')"
    )
    db.execute("INSERT INTO terms(terms, rank) VALUES('hashsize', ?)", (HASH_BYTES,))
    wall = seconds = 0.0
    for texts in _terms(root):
        begun, own = time.perf_counter(), time.process_time()
        with db:
            db.executemany("INSERT INTO terms(t) VALUES(?)", texts)
        wall, seconds = wall + time.perf_counter() - begun, seconds + time.process_time() - own
    db.close()
    path.unlink()
    return wall, seconds


def _terms(root: Path) -> Iterator[list[tuple[str]]]:
    paths = newest_first(scan(root).marks)
    for batch in batches(root, paths, {}, now_ns=time.time_ns(), zone=UTC):
        yield [(text,) for piece in batch.pieces for text in piece.terms]


class Ticking:
    """The longest gap of the event loop while this is entered, less what the machine took: on two
    processors of a virtual one, two busy programs alone make gaps of 100 ms."""

    def __init__(self) -> None:
        self.gap_ms = 0.0
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Ticking:
        self._task = asyncio.create_task(self._tick())
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._task is not None
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _tick(self) -> None:
        taken, looked = stolen(), time.perf_counter()
        last = looked - in_queue()
        while True:
            await asyncio.sleep(0.001)
            now = time.perf_counter()
            gap = now - in_queue() - last
            if gap > LOOK or now - looked > LOOK:  # to look costs too much for every turn
                before, taken, looked = taken, stolen(), now
                gap -= taken - before if gap > LOOK else 0
            self.gap_ms = max(self.gap_ms, gap * 1000)
            last = time.perf_counter() - in_queue()


def own_bytes() -> int:
    """Memory of this process now without the files it has mapped; 0 where it is not told."""
    try:
        lines = Path("/proc/self/status").read_text("ascii").split("\n")
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon")), 0)


async def watched(root: Path, path: Path) -> Row:
    """The gaps of a loop meanwhile, when the newest session is found, and how memory grows.

    Gaps are compared with those of the same loop while nothing is indexed: on a busy machine they
    are the machine's own.
    """
    newest = max((root / "agents/palimpsest/sessions").glob("*.log.jsonl"))
    index = MemoryIndex(root, path, zone=UTC)
    await index.open()
    async with Ticking() as idle:
        await asyncio.sleep(1)
    begun = time.perf_counter()
    found: list[float] = []
    memory: list[int] = []

    def progress(done: int, total: int) -> None:
        memory.append(own_bytes())

    async def look() -> None:
        asked = Query(f"session:{newest.name.removesuffix('.log.jsonl')}", limit=1)
        while not (await index.search(asked)).hits:
            await asyncio.sleep(0.02)
        found.append(time.perf_counter() - begun)

    looking = asyncio.create_task(look())
    async with Ticking() as busy:
        await index.index_all_from_workspace(progress)
    await looking
    await index.close()
    quarter = len(memory) // 4
    early, late = max(memory[: quarter + 1]), max(memory)
    return {
        "loop_gap_idle_ms": round(idle.gap_ms, 1),
        "loop_gap_ms": round(busy.gap_ms, 1),
        "loop_gap_ratio": round(busy.gap_ms / GAP_MS, 3),
        "loop_gap_ratio_limit": 1.0,
        "today_seconds": round(found[0], 2),
        "today_ratio": round(found[0] / TODAY_SECONDS, 3),
        "today_ratio_limit": 1.0,
        "memory_ratio": round(late / early, 3) if early else "not run",
        "memory_ratio_limit": 1.3,
    }


async def one_daily_log(root: Path, path: Path) -> Row:
    """A daily log got one more line: processor time until the index holds it, against 2 ms."""
    index = MemoryIndex(root, path, zone=UTC)
    await index.open()
    log = min((root / "memory").glob("*.md"))
    spent: list[float] = []
    for n in range(40):
        with log.open("a", encoding="utf-8") as file:
            file.write(f"- One more line, number {n}.\n")
        begun = time.process_time()
        await index.update(log)
        spent.append((time.process_time() - begun) * 1000)
    await index.close()
    return {
        "daily_log_ms": round(statistics.median(spent), 2),
        "daily_log_ratio": round(statistics.median(spent) / DAILY_MS, 3),
        "daily_log_ratio_limit": 1.0,
    }
