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
from contextlib import suppress
from datetime import UTC, datetime, tzinfo
from io import BytesIO
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from msgspec.structs import replace

from app.engine.records import Hit, Query, SearchMode, SearchResult
from app.engine.search.documents import open_for_reading, text_at
from app.engine.search.literal import Found, Stopped, scan_files
from app.engine.search.matching import (
    WIDTH,
    Stretch,
    excerpt,
    literal_match,
    natural_match,
    words_match,
)
from app.engine.search.query import (
    Filters,
    Parsed,
    natural_expression,
    natural_terms,
    natural_units,
    parse,
    without_expression,
    words_expression,
)
from app.engine.search.ranking import Weighing, ordered
from app.engine.search.rows import Row
from app.engine.search.store import Store
from app.engine.search.terms import fold

CANDIDATES = 600
"""Documents natural mode ranks with their neighbours."""
SPARE = 20
"""Further candidates, should some have gone from the files."""
VERIFIED = 2_000
"""Candidates read at most, when a term has signs that only the text can show."""
SCAN_SECONDS = 1.0
"""How long a scan of the files may take before it answers with what it has."""

Halt = Callable[[], bool]
Judge = Callable[[str], "list[Stretch] | None"]


class Texts:
    """The files behind the hits, opened once each. Use as a context manager."""

    def __init__(self, root: Path, store: Store) -> None:
        self._root = root
        self._store = store
        self._open: dict[str, BinaryIO | None] = {}

    def __enter__(self) -> Texts:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for file in self._open.values():
            if file is not None:
                file.close()

    def of(self, row: Row) -> str | None:
        """The text of a document as it is now; None when it is gone."""
        if row.path not in self._open:
            if len(self._open) > 200:
                self.__exit__(None, None, None)
                self._open.clear()
            self._open[row.path] = self._file(row.path)
        file = self._open[row.path]
        if file is None:
            return None
        with suppress(OSError):
            return text_at(file, row.layer, (row.line, row.offset, row.length))
        return None

    def _file(self, path: str) -> BinaryIO | None:
        known = self._store.file(path)
        if known is not None and known.text is not None:
            return BytesIO(known.text.encode("utf-8", "replace"))
        try:
            return open_for_reading(self._root / path)
        except OSError:
            return None


