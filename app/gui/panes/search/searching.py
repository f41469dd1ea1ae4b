"""From a change of the query to what is on screen: pause, question, answer, and again when the
files changed.

Invariant: a newer question stops an older one, and what is on screen stays until something better
is there.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from app.engine.events import Changed
from app.gui.panes.search.asking import (
    FIRST,
    Answer,
    Asked,
    answer,
    at_once,
    crowded_out,
    reason_head,
    ways_out,
)
from app.gui.widgets.rings import LATE

if TYPE_CHECKING:
    from app.gui.panes.search.pane import SearchPane

PAUSE = 0.12  # seconds without a key before a search
LONGEST = 0.25  # seconds after which who goes on typing is answered, too
SETTLED = 2.5  # seconds after which a search counts as one to remember
SOON = 0.4  # seconds in which changes of the index count as one
KEPT_FRESH = 2_000  # listed hits up to which a change of the files is shown unasked
TOGETHER = 0.15  # seconds a reason for no hits waits for its ways out
SHORT = 0.06  # seconds an answer may take before the newest hits are shown in its place
KINDS = {"index", "sessions", "daily", "memory", "versions", "proposals", "evicted"}


class Searching:
    """Asks for the pane. `asked` is what is searched for, all of it."""

    def __init__(self, pane: SearchPane, asked: Asked) -> None:
        self._pane = pane
        self._parts = pane.parts
        self._stale = False
        self._pausing: asyncio.Task[None] | None = None  # it will ask for what is typed
        self._asking: asyncio.Task[None] | None = None
        self._since = 0.0  # when the first key came that nothing was asked for yet
        self.asked = asked
        pane.desk.signals.changed.connect(self._on_changed)

    @property
    def _listed(self) -> int:
        found = self._pane.results.answer
        return len(found.hits) if found is not None else 0

    # ------------------------------------------------------------------ asking

    def soon(self, pause: float = PAUSE) -> None:
        """Ask for what stands in the field, `pause` seconds after the last call; `LONGEST` after
        the first at the latest. An older question is heard out until then."""
        field, tasks = self._pane.field, self._pane.tasks
        text = field.query_to_ask()
        if not text and field.query():  # a filter is being typed: what is shown stays
            tasks.cancel("search")  # its name was a word until the colon
            answered = self._pane.results.answer
            self.asked = replace(self.asked, text=answered.asked.text if answered else "")
            return
        self.asked = replace(self.asked, text=text)
        tasks.cancel("more")
        if not text:
            tasks.cancel("search")
            self.show_start()
            return
        now = time.monotonic()
        if not self._waits():
            self._since = now
        elif self._pausing is not None:
            self._pausing.cancel()
        left = max(self._since + LONGEST - now, 0.0)
        self._pausing = tasks.start("search", self._after(min(pause, left)))

    def _waits(self) -> bool:
        """Whether what stands in the field is still to be asked for."""
        return self._pausing is not None and not self._pausing.done()

    def again(self, *, forced: bool = False) -> None:
        """Ask once more, keeping choice and scroll position. Very many hits are asked for again
        only when `forced`: it would cost as much as all their pages."""
        if not self.asked.text:
            return
        if self._listed > KEPT_FRESH and not forced:
            self._parts.foot.offer_again(True)
            return
        self._asking = self._pane.tasks.latest("search", self._search(keep=True))

    async def _after(self, pause: float) -> None:
        await asyncio.sleep(pause)
        if self._asking is not None:
            self._asking.cancel()
        self._asking, self._pausing = self._pausing, None
        await self._search()

    async def _search(self, *, keep: bool = False) -> None:
        late = asyncio.get_running_loop().call_later(LATE / 1_000, self._set_busy, not keep)
        try:
            await self._answer(keep)
        finally:
            late.cancel()
            self._set_busy(False)

    async def _answer(self, keep: bool) -> None:
        ask, asked, results = self._pane.desk.engine.ask, self.asked, self._pane.results
        listed = min(self._listed, KEPT_FRESH) if keep else 0
        first = None if keep else await at_once(ask, asked)
        found, moved = await self._ranked(asked, first, max(listed, FIRST))
        if not found.hits and self._waits():
            return  # what is typed meanwhile is answered in a moment
        self._stale = False
        self._parts.foot.offer_again(False)
        if self._parts.meaning.isVisible():
            await self._pane.say_meaning(found.result.mode)
        if not found.hits:
            await self._show_none(found)
            return
        results.show(found, keep=keep or moved)
        if not found.one_kind:
            fuller = await crowded_out(ask, found)
            if len(fuller.hits) > len(found.hits):
                results.show(fuller, keep=True)
        self._pane.tasks.latest("recent", self._remember_later(asked.text))

    async def _ranked(self, asked: Asked, first: Answer | None, limit: int) -> tuple[Answer, bool]:
        """The answer, and whether another hit was chosen meanwhile: what was found at once is
        shown when the answer takes its time."""
        results, hits_list = self._pane.results, self._parts.list
        asking = asyncio.ensure_future(answer(self._pane.desk.engine.ask, asked, limit))
        try:
            if first is None or not first.hits or (await asyncio.wait({asking}, timeout=SHORT))[0]:
                return await asking, False
            results.show(first, keep=False)
            chosen = hits_list.current()
            return await asking, hits_list.current() is not chosen
        finally:
            asking.cancel()

    def _set_busy(self, on: bool) -> None:
        self._parts.foot.set_busy(on)
        self._parts.list.set_dimmed(on)

    async def _remember_later(self, text: str) -> None:
        """Who stays with an answer wants it again, and to know whether it is the latest."""
        await asyncio.sleep(SETTLED)
        if text == self.asked.text:
            self._pane.remembered.used(text)
        await self._look_at_index()

    # ------------------------------------------------------------------ what is shown

    def show_start(self) -> None:
        """Nothing is searched for."""
        parts = self._parts
        self._pane.results.answer = None
        parts.tabs.set_counts(None)
        parts.start.refresh()
        parts.meaning.hide()
        parts.foot.say("")
        parts.show_part(parts.start)

    async def _show_none(self, found: Answer) -> None:
        ask, none = self._pane.desk.engine.ask, self._parts.none
        before, self._pane.results.answer = self._pane.results.answer, found
        filters = self._pane.field.filters()
        head = reason_head(found.asked, found.result.causes, filters)
        index = await ask.index()
        looking = asyncio.ensure_future(ways_out(ask, found, filters, self._pane.field.words()))
        try:
            await asyncio.wait({looking}, timeout=TOGETHER)
            if not looking.done() and (before is None or before.asked != found.asked):
                none.set_ways(())
            self._parts.tabs.set_counts(found.counts)
            none.set_reason(head, found.result.remark)
            none.set_index(index)
            self._parts.show_part(none)
            self._parts.foot.say("")
            none.set_ways(await looking)
        finally:
            looking.cancel()

    # ------------------------------------------------------------------ changes

    def _on_changed(self, changed: Changed) -> None:
        if not changed.kinds & KINDS:
            return
        self._stale = True
        if self._pane.shown:
            self._pane.tasks.latest("again", self._again_soon())

    async def look_again(self) -> None:
        """The pane came to the front: the state of the index, and hits if the files changed."""
        await self._look_at_index()
        if self._stale:
            self.again()

    async def _look_at_index(self) -> None:
        """Mark an index that is behind the disk, also when nobody told of the change."""
        self._parts.foot.show_index(await self._pane.desk.engine.ask.index())

    async def _again_soon(self) -> None:
        await asyncio.sleep(SOON)
        await self._look_at_index()
        if self._pane.tasks.running("search"):  # it may have begun before the change
            self._pane.tasks.latest("again", self._again_soon())
        else:
            self.again()
