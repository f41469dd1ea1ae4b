"""Lists whose rows have the height their text needs.

A `RowList` (one record per row, one delegate) with section heights set from `measure(row, width)`:
again at each change of rows, width, zoom or font. Nothing here paints more than what is visible.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from time import monotonic

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRectF, Qt, QTimer
from PySide6.QtGui import QPainter, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from app.gui.look.theme import theme
from app.gui.widgets.rows import RECORD, Row, RowList

log = logging.getLogger(__name__)

AT_ONCE = 400  # rows that are measured without a look at the clock
TURN = 0.02  # seconds of one turn of measuring


class TallDelegate(QStyledItemDelegate):
    """Hands one record to its view's `draw`; never raises into Qt."""

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        view = self.parent()
        row: Row | None = index.data(RECORD)
        if row is None or not isinstance(view, TallList):
            return
        state = option.state  # type: ignore[attr-defined]
        painter.save()
        try:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            view.draw(
                painter,
                QRectF(option.rect),  # type: ignore[attr-defined]
                row,
                selected=bool(state & QStyle.StateFlag.State_Selected),
                hover=bool(state & QStyle.StateFlag.State_MouseOver),
            )
        except Exception:
            log.exception("a row could not be painted")
        painter.restore()


class TallList(RowList):
    """Rows of uneven height. Subclasses give `measure` and `draw`."""

    def __init__(self, name: str, *, several: bool = False, ground: str = "canvas") -> None:
        self._measured = 0
        self._room = 0
        self._unmeasured: Iterator[int] = iter(())
        super().__init__(name, margin=0, several=several, ground=ground)
        self._turns = QTimer(self, singleShot=True, interval=0)
        self._turns.timeout.connect(self._measure_on)
        self._tall = TallDelegate(self)
        self.setItemDelegate(self._tall)
        self.verticalScrollBar().setSingleStep(24)

    def measure(self, row: Row, width: int) -> int:
        """Height of a row in px for a viewport of `width` px."""
        raise NotImplementedError

    def draw(
        self, painter: QPainter, box: QRectF, row: Row, *, selected: bool, hover: bool
    ) -> None:
        raise NotImplementedError

    def forget(self) -> None:
        """Fonts or colours changed: nothing laid out before holds."""

    # ------------------------------------------------------------------ heights

    def measure_all(self) -> None:
        """Give every row its height; the row at the top stays at the top.

        Of a long list those near what is seen and chosen are measured now and the others in short
        turns behind, so that no list stops the window.
        """
        count = self.rows_model.rowCount()
        order: Sequence[int] = range(count)
        if count > AT_ONCE:
            top = max(self.rowAt(0), 0)
            here = max(self.currentIndex().row(), 0)
            order = sorted(order, key=lambda i: min(abs(i - top), abs(i - here)))
        self._unmeasured = iter(order)
        self._measure_on()

    def _measure_on(self) -> None:
        """Measure for one turn; go on in the next one while something is left."""
        width = self.viewport().width()
        rows = self.rows_model.rows()
        header = self.verticalHeader()
        header.setMinimumSectionSize(1)
        end = monotonic() + TURN
        wanted: dict[int, int] = {}
        for i in self._unmeasured:
            if i < len(rows):
                wanted[i] = max(self.measure(rows[i], width), 1)
            if len(rows) > AT_ONCE and monotonic() > end:
                self._turns.start()
                break
        self._resize(wanted)

    def _resize(self, wanted: dict[int, int]) -> None:
        header = self.verticalHeader()
        if len(wanted) == self.rows_model.rowCount() and wanted:
            # Most rows have one height: only the others are resized one by one.
            header.setDefaultSectionSize(Counter(wanted.values()).most_common(1)[0][0])
        changed = [i for i, high in wanted.items() if header.sectionSize(i) != high]
        if not changed:
            return
        top = self.rowAt(0)
        header.blockSignals(True)
        for i in changed:
            header.resizeSection(i, wanted[i])
        header.blockSignals(False)
        self.updateGeometries()
        if top > 0 and self.rowAt(0) != top:
            index = self.rows_model.index(top)
            self.scrollTo(index, QAbstractItemView.ScrollHint.PositionAtTop)
        self.viewport().update()

    def set_room(self, px: int) -> None:
        """Keep `px` of the lower edge free for a bar: the last row can be scrolled above it, and
        the current one is."""
        if px == self._room:
            return
        self._room = px
        self.updateGeometries()
        current = self.currentIndex()
        if px and current.isValid() and self.viewport().rect().intersects(self.visualRect(current)):
            self.scrollTo(current)

    def scrollTo(
        self,
        index: QModelIndex | QPersistentModelIndex,
        hint: QAbstractItemView.ScrollHint = QAbstractItemView.ScrollHint.EnsureVisible,
    ) -> None:
        super().scrollTo(index, hint)
        under = self.visualRect(index).bottom() - (self.viewport().height() - self._room)
        if self._room and under > 0:
            bar = self.verticalScrollBar()
            bar.setValue(bar.value() + under)

    def updateGeometries(self) -> None:
        super().updateGeometries()
        if self._room:
            whole = self.verticalHeader().length() + self._room
            bar = self.verticalScrollBar()
            bar.setMaximum(max(bar.maximum(), whole - self.viewport().height()))

    def _size_heads(self) -> None:
        if hasattr(self, "_tall"):
            self.measure_all()

    def _dress(self) -> None:
        self.forget()
        super()._dress()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self.viewport().width() != self._measured:
            self._measured = self.viewport().width()
            self.forget()
            self.measure_all()

    def show_row(self, row_id: str, *, quiet: bool = True) -> bool:
        """Choose a row and bring the whole of it into view."""
        found = self.select(row_id, quiet=quiet)
        if found:
            self.scrollTo(self.currentIndex(), QAbstractItemView.ScrollHint.EnsureVisible)
        return found

    def has_focus(self) -> bool:
        return self.hasFocus() or self.viewport().hasFocus()


def stamp() -> tuple[object, ...]:
    """What a layout depends on beside its text and width."""
    return (theme().scheme, theme().contrast, theme().zoom)


def ids(rows: Sequence[Row]) -> list[str]:
    return [row.id for row in rows]


LEFT = Qt.AlignmentFlag.AlignLeft
RIGHT = Qt.AlignmentFlag.AlignRight
