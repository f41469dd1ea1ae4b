"""Lists of rows: one record per row, one role that returns it, one delegate that paints it.

`RowList` is a table of one column with fixed heights (a million rows open in 0.3 s), section heads
among the rows, hover, selection and focus as look.md 5 wants them. Rows are one line (34 px) or two
(50 px). Each row speaks one full sentence to assistive tools.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from PySide6.QtCore import (
    QAbstractListModel,
    QItemSelectionModel,
    QModelIndex,
    QPersistentModelIndex,
    Qt,
    Signal,
)
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPalette, QShowEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QWidget

from app.gui.look.theme import theme, token
from app.gui.look.type import Role, row_height
from app.gui.widgets.delegate import RowDelegate
from app.gui.widgets.labels import plain_tip

RECORD = Qt.ItemDataRole.UserRole
Index = QModelIndex | QPersistentModelIndex


@dataclass(frozen=True)
class Row:
    """What a row shows. `id` must be unique in its list; `data` is yours.

    First line: `title` (weight 500), `right` at its end in tabular digits. Second line (two-line
    lists): `detail`, and `marks` (kinds, see `paint_mark`) at its end. `icon` or `mark` stands at
    the left. `tone`: "", "failed", "faint", "soft", "off", "running" (turning ring). `dot` is the
    small accent disc. `indent` in steps of 16 px. `spans` are (start, end) code points of `detail`
    (or of `title` when `spans_in_title`) to be shown as hits. A `head` row is a section head:
    title, `detail` beside it, `right` as words; it cannot be chosen. `spoken` is the full sentence.
    """

    id: str
    title: str
    detail: str = ""
    right: str = ""
    icon: str = ""
    icon_color: str = "text_soft"
    mark: str = ""
    marks: tuple[str, ...] = ()
    tone: str = ""
    dot: bool = False
    indent: int = 0
    spans: tuple[tuple[int, int], ...] = ()
    spans_in_title: bool = False
    head: bool = False
    spoken: str = ""
    tip: str = ""
    data: Any = field(default=None, compare=False)

    def sentence(self) -> str:
        return self.spoken or ", ".join(p for p in (self.title, self.detail, self.right) if p)


def _first_other(pairs: Iterable[tuple[Row, Row]]) -> int:
    """How many pairs from the first on are of equal rows."""
    count = 0
    for was, now in pairs:
        if was is not now and was != now:
            break
        count += 1
    return count


def _same(old: Iterable[Row], new: Iterable[Row]) -> int:
    """How many rows at the start of both have the same ids."""
    pairs = zip(old, new, strict=False)
    ended = takewhile(lambda pair: pair[0] is pair[1] or pair[0].id == pair[1].id, pairs)
    return sum(1 for _ in ended)


class RowModel(QAbstractListModel):
    """Rows in order; `set_rows` replaces in place, so rows whose id stays keep their selection."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows: list[Row] = []
        self.heads = 0

    def rows(self) -> list[Row]:
        return list(self._rows)

    def row(self, at: int) -> Row | None:
        return self._rows[at] if 0 <= at < len(self._rows) else None

    def place_of(self, row_id: str) -> int:
        """Index of the row with that id, -1 when there is none."""
        return next((i for i, row in enumerate(self._rows) if row.id == row_id), -1)

    def set_rows(self, rows: Sequence[Row]) -> None:
        new = list(rows)
        old = self._rows
        least = min(len(old), len(new))
        head = _same(old, new)
        tail = min(_same(reversed(old), reversed(new)), least - head)
        gone, come = len(old) - head - tail, len(new) - head - tail
        if gone:
            self.beginRemoveRows(QModelIndex(), head, head + gone - 1)
            self._rows = old[:head] + old[head + gone :]
            self.endRemoveRows()
        if come:
            self.beginInsertRows(QModelIndex(), head, head + come - 1)
            self._rows = self._rows[:head] + new[head : head + come] + self._rows[head:]
            self.endInsertRows()
        was, self._rows = self._rows, new
        self.heads = sum(row.head for row in new)
        first = _first_other(zip(was, new, strict=True))
        if first < len(new):  # only its two ends are looked for: most rows may differ
            last = len(new) - 1 - _first_other(zip(reversed(was), reversed(new), strict=True))
            self.dataChanged.emit(self.index(first), self.index(last))

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._rows)

    def flags(self, index: Index) -> Qt.ItemFlag:
        row = self.row(index.row())
        if row is None or row.head or row.tone == "off":
            return Qt.ItemFlag.NoItemFlags
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        row = self.row(index.row())
        if row is None:
            return None
        if role == RECORD:
            return row
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return row.sentence()
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip(row.tip or "\n".join(p for p in (row.title, row.detail) if p))
        return None


