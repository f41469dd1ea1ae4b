"""What is loaded of the session that is shown: its newest items, or those around one of them.

Invariant: the items are contiguous, whatever is read meanwhile. `ask` is the engine's asking half.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.engine.records import TranscriptItem
from app.gui.panes.chat.model import merge
from app.gui.widgets.session_pages import around, behind

PAGE = 200  # items read at a time


class Reading:
    """Items of one session, in order, and whether there are more on either side of them."""

    def __init__(self, session_id: str = "") -> None:
        self.session_id = session_id
        self.items: list[TranscriptItem] = []
        self.more_before = self.more_after = False

    def take(self, newest: Sequence[TranscriptItem]) -> None:
        """The newest page, read again; older items that are loaded stay."""
        older = bool(self.items) and self.items[0].seq < (newest[0].seq if newest else 0)
        self.items = merge(self.items, newest, PAGE)
        if not older:
            self.more_before = len(newest) == PAGE

    def leave(self) -> None:
        """Nothing is loaded any more: the newest page comes next."""
        self.items, self.more_after = [], False

    async def earlier(self, ask: Any) -> bool:
        """Load a page before the first item; False when it has no place (any more)."""
        if not self.items or not self.more_before:
            return False
        first = self.items[0].seq
        page = await ask.transcript(self.session_id, before=first, limit=PAGE)
        if not self.items or self.items[0].seq != first:
            return False
        self.items, self.more_before = [*page, *self.items], len(page) == PAGE
        return True

    async def later(self, ask: Any) -> bool:
        """Load a page behind the last item; False when it has no place (any more)."""
        if not self.items:
            return False
        last = self.items[-1].seq
        fresh, more = await behind(ask, self.session_id, last, PAGE)
        if not self.items or self.items[-1].seq != last:
            return False
        self.items, self.more_after = [*self.items, *fresh], more
        return True

    async def reach(self, ask: Any, item_id: str) -> bool:
        """Load what stands around an item instead; False when the session does not have it."""
        page, before, more = await around(ask, self.session_id, item_id, PAGE)
        if not any(item.id == item_id for item in page):
            return False
        self.items, self.more_before, self.more_after = page, before, more
        return True
