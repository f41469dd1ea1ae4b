"""Reading what changed and turning it into terms, apart from the database.

Idea: content decides. Size and time only save reading: a time too close to the moment of the scan
is not trusted, and a file that grew is read from where it ended, after a look at what stood before.
What comes out are pieces, each of which leaves the index as a fresh reading of the file's beginning
would; a long log is several, so that memory stays flat and what is read can be found at once.
Invariant: whatever way was taken, after the last piece the index holds what a fresh reading of the
file would give. Synchronous, and without the database: it runs while another piece is written.
"""

from __future__ import annotations

import logging
import os
import zlib
from collections.abc import Generator, Iterator, Mapping
from datetime import tzinfo
from io import BytesIO
from pathlib import Path
from stat import S_ISREG
from typing import BinaryIO

from msgspec import Struct
from msgspec.structs import replace

from app.engine.errors import UserError
from app.engine.search.documents import (
    Encoding,
    documents,
    layer_of,
    open_for_reading,
    place_of,
    session_of,
)
from app.engine.search.past import (
    HISTORY,
    PAST,
    being_rewritten,
    file_of,
    is_version,
    kept,
    proposal,
    versions,
)
from app.engine.search.rows import YOUNG_NS, Cursor, Document, FileRow, Hidden, Marked, Shown
from app.engine.search.terms import index_text

log = logging.getLogger(__name__)

PIECE = 800_000
"""Characters of text after which a piece is handed over: few enough that taking one from another
process holds Python's lock for some milliseconds only."""
BATCH, DOCUMENT = 1_600_000, 300
"""Bytes of terms after which a batch is handed over, and those that a document counts for beside
its own: there are files of short lines only."""
MOST_PATHS = 400
"""Paths after which a batch is handed over, however little of them changed."""
_PREFIX_CHECKED = 8_000_000
"""Bytes before the end that are compared when a log grew in place."""

Known = Mapping[str, FileRow]


class Piece(Struct):
    """A change of one path. With `fresh` its old documents go first; `row` None removes it.

    `terms` go with `documents`, for each what `index_text` makes of it. `marked` and `hidden` are
    entries whose documents get the flag EVICTED, and messages whose documents go.
    """

    path: str
    row: FileRow | None = None
    fresh: bool = False
    documents: list[Document] = []
    terms: list[bytes] = []
    marked: list[str] = []
    hidden: list[str] = []
    changed: bool = True
    last: bool = True


def prepare(
    root: Path, path: str, known: Known, *, now_ns: int, zone: tzinfo, beside: str = ""
) -> Iterator[Piece]:
    """The pieces that make the index hold `path` (relative, with slashes) as it is on disk.

    None when nothing changed, or while the history is being rewritten. A file that is gone, or is
    no regular file, loses its rows.
    """
    row = known.get(path)
    if path.startswith(PAST):
        file, layer = file_of(root, path), "history"
    else:
        file, layer = place_of(root, path), layer_of(path, beside)
    stat = None if layer is None else _stat(file)
    if path == HISTORY and being_rewritten(root):  # asked after the look: it may begin between
        return
    if layer is None or stat is None:
        gone = filter(is_version, known) if path == HISTORY else ()
        yield from (Piece(one) for one in (*gone, *([path] if row else [])))
        return
    if row is not None and (row.text is None or layer == "history") and _same(row, stat):
        return
    fresh = FileRow(
        path, layer, session_of(path), stat.st_size, stat.st_mtime_ns, stat.st_ino, now_ns
    )
    try:
        if path == HISTORY:
            yield from _versions(root, fresh, known)
        elif layer == "history":
            yield _proposal(file, fresh, row)
        else:
            with open_for_reading(file) as opened:
                yield from _read(opened, fresh, row, zone)
    except FileNotFoundError:
        if row is not None:
            yield Piece(path)
    except OSError as error:
        yield _refused(fresh, row, f"cannot be read: {error.strerror}")
    except (Encoding, UserError) as error:
        why = f"is written in {error}" if isinstance(error, Encoding) else str(error)
        yield _refused(fresh, row, why)
    except Exception:  # whatever one strange file sets off, the others are still to be found
        log.exception("%s could not be made searchable", path)
        yield _refused(fresh, row, "cannot be read")


def _versions(root: Path, row: FileRow, known: Known) -> Iterator[Piece]:
    for version, lines in versions(root, known):
        if version.problem:
            yield Piece(version.path)
        else:
            yield _of_documents(version, kept(version, lines))
    yield Piece(row.path, row, changed=False)


def _proposal(file: Path, row: FileRow, known: FileRow | None) -> Piece:
    data = file.read_bytes()
    row.crc = zlib.crc32(data)
    if known is not None and known.crc == row.crc:
        same = replace(known, size=row.size, mtime_ns=row.mtime_ns, seen_ns=row.seen_ns)
        return Piece(row.path, replace(same, inode=row.inode), changed=False)
    made, lines = proposal(data)
    ours = replace(row, mtime_ns=made or row.mtime_ns)
    documents = kept(ours, lines)
    ours.mtime_ns = row.mtime_ns
    return _of_documents(ours, documents)


def _of_documents(row: FileRow, documents: list[Document]) -> Piece:
    found = [index_text(document.text) for document in documents]
    row.terms = sum(count for _, count in found)
    return Piece(row.path, row, True, documents, [terms for terms, _ in found])


