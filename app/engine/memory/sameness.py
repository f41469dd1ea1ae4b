"""Whether two lines say the same.

The same but for a few letters counts as the same, unless a number, a name, a date or a "not"
differs: then it is another fact. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable

from app.engine.memory.likeness import negations, specifics
from app.engine.memory.outline import normal

ALIKE = 93  # per cent of letters in common, in order


def same_fact(one: str, other: str) -> bool:
    """Whether two lines say the same."""
    from rapidfuzz import fuzz

    a, b = normal(one), normal(other)
    return a == b or (fuzz.ratio(a, b, score_cutoff=ALIKE) > 0 and _agree(one, other))


def _agree(one: str, other: str) -> bool:
    return specifics(one) == specifics(other) and negations(one) == negations(other)


class Known:
    """Lines that are there already, asked for many others."""

    def __init__(self, lines: Iterable[str] = ()) -> None:
        self._keys: list[str] = []
        self._lines: list[str] = []
        self._exact: set[str] = set()
        for line in lines:
            self._put(line, normal(line))

    def add(self, line: str) -> bool:
        """Take a line in; False when it is blank or said already."""
        key = normal(line)
        if not key or key in self._exact or self._alike(line, key):
            return False
        self._put(line, key)
        return True

    def _put(self, line: str, key: str) -> None:
        self._exact.add(key)
        self._keys.append(key)
        self._lines.append(line)

    def _alike(self, line: str, key: str) -> bool:
        from rapidfuzz import fuzz, process

        near = process.extract(key, self._keys, scorer=fuzz.ratio, score_cutoff=ALIKE, limit=5)
        return any(_agree(line, self._lines[at]) for _, _, at in near)
