"""The days a question speaks of: "in May", "on 16 June 2023", "last week", 上周, 5月12日.

Idea: who asks about a day means what was said on it, or was told of soon after. A day is no
condition in natural mode, it only lends weight: `Span.fit` says how much of it. Pure.
Invariant: any text may be given; what is no day of the calendar is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, timedelta

from msgspec import Struct

TOLD_LATER = 10
"""Days during which something is told of after it happened, with less and less weight."""
MOST_SPANS = 8
_ANY_YEAR = 2000
"""Stands for every year; a leap year, so that it has all days."""

_NUMBERS = {
    "jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6, "jul": 7, "aug": 8, "sep": 9,
    "oct": 10, "nov": 11, "dec": 12,
}  # fmt: skip
_NAME = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    "sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
)
_ENGLISH = re.compile(
    rf"(?:\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:\s+of)?\s+|\b(?P<near>in|of|since|during|by|last|"
    rf"this|until|before|after|early|late|mid|around)[\s-]+|\b)(?P<month>{_NAME})\b\.?"
    r"(?:\s+(?P<later>\d{1,2})(?:st|nd|rd|th)?\b)?(?:,?\s+(?:of\s+)?(?P<year>\d{4})\b)?",
    re.IGNORECASE,
)
_YEAR = re.compile(r"\b(?:in|of|during|since|year)\s+(?P<year>(?:19|20)\d\d)\b", re.IGNORECASE)
_ISO = re.compile(r"(?<!\d)(?P<year>\d{4})-(?P<month>\d{1,2})(?:-(?P<day>\d{1,2}))?(?!\d)")
_CHINESE = re.compile(
    r"(?:(?P<year>\d{4})年)?(?:(?P<month>\d{1,2})月(?:份|(?P<day>\d{1,2})[日号])?)|(?P<only>\d{4})年"
)
_AGO = re.compile(r"\b(?P<days>\d{1,3}) days? ago\b|(?P<tian>\d{1,3})天前", re.IGNORECASE)
_RELATIVE = {
    "day before yesterday": (-2, 1), "yesterday": (-1, 1), "today": (0, 1), "前天": (-2, 1),
    "昨天": (-1, 1), "昨晚": (-1, 1), "今天": (0, 1),
}  # fmt: skip
_WEEK = re.compile(
    r"\b(last|this) (?:week|weekend)\b|([上这本])(?:个)?(?:周|星期|礼拜)", re.IGNORECASE
)
_MONTH = re.compile(r"\b(last|this) month\b|([上这本])个?月", re.IGNORECASE)


class Span(Struct, frozen=True):
    """Days from `first` up to, not including, `end`; of every year when `yearly`."""

    first: date
    end: date
    yearly: bool = False

    def fit(self, day: date) -> float:
        """1 for a day of the span, less for the days soon after it, 0 elsewhere."""
        if self.yearly:
            after = (day.replace(year=_ANY_YEAR) - self.first).days % 366
        else:
            after = (day - self.first).days
        late = after - (self.end - self.first).days
        if after < 0 or late >= TOLD_LATER:
            return 0.0
        return 1.0 if late < 0 else 0.5 * (1 - late / TOLD_LATER)


def fit(spans: list[Span], day: date) -> float:
    """How well `day` fits the best of `spans`, 0 to 1."""
    return max((span.fit(day) for span in spans), default=0.0)


def days_meant(text: str, today: date) -> list[Span]:
    """The spans of days that `text` speaks of, seen from `today`; at most `MOST_SPANS`."""
    found: list[Span] = []
    for span in _spans(text, today):
        if span not in found:
            found.append(span)
        if len(found) == MOST_SPANS:
            break
    return found


def _spans(text: str, today: date) -> Iterator[Span]:
    for match in _ENGLISH.finditer(text):
        day = match["day"] or match["later"]
        if day or match["year"] or match["near"] or _named(match["month"]):
            month = _NUMBERS[match["month"][:3].lower()]
            yield from _span(match["year"], month, day)
    for match in _ISO.finditer(text):
        yield from _span(match["year"], int(match["month"]), match["day"])
    for match in _CHINESE.finditer(text):
        month = match["month"]
        yield from _span(match["year"] or match["only"], int(month) if month else 0, match["day"])
    for match in _YEAR.finditer(text):
        yield from _span(match["year"], 0, None)
    with suppress(OverflowError, ValueError):  # a day before the calendar begins
        yield from _relative(text, today)


def _named(month: str) -> bool:
    """Whether a month alone is surely one: may and march are words of their own, as is mar."""
    return len(month) > 3 and month.lower() != "march"


def _span(year: str | None, month: int, day: str | None) -> Iterator[Span]:
    """One day, month or year of the calendar; nothing when there is no such day."""
    with suppress(ValueError, OverflowError):
        first = date(int(year) if year else _ANY_YEAR, month or 1, int(day) if day else 1)
        if day:
            end = first + timedelta(days=1)
        elif month:
            end = date(first.year + month // 12, month % 12 + 1, 1)
        else:
            end = date(first.year + 1, 1, 1)
        yield Span(first, end, yearly=not year)


def _relative(text: str, today: date) -> Iterator[Span]:
    lower = text.lower()
    for name, (start, length) in _RELATIVE.items():
        if name in lower:
            yield _around(today, start, length)
            lower = lower.replace(name, " ")
    for match in _AGO.finditer(text):
        yield _around(today, -int(match["days"] or match["tian"]), 1)
    monday = today - timedelta(days=today.weekday())
    for match in _WEEK.finditer(text):
        back = 7 if (match[1] or match[2]).lower() in ("last", "上") else 0
        yield _around(monday, -back, 7)
    for match in _MONTH.finditer(text):
        first = today.replace(day=1)
        if (match[1] or match[2]).lower() in ("last", "上"):
            first = (first - timedelta(days=1)).replace(day=1)
        yield from _span(str(first.year), first.month, None)


def _around(today: date, start: int, length: int) -> Span:
    first = today + timedelta(days=start)
    return Span(first, first + timedelta(days=length))