def from_string(path: str, text: str, *, now_ns: int, zone: tzinfo) -> Iterator[Piece]:
    """Pieces that index `text` as if it stood in `path`.

    The text is kept in the index until the path is updated or removed, as no file holds it.
    """
    layer = layer_of(path) or "memory"
    data = text.encode("utf-8", "replace")
    row = FileRow(path, layer, session_of(path), size=len(data), mtime_ns=now_ns, text=text)
    return _cut(BytesIO(data), row, Cursor(), zone, fresh=True)


def _stat(path: Path) -> os.stat_result | None:
    try:
        stat = path.lstat()
    except OSError:
        return None
    return stat if S_ISREG(stat.st_mode) else None


def _same(known: FileRow, stat: os.stat_result) -> bool:
    """Whether size and times alone show that nothing changed since the file was last read."""
    return (
        known.size == stat.st_size
        and known.mtime_ns == stat.st_mtime_ns
        and known.inode == stat.st_ino
        and known.seen_ns - max(stat.st_mtime_ns, stat.st_ctime_ns) > YOUNG_NS
    )


def _read(file: BinaryIO, row: FileRow, known: FileRow | None, zone: tzinfo) -> Iterator[Piece]:
    usable = known is not None and known.text is None and not known.problem
    crc = _prefix(file, known, row) if known is not None and usable else None
    if known is None or crc is None:
        yield from _cut(file, row, Cursor(), zone, fresh=True)
        return
    if row.size == known.offset:
        yield Piece(row.path, _as_far_as(row, known, crc), changed=False)
        return
    if row.layer != "sessions" and known.last is None:
        yield from _cut(file, row, Cursor(), zone, fresh=True)
        return
    hidden = frozenset(known.hidden.split("\n")) if known.hidden else frozenset[str]()
    cursor = Cursor(known.offset, known.line, known.docs, known.last, crc, hidden)
    row.terms = known.terms
    for piece in _cut(file, row, cursor, zone, fresh=False):
        if piece.row is None:  # an entry is shown again whose text was read long ago
            row.terms = 0
            yield from _cut(file, row, Cursor(), zone, fresh=True)
            return
        piece.changed = piece.row.offset != known.offset
        yield piece


def _as_far_as(row: FileRow, known: FileRow, crc: int) -> FileRow:
    return replace(
        row, crc=crc, offset=known.offset, line=known.line, docs=known.docs, terms=known.terms,
        last=known.last, hidden=known.hidden,
    )  # fmt: skip


def _prefix(file: BinaryIO, known: FileRow, row: FileRow) -> int | None:
    """The checksum of what was read before, if it still stands there; else None.

    A log that only grew in the same file is compared in its last part alone when it is large.
    """
    if row.size < known.offset:
        return None
    grew = row.size > known.size and row.inode == known.inode
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


def _cut(
    file: BinaryIO, row: FileRow, cursor: Cursor, zone: tzinfo, *, fresh: bool
) -> Iterator[Piece]:
    """The pieces behind `cursor`. One without a row says: only a fresh reading can tell."""
    piece = Piece(row.path, row, fresh)
    size = 0
    for told in documents(file, row.layer, row.path, cursor, zone):
        match told:
            case Document():
                terms, count = index_text(told.text)
                size += len(told.text)
                # The text is in the file: to keep it until the piece is written would double it.
                piece.documents.append(replace(told, text=""))
                piece.terms.append(terms)
                row.terms += count
            case Marked():
                piece.marked.append(told.entry)
            case Hidden():
                piece.hidden.append(told.entry)
            case Shown() if not fresh:
                yield Piece(row.path)
                return
            case _:
                pass
        if size > PIECE and row.layer == "sessions" and row.text is None:
            # Whoever dies here finds a log that is shorter than it is, and reads on.
            piece.row = _so_far(row, cursor)
            piece.row.size = cursor.offset
            piece.last = False
            yield piece
            piece, size = Piece(row.path, row), 0
    piece.row = _so_far(row, cursor)
    yield piece


def _so_far(row: FileRow, cursor: Cursor) -> FileRow:
    return replace(
        row, offset=cursor.offset, line=cursor.line, docs=cursor.order, crc=cursor.crc,
        last=cursor.when, hidden="\n".join(sorted(cursor.hidden)),
    )  # fmt: skip


def _refused(row: FileRow, known: FileRow | None, why: str) -> Piece:
    """Keep the path without documents, with the reason why it has none."""
    row.problem = why
    return Piece(row.path, row, fresh=True, changed=known is None or known.problem != why)


# ---------------------------------------------------------------------------- many paths


class Batch(Struct):
    """Pieces to be made durable together, how many paths they finish, and their bytes as `BATCH`
    counts them."""

    pieces: list[Piece]
    paths: int = 0
    size: int = 0


def batches(
    root: Path, paths: list[str], known: Known, *, now_ns: int, zone: tzinfo, beside: str = ""
) -> Generator[Batch]:
    """The pieces of many paths, in that order, about `BATCH` bytes at a time."""
    batch = Batch([])
    for path in paths:
        for piece in prepare(root, path, known, now_ns=now_ns, zone=zone, beside=beside):
            batch.pieces.append(piece)
            batch.size += sum(map(len, piece.terms)) + DOCUMENT * len(piece.documents)
            if not piece.last:
                yield batch
                batch = Batch([])
        batch.paths += 1
        if batch.size > BATCH or batch.paths >= MOST_PATHS:
            yield batch
            batch = Batch([])
    if batch.paths or batch.pieces:
        yield batch
