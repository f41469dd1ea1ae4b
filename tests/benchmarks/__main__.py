"""`python -m tests.benchmarks NAME …`: runs `main(argv)` of the benchmark of that name."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

NAMES = sorted(
    path.stem for path in Path(__file__).parent.glob("*.py") if not path.stem.startswith("_")
)


def main(argv: list[str]) -> int:
    """Hand over to the named benchmark; 2 when there is none of that name."""
    if not argv or argv[0] not in NAMES:
        print(f"Usage: python -m tests.benchmarks {{{','.join(NAMES)}}} …", file=sys.stderr)
        return 2
    return int(importlib.import_module(f"tests.benchmarks.{argv[0]}").main(argv[1:]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
