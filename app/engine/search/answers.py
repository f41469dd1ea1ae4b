"""Answering one query: which mode, which documents, which stretch of text, and why none.

Idea: the index proposes, the text decides. Every hit is read again from its file and matched, so
nothing is shown that is not there (any more). What the index cannot answer, a bounded scan of the
files does, in the same words.

Invariant: every hit has at least one span, unless the query holds filters alone, or natural mode
was asked for by name and the hit stands beside a match. An answer without hits has a reason.
Synchronous; runs on the index's reader thread and stops when `halt()` is true.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import datetime, tzinfo
from pathlib import Path

import apsw
from msgspec.structs import replace

from app.engine.records import Hit, Query, SearchMode, SearchResult
from app.engine.search.days import Span, days_meant
from app.engine.search.files import Files, Judge
from app.engine.search.finding import Ranked, less
from app.engine.search.folding import Folding, folded_layers
from app.engine.search.literal import Stopped
from app.engine.search.matching import WIDTH, Stretch, excerpt, natural_match, words_match
from app.engine.search.natural import Unit, natural_terms, natural_units
from app.engine.search.query import (
    LONGEST_QUERY,
    Filters,
    reads_texts,
    without_expression,
    words_expression,
)
from app.engine.search.reasons import Why, nowhere, why, why_none, why_nothing_asked, words_instead
from app.engine.search.rows import Row
from app.engine.search.store import Store
from app.engine.search.texts import Texts
from app.engine.search.ways import asked, pasted, ways
from app.engine.search.weighing import Question, telling

CANDIDATES = 600
"""Documents natural mode ranks with their neighbours."""
SPARE = 20
"""Further candidates, should some have gone from the files."""
VERIFIED = 2_000
"""Candidates read at most, when a term has signs that only the text can show."""
SCAN_SECONDS = 1.0
"""How long a scan of the files may take before it answers with what it has."""
LAST_SECONDS = 0.15
"""The same, when an index has already said that there is hardly anything to find."""
PASTE_SECONDS = 0.15
"""How long a live query may take that nobody typed."""
TOO_MUCH = "This is too much to look for at once. Fewer words find more."

Halt = Callable[[], bool]


class _Late(Exception):
    """The time a query has is over."""


class Answering:
    """One query against one index (or against the files alone, when `store` is None).

    Of a `live` one somebody waits for an answer to what is in the field: a paste gets a notice
    when it takes too long.
    """

    def __init__(
        self, root: Path, store: Store | None, query: Query, *,
        now: datetime, zone: tzinfo, halt: Halt, width: int | None = WIDTH, live: bool = False,
        beside: str = "",
    ) -> None:  # fmt: skip
        self._root = root
        self._store = store
        self._query = replace(query, newest_first=True) if query.quick else query
        self._now = now
        self._zone = zone
        self._stop = halt
        self._live = live
        self._end = float("inf")
        self._width = width
        self._files = Files(root, zone, beside, width, self._halt)
        self._parsed = asked(query, now, zone)
        self._partial = False
        self._gone = 0

    def answer(self) -> SearchResult:
        """Hits in the mode that answered, or none and a reason. Raises `Stopped`."""
        begun = time.perf_counter()
        if self._live and pasted(self._parsed):
            self._end = begun + PASTE_SECONDS
        if self._store is not None:
            self._store.stop_when(self._over)
        try:
            result = self._answer()
        except (_Late, apsw.InterruptError):
            if self._stop() or not self._late():
                raise
            result = SearchResult((), 0, {}, self._query.mode, TOO_MUCH, complete=False)
        note = f"{self._parsed.note} {result.note}".strip()
        return replace(result, seconds=time.perf_counter() - begun, note=note)

    def _late(self) -> bool:
        return time.perf_counter() > self._end

    def _over(self) -> bool:
        return self._stop() or self._late()

    def _halt(self) -> bool:
        """Whether another query took this one's place. Raises `_Late` when its time is over."""
        if self._late():
            raise _Late
        return self._stop()

    def _answer(self) -> SearchResult:
        parsed, query = self._parsed, self._query
        if parsed.empty:
            return _none(query, why_nothing_asked(parsed))
        if query.limit < 1:
            return _none(query, why("No hits were asked for."))
        if query.quick and self._store is None:
            return SearchResult((), 0, {}, query.mode, complete=False)
        for mode, typing in ways(query, parsed):
            result = self._in_mode(mode, typing=typing)
            if result.hits:
                return self._with_missing(result)
            self._halt()
        if query.quick:
            return SearchResult((), 0, {}, query.mode, complete=False)
        always = Filters(not_tools=query.skip_tools)
        said = why_none(self._store, parsed, always, gone=self._gone, partial=self._partial)
        instead = words_instead(self._store, parsed, self._over)
        return replace(_none(query, said), complete=not self._partial, nearest=instead)

    def _with_missing(self, result: SearchResult) -> SearchResult:
        """Of words any of which may match, those that stand nowhere are told on the first page."""
        aside = self._query.quick or self._query.start or pasted(self._parsed)
        if self._store is None or result.mode != "natural" or aside:
            return result
        note, near = nowhere(self._store, self._parsed, self._over)
        return replace(result, note=note, nearest=near)

    def _in_mode(self, mode: SearchMode, *, typing: bool) -> SearchResult:
        if mode == "literal" or self._store is None:
            return self._scanned(mode, typing=typing)
        with Texts(self._root, self._store) as texts:
            if mode == "words":
                return self._words(self._store, texts, typing=typing)
            return self._natural(self._store, texts)

    # ------------------------------------------------------------------ with the index

    def _words(self, store: Store, texts: Texts, *, typing: bool) -> SearchResult:
        parsed, query = self._parsed, self._query
        expression = words_expression(parsed, typing=typing)
        verify = reads_texts(parsed)

        def judge(text: str) -> list[Stretch] | None:
            return words_match(parsed, text, typing=typing, halt=self._halt)

        if query.newest_first or not expression:
            scored, found = self._newest(store, expression, verify=verify), None
        else:
            scored, found = self._ranked(store, expression, verify=verify)
        return self._result(
            store, texts, "words", expression, scored, judge, verify=verify,
            cut=len(scored) == self._wanted(verify), found=found,
        )  # fmt: skip

    def _newest(self, store: Store, expression: str, *, verify: bool) -> list[tuple[float, Row]]:
        """The candidates of this page, newest first."""
        parsed = self._parsed
        rows = store.find(
            expression, without_expression(parsed), parsed.filters,
            limit=self._wanted(verify), start=self._query.start,
        )  # fmt: skip
        return [(0.0, row) for row in rows]

    def _ranked(
        self, store: Store, expression: str, *, verify: bool
    ) -> tuple[list[tuple[float, Row]], Ranked]:
        """The candidates of this page, best first; behind those that were put in order, further
        ones, newest first."""
        parsed, start, wanted = self._parsed, self._query.start, self._wanted(verify)
        without = without_expression(parsed)
        found = store.ranked(expression, without, parsed.filters)
        scores = {number: score for score, number in found.best[start : start + wanted]}
        rows = store.rows(list(scores))
        if found.floor and len(scores) < wanted:
            rows += store.find(
                expression, without, parsed.filters, below=found.floor,
                limit=wanted - len(scores), start=max(0, start - len(found.best)),
            )  # fmt: skip
        return [(scores.get(row.id, 0.0), row) for row in rows], found

    def _natural(self, store: Store, texts: Texts) -> SearchResult:
        parsed, query = self._parsed, self._query
        wanted = natural_terms(parsed)
        verify = any(term.needle and len(term.main) == 1 for term in wanted)

        def judge(text: str) -> list[Stretch] | None:
            found = natural_match(wanted, parsed.without, text, self._halt)
            if found is not None:
                return found[0]
            # Beside a match: worth reading in answer to a question, but nothing to mark in it.
            beside = query.mode == "natural" and not verify and not query.newest_first
            return [] if beside and words_match(unwanted, text) is not None else None

        unwanted = replace(parsed, groups=())
        units = telling(store, natural_units(wanted))
        expression = " OR ".join(unit.expression for unit in units)
        found: Ranked | None = None
        if query.newest_first:
            scored = self._newest(store, expression, verify=verify)
            cut = len(scored) == self._wanted(verify)
        elif len(units) == 1 and not self._spans():  # nothing to weigh against another
            scored, found = self._ranked(store, expression, verify=verify)
            cut = len(scored) == self._wanted(verify)
        else:
            scored, cut = self._weighed(store, texts, units, verify=verify)
        return self._result(
            store, texts, "natural", expression, scored, judge, verify=verify, cut=cut, found=found
        )

    def _weighed(
        self, store: Store, texts: Texts, units: list[Unit], *, verify: bool
    ) -> tuple[list[tuple[float, Row]], bool]:
        """Documents that hold a term, or stand beside one that does, best first; whether there
        are more."""
        parsed, start = self._parsed, self._query.start
        question = Question(
            store, texts, without=without_expression(parsed), filters=parsed.filters,
            spans=self._spans(), zone=self._zone,
            halt=self._halt,
        )  # fmt: skip
        candidates = start + (CANDIDATES if verify else self._query.limit * 2 + SPARE)
        scored, cut = question.best(units, candidates)
        return scored[start:], cut

    def _spans(self) -> list[Span]:
        """The days that the question speaks of."""
        today = self._now.astimezone(self._zone).date()
        return days_meant(self._query.text[:LONGEST_QUERY], today)

    def _wanted(self, verify: bool) -> int:
        """How many candidates are read for a page."""
        return VERIFIED if verify else self._query.limit + SPARE

    def _result(
        self, store: Store, texts: Texts, mode: SearchMode, expression: str,
        scored: list[tuple[float, Row]], judge: Judge, *, verify: bool, cut: bool,
        found: Ranked | None = None,
    ) -> SearchResult:  # fmt: skip
        """`cut` says that there are candidates behind the scored ones; `found` has counted."""
        if not scored:
            return SearchResult((), 0, {}, mode)
        natural = mode == "natural"
        every = verify and not self._query.quick
        hits, seen, lost, used = self._hits(texts, scored, judge, mode=mode, every=every)
        self._partial = self._partial or (verify and cut and not hits)
        last = used == len(scored) and not cut
        if self._query.quick:
            counts, complete = seen, last and not self._query.start
        elif verify:
            complete = len(scored) < (CANDIDATES if natural else VERIFIED)
            counts = seen
        else:
            if found is not None:
                counts, complete = found.counts, found.complete
            else:
                without = without_expression(self._parsed)
                counts, complete = store.count(expression, without, self._parsed.filters)
            if not natural:
                counts = less(counts, lost)
                self._gone += sum(lost.values())
        return SearchResult(
            tuple(hits), sum(counts.values()), counts, mode, complete=complete,
            next=0 if last else self._query.start + used,
        )  # fmt: skip

    def _hits(
        self, texts: Texts, scored: Sequence[tuple[float, Row]], judge: Judge, *,
        mode: SearchMode, every: bool,
    ) -> tuple[list[Hit], dict[str, int], dict[str, int], int]:  # fmt: skip
        """Hits, documents seen and lost per layer, and how many candidates the hits took."""
        folding = Folding(folded_layers(self._query, mode), nearly=mode == "natural")
        used = len(scored)
        seen: dict[str, int] = {}
        lost: dict[str, int] = {}
        for at, (score, row) in enumerate(scored):
            if self._halt():
                raise Stopped
            full = len(folding.hits) >= self._query.limit
            used = min(used, at) if full else used
            if full and not every:
                break
            text = texts.of(row)
            places = None if text is None else judge(text)
            if text is None or places is None:
                lost[row.layer] = lost.get(row.layer, 0) + 1
                continue
            seen[row.layer] = seen.get(row.layer, 0) + 1
            if not full:
                folding.add(self._hit(row, score, text, places, texts), text)
        return folding.hits, seen, lost, used

    def _hit(self, row: Row, score: float, text: str, places: list[Stretch], texts: Texts) -> Hit:
        shown, spans = excerpt(text, places, self._width)
        before, after = self._beside(row, texts)
        return Hit(
            row.layer, row.path, row.line, shown, spans, score, row.when, row.session, row.entry,
            row.role, row.tool, before=before, after=after,
        )  # fmt: skip

    def _beside(self, row: Row, texts: Texts) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The texts of the entries before and after, as many as the query wants."""
        far = self._query.context
        if far < 1 or row.layer != "sessions":
            return (), ()
        before = texts.run(row, range(-far, 0))
        after = texts.run(row, range(1, far + 1))
        return (
            tuple(excerpt(text, (), self._width)[0] for text in before),
            tuple(excerpt(text, (), self._width)[0] for text in after),
        )

    # ------------------------------------------------------------------ without it

    def _scanned(self, mode: SearchMode, *, typing: bool) -> SearchResult:
        known = self._store is not None and self._query.mode == "auto"
        result = self._files.answer(
            self._query, self._parsed, mode,
            typing=typing, seconds=LAST_SECONDS if known else SCAN_SECONDS,
        )  # fmt: skip
        self._partial = self._partial or not result.complete
        return result


def _none(query: Query, said: Why) -> SearchResult:
    return SearchResult((), 0, {}, query.mode, said.words, causes=said.causes)
