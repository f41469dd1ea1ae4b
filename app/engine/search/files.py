"""Answering from the files themselves: when there is no index, and letter by letter.

A bounded scan, in the words and with the marks of an answer from the index. Synchronous.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from pathlib import Path

from msgspec.structs import replace

from app.engine.records import Hit, Query, SearchMode, SearchResult
from app.engine.search.folding import Folding, folded_layers
from app.engine.search.literal import Found, scan_files
from app.engine.search.matching import (
    Stretch,
    excerpt,
    literal_match,
    natural_match,
    words_match,
)
from app.engine.search.natural import natural_terms
from app.engine.search.query import Parsed

Judge = Callable[[str], "list[Stretch] | None"]
"""The stretches of a text that match; None when it does not."""

_NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Files:
    """The files of a workspace, as far as they are searched. `beside`: where evicted results lie,
    when elsewhere than usual; `width`: characters shown of a text; `halt` ends a scan."""

    root: Path
    zone: tzinfo
    beside: str
    width: int | None
    halt: Callable[[], bool]

    def answer(
        self, query: Query, parsed: Parsed, mode: SearchMode, *, typing: bool, seconds: float
    ) -> SearchResult:
        """What `mode` finds in them within `seconds`. Raises `Stopped`."""
        scores: list[float] = []
        judge = self._judge(parsed, mode, typing, scores)
        if judge is None:
            return SearchResult((), 0, {}, mode)
        found, complete = scan_files(
            self.root, parsed.filters, judge,
            limit=query.start + query.limit, seconds=seconds,
            halt=self.halt, zone=self.zone, beside=self.beside,
        )  # fmt: skip
        scored = list(zip(scores, found, strict=True))
        scored.sort(key=lambda pair: pair[1].when or _NEVER, reverse=True)
        if not query.newest_first:
            scored.sort(key=lambda pair: -pair[0])
        start, end = query.start, query.start + query.limit
        folding = Folding(folded_layers(query, mode), nearly=mode == "natural")
        for score, one in scored[start:end]:
            folding.add(self._found_hit(one, score), one.text)
        counts: dict[str, int] = {}
        for one in found:
            counts[one.layer] = counts.get(one.layer, 0) + 1
        following = end if end < len(found) else 0
        return SearchResult(
            tuple(folding.hits), len(found), counts, mode, complete=complete, next=following
        )

    def _judge(
        self, parsed: Parsed, mode: SearchMode, typing: bool, scores: list[float]
    ) -> Judge | None:
        """What accepts a text; for each that is accepted, its score is added to `scores`: how many
        of the terms it holds, or how often the words stand there."""
        if mode == "literal" and not parsed.literal.strip():
            return None
        wanted = natural_terms(parsed)
        unwanted = replace(parsed, groups=())

        def judge(text: str) -> list[Stretch] | None:
            if mode == "natural":
                places, score = natural_match(wanted, parsed.without, text, self.halt) or (None, 0)
            else:
                if mode == "words":
                    places = words_match(parsed, text, typing=typing, halt=self.halt)
                else:
                    places = literal_match(parsed.literal, text) or None
                    if places and words_match(unwanted, text) is None:
                        places = None
                score = len(places or ())
            if places is not None:
                scores.append(score)
            return places

        return judge

    def _found_hit(self, one: Found, score: float) -> Hit:
        shown, spans = excerpt(one.text, one.places, self.width)
        return Hit(
            one.layer, one.path, one.line, shown, spans, score, one.when, one.session, one.entry,
            one.role, one.tool,
        )  # fmt: skip
