"""Hits in groups, and the item model that gives them to a view a piece at a time.

Idea: an entry is a head or a hit; words for it are made only when it is painted, so a hundred
thousand hits cost no more than their records. Invariant: the order of the hits within a group is
the engine's; rows that stay keep their places when more come.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from typing import Any

from msgspec.structs import replace
from PySide6.QtCore import (
    QAbstractListModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    Signal,
)

from app.engine.records import LAYERS, EvictedInfo, Hit, HitPlace
from app.gui.look.text import (
    TERMINAL_CODES,
    clock,
    day,
    moment,
    number,
    plain_line,
    preview,
    sentence,
    size,
    tr,
)

_COLOURS = re.compile(r"(?:^| )\[(?:\d{1,3}(?:;\d{1,3})*)?m")
CHOOSABLE = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
Index = QModelIndex | QPersistentModelIndex

LAYER_WORDS = {
    "all": "All",
    "memory": "Memory",
    "history": "History",
    "daily": "Daily logs",
    "sessions": "Sessions",
    "evicted": "Evicted",
}
_ICONS = {
    "memory": "book-bookmark",
    "history": "rotate-ccw-clock",
    "daily": "calendar-days",
    "sessions": "message-square",
    "evicted": "archive",
}
VERSION, PROPOSAL = "history:", "proposal:"  # how the paths of the history's hits begin
IN_ALL = 5  # hits of one layer that are shown among all layers

# Breaks become spaces and what could reorder its neighbours becomes nothing to see, one for one, so
# that spans stay where they are.
_ONE_FOR_ONE = dict.fromkeys(map(ord, "\n\r\t\v\f\u2028\u2029\x85"), " ") | dict.fromkeys(
    map(ord, "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"), "\u200b"
)


@dataclass(frozen=True)
class Head:
    """The head of a group: its name, how many hits it has in all, and how many are not shown."""

    key: str
    title: str
    count: str = ""
    more: int = 0


@dataclass(frozen=True)
class Tail:
    """The end of a list that is not the end of the matches: why, and the act that shows them."""

    words: str
    act: str


Entry = Head | Hit | Tail


@dataclass(frozen=True)
class Shown:
    """A hit in words: icon, place, time, and its text with marked stretches."""

    icon: str
    place: str
    time: str
    text: str
    spans: tuple[tuple[int, int], ...]

    def sentence(self) -> str:
        return sentence((self.place, self.time, self.text.strip()))


HitKey = tuple[str, str, int, str, str]


def hit_key(hit: Hit) -> HitKey:
    """What a hit is found again by. (No joined text: each hit of a page gets one.)"""
    return hit.layer, hit.path, hit.line, hit.entry_id, hit.text[:80]


def flat(text: str) -> str:
    """`text` for one paragraph, each character in its place."""
    return text.translate(_ONE_FOR_ONE)


def unescaped(text: str, spans: Sequence[tuple[int, int]]) -> tuple[str, list[tuple[int, int]]]:
    """`text` without terminal codes; the spans follow it.

    An excerpt has a space where the escape character was.
    """
    moved = list(spans)
    pattern = TERMINAL_CODES if "\x1b" in text else _COLOURS
    for found in reversed(list(pattern.finditer(text))):
        start, end = found.span()
        text = text[:start] + text[end:]
        moved = [(_after(a, start, end), _after(b, start, end)) for a, b in moved]
    return text, [(a, b) for a, b in moved if a < b]


def _after(at: int, start: int, end: int) -> int:
    return at if at <= start else max(at - (end - start), start)


def put_aside(hits: Sequence[Hit], infos: Mapping[str, EvictedInfo]) -> list[Hit]:
    """The hits, those of evicted results with what is known of them by path: the tool, the session
    and when it was put aside. (The index knows their files alone.)"""
    return [
        replace(hit, tool=info.tool, session_id=info.session_id, when=info.when or hit.when)
        if hit.layer == "evicted" and (info := infos.get(hit.path)) is not None
        else hit
        for hit in hits
    ]


def shown(
    hit: Hit, titles: Mapping[str, str], now: datetime, *, by_day: bool = False, length: int = 0
) -> Shown:
    """A hit in words. `titles` are session titles by id; `by_day`: the day stands in the head;
    `length`: bytes of an evicted result, 0 when they are not known."""
    text, spans = line_of(hit)
    icon = _ICONS.get(hit.layer, "file-text")
    if hit.layer == "sessions" and (hit.tool or hit.role == "tool"):
        icon = "terminal"
    elif hit.path.startswith(PROPOSAL):
        icon = "git-pull-request-arrow"
    time = ""
    if hit.when and hit.layer != "memory":
        time = clock(hit.when) if by_day or hit.layer == "daily" else moment(hit.when, now)
    if hit.places:
        places = list(dict.fromkeys(tr(LAYER_WORDS[p.layer]).lower() for p in hit.places))
        also = tr("also in {places}", places=tr(" and ").join(places))
        time = sentence((also, time))
    return Shown(icon, place_words(hit, titles, now, length), time, text, tuple(spans))


def line_of(hit: Hit) -> tuple[str, list[tuple[int, int]]]:
    """The text of a hit as one line without what only lists and terminals need, and its spans."""
    text, spans = hit.text, [(s.start, s.end) for s in hit.spans]
    if hit.layer == "evicted" or hit.role == "tool":
        text, spans = unescaped(text, spans)
    text = flat(text)
    bare = text.lstrip(" -*+#>\u200b")
    cut = len(text) - len(bare)
    if cut and bare and (not spans or spans[0][0] >= cut):
        text, spans = bare, [(a - cut, b - cut) for a, b in spans]
    return text, spans


def place_words(
    hit: Hit | HitPlace, titles: Mapping[str, str], now: datetime, length: int = 0
) -> str:
    """Where a hit is, as its row names it."""
    if hit.layer == "memory":
        return tr("MEMORY.md, line {n}", n=number(hit.line))
    if hit.layer == "history":
        return _past_words(hit)
    if hit.layer == "daily":
        return tr("{day}, line {n}", day=day_of(hit.path, now), n=number(hit.line))
    title = title_of(titles, hit.session_id)
    if not isinstance(hit, Hit):
        return title
    if hit.layer == "evicted":
        tool = plain_line(hit.tool) or tr("Result put aside")
        long = size(length) if length else ""
        return sentence((tool, long, tr("line {n}", n=number(hit.line)), title))
    return sentence((title, _speaker(hit)))


def _past_words(hit: Hit | HitPlace) -> str:
    if hit.path.startswith(PROPOSAL):
        return tr("A proposal for MEMORY.md")
    n = number(version_of(hit))
    return tr("Went with version {n}", n=n) if hit.role == "dropped" else tr("Version {n}", n=n)


def version_of(hit: Hit | HitPlace) -> int:
    """The version of MEMORY.md with which a line of the history came or went."""
    digits = hit.path.removeprefix(VERSION)
    return int(digits) if digits.isdecimal() else 0


def held_by(hit: Hit | HitPlace) -> int:
    """The version that holds it: of a line that went, the one before."""
    return version_of(hit) - (hit.role == "dropped")


def title_of(titles: Mapping[str, str], session_id: str, limit: int = 60) -> str:
    """A session's title in one safe line; "" when the session is not known."""
    return _short(titles[session_id], limit) if session_id in titles else ""


