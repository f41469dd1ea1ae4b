"""Which messages of its session a section came from, in numbers a person can read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.engine.errors import UserError
from app.gui.look.text import number, tr
from app.gui.panes.daily.days import CardRow

MOST = 2_000  # items of a session that are looked through


async def message_ranges(ask: Any, rows: Sequence[CardRow], known: set[str]) -> dict[str, str]:
    """Row id of a card's head -> "messages 3 to 43".

    Only what the log really says: a session that is gone, or so long that the numbers are not at
    hand, gives none.
    """
    wanted: dict[str, list[CardRow]] = {}
    for row in rows:
        section = row.section
        if row.form == "head" and section is not None and section.session_id in known:
            wanted.setdefault(section.session_id, []).append(row)
    out: dict[str, str] = {}
    for session_id, heads in wanted.items():
        try:
            items = await ask.transcript(session_id, limit=MOST)
        except UserError:
            continue
        if len(items) >= MOST:
            continue
        numbers: dict[str, int] = {}
        count = 0
        for item in items:
            count += item.kind in ("user", "assistant")
            for entry in (item.id, str(item.detail.get("result_id", ""))):
                numbers[entry] = max(count, 1)
        for row in heads:
            said = _said(row, numbers)
            if said:
                out[row.id] = said
    return out


def _said(row: CardRow, numbers: dict[str, int]) -> str:
    section = row.section
    if section is None or not section.first_entry:
        return ""
    first = numbers.get(section.first_entry)
    last = numbers.get(section.last_entry or section.first_entry)
    if first is None or last is None:
        return ""
    if first == last:
        return tr("message {n}", n=number(first))
    return tr("messages {a} to {b}", a=number(first), b=number(last))
