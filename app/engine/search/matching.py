"""Where in a text a query matches, and the stretch of it to show.

Idea: the index says which documents may match; this says whether they do, and where. The same
judgement serves a scan of the files when there is no index. Invariant: spans lie inside the text,
in order, apart from each other, and each covers whole matched words of the original. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import islice

from msgspec import Struct

from app.engine.records import Span
from app.engine.search.likely import all_beginnings, likely_tokens
from app.engine.search.literal import Stopped
from app.engine.search.query import Parsed, Term
from app.engine.search.stems import stem
from app.engine.search.terms import Token, fold, fold_with_map

WIDTH = 240
"""Characters of a hit's text, unless told otherwise."""
MOST_SPANS = 64
LOOK_UP = 200
"""Tokens after which one looks whether to stop."""

Halt = Callable[[], bool]
Stretch = tuple[int, int]


def words_match(
    parsed: Parsed, text: str, *, typing: bool = False, halt: Halt | None = None
) -> list[Stretch] | None:
    """Where the groups of `parsed` stand in `text`; None when one is missing or one is unwanted.

    Raises `Stopped` soon after `halt()` is true, also within a long text.
    """
    found = _tokens(text, _sought((*parsed.terms, *parsed.without)), halt)
    folded = _Folded(text)
    for term in parsed.without:
        if term_places(term, found, folded):
            return None
    places: list[Stretch] = []
    last = parsed.groups[-1][-1] if parsed.groups else None
    for group in parsed.groups:
        here: list[Stretch] = []
        for term in group:
            opened = term.open or (typing and term is last)
            here += term_places(term, found, folded, opened=opened)
        if not here:
            return None
        places += here
    return places


def natural_match(
    wanted: Sequence[Term], without: Sequence[Term], text: str, halt: Halt | None = None
) -> tuple[list[Stretch], int] | None:
    """Where any of `wanted` stands in `text`, by word or stem, and how many of them do.

    Raises `Stopped` as `words_match` does.
    """
    found = _tokens(text, _naturally_sought((*wanted, *without)), halt)
    folded = _Folded(text)
    if any(term_places(term, found, folded) for term in without):
        return None
    places: list[Stretch] = []
    count = 0
    for term in wanted:
        if halt is not None and halt():
            raise Stopped
        if term.quoted or (term.needle and len(term.main) == 1):
            here = term_places(term, found, folded)
        else:
            here = _stem_places(term, found)
        count += bool(here)
        places += here
    return (places, count) if places else None


class _Sought(Struct, frozen=True):
    """What must stand in a text where any of some terms does, and whether one is several tokens in
    a row."""

    letters: frozenset[str]
    row: bool


@lru_cache(maxsize=16)
def _sought(terms: tuple[Term, ...]) -> _Sought:
    words = (word for term in terms for word in term.main)
    return _Sought(frozenset(words), any(len(term.main) > 1 for term in terms))


@lru_cache(maxsize=16)
def _naturally_sought(terms: tuple[Term, ...]) -> _Sought:
    """The same for terms in any of their forms."""
    plain = _sought(terms)
    return _Sought(
        plain.letters | all_beginnings(stem for term in terms for stem in term.stems), plain.row
    )


def _tokens(text: str, sought: _Sought, halt: Halt | None) -> list[Token]:
    """The tokens that matter; of a long text they are many, and somebody may have stopped
    waiting."""
    likely = likely_tokens(text, sought.letters, row=sought.row)
    found = list(islice(likely, LOOK_UP))
    while len(found) % LOOK_UP == 0 and (more := list(islice(likely, LOOK_UP))):
        if halt is not None and halt():
            raise Stopped
        found += more
    return found


def literal_match(needle: str, text: str) -> list[Stretch]:
    """Where the folded `needle` stands in `text`, letter by letter."""
    if not needle or needle not in fold(text):
        return []
    folded, at = fold_with_map(text)
    return [
        (at[match.start()], _after(at, match.end()))
        for match in re.finditer(re.escape(needle), folded)
    ]


def _after(at: list[int], end: int) -> int:
    """The original offset behind folded character `end - 1` (a cluster is never cut in half)."""
    here = at[end - 1]
    while at[end] == here:
        end += 1
    return at[end]


