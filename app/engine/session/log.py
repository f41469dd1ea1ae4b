"""One session's event log on disk: append-only, one writer, read line by line (specification 3.4).

Invariants: lines end at byte 0x0A only; what was written is never changed; a torn last line is set
aside in a side file before the next append, never glued to it and never lost; reading never writes.
Everything here blocks: call it in a thread.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Protocol

from app.engine.errors import StorageError, Unreadable, WorkspaceBusy
from app.engine.session.codec import decode
from app.engine.session.entries import BadLine, Entry, Recovery
from app.engine.session.lines import (
    Line,
    Stretch,
    blocks,
    decode_line,
    decoded,
    encoded,
    is_torn,
    numbered,
    opened,
    raw_lines_backwards,
    stretch_of,
)
from app.engine.workspace.files import (
    AppendFile,
    Held,
    make_folder,
    must_be_regular,
    open_regular,
    sync_folder,
    try_lock,
    write_atomic,
)

Left = tuple[tuple[int, int] | None, int]  # which file it was, and its size


class Log(Protocol):
    """What a session needs of its storage; on disk (`SessionLog`) or in memory (`MemoryLog`)."""

    def read(self, start: int = 0, after: int = 0) -> Iterator[Line]:
        """Entries from a line's offset on, in order. A missing `seq` is filled in, counting on
        from `after`."""
        ...

    def stretches(self, start: int = 0, after: int = 0) -> Iterator[Stretch]:
        """As `read`, many at a time; none of them is empty."""
        ...

    def size(self) -> int:
        """Where the next line would begin; 0 when nothing was ever written."""
        ...

    def which(self) -> tuple[int, int] | None:
        """What tells this log from another of the same name; None as long as there is none."""
        ...

    def prepare(self) -> list[Entry]:
        """Become the writer and mend the tail; entries that say what was mended, to be appended."""
        ...

    def append(self, entries: Sequence[Entry]) -> list[Line]:
        """Number and write entries durably, all or none; what is returned is what reading gives.

        Raises `ValueError` for an entry that could not be read back; nothing is written then.
        """
        ...

    def sync(self) -> None:
        """Force what was appended to the disk."""
        ...

    def close(self) -> None:
        """Let the writer's lock go."""
        ...


class MemoryLog:
    """A log that lives as long as the program (`disable_transcript`)."""

    def __init__(self) -> None:
        self._lines: list[bytes] = []

    def read(self, start: int = 0, after: int = 0) -> Iterator[Line]:
        for n, line in enumerate(self._lines[start:], start):
            yield Line(n, n + 1, numbered(decode(line), n + 1))

    def stretches(self, start: int = 0, after: int = 0) -> Iterator[Stretch]:
        if lines := list(self.read(start, after)):
            yield stretch_of(lines)

    def size(self) -> int:
        return len(self._lines)

    def which(self) -> tuple[int, int]:
        return 0, 0

    def prepare(self) -> list[Entry]:
        return []

    def append(self, entries: Sequence[Entry]) -> list[Line]:
        first = len(self._lines)
        made = encoded(entries, first)
        self._lines += [line for line, _ in made]
        return [Line(n, n + 1, entry) for n, (_, entry) in enumerate(made, first)]

    def sync(self) -> None:
        return

    def close(self) -> None:
        return


