"""The newest page of a transcript, read from the end of the log (case B56: huge logs).

Invariant: only as much of the file is decoded as the page needs, and a page shows what a reading of
the whole log would show there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from app.engine.records import TranscriptItem
from app.engine.session import entries as e
from app.engine.session.log import (
    MemoryLog,
    SessionLog,
    decode_line,
    numbered,
    raw_lines_backwards,
)
from app.engine.session.transcript import items

NEAR_RESULTS = 64  # results just after a page that may belong to calls in it
REACH = 2_000  # lines read beyond a page for the calls of its results
Found = e.Entry | e.BadLine


def page(
    log: SessionLog | MemoryLog, *, before: int | None = None, limit: int = 2_000
) -> list[TranscriptItem]:
    """The newest `limit` items with `seq < before` (or the newest of all), oldest first.

    Reads from the end of the file: as much as the page needs, plus the calls of its results. A log
    of another writer, without numbers, is read whole. Blocks.
    """
    picked = _picked(log, before, limit) if isinstance(log, SessionLog) else None
    if picked is None:
        picked = [line.entry for line in log.read()]
    ready = [i for i in items(picked) if before is None or i.seq < before]
    return ready[-limit:] if limit > 0 else []


def _picked(log: SessionLog, before: int | None, limit: int) -> list[Found] | None:
    """Entries that make the page, in log order; None when the log has no numbers."""
    gathered: list[Found] = []  # newest first, as are the next two
    later: list[Found] = []  # what comes after the page and changes it
    near: deque[Found] = deque(maxlen=NEAR_RESULTS)
    wanted: set[str] = set()  # calls of results, and summaries of compactions, that were met
    count = beyond = 0
    for found in _newest_first(log):
        if found is None:
            return None
        if before is not None and found.seq >= before:
            if isinstance(found, _CHANGING):
                later.append(found)
            elif isinstance(found, e.ToolResult):
                near.append(found)
            continue
        gathered.append(found)
        count += not isinstance(found, _NO_ITEM)
        if isinstance(found, e.ToolResult):
            wanted.add(found.tool_call_id)
        elif isinstance(found, e.ToolUse):
            wanted.discard(found.tool_call_id)
        elif isinstance(found, e.Compaction):
            wanted.add(found.summary_entry_id)
        elif isinstance(found, e.Summary):
            wanted.discard(found.id)
        beyond += count > limit
        if count > limit and (not wanted or beyond > REACH):
            break
    return [*reversed(gathered), *reversed(near), *reversed(later)]


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


_CHANGING = (e.Summary, e.Compaction, e.Mark, e.Eviction, e.Interrupted)
_NO_ITEM = (
    e.ToolResult, e.Summary, e.Mark, e.UsageEntry, e.Request, e.SessionOpen, e.SessionClose,
    e.SnapshotTaken, e.Restored,
)  # fmt: skip