class Answering:
    """One query against one index (or against the files alone, when `store` is None)."""

    def __init__(
        self, root: Path, store: Store | None, query: Query, *,
        now: datetime, zone: tzinfo, halt: Halt, width: int | None = WIDTH,
    ) -> None:  # fmt: skip
        self._root = root
        self._store = store
        self._query = query
        self._zone = zone
        self._halt = halt
        self._width = width
        self._parsed = _asked(query, now, zone)
        self._partial = False
        self._gone = 0

    def answer(self) -> SearchResult:
        """Hits in the mode that answered, or none and a reason. Raises `Stopped`."""
        begun = time.perf_counter()
        result = self._answer()
        return replace(result, seconds=time.perf_counter() - begun)

    def _answer(self) -> SearchResult:
        parsed, query = self._parsed, self._query
        if parsed.empty or query.limit < 1:
            return SearchResult((), 0, {}, query.mode, parsed.empty or "No hits were asked for.")
        for mode, typing in _steps(query.mode, parsed):
            result = self._in_mode(mode, typing=typing)
            if result.hits:
                return result
        mode: SearchMode = query.mode
        return SearchResult((), 0, {}, mode, self._why_none(), complete=not self._partial)

    def _in_mode(self, mode: SearchMode, *, typing: bool) -> SearchResult:
        if mode == "literal" or self._store is None:
            return self._scanned(mode, typing=typing)
        if mode == "words":
            return self._words(self._store, typing=typing)
        return self._natural(self._store)

    # ------------------------------------------------------------------ with the index

    def _words(self, store: Store, *, typing: bool) -> SearchResult:
        parsed, query = self._parsed, self._query
        expression = words_expression(parsed, typing=typing)
        verify = any(term.needle for term in parsed.terms)

        def judge(text: str) -> list[Stretch] | None:
            return words_match(parsed, text, typing=typing)

        rows = store.find(
            expression, without_expression(parsed), parsed.filters,
            limit=self._wanted(verify), newest=query.newest_first, start=query.start,
        )  # fmt: skip
        scored = [(-row.rank, row) for row in rows]
        cut = len(rows) == self._wanted(verify)
        return self._result(store, "words", expression, scored, judge, verify=verify, cut=cut)

    def _natural(self, store: Store) -> SearchResult:
        parsed, query = self._parsed, self._query
        wanted = natural_terms(parsed)
        verify = any(term.needle and len(term.main) == 1 for term in wanted)

        def judge(text: str) -> list[Stretch] | None:
            found = natural_match(wanted, parsed.without, text)
            if found is not None:
                return found[0]
            # Beside a match: worth reading in answer to a question, but nothing to mark in it.
            beside = query.mode == "natural" and not verify and not query.newest_first
            return [] if beside and words_match(unwanted, text) is not None else None

        unwanted = replace(parsed, groups=())
        expression = natural_expression(wanted)
        if query.newest_first:
            rows = store.find(
                expression, without_expression(parsed), parsed.filters,
                limit=self._wanted(verify), newest=True, start=query.start,
            )  # fmt: skip
            scored = [(0.0, row) for row in rows]
            cut = len(rows) == self._wanted(verify)
        else:
            scored, cut = self._weighed(store, natural_units(wanted), verify=verify)
        return self._result(store, "natural", expression, scored, judge, verify=verify, cut=cut)

    def _weighed(
        self, store: Store, units: list[str], *, verify: bool
    ) -> tuple[list[tuple[float, Row]], bool]:
        """Documents that hold a term, or stand beside one that does, best first; whether there
        are more."""
        parsed = self._parsed
        without = without_expression(parsed)
        weighing = Weighing(store.totals()[1])
        sessions = store.session_files()
        for unit in units:
            postings, count = store.postings(unit, without, parsed.filters)
            weighing.add(postings, count, sessions=sessions)
            if self._halt():
                raise Stopped
        start = self._query.start
        candidates = start + (CANDIDATES if verify else self._query.limit * 2 + SPARE)
        best = {place: score for score, place in weighing.best(candidates)}
        rows = store.near(best, parsed.filters)
        scored = ordered([(best[(row.file, row.order)], row) for row in rows])
        return scored[start:], len(best) == candidates

    def _wanted(self, verify: bool) -> int:
        """How many candidates are read for a page."""
        return VERIFIED if verify else self._query.limit + SPARE

    def _result(
        self, store: Store, mode: SearchMode, expression: str,
        scored: list[tuple[float, Row]], judge: Judge, *, verify: bool, cut: bool,
    ) -> SearchResult:  # fmt: skip
        """`cut` says that there are candidates behind the scored ones."""
        if not scored:
            return SearchResult((), 0, {}, mode)
        natural = mode == "natural"
        hits, seen, lost, used = self._hits(store, scored, judge, natural=natural, every=verify)
        if verify:
            complete = len(scored) < (CANDIDATES if natural else VERIFIED)
            counts = seen
        else:
            without = without_expression(self._parsed)
            counts, complete = store.count(expression, without, self._parsed.filters)
            if not natural:
                counts = _less(counts, lost)
                self._gone += sum(lost.values())
        last = used == len(scored) and not cut
        return SearchResult(
            tuple(hits), sum(counts.values()), counts, mode, complete=complete,
            next=0 if last else self._query.start + used,
        )  # fmt: skip

    def _hits(
        self, store: Store, scored: Sequence[tuple[float, Row]], judge: Judge, *,
        natural: bool, every: bool,
    ) -> tuple[list[Hit], dict[str, int], dict[str, int], int]:  # fmt: skip
        """Hits, documents seen and lost per layer, and how many candidates the hits took."""
        hits: list[Hit] = []
        used = len(scored)
        seen: dict[str, int] = {}
        lost: dict[str, int] = {}
        texts_seen: set[str] = set()
        with Texts(self._root, store) as texts:
            for at, (score, row) in enumerate(scored):
                if self._halt():
                    raise Stopped
                full = len(hits) >= self._query.limit
                used = min(used, at) if full else used
                if full and not every:
                    break
                text = texts.of(row)
                places = None if text is None else judge(text)
                if text is None or places is None:
                    lost[row.layer] = lost.get(row.layer, 0) + 1
                    continue
                seen[row.layer] = seen.get(row.layer, 0) + 1
                same = fold(text).strip(" -*\t\r\n") if natural else ""
                if full or (same and same in texts_seen):
                    continue
                texts_seen.add(same)
                hits.append(self._hit(row, score, text, places))
        return hits, seen, lost, used

    def _hit(self, row: Row, score: float, text: str, places: list[Stretch]) -> Hit:
        shown, spans = excerpt(text, places, self._width)
        return Hit(
            row.layer, row.path, row.line, shown, spans, score, row.when, row.session, row.entry,
            row.role, row.tool,
        )  # fmt: skip

    # ------------------------------------------------------------------ without it

    def _scanned(self, mode: SearchMode, *, typing: bool) -> SearchResult:
        judge = self._scan_judge(mode, typing)
        if judge is None:
            return SearchResult((), 0, {}, mode)
        found, complete = scan_files(
            self._root, self._parsed.filters, judge,
            limit=self._query.start + self._query.limit, seconds=SCAN_SECONDS, halt=self._halt,
            zone=self._zone,
        )  # fmt: skip
        self._partial = self._partial or not complete
        if self._query.newest_first:
            found.sort(key=lambda one: one.when or datetime.min.replace(tzinfo=UTC), reverse=True)
        start, end = self._query.start, self._query.start + self._query.limit
        hits = tuple(self._found_hit(one) for one in found[start:end])
        counts: dict[str, int] = {}
        for one in found:
            counts[one.layer] = counts.get(one.layer, 0) + 1
        following = end if end < len(found) else 0
        return SearchResult(hits, len(found), counts, mode, complete=complete, next=following)

    def _scan_judge(self, mode: SearchMode, typing: bool) -> Judge | None:
        parsed = self._parsed
        if mode == "natural":
            wanted = natural_terms(parsed)
            return lambda text: (natural_match(wanted, parsed.without, text) or (None,))[0]
        if mode == "words":
            return lambda text: words_match(parsed, text, typing=typing)
        if not parsed.literal or not parsed.groups:
            return None
        without = replace(parsed, groups=())

        def judge(text: str) -> list[Stretch] | None:
            places = literal_match(parsed.literal, text)
            if not places or words_match(without, text) is None:
                return None
            return places

        return judge

    def _found_hit(self, one: Found) -> Hit:
        shown, spans = excerpt(one.text, one.places, self._width)
        return Hit(
            one.layer, one.path, one.line, shown, spans, float(len(one.places)), one.when,
            one.session, one.entry, one.role, one.tool,
        )  # fmt: skip

    # ------------------------------------------------------------------ reasons

    def _why_none(self) -> str:
        parsed = self._parsed
        if parsed.filters and self._store is not None and parsed.groups:
            without = without_expression(parsed)
            for expression in (
                words_expression(parsed, typing=parsed.typing),
                natural_expression(natural_terms(parsed)),
            ):
                counts, _ = self._store.count(expression, without, Filters())
                left_out = sum(counts.values())
                if left_out:
                    noun = "match" if left_out == 1 else "matches"
                    return f"The filters leave out {left_out} {noun}."
        if self._gone:
            noun = "match has" if self._gone == 1 else "matches have"
            return f"{self._gone} {noun} gone from the files since they were indexed."
        if self._partial:
            return "Nothing was found in what could be looked through in time."
        return "No line or message holds this."


