"""Old daily logs move to `memory/archive/`, unchanged, and can be brought back.

Idea: the name decides, never the file's time (a backup or a sync changes those): an ISO date
strictly before today minus the retention. Invariants: no file is ever lost to one of the same
name, and sections keep their states under a new one.
Specification, section 12; cases MNT-1, MNT-2, MNT-8.
"""

from __future__ import annotations

import os
from datetime import date, timedelta
from pathlib import Path

from app.engine.errors import StorageError
from app.engine.records import DayInfo
from app.engine.workspace.confine import readable
from app.engine.workspace.daily_log import list_days
from app.engine.workspace.files import lock, make_folder, sync_folder
from app.engine.workspace.layout import Layout
from app.engine.workspace.sections import record_move


def expired(layout: Layout, *, today: date, retention_days: int) -> list[DayInfo]:
    """The daily logs that would be archived now, oldest first; nothing is touched.

    `today` is the local calendar day. Variants, undated files and dot-files stay where they are.
    """
    limit = today - timedelta(days=retention_days)
    old = [
        info
        for info in list_days(layout)
        if info.day and info.day < limit and not info.variant and not info.archived
    ]
    return sorted(old, key=lambda info: info.path)


def archive(layout: Layout, path: str) -> str:
    """Move one daily log to the archive; its new workspace path.

    A name that is taken there gets a number (`2026-02-27-2.md`). Raises `PathRefused`,
    `StorageError`; the file is then where it was.
    """
    return _move(layout, path, layout.archive_dir)


def bring_back(layout: Layout, path: str) -> str:
    """Move an archived daily log back to `memory/`; its new path, numbered as in `archive`."""
    return _move(layout, path, layout.memory_dir)


def _move(layout: Layout, path: str, folder: Path) -> str:
    source = readable(layout.root, path, areas=("memory/",))
    with lock(layout.lock_file("archive")):
        make_folder(folder)
        target = folder / source.name
        number = 2
        while os.path.lexists(target):
            target = folder / f"{source.stem}-{number}{source.suffix}"
            number += 1
        record_move(layout, path, layout.relative(target))
        try:
            source.rename(target)
            sync_folder(folder)
            sync_folder(source.parent)
        except OSError as error:
            raise StorageError(f"{source.name} could not be moved.") from error
    return layout.relative(target)
