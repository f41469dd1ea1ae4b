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
from itertools import chain
from operator import add
from sys import maxsize

from msgspec import Struct

from app.engine.search.stems import stem

LONGEST_REMARK = 400
"""Characters at the end of a text that say whether it asks."""
FENCE = "\ue000"
"""Stands between main terms and the rest; no text yields it as a term."""
STEM_MARK = "\ue001"
"""First character of an indexed stem, so that an exact search never meets one."""
LONGEST = 64
"""Characters of a term that count; longer words share their beginning."""

# Scripts written without spaces between words: Han, kana, bopomofo, Hangul, Thai, Lao, Burmese,
# Khmer. Half-width and compatibility forms belong to them.
_FAR = "\U0001b000-\U0001b16f\U00020000-\U0003ffff"
_RUN = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u1000-\u109f\u1100-\u11ff\u1780-\u17d3"
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u302f\u3031-\u3035\u3038-\u303c\u3041-\u3096\u3099-\u309f"
    "\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u3131-\u318e\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb\uf900-\ufaff\uff66-\uff9f\uffa0-\uffdc"
    f"{_FAR}"
)
_SYMBOL = "\u2190-\u21ff\u2300-\u23ff\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff\U0001f000-\U0001faff"
_FAR_JOINERS = "\U000e0100-\U000e01ef"
_JOINERS = f"\u200c\u200d\u00ad\ufe00-\ufe0f{_FAR_JOINERS}"
BLOB = 256
"""Characters without a gap after which a stretch is taken for base64 and not for words."""
MOST_SPELLED = 100_000
"""Different words that are kept as they are written."""
_BLOB = rf"[A-Za-z0-9+/_\-]{{{BLOB},}}={{0,2}}"
# No group is repeated possessively: Python 3.11.2 goes on behind what such a group did not match.
# And none without an end, for each time costs memory.
_TIMES = "{0,4000}"
_WORD = f"[A-Za-z0-9]++(?:'[A-Za-z0-9]++){_TIMES}"

_BLOB_ALONE = re.compile(_BLOB)
_EACH = 8
_EACH_OF_BLOB = re.compile(rf"[A-Za-z0-9+/_\-]{{{BLOB // _EACH}}}")
_ASCII_TOKEN = re.compile(rf"(?P<blob>{_BLOB})|(?P<word>{_WORD})")
_ASCII_WORD = re.compile(_WORD)
_ASCII_OR_BLOB = re.compile(rf"{_BLOB}|{_WORD}")
_ASKS = re.compile(r"[?？]\s*(?:\[[^\[\]]*\]|\([^()]*\)|（[^（）]*）)?\s*\Z")
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_CLUSTER = re.compile(
    r"[\u1100-\u115f\ua960-\ua97c]+[\u1160-\u11a7\ud7b0-\ud7c6]*[\u11a8-\u11ff\ud7cb-\ud7fb]*"
    rf"|.[\u0300-\u036f\u3099\u309a\uff9e\uff9f{_JOINERS}]*",
    re.DOTALL,
)
_JUNK = re.compile(rf"[\x00-/:-@\[-`{{-\x7f\s{_JOINERS}{FENCE}{STEM_MARK}]+")
_POINTS = re.compile("[\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670]+")
_RUN_SIGN = re.compile(f"[{_RUN}]")
_PLAIN = "[\u3041-\u3096\u30a1-\u30fa\u30fc\u4e00-\u9fff\uac00-\ud7a3]+"
_PLAIN_RUN = re.compile(_PLAIN)
_PUNCTUATION = (
    "\u2013\u2014\u2018\u201c\u201d\u2022\u2026\u3000-\u3002\u3008-\u3011"
    "\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f"
)
_PLAIN_RUNS = re.compile(f"({_PLAIN})[{_PUNCTUATION}]*")
_UNUSUAL = re.compile(f"[^\x00-\x7f{_PUNCTUATION}]")
_HERE, _QUOTE = "\0", "\1"
"""Stand for a run and for an apostrophe within a word while a text is cut."""
_INNER_QUOTE = re.compile("'(?<=[A-Za-z0-9]')(?=[A-Za-z0-9])")
_GAPS = bytes(n if n < 2 or (n < 128 and chr(n).isalnum()) else 32 for n in range(256))
_LOWER = bytes(range(256)).lower()
_SIGN = 3
"""Bytes of each sign of a plain run, and of the fence."""
_PAIR = 2 * _SIGN + 1
"""Bytes of two of them, and a gap."""
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