class SessionLog:
    """The `<id>.log.jsonl` of one session.

    `fsync` is always, per_turn or never. The writer's lock (`lock_file`) is taken at the first
    append and held until `close`; another process then gets `WorkspaceBusy`.
    """

    def __init__(self, path: Path, lock_file: Path | None = None, fsync: str = "always") -> None:
        self.path = path
        self.fsync = fsync
        self._lock_file = lock_file or path.with_name(path.name + ".lock")
        self._held: Held | None = None
        self._file = AppendFile(path)
        self._seq = 0  # of the newest line; known once the writer has opened
        self._left: Left | None = None  # how the file was after our last append
        self._mended: list[Entry] = []

    # ------------------------------------------------------------------ reading

    def size(self) -> int:
        """See `Log.size`. Raises `Unreadable` when what lies there is no file."""
        return self._now()[1]

    def which(self) -> tuple[int, int] | None:
        """See `Log.which`: device and inode. Raises `Unreadable`."""
        return self._now()[0]

    def _now(self) -> Left:
        try:
            found = self.path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return None, 0
        except OSError as error:
            name = self.path.name
            raise Unreadable(f"{name} cannot be read.", "Mend its permissions.") from error
        must_be_regular(self.path, found)
        return (found.st_dev, found.st_ino), found.st_size

    def read(self, start: int = 0, after: int = 0) -> Iterator[Line]:
        """See `Log.read`; a missing file has no entries. Raises `Unreadable`."""
        for some in self.stretches(start, after):
            ends = (*some.offsets[1:], some.end)
            yield from map(Line, some.offsets, ends, some.entries)

    def stretches(self, start: int = 0, after: int = 0) -> Iterator[Stretch]:
        """See `Log.stretches`; a missing file has none. Raises `Unreadable`."""
        seq = after
        for offset, lines in blocks(self.path, start):
            some = decoded(offset, lines, seq)
            if some.entries:
                seq = max(seq, some.entries[-1].seq)
                yield some

    def between(self, start: int, end: int, after: int) -> Stretch:
        """The lines from one offset to another (both where lines begin), counting on from `after`.
        Raises `Unreadable`, also when they are no longer there."""
        file = open_regular(self.path)
        if file is None:
            raise Unreadable(f"{self.path.name} is no longer there.", "Look again.")
        with file:
            file.seek(start)
            lines = BytesIO(file.read(end - start)).readlines()
        return decoded(start, lines, after)

    # ------------------------------------------------------------------ writing

    def prepare(self) -> list[Entry]:
        """See `Log.prepare`. Raises `WorkspaceBusy` when another process writes this session."""
        if self._held is None:
            make_folder(self.path.parent)
            self._held = try_lock(self._lock_file)
            if self._held is None:
                raise WorkspaceBusy("Another program is writing to this session.")
            self._left = None
        if self._left != self._now():
            if (torn := self._find_end()) is not None:
                self._set_aside(torn)
            self._left = self._now()
        return list(self._mended)

    def append(self, entries: Sequence[Entry]) -> list[Line]:
        """See `Log.append`. Raises `StorageError` (the file is then as before), `WorkspaceBusy`."""
        mended = [m for m in self.prepare() if m.id not in {entry.id for entry in entries}]
        written = encoded([*mended, *entries], self._seq)
        data = b"".join(line for line, _ in written)
        offset = self._file.append(data, sync=self.fsync == "always")
        made: list[Line] = []
        for line, entry in written:
            made.append(Line(offset, offset + len(line), entry))
            offset += len(line)
        self._seq += len(written)
        self._left = self.which(), offset
        self._mended.clear()
        return made

    def sync(self) -> None:
        """With `per_turn`: force the turn to the disk. Otherwise there is nothing to do."""
        if self.fsync != "per_turn" or not self.path.exists():
            return
        try:
            with self.path.open("r+b") as file:
                os.fsync(file.fileno())
            sync_folder(self.path.parent)
        except OSError as error:
            raise StorageError(f"{self.path.name} could not be written.") from error

    def close(self) -> None:
        self._file.close()
        if self._held is not None:
            self._held.release()
            self._held = None

    def _find_end(self) -> int | None:
        """Learn the newest number from the end of the file; the offset of a torn last line."""
        torn: int | None = None
        bad = 0
        for offset, raw, whole in raw_lines_backwards(self.path):
            entry = decode_line(raw, whole)
            if isinstance(entry, BadLine):
                if entry.torn:
                    torn = offset
                else:
                    bad += 1
                continue
            if not entry.seq:
                break  # another writer's: count from the start
            self._seq = entry.seq + bad
            return torn
        self._seq = max((n.entry.seq for n in self.read() if not is_torn(n.entry)), default=0)
        return torn

    def _set_aside(self, offset: int) -> None:
        with opened(self.path) as file:
            file.seek(offset)
            stub = file.read()
        side = self._side_file()
        write_atomic(side, stub)
        try:
            with self.path.open("r+b") as file:
                file.truncate(offset)
                os.fsync(file.fileno())
        except OSError as error:
            raise StorageError(f"{self.path.name} could not be mended.") from error
        reason = "The last line was cut off while it was written; it was set aside."
        self._mended.append(
            Recovery(id=f"recovery-{side.name}", file=side.name, bytes=len(stub), reason=reason)
        )

    def _side_file(self) -> Path:
        stem = self.path.name.removesuffix(".jsonl")
        n = 1
        while (side := self.path.with_name(f"{stem}.torn-{n}")).exists():
            n += 1
        return side
