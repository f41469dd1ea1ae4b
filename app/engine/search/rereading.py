"""What the texts of the best candidates add to what the index knew of them.

Idea: the index says that a term stands in a document; the text says how often, in how long a text,
and who says it ("Ann: …" is Ann's own line, and only she can tell what Ann did). Words that the
best candidates share tell what the question is about without having said so: a hit that holds them
too is a little better (pseudo-relevance feedback). Pure; all weights are ratios without a unit.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from app.engine.search.bm25 import rarity, strength
from app.engine.search.natural import Unit, stop_words
from app.engine.search.ranking import Place, Reading
from app.engine.search.stems import stem
from app.engine.search.terms import asks, main_and_other_terms

READ = 20_000
"""Characters of a text that are looked at."""
LENGTH = 0.3
"""BM25's b: the entries of a conversation are short, so a long one loses less than a page does."""
USUAL_WORDS = 200
"""Words above which a text counts no further when the usual length is taken."""
SPEAKER, MENTIONED = 2.5, 0.8
"""What a speaker's name is worth before their own line, and in a line of somebody else."""
NAME = re.compile(r"\s*([^:：\n]{1,24})[:：]")
SHARED_BY, SHARED_WORDS, SHARED = 20, 30, 0.1
"""Among how many of the best words are looked for, how many of them count, and how much."""
MOST_LOOKED_UP = 60
"""Shared words whose rarity the index is asked for."""
COMMON_WORD, COMMON_WORDS = 0.1, 2_500
"""Share of all documents, and number of them, from which on a shared word tells nothing."""


class Read(Struct):
    """One candidate's text: its stems with how often each, words in all, how often it holds each
    unit, the terms of the speaker's name, and whether it asks."""

    stems: Counter[str]
    length: int
    counts: list[int]
    speaker: frozenset[str]
    asks: bool


def look_at(text: str, units: Sequence[Unit]) -> Read:
    """Count what matters in a text; of a long one, in its beginning."""
    main, rest = main_and_other_terms(text[:READ])
    stems = Counter(map(stem, main))
    terms = Counter(main)
    terms.update(rest)
    counts = [_count(unit, terms, main) for unit in units]
    name = NAME.match(text)
    speaker = _names(name[1]) if name else frozenset[str]()
    return Read(stems, max(len(main), 1), counts, speaker, asks(text))


def _names(text: str) -> frozenset[str]:
    main, rest = main_and_other_terms(text)
    return frozenset({*main, *rest, *map(stem, main)})


def _count(unit: Unit, terms: Counter[str], main: Sequence[str]) -> int:
    if unit.words:
        size = len(unit.words)
        runs = (tuple(main[i : i + size]) for i in range(len(main) - size + 1))
        return sum(run == unit.words for run in runs)
    if unit.open:
        return sum(n for term, n in terms.items() if term.startswith(unit.stem))
    return sum(terms[one] for one in (unit.stem, *unit.also))


def readings(seen: Mapping[Place, Read], units: Sequence[Unit]) -> dict[Place, Reading]:
    """How much of each unit each text holds."""
    usual = _usual(seen)
    names = frozenset[str]().union(*(one.speaker for one in seen.values()))
    return {
        place: Reading(
            [
                strength(count, one.length / usual, LENGTH) * _said(unit, one, names)
                for count, unit in zip(one.counts, units, strict=True)
            ],
            one.asks,
        )
        for place, one in seen.items()
    }


def _usual(seen: Mapping[Place, Read]) -> float:
    """The usual length of a text."""
    lengths = [min(one.length, USUAL_WORDS) for one in seen.values()]
    return sum(lengths) / max(1, len(lengths)) or 1.0


def _said(unit: Unit, one: Read, names: frozenset[str]) -> float:
    if unit.stem not in names:
        return 1.0
    return SPEAKER if unit.stem in one.speaker else MENTIONED


def shared_words(
    best: Sequence[tuple[float, Place]], seen: Mapping[Place, Read], units: Sequence[Unit],
    total: int, counted: Callable[[list[str]], Mapping[str, int]],
) -> dict[str, float]:  # fmt: skip
    """Words that several of the best texts share, with what each is worth.

    `counted` says in how many of the `total` documents words (stems) stand.
    """
    if not best or best[0][0] <= 0:
        return {}
    left_out = {*stop_words()[0], *(unit.stem for unit in units)}
    among: Counter[str] = Counter()
    weight: Counter[str] = Counter()
    for score, place in best[:SHARED_BY]:
        one = seen[place]
        for word in one.stems.keys() - one.speaker - left_out:
            among[word] += 1
            weight[word] += score / best[0][0]  # type: ignore[assignment]  # a Counter adds floats
    words = [word for word, n in among.items() if n > 1 and (len(word) > 2 or not word.isascii())]
    words = sorted(words, key=lambda word: -weight[word])[:MOST_LOOKED_UP]
    known = counted(words)
    worth = {
        word: weight[word] * math.log(total / known[word])
        for word in words
        if 0 < known.get(word, 0) <= COMMON_WORD * total and known[word] < COMMON_WORDS
    }
    top = sorted(worth, key=lambda word: -worth[word])[:SHARED_WORDS]
    return {word: SHARED * worth[word] / worth[top[0]] * rarity(known[word], total) for word in top}


def with_shared(
    scored: Sequence[tuple[float, Place]], seen: Mapping[Place, Read], words: Mapping[str, float]
) -> list[tuple[float, Place]]:
    """The scores, each with what the shared words in its text add."""
    usual = _usual(seen)
    return [
        (
            score
            + sum(
                worth * strength(seen[place].stems[word], seen[place].length / usual, LENGTH)
                for word, worth in words.items()
                if word in seen[place].stems
            ),
            place,
        )
        for score, place in scored
    ]
