"""A pass over many files: whether one is needed, how much it will read, and the next batch made
while one is used."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator, Iterable
from contextlib import suppress

from app.engine.search.past import PAST, is_version
from app.engine.search.preparing import Batch, Known
from app.engine.search.rows import FileRow
from app.engine.search.scanner import Marks


def unread(marks: Marks, known: Known) -> int:
    """About how many bytes a pass will read: those of files that are new or grew."""
    return sum(
        max(0, mark.size - (known[path].offset if path in known else 0))
        for path, mark in marks.items()
    )


def behind(marks: Marks, rows: Iterable[FileRow]) -> int:
    """How many paths the index does not hold as a walk sees them; texts that no file holds are
    never behind."""
    known = {
        row.path: row
        for row in rows
        if not is_version(row.path) and (row.text is None or row.path.startswith(PAST))
    }
    changed = sum(
        1
        for path, mark in marks.items()
        if path not in known
        or (known[path].size, known[path].mtime_ns) != (mark.size, mark.mtime_ns)
    )
    return changed + len(known.keys() - marks.keys())


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
