"""What changed on disk, and watching for it.

Idea: the disk is asked, not a stream of events: a walk over the few folders that are searched,
compared with the walk before. Our own reads change nothing a walk looks at, and of `.palimpsest/`,
where the index lies, only the history and the proposals are looked at, so watching cannot feed
itself.

Invariant: a change that lasts is reported at least once, at most `interval` after the walk that saw
it, however it was made (append, atomic replacement, deletion, rename, a swapped folder).
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from app.engine.search import past
from app.engine.search.documents import layer_of

YOUNG_NS = 2_000_000_000
_TOPS = ("memory", "agents", "large_tool_results")


class Mark(Struct, frozen=True):
    """What a walk sees of a file, without reading it."""

    size: int
    mtime_ns: int
    inode: int


Marks = dict[str, Mark]


class Scan(Struct, frozen=True):
    """One walk: the searched files by path, and when it began (nanoseconds since the epoch)."""

    marks: Marks
    begun_ns: int


def scan(root: Path, *, now_ns: int | None = None) -> Scan:
    """Walk the searched places of the workspace. Links are not followed. Synchronous."""
    begun = time.time_ns() if now_ns is None else now_ns
    marks: Marks = {}
    with suppress(OSError), os.scandir(root) as entries:
        _take(entries, "", marks)
    for path, file in past.paths(root):
        with suppress(OSError):
            stat = file.lstat()
            marks[path] = Mark(stat.st_size, stat.st_mtime_ns, stat.st_ino)
    return Scan(marks, begun)


def _take(entries: Iterable[os.DirEntry[str]], folder: str, marks: Marks) -> None:
    for entry in entries:
        path = f"{folder}{entry.name}"
        if not _nameable(path):
            continue
        with suppress(OSError):
            if entry.is_dir(follow_symlinks=False):
                if folder or entry.name in _TOPS:
                    with os.scandir(entry.path) as inner:
                        _take(inner, f"{path}/", marks)
            elif layer_of(path) and entry.is_file(follow_symlinks=False):
                stat = entry.stat(follow_symlinks=False)
                marks[path] = Mark(stat.st_size, stat.st_mtime_ns, stat.st_ino)


def _nameable(path: str) -> bool:
    """Whether the name is text; others can be neither shown nor opened again."""
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return not path.rsplit("/", 1)[-1].startswith(".")


def differences(before: Scan | None, after: Scan) -> set[str]:
    """Paths that are new, gone or changed between two walks, and those too young to be sure of.

    A file whose time lies close to the earlier walk may have been written again within the same
    tick of the clock; it is named once more, and its content decides.
    """
    if before is None:
        return set(after.marks)
    changed = {path for path, mark in after.marks.items() if before.marks.get(path) != mark}
    changed |= before.marks.keys() - after.marks.keys()
    changed |= {
        path
        for path, mark in before.marks.items()
        if path in after.marks and 0 <= before.begun_ns - mark.mtime_ns < YOUNG_NS
    }
    return changed


def newest_first(marks: Marks) -> list[str]:
    """The order to index in: MEMORY.md, daily logs, then sessions by their time, results, and what
    is past."""
    rank = {"memory": 0, "daily": 1, "sessions": 2, "evicted": 3}

    def key(path: str) -> tuple[int, int, str]:
        return (rank.get(layer_of(path) or "", 9), -marks[path].mtime_ns, path)

    return sorted(marks, key=key)


def under(marks: Marks, folder: str) -> Iterator[str]:
    """The paths below `folder` (relative, without a slash at the end)."""
    return (path for path in marks if path.startswith(f"{folder}/"))


class Watcher:
    """Polls a workspace and calls `on_change(paths)` on the loop, one call at a time.

    It looks every `interval` seconds, sooner when nudged, but never sooner than `floor` seconds
    after the call before has ended; what changed meanwhile comes in one set. Walks run in a thread.
    When nothing changes, nothing is called. `on_change` may be slow; it is awaited. A path may be
    named again within two seconds of its writing, as the clock of files is coarse.
    """

    def __init__(
        self,
        root: Path,
        on_change: Callable[[frozenset[str]], Awaitable[object]],
        *,
        interval: float = 1.5,
        floor: float = 0.5,
        walk: Callable[[Path], Scan] = scan,
    ) -> None:
        self._root = root
        self._on_change = on_change
        self._interval = interval
        self._floor = min(floor, interval)
        self._walk = walk
        self._seen: Scan | None = None
        self._nudge = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.problem = ""

    async def start(self, known: Scan | None = None) -> None:
        """Begin; changes count from `known`, else from a walk made now."""
        self._seen = known or await asyncio.to_thread(self._walk, self._root)
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        """End; a running `on_change` is cancelled."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    def nudge(self) -> None:
        """Look soon: somebody knows of a change. The floor between two jobs still holds."""
        self._nudge.set()

    async def look(self) -> frozenset[str]:
        """Walk now and report what changed; the paths that were reported."""
        after = await asyncio.to_thread(self._walk, self._root)
        changed = frozenset(differences(self._seen, after))
        if changed:
            await self._on_change(changed)
        self._seen = after
        return changed

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self._floor)
            with suppress(TimeoutError):
                async with asyncio.timeout(self._interval - self._floor):
                    await self._nudge.wait()
            self._nudge.clear()
            try:
                await self.look()
                self.problem = ""
            except Exception as error:
                # A watcher that dies would say "clean" for ever: it says why and goes on.
                self.problem = str(error) or type(error).__name__
