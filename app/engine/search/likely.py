"""Which parts of a text can hold what is looked for.

Idea: to make tokens of all of a text, only to find one word in it, costs far more than to look for
the word's letters first. A text is cut where no token can reach across (a gap, a comma), a run of
signs behind those looked for; the parts in which no term begins with the letters asked for are
passed over. A part with letters that folding may change, or with an apostrophe, is always taken.

Invariant: the tokens of the parts are those that the whole text has there, and a token that is
left out can be none that is looked for. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from heapq import merge

from app.engine.search.stems import irregular
from app.engine.search.terms import BLOB, Token, tokens

Stretch = tuple[int, int]

_APART = (
    r"\s!\"#$%&()*,.:;<>?@\[\\\]^`{|}~"
    "\u3001\u3002\u300a-\u300f\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f\u2014\u2026\u201c\u201d"
)
_SIGNS = "\u3041-\u3096\u30a1-\u30fa\u30fc\u4e00-\u9fff\uac00-\ud7a3"
_CUT = re.compile(f"[{_APART}]")
_FINE_CUT = re.compile(rf"[{_APART}{_SIGNS}=+/_\-]")
_EACH = 8
_EACH_OF_BLOB = re.compile(rf"[A-Za-z0-9+/_\-]{{{BLOB // _EACH}}}")
_WITHIN = re.compile("[a-z][a-z]")
_SIGN = re.compile(f"[{_SIGNS}]")
_TWO_SIGNS = re.compile(f"[{_SIGNS}]{{2}}")
_ODD = re.compile(f"[^\x00-\x26\x28-\x7f{_SIGNS}{_APART}]+")
_STEP = 16
"""Characters that are looked at for a cut before a place, at first."""
_BREAK = Token(0, 0, ("",))
"""Stands where something was left out: nothing follows across it."""


def likely_tokens(text: str, letters: frozenset[str], *, row: bool = True) -> Iterator[Token]:
    """The tokens of the parts of `text` that hold any of `letters` (folded), or may do so.

    Where tokens were left out between them, one without letters stands; without `row`, when nobody
    asks which tokens follow each other, none does.
    """
    low = text.lower()
    if len(low) != len(text):  # the places would not be the same
        yield from tokens(text)
        return
    signs = not text.isascii()
    end = 0
    for start, stop in _parts(text, low, letters):
        if row and 0 < end < start and next(tokens(text, end, start), None) is not None:
            yield _BREAK
        if signs and _TWO_SIGNS.match(text, stop - 1):
            # Within a run: only where it ends, the last sign alone is a token, too.
            yield from (token for token in tokens(text, start, stop) if token.start < stop - 1)
        else:
            yield from tokens(text, start, stop)
        end = stop


def _parts(text: str, low: str, letters: frozenset[str]) -> Iterator[Stretch]:
    """The parts in order, apart from each other; each is looked for when it is asked for."""
    # Within base64, which is no words, a word's own edges are no cuts.
    cut = _CUT if _EACH_OF_BLOB.search(text[::_EACH]) else _FINE_CUT
    ways = [_around(text, low, one, cut) for one in letters]
    odd = None if text.isascii() and "'" not in text else _ODD.search(text)
    if odd:
        ways.append(_part(text, one.start(), _CUT) for one in _ODD.finditer(text, odd.start()))
    begin = end = -1
    for start, stop in merge(*ways) if len(ways) != 1 else ways[0]:
        if start > end:
            if end > 0:
                yield begin, end
            begin, end = start, stop
        end = max(end, stop)
    if end > 0:
        yield begin, end


def _around(text: str, low: str, letters: str, cut: re.Pattern[str]) -> Iterator[Stretch]:
    """The parts with these letters in them, at the beginning of a term. Of a run of signs that is
    no more than what begins with them, for each two signs of it are a token."""
    run = _SIGN.match(letters)
    at = low.find(letters)
    while at >= 0:
        following = at + 1
        if run:
            end = at + len(letters)
            yield at, end + (_SIGN.match(text, end) is not None)
        elif at == 0 or not _WITHIN.match(text, at - 1):  # between two small letters, none begins
            part = _part(text, at, cut)
            yield part
            following = part[1]
        at = low.find(letters, following)


def _part(text: str, at: int, cut: re.Pattern[str]) -> Stretch:
    """The part of the text around `at`, between two cuts."""
    following = cut.search(text, at)
    stop = following.start() if following else len(text)
    if at == 0 or cut.match(text, at - 1):
        return at, stop
    start, step = at, _STEP
    while start > 0:
        begin = max(0, start - step)
        cuts = [match.end() for match in cut.finditer(text, begin, start)]
        if cuts:
            return cuts[-1], stop
        start, step = begin, step * 2
    return 0, stop


@lru_cache(maxsize=1_000)
def beginnings(stem: str) -> frozenset[str]:
    """Letters of which each word with that stem holds some: what no rule of stemming changes."""
    kept = stem[:-2] if len(stem) > 3 else stem[:-1]
    return frozenset({kept or stem, *irregular(stem)}) if stem.isascii() else frozenset({stem})


def all_beginnings(stems: Iterable[str]) -> frozenset[str]:
    """`beginnings` of each."""
    return frozenset[str]().union(*map(beginnings, stems))
