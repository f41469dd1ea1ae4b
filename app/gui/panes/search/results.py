"""The hits on screen: an answer in groups, more of it on demand, and the place of the chosen one.

Invariant: showing an answer again keeps the choice and the scroll position; a new one begins at its
top with its first hit chosen.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace

from app.gui.bridge import Tasks
from app.gui.look.text import tr
from app.gui.panes.search.around import Way, look, target_of
from app.gui.panes.search.asking import GROWTH, Answer, answer, foot_words
from app.gui.panes.search.layout import SearchParts
from app.gui.panes.search.model import (
    Entry,
    Found,
    Head,
    by_day,
    by_layer,
    days_together,
    hit_key,
    place_words,
)
from app.gui.panes.search.page import MOST_NEEDLES, needles
from app.gui.widgets.pane import Desk

WALKING = 0.03  # seconds: walking on should not read every place it passes


class Results:
    """What was found, in the widgets of `parts`. `titles` are session titles by id."""

    def __init__(self, desk: Desk, parts: SearchParts, tasks: Tasks) -> None:
        self.answer: Answer | None = None
        self.titles: dict[str, str] = {}
        self._desk, self._parts, self._tasks = desk, parts, tasks

    def show(self, found: Answer, *, keep: bool) -> None:
        """Show an answer with hits; `keep` the choice and scroll position where they still are."""
        hits_list, asked = self._parts.list, found.asked
        chosen = hits_list.current()
        key = hit_key(chosen.hit) if keep and chosen is not None else ""
        at = hits_list.verticalScrollBar().value()
        self.answer = found
        by_days = asked.grouping == "day"
        self._parts.show_part(self._parts.split)
        hits_list.hits.set_entries(
            self._entries(found), self.titles, self._desk.now(),
            more=found.more and (by_days or asked.layer != "all"), by_day=by_days,
        )  # fmt: skip
        hits_list.settle()
        self._parts.tabs.set_counts(found.counts)
        self._parts.say(foot_words(found), found.result.reason)
        row = hits_list.hits.row_of(key) if key else -1
        if row >= 0:
            hits_list.choose(row, quiet=True)
            hits_list.updateGeometries()
            hits_list.verticalScrollBar().setValue(at)
        else:
            hits_list.scrollToTop()
            hits_list.choose(hits_list.hits.first(), quiet=True)
        hits_list.lively = True
        self.show_preview()

    def _entries(self, found: Answer) -> list[Entry]:
        asked, hits = found.asked, found.hits
        if asked.grouping == "day":
            return by_day(hits if asked.newest else days_together(hits), self._desk.now())
        if asked.layer == "all":
            return by_layer(hits, found.counts)
        return by_layer(hits, found.counts, 0)

    async def more(self) -> None:
        """The list came to its end: ask for more of the same."""
        before = self.answer
        if before is None or not before.more:
            return
        found = await answer(self._desk.engine.ask, before.asked, before.limit * GROWTH)
        known = {hit_key(hit) for hit in before.hits}
        fresh = [hit for hit in found.hits if hit_key(hit) not in known]
        by_days = found.asked.grouping == "day"
        if by_days and not found.asked.newest:
            self.show(found, keep=True)
            return
        self.answer = found
        model = self._parts.list.hits
        last = next((e.key for e in reversed(model.entries()) if isinstance(e, Head)), "")
        now = self._desk.now()
        entries = by_day(fresh, now, last) if by_days else [Found(hit) for hit in fresh]
        model.add(entries, more=found.more)
        self._parts.list.settle()
        self._parts.say(foot_words(found), found.result.reason)

    # ------------------------------------------------------------------ preview

    def show_preview(self) -> None:
        """Show the place of the chosen hit."""
        found = self._parts.list.current()
        if found is None:
            self._parts.preview.clear()
            return
        self._tasks.latest("preview", self._load(found))

    async def _load(self, found: Found) -> None:
        await asyncio.sleep(WALKING)
        now = self._desk.now()
        place = await look(self._desk.engine.ask, found.hit, self.titles, now)
        also = tuple(
            Way(tr("Also in"), "copy", place_words(hit, self.titles, now), target_of(hit, ""))
            for hit in found.also
        )
        place = replace(place, ways=(*place.ways, *also[:3]))
        typed = self._parts.field.text().strip()
        self._parts.preview.show_place(place, typed, self._wanted(found, typed))

    def _wanted(self, found: Found, typed: str) -> list[str]:
        """What to mark in the place: what the engine marked in the hits, and the words typed."""
        pieces = [found.hit.text[s.start : s.end] for s in found.hit.spans]
        if self.answer is None:
            return pieces
        marked = Counter(
            hit.text[s.start : s.end].casefold()
            for hit in self.answer.hits[:200]
            for s in hit.spans
        )
        pieces += [text for text, _ in marked.most_common(MOST_NEEDLES)]
        return pieces if self.answer.result.mode == "natural" else [*pieces, *needles(typed)]
