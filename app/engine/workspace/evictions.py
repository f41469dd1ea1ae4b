"""Evicted tool results: write, page, list, clean.

Idea: a result that was put aside is a file of exactly its text, named by its call and the hash of
the text, so that the same result is never written twice and another one never replaces it.
Specification, sections 3.6 and 13. Pages count code points and join to the original.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from app.engine.errors import PathRefused, Unreadable
from app.engine.records import TextPage
from app.engine.workspace.files import digest, read_bytes, well_formed, write_atomic
from app.engine.workspace.layout import Layout, safe_name
from app.engine.workspace.paging import page_of

_NAME = re.compile(r"(.*)-([0-9a-f]{16})", re.S)
_MAX_CALL = 200  # a file name has 255 bytes; the hash tells longer ids apart


class Evicted(Struct, frozen=True):
    """A result put aside. `path` as the workspace names it; `sha256` of the UTF-8 text."""

    path: str
    chars: int
    sha256: str
    reused: bool = False


class EvictedFile(Struct, frozen=True):
    """One file of the folder. `call` is the call's id as far as a file name can tell."""

    path: str
    call: str
    bytes: int
    when: datetime


class Evictions:
    """The evicted results of one agent. `base` is the setting `eviction_path`."""

    def __init__(self, layout: Layout, base: str = "large_tool_results") -> None:
        self._layout = layout
        self.folder = layout.eviction_dir(base)

    def place(self, call_id: str, text: str) -> str:
        """The path `write` would use; nothing is touched."""
        return self._layout.relative(self._file(call_id, digest(well_formed(text).encode())))

    def write(self, call_id: str, text: str) -> Evicted:
        """Put a text aside; the same call and text again reuse the file (EVI-8, EVI-11).

        Raises `StorageError`; then nothing was written.
        """
        text = well_formed(text)
        data = text.encode()
        sha256 = digest(data)
        path = self._file(call_id, sha256)
        reused = not path.is_symlink() and path.is_file() and read_bytes(path) == data
        if not reused:
            self._check(path)
            write_atomic(path, data)
        return Evicted(self._layout.relative(path), len(text), sha256, reused)

    def restore(self, path: str, text: str, sha256: str) -> bool:
        """Write a missing file anew from the log; False when the text is not what it held."""
        data = well_formed(text).encode()
        if digest(data) != sha256:
            return False
        write_atomic(self._inside(path), data)
        return True

    def page(self, path: str, start: int = 0, length: int = 40_000) -> TextPage:
        """Characters `start` to `start + length`, in constant memory whatever the file's size.

        Raises `Unreadable` when the file is missing, `PathRefused` when it is not one of ours.
        """
        file = self._inside(path)
        if not file.is_file():
            raise Unreadable(
                "This result is no longer on the disk.", "It may still be in the session's log."
            )
        return page_of(file, start, length)

    def text(self, path: str) -> str:
        """The whole text of one result."""
        data = read_bytes(self._inside(path))
        if data is None:
            raise Unreadable("This result is no longer on the disk.")
        return data.decode(errors="replace")

    def list(self) -> list[EvictedFile]:
        """The files of the folder, newest first. Names that are not ours are left out."""
        found: list[EvictedFile] = []
        try:
            paths = list(self.folder.iterdir())
        except OSError:
            return []
        for path in paths:
            match = _NAME.fullmatch(path.name)
            if match is None or path.is_symlink() or not path.is_file():
                continue
            stat = path.stat()
            when = datetime.fromtimestamp(stat.st_mtime, UTC)
            name = self._layout.relative(path)
            found.append(EvictedFile(name, match.group(1), stat.st_size, when))
        return sorted(found, key=lambda f: (-f.when.timestamp(), f.path))

    def orphans(self, known: Collection[str]) -> list[EvictedFile]:
        """The files no log entry in `known` (paths) speaks of."""
        wanted = set(known)
        return [file for file in self.list() if file.path not in wanted]

    def path_of(self, path: str) -> Path:
        """The file a stored path means. Raises `PathRefused` when it is not in the folder."""
        return self._inside(path)

    def _file(self, call_id: str, sha256: str) -> Path:
        return self.folder / f"{safe_name(call_id)[:_MAX_CALL]}-{sha256[:16]}"

    def _inside(self, path: str) -> Path:
        file = self._layout.root / path
        if file.parent != self.folder or not _NAME.fullmatch(file.name):
            raise PathRefused("That is not an evicted result.", "Choose one from the list.")
        self._check(file)
        return file

    def _check(self, file: Path) -> None:
        """A folder or file that is a link elsewhere is not ours to read or write."""
        if file.is_symlink() or (self.folder.exists() and self.folder.resolve() != self.folder):
            raise PathRefused("The folder of evicted results is a link.", "Replace it by a folder.")
