"""The texts behind the rows of the index, read from their files as they are now. Synchronous."""

from __future__ import annotations

from contextlib import suppress
from io import BytesIO
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from app.engine.search.documents import open_for_reading, place_of, text_at
from app.engine.search.query import Filters
from app.engine.search.rows import Row
from app.engine.search.store import Store

MOST_OPEN = 200
"""Files that are held open at once."""
MOST_KEPT = 2_000_000
"""Characters of texts that are kept for a second look."""


class Texts:
    """The files behind the hits, opened once each. Use as a context manager."""

    def __init__(self, root: Path, store: Store) -> None:
        self._root = root
        self._store = store
        self._open: dict[str, BinaryIO | None] = {}
        self._kept: dict[int, str | None] = {}
        self._room = MOST_KEPT

    def __enter__(self) -> Texts:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for file in self._open.values():
            if file is not None:
                file.close()

    def of(self, row: Row) -> str | None:
        """The text of a document as it is now; None when it is gone."""
        if row.id in self._kept:
            return self._kept[row.id]
        text = self._read(row)
        size = len(text or "")
        if size <= self._room:
            self._room -= size
            self._kept[row.id] = text
        return text

    def run(self, row: Row, steps: range) -> list[str]:
        """The texts of the documents so many places from `row` in its file, those there are."""
        places = [(row.file, row.order + step) for step in steps]
        found = map(self.of, self._store.near(places, Filters()))
        return [text for text in found if text is not None]

    def _read(self, row: Row) -> str | None:
        if row.path not in self._open:
            if len(self._open) > MOST_OPEN:
                self.__exit__(None, None, None)
                self._open.clear()
            self._open[row.path] = self._file(row)
        file = self._open[row.path]
        if file is None:
            return None
        with suppress(OSError):
            return text_at(file, row.layer, (row.line, row.offset, row.length))
        return None

    def _file(self, row: Row) -> BinaryIO | None:
        known = self._store.file(row.path) if row.held else None
        if known is not None and known.text is not None:
            return BytesIO(known.text.encode("utf-8", "replace"))
        try:
            return open_for_reading(
                place_of(self._root, row.path), buffering=0
            )  # a few places of it
        except OSError:
            return None