class RowList(QTableView):
    """A list of `Row`s. `chosen(Row)` as the current row changes, `opened(Row)` on Enter or click.

    `name` is its accessible name. j and k walk; a click chooses (and opens when `open_on_click`).
    """

    chosen = Signal(object)
    opened = Signal(object)
    menu_wanted = Signal(object, object)  # Row, global QPoint
    model_type: type[RowModel] = RowModel

    def __init__(
        self,
        name: str,
        *,
        lines: int = 1,
        height: int = 0,
        margin: int = 8,
        ground: str = "canvas",
        open_on_click: bool = False,
        several: bool = False,
        role: Role = "body",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.rows_model = self.model_type(self)
        self._lines, self._least, self._ground = lines, height, ground
        self._open_on_click = open_on_click
        self._quiet = False
        self._heads = 0
        self.delegate = RowDelegate(lines, margin, self, role)
        self.setItemDelegate(self.delegate)
        self.setShowGrid(False)
        self.setFrameShape(QTableView.Shape.NoFrame)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.setCornerButtonEnabled(False)
        self.setMouseTracking(True)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        modes = QAbstractItemView.SelectionMode
        self.setSelectionMode(modes.ExtendedSelection if several else modes.SingleSelection)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.horizontalHeader().hide()
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.setModel(self.rows_model)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._on_menu)
        self.selectionModel().currentChanged.connect(self._on_current)
        self._dress()
        theme().changed.connect(self._dress)

    # ------------------------------------------------------------------ rows

    def set_rows(self, rows: Sequence[Row]) -> None:
        """Show these rows; selection and scroll position stay with their rows.

        When the current row is gone, its neighbour is chosen.
        """
        top = self.rows_model.row(self.rowAt(0))
        before, place = self.current_row(), self.currentIndex().row()
        several = [row.id for row in self.selected_rows()]
        self._quiet = True
        self.rows_model.set_rows(rows)
        if before is not None:
            self._choose_again(before.id, place, several)
        self._quiet = False
        self._size_heads()
        if top is not None and self.verticalScrollBar().value() > 0:
            at = self.rows_model.place_of(top.id)
            if at >= 0 and self.rowAt(0) != at:
                index = self.rows_model.index(at)
                self.scrollTo(index, QAbstractItemView.ScrollHint.PositionAtTop)

    def _choose_again(self, row_id: str, place: int, several: list[str]) -> None:
        flags = QItemSelectionModel.SelectionFlag
        if self.rows_model.place_of(row_id) >= 0:
            now = self.current_row()
            if now is not None and now.id == row_id and len(several) < 2:
                return
            at = self.rows_model.index(self.rows_model.place_of(row_id))
            self.selectionModel().setCurrentIndex(at, flags.ClearAndSelect | flags.Rows)
            for one in several:
                if (i := self.rows_model.place_of(one)) >= 0:
                    self.selectionModel().select(
                        self.rows_model.index(i), flags.Select | flags.Rows
                    )
            return
        self.selectionModel().clear()
        self._quiet = False
        if not self._step_from(place - 1, 1):
            self._step_from(place, -1)

    def current_row(self) -> Row | None:
        index = self.currentIndex()
        return self.rows_model.row(index.row()) if index.isValid() else None

    def selected_rows(self) -> list[Row]:
        found = (self.rows_model.row(i.row()) for i in self.selectionModel().selectedRows())
        return [row for row in found if row is not None]

    def select(self, row_id: str, *, quiet: bool = False) -> bool:
        """Make that row current and visible; `quiet` emits no `chosen`. False when unknown."""
        at = self.rows_model.place_of(row_id)
        if at < 0:
            return False
        self._quiet = quiet
        flags = QItemSelectionModel.SelectionFlag
        index = self.rows_model.index(at)
        self.selectionModel().setCurrentIndex(index, flags.ClearAndSelect | flags.Rows)
        self.scrollTo(index)
        self._quiet = False
        self.viewport().update()
        return True

    def clear_choice(self) -> None:
        self._quiet = True
        self.selectionModel().clear()
        self._quiet = False

    def step(self, by: int) -> bool:
        """Choose the next (1) or previous (-1) row that can be chosen."""
        at = self.currentIndex().row() if self.currentIndex().isValid() else -1 if by > 0 else 0
        return self._step_from(at, by)

    def _step_from(self, at: int, by: int) -> bool:
        count = self.rows_model.rowCount()
        at += by
        while 0 <= at < count:
            row = self.rows_model.row(at)
            if row is not None and not row.head and row.tone != "off":
                return self.select(row.id)
            at += by
        return False

    # ------------------------------------------------------------------ Qt's side

    def _size_heads(self) -> None:
        header = self.verticalHeader()
        least = row_height(28)
        high = header.defaultSectionSize()
        if not self._heads and not self.rows_model.heads:
            return
        self._heads = self.rows_model.heads
        for i, row in enumerate(self.rows_model.rows()):
            want = least + (8 if i else 0) if row.head else high
            if header.sectionSize(i) != want:
                header.resizeSection(i, want)

    def _dress(self) -> None:
        least = self._least or (34 if self._lines == 1 else 50)
        self.verticalHeader().setDefaultSectionSize(row_height(least, self._lines) + 1)
        palette = QPalette(self.palette())
        ground = token(self._ground)
        palette.setColor(QPalette.ColorRole.Base, ground)
        # The delegate paints selection; the style must not paint its own below.
        palette.setColor(QPalette.ColorRole.Highlight, ground)
        self.setPalette(palette)
        # With a style sheet the viewport keeps the colours of its first polish.
        self.viewport().setPalette(palette)
        self._size_heads()
        self.viewport().update()

    def showEvent(self, event: QShowEvent) -> None:
        """Dress again what lost its ground while it was hidden: a style sheet that is set anew
        gives such a list the palette of its first hour back, some events later."""
        super().showEvent(event)
        if self.viewport().palette().color(QPalette.ColorRole.Base) != token(self._ground):
            self._dress()

    def _on_current(self, now: Index, before: Index) -> None:
        row = self.rows_model.row(now.row())
        if row is not None and not self._quiet:
            self.chosen.emit(row)

    def _on_menu(self, at: Any) -> None:
        row = self.rows_model.row(self.rowAt(at.y()))
        if row is not None and not row.head:
            self.menu_wanted.emit(row, self.viewport().mapToGlobal(at))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        plain = event.modifiers() in (
            Qt.KeyboardModifier.NoModifier,
            Qt.KeyboardModifier.KeypadModifier,
        )
        key = event.key()
        if plain and key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            row = self.current_row()
            if row is not None:
                self.opened.emit(row)
            return
        if plain and key in (Qt.Key.Key_J, Qt.Key.Key_K):
            self.step(1 if key == Qt.Key.Key_J else -1)
            return
        if key in (Qt.Key.Key_Escape, Qt.Key.Key_Backspace):
            event.ignore()
            return
        super().keyPressEvent(event)

    def keyboardSearch(self, search: str) -> None:
        """Letters are keys of the pane, not a search."""

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        if self._open_on_click and event.button() == Qt.MouseButton.LeftButton:
            row = self.rows_model.row(self.rowAt(event.position().toPoint().y()))
            if row is not None and not row.head and row.tone != "off":
                self.opened.emit(row)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        row = self.rows_model.row(self.rowAt(event.position().toPoint().y()))
        if row is not None and not row.head and not self._open_on_click:
            self.opened.emit(row)
