"""Lists whose rows have the height their text needs.

A `RowList` (one record per row, one delegate) with section heights set from `measure(row, width)`:
again at each change of rows, width, zoom or font. Nothing here measures or paints more than what is
seen and some rows around it: the others have the height most rows have until one scrolls to them.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from time import monotonic

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRectF, Qt, QTimer
from PySide6.QtGui import QPainter, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from app.gui.look.theme import theme
from app.gui.widgets.rows import RECORD, Row, RowList

log = logging.getLogger(__name__)

REACH = 400  # rows above and below what is seen that get their heights, too
TURN = 0.004  # seconds of one turn of measuring


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
        self._highs: dict[str, tuple[Row, int]] = {}  # what was measured for this width
        self._guessed = False  # whether rows out of reach have the height most others have
        super().__init__(name, margin=0, several=several, ground=ground)
        self._turns = QTimer(self, singleShot=True, interval=0)
        self._turns.timeout.connect(self._measure_on)
        self.verticalScrollBar().valueChanged.connect(self._on_moved)
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
        """Give the rows their heights; the row at the top stays where it is.

        What is seen is measured now, some rows around it in short turns behind, so that no list
        stops the window, however long it is and however long its lines are.
        """
        self._guessed = False
        self.measure_near()

    def measure_near(self) -> None:
        """Measure what is seen and is not measured as it is now; some rows around it behind."""
        self._resize(self._seen())
        self._unmeasured = iter(self._order())
        self._turns.start()

    def measuring(self) -> bool:
        """Whether rows near what is seen still wait for their height."""
        return self._turns.isActive()

    def _on_moved(self) -> None:
        """Rows that come into view get their heights before they are painted."""
        if self.rows_model.rowCount():
            self.measure_near()

    def _around(self) -> int:
        """The row around which heights are needed first."""
        top = self.rowAt(0)
        return max(top if top >= 0 else self.currentIndex().row(), 0)

    def _seen(self) -> dict[int, int]:
        """Heights of the rows that fill the view from its first one on, and of the current one."""
        at, found, sum_ = self._around(), {}, 0
        count = self.rows_model.rowCount()
        while at < count and sum_ < self.viewport().height():
            found[at] = self._height(at)
            sum_ += found[at]
            at += 1
        here = self.currentIndex().row()
        if 0 <= here < count and here not in found:
            found[here] = self._height(here)
        return found

    def _order(self) -> Iterable[int]:
        """Rows within reach, the nearest first."""
        middle, count = self._around(), self.rows_model.rowCount()
        for away in range(REACH):
            if middle + away < count:
                yield middle + away
            if away and middle - away >= 0:
                yield middle - away

    def _height(self, at: int) -> int:
        row = self.rows_model.row(at)
        if row is None:
            return 1
        known = self._highs.get(row.id)
        if known is not None and known[0] is row:
            return known[1]
        high = max(self.measure(row, self.viewport().width()), 1)
        self._highs[row.id] = (row, high)
        return high

    def _measure_on(self) -> None:
        """Measure for one turn; go on in the next one while something is left."""
        end = monotonic() + TURN
        count = self.rows_model.rowCount()
        wanted: dict[int, int] = {}
        for at in self._unmeasured:
            if at < count:
                wanted[at] = self._height(at)
            if monotonic() > end:
                self._turns.start()
                break
        self._resize(wanted)

    def _resize(self, wanted: dict[int, int]) -> None:
        header = self.verticalHeader()
        header.setMinimumSectionSize(1)
        if wanted and not self._guessed:
            self._guessed = True
            header.setDefaultSectionSize(Counter(wanted.values()).most_common(1)[0][0])
        changed = [i for i, high in wanted.items() if header.sectionSize(i) != high]
        if not changed:
            return
        top = self.rowAt(0)
        before = self.rowViewportPosition(top) if top >= 0 else 0
        header.blockSignals(True)
        header.setUpdatesEnabled(False)  # else each of them counts all positions anew
        for i in changed:
            header.resizeSection(i, wanted[i])
        header.setUpdatesEnabled(True)
        header.blockSignals(False)
        self.updateGeometries()
        if top > 0 and (moved := self.rowViewportPosition(top) - before):
            bar = self.verticalScrollBar()
            bar.setValue(bar.value() + moved)
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
        self._highs.clear()
        self.forget()
        super()._dress()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self.viewport().width() != self._measured:
            self._measured = self.viewport().width()
            self.lay_again()

    def show_row(self, row_id: str, *, quiet: bool = True) -> bool:
        """Choose a row and bring the whole of it into view."""
        found = self.select(row_id, quiet=quiet)
        if found:
            self.scrollTo(self.currentIndex(), QAbstractItemView.ScrollHint.EnsureVisible)
        return found

    def forget_all(self) -> None:
        """Nothing that was laid out holds: other rows come."""
        self._highs.clear()
        self.forget()
        self._guessed = False

    def lay_again(self) -> None:
        """Lay out and measure everything anew: its width or its dress is another one."""
        self.forget_all()
        self.measure_all()
        self.viewport().update()

    def has_focus(self) -> bool:
        return self.hasFocus() or self.viewport().hasFocus()


def stamp() -> tuple[object, ...]:
    """What a layout depends on beside its text and width."""
    return (theme().scheme, theme().contrast, theme().zoom)


def ids(rows: Sequence[Row]) -> list[str]:
    return [row.id for row in rows]


RIGHT = Qt.AlignmentFlag.AlignRight
