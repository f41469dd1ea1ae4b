"""Which hits come first.

Idea: BM25 knows words only; a conversation also has an order. What stands beside a match in the
same session is about the same thing, so a document gains from its neighbours' scores. Pure.
Invariant: scores are larger for better hits; equal scores are ordered newest first.
"""

from __future__ import annotations

from collections.abc import Iterable

from app.engine.search.store import Row

NEIGHBOURS = ((1, 0.35), (2, 0.15))
"""Distance in documents of the same file, and the share of the neighbour's score that is added."""

Place = tuple[int, int]


def own_scores(rows: Iterable[Row]) -> dict[Place, float]:
    """The score of each document by itself, by (file, order)."""
    return {(row.file, row.order): -row.rank for row in rows}


def with_neighbours(scores: dict[Place, float], place: Place) -> float:
    """The score of the document at `place`, with what its neighbours lend it."""
    file, order = place
    total = scores.get(place, 0.0)
    for distance, share in NEIGHBOURS:
        total += share * scores.get((file, order - distance), 0.0)
        total += share * scores.get((file, order + distance), 0.0)
    return total


def ranked(rows: list[Row]) -> list[tuple[float, Row]]:
    """Rows with their scores, best first."""
    scores = own_scores(rows)
    scored = [
        (
            with_neighbours(scores, (row.file, row.order))
            if row.layer == "sessions"
            else scores[(row.file, row.order)],
            row,
        )
        for row in rows
    ]
    return sorted(scored, key=lambda pair: (-pair[0], -pair[1].id))
