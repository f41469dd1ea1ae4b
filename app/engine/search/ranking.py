"""Which hits come first in natural mode.

Idea: BM25 knows words only; a conversation also has an order. Each term of the question is worth
the more, the rarer it is; a document has a term in full when it holds it, and in part when a
neighbour in its session does, above all when that neighbour asked the question this one answers.
What stands in every fifth document says nothing of its neighbours. A session in which many of the
terms occur lends a little to all of it, and who meets more of the terms gains a little.

Two passes: the index alone says which documents are worth reading; the texts of the best of them
then say how much of each term they hold (`rereading.py`).

The weights were chosen on five public conversations (`tests/benchmarks/recall.py`). Chosen on two
or three of them only, they lost up to 0.012 of recall on the others: none stands on a peak.
Pure. Invariant: scores are larger for better hits; equal ones newest first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from heapq import nlargest

from msgspec import Struct

from app.engine.search.bm25 import rarity
from app.engine.search.rows import QUESTION, Posting, Row

NEIGHBOURS = (0.6, 0.35, 0.2)
"""What of a term's worth the neighbour at distance 1, 2, 3 lends."""
ANSWERED = 0.9
"""What a question lends to the document right after it."""
ASKING = 0.87
"""What a question itself is worth: the answer is looked for, not the question."""
SESSION = 0.1
"""What a session's terms lend to each of its documents."""
COMMON, COMMON_FROM = 0.2, 20
"""Share of all documents, and number of them, above which a term lends nothing to neighbours."""
MORE = 0.4
"""What a document gains that has all of the terms, in part or in full."""
LOOK_UP = 250
"""Places after which one looks whether somebody still waits."""

Place = tuple[int, int]
"""A document's file and its order in there."""


class Reading(Struct):
    """What a document's text says: how much of each term it holds (0 for none, 1 for the usual),
    and whether it asks."""

    strengths: list[float]
    asks: bool = False


class _Met(Struct):
    """One term, where it stands and what it is worth."""

    postings: list[Posting]
    worth: float
    lends: bool


class Weighing:
    """Collects the terms of one question; `total` is how many documents there are in all.

    `sessions` are the files in which neighbours belong together. `go_on` is called now and then;
    it raises when nobody waits any more.
    """

    def __init__(
        self, total: int, sessions: frozenset[int], go_on: Callable[[], None] = lambda: None
    ) -> None:
        self._total = max(1, total)
        self._sessions = sessions
        self._go_on = go_on
        self._terms: list[_Met] = []
        self._files: dict[int, float] = defaultdict(float)

    def add(self, postings: list[Posting], count: int, *, share: float = 1.0) -> None:
        """One term: where it stands, in how many documents, and how surely it is what was meant."""
        worth = share * rarity(count, self._total)
        lends = count <= max(COMMON_FROM, COMMON * self._total)
        self._terms.append(_Met(postings, worth, lends))
        for file in {one.file for one in postings} & self._sessions:
            self._files[file] += worth

    def best(
        self, count: int, read: Mapping[Place, Reading] | None = None
    ) -> list[tuple[float, Place]]:
        """The best places with their scores; with `read` only those, by what their texts say."""
        scores: dict[Place, float] = defaultdict(float)
        met: dict[Place, int] = defaultdict(int)
        asking: set[Place] = set()
        near = None if read is None else _around(read)
        for number, term in enumerate(self._terms):
            for place, score in self._slowly(self._of_term(number, term, read, near, asking)):
                scores[place] += score
                met[place] += 1
        scored = (
            (self._whole(place, score, met[place], asks), place)
            for place, score in self._slowly(scores)
            if read is None or place in read
            for asks in (place in asking if read is None else read[place].asks,)
        )
        return nlargest(count, scored, key=lambda pair: pair[0])

    def _slowly(self, scores: Mapping[Place, float]) -> Iterator[tuple[Place, float]]:
        for number, pair in enumerate(scores.items()):
            if number % LOOK_UP == 0:
                self._go_on()
            yield pair

    def _of_term(
        self, number: int, term: _Met, read: Mapping[Place, Reading] | None,
        near: set[Place] | None, asking: set[Place],
    ) -> dict[Place, float]:  # fmt: skip
        """What each place gets for one term; places that ask are added to `asking`."""
        best: dict[Place, float] = {}
        for at, one in enumerate(term.postings):
            if at % LOOK_UP == 0:
                self._go_on()
            place = (one.file, one.order)
            if near is not None and place not in near:
                continue
            seen = None if read is None else read.get(place)
            own = term.worth if seen is None else term.worth * seen.strengths[number]
            if one.flags & QUESTION:
                asking.add(place)
            if own > best.get(place, 0.0):
                best[place] = own
            if term.lends and one.file in self._sessions:
                _lend(best, one, own)
        return best

    def _whole(self, place: Place, score: float, met: int, asks: bool) -> float:
        score += SESSION * self._files.get(place[0], 0.0)
        score *= 1 + MORE * met / len(self._terms)
        return score * ASKING if asks else score


def _around(read: Mapping[Place, Reading]) -> set[Place]:
    """The places read, and those that may lend them something."""
    far = len(NEIGHBOURS)
    return {(file, order + step) for file, order in read for step in range(-far, far + 1)}


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
