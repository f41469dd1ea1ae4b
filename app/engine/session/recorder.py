"""What joins a log and a fold: entries are stamped, written, read back and folded, in this order.

Invariant: nothing is folded but what was decoded from the very bytes that are in the log. When
another process wrote meanwhile, its entries are folded before ours are made; a log whose last line
that was read is no longer in its place is another one, and is read anew. Blocks; one owner.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from app.engine.errors import StorageError
from app.engine.session import entries as e
from app.engine.session.fold import Fold
from app.engine.session.lines import Line, Stretch, stretch_of
from app.engine.session.log import Log
from app.engine.session.messages import owner
from app.engine.session.places import Place, Places

FAR = 1 << 20  # bytes between two entries from which the log is opened anew in between

Clock = Callable[[], datetime]
NewId = Callable[[], str]


def utc_now() -> datetime:
    return datetime.now(UTC)


def random_id() -> str:
    return uuid.uuid4().hex


class Kit(Struct, frozen=True):
    """What a session is given from outside: clock, ids, and where its view lies (None: no view)."""

    view: Path | None = None
    now: Clock = utc_now
    new_id: NewId = random_id


class Recorder:
    """The log of one session and its fold. `waiting` entries go out with the next ones."""

    def __init__(self, log: Log, kit: Kit) -> None:
        self.log = log
        self.fold = Fold()
        self.kit = kit
        self.read_to = 0
        self._which: tuple[int, int] | None = None  # the log that was read
        self._newest: tuple[int, e.Entry | e.BadLine] | None = None  # its last line, and where
        self._places = Places()
        self._seq = 0
        self._wrote = False
        self._waiting: list[e.Entry] = []

    @property
    def empty(self) -> bool:
        """Whether the log holds nothing yet."""
        return self.read_to == 0

    @property
    def writing(self) -> bool:
        """Whether something was written since the log was opened."""
        return self._wrote

    def stamps(self, ids: Iterable[str]) -> dict[str, str | int | float | None]:
        """The times of messages or entries, as written; those that the log has. Reads from the
        disk, what lies close together in one go: a long context costs one reading of its log."""
        places = {name: place for name in ids if (place := self._places.get(name)) is not None}
        found: dict[str, str | int | float | None] = {}
        lines: Iterator[Line] = iter(())
        line: Line | None = None
        at = -FAR
        for name, place in sorted(places.items(), key=lambda pair: pair[1].offset):
            if place.offset - at >= FAR:
                lines = iter(self.log.read(place.offset, place.seq - 1))
            if place.offset != at:  # several messages may stand in one entry
                at = place.offset
                line = next((one for one in lines if one.offset >= at), None)
            if line is not None and line.offset == at and isinstance(line.entry, e.Entry):
                found[name] = line.entry.timestamp
        return found

    def place(self, some_id: str) -> Place | None:
        """The place of a message or entry of this session, whether still in the context or not."""
        return self._places.get(some_id)

    def entries(self, after: str = "") -> Iterator[e.Entry | e.BadLine]:
        """Entries of the log, all or those after an entry id."""
        place = self._places.get(after)
        lines = self.log.read(place.offset, place.seq - 1) if place else self.log.read()
        for line in lines:
            if place is None or line.offset != place.offset:
                yield line.entry

    def wait(self, entry: e.Entry) -> None:
        """Let an entry go out before the next one, and show its effect at once."""
        self._waiting.append(entry)
        self.fold.foresee(entry)

    def begin(self) -> list[e.Entry]:
        """Become the writer and catch up; give what it returns to `commit`."""
        self._must_be_there()
        if self._overwritten():
            self.log.close()  # the writer, too, has to look at its end anew
            self._forget()
        mended = self.log.prepare()
        self.catch_up()
        return mended

    @property
    def gone(self) -> bool:
        """Whether a log that was read is no longer there, or was emptied."""
        return self.read_to > 0 and self.log.size() == 0

    def _must_be_there(self) -> None:
        """A log that went must not be begun again: its first entries would be missing."""
        if self.gone:
            raise StorageError(
                "The log of this session is gone: it was deleted or moved while it was open.",
                "Put it back where it was, or go on in a new session.",
            )

    def _overwritten(self) -> bool:
        """Whether another log was written into the same file: size and time do not tell that."""
        if self._newest is None:
            return False
        offset, entry = self._newest
        there = next(iter(self.log.read(offset, entry.seq - 1)), None)
        return there is None or (there.offset, there.entry) != (offset, entry)

    def _forget(self) -> None:
        """What we knew of the log is no longer so."""
        self.fold, self._places, self.read_to, self._seq = Fold(), Places(), 0, 0
        self._newest = None

    def catch_up(self) -> None:
        """Fold what lies in the log beyond what we read. Never writes."""
        size, which = self.log.size(), self.log.which()
        if size < self.read_to or which != (self._which or which):
            self._forget()  # replaced by another (forget)
        self._which = which
        if size == self.read_to:
            return
        for some in self.log.stretches(self.read_to, self._seq):
            self._take(some)

    def commit(self, mended: list[e.Entry], fresh: Sequence[e.Entry]) -> list[e.Entry]:
        """Write and fold; the entries as they were read back. On failure nothing has changed."""
        lines = self.log.append(self._stamped([*mended, *self._waiting, *fresh]))
        self._which = self._which or self.log.which()
        self._wrote = True
        self._waiting.clear()
        self._take(stretch_of(lines))
        return [n.entry for n in lines if isinstance(n.entry, e.Entry)]

    def _stamped(self, entries: list[e.Entry]) -> list[e.Entry]:
        made: list[e.Entry] = []
        tail, moment = self.fold.tail, self.kit.now().isoformat()
        for entry in entries:
            stamped = msgspec.structs.replace(
                entry,
                id=entry.id or self.kit.new_id(),
                parent_id=tail,
                timestamp=moment if entry.timestamp is None else entry.timestamp,
            )
            if isinstance(stamped, e.CONVERSATION):
                tail = stamped.id
            made.append(stamped)
        return made

    def _take(self, some: Stretch) -> None:
        """Fold lines, and note where they lie."""
        entries, offsets, end = some.entries, some.offsets, some.end
        if isinstance(entries[-1], e.BadLine) and entries[-1].torn:
            entries, end = entries[:-1], offsets[-1]  # it may still grow, or be set aside
            if not entries:
                return
        self.fold.apply_all(entries)
        self.read_to, self._seq = end, entries[-1].seq
        self._newest = offsets[len(entries) - 1], entries[-1]
        good = [entry for entry in entries if not isinstance(entry, e.BadLine)]
        if len(good) < len(offsets):
            pairs = zip(offsets, entries, strict=False)
            offsets = [at for at, entry in pairs if not isinstance(entry, e.BadLine)]
        first = self._places.add(
            [entry.id for entry in good], offsets, [entry.seq for entry in good]
        )
        for row, entry in enumerate(good, first):
            if type(entry) in _MORE_IDS:
                self._name_more(entry, row)

    def _name_more(self, entry: e.Entry, row: int) -> None:
        """Other ids by which something of this entry is known."""
        if isinstance(entry, e.ToolUse):
            self._places.name(owner(entry.id), row)
        elif isinstance(entry, e.Summary) and entry.message is not None:
            self._places.name(entry.message.id, row)
        elif isinstance(entry, e.Fork):
            for message in entry.messages:
                self._places.name(message.id, row)
        elif isinstance(entry, e.Reset):
            self._places.reset(row)


_MORE_IDS = frozenset({e.ToolUse, e.Summary, e.Fork, e.Reset})
