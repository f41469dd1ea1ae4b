"""Natural mode against the index: from the units of a question to rows, best first.

Idea: two passes (see `ranking.py`). The index says which documents hold a unit or stand beside one
that does; the texts of the best `REREAD` of them are read and weighed again. A unit that stands
nowhere is taken for a slip when other units are found. Days that the question speaks of lend weight
to what was said on them. Synchronous; stops when `halt()` is true.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import tzinfo

from app.engine.search.days import Span, fit
from app.engine.search.finding import ALL_POSTINGS, POSTINGS
from app.engine.search.literal import Stopped
from app.engine.search.natural import Unit
from app.engine.search.nearest import meant
from app.engine.search.query import Filters, any_form
from app.engine.search.ranking import Place, Weighing, ordered
from app.engine.search.rereading import Read, look_at, readings, shared_words, with_shared
from app.engine.search.rows import Posting, Row
from app.engine.search.stems import stem
from app.engine.search.store import Store
from app.engine.search.texts import Texts

REREAD, REREAD_BYTES = 100, 3_000_000
"""Candidates whose texts are read before they are put in order, and bytes of them in all."""
DAY = 1.0
"""What a document gains, in parts of its score, that was said on a day the question speaks of."""
SLIP = 0.6
"""What a word is worth that is only spelled like the one asked for."""
MOST_UNITS = 24
"""Units that are weighed; of more the rarest."""
MOST_MEANT = 6
"""Words one misspelled word may stand for."""


class Question:
    """One question against one index. `without` is an FTS5 expression ("" for none)."""

    def __init__(
        self, store: Store, texts: Texts, *, without: str, filters: Filters, spans: list[Span],
        zone: tzinfo, halt: Callable[[], bool],
    ) -> None:  # fmt: skip
        self._store = store
        self._texts = texts
        self._without = without
        self._filters = filters
        self._spans = spans
        self._zone = zone
        self._halt = halt

    def best(self, units: list[Unit], count: int) -> tuple[list[tuple[float, Row]], bool]:
        """Up to `count` documents with their scores, best first; whether there are more."""
        total = self._store.totals()[1]
        weighing = Weighing(total, self._store.session_files(), self._stop_if_asked)
        known, units = self._add(weighing, units)
        if not known:
            return [], False
        first = weighing.best(max(count, REREAD))
        if self._spans:
            first = self._with_days(first)
        scores = {place: score for score, place in first}
        rows = {(row.file, row.order): row for row in self._store.near(scores, self._filters)}
        again = self._again(weighing, _worth_reading(rows[p] for p in scores if p in rows), units)
        least = min((score for score, _ in again), default=0.0)
        done = {(row.file, row.order) for _, row in again}
        rest = [
            (min(scores[place], least), row) for place, row in rows.items() if place not in done
        ]
        rest.sort(key=lambda pair: -scores[(pair[1].file, pair[1].order)])
        return [*again, *rest][:count], len(scores) >= count

    def _add(self, weighing: Weighing, units: list[Unit]) -> tuple[bool, list[Unit]]:
        """Every unit with where it stands; whether any does, and the units as they were added."""
        found: list[tuple[Unit, list[Posting], int]] = []
        most = min(POSTINGS, ALL_POSTINGS // max(1, len(units)))
        for unit in units:
            postings, count = self._store.postings(
                unit.expression, self._without, self._filters, most
            )
            found.append((unit, postings, count))
            self._stop_if_asked()
        known = any(count for _, _, count in found)
        added: list[Unit] = []
        for unit, postings, count in found:
            share = 1.0
            if known and not count and unit.word:
                unit, postings, count = self._slip(unit)
                share = SLIP
            weighing.add(postings, count, share=share)
            added.append(unit)
        return known, added

    def _slip(self, unit: Unit) -> tuple[Unit, list[Posting], int]:
        """The unit with the words it may stand for, and where those are."""
        stems = list(
            dict.fromkeys(stem(word) for word in meant(self._store, unit.word, self._halt))
        )
        if not stems:
            return unit, [], 0
        expression = " OR ".join(any_form(one) for one in stems[:MOST_MEANT])
        postings, count = self._store.postings(expression, self._without, self._filters)
        self._stop_if_asked()
        return Unit(expression, unit.stem, also=frozenset(stems[:MOST_MEANT])), postings, count

    def _with_days(self, scored: list[tuple[float, Place]]) -> list[tuple[float, Place]]:
        """The same places, those of the days meant before their equals."""
        rows = self._store.near((place for _, place in scored), self._filters)
        gains = {(row.file, row.order): self._gain(row) for row in rows}
        again = [(score * gains.get(place, 1.0), place) for score, place in scored]
        again.sort(key=lambda pair: -pair[0])
        return again

    def _gain(self, row: Row) -> float:
        if not self._spans:
            return 1.0
        return 1 + DAY * fit(self._spans, row.when.astimezone(self._zone).date())

    def _again(
        self, weighing: Weighing, rows: Sequence[Row], units: list[Unit]
    ) -> list[tuple[float, Row]]:
        """These rows, put in order by what their texts say. Those that are gone come last."""
        places = {(row.file, row.order): row for row in rows}
        seen: dict[Place, Read] = {}
        for place, row in places.items():
            self._stop_if_asked()
            text = self._texts.of(row)
            if text is not None:
                seen[place] = look_at(text, units)
        scored = [
            (score * self._gain(places[place]), place)
            for score, place in weighing.best(len(seen), readings(seen, units))
        ]
        scored.sort(key=lambda pair: -pair[0])
        total = self._store.totals()[1]
        words = shared_words(scored, seen, units, total, self._store.documents_with)
        scored = with_shared(scored, seen, words)
        gone = [(0.0, row) for place, row in places.items() if place not in seen]
        return ordered([(score, places[place]) for score, place in scored]) + gone

    def _stop_if_asked(self) -> None:
        if self._halt():
            raise Stopped


def telling(store: Store, units: list[Unit]) -> list[Unit]:
    """Of many units the rarest, in their order: a long text is known by what few others say."""
    if len(units) <= MOST_UNITS:
        return units
    counts = store.documents_with(dict.fromkeys(unit.stem for unit in units))
    rarest = sorted(
        (unit for unit in units if unit.words or counts[unit.stem]),
        key=lambda unit: 0 if unit.words else counts[unit.stem],
    )
    kept = set(rarest[:MOST_UNITS])
    return [unit for unit in units if unit in kept]


def _worth_reading(rows: Iterable[Row]) -> list[Row]:
    """The best rows, as many as can be read in no time."""
    room = REREAD_BYTES
    chosen: list[Row] = []
    for row in rows:
        room -= row.length
        if chosen and (room < 0 or len(chosen) == REREAD):
            break
        chosen.append(row)
    return chosen