@lru_cache(2_000)
def _short(title: str, limit: int) -> str:
    """Many hits are of few sessions, and each is named at every painting."""
    return preview(title, limit)


def _speaker(hit: Hit) -> str:
    tool = plain_line(hit.tool) if hit.tool else ""
    if hit.role == "tool":
        return tr("result of {tool}", tool=tool) if tool else tr("tool result")
    if tool:
        return tr("call of {tool}", tool=tool)
    return {"user": tr("you"), "assistant": tr("agent"), "system": tr("system")}.get(hit.role, "")


def day_of(path: str, now: datetime) -> str:
    """The day in a daily log's name in words, else the name; an archived log says so."""
    name = path.rsplit("/", 1)[-1].removesuffix(".md")
    try:
        words = day(date.fromisoformat(name[:10]), now.astimezone().date()) + name[10:]
    except ValueError:
        words = preview(name, 60)
    return sentence((words, tr("archived") if "/archive/" in path else ""))


# ---------------------------------------------------------------------------- groups


def by_layer(hits: Sequence[Hit], counts: Mapping[str, int], most: int = IN_ALL) -> list[Entry]:
    """Groups in the fixed order of layers, `most` hits of each; 0 shows all.

    What is told as another place of a listed hit counts as shown.
    """
    groups = {layer: [hit for hit in hits if hit.layer == layer] for layer in LAYERS}
    kept = {layer: found[:most] if most else found for layer, found in groups.items() if found}
    aside = Counter(p.layer for found in kept.values() for hit in found for p in hit.places)
    out: list[Entry] = []
    for layer, found in kept.items():
        total = counts.get(layer, len(found))
        more = max(total - len(found) - aside[layer], 0) if most else 0
        out.append(Head(layer, tr(LAYER_WORDS[layer]), number(total), more))
        out += found
    return out


