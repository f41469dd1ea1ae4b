"""Kill the program again and again: how often was something lost, torn, or not clean?

Each run is one child that works on a workspace and is sent SIGKILL at a random moment during its
turns, flushes, consolidations and applies; afterwards a whole engine opens the workspace and looks.
A new workspace is begun every twenty runs. Exit 1 when anything was wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.helpers.crashes import crash_yard

PER_WORKSPACE = 20


async def measure(runs: int, seed: int) -> dict[str, object]:
    """Counts over all runs; `wrong` lists what was found, with the run's number."""
    wrong: list[str] = []
    killed_after: Counter[str] = Counter()
    acknowledged: Counter[str] = Counter()
    begun = time.perf_counter()
    done = 0
    while done < runs:
        with tempfile.TemporaryDirectory(prefix="kill-benchmark-") as folder:
            async with crash_yard(Path(folder), seed + done) as yard:
                for _ in range(min(PER_WORKSPACE, runs - done)):
                    found = await yard.kill()
                    done += 1
                    wrong += [f"run {done}: {sentence}" for sentence in found]
                    for sentence in found:
                        print(f"run {done}: {sentence}", file=sys.stderr, flush=True)
                killed_after.update(yard.moments)
                acknowledged.update(str(note["kind"]) for note in yard.acknowledged())
    return {
        "runs": runs,
        "seconds": round(time.perf_counter() - begun, 1),
        "acknowledged": dict(acknowledged),
        "killed_after": dict(killed_after),
        "wrong": wrong,
        "wrong_ratio": round(len(wrong) / runs, 4),
        "wrong_ratio_limit": 0.0,
    }


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser("python -m tests.benchmarks kill")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=20260602)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    found = asyncio.run(measure(options.runs, options.seed))
    if options.json:
        print(json.dumps(found, indent=2))
    else:
        for key, value in found.items():
            print(f"{key:<20} {value}")
    return 1 if found["wrong"] else 0
