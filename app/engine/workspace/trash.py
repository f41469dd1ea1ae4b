"""The trash: files moved aside by run, with a manifest, until they are purged.

Idea: nothing is deleted at once. A move is written down first (where each file came from, when, by
which rule), then done by renaming, so a crash leaves every file at one of its two places and the
trail tells which. Specification, section 12; cases B94, B95.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
from msgspec import Struct

from app.engine.errors import PathRefused, StorageError
from app.engine.workspace.confine import inside
from app.engine.workspace.files import append_durable, make_folder, read_bytes, sync_folder
from app.engine.workspace.layout import Layout, valid_session_id

_MANIFEST = "manifest.jsonl"


class Trashed(Struct, frozen=True):
    """One thing in the trash. `path` is where it came from, `rule` why it was moved."""

    run: str
    path: str
    stored: str
    when: datetime
    rule: str
    bytes: int = 0


class Trash:
    """The trash of one workspace. Synchronous."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def move(self, run: str, paths: Iterable[str], *, rule: str, when: datetime) -> list[Trashed]:
        """Move files (workspace paths, or absolute ones outside) into the run's folder.

        Missing ones are passed over. Raises `StorageError` when one cannot be moved; those moved
        before stay in the trash and can be restored.
        """
        folder = self._layout.trash_run(run)
        taken = len(self._entries(run))
        items: list[Trashed] = []
        for path in paths:
            source = self._layout.root / path
            if not os.path.lexists(source):
                continue
            stored = f"{taken + len(items):05d}-{source.name[:150]}"
            size = source.lstat().st_size
            items.append(Trashed(run, path, stored, when, rule, size))
        if not items:
            return []
        make_folder(folder)
        lines = b"".join(msgspec.json.encode(item) + b"\n" for item in items)
        append_durable(folder / _MANIFEST, lines)
        for item in items:
            self._rename(self._layout.root / item.path, folder / item.stored)
        return items

    def list(self) -> list[Trashed]:
        """What is in the trash now, newest first."""
        try:
            runs = [p.name for p in self._layout.trash_dir.iterdir() if p.is_dir()]
        except OSError:
            return []
        items = [item for run in runs for item in self._entries(run) if self._stored(item).exists()]
        return sorted(items, key=lambda item: (item.when, item.stored), reverse=True)

    def restore(self, items: Sequence[Trashed], *, outside: Sequence[Path] = ()) -> list[str]:
        """Put files back; the paths restored. Nothing is moved when one of them cannot be.

        `outside` names folders beyond the workspace that files may return to (an eviction folder
        elsewhere). Raises `StorageError` for a place that is taken again, `PathRefused`.
        """
        places = [(item, self._place(item, outside)) for item in items]
        for item, place in places:
            if os.path.lexists(place):
                raise StorageError(
                    f"There is a file at {item.path} again.", "Move it away, then restore."
                )
        restored: list[str] = []
        for item, place in places:
            if os.path.lexists(self._stored(item)):
                make_folder(place.parent)
                self._rename(self._stored(item), place)
                restored.append(item.path)
        return restored

    def _place(self, item: Trashed, outside: Sequence[Path]) -> Path:
        """Where an item came from; a manifest is a file and may have been forged."""
        path = Path(item.path)
        if not path.is_absolute():
            return inside(self._layout.root, item.path)
        if not any(folder in path.parents for folder in outside) or ".." in path.parts:
            raise PathRefused("That file came from outside the workspace.", "Move it by hand.")
        return path

    def purge(self, *, now: datetime, days: float) -> int:
        """Delete what has lain here for `days` or longer; how many files. Empty runs go too."""
        gone = 0
        try:
            runs = [
                p for p in self._layout.trash_dir.iterdir() if p.is_dir() and not p.is_symlink()
            ]
        except OSError:
            return 0
        for folder in runs:
            entries = self._entries(folder.name)
            for item in entries:
                if now - item.when >= timedelta(days=days) and self._stored(item).exists():
                    _delete(self._stored(item))
                    gone += 1
            if entries and not any(self._stored(item).exists() for item in entries):
                shutil.rmtree(folder, ignore_errors=True)
        return gone

    def _stored(self, item: Trashed) -> Path:
        return self._layout.trash_run(item.run) / Path(item.stored).name

    def _entries(self, run: str) -> list[Trashed]:
        data = read_bytes(self._layout.trash_dir / run / _MANIFEST) or b""
        entries: list[Trashed] = []
        for line in data.split(b"\n"):
            with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError):
                item = msgspec.json.decode(line, type=Trashed)
                if item.run == run and valid_session_id(run):
                    entries.append(item)
        return entries

    def _rename(self, source: Path, target: Path) -> None:
        try:
            shutil.move(source, target)
            sync_folder(target.parent)
            sync_folder(source.parent)
        except OSError as error:
            raise StorageError(f"{source.name} could not be moved.") from error


def _delete(path: Path) -> None:
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    except OSError as error:
        raise StorageError(f"{path.name} could not be deleted.") from error
