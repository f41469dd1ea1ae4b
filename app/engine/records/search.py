"""What is looked for and found."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import Struct

Layer = Literal["memory", "history", "daily", "sessions", "evicted"]
LAYERS: tuple[Layer, ...] = ("memory", "history", "daily", "sessions", "evicted")
SearchMode = Literal["auto", "words", "natural", "literal"]
Cause = Literal["filters", "session", "gone", "late", "short", "signs", "left_out", "building"]
"""Why there are no hits: filters leave them out; no session of that id; they are gone from the
files; not all could be looked through in time; a single letter is no word; there is no letter or
digit; files are not indexed; the index is still being built."""


class Query(Struct, frozen=True):
    """What a person or a model asked for. `text` may hold filters; `layers` empty means all.

    `start` is the `next` of the page before, for the hits after it. `context` is how many entries
    before and after a session's hit are to come with it. `fold` makes one hit, with its `places`,
    of the same line found in MEMORY.md, logs and history (natural mode does it with all hits).
    What `skip_tools` were asked and answered is as if it were not there. `quick` wants the newest
    hits at once, whatever it costs to know more: nothing is ranked, only the hits given are
    counted, and none of them needs no reason.
    """

    text: str
    mode: SearchMode = "auto"
    layers: frozenset[Layer] = frozenset()
    limit: int = 200
    newest_first: bool = False
    start: int = 0
    context: int = 0
    fold: bool = False
    skip_tools: frozenset[str] = frozenset()
    quick: bool = False


class Span(Struct, frozen=True, gc=False):
    """A marked stretch of a hit's text, in code points."""

    start: int
    end: int


class HitPlace(Struct, frozen=True, gc=False):
    """Another place where a hit's line stands word for word."""

    layer: Layer
    path: str
    line: int
    when: datetime | None = None
    session_id: str = ""
    entry_id: str = ""
    role: str = ""


class Hit(Struct, frozen=True, gc=False):
    """One found line or session entry. `score`: larger is better.

    `places`: where else the same line stands (log, file, history), best first; those are no hits
    of their own on the page. `before` and `after`: the neighbouring entries' texts in log order,
    when the query asked for `context`.

    In the layer `history` the path names no file: `history:12` is version 12 of MEMORY.md (`role`
    `added` or `dropped`; `line` is that of the version, of a dropped line that of the one before),
    `proposal:<id>` a proposal (`role` `proposed`, `line` in its text).
    """

    layer: Layer
    path: str
    line: int
    text: str
    spans: tuple[Span, ...]
    score: float
    when: datetime | None = None
    session_id: str = ""
    entry_id: str = ""
    role: str = ""
    tool: str = ""
    places: tuple[HitPlace, ...] = ()
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


class SearchResult(Struct, frozen=True):
    """Hits, how many there are in all per layer, the mode that answered, and why there are none.

    `next` is what `Query.start` has to be for the following page, 0 when this one is the last.
    `total` and `counts` count every place, also those folded into `Hit.places`. `nearest`: words of
    the index that are spelled like those asked for that stand nowhere, nearest first. `note` says
    what of the query was not taken as it may have been meant: what looks like a filter and is
    none; beside hits, words that stand nowhere. `causes` are what `reason` says, for programs that
    offer a way out.
    """

    hits: tuple[Hit, ...]
    total: int
    counts: dict[str, int]
    mode: SearchMode
    reason: str = ""
    seconds: float = 0.0
    complete: bool = True
    next: int = 0
    nearest: tuple[str, ...] = ()
    note: str = ""
    causes: frozenset[Cause] = frozenset()

    @property
    def remark(self) -> str:
        """All there is to say beside the hits, or instead of them."""
        return f"{self.note} {self.reason}".strip()


class LeftOut(Struct, frozen=True):
    """A file of the workspace that is not indexed, and why: "is written in UTF-16"."""

    path: str
    why: str


class IndexState(Struct, frozen=True):
    """`state`: building, ready, stale, unavailable. `done` of `total` files while building.

    `terms`: how many words it holds, each counted where it stands.
    """

    state: str
    done: int = 0
    total: int = 0
    note: str = ""
    terms: int = 0
