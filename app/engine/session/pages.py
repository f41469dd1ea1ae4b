"""Pages of a transcript: the newest, those before it, and one around any entry (case B56).

Invariant: only as much of the file is decoded as the page needs, and a page shows what a reading of
the whole log would show there. The newest page is read from the end of the file; all others by the
log's `Positions`, which the first of them makes with one pass of the file.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator

from app.engine.records import TranscriptItem
from app.engine.session import entries as e
from app.engine.session.lines import decode_line, numbered, raw_lines_backwards
from app.engine.session.log import Log, SessionLog
from app.engine.session.messages import owner
from app.engine.session.positions import Found, Positions, id_of
from app.engine.session.transcript import items

REACH = 2_000  # lines read beyond a page for the calls of its results, and the other way round
KEPT = 4  # logs whose positions are kept


class Pages:
    """Pages of the logs of one workspace. Keeps the positions of the logs asked for last."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, Positions] = OrderedDict()
        self._lock = threading.Lock()

    def page(
        self, log: Log, *, before: int | None = None, around: str = "", limit: int = 2_000
    ) -> list[TranscriptItem]:
        """`limit` items, oldest first: the newest ones, the newest with `seq < before`, or those
        around the item of an entry or message id (none when the log does not have it).

        Blocks: the first page of a log that is not its newest reads the file once, a later one
        about as much as it shows. A log whose compactions do not say what they cover (another
        writer's) is read whole.
        """
        if limit <= 0:
            return []
        if not isinstance(log, SessionLog):
            return _of_whole(log, before, around, limit)
        if before is None and not around:
            picked = _gathered(_newest_first(log), limit)
            return _of_whole(log, None, "", limit) if picked is None else items(picked)[-limit:]
        with self._lock:
            at = self._positions(log)
            if at.whole:
                return _of_whole(log, before, around, limit)
            return _far(at, before, around, limit)

    def _positions(self, log: SessionLog) -> Positions:
        key = str(log.path)
        made = self._known.pop(key, None) or Positions(log)
        self._known[key] = made
        if len(self._known) > KEPT:
            self._known.popitem(last=False)
        made.update()
        return made


def _of_whole(log: Log, before: int | None, around: str, limit: int) -> list[TranscriptItem]:
    entries = [line.entry for line in log.read()]
    ready = items(entries)
    if not around:
        return [item for item in ready if before is None or item.seq < before][-limit:]
    named = (n.seq for n in entries if around in (id_of(n), owner(id_of(n))))
    seq = next(named, None)
    return [] if seq is None else _centred(ready, around, seq, limit)


