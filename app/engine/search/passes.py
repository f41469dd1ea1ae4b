"""A pass over many files: whether one is needed, how much it will read, the next batch made while
one is used, and what was brought up by somebody else meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator, Iterable
from contextlib import suppress

from msgspec import Struct

from app.engine.records import IndexState
from app.engine.search.past import HISTORY, PAST, is_version
from app.engine.search.preparing import Batch, Known, Piece
from app.engine.search.rows import FileRow
from app.engine.search.scanner import Marks


def unread(marks: Marks, known: Known) -> int:
    """About how many bytes a pass will read: those of files that are new or grew."""
    return sum(
        max(0, mark.size - (known[path].offset if path in known else 0))
        for path, mark in marks.items()
    )


class Behind(Struct, frozen=True):
    """How many files the index does not hold as a walk sees them, of how many in all; and whether
    the history is behind."""

    late: int
    files: int
    past: bool

    def state(self, terms: int) -> IndexState:
        """The state of an index with so many terms: `done` are the files that are not behind."""
        note = ""
        if self.late:
            noun = "file is" if self.late == 1 else "files are"
            note = f"{self.late} {noun} newer than the index."
        elif self.past:
            note = "The history of MEMORY.md is newer than the index."
        done = self.files - self.late
        return IndexState("stale" if note else "ready", done, self.files, note, terms)


def behind(marks: Marks, rows: Iterable[FileRow]) -> Behind:
    """Hold the index against the files; texts that no file holds are never behind."""
    named = {row.path: row for row in rows if not is_version(row.path)}
    known = {
        path: (row.size, row.mtime_ns)
        for path, row in named.items()
        if row.text is None or path.startswith(PAST)
    }
    late = known.keys() - marks.keys()
    late |= {p for p, mark in marks.items() if known.get(p) != (mark.size, mark.mtime_ns)}
    past = {path for path in late if path.startswith(PAST)}
    files = {path for path in marks.keys() | named.keys() if not path.startswith(PAST)}
    return Behind(len(late - past), len(files), bool(past))


class Indexed(Struct, frozen=True):
    """What a pass over the workspace did, and what the index holds now."""

    files: int
    documents: int
    terms: int
    changed: int
    seconds: float
    rebuilt: bool = False


class Ground:
    """What the pieces of one pass stand on: the index as the pass found it, and what it put there.

    A file that is brought up while a pass goes on is newer in the index than in the pass's hands:
    its piece would put an old reading over it, or a part of it twice. Such a path goes to `late`.
    """

    def __init__(self, known: Known) -> None:
        self._known = {path: _held(row) for path, row in known.items()}
        self.late: set[str] = set()

    def standing(
        self, pieces: Iterable[Piece], now: Callable[[str], FileRow | None]
    ) -> list[Piece]:
        """Those of `pieces` that were made from what the index holds `now`."""
        kept: list[Piece] = []
        for piece in pieces:
            path = HISTORY if is_version(piece.path) else piece.path
            if path not in self.late and _held(now(piece.path)) != self._known.get(piece.path):
                self.late.add(path)
            if path not in self.late:
                kept.append(piece)
                self._known[piece.path] = _held(piece.row)
        return kept


def _held(row: FileRow | None) -> tuple[int, int, str | None] | None:
    """What tells one reading of a file from another: how far, of which bytes, or of which text."""
    return None if row is None else (row.offset, row.crc, row.text)


async def ahead(made: Generator[Batch]) -> AsyncGenerator[Batch, None]:
    """The batches of `made`, of which the next is made (in a thread) while one is used."""
    coming = asyncio.ensure_future(asyncio.to_thread(next, made, None))
    try:
        # Shielded: a thread cannot be stopped, and until it is done `made` cannot be closed.
        while (batch := await asyncio.shield(coming)) is not None:
            coming = asyncio.ensure_future(asyncio.to_thread(next, made, None))
            yield batch
    finally:
        await asyncio.shield(_close_after(coming, made))


async def _close_after(coming: asyncio.Future[Batch | None], made: Generator[Batch]) -> None:
    with suppress(Exception):
        await coming
    await asyncio.to_thread(made.close)
