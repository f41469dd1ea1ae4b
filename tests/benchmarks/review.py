"""The speed of reviewing, as ratios measured within one run.

`--json` prints one flat object: a key that ends in `_ratio` is a measure, the same key with
`_limit` behind it is what it may be; exit 1 when one is over. Everything is measured in processor
time (of all threads), in turns with what it is compared to, and the best round of each counts.

* `difference_16k`: the typed difference of two files of 16 kB, against `difflib` on their lines.
* `difference_1m_*`: of two files of 1 MB with every line changed, a little or beyond recognition,
  against markdown-it's block parse of both.
* `tick`: `engine.ask.version_text` over a thousand versions, against reading the blobs.
"""

from __future__ import annotations

import argparse
import asyncio
import difflib
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pygit2
from markdown_it import MarkdownIt

from app.engine.engine import Engine
from app.engine.memory.diff import difference
from app.engine.memory.likeness import words
from app.engine.memory.outline import read
from app.engine.workspace.history import History
from app.engine.workspace.layout import Layout, ensure
from tests.benchmarks._telling import told
from tests.benchmarks.engine import Row
from tests.helpers.workspaces import engine_on

START = datetime(2026, 1, 1, tzinfo=UTC)
_VOCABULARY = (
    "tern gull boat pier mast keel sail rope buoy reef harbour lantern captain letter barrel "
    "anchor 对账 脚本 周报 日志 备份 迁移 会议 上海"
)
WORDS = _VOCABULARY.split(" ")


def measure(folder: Path, *, small: bool = False) -> Row:
    """All rows. `small` measures a little of each, to see that the benchmark itself works."""
    draw = random.Random(4)
    large, rounds = (50_000, 2) if small else (1_000_000, 4)
    return {
        **_small_files(draw, 5 * rounds),
        **_large_files(draw, large, rounds),
        **asyncio.run(_ticks(folder, draw, 60 if small else 1_000, 10 * rounds)),
    }


def _fact(draw: random.Random) -> str:
    a, b, c = draw.sample(WORDS, 3)
    return f"- The {a} of {b} goes to {c} at {draw.randrange(24):02}:{draw.randrange(60):02}"


def _file(draw: random.Random, size: int) -> list[str]:
    """Lines of a curated file of about `size` bytes: sections of a dozen bullets."""
    lines, length = ["# Memory"], 0
    while length < size:
        lines += ["", f"## Part {len(lines)}", "", *(_fact(draw) for _ in range(12))]
        length += sum(len(line.encode()) + 1 for line in lines[-15:])
    return lines


def _consolidated(draw: random.Random, lines: Sequence[str]) -> list[str]:
    """What a run makes of a file: some lines reworded, dropped, added, moved and merged."""
    new = list(lines)
    for k in range(len(lines) // 5):
        at = draw.randrange(len(new))
        if not new[at].startswith("- "):
            continue
        match k % 5:
            case 0 | 1:
                new[at] += ", seen again"
            case 2:
                new.pop(at)
            case 3:
                new.insert(at, _fact(draw))
            case _:
                new.insert(draw.randrange(len(new)), new.pop(at))
    return new


def _best(rounds: int, *works: Callable[[], object]) -> list[float]:
    """Processor seconds of each, the best of some rounds in turns."""
    best = [float("inf")] * len(works)
    for _ in range(rounds):
        for k, work in enumerate(works):
            read.cache_clear()  # reading the texts is part of it
            words.cache_clear()
            began = time.process_time()
            work()
            best[k] = min(best[k], time.process_time() - began)
    return best


def _row(name: str, ours: float, theirs: float, limit: float) -> Row:
    ratio = round(ours / theirs, 2)
    return {f"{name}_ms": round(ours * 1000, 3), f"{name}_ratio": ratio,
            f"{name}_ratio_limit": limit}  # fmt: skip


def _small_files(draw: random.Random, rounds: int) -> Row:
    old = _file(draw, 16_000)
    new = _consolidated(draw, old)
    base, candidate = "\n".join(old), "\n".join(new)
    ours, theirs = _best(
        rounds,
        lambda: difference(base, candidate),
        lambda: list(difflib.unified_diff(base.split("\n"), candidate.split("\n"))),
    )
    return _row("difference_16k", ours, theirs, 30)


def _large_files(draw: random.Random, size: int, rounds: int) -> Row:
    old = _file(draw, size)
    base = "\n".join(old)
    reworded = "\n".join(f"{line}, seen again" if line else line for line in old)
    unlike = "\n".join(_fact(draw) if line.startswith("- ") else line * 2 for line in old)
    blocks = MarkdownIt("commonmark").enable("table").disable("inline")
    rows: Row = {}
    for name, other in (("reworded", reworded), ("unlike", unlike)):
        ours, theirs = _best(
            rounds,
            lambda other=other: difference(base, other),
            lambda other=other: (blocks.parse(base), blocks.parse(other)),
        )
        rows |= _row(f"difference_1m_{name}", ours, theirs, 2)
    return rows


async def _ticks(folder: Path, draw: random.Random, versions: int, rounds: int) -> Row:
    layout = Layout.at(folder)
    ensure(layout)
    history = History(layout, sync=False)
    lines = _file(draw, 16_000)
    for n in range(versions):
        lines[draw.randrange(3, len(lines))] = _fact(draw)
        history.commit("\n".join(lines), cause="hand", when=START + timedelta(minutes=n))
    layout.memory_md.write_text("\n".join(lines), encoding="utf-8")
    repository = pygit2.Repository(str(layout.history))
    blobs = [c.tree["MEMORY.md"].id for c in repository.walk(repository.head.target)][::-1]
    ticks = [draw.randrange(versions) for _ in range(300)]
    async with engine_on(folder) as desk:
        return _row("tick", *await _tick_times(desk.engine, repository, blobs, ticks, rounds), 2)


async def _tick_times(
    engine: Engine,
    repository: pygit2.Repository,
    blobs: Sequence[pygit2.Oid],
    ticks: Sequence[int],
    rounds: int,
) -> tuple[float, float]:
    """Processor seconds of one tick, and of reading its blob."""
    asked = read = float("inf")
    await engine.ask.version_text(1)  # the scrubber has its ticks from a walk like this one
    for _ in range(rounds):
        began = time.process_time()
        for tick in ticks:
            await engine.ask.version_text(tick + 1)
        asked = min(asked, time.process_time() - began)
        began = time.process_time()
        for tick in ticks:
            repository.read(blobs[tick])[1].decode()
        read = min(read, time.process_time() - began)
    return asked / len(ticks), read / len(ticks)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser("python -m tests.benchmarks review")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--small", action="store_true", help="a quick look at every row")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="review-benchmark-") as folder:
        rows = measure(Path(folder), small=options.small)
    return told(rows, as_json=options.json)
