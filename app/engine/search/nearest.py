"""Words of the index that are spelled like one that is not there.

Idea: an index knows its vocabulary; a wrong letter, a missing or a swapped one is a short distance.
Bounded: a few thousand words with the same beginning are compared, none longer than the clock
allows. Invariant: every word offered stands in the index now.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import zip_longest

from app.engine.search.store import Store

COMPARED = 30_000
"""Words of one beginning that are looked at."""
CLOSE_BEGINNING = 3
"""Letters a word must share at its beginning when nobody is there to choose."""
ROOT, ENDING = 5, 4
"""Letters of a root at least, and letters of an ending at most."""
MOST = 5
SECONDS, CLOSE_SECONDS = 0.06, 0.01
"""How long words are looked for instead of hits, and beside them."""
LOOK_UP = 100
"""Words after which one looks at the clock, and whether somebody still waits."""


def nearest_words(
    store: Store, words: list[str], halt: Callable[[], bool], *, close: bool = False
) -> dict[str, list[str]]:
    """Up to `MOST` words for each of `words`, nearest first, then those found most.

    With `close` only those with the same beginning, which costs little. Each has its share of the
    time. Ends at once, with what there is, when `halt()` is true.
    """
    share = (CLOSE_SECONDS if close else SECONDS) / max(1, len(words))
    return {word: _nearest(store, word, words, halt, share, close) for word in words}


def in_turn(near: dict[str, list[str]]) -> tuple[str, ...]:
    """Up to `MOST` of all these: the first for each word, then the second for each."""
    rounds = zip_longest(*near.values())
    return tuple(dict.fromkeys(word for turn in rounds for word in turn if word))[:MOST]


def _nearest(
    store: Store, word: str, but: list[str], halt: Callable[[], bool], seconds: float, close: bool
) -> list[str]:
    end = time.monotonic() + seconds
    found: dict[str, int] = {}
    # The wrong letter may be the first one: at last, all words are looked at while time lasts.
    ways = (word[:3], word[:2], word[:1], word[1:2], "")
    for beginning in dict.fromkeys(ways[:2] if close else ways):
        for away, near in _near(store, word, beginning, end, halt):
            if near not in but:
                found[near] = min(away, found.get(near, away))
        if len(found) >= MOST or time.monotonic() > end or halt():
            break
    counts = store.documents_with(list(found))
    return sorted(found, key=lambda near: (found[near], -counts[near], near))[:MOST]


def meant(store: Store, word: str, halt: Callable[[], bool]) -> list[str]:
    """Words that one nobody wrote surely stands for: a slip away, or longer or shorter at its end
    (precautionary, precaution); all with the same beginning."""
    if len(word) <= CLOSE_BEGINNING or not word.isalpha():
        return []
    end = time.monotonic() + 0.01
    found = [near for _, near in _near(store, word, word[:CLOSE_BEGINNING], end, halt)]
    if len(word) < ROOT:
        return found
    begun = store.spelled(word[:ROOT], ROOT, len(word) + ENDING, COMPARED // 10)
    return found + [
        other
        for other in begun
        if other not in found
        and (word.startswith(other) or other.startswith(word))
        and abs(len(word) - len(other)) <= ENDING
    ]


def _near(
    store: Store, word: str, beginning: str, end: float, halt: Callable[[], bool]
) -> list[tuple[int, str]]:
    """(distance, word) of the words with that beginning that are near enough to `word`."""
    most = 1 if len(word) < 7 else 2
    if len(word) == 1:
        return []
    letters = set(word)
    found: list[tuple[int, str]] = []
    spelled = store.spelled(beginning, max(2, len(word) - most), len(word) + most, COMPARED)
    for at, other in enumerate(spelled):
        if at % LOOK_UP == 0 and (time.monotonic() > end or halt()):
            break
        if len(letters.symmetric_difference(other)) > 2 * most or other == word:
            continue
        away = distance(word, other, most)
        if away <= most:
            found.append((away, other))
    return found


def distance(one: str, other: str, most: int) -> int:
    """Letters to change, add, leave out or swap with the next to make `other` of `one`.

    Anything above `most` is given as `most + 1`.
    """
    if abs(len(one) - len(other)) > most:
        return most + 1
    before: list[int] = []
    last = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        row = [i]
        for j, b in enumerate(other, 1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
        before, last = last, row
    return min(last[-1], most + 1)
