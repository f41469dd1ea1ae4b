"""Which hits come first in natural mode.

Idea: BM25 knows words only; a conversation also has an order. Each term of the question is worth
the more, the rarer it is; a document has a term in full when it holds it, and in part when a
neighbour in its session does, above all when that neighbour asked the question this one answers.
A session in which many of the terms occur lends a little to all of it.

The weights were chosen on a public set of 997 questions about long conversations. Pure.
Invariant: scores are larger for better hits; equal scores are ordered newest first.
"""

from __future__ import annotations

import math
from collections import defaultdict

from app.engine.search.documents import QUESTION
from app.engine.search.rows import Posting, Row

NEIGHBOURS = (0.8, 0.4, 0.2)
"""What of a term's worth the neighbour at distance 1, 2, 3 lends."""
ANSWERED = 0.9
"""What a question lends to the document right after it."""
ASKING = 0.9
"""What a question itself is worth: the answer is looked for, not the question."""
SESSION = 0.2
"""What a session's terms lend to each of its documents."""

Place = tuple[int, int]


class Weighing:
    """Collects the terms of one question; `total` is how many documents there are in all."""

    def __init__(self, total: int) -> None:
        self._total = max(1, total)
        self._scores: dict[Place, float] = defaultdict(float)
        self._files: dict[int, float] = defaultdict(float)
        self._asking: set[Place] = set()

    def add(self, postings: list[Posting], count: int, *, sessions: frozenset[int]) -> None:
        """One term: where it stands, in how many documents, and which files are sessions."""
        worth = math.log(1 + (self._total - count + 0.5) / (count + 0.5)) if count else 0.0
        best: dict[Place, float] = {}
        for one in postings:
            own = worth * strength(one)
            place = (one.file, one.order)
            best[place] = max(best.get(place, 0.0), own)
            if one.flags & QUESTION:
                self._asking.add(place)
            if one.file in sessions:
                _lend(best, one, own)
        for place, score in best.items():
            self._scores[place] += score
        for file in {one.file for one in postings} & sessions:
            self._files[file] += worth

    def best(self, count: int) -> list[tuple[float, Place]]:
        """The best places with their scores."""
        scored = [
            (
                (score + SESSION * self._files.get(place[0], 0.0))
                * (ASKING if place in self._asking else 1.0),
                place,
            )
            for place, score in self._scores.items()
        ]
        scored.sort(key=lambda pair: -pair[0])
        return scored[:count]


def strength(posting: Posting) -> float:
    """How much of a term's worth a document that holds it has."""
    return 1.0


def _lend(best: dict[Place, float], one: Posting, own: float) -> None:
    for distance, share in enumerate(NEIGHBOURS, 1):
        after = share
        if distance == 1 and one.flags & QUESTION:
            after = ANSWERED
        for order, part in ((one.order - distance, share), (one.order + distance, after)):
            place = (one.file, order)
            if part * own > best.get(place, 0.0):
                best[place] = part * own


def ordered(scored: list[tuple[float, Row]]) -> list[tuple[float, Row]]:
    """Best first; of equals the newest."""
    return sorted(scored, key=lambda pair: (-pair[0], -pair[1].id))
