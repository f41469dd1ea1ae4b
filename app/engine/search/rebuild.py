"""Building an index beside the one in use, and putting it in its place.

Idea: the new database grows under another name; when it is whole it is folded into one file and
renamed over the old one. One program at a time builds: who does holds a lock beside the index.
Invariant: at every moment the index's own name holds a whole index or the old one; what a killed
build left behind is never opened, only deleted, and what another program builds is left alone.
Synchronous.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from app.engine.errors import StorageError
from app.engine.search.store import Damaged, Store
from app.engine.workspace.files import Held, try_lock

_PARTS = ("", "-wal", "-shm", "-journal")


class Building:
    """A new, empty index beside `path`: `store` is written to, then it takes its place or goes.

    It is there from `begin` on, so that who did not wait for that to end can still abandon it.
    """

    store: Store

    def __init__(self, path: Path, workspace: str) -> None:
        self._path = path
        self._workspace = workspace
        self._held: Held | None = None

    def begin(self) -> None:
        """Make it. Raises `StorageError`, also when another program builds one."""
        path = self._path
        held = try_lock(_lock_of(path))
        if held is None:
            raise StorageError(
                "Another program builds this search index.", "Wait until it is ready, then repeat."
            )
        try:
            _delete(path)
            self.store = Store(_beside(path), self._workspace)
        except (Damaged, OSError) as error:
            _delete(path)
            held.release()
            raise StorageError(f"The search index could not be built: {error}.") from error
        self._held = held

    def take_place(self) -> Store:
        """Rename the finished index over the old one, which nobody here has open; open it."""
        self.store.close(single_file=True)
        if _part(self._path, "-wal").exists():
            raise StorageError("The new search index could not be made one file.")
        for suffix in _PARTS[1:]:
            self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
        try:
            os.replace(_beside(self._path), self._path)
            opened = Store(self._path, self._workspace)
        except (Damaged, OSError) as error:
            raise StorageError(f"The new search index cannot be opened: {error}.") from error
        self._release()
        return opened

    def abandon(self) -> None:
        """Close and delete what will not be finished; nothing when it never began, or took its
        place."""
        if self._held is not None:
            self.store.close()
            _delete(self._path)
            self._release()

    def _release(self) -> None:
        if self._held is not None:
            self._held.release()
            self._held = None


def forget(path: Path) -> None:
    """Delete what a build that was killed left beside `path`."""
    if not any(_part(path, suffix).exists() for suffix in _PARTS):
        return
    with suppress(StorageError):  # a disk that cannot be written: nothing grows there either
        held = try_lock(_lock_of(path))
        if held is not None:
            _delete(path)
            held.release()


def _beside(path: Path) -> Path:
    """Where the next index for `path` grows."""
    return _part(path, "")


def _part(path: Path, suffix: str) -> Path:
    return path.with_name(f"{path.name}.building{suffix}")


def _lock_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.lock")


def _delete(path: Path) -> None:
    for suffix in _PARTS:
        _part(path, suffix).unlink(missing_ok=True)
