"""Filters as a person types and sees them: `role:tool` becomes a chip, and chips become text again.

Pure. Idea: the text of a query is the truth; chips are its filters, taken out of the line of
typing. Invariant: `joined(*split(text))` asks for the same as `text`, and nothing that the engine
would not take for a filter becomes a chip.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as made_by
from datetime import date, timedelta

from app.engine.records import (
    DAY_FIELDS,
    DAY_NAMES,
    FILTER_FIELDS,
    FILTER_HAS,
    FILTER_ROLES,
    LAYER_NAMES,
    LAYERS,
    ROLE_NAMES,
    why_no_filter,
)
from app.gui.look.text import tr

FIELD_WORDS = {
    "in": "a place: memory, daily logs, sessions …",
    "role": "who said it",
    "tool": "a tool's calls and results",
    "session": "one session",
    "day": "a day, a month or a year",
    "after": "from a day on",
    "before": "before a day",
    "has": "what a message has: an evicted result, an error …",
}
_VALUES = {
    "role": FILTER_ROLES,
    "has": FILTER_HAS,
    "in": LAYERS,
}
_MEANINGS = {
    ("role", "user"): "what you said",
    ("role", "assistant"): "what the agent said and called",
    ("role", "tool"): "what tools answered",
    ("role", "system"): "what the program said",
    ("has", "evicted"): "with a result that was put aside",
    ("has", "tool"): "with a tool",
    ("has", "error"): "with an error",
    ("in", "memory"): "MEMORY.md",
    ("in", "history"): "earlier versions of MEMORY.md",
    ("in", "daily"): "daily logs and their archive",
    ("in", "sessions"): "sessions",
    ("in", "evicted"): "results that were put aside",
}
_BEGUN = {"in": LAYER_NAMES, "role": ROLE_NAMES, "has": FILTER_HAS}
_MORE = ("0", "00", "000", "1", "01", "-1")
"""What can make a day of the beginning of one."""
_ANY_DAY = date(2000, 1, 1)
"""Stands for today where only the form of a day matters."""
_WHOLE = re.compile(
    r"(?:(?<=\s)|^)(-?(?:" + "|".join(FILTER_FIELDS) + r')):(?:"([^"\n]+)"|([^\s"]+))(?:\s|$)',
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"(?:^|(?<=\s))(-?)(" + "|".join(FILTER_FIELDS) + r'):(?:"([^"\n]*)|([^\s"]*))$', re.IGNORECASE
)


@dataclass(frozen=True)
class Filter:
    """One condition: `field` may begin with "-"."""

    field: str
    value: str

    @property
    def text(self) -> str:
        """As it is typed."""
        quoted = f'"{self.value}"' if re.search(r"\s", self.value) else self.value
        return f"{self.field}:{quoted}"

    @property
    def words(self) -> str:
        """As its chip says it."""
        name = self.field.removeprefix("-")
        said = f"{name}: {self.value}"
        return tr("not {what}", what=said) if self.field.startswith("-") else said


@dataclass(frozen=True)
class Known:
    """What values there are to complete with; sessions as id to title, newest first."""

    tools: tuple[str, ...] = ()
    sessions: Mapping[str, str] = made_by(default_factory=dict)
    days: tuple[date, ...] = ()
    today: date = date(2000, 1, 1)


def understood(field: str, value: str) -> bool:
    """Whether the engine takes `field:value` for a filter."""
    name = field.lower().removeprefix("-")
    return not why_no_filter(name, value, _ANY_DAY, negative=field.startswith("-"))


def split(text: str, *, finished: bool = False) -> tuple[list[Filter], str]:
    """The filters of `text`, and the rest. One still being typed at the end stays in the rest,
    unless `finished`.
    """
    out: list[Filter] = []
    kept: list[str] = []
    at = 0
    for found in _WHOLE.finditer(text):
        value = found[2] or found[3] or ""
        typing = found.end() == len(text) and not text[-1:].isspace() and not found[2]
        if (typing and not finished) or not understood(found[1], value):
            continue
        out.append(Filter(found[1].lower(), value))
        kept.append(text[at : found.start()])
        at = found.end()
    kept.append(text[at:])
    return out, "".join(kept) if not out else _tidy("".join(kept))


def _tidy(rest: str) -> str:
    return re.sub(r"[ \t]{2,}", " ", rest).lstrip()


def joined(filters: Sequence[Filter], rest: str) -> str:
    """The whole query as text."""
    return " ".join(part for part in (*(f.text for f in filters), rest.strip()) if part)


def unfinished(text: str) -> tuple[int, str, str] | None:
    """(where it begins, field, what is typed of its value) of a filter at the end of `text`."""
    found = _OPEN.search(text)
    if found is None:
        return None
    return found.start(), f"{found[1]}{found[2].lower()}", found[3] or found[4] or ""


def without_unfinished(text: str) -> str:
    """`text` without a filter at its end that cannot be one yet; `role:us` is typed, not meant.
    What can be none any more, as `role:tol`, stays: it is words, and the answer says so.
    """
    begun = unfinished(text)
    if begun is None or understood(begun[1], begun[2]) or not _may_become(begun[1], begun[2]):
        return text
    return text[: begun[0]]


def _may_become(field: str, value: str) -> bool:
    """Whether more letters can make a filter of `field:value`."""
    *before, last = value.lower().split(",")
    if not last or (before and not understood(field, ",".join(before))):
        return not last
    name = field.removeprefix("-")
    if name in _BEGUN:
        return any(known.startswith(last) for known in _BEGUN[name])
    named = name in DAY_FIELDS and any(day.startswith(value.lower()) for day in DAY_NAMES)
    return named or any(understood(field, value + more) for more in _MORE)


def completions(field: str, begun: str, known: Known, most: int = 8) -> list[tuple[str, str]]:
    """(value, what it means) that may stand behind `field:`, best first."""
    name = field.removeprefix("-")
    start = begun.casefold()
    if name in _VALUES:
        pairs = [(v, tr(_MEANINGS.get((name, v), ""))) for v in _VALUES[name]]
    elif name == "tool":
        pairs = [(tool, "") for tool in known.tools]
    elif name == "session":
        pairs = list(known.sessions.items())
        found = [
            (v, w) for v, w in pairs if start in w.casefold() or v.casefold().startswith(start)
        ]
        return found[:most]
    else:
        pairs = _day_values(name, known)
    return [(v, w) for v, w in pairs if v.casefold().startswith(start)][:most]


def _day_values(name: str, known: Known) -> list[tuple[str, str]]:
    today = known.today
    month = today.replace(day=1)
    before = (month - timedelta(days=1)).replace(day=1)
    pairs = [
        ("today", ""),
        ("yesterday", ""),
        (f"{month:%Y-%m}", tr("this month")),
        (f"{before:%Y-%m}", tr("last month")),
    ]
    week = today - timedelta(days=7)
    if name == "after":
        pairs.insert(2, (week.isoformat(), tr("the last seven days")))
    return pairs + [(day.isoformat(), "") for day in known.days]
