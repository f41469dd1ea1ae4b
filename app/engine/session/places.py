"""Where everything of a log lies, small enough for logs of any length.

An id is kept as a fingerprint, not as its text: of what has left the context only about a hundred
bytes an entry stay. Two ids of one log share a fingerprint once in some ten thousand million logs
of a hundred thousand entries. Invariant: the first place an id was seen at counts.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable

from msgspec import Struct

# Sixty bits fit the smallest integer object that can hold a fingerprint.
_MASK = (1 << 60) - 1


class Place(Struct, frozen=True):
    """Where an entry lies in the log, its number, and after how many resets it was written."""

    offset: int
    seq: int
    epoch: int


class Places:
    """Places of one log, in the order of its entries."""

    def __init__(self) -> None:
        self._rows: dict[int, int] = {}
        self._offsets = array("Q")
        self._seqs = array("Q")
        self._resets: list[int] = []  # the row of each reset

    def add(self, ids: list[str], offsets: Iterable[int], seqs: list[int]) -> int:
        """Rows for the next entries; the number of the first one (`name` takes it)."""
        first = len(self._seqs)
        self._offsets.extend(offsets)
        self._seqs.extend(seqs)
        marks = [hash(some_id) & _MASK for some_id in ids]
        fresh = dict(zip(marks, range(first, first + len(marks)), strict=True))
        if len(fresh) == len(marks) and self._rows.keys().isdisjoint(fresh):
            self._rows.update(fresh)
        else:
            for row, mark in enumerate(marks, first):
                self._rows.setdefault(mark, row)
        return first

    def name(self, some_id: str, row: int) -> None:
        """Let an id lead to a row; one that is known keeps its place."""
        self._rows.setdefault(hash(some_id) & _MASK, row)

    def reset(self, row: int) -> None:
        """Say that the session was reset by the entry of this row."""
        self._resets.append(row)

    def get(self, some_id: str) -> Place | None:
        """The place of an id; None when nothing of the log goes by it."""
        row = self._rows.get(hash(some_id) & _MASK)
        if row is None:
            return None
        return Place(self._offsets[row], self._seqs[row], bisect_right(self._resets, row))