class _Shapes(Struct, frozen=True):
    """The patterns of what a text that is not all ASCII is made of."""

    run: str
    word: str
    symbol: str


@cache
def _shapes() -> _Shapes:
    """Built once, as marks have to be listed."""
    # Signs beyond U+FFFF stand apart: within one class they would make each look-up a slow one.
    common, far = _RUN[: _RUN.index(_FAR)], _FAR
    joiners, far_joiners = _JOINERS[: _JOINERS.index(_FAR_JOINERS)], _FAR_JOINERS
    marks = "".join(
        re.escape(chr(code))
        for code in range(0x300, 0x10000)
        if unicodedata.category(chr(code))[0] == "M" and not _RUN_SIGN.match(chr(code))
    )
    letter = rf"[A-Za-z0-9]|(?![{common}])(?![{far}])[^\W_]"
    return _Shapes(
        rf"(?:[{common}]|[{far}])(?:[{common}{joiners}]++|[{far}{far_joiners}]){_TIMES}",
        rf"(?:{letter})(?:[A-Za-z0-9]++|{letter}|[{marks}{joiners}]|[{far_joiners}]"
        rf"|['’ʼ＇](?={letter})){_TIMES}",
        f"[{_SYMBOL}]",
    )


@cache
def _token_pattern() -> re.Pattern[str]:
    """The tokens of any text, by kind."""
    shape = _shapes()
    return re.compile(
        rf"(?P<blob>{_BLOB})|(?P<run>{shape.run})|(?P<word>{shape.word})|(?P<symbol>{shape.symbol})"
    )


@cache
def _any_token(*, blobs: bool) -> re.Pattern[str]:
    """The same tokens as whole matches; without `blobs` for a text that has none."""
    shape = _shapes()
    first = f"{_BLOB}|" if blobs else ""
    plain = r"[A-Za-z0-9]++(?![^\x00-\x7f]|')"
    return re.compile(f"{first}{plain}|{shape.run}|{shape.word}|{shape.symbol}")


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
    if word.isascii() and word.isalnum():
        pieces, main = [word], word.lower()[:LONGEST]
    else:
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


def tokens(text: str, start: int = 0, end: int = maxsize) -> Iterator[Token]:
    """The tokens of `text` (of its part from `start` to `end`) in order.

    Base64-like stretches yield nothing.
    """
    pattern = _ASCII_TOKEN if text.isascii() else _token_pattern()
    for match in pattern.finditer(text, start, end):
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


class _Unusual(Exception):
    """A text that `_usual_terms` cannot cut."""


class _Rest(dict[str, str]):
    """The other terms of each word that was met, "" where there are none.

    A language repeats itself: looking a word up costs a tenth of walking to it in Python.
    """

    def __missing__(self, word: str) -> str:
        if len(word) > LONGEST:
            raise _Unusual
        if len(self) > MOST_SPELLED:
            self.clear()
        if word.islower() and word.isalnum():  # most words
            stemmed = stem(word)
            self[word] = "" if stemmed == word else STEM_MARK + stemmed
        elif word[1:].islower() and word.isalnum():  # at the beginning of a sentence
            self[word] = self[word.lower()]
        else:
            self[word] = _other_terms(*_word(word.replace(_QUOTE, "'")))
        return self[word]


class _Spelled(dict[str, tuple[str, str]]):
    """The main terms and the other terms of each token that was met."""

    def __missing__(self, token: str) -> tuple[str, str]:
        plain = _PLAIN_RUN.fullmatch(token)
        if plain or _RUN_SIGN.match(token):  # not kept: hardly ever does the same one come again
            run = token if plain else _fold_run(token)[0]
            return " ".join([*map(add, run, run[1:]), run[-1:]]), ""
        if len(token) >= BLOB and _BLOB_ALONE.fullmatch(token):
            return "", ""
        if len(self) > MOST_SPELLED:
            self.clear()
        terms, stemmed = _word(token)
        self[token] = (terms[0] if terms else "", _other_terms(terms, stemmed))
        return self[token]


