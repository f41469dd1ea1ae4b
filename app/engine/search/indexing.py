"""Bringing one file of the workspace into the index, as cheaply as its bytes allow.

Idea: content decides. Size and time only save reading: a time too close to the moment of the scan
is not trusted, and a file that grew is read from where it ended, after a look at what stood before.
Invariant: whatever way was taken, the index holds what a fresh reading of the file would give.
Synchronous; runs on the index's writer thread.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from datetime import UTC, tzinfo
from io import BytesIO
from pathlib import Path
from stat import S_ISREG
from typing import BinaryIO

from app.engine.records import Layer
from app.engine.search.documents import (
    Cursor,
    Document,
    Encoding,
    Marked,
    documents,
    layer_of,
    open_for_reading,
    session_of,
)
from app.engine.search.rows import FileRow
from app.engine.search.store import Store

YOUNG_NS = 2_000_000_000
"""A time this close to the scan may hide a second write with the same time."""
_PREFIX_CHECKED = 8_000_000
"""Bytes before the end that are compared when a log grew in place."""


def bring_up(
    store: Store, root: Path, path: str, *, now_ns: int, zone: tzinfo = UTC, force: bool = False
) -> bool:
    """Make the index hold `path` (relative, with slashes) as it is on disk; True when it changed.

    A file that is gone, or is no regular file, loses its rows.
    """
    layer = layer_of(path)
    stat = _stat(root / path)
    if layer is None or stat is None:
        return store.remove(path)
    known = store.file(path)
    if known is not None and not force and known.text is None and _same(known, stat):
        return False
    try:
        with open_for_reading(root / path) as file:
            return _bring_up(store, file, path, layer, stat, known, now_ns, zone, force)
    except FileNotFoundError:
        return store.remove(path)
    except OSError as error:
        return _refuse(store, path, layer, stat, now_ns, f"cannot be read: {error.strerror}")
    except Encoding as error:
        return _refuse(store, path, layer, stat, now_ns, f"is written in {error}")


def from_string(store: Store, path: str, text: str, *, now_ns: int, zone: tzinfo = UTC) -> int:
    """Index `text` as if it stood in `path`; how many documents it has.

    The text is kept in the index until the path is updated or removed, as no file holds it.
    """
    layer = layer_of(path) or "memory"
    data = text.encode("utf-8", "replace")
    row = FileRow(path, layer, session_of(path), size=len(data), mtime_ns=now_ns, text=text)
    return _write(store, BytesIO(data), row, Cursor(), zone, append=False)


def _stat(path: Path) -> os.stat_result | None:
    try:
        stat = path.lstat()
    except OSError:
        return None
    return stat if S_ISREG(stat.st_mode) else None


def _same(known: FileRow, stat: os.stat_result) -> bool:
    """Whether size and time alone show that nothing changed since the file was last read."""
    return (
        known.size == stat.st_size
        and known.mtime_ns == stat.st_mtime_ns
        and known.inode == stat.st_ino
        and known.seen_ns - known.mtime_ns > YOUNG_NS
    )


def _bring_up(
    store: Store, file: BinaryIO, path: str, layer: Layer, stat: os.stat_result,
    known: FileRow | None, now_ns: int, zone: tzinfo, force: bool,
) -> bool:  # fmt: skip
    fresh = FileRow(
        path, layer, session_of(path), stat.st_size, stat.st_mtime_ns, stat.st_ino, now_ns
    )
    usable = known is not None and known.text is None and not known.problem and not force
    if known is None or not usable:
        _write(store, file, fresh, Cursor(), zone, append=False)
        return True
    crc = _prefix(file, known, stat)
    if crc is None:
        _write(store, file, fresh, Cursor(), zone, append=False)
        return True
    fresh.crc, fresh.offset, fresh.line = crc, known.offset, known.line
    fresh.docs, fresh.last = known.docs, known.last
    if stat.st_size == known.offset:
        store.touch(fresh)
        return False
    if layer != "sessions":
        _write(store, file, fresh, Cursor(), zone, append=False)
        return True
    cursor = Cursor(known.offset, known.line, known.docs, known.last, crc)
    before = cursor.offset
    _write(store, file, fresh, cursor, zone, append=True)
    return cursor.offset != before


def _prefix(file: BinaryIO, known: FileRow, stat: os.stat_result) -> int | None:
    """The checksum of what was read before, if it still stands there; else None.

    A log that only grew in the same file is compared in its last part alone when it is large.
    """
    if stat.st_size < known.offset:
        return None
    grew = stat.st_size > known.size and stat.st_ino == known.inode
    if grew and known.offset > _PREFIX_CHECKED and known.layer == "sessions":
        file.seek(known.offset - 1)
        return known.crc if file.read(1) == b"\n" else None
    file.seek(0)
    crc, left = 0, known.offset
    while left:
        part = file.read(min(left, 1 << 20))
        if not part:
            return None
        crc = zlib.crc32(part, crc)
        left -= len(part)
    return crc if crc == known.crc else None


def _write(
    store: Store, file: BinaryIO, row: FileRow, cursor: Cursor, zone: tzinfo, *, append: bool
) -> int:
    """Put what stands behind `cursor` in; `row` is completed as the last document is made."""

    def made() -> Iterator[Document | Marked]:
        yield from documents(file, row.layer, row.path, cursor, zone)
        row.offset, row.line, row.docs = cursor.offset, cursor.line, cursor.order
        row.crc, row.last = cursor.crc, cursor.when

    return store.write(row, made(), row.mtime_ns // 1_000_000, append=append)


def _refuse(
    store: Store, path: str, layer: Layer, stat: os.stat_result, now_ns: int, why: str
) -> bool:
    """Keep the path without documents, with the reason why it has none."""
    row = FileRow(
        path, layer, session_of(path), stat.st_size, stat.st_mtime_ns, stat.st_ino, now_ns,
        problem=why,
    )  # fmt: skip
    known = store.file(path)
    store.write(row, (), 0, append=False)
    return known is None or known.problem != why
