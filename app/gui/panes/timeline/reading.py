"""A window onto the items of one session, in order: its newest ones, or those around an entry.

Invariant: the items are contiguous, and never more than `MOST`, so that a session of any length
costs the same to look at. What is far is dropped as one goes on, and comes back as one comes back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from app.engine.records import TranscriptItem
from app.gui.panes.timeline.blocks import Block, Mode, build, place_of_entry
from app.gui.panes.timeline.scale import Scale, build_scale
from app.gui.widgets.session_pages import around, behind

PAGE = 2_000  # items that are asked for at once
MOST = 8_000  # items that are kept
NEAR = 64  # numbers between two items that follow each other, at most
IN_THREAD = 300  # items from which blocks and axis are made beside the loop


Guess = Callable[[Sequence[Block]], list[int]]


class Made(NamedTuple):
    """What a page shows of a reading. `guesses` are heights in px, one per block; `goes_on` says
    whether more lies before and behind the items."""

    items: list[TranscriptItem]
    blocks: list[Block]
    scale: Scale
    guesses: list[int]
    goes_on: tuple[bool, bool]


class Reading:
    """What is loaded of a session. `ask` is the engine's asking half."""

    def __init__(self, ask: Any, session_id: str) -> None:
        self._ask = ask
        self.session_id = session_id
        self.items: list[TranscriptItem] = []
        self.whole = False  # nothing lies before the first item
        self.ended = True  # nothing lies behind the last one

    async def _page(self, limit: int = PAGE, **where: Any) -> list[TranscriptItem]:
        return await self._ask.transcript(self.session_id, limit=limit, **where)

    # ------------------------------------------------------------------ where to look

    async def newest(self) -> None:
        """Look at the end of the session."""
        page = await self._page()
        self.items, self.whole, self.ended = list(page), len(page) < PAGE, True

    async def oldest(self) -> None:
        """Look at the beginning of the session."""
        fresh, more = await behind(self._ask, self.session_id, 0, PAGE)
        self.items, self.whole, self.ended = fresh, True, not more

    async def at(self, entry_id: str) -> int:
        """Look where that entry is; its place among the items, -1 when it is nowhere."""
        found = place_of_entry(self.items, entry_id)
        if found < 0 and not (self.whole and self.ended):
            page, before, more = await around(self._ask, self.session_id, entry_id, PAGE)
            found = place_of_entry(page, entry_id)
            if found >= 0:
                self.items, self.whole, self.ended = page, not before, not more
        return found

    # ------------------------------------------------------------------ going on

    async def older(self) -> bool:
        """Load a page before the first item; whether any came."""
        if self.whole or not self.items:
            return False
        first = self.items[0].seq
        page = await self._page(before=first)
        if not self.items or self.items[0].seq != first:
            return False
        self.whole = len(page) < PAGE
        items = [*page, *self.items]
        self.ended = self.ended and len(items) <= MOST
        self.items = items[:MOST]
        return bool(page)

    async def newer(self) -> bool:
        """Load a page behind the last item; whether any came."""
        if self.ended or not self.items:
            return False
        last = self.items[-1].seq
        page, more = await behind(self._ask, self.session_id, last, PAGE)
        if not self.items or self.items[-1].seq != last:
            return False
        self.ended = not more
        items = [*self.items, *page]
        self.whole = self.whole and len(items) <= MOST
        self.items = items[-MOST:]
        return bool(page)

    async def again(self) -> None:
        """Look again at what is loaded; at the end also at what came since.

        Of much only the newest page is asked for: what stands before it does not change any more.
        """
        while True:
            known = self.items
            where = {} if self.ended else {"before": known[-1].seq + 1}
            page = await self._page(PAGE if self.ended else len(known), **where)
            if known is self.items:
                break
        if not self.ended:
            self.items = list(page)
            return
        if len(page) < PAGE:
            self.items, self.whole = list(page), True
            return
        kept = [item for item in known if item.seq < page[0].seq]
        joined = bool(kept) and kept[-1].seq >= page[0].seq - NEAR
        items = [*kept, *page] if joined else list(page)
        self.whole = self.whole and joined and len(items) <= MOST
        self.items = items[-MOST:]

    # ------------------------------------------------------------------ what is shown of it

    async def made(self, mode: Mode, opened: frozenset[str], by_order: bool, guess: Guess) -> Made:
        """The items, their blocks and their scale; beside the loop when there are many."""
        items, older, newer = self.items, not self.whole, not self.ended

        def work() -> Made:
            blocks = build(items, mode=mode, opened=opened, older=older, newer=newer)
            scale = build_scale(items, by_order=by_order)
            return Made(items, blocks, scale, guess(blocks), (older, newer))

        return work() if len(items) < IN_THREAD else await asyncio.to_thread(work)
