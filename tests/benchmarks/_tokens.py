"""The heuristic token count against the real tokenizer, on the texts the tests use."""

from __future__ import annotations

from pathlib import Path

from app.engine.context.tokenizer import load_o200k
from app.engine.context.tokens import Heuristic

TEXTS = Path(__file__).parents[1] / "data" / "tokens"
STEP = 37  # characters from one chunk to the next


def heuristic() -> dict[str, float]:
    """The 5th and 95th percentile of the error, whichever is farther from 0, over all texts."""
    encode = load_o200k()
    rows: dict[str, float] = {}
    for name, size, limit in (("", 1_000, 0.15), ("short_", 300, 0.30)):
        worst = 0.0
        for path in sorted(TEXTS.glob("*.txt")):
            text = path.read_text(encoding="utf-8")
            chunks = [text[n : n + size] for n in range(0, max(1, len(text) - size), STEP)]
            errors = sorted(Heuristic().text(c) / len(encode(c)) - 1 for c in chunks)
            low, high = errors[len(errors) // 20], errors[-1 - len(errors) // 20]
            worst = max(worst, abs(low), abs(high))
        rows[f"heuristic_{name}error_ratio"] = round(worst, 3)
        rows[f"heuristic_{name}error_ratio_limit"] = limit
    return rows