class _Folded:
    """The folded text, made when it is first needed."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._folded: str | None = None

    def __contains__(self, needle: str) -> bool:
        if self._folded is None:
            self._folded = fold(self.text).replace("’", "'")
        return needle in self._folded


def term_places(
    term: Term, found: list[Token], folded: _Folded, *, opened: bool | None = None
) -> list[Stretch]:
    """Where one term stands, exactly as it was typed (folded)."""
    opened = term.open if opened is None else opened
    if term.needle and term.needle not in folded:
        return []
    wanted = term.main
    if len(wanted) == 1:
        places = [(t.start, t.end) for t in found if _is(t, wanted[0], opened)]
    else:
        places = [
            (found[i].start, found[i + len(wanted) - 1].end)
            for i in range(len(found) - len(wanted) + 1)
            if found[i].terms[0] == wanted[0] and _follow(found, i, wanted, opened)
        ]
    if term.needle:
        places = [place for place in places if _shows(term.needle, folded.text, place)]
    return places


def _is(token: Token, wanted: str, opened: bool) -> bool:
    if opened:
        return any(term.startswith(wanted) for term in token.terms)
    return wanted in token.terms


def _follow(found: list[Token], i: int, wanted: tuple[str, ...], opened: bool) -> bool:
    last = len(wanted) - 1
    for k in range(1, len(wanted)):
        main = found[i + k].terms[0]
        if main != wanted[k] and not (opened and k == last and main.startswith(wanted[k])):
            return False
    return True


def _shows(needle: str, text: str, place: Stretch) -> bool:
    """Whether the signs of `needle` stand around this very place."""
    near = fold(text[max(0, place[0] - len(needle)) : place[1] + len(needle)]).replace("’", "'")
    return needle in near


def _stem_places(term: Term, found: list[Token]) -> list[Stretch]:
    wanted = frozenset(term.stems)
    places = [(t.start, t.end) for t in found if (t.stem or stem(t.terms[0])) in wanted]
    places += [
        (t.start, t.end) for t in found if len(t.terms) > 1 and not wanted.isdisjoint(t.terms)
    ]
    if term.open:
        beginning = term.stems[-1]
        places += [(t.start, t.end) for t in found if t.terms[0].startswith(beginning)]
    return places


# ---------------------------------------------------------------------------- what is shown


def merged(places: Iterable[Stretch]) -> list[Stretch]:
    """The stretches in order; those that touch or overlap become one."""
    out: list[Stretch] = []
    for start, end in sorted(places):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return out


_CONTROL = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]")


def excerpt(
    text: str, places: Iterable[Stretch], width: int | None = WIDTH
) -> tuple[str, tuple[Span, ...]]:
    """`text` cut to about `width` characters around its densest match, on one line, with spans.

    `…` marks a cut. `width` None means the whole text. Control characters become spaces one by
    one, so that every span slices what it sliced in the original.
    """
    stretches = merged(places)
    start, end = 0, len(text)
    if width is not None and len(text) > width:
        start, end = _window(text, stretches, width)
    before = "…" if start > 0 else ""
    after = "…" if end < len(text) else ""
    shown = before + _CONTROL.sub(" ", text[start:end]) + after
    shift = len(before) - start
    spans = tuple(
        Span(max(a, start) + shift, min(b, end) + shift)
        for a, b in stretches
        if a < end and b > start
    )
    return shown, spans[:MOST_SPANS]


def _window(text: str, stretches: list[Stretch], width: int) -> Stretch:
    """The stretch of `width` characters that holds the most matches, a little before the first."""
    if not stretches:
        return 0, width
    best, most, j = 0, 0, 0
    for i, (begin, _) in enumerate(stretches):
        if j < i:
            j = i
        while j + 1 < len(stretches) and stretches[j + 1][1] - begin <= width * 3 // 4:
            j += 1
        if j - i + 1 > most:
            best, most = begin, j - i + 1
    start = min(max(0, best - width // 4), max(0, len(text) - width))
    space = text.rfind(" ", max(0, start - 12), start + 1)
    if start > 0 and space > 0:
        start = space + 1
    return start, min(len(text), start + width)
