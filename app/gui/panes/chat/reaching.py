"""Pages of a session that are not its newest: around an item, and on from there."""

from __future__ import annotations

from typing import Any

from app.engine.records import TranscriptItem

PAGE = 200  # items read at a time


async def around(
    ask: Any, session_id: str, item_id: str
) -> tuple[list[TranscriptItem], bool, bool]:
    """A page around an item, and whether there is more before and after; none when the session
    has no such item."""
    page = await ask.transcript(session_id, around=item_id, limit=PAGE)
    if not any(item.id == item_id for item in page):
        return [], False, False
    older = await ask.transcript(session_id, before=page[0].seq, limit=1)
    newest = await ask.transcript(session_id, limit=1)
    return page, bool(older), newest[-1].seq > page[-1].seq


async def after(ask: Any, session_id: str, seq: int) -> tuple[list[TranscriptItem], bool]:
    """A page behind a number, and whether there is more. A number has one item or none, so the next
    `reach` numbers hold no more than that."""
    newest = await ask.transcript(session_id, limit=1)
    end, reach = newest[-1].seq if newest else 0, PAGE
    while True:
        page = await ask.transcript(session_id, before=seq + reach + 1, limit=reach)
        fresh = [item for item in page if item.seq > seq]
        if fresh or seq + reach >= end:
            return fresh, seq + reach < end
        reach *= 4
