"""Search's speed and size, as ratios measured within one run.

`--json` prints one flat object: a key that ends in `_ratio` is a measure, the same key with
`_limit` behind it is what it may be; exit 1 when one is over. What is compared alternates; indexing
counts processor time, so that a busy machine says the same as an idle one, the rest wall clock, as
a person waits. `--megabytes` says how large the made workspace is. What is said of ripgrep is meant
for 500, and as its time grows with the bytes, its limits at another size are scaled: by how much is
told under `query_limits_scaled_by_500_over_megabytes`, what they are there under keys that end in
`_limit_at_500_megabytes`. ripgrep and agentsview are "not run" where they are not.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.benchmarks import _agentsview, _indexing, _queries, _workspace
from tests.benchmarks._telling import told

Row = dict[str, float | str]


def measure(folder: Path, megabytes: float, *, with_agentsview: bool, rounds: int) -> Row:
    """All rows, over a workspace made under `folder`."""
    root = folder / "workspace"
    writer = _workspace.Writer(root)
    written = writer.fill(megabytes)
    rows: Row = {"megabytes": round(written / 1e6, 1)}
    rows |= _indexing.compared(root, folder, written, rounds)
    rows |= asyncio.run(_indexing.watched(root, folder / "watched.db"))
    rows |= asyncio.run(_indexing.one_daily_log(root, folder / "watched.db"))
    rows |= asyncio.run(_queries.measured(root, folder / "watched.db", megabytes, writer))
    rows |= _agentsview.compared(folder, install=with_agentsview)
    return rows


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser("python -m tests.benchmarks search")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--megabytes", type=float, default=50)
    parser.add_argument("--rounds", type=int, default=2, help="how often indexing is timed")
    parser.add_argument("--with-agentsview", action="store_true", help="install it to compare")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="search-benchmark-") as folder:
        rows = measure(
            Path(folder), options.megabytes, with_agentsview=options.with_agentsview,
            rounds=options.rounds,
        )  # fmt: skip
    return told(rows, as_json=options.json)