_rest, _spelled = _Rest(), _Spelled()


def _other_terms(terms: tuple[str, ...], stemmed: str) -> str:
    return " ".join([*terms[1:], STEM_MARK + stemmed] if stemmed else terms[1:])


def index_text(text: str) -> tuple[bytes, int]:
    """What the full-text table stores for `text`, in UTF-8: main terms, a fence, then the other
    terms; and how many terms these are."""
    # The same walk as `tokens`, without their places, and without a step of Python for each: this
    # is the hot path of indexing.
    try:
        main, rest, count = _usual_terms(text)
    except _Unusual:
        longest = max(map(len, text.split()), default=0)
        found = [_spelled[token] for token in _finder(text, longest).findall(text)]
        spelled = " ".join([main for main, _ in found if main])
        rest = " ".join([rest for _, rest in found if rest])
        main, count = spelled.encode(), spelled.count(" ") + (spelled != "")
    if not rest:
        return main, count
    return main + f" {FENCE} {rest}".encode(), count + rest.count(" ") + 1


def _usual_terms(text: str) -> tuple[bytes, str, int]:
    """Main and other terms of a text of ASCII words, plain runs and their punctuation; and how
    many main ones.

    Raises `_Unusual` when anything else may stand in it: other letters, symbols, a long word.
    """
    if _HERE in text or _QUOTE in text:
        raise _Unusual
    parts = [text] if text.isascii() else _PLAIN_RUNS.split(text)
    runs = parts[1::2]
    plain = f" {_HERE} ".join(parts[::2])
    if (not plain.isascii() and _UNUSUAL.search(plain)) or _EACH_OF_BLOB.search(plain[::_EACH]):
        raise _Unusual
    if "'" in plain:
        plain = _INNER_QUOTE.sub(_QUOTE, plain)
    spelled = plain.encode("ascii", "replace").translate(_GAPS)
    words = spelled.decode("ascii").split()
    rest = " ".join(filter(None, map(_rest.__getitem__, words)))
    main = spelled.translate(_LOWER, _QUOTE.encode())
    if not runs:
        return main, rest, len(words)
    between = main.split(_HERE.encode())
    main = b"".join(chain.from_iterable(zip(between, [*_pairs(runs), b""], strict=True)))
    return main, rest, len(words) - len(runs) + sum(map(len, runs))


def _pairs(runs: list[str]) -> list[bytearray]:
    """`ab bc c` for each plain run `abc`, all at once: a step for each sign would cost tenfold."""
    signs = FENCE.join(["", *runs]).encode()
    pairs = bytearray(b" ") * (len(signs) // _SIGN * _PAIR)
    for byte in range(_SIGN):
        column = signs[byte::_SIGN]
        pairs[byte::_PAIR] = column
        pairs[byte + _SIGN : -_PAIR : _PAIR] = column[1:]
    # Between two runs, `c` and `de`, it is `c_ _d de e` now, with a fence for each line.
    fence = FENCE.encode()
    found = pairs[_SIGN:].rstrip().split(fence + b" " + fence)
    return [one[_SIGN + 1 :] for one in found]


def asks(text: str) -> bool:
    """Whether a text ends by asking; a remark in brackets behind the question does not count."""
    end = text[-LONGEST_REMARK:]
    return ("?" in end or "？" in end) and _ASKS.search(end) is not None


def main_and_other_terms(text: str) -> tuple[list[str], list[str]]:
    """What the full-text table stores for `text`, as lists; stems without their mark."""
    main, _, rest = index_text(text)[0].decode().partition(FENCE)
    return main.split(), rest.replace(STEM_MARK, "").split()


def _finder(text: str, longest: int) -> re.Pattern[str]:
    """The quickest pattern that finds the tokens of `text` as whole matches."""
    blobs = longest >= BLOB and _BLOB_ALONE.search(text) is not None
    if text.isascii():
        return _ASCII_OR_BLOB if blobs else _ASCII_WORD
    return _any_token(blobs=blobs)
