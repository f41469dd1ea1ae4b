"""One session's event log on disk: append-only, one writer, read line by line (specification 3.4).

Invariants: lines end at byte 0x0A only; what was written is never changed; a torn last line is set
aside in a side file before the next append, never glued to it and never lost; reading never writes.
Everything here blocks: call it in a thread.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from io import BytesIO
from itertools import accumulate
from pathlib import Path
from typing import BinaryIO, Protocol

import msgspec

from app.engine.errors import StorageError, Unreadable, WorkspaceBusy
from app.engine.session.codec import decode, decode_all, encode
from app.engine.session.entries import BadLine, Entry, Recovery
from app.engine.workspace.files import (
    BOM,
    AppendFile,
    Held,
    make_folder,
    must_be_regular,
    open_regular,
    sync_folder,
    try_lock,
    write_atomic,
)

BLOCK = 1 << 18  # bytes read at once
NEWLINE = 0x0A

Left = tuple[tuple[int, int] | None, int]  # which file it was, and its size


class Line(msgspec.Struct, frozen=True, gc=False):
    """One entry (or bad line); its line begins at byte `offset`, the next one at `end`."""

    offset: int
    end: int
    entry: Entry | BadLine


class Stretch(msgspec.Struct, frozen=True):
    """Some lines of a log in a row, for whoever reads very many; the last one ends at `end`."""

    offsets: list[int]
    entries: list[Entry | BadLine]
    end: int


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
        made = _written(entries, first)
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
        for offset, lines in _blocks(self.path, start):
            some = _stretch(offset, lines, seq)
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
        return _stretch(start, lines, after)

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
        written = _written([*mended, *entries], self._seq)
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
        self._seq = max((n.entry.seq for n in self.read() if not _torn(n.entry)), default=0)
        return torn

    def _set_aside(self, offset: int) -> None:
        with _opened(self.path) as file:
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


# ---------------------------------------------------------------------------- lines of a file


def _stretch(offset: int, lines: list[bytes], after: int) -> Stretch:
    """Lines decoded and numbered; what is blank is left out."""
    entries = decode_all(lines)
    offsets = list(accumulate(map(len, lines), initial=offset))
    end = offsets.pop()
    seqs = [entry.seq for entry in entries]
    ids = [entry.id if isinstance(entry, Entry) else "" for entry in entries]
    if seqs == list(range(after + 1, after + 1 + len(seqs))) and all(ids):  # as we write them
        return Stretch(offsets, entries, end)
    kept: list[tuple[int, Entry | BadLine]] = []
    for at, raw, entry in zip(offsets, lines, entries, strict=True):
        if raw.isspace():
            continue
        if raw[-1] != NEWLINE and isinstance(entry, BadLine):
            entry = msgspec.structs.replace(entry, torn=True)
        entry = numbered(entry, after + 1)
        after = max(after + 1, entry.seq)
        kept.append((at, entry))
    return Stretch([at for at, _ in kept], [entry for _, entry in kept], end)


def _written(entries: Sequence[Entry], after: int) -> list[tuple[bytes, Entry]]:
    """The line of each entry, and the entry as it will be read back. Raises `ValueError`."""
    made: list[tuple[bytes, Entry]] = []
    for seq, entry in enumerate(entries, after + 1):
        line = encode(msgspec.structs.replace(entry, seq=seq))
        back = numbered(decode(line), seq)
        if not isinstance(back, Entry):
            raise ValueError(back.reason)
        made.append((line, back))
    return made


def stretch_of(lines: Sequence[Line]) -> Stretch:
    """Lines (at least one) as a stretch."""
    return Stretch([n.offset for n in lines], [n.entry for n in lines], lines[-1].end)


def raw_lines(path: Path, start: int = 0) -> Iterator[tuple[int, bytes, bool]]:
    """Offset, bytes and wholeness of each line that is not blank.

    A line is whole when its newline is there. A byte order mark at the start is skipped.
    """
    for offset, lines in _blocks(path, start):
        for line in lines:
            if not line.isspace():
                yield offset, line, line[-1] == NEWLINE
            offset += len(line)


def _blocks(path: Path, start: int) -> Iterator[tuple[int, list[bytes]]]:
    """Some lines at a time, with the offset of the first; a missing file has none."""
    with _opened(path) as file:
        file.seek(start)
        if start == 0 and file.read(len(BOM)) != BOM:
            file.seek(0)
        offset = file.tell()
        while lines := file.readlines(BLOCK):  # binary: splits at 0x0A alone
            yield offset, lines
            offset += sum(map(len, lines))


def _opened(path: Path) -> BinaryIO:
    """The file, a missing one as an empty one. Raises `Unreadable`."""
    return open_regular(path) or BytesIO()


def raw_lines_backwards(path: Path) -> Iterator[tuple[int, bytes, bool]]:
    """As `raw_lines`, newest first, reading only as much of the file's end as is asked for."""
    with _opened(path) as file:
        end = file.seek(0, os.SEEK_END)
        rest: list[bytes] = []  # what is known of the line that began earlier, last piece first
        while end > 0:
            start = max(0, end - BLOCK)
            file.seek(start)
            pieces = file.read(end - start).split(b"\n")
            at = end
            for piece in reversed(pieces[1:]):
                at -= len(piece)
                yield from _gathered(at, piece, rest)
                at -= 1
                rest = [b"\n"]
            rest.append(pieces[0])
            end = start
        yield from _gathered(0, b"", rest)


def _gathered(at: int, head: bytes, rest: list[bytes]) -> Iterator[tuple[int, bytes, bool]]:
    line = head + b"".join(reversed(rest))
    if at == 0 and line.startswith(BOM):
        line, at = line[len(BOM) :], len(BOM)
    if line.strip():
        yield at, line, line.endswith(b"\n")


def decode_line(raw: bytes, whole: bool) -> Entry | BadLine:
    """A line as it lies in the file; a bad one without its newline is `torn`."""
    entry = decode(raw)
    if not whole and isinstance(entry, BadLine):
        return msgspec.structs.replace(entry, torn=True)
    return entry


def _torn(entry: Entry | BadLine) -> bool:
    return isinstance(entry, BadLine) and entry.torn


def numbered(entry: Entry | BadLine, seq: int) -> Entry | BadLine:
    """The entry with a number (and an id) where its line had none."""
    if not entry.seq:
        entry = msgspec.structs.replace(entry, seq=seq)
    if isinstance(entry, Entry) and not entry.id:
        entry = msgspec.structs.replace(entry, id=f"line-{entry.seq}")
    return entry
