"""The same line found in several places is one hit (ux, section 7).

Idea: a fact stands in a daily log, in MEMORY.md and in its history, word for word; a person wants
it once, and to know where. Messages are folded in answer to a question only: who looks for a word
wants each time it was said. There, lines that are nearly the same are one hit, too: the same words
in the same order, whatever their case, articles and punctuation. A number, a sign, another tense or
a word more is another statement, and stays. Pure.
"""

from __future__ import annotations

import re

from msgspec.structs import replace

from app.engine.records import LAYERS, Hit, HitPlace, Query
from app.engine.search.terms import fold

LINES = frozenset({"memory", "daily", "history"})
_NEARER = ("memory", "daily", "sessions", "evicted", "history")
"""Layers from what holds now to what once held."""
MOST_PLACES = 50
"""Places of one hit that are named."""
_SHORT = 1_000  # characters; longer texts are nearly the same only when they are the same
_BREAK = re.compile(r"[\s;!?。、…]+|(?<!\d),|,(?!\d)")
_EDGES = ".:'\"()[]{}*_`“”‘’「」《》"
_EMPTY = frozenset({"a", "an", "the", "-"})


class Folding:
    """Collects hits in their order; those with the same text, in these `layers`, become one.

    With `nearly`, those that say the same in nearly the same words do.
    """

    def __init__(self, layers: frozenset[str], *, nearly: bool = False) -> None:
        self.hits: list[Hit] = []
        self._nearly = nearly
        self._layers = layers
        self._at: dict[str, int] = {}

    def add(self, hit: Hit, text: str) -> None:
        """One more hit, or one more place of an earlier hit. `text` is all of the hit's text."""
        same = self._same(text) if hit.layer in self._layers else ""
        at = self._at.get(same) if same else None
        if at is None:
            if same:
                self._at[same] = len(self.hits)
            self.hits.append(hit)
        elif len(self.hits[at].places) < MOST_PLACES:
            self.hits[at] = _together(self.hits[at], hit)

    def _same(self, text: str) -> str:
        """What two texts share that are one hit."""
        folded = fold(text).strip(" -*\t\r\n")
        return _gist(folded) or folded if self._nearly and len(folded) <= _SHORT else folded


def _gist(folded: str) -> str:
    """The words of a text that carry what it says, in their order."""
    words = (word.strip(_EDGES) for word in _BREAK.split(folded) if word)
    return " ".join(word for word in words if word and word not in _EMPTY)


def _together(first: Hit, other: Hit) -> Hit:
    """Both as one hit, at the place where a person would rather read it."""
    rather, further = sorted((first, other), key=lambda hit: _NEARER.index(hit.layer))
    place = HitPlace(
        further.layer, further.path, further.line, further.when, further.session_id,
        further.entry_id, further.role,
    )  # fmt: skip
    return replace(rather, score=first.score, places=(*first.places, place))


def folded_layers(query: Query, mode: str) -> frozenset[str]:
    """In which layers the same text is one hit, in the mode that answers."""
    if mode == "natural":
        return frozenset(LAYERS)
    return LINES if query.fold else frozenset()
