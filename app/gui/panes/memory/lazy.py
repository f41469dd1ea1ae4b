"""Rows that are made when they are looked at, so that a long list costs what is seen of it."""

from __future__ import annotations

from typing import Protocol

from PySide6.QtCore import QModelIndex
from PySide6.QtWidgets import QWidget

from app.gui.widgets.rows import Index, Row, RowModel


class Source(Protocol):
    """Rows by their place. The same object comes for the same place each time, while it says the
    same."""

    def __len__(self) -> int: ...

    def __getitem__(self, at: int, /) -> Row: ...

    def place_of(self, row_id: str) -> int:
        """Index of the row with that id, -1 when there is none."""
        ...


class _Between:
    """Rows on the way from one source to another: as many as there will be, those that come or go
    do so at `first`, and all others still say what they said."""

    def __init__(self, before: Source, after: Source, first: int) -> None:
        self._before, self._after, self._first = before, after, first
        self._more = len(after) - len(before)

    def __len__(self) -> int:
        return len(self._after)

    def __getitem__(self, at: int, /) -> Row:
        if at < self._first:
            return self._before[at]
        return self._after[at] if at < self._first + self._more else self._before[at - self._more]

    def place_of(self, row_id: str) -> int:
        return self._after.place_of(row_id)


class LazyModel(RowModel):
    """The rows of a `Source`."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._source: Source | None = None

    def show_source(self, source: Source | None) -> None:
        """Show other rows; nothing is chosen after it."""
        self.beginResetModel()
        self._source = source
        self.endResetModel()

    def follow_source(self, source: Source, first: int) -> None:
        """Show what became of the rows: before place `first` they say what they said. What is
        chosen stays chosen."""
        if self._source is None:
            self.show_source(source)
            return
        before, count = len(self._source), len(source)
        first = min(first, before, count)
        between = _Between(self._source, source, first)
        if count > before:
            self.beginInsertRows(QModelIndex(), first, first + count - before - 1)
            self._source = between
            self.endInsertRows()
        elif count < before:
            self.beginRemoveRows(QModelIndex(), first, first + before - count - 1)
            self._source = between
            self.endRemoveRows()
        self._source = source
        if first < count:
            self.dataChanged.emit(self.index(first), self.index(count - 1))

    def row(self, at: int) -> Row | None:
        source = self._source
        return source[at] if source is not None and 0 <= at < len(source) else None

    def rows(self) -> list[Row]:
        source = self._source
        return [] if source is None else [source[at] for at in range(len(source))]

    def place_of(self, row_id: str) -> int:
        return -1 if self._source is None else self._source.place_of(row_id)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() or self._source is None else len(self._source)
