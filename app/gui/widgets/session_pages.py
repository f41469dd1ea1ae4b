"""Pages of a session that take more than one question: around an entry, and behind a number.

`ask` is the engine's asking half; `size` is how many items a page has. Items come in order.
"""

from __future__ import annotations

import asyncio
from typing import Any

from app.engine.records import TranscriptItem


async def around(
    ask: Any, session_id: str, entry_id: str, size: int
) -> tuple[list[TranscriptItem], bool, bool]:
    """A page around an entry, and whether there is more before and behind it; no items when the
    session does not have that entry."""
    page = await ask.transcript(session_id, around=entry_id, limit=size)
    if not page:
        return [], False, False
    before, last = await asyncio.gather(
        ask.transcript(session_id, before=page[0].seq, limit=1),
        ask.transcript(session_id, limit=1),
    )
    return list(page), bool(before), last[-1].seq > page[-1].seq


async def behind(
    ask: Any, session_id: str, seq: int, size: int
) -> tuple[list[TranscriptItem], bool]:
    """A page of what follows a number, and whether there is more behind it.

    A number has one item or none, so that the next `reach` of them hold no more than that.
    """
    last = await ask.transcript(session_id, limit=1)
    end, reach = last[-1].seq if last else 0, size
    while True:
        page = await ask.transcript(session_id, before=seq + reach + 1, limit=reach)
        fresh = [item for item in page if item.seq > seq]
        if fresh or seq + reach >= end:
            return fresh, seq + reach < end
        reach *= 4
