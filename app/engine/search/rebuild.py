"""Building an index beside the one in use, and putting it in its place.

Idea: the new database grows under another name; when it is whole it is folded into one file and
renamed over the old one. Invariant: at every moment the index's own name holds a whole index or
the old one; what a killed build left behind is never opened, only deleted. Synchronous.
"""

from __future__ import annotations

import os
from pathlib import Path

from app.engine.errors import StorageError
from app.engine.search.store import Damaged, Store

_PARTS = ("", "-wal", "-shm", "-journal")


def beside(path: Path) -> Path:
    """Where the next index for `path` grows."""
    return path.with_name(f"{path.name}.building")


def begin(path: Path, workspace: str) -> Store:
    """A new, empty index beside `path`. Raises `StorageError`."""
    forget(path)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return Store(beside(path), workspace)
    except (Damaged, OSError) as error:
        raise StorageError(f"The search index could not be built: {error}.") from error


def take_place(path: Path, workspace: str) -> Store:
    """Rename the finished index over `path` and open it. Nothing may have either open."""
    for suffix in _PARTS[1:]:
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    try:
        os.replace(beside(path), path)
        return Store(path, workspace)
    except (Damaged, OSError) as error:
        raise StorageError(f"The new search index cannot be opened: {error}.") from error


def abandon(path: Path, unfinished: Store) -> None:
    """Close and delete an index that will not be finished."""
    unfinished.close()
    forget(path)


def forget(path: Path) -> None:
    """Delete what an unfinished build left beside `path`."""
    for suffix in _PARTS:
        grown = beside(path)
        grown.with_name(grown.name + suffix).unlink(missing_ok=True)
