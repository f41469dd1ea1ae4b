"""The engine's speed and size, as ratios measured within one run.

`--json` prints one flat object: a key that ends in `_ratio` is a measure, the same key with
`_limit` behind it is what it may be; exit 1 when one is over. Work of the processor is measured in
processor time, alternating with what it is compared to, and the best of several rounds counts, so
that a busy machine says the same as an idle one. Motus is compared only when it is there: with
`--with-motus` it is put into an environment of the benchmark's own.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.benchmarks import _disk, _motus, _sessions, _tokens
from tests.benchmarks._telling import told

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
    return told(rows, as_json=options.json)
