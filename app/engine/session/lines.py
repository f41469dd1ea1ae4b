"""The lines of a log: read forwards and backwards, decoded, numbered, and made from entries.

Lines end at byte 0x0A only (specification 3.4). What reads a file blocks.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from io import BytesIO
from itertools import accumulate
from pathlib import Path
from typing import BinaryIO

import msgspec

from app.engine.session.codec import decode, decode_all, encode
from app.engine.session.entries import BadLine, Entry
from app.engine.workspace.files import BOM, open_regular

BLOCK = 1 << 18  # bytes read at once
NEWLINE = 0x0A


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


def decoded(offset: int, lines: list[bytes], after: int) -> Stretch:
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


def encoded(entries: Sequence[Entry], after: int) -> list[tuple[bytes, Entry]]:
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
    for offset, lines in blocks(path, start):
        for line in lines:
            if not line.isspace():
                yield offset, line, line[-1] == NEWLINE
            offset += len(line)


def blocks(path: Path, start: int) -> Iterator[tuple[int, list[bytes]]]:
    """Some lines at a time, with the offset of the first; a missing file has none."""
    with opened(path) as file:
        file.seek(start)
        if start == 0 and file.read(len(BOM)) != BOM:
            file.seek(0)
        offset = file.tell()
        while lines := file.readlines(BLOCK):  # binary: splits at 0x0A alone
            yield offset, lines
            offset += sum(map(len, lines))


def opened(path: Path) -> BinaryIO:
    """The file, a missing one as an empty one. Raises `Unreadable`."""
    return open_regular(path) or BytesIO()


def raw_lines_backwards(path: Path) -> Iterator[tuple[int, bytes, bool]]:
    """As `raw_lines`, newest first, reading only as much of the file's end as is asked for."""
    with opened(path) as file:
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


def is_torn(entry: Entry | BadLine) -> bool:
    """Whether it is the rest of a line whose newline never came."""
    return isinstance(entry, BadLine) and entry.torn


def numbered(entry: Entry | BadLine, seq: int) -> Entry | BadLine:
    """The entry with a number (and an id) where its line had none."""
    if not entry.seq:
        entry = msgspec.structs.replace(entry, seq=seq)
    if isinstance(entry, Entry) and not entry.id:
        entry = msgspec.structs.replace(entry, id=f"line-{entry.seq}")
    return entry
