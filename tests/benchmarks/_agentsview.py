"""agentsview over the same conversations, in an environment of the benchmark's own."""

from __future__ import annotations

from pathlib import Path

Row = dict[str, float | str]


def compared(folder: Path, *, install: bool) -> Row:
    return {"agentsview_ratio": "not run", "agentsview_ratio_limit": 1.2}
