"""The hits on screen: an answer in groups, more of it on demand, and the place of the chosen one.

Invariant: showing an answer again keeps the choice and the scroll position; a new one begins at its
top with its first hit chosen.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from app.engine.records import EvictedInfo, Hit
from app.gui.bridge import Tasks
from app.gui.look.text import number, tr
from app.gui.panes.search.around import Way, look, needle_of, target_of
from app.gui.panes.search.asking import Answer, following, foot_words
from app.gui.panes.search.layout import SearchParts
from app.gui.panes.search.model import (
    Entry,
    HitKey,
    Tail,
    by_day,
    by_layer,
    days_together,
    hit_key,
    place_words,
    put_aside,
)
from app.gui.panes.search.page import MOST_NEEDLES, needles
from app.gui.widgets.pane import Desk, Target

WALKING = 0.03  # seconds: walking on should not read every place it passes


class Results:
    """What was found, in the widgets of `parts`. `titles` are session titles by id, `evicted` the
    results that were put aside, by path."""

    def __init__(self, desk: Desk, parts: SearchParts, tasks: Tasks) -> None:
        self.answer: Answer | None = None
        self._known: set[HitKey] = set()  # keys of the hits that are listed
        self.titles: dict[str, str] = {}
        self.evicted: Mapping[str, EvictedInfo] = {}
        self._desk, self._parts, self._tasks = desk, parts, tasks

    def know(self, titles: dict[str, str], evicted: Mapping[str, EvictedInfo]) -> None:
        """What hits are named by; those on screen that name an evicted result say it at once."""
        news = evicted != self.evicted
        self.titles, self.evicted = titles, evicted
        found = self.answer
        if news and found and any(hit.layer == "evicted" for hit in found.hits):
            self.show(found, keep=True)

    def show(self, found: Answer, *, keep: bool) -> None:
        """Show an answer with hits; `keep` the choice and scroll position where they still are."""
        hits_list, asked = self._parts.list, found.asked
        chosen = hits_list.current()
        key = hit_key(chosen) if keep and chosen is not None else None
        anchor = hits_list.anchor()
        self.answer = found
        self._known = {hit_key(hit) for hit in found.hits}
        by_days = asked.grouping == "day"
        self._parts.show_part(self._parts.split)
        hits_list.hits.set_entries(
            self._entries(found), self.titles, self._desk.now(),
            more=found.more and found.one_kind, by_day=by_days,
            lengths={path: info.bytes for path, info in self.evicted.items()},
        )  # fmt: skip
        hits_list.settle()
        self._parts.tabs.set_counts(found.counts)
        words, short = foot_words(found)
        self._parts.foot.say(words, found.result.remark, short)
        row = hits_list.hits.row_of(key) if key is not None else -1
        if row >= 0:
            hits_list.choose(row, quiet=True)
            hits_list.hold(anchor)
        else:
            hits_list.scrollToTop()
            hits_list.choose(hits_list.hits.first(), quiet=True)
        hits_list.lively = True
        self.show_preview()

    def _entries(self, found: Answer) -> list[Entry]:
        asked, hits = found.asked, put_aside(found.hits, self.evicted)
        if asked.grouping == "day":
            entries = by_day(hits if asked.newest else days_together(hits), self._desk.now())
        elif not found.one_kind:
            return by_layer(hits, found.counts)
        else:
            entries = by_layer(hits, found.counts, 0)
        return [*entries, *_tail(found)]

    async def more(self) -> None:
        """The list came to its end: ask for the next page that has a row to add."""
        try:
            while await self._next_page():
                pass
        finally:  # also where it failed, or another question came first: one may ask again
            self._parts.list.hits.answered()

    async def _next_page(self) -> bool:
        """Add the next page; whether it added nothing, and there is a further one."""
        before = self.answer
        if before is None or not before.more:
            return False
        found = await following(self._desk.engine.ask, before)
        if before is not self.answer:
            return False
        if found.asked.days_of_best:
            self.show(found, keep=True)
            return False
        self.answer = found
        page = {hit_key(hit): hit for hit in found.hits[len(before.hits) :]}
        fresh = [hit for key, hit in page.items() if key not in self._known]
        fresh = put_aside(fresh, self.evicted)
        self._known.update(page)
        model = self._parts.list.hits
        by_days = found.asked.grouping == "day"
        entries = by_day(fresh, self._desk.now(), model.group) if by_days else fresh
        model.add([*entries, *_tail(found)], more=found.more)
        self._parts.list.settle()
        return found.more and not entries

    # ------------------------------------------------------------------ preview

    def show_preview(self) -> None:
        """Show the place of the chosen hit."""
        hit = self._parts.list.current()
        if hit is None:
            self._parts.preview.clear()
            return
        self._tasks.latest("preview", self._load(hit))

    async def _load(self, hit: Hit) -> None:
        await asyncio.sleep(WALKING)
        now = self._desk.now()
        place = await look(self._desk.engine.ask, hit, self.titles, now)
        typed = self._parts.field.words()
        find = needle_of(hit, typed)
        also = tuple(
            Way(tr("Also in"), "copy", place_words(one, self.titles, now), target_of(one, find))
            for one in hit.places[:3]
        )
        there = [_where(way.target) for way in place.ways]
        fresh = (way for way in also if _where(way.target) not in there)
        place = replace(place, ways=(*place.ways, *fresh))
        literal = self.answer is not None and self.answer.result.mode == "literal"
        wanted = self._wanted(hit, typed)
        self._parts.preview.show_place(place, typed, wanted, anywhere=literal)

    def _wanted(self, hit: Hit, typed: str) -> list[str]:
        """What to mark in the place: what the engine marked in the hits, and the words typed."""
        pieces = [hit.text[s.start : s.end] for s in hit.spans]
        if self.answer is None:
            return pieces
        marked = Counter(
            hit.text[s.start : s.end].casefold()
            for hit in self.answer.hits[:200]
            for s in hit.spans
        )
        pieces += [text for text, _ in marked.most_common(MOST_NEEDLES)]
        return pieces if self.answer.result.mode == "natural" else [*pieces, *needles(typed)]


def _where(target: Target) -> Target:
    """The same place, whatever is to be found in it."""
    return replace(target, find="")


def _tail(found: Answer) -> list[Tail]:
    """What stands below the last hit when the order by time would go on."""
    if not found.cut:
        return []
    shown = number(len(found.hits))
    return [Tail(tr("The best {n} of the newest matches", n=shown), tr("Newest first"))]
