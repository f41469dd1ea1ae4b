"""How well a document matches some phrases: BM25.

Idea: FTS5's own measure first walks through every document of every phrase, a tenth of a million
for a frequent word, even if it is to put a few hundred in order. Ours looks at those alone, and is
told how rare the phrases are; of a single one, nobody has to know.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

OFTEN = 1.2
"""BM25's k1: how soon a repeated term counts no more."""
LENGTH = 0.75
"""BM25's b, as pages are measured with: how much a long text loses."""


def rarity(count: int, total: int) -> float:
    """What a term is worth that stands in `count` of `total` documents."""
    return math.log(1 + (max(total - count, 0) + 0.5) / (count + 0.5)) if count else 0.0


def strength(count: int, length: float, lost: float = LENGTH) -> float:
    """How much of a term a text holds that has it `count` times: 0 for none, 1 for the usual.
    `length` is the text's over the usual one, `lost` is BM25's b."""
    if not count:
        return 0.0
    return count * (OFTEN + 1) / (count + OFTEN * (1 - lost + lost * length))


class Standing(Struct, frozen=True):
    """In how many documents a phrase stands, and in what share of all: whichever is more."""

    documents: int
    share: float = 0.0


class Measure:
    """The SQL function `measured(terms)` of one connection: a document's score, larger for better.

    It belongs in a statement that asks the full-text table for phrases. Where those stand is told
    before.
    """

    def __init__(self, db: Any) -> None:
        self._db = db
        self._known = False
        self._standing: Sequence[Standing] = ()
        self._worths: list[float] = []
        self._usual = 1.0

    def take(self, standing: Sequence[Standing]) -> None:
        """Where the phrases of the statement that follows stand, in their order; nothing for a
        single one."""
        if not self._known:  # that reads the database, for which its opener may have to wait
            self._db.register_fts5_function("measured", self._score)
            self._known = True
        self._standing = standing
        self._worths.clear()

    def _score(self, document: Any) -> float:
        if not self._worths:
            self._begin(document.row_count, document.column_total_size(0))
        length = document.column_size(0) / self._usual
        if not self._standing:
            return strength(document.inst_count, length)
        return sum(
            worth * strength(len(document.phrase_column_offsets(number, 0)), length)
            for number, worth in enumerate(self._worths)
        )

    def _begin(self, total: int, terms: int) -> None:
        self._usual = max(1.0, terms / total)
        known = self._standing or (Standing(1),)
        self._worths += [rarity(max(one.documents, int(one.share * total)), total) for one in known]
