"""What changed on disk, and watching for it.

Idea: the disk is asked, not a stream of events: a walk over the few folders that are searched,
compared with the walk before. Between two walks a few looks tell whether one is needed. Our own
reads change nothing a walk looks at, and of `.palimpsest/`, where the index lies, only the history
and the proposals are looked at, so watching cannot feed itself.

Invariant: a change that lasts is reported at least once, however it was made (append, atomic
replacement, deletion, rename, a swapped folder), and at the latest by the next sweep.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from app.engine.search import past
from app.engine.search.documents import layer_of, place_of
from app.engine.search.rows import YOUNG_NS

RECENT = 40
"""Files written last that are looked at between two walks."""
_TOPS = ("memory", "agents", "large_tool_results")


class Mark(Struct, frozen=True):
    """What a walk sees of a file, without reading it. A time of writing can be set back by whoever
    writes, `ctime_ns` cannot (on Windows it is the time of making, which says less)."""

    size: int
    mtime_ns: int
    inode: int
    ctime_ns: int


ABSENT = Mark(-1, -1, -1, -1)
"""What is seen of a folder that is not there: that it comes is a change as well."""
Marks = dict[str, Mark]


class Scan(Struct, frozen=True):
    """One walk: the searched files by path, the folders they may be in (absolute), and when it
    began (nanoseconds since the epoch)."""

    marks: Marks
    begun_ns: int
    folders: Marks = {}


def scan(root: Path, *, beside: str = "", now_ns: int | None = None) -> Scan:
    """Walk the searched places of the workspace, and the results in the folder `beside` (see
    `layer_of`). No link is followed but that of MEMORY.md within the workspace (see `place_of`).
    Synchronous."""
    begun = time.time_ns() if now_ns is None else now_ns
    marks: Marks = {}
    folders: Marks = {}
    for folder in (root, past.file_of(root, past.PROPOSAL).parent):
        folders[str(folder)] = _seen(str(folder))
    with suppress(OSError), os.scandir(root) as entries:
        _take(entries, "", marks, folders)
    if (linked := place_of(root, "MEMORY.md")) != root / "MEMORY.md" and linked.is_file():
        marks["MEMORY.md"] = _mark(linked.lstat())
    if beside:
        folders[str(root / beside)] = _seen(str(root / beside))
        with suppress(OSError), os.scandir(root / beside) as entries:
            _take_results(entries, beside, marks)
    for path, file in past.paths(root):
        with suppress(OSError):
            marks[path] = _mark(file.lstat())
    return Scan(marks, begun, folders)


def glance(root: Path, before: Scan) -> bool:
    """Whether a walk would find something new, as far as a few looks can tell. Synchronous.

    Looked at are the folders, which change when a file comes, goes or is replaced, and the `RECENT`
    files written last, which are those that grow. What is written in the middle of an old file is
    not noticed. A time too close to the walk says that a walk is needed.
    """
    recent = sorted(before.marks, key=lambda path: -before.marks[path].mtime_ns)[:RECENT]
    asked = dict.fromkeys((past.HISTORY, *recent))
    files = {str(_file(root, p)): before.marks[p] for p in asked if p in before.marks}
    for path, mark in (before.folders | files).items():
        if _seen(path) != mark or 0 <= before.begun_ns - mark.mtime_ns < YOUNG_NS:
            return True
    return False


def _file(root: Path, path: str) -> Path:
    return past.file_of(root, path) if path.startswith(past.PAST) else place_of(root, path)


def _mark(stat: os.stat_result) -> Mark:
    return Mark(stat.st_size, stat.st_mtime_ns, stat.st_ino, stat.st_ctime_ns)


def _seen(path: str) -> Mark:
    try:
        return _mark(os.lstat(path))
    except OSError:
        return ABSENT


def _take(entries: Iterable[os.DirEntry[str]], folder: str, marks: Marks, folders: Marks) -> None:
    for entry in entries:
        path = f"{folder}{entry.name}"
        if not _nameable(path):
            continue
        with suppress(OSError):
            if entry.is_dir(follow_symlinks=False):
                if folder or entry.name in _TOPS:
                    folders[entry.path] = _mark(entry.stat(follow_symlinks=False))
                    with os.scandir(entry.path) as inner:
                        _take(inner, f"{path}/", marks, folders)
            elif layer_of(path) and entry.is_file(follow_symlinks=False):
                marks[path] = _mark(entry.stat(follow_symlinks=False))


def _take_results(entries: Iterable[os.DirEntry[str]], folder: str, marks: Marks) -> None:
    for entry in entries:
        path = f"{folder}/{entry.name}"
        with suppress(OSError):
            if _nameable(path) and layer_of(path, folder) and entry.is_file(follow_symlinks=False):
                marks[path] = _mark(entry.stat(follow_symlinks=False))


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


class Watcher:
    """Polls a workspace and calls `on_change(paths)` on the loop, one call at a time.

    It glances `interval` seconds after the call before has ended, and walks when it saw something
    or `sweep` seconds after the walk before; what changed meanwhile comes in one set. All of it
    runs in a thread.
    When nothing changes, nothing is called. `on_change` may be slow; it is awaited. A path may be
    named again within two seconds of its writing, as the clock of files is coarse.
    """

    def __init__(
        self,
        root: Path,
        on_change: Callable[[frozenset[str]], Awaitable[object]],
        *,
        interval: float = 1.5,
        sweep: float = 30.0,
        walk: Callable[[Path], Scan] = scan,
    ) -> None:
        self._root = root
        self._on_change = on_change
        self._interval = interval
        self._sweep = sweep
        self._walk = walk
        self._walked = 0.0
        self._seen: Scan | None = None
        self._task: asyncio.Task[None] | None = None
        self.problem = ""

    async def start(self, known: Scan | None = None) -> None:
        """Begin; changes count from `known`, else from a walk made now."""
        self._seen = known or await asyncio.to_thread(self._walk, self._root)
        self._walked = time.monotonic()
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        """End; a running `on_change` is cancelled."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    async def look(self) -> frozenset[str]:
        """Walk now and report what changed; the paths that were reported."""
        after = await asyncio.to_thread(self._walk, self._root)
        self._walked = time.monotonic()
        changed = frozenset(differences(self._seen, after))
        if changed:
            await self._on_change(changed)
        self._seen = after
        return changed

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self._interval)
            try:
                if await self._something():
                    await self.look()
                self.problem = ""
            except Exception as error:
                # A watcher that dies would say "clean" for ever: it says why and goes on.
                self.problem = str(error) or type(error).__name__

    async def _something(self) -> bool:
        seen = self._seen
        if seen is None or time.monotonic() - self._walked >= self._sweep:
            return True
        return await asyncio.to_thread(glance, self._root, seen)
