"""The list of sessions as rows. Pure.

Newest activity first, grouped by day; a fork stands indented under the session it came from, as
long as that one is in the list; every session is there exactly once.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime

from app.engine.records import SessionInfo
from app.gui.look.text import clock, day, plural, preview, sentence, tr
from app.gui.widgets.rows import Row

DEEPEST = 3  # steps of indentation that are still drawn


def session_rows(
    sessions: Sequence[SessionInfo],
    *,
    now: datetime,
    wanted: str = "",
    running: frozenset[str] = frozenset(),
) -> list[Row]:
    """Rows with heads Today, Yesterday, the weekday; `wanted` filters by title and id."""
    found = [s for s in sessions if _matches(s, wanted)]
    children: dict[str, list[SessionInfo]] = {}
    known = {s.id for s in found}
    roots: list[SessionInfo] = []
    for one in found:
        if one.parent in known and one.parent != one.id:
            children.setdefault(one.parent, []).append(one)
        else:
            roots.append(one)
    rows: list[Row] = []
    placed: set[str] = set()
    today = now.astimezone().date()
    current: date | str | None = ""

    def put(one: SessionInfo, depth: int) -> None:
        if one.id in placed:
            return
        placed.add(one.id)
        rows.append(_row(one, depth, one.id in running))
        for child in children.get(one.id, ()):
            put(child, depth + 1)

    for one in [*roots, *found]:  # the second pass catches forks that go in a circle
        if one.id in placed:
            continue
        of = one.last.astimezone().date() if one.last else None
        if of != current:
            current = of
            title = day(of, today) if of else tr("Without a time")
            rows.append(Row(f"head:{of}", title, head=True))
        put(one, 0)
    return rows


def _matches(one: SessionInfo, wanted: str) -> bool:
    words = wanted.casefold().split()
    text = f"{one.title}\n{one.id}".casefold()
    return all(word in text for word in words)


def _row(one: SessionInfo, depth: int, running: bool) -> Row:
    title = preview(one.title, 120, blank=tr("Untitled session"))
    parts = [clock(one.last), plural(one.messages, "{n} message", "{n} messages")]
    if one.parent:
        parts.append(tr("a fork"))
    if running:
        parts.append(tr("running"))
    if one.failed:
        parts.append(tr("stopped by an error"))
    marks = tuple(
        kind
        for kind, count in (
            ("compaction", one.compactions),
            ("eviction", one.evictions),
            ("flush", one.flushes),
        )
        if count
    )
    spoken = [title, *parts]
    if one.compactions:
        spoken.append(plural(one.compactions, "{n} compaction", "{n} compactions"))
    if one.flushes:
        spoken.append(plural(one.flushes, "{n} flush", "{n} flushes"))
    if one.evictions:
        spoken.append(plural(one.evictions, "{n} result put aside", "{n} results put aside"))
    return Row(
        one.id,
        title,
        sentence(parts),
        marks=("failure", *marks) if one.failed else marks,
        dot=running,
        indent=min(depth, DEEPEST),
        spoken=sentence(spoken),
        tip=one.title,
        data=one,
    )
