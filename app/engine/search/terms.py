"""How text becomes terms: the one place that knows.

Idea: index and query see text through the same eyes. A text is a row of tokens; each has the exact
stretch of the original it came from, the main term (first of `terms`), further terms (parts of an
identifier, a word without its possessive), and a stem where that differs. The main terms in order
are what a phrase is matched against; the others follow behind a fence, so no phrase crosses it.

Invariant: a term never holds white space or ASCII punctuation, so it needs no quoting anywhere, and
`text[token.start:token.end]` is what a person reads at that place. Offsets are code points. Pure.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache

from msgspec import Struct

from app.engine.search.stems import stem

FENCE = "\ue000"
"""Stands between main terms and the rest; no text yields it as a term."""
STEM_MARK = "\ue001"
"""First character of an indexed stem, so that an exact search never meets one."""
LONGEST = 64
"""Characters of a term that count; longer words share their beginning."""

# Scripts written without spaces between words: Han, kana, bopomofo, Hangul, Thai, Lao, Burmese,
# Khmer. Half-width and compatibility forms belong to them.
_RUN = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u1000-\u109f\u1100-\u11ff\u1780-\u17d3"
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u302f\u3031-\u3035\u3038-\u303c\u3041-\u3096\u3099-\u309f"
    "\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u3131-\u318e\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb\uf900-\ufaff\uff66-\uff9f\uffa0-\uffdc"
    "\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
_SYMBOL = "\u2190-\u21ff\u2300-\u23ff\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff\U0001f000-\U0001faff"
_JOINERS = "\u200c\u200d\u00ad\ufe00-\ufe0f\U000e0100-\U000e01ef"
_BLOB = r"[A-Za-z0-9+/_\-]{256,}={0,2}"

_ASCII_TOKEN = re.compile(rf"(?P<blob>{_BLOB})|(?P<word>[A-Za-z0-9]++(?:'[A-Za-z0-9]++)*+)")
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_CLUSTER = re.compile(
    r"[\u1100-\u115f\ua960-\ua97c]+[\u1160-\u11a7\ud7b0-\ud7c6]*[\u11a8-\u11ff\ud7cb-\ud7fb]*"
    rf"|.[\u0300-\u036f\u3099\u309a\uff9e\uff9f{_JOINERS}]*",
    re.DOTALL,
)
_JUNK = re.compile(rf"[\x00-/:-@\[-`{{-\x7f\s{_JOINERS}{FENCE}{STEM_MARK}]+")
_POINTS = re.compile("[\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670]+")
_PLAIN_RUN = re.compile("[\u3041-\u3096\u30a1-\u30fa\u30fc\u4e00-\u9fff\uac00-\ud7a3]+")
_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe", "ı": "i", "ð": "d", "þ": "th", "ħ": "h"}
)
_CONTRACTIONS = frozenset({"t", "re", "ve", "ll", "d", "m"})


class Token(Struct, frozen=True):
    """One place in a text. `terms[0]` is the main term; `stem` is "" where it is the main term.

    `start` and `end` are code points of the original text. `run` marks a piece of a script that
    is written without spaces; its pieces overlap, and the last one is a single character.
    """

    start: int
    end: int
    terms: tuple[str, ...]
    stem: str = ""
    run: bool = False


@cache
def _token_pattern() -> re.Pattern[str]:
    """The pattern for text that is not all ASCII; built once, as marks have to be listed."""
    run = re.compile(f"[{_RUN}]")
    marks = "".join(
        re.escape(chr(code))
        for code in range(0x300, 0x10000)
        if unicodedata.category(chr(code))[0] == "M" and not run.match(chr(code))
    )
    letter = rf"[A-Za-z0-9]|(?![{_RUN}])[^\W_]"
    return re.compile(
        rf"(?P<blob>{_BLOB})|(?P<run>[{_RUN}][{_RUN}{_JOINERS}]*+)"
        rf"|(?P<word>(?:{letter})(?:[A-Za-z0-9]++|{letter}|[{marks}{_JOINERS}]"
        rf"|['’ʼ＇](?={letter}))*+)"
        rf"|(?P<symbol>[{_SYMBOL}])"
    )


def fold(text: str) -> str:
    """Case, width and diacritics away (NFKC, casefold). Lengths may change."""
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKC", text).casefold().translate(_LETTERS)
    return unicodedata.normalize("NFC", _POINTS.sub("", unicodedata.normalize("NFD", folded)))


def fold_with_map(text: str) -> tuple[str, list[int]]:
    """Folded text, and for each of its characters (and the end) the offset it came from.

    Folds cluster by cluster, so that a match in the folded text can be shown in the original.
    """
    if text.isascii():
        return text.lower(), list(range(len(text) + 1))
    out: list[str] = []
    at: list[int] = []
    for match in _CLUSTER.finditer(text):
        piece = fold(match.group())
        out.append(piece)
        at.extend([match.start()] * len(piece))
    at.append(len(text))
    return "".join(out), at


@lru_cache(maxsize=50_000)
def _word(word: str) -> tuple[tuple[str, ...], str]:
    """Terms and stem of one word (cached: a language repeats itself)."""
    plain = word.replace("’", "'").replace("ʼ", "'").replace("＇", "'")
    pieces = plain.split("'")
    main = _clean(fold("".join(pieces)))
    if not main:
        return (), ""
    terms = [main]
    base = main
    if len(pieces) > 1:
        tail = pieces[-1].lower()
        if tail == "s":
            base = _clean(fold("".join(pieces[:-1])))
            terms.append(base)
        elif tail not in _CONTRACTIONS:
            terms += [_clean(fold(piece)) for piece in pieces if len(piece) > 1]
    elif not (word.islower() or word.isupper() or word[1:].islower()) and word.isascii():
        parts = _CAMEL.findall(word)
        if 1 < len(parts) <= 6 and max(map(len, parts)) > 2:
            terms += [part.lower() for part in parts if len(part) > 1]
    stemmed = stem(base)
    unique = tuple(dict.fromkeys(term for term in terms if term))
    return unique, "" if stemmed == main else stemmed


def _clean(folded: str) -> str:
    return _JUNK.sub("", folded)[:LONGEST]


def tokens(text: str) -> Iterator[Token]:
    """The tokens of `text` in order. Base64-like stretches yield nothing."""
    pattern = _ASCII_TOKEN if text.isascii() else _token_pattern()
    for match in pattern.finditer(text):
        kind = match.lastgroup
        if kind == "word":
            terms, stemmed = _word(match.group())
            if terms:
                yield Token(match.start(), match.end(), terms, stemmed)
        elif kind == "run":
            yield from _run_tokens(match.group(), match.start())
        elif kind == "symbol":
            term = _clean(fold(match.group()))
            if term:
                yield Token(match.start(), match.end(), (term,))


def _run_tokens(run: str, start: int) -> Iterator[Token]:
    """Overlapping pairs and the last character of one run."""
    if _PLAIN_RUN.fullmatch(run):
        folded, at = run, range(len(run) + 1)
    else:
        folded, at = _fold_run(run)
    last = len(folded) - 1
    for i in range(last):
        yield Token(start + at[i], start + _end(at, i + 1), (folded[i : i + 2],), run=True)
    if last >= 0:
        yield Token(start + at[last], start + at[last + 1], (folded[last],), run=True)


def _run_terms(run: str) -> list[str]:
    """The terms of one run, as `_run_tokens` has them."""
    folded = run if _PLAIN_RUN.fullmatch(run) else _fold_run(run)[0]
    return [folded[i : i + 2] for i in range(len(folded) - 1)] + ([folded[-1]] if folded else [])


def _fold_run(run: str) -> tuple[str, list[int]]:
    """`fold_with_map` of a run, without characters that no term may hold."""
    out: list[str] = []
    at: list[int] = []
    for match in _CLUSTER.finditer(run):
        piece = _JUNK.sub("", fold(match.group()))
        out.append(piece)
        at.extend([match.start()] * len(piece))
    at.append(len(run))
    return "".join(out), at


def _end(at: list[int] | range, i: int) -> int:
    """Where the cluster ends that folded character `i` came from."""
    here = at[i]
    j = i + 1
    while at[j] == here:
        j += 1
    return at[j]


def index_text(text: str) -> str:
    """What the full-text table stores for `text`: main terms, a fence, then the other terms."""
    main: list[str] = []
    rest: list[str] = []
    pattern = _ASCII_TOKEN if text.isascii() else _token_pattern()
    # The same walk as `tokens`, without their places: this is the hot path of indexing.
    for match in pattern.finditer(text):
        kind = match.lastgroup
        if kind == "word":
            terms, stemmed = _word(match.group())
            if terms:
                main.append(terms[0])
                rest += terms[1:]
            if stemmed:
                rest.append(STEM_MARK + stemmed)
        elif kind == "run":
            main += _run_terms(match.group())
        elif kind == "symbol" and (term := _clean(fold(match.group()))):
            main.append(term)
    if not rest:
        return " ".join(main)
    return f"{' '.join(main)} {FENCE} {' '.join(rest)}"