def _asked(query: Query, now: datetime, zone: tzinfo) -> Parsed:
    """The parsed query, narrowed to the layers it names."""
    parsed = parse(query.text, today=now.astimezone(zone).date(), zone=zone)
    if not query.layers or (parsed.empty and not query.text.strip()):
        return parsed
    layers = parsed.filters.layers
    both = frozenset(query.layers) & layers if layers else frozenset(query.layers)
    return replace(parsed, filters=replace(parsed.filters, layers=both or frozenset({"none"})))


def _steps(mode: SearchMode, parsed: Parsed) -> list[tuple[SearchMode, bool]]:
    """The ways to try, in order, each with whether the last word may still be growing.

    A single word is tried by its stem before it is taken for the beginning of another one; of
    several words the last is taken for a beginning first, so that live results do not widen to
    "any of them" at every new word.
    """
    if mode != "auto":
        return [(mode, False)]
    if not parsed.groups:
        return [("words", False)]
    steps: list[tuple[SearchMode, bool]] = [("words", False), ("natural", False)]
    if parsed.typing:
        steps.insert(1 if len(parsed.groups) > 1 else 2, ("words", True))
    return [*steps, ("literal", False)]


def _less(counts: dict[str, int], lost: dict[str, int]) -> dict[str, int]:
    """Counts without the documents that turned out to be gone."""
    left = {layer: number - lost.get(layer, 0) for layer, number in counts.items()}
    return {layer: number for layer, number in left.items() if number > 0}
