"""Where the lines of a log lie, so that a page from far back costs a page.

One reading of the file makes it, reading on keeps it current; of a line sixteen bytes stay. What
later lines do to earlier ones (a compaction covers them, a mark changes them) is found by the ids
they name. Ids are kept as fingerprints. Blocks; one thread at a time.
"""

from __future__ import annotations

import os
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator

from app.engine.session import entries as e
from app.engine.session.lines import Stretch
from app.engine.session.log import SessionLog
from app.engine.session.messages import owner

Found = e.Entry | e.BadLine

AT_ONCE = 256  # lines read in one go


class Positions:
    """The lines of one log. A row is a line that is not blank; a torn last one is none yet."""

    def __init__(self, log: SessionLog) -> None:
        self._log = log
        self._clear()

    def _clear(self) -> None:
        self.whole = False  # only a reading of all of it shows a page as it is
        self._end = self._seq = 0
        self._file: tuple[int, int, int] = (0, 0, 0)  # inode, size, time
        self._offsets = array("Q")
        self._seqs = array("Q")
        self._ids = array("q")
        self._owners: dict[int, int] = {}  # message id -> row of its first call
        self._turns: list[int] = []  # rows of summaries, compactions and resets
        self._named: dict[int, list[int]] = {}  # id -> rows of marks, evictions, interruptions

    def __len__(self) -> int:
        return len(self._seqs)

    def update(self) -> None:
        """Read what the file holds beyond what is known; one that was replaced or whose last known
        line is no longer in its place, anew."""
        try:
            found = os.stat(self._log.path)
        except FileNotFoundError:
            self._clear()
            return
        state = (found.st_ino, found.st_size, found.st_mtime_ns)
        if state == self._file:
            return
        if state[0] != self._file[0] or state[1] < self._end or not self._as_read():
            self._clear()
        for some in self._log.stretches(self._end, self._seq):
            self._take(some)
        self._file = state

    def _as_read(self) -> bool:
        if not self._seqs:
            return True
        found = next(self.read(len(self) - 1, len(self)), None)
        return found is not None and hash(id_of(found)) == self._ids[-1]

    def _take(self, some: Stretch) -> None:
        entries, end = some.entries, some.end
        if isinstance(entries[-1], e.BadLine) and entries[-1].torn:
            entries, end = entries[:-1], some.offsets[-1]
        first, seqs = len(self), [entry.seq for entry in entries]
        self.whole |= [self._seq, *seqs] != sorted([self._seq, *seqs])
        self._offsets.extend(some.offsets[: len(entries)])
        self._seqs.extend(seqs)
        self._ids.extend(hash(id_of(entry)) for entry in entries)
        for row, entry in enumerate(entries, first):
            if isinstance(entry, _MATTERS):
                self._note(entry, row)
        self._end, self._seq = end, seqs[-1] if seqs else self._seq

    def _note(self, entry: e.Entry, row: int) -> None:
        if isinstance(entry, e.ToolUse):
            self._owners.setdefault(hash(owner(entry.id)), row)
        elif isinstance(entry, e.Summary | e.Compaction | e.Reset):
            self._turns.append(row)
            self.whole |= isinstance(entry, e.Compaction) and entry.covered is None
        else:
            for some_id in _changed_by(entry):
                self._named.setdefault(hash(some_id), []).append(row)

    # ------------------------------------------------------------------ what can be asked

    def row_at(self, seq: int) -> int:
        """The first row with that number or a higher one."""
        return bisect_left(self._seqs, seq)

    def row_of(self, some_id: str) -> int | None:
        """The row of an entry, or of the first one of a message; None when it is not there."""
        mark, start = hash(some_id), 0
        while True:
            try:
                row = self._ids.index(mark, start)
            except ValueError:
                return self._owners.get(mark)
            if id_of(self.line(row)) == some_id:
                return row
            start = row + 1

    def naming(self, ids: Iterable[str], after: int) -> set[int]:
        """Rows from `after` on that mark, evict or interrupt something with one of the ids."""
        rows = (self._named.get(hash(some_id), ()) for some_id in ids)
        return {row for some in rows for row in some if row >= after}

    def turns(self, after: int) -> list[int]:
        """Rows from `after` on that hold a summary, a compaction or a reset."""
        return self._turns[bisect_left(self._turns, after) :]

    def seq(self, row: int) -> int:
        """The number of a row's entry."""
        return self._seqs[row]

    def line(self, row: int) -> Found:
        """What lies in one row."""
        return next(self.read(row, row + 1))

    def read(self, first: int, last: int) -> Iterator[Found]:
        """What lies in the rows from `first` to before `last`, or to the end."""
        last = min(last, len(self))
        for row in range(first, last, AT_ONCE):
            after = min(row + AT_ONCE, last)
            end = self._offsets[after] if after < len(self) else self._end
            yield from self._log.between(self._offsets[row], end, self._seqs[row] - 1).entries

    def backwards(self, before: int) -> Iterator[Found]:
        """What lies before a row, newest first."""
        while before > 0:
            first = max(0, before - AT_ONCE)
            yield from reversed(list(self.read(first, before)))
            before = first


def _changed_by(entry: e.Entry) -> tuple[str, ...]:
    """Ids of the messages, results or calls that an entry changes on the timeline."""
    if isinstance(entry, e.Mark):
        return tuple(map(owner, entry.ids()))
    if isinstance(entry, e.Eviction):
        return tuple(target for target, _ in entry.forms())
    return entry.tool_call_ids if isinstance(entry, e.Interrupted) else ()


def id_of(entry: Found) -> str:
    """The id of an entry, or the one a line that is none is shown by."""
    return entry.id if isinstance(entry, e.Entry) else f"gap-{entry.seq}"


_MATTERS = (
    e.ToolUse, e.Summary, e.Compaction, e.Reset, e.Mark, e.Eviction, e.Interrupted,
)  # fmt: skip
