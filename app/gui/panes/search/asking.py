"""The questions behind one search: hits, layers that were crowded out, and ways out of nothing.

No widgets. Each question waits for the one before it, because a newer one stops an older one; being
cancelled in between is normal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from app.engine.records import (
    LAYERS,
    Cause,
    Hit,
    HitPlace,
    IndexState,
    LeftOut,
    Query,
    SearchResult,
)
from app.gui.look.text import number, plural, tr
from app.gui.panes.search.filters import Filter, joined, split
from app.gui.panes.search.model import IN_ALL, LAYER_WORDS

AT_ONCE = 30  # newest hits that are shown before others are ranked
FIRST = 200  # hits of the first page
SHORTEST = 3  # letters of a beginning that is offered
MOST_WAYS = 4
MOST_NEAREST = 3  # words of nearly the same spelling that are offered
# Hits of each further one. A larger page costs less for each hit, but the window paints at half its
# speed while a worker makes it: 400 are made in some 30 ms, which one paint can wait for.
LATER = 400
BY_DAY = 5_000  # best hits that are brought together by day


@dataclass(frozen=True)
class Asked:
    """What is searched for, all of it."""

    text: str
    mode: str = "auto"
    layer: str = "all"
    newest: bool = False
    grouping: str = "layer"

    @property
    def days_of_best(self) -> bool:
        """Whether hits come by weight and stand by day: each page finds its places among all."""
        return self.grouping == "day" and not self.newest

    def query(
        self, limit: int = FIRST, layer: str | None = None, start: int = 0, *, quick: bool = False
    ) -> Query:
        of = self.layer if layer is None else layer
        layers = frozenset() if of == "all" else frozenset({of})
        return Query(
            self.text, mode=self.mode, layers=layers, limit=limit,  # type: ignore[arg-type]
            newest_first=self.newest, start=start, fold=True, quick=quick,
        )  # fmt: skip


@dataclass(frozen=True)
class Out:
    """One way out of an empty result: what it would ask, "" for nothing more, and how many hits
    that gives; or the files to name."""

    icon: str
    title: str
    hits: int
    query: str
    mode: str
    layer: str
    files: tuple[LeftOut, ...] = ()

    @property
    def words(self) -> str:
        """What it leads to."""
        if self.files:
            return plural(len(self.files), "{n} file", "{n} files")
        hits = plural(self.hits, "{n} hit", "{n} hits")
        return hits if self.query else tr("Earlier searches, and how to ask")


@dataclass(frozen=True)
class Answer:
    """Hits of one search so far, and the counts of all layers.

    `result` is the first page; `next` is where the following one begins, 0 when there is none.
    """

    asked: Asked
    result: SearchResult
    counts: dict[str, int]
    hits: tuple[Hit, ...]
    next: int = 0

    @property
    def one_kind(self) -> bool:
        """Whether the hits stand in one list: by day, of a chosen layer, or of the only one."""
        only = sum(1 for count in self.counts.values() if count) == 1
        return self.asked.grouping == "day" or self.asked.layer != "all" or only

    @property
    def more(self) -> bool:
        """Whether there is a further page to show."""
        return bool(self.next) and not (self.asked.days_of_best and len(self.hits) >= BY_DAY)

    @property
    def cut(self) -> bool:
        """Whether there are matches that only the order by time reaches."""
        kept_back = bool(self.next) or (not self.result.complete and not self.result.reason)
        return kept_back and not self.more and not self.asked.newest


async def at_once(ask: Any, asked: Asked) -> Answer:
    """The newest hits, whatever the order asked for, while the answer takes its time."""
    newest = replace(asked, newest=True)
    result: SearchResult = await ask.search(newest.query(AT_ONCE, quick=True))
    return Answer(newest, result, dict(result.counts), result.hits)


async def answer(ask: Any, asked: Asked, limit: int = FIRST) -> Answer:
    """Ask once; for one layer, once more for the counts of the others."""
    counted: SearchResult | None = None
    if asked.layer != "all":
        counted = await ask.search(asked.query(1, "all"))
    result: SearchResult = await ask.search(asked.query(limit))
    counts = dict((counted or result).counts)
    if counted is not None and result.mode == counted.mode:
        counts |= result.counts
    return Answer(asked, result, counts, result.hits, result.next)


async def following(ask: Any, before: Answer) -> Answer:
    """The same answer with its next page."""
    page: SearchResult = await ask.search(before.asked.query(LATER, start=before.next))
    if page.mode != before.result.mode:  # the files changed, and nothing of this kind is left
        return replace(before, next=0)
    return replace(before, hits=before.hits + page.hits, next=page.next)


async def crowded_out(ask: Any, found: Answer) -> Answer:
    """The same answer with the best hits of layers that found no room among the first."""
    hits = list(found.hits)
    for layer in LAYERS:
        there = sum(1 for hit in hits if hit.layer == layer)
        if there < min(IN_ALL, found.counts.get(layer, 0)):
            more: SearchResult = await ask.search(found.asked.query(IN_ALL, layer))
            if more.mode == found.result.mode:
                known = {_spot(place) for hit in hits for place in (hit, *hit.places)}
                hits += [hit for hit in more.hits if _spot(hit) not in known]
    return replace(found, hits=tuple(hits))


def _spot(place: Hit | HitPlace) -> tuple[str, int, str]:
    return place.path, place.line, place.entry_id


async def ways_out(ask: Any, found: Answer, filters: Sequence[Filter], rest: str) -> list[Out]:
    """What else could be asked, and how many hits each gives; those without hits are left out.
    When none is left, to clear the field. Files that are not indexed can be looked at."""
    asked = found.asked
    tries = [
        ("spell-check", tr("Search for “{word}”", word=word), replace(asked, text=text))
        for word, text in respelled(rest, found.result.nearest)
        for text in (joined(filters, text),)
    ]
    if asked.layer != "all":
        tries.append(("search", tr("Look in all places"), replace(asked, layer="all")))
    causes = found.result.causes
    if "short" in causes:
        begun = joined(filters, " ".join(f"{word}*" for word in rest.split()))
        title = tr("Words that begin with “{word}”", word=rest)
        tries.append(("text-search", title, replace(asked, text=begun)))
    for one in filters[:4]:
        fewer = joined([f for f in filters if f != one], rest)
        tries.append(
            (_icon(one), tr("Drop “{filter}”", filter=one.words), replace(asked, text=fewer))
        )
    if len(filters) > 1:
        words = tr("Drop both filters") if len(filters) == 2 else tr("Drop all filters")
        tries.append(("search", words, replace(asked, text=rest)))
    if asked.mode in ("words", "literal"):
        tries.append(
            ("messages-square", tr("Ask in plain words instead"), replace(asked, mode="natural"))
        )
    # "auto" tried it, but not for signs alone, and not for long.
    if asked.mode in ("words", "natural") or (asked.mode == "auto" and causes & {"signs", "late"}):
        tries.append(
            ("case-sensitive", tr("Search letter by letter"), replace(asked, mode="literal"))
        )
    if asked.mode == "literal":
        tries.append(("text-search", tr("Search for the words"), replace(asked, mode="words")))
    out: list[Out] = []
    for icon, title, other in tries:
        if not other.text.strip():
            continue
        result: SearchResult = await ask.search(other.query(1))
        if result.total:
            out.append(Out(icon, title, result.total, other.text, other.mode, other.layer))
    words = rest.split()
    if not out and len(words) > 1:
        out += await _single_words(ask, asked, filters, rest)
    elif not out and len(words) == 1:
        out += await _begun(ask, asked, filters, words[0])
    files: tuple[LeftOut, ...] = ()
    if "left_out" in causes:
        files = tuple(await ask.left_out())
    title = tr("See what is not indexed, and why")
    named = [Out("file-x", title, 0, "", "", "", files)] if files else []
    cleared = [Out("x", tr("Clear the field"), 0, "", asked.mode, asked.layer)]
    return [*out[: MOST_WAYS - 1], *named, *(out[MOST_WAYS - 1 :] if out else cleared)]


def respelled(rest: str, nearest: Sequence[str]) -> list[tuple[str, str]]:
    """(word, `rest` with it in the place of the typed word that is spelled most like it)."""
    words = [word.strip('*"') for word in rest.split()]
    out: list[tuple[str, str]] = []
    for near in nearest[:MOST_NEAREST]:
        like = get_close_matches(near, words, 1, 0.0)
        out += [(near, rest.replace(like[0], near, 1))] if like else []
    return out


async def _single_words(ask: Any, asked: Asked, filters: Sequence[Filter], rest: str) -> list[Out]:
    """Each word alone, as far as it has hits."""
    out: list[Out] = []
    for word in list(dict.fromkeys(rest.split()))[:4]:
        one = replace(asked, text=joined(filters, word))
        result: SearchResult = await ask.search(one.query(1))
        if result.total:
            title = tr("Only “{word}”", word=word[:40])
            out.append(Out("search", title, result.total, one.text, one.mode, one.layer))
    return out


async def _begun(ask: Any, asked: Asked, filters: Sequence[Filter], word: str) -> list[Out]:
    """The longest beginning of the word, at least half of it, with which a word begins."""
    word = word.strip('*"')
    least = max((len(word) + 1) // 2, SHORTEST if word.isascii() else 1)
    mode = asked.mode if asked.mode == "auto" else "words"
    best: list[Out] = []
    shortest, longest = least, len(word) - 1
    while shortest <= longest:
        length = (shortest + longest + 1) // 2
        begun = replace(asked, text=joined(filters, f"{word[:length]}*"), mode="words")
        result: SearchResult = await ask.search(begun.query(1))
        if result.total:
            title = tr("Words that begin with “{word}”", word=word[:length])
            best = [Out("text-search", title, result.total, begun.text, mode, asked.layer)]
            shortest = length + 1
        else:
            longest = length - 1
    return best


def _icon(one: Filter) -> str:
    days = one.field in ("day", "after", "before")
    return "calendar-x" if days else "funnel-x"


def reason_head(asked: Asked, causes: frozenset[Cause], filters: Sequence[Filter]) -> str:
    """The reason for an empty result, as a heading."""
    if "filters" in causes:
        return tr("No hits, because of the filters") if filters else tr("No hits in this place")
    if asked.layer != "all":
        return tr("No hits in this place")
    if "building" in causes:
        return tr("No hits so far, the index is being built")
    if "signs" in causes:
        return tr("Nothing to search for in this")
    return tr("No hits")


BUILD = "Build the index anew"
"""What helps against one that cannot be used."""


def index_words(state: IndexState) -> tuple[str, bool]:
    """The state of the index in a sentence, and whether it is whole."""
    if state.state == "ready":
        files = plural(state.total, "{n} file", "{n} files") if state.total else ""
        return (tr("The index is complete: {files}", files=files) if files
                else tr("The index is complete")), True  # fmt: skip
    if state.state == "building":
        return tr(
            "Waiting for the index: {n} of {all} files; hits so far are shown",
            n=number(state.done), all=number(state.total),
        ), False  # fmt: skip
    if state.state == "unavailable":
        return state.note or tr(
            "There is no index; the files are read instead, which is slower"
        ), False
    return state.note or tr("The index catches up with changed files"), False


def foot_words(found: Answer) -> tuple[str, str]:
    """The mode that answered, the order, how many hits, in how many rows, and how long it took;
    and the last three alone."""
    result, asked = found.result, found.asked
    modes = {
        "words": tr("Words"),
        "natural": tr("Any of the words, by weight"),
        "literal": tr("Letter by letter"),
        "auto": tr("Words"),
    }
    only_filters = not split(asked.text, finished=True)[1].strip()
    order = tr("newest first") if asked.newest or only_filters else tr("best first")
    if not found.one_kind:
        order = tr("{order} within each place", order=order)
    took = tr("{n} ms", n=number(max(round(result.seconds * 1_000), 1)))
    short = tr("{count} in {took}", count=_count_words(found), took=took)
    mode = modes[result.mode]
    return tr("{mode}, {order}, {short}", mode=mode, order=order, short=short), short


def _count_words(found: Answer) -> str:
    """How many hits; once all are there, in how many rows, if lines that are the same share one."""
    result = found.result
    total = tab_count(found.counts, "all") if found.asked.layer == "all" else result.total
    some = "" if result.complete or result.reason else tr("at least ")
    count = some + plural(total, "{n} hit", "{n} hits")
    rows = len(found.hits)
    if not result.complete or found.next or rows >= total:
        return count
    return tr("{count} ({rows})", count=count, rows=plural(rows, "{n} row", "{n} rows"))


def tab_count(counts: dict[str, int], layer: str) -> int:
    """The hits of one tab."""
    return sum(counts.values()) if layer == "all" else counts.get(layer, 0)


TABS = tuple(LAYER_WORDS)
