"""What a benchmark says at its end: its rows, and what is past a limit."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping


def told(rows: Mapping[str, object], *, as_json: bool) -> int:
    """Print the rows (a flat object, or a table); the exit code, 1 when any is past its limit."""
    if as_json:
        print(json.dumps(rows, indent=2))
    else:
        for key, value in rows.items():
            print(f"{key:<40} {value}")
    if past := over(rows):
        print(f"Over the limit: {', '.join(past)}.", file=sys.stderr)
    return 1 if past else 0


def over(rows: Mapping[str, object]) -> list[str]:
    """The measures past the limit that stands under their own key and `_limit`."""
    return [
        key
        for key, value in rows.items()
        if isinstance(value, int | float)
        and isinstance(limit := rows.get(f"{key}_limit"), int | float)
        and value > limit
    ]