def by_day(hits: Sequence[Hit], now: datetime, last: str = "") -> list[Entry]:
    """Groups by local day, in the order the hits come; `last` is the group already begun."""
    out: list[Entry] = []
    today = now.astimezone().date()
    for hit in hits:
        of = hit.when.astimezone().date() if hit.when else None
        key = of.isoformat() if of else "none"
        if key != last:
            out.append(Head(key, day(of, today) if of else tr("Without a time")))
            last = key
        out.append(hit)
    return out


def days_together(hits: Sequence[Hit]) -> list[Hit]:
    """Hits ranked by relevance, brought together by day: newest day first, best first within."""
    return sorted(hits, key=lambda h: h.when.astimezone().date().toordinal() if h.when else 0,
                  reverse=True)  # fmt: skip


def _last_group(entries: Sequence[Entry]) -> str:
    return next((e.key for e in reversed(entries) if isinstance(e, Head)), "")


# ---------------------------------------------------------------------------- the item model


class HitModel(QAbstractListModel):
    """Entries in order. `more_wanted()` when a view reaches the end and there are more hits."""

    more_wanted = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._entries: list[Entry] = []
        self._titles: Mapping[str, str] = {}
        self._lengths: Mapping[str, int] = {}
        self._now = datetime.now().astimezone()
        self._more = False
        self._asked = False
        self._by_day = False
        self.group = ""  # key of the last head

    def set_entries(
        self, entries: Sequence[Entry], titles: Mapping[str, str], now: datetime, *,
        more: bool = False, by_day: bool = False, lengths: Mapping[str, int] | None = None,
    ) -> None:  # fmt: skip
        """Show these instead; `lengths` are the bytes of evicted results by path."""
        self.beginResetModel()
        self._entries = list(entries)
        self._titles, self._now, self._by_day = titles, now, by_day
        self._lengths = lengths or {}
        self._more, self._asked = more, False
        self.group = _last_group(entries)
        self.endResetModel()

    def add(self, entries: Sequence[Entry], *, more: bool) -> None:
        """Show these below the ones there are."""
        self._more, self._asked = more, False
        if entries:
            at = len(self._entries)
            self.beginInsertRows(QModelIndex(), at, at + len(entries) - 1)
            self._entries += entries
            self.group = _last_group(entries) or self.group
            self.endInsertRows()

    def entries(self) -> list[Entry]:
        return self._entries

    def entry(self, at: int) -> Entry | None:
        return self._entries[at] if 0 <= at < len(self._entries) else None

    def first(self) -> int:
        """The row of the first hit; -1 when there is none."""
        return next((i for i, e in enumerate(self._entries) if isinstance(e, Hit)), -1)

    def row_of(self, key: HitKey) -> int:
        """The row of the hit with that `hit_key`; -1 when it is not there."""
        return next(
            (i for i, e in enumerate(self._entries)
             if isinstance(e, Hit) and hit_key(e) == key), -1,
        )  # fmt: skip

    def words(self, hit: Hit) -> Shown:
        length = self._lengths.get(hit.path, 0)
        return shown(hit, self._titles, self._now, by_day=self._by_day, length=length)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._entries)

    def has_more(self) -> bool:
        return self._more and not self._asked

    def ask_more(self) -> None:
        """The view is near the end. (Not Qt's `fetchMore`: a tree fetches at each layout.)"""
        if self.has_more():
            self._asked = True
            self.more_wanted.emit()

    def answered(self) -> None:
        """Nobody is on the way with more any longer."""
        self._asked = False

    def flags(self, index: Index) -> Qt.ItemFlag:
        return CHOOSABLE if isinstance(self.entry(index.row()), Hit) else Qt.ItemFlag.NoItemFlags

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        entry = self.entry(index.row())
        if entry is None:
            return None
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            if isinstance(entry, Head):
                return sentence((entry.title, entry.count))
            if isinstance(entry, Tail):
                return sentence((entry.words, entry.act))
            return self.words(entry).sentence()
        return None