def _far(at: Positions, before: int | None, around: str, limit: int) -> list[TranscriptItem]:
    if not around:
        return _before(at, at.row_at(before or 0), limit)[-limit:]
    row = at.row_of(around)
    if row is None:
        return []
    ready = _before(at, _items_later(at, row, limit // 2 + 1), limit + limit // 2)
    if len(ready) < limit:  # near the beginning
        ready = _before(at, _items_later(at, row, limit), 2 * limit)
    return _centred(ready, around, at.seq(row), limit)


def _before(at: Positions, end: int, limit: int) -> list[TranscriptItem]:
    """At least `limit` items, where there are so many, of the lines before row `end`."""
    picked = _gathered(at.backwards(end), limit) or []
    last = picked[-1].seq if picked else 0
    return [i for i in items([*picked, *_changes(at, picked, end)]) if i.seq <= last]


def _centred(
    ready: list[TranscriptItem], some_id: str, seq: int, limit: int
) -> list[TranscriptItem]:
    """`limit` items with the one of an id in their middle: its own, its call's or its first
    call's; else the one at its place."""
    there = (some_id in (i.id, i.detail.get("result_id"), owner(i.id)) for i in ready)
    before = sum(item.seq <= seq for item in ready) - 1
    at = next((n for n, found in enumerate(there) if found), before)
    first = max(0, min(at - (limit - 1) // 2, len(ready) - limit))
    return ready[first : first + limit]


def _items_later(at: Positions, row: int, count: int) -> int:
    """The row before which so many items lie, from `row` on."""
    for n, found in enumerate(at.read(row, len(at)), row):
        if not count:
            return n
        count -= not isinstance(found, _NO_ITEM)
    return len(at)


def _gathered(newest_first: Iterator[Found | None], limit: int) -> list[Found] | None:
    """Entries that make a page, in log order; None when the log has no numbers."""
    gathered: list[Found] = []
    wanted: set[str] = set()  # calls of results, and summaries of compactions, that were met
    count = beyond = 0
    for found in newest_first:
        if found is None:
            return None
        gathered.append(found)
        count += not isinstance(found, _NO_ITEM)
        if call := _answered(found):
            wanted.add(call)
        elif isinstance(found, e.ToolUse):
            wanted.discard(found.tool_call_id)
        elif isinstance(found, e.Compaction):
            wanted.add(found.summary_entry_id)
        elif isinstance(found, e.Summary):
            wanted.discard(found.id)
        beyond += count > limit
        if count > limit and (not wanted or beyond > REACH):
            break
    return gathered[::-1]


def _answered(found: Found) -> str:
    """The call that an entry answers; AgentScope writes results as messages, too."""
    return found.tool_call_id if isinstance(found, e.ToolResult | e.MessageEntry) else ""


# ---------------------------------------------------------------------------- what came later


def _changes(at: Positions, picked: list[Found], end: int) -> list[Found]:
    """What lies after row `end` and changes the picked entries, in log order."""
    later = _answers(at, picked, end)
    ids = {some_id for found in (*picked, *later.values()) for some_id in _names(found)}
    later |= {row: at.line(row) for row in at.naming(ids, end)}
    later |= _compactions(at, end)
    return [later[row] for row in sorted(later)]


def _answers(at: Positions, picked: list[Found], end: int) -> dict[int, Found]:
    """Results, by row, of calls that have none among the picked."""
    waiting: set[str] = set()
    for found in picked:
        if isinstance(found, e.ToolUse):
            waiting.add(found.tool_call_id)
        else:
            waiting.discard(_answered(found))
    answers: dict[int, Found] = {}
    for row, found in enumerate(at.read(end, end + REACH) if waiting else (), end):
        if (call := _answered(found)) in waiting:
            waiting.discard(call)
            answers[row] = found
            if not waiting:
                break
    return answers


def _names(found: Found) -> tuple[str, ...]:
    """The ids by which later entries may name what an entry said."""
    if isinstance(found, e.ToolUse):
        return (owner(found.id), found.id, found.tool_call_id)
    if isinstance(found, e.Summary):
        return (found.message.id if found.message is not None else found.id,)
    return (found.id,) if isinstance(found, e.SPOKEN) else ()


def _compactions(at: Positions, end: int) -> dict[int, Found]:
    """Compactions and their summaries, by row, until none is left that could cover something from
    before row `end`: they cover a context from its beginning on."""
    taken: dict[int, Found] = {}
    for row in at.turns(end):
        found = at.line(row)
        if isinstance(found, e.Reset):
            break
        taken[row] = found
        if isinstance(found, e.Compaction):
            newest = at.row_of(found.pending or (found.covered or ("",))[-1])
            if newest is not None and newest >= end:
                break
    return taken


# ---------------------------------------------------------------------------- the newest page


def _newest_first(log: SessionLog) -> Iterator[Found | None]:
    """Entries and bad lines with their numbers; None (and no more) when a line has none."""
    bad: list[e.BadLine] = []
    for _, raw, whole in raw_lines_backwards(log.path):
        entry = decode_line(raw, whole)
        if isinstance(entry, e.BadLine):
            bad.append(entry)
            continue
        if not entry.seq:
            yield None
            return
        yield from _numbered_gaps(bad, entry.seq)
        bad = []
        yield numbered(entry, entry.seq)
    yield from _numbered_gaps(bad, 0)


def _numbered_gaps(newest_first: list[e.BadLine], after: int) -> Iterator[Found]:
    for n, gap in zip(range(len(newest_first), 0, -1), newest_first, strict=True):
        yield numbered(gap, after + n)


_NO_ITEM = (
    e.ToolResult, e.Summary, e.Mark, e.UsageEntry, e.Request, e.SessionOpen, e.SessionClose,
    e.SnapshotTaken, e.Restored,
)  # fmt: skip
