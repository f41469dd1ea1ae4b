"""The engine's speed and size, as ratios measured within one run.

`--json` prints one flat object: a key that ends in `_ratio` is a measure, the same key with
`_limit` behind it is what it may be; exit 1 when one is over. Work of the processor is measured in
processor time, alternating with what it is compared to, and the best of several rounds counts, so
that a busy machine says the same as an idle one. Motus is compared only when it is there: with
`--with-motus` it is put into an environment of the benchmark's own.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.benchmarks import _disk, _motus, _sessions, _tokens

Row = dict[str, float | str]


def measure(folder: Path, *, with_motus: bool, entries: int, small: bool = False) -> Row:
    """All rows. `small` measures a little of each, to see that the benchmark itself works."""
    motus = _motus.environment(install=with_motus)
    rows: Row = {
        **_sessions.adding(folder / "add", 500 if small else 10_000),
        **_disk.appending(folder / "append", 50 if small else 400),
        **_tokens.heuristic(),
        **_sessions.restoring(folder / "restore", entries),
        **_disk.listing(folder / "list", *((300, 100) if small else (10_000, 3_650))),
    }
    return rows | _motus.compared(motus, folder / "motus")


def over(rows: Row) -> list[str]:
    """The measures that are past their limits."""
    return [
        key
        for key, value in rows.items()
        if key.endswith("_ratio")
        and isinstance(value, float)
        and value > float(rows[f"{key}_limit"])
    ]


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser("python -m tests.benchmarks engine")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--with-motus", action="store_true", help="install Motus to compare")
    parser.add_argument("--entries", type=int, default=100_000, help="length of the log to restore")
    parser.add_argument("--small", action="store_true", help="a quick look at every row")
    options = parser.parse_args(arguments)
    entries = 5_000 if options.small else options.entries
    with tempfile.TemporaryDirectory(prefix="engine-benchmark-") as folder:
        rows = measure(
            Path(folder), with_motus=options.with_motus, entries=entries, small=options.small
        )
    if options.json:
        print(json.dumps(rows, indent=2))
    else:
        for key, value in rows.items():
            print(f"{key:<36} {value}")
    past = over(rows)
    if past:
        print(f"Over the limit: {', '.join(past)}.", file=sys.stderr)
    return 1 if past else 0
