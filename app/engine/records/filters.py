"""The filters of a query, `field:value`: which there are and what each can be. Pure.

Both the engine and the window read them by this one rule: what is no filter by it is words.
"""

from __future__ import annotations

import re
from datetime import date, timedelta

from app.engine.records.search import LAYERS, Layer

FILTER_FIELDS = ("in", "role", "tool", "session", "day", "after", "before", "has")
DAY_FIELDS = ("day", "after", "before")
DAY_NAMES = {"today": 0, "今天": 0, "yesterday": -1, "昨天": -1}
"""Days from today."""
LAYER_NAMES: dict[str, Layer] = {
    **{name: name for name in LAYERS}, "session": "sessions", "log": "daily", "logs": "daily",
    "archive": "daily", "md": "memory", "memory.md": "memory", "results": "evicted",
}  # fmt: skip
FILTER_ROLES = ("user", "assistant", "tool", "system")
ROLE_NAMES = {name: name for name in FILTER_ROLES} | {"you": "user", "agent": "assistant"}
"""What a person calls those who speak, as the hits do, too."""
FILTER_HAS = ("evicted", "tool", "error")
LEAVE_OUT = frozenset({"in", "role", "tool"})
"""Fields that can have a "-" in front."""

_CHOICES = {
    "in": ("place", LAYER_NAMES, LAYERS),
    "role": ("role", ROLE_NAMES, ("you", "agent", "tool", "system")),
    "has": ("thing that a message has", dict.fromkeys(FILTER_HAS), FILTER_HAS),
}
_SHOWN = 40
"""Characters of a value that a sentence shows."""


def why_no_filter(field: str, value: str, today: date, *, negative: bool = False) -> str:
    """Why `field:value` is no filter, as a sentence; "" when it is one.

    `field` is one of `FILTER_FIELDS`; of several values, apart by commas, each must make sense.
    """
    if negative and field not in LEAVE_OUT:
        return f"“-{field}:” leaves nothing out: only -in, -role and -tool do."
    values = [part for part in value.lower().split(",") if part]
    if not values:
        return f"“{field}:” has no value."
    if field in DAY_FIELDS:
        known = days_of(value, today) is not None
        return "" if known else f"“{_short(value)}” is no day: year, year-month or year-month-day."
    noun, names, offered = _CHOICES.get(field, ("", {}, ()))
    wrong = next((part for part in values if names and part not in names), "")
    return f"“{_short(wrong)}” is no {noun}: {', '.join(offered)}." if wrong else ""


def _short(value: str) -> str:
    return value if len(value) <= _SHOWN else value[:_SHOWN] + "…"


def days_of(value: str, today: date) -> tuple[date, date] | None:
    """First day and the day after the last of `2026`, `2026-09`, `2026-09-12`, `today`, …; None
    for what is no day, and in the calendar's first and last year, of which not every zone has all.
    """
    try:
        days = _days(value.lower(), today)
    except (ValueError, OverflowError):
        return None
    return days if days and date.min.year < days[0].year < date.max.year else None


def _days(value: str, today: date) -> tuple[date, date] | None:
    if value in DAY_NAMES:
        named = today + timedelta(days=DAY_NAMES[value])
        return named, named + timedelta(days=1)
    match = re.fullmatch(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?", value, re.ASCII)
    if match is None:
        return None
    year, month, day = (int(part) if part else None for part in match.groups())
    first = date(year or 1, month or 1, day or 1)
    if day:
        return first, first + timedelta(days=1)
    if month:
        return first, date(first.year + month // 12, month % 12 + 1, 1)
    return first, date(first.year + 1, 1, 1)
