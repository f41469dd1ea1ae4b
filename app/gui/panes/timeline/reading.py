"""The items of one session, as far as they are loaded: newest first on the wire, in order here.

Invariant: items are contiguous up to the newest one; what was loaded stays loaded. Pages grow as
one goes back, because the engine reads a log from its end each time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from app.engine.records import TranscriptItem
from app.gui.panes.timeline.blocks import Block, Mode, build, place_of_entry
from app.gui.panes.timeline.scale import Scale, build_scale

FIRST = 2_000  # items of the first page
LATER = (2_000, 20_000, 1_000_000)  # items of the pages after it
IN_THREAD = 3_000  # items from which blocks and axis are made beside the loop


Guess = Callable[[Sequence[Block]], list[int]]


class Made(NamedTuple):
    """What a page shows of a reading; `guesses` are heights in px, one per block."""

    items: list[TranscriptItem]
    blocks: list[Block]
    scale: Scale
    guesses: list[int]


class Reading:
    """What is loaded of a session. `ask` is the engine's asking half."""

    def __init__(self, ask: Any, session_id: str) -> None:
        self._ask = ask
        self.session_id = session_id
        self.items: list[TranscriptItem] = []
        self.whole = False  # nothing lies before the first item
        self._page = 0

    async def begin(self) -> None:
        """Load the newest page."""
        self._take_newest(await self._ask.transcript(self.session_id, limit=FIRST), FIRST)

    async def again(self) -> None:
        """Look again at what is loaded, and at what came since."""
        limit = max(len(self.items) + 200, FIRST)
        limit = limit if limit <= 20_000 else FIRST
        self._take_newest(await self._ask.transcript(self.session_id, limit=limit), limit)

    def _take_newest(self, page: list[TranscriptItem], limit: int) -> None:
        if len(page) < limit:
            self.items, self.whole = list(page), True
            return
        first = page[0].seq
        keep = [item for item in self.items if item.seq < first]
        joined = bool(keep) and keep[-1].seq >= first - 64
        self.items = [*keep, *page] if joined else list(page)
        self.whole = self.whole and joined

    async def older(self) -> bool:
        """Load a page before the first item; whether any came."""
        if self.whole or not self.items:
            return False
        limit = LATER[min(self._page, len(LATER) - 1)]
        self._page += 1
        first = self.items[0].seq
        page = await self._ask.transcript(self.session_id, before=first, limit=limit)
        self.whole = len(page) < limit
        if not self.items or self.items[0].seq != first:
            return False
        self.items = [*page, *self.items]
        return bool(page)

    async def until(self, entry_id: str) -> int:
        """Load back until the item of that entry is there; its place, -1 when it is nowhere."""
        at = place_of_entry(self.items, entry_id)
        while at < 0 and not self.whole:
            before = len(self.items)
            await self.older()
            come = self.items[: len(self.items) - before]
            at = await asyncio.to_thread(place_of_entry, come, entry_id)
            if len(self.items) == before and not self.whole:
                break
        return at

    def put(self, item: TranscriptItem) -> None:
        """An item as it stands now, from a running turn; a known id is replaced."""
        for n in range(len(self.items) - 1, max(len(self.items) - 200, -1), -1):
            if self.items[n].id == item.id:
                self.items = [*self.items[:n], item, *self.items[n + 1 :]]
                return
        self.items = [*self.items, item]

    async def made(self, mode: Mode, opened: frozenset[str], by_order: bool, guess: Guess) -> Made:
        """The items, their blocks and their scale; beside the loop when there are many."""
        items = self.items

        def work() -> Made:
            blocks = build(items, mode=mode, opened=opened, older=not self.whole)
            return Made(items, blocks, build_scale(items, by_order=by_order), guess(blocks))

        return work() if len(items) < IN_THREAD else await asyncio.to_thread(work)
