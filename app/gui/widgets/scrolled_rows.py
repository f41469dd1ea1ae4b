"""Rows of uneven height, laid out only where they are seen: 100,000 of them open at once.

Invariant: what stands at the top of the view stays there when rows above it are added, measured or
folded, and when the width changes. Row and offset are the truth; the scroll bar follows. Subclasses
say how a row is laid out (`height_for`, `estimate`) and paint one.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Protocol

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QPalette, QResizeEvent
from PySide6.QtWidgets import QAbstractScrollArea, QWidget

from app.gui.look.theme import theme, token
from app.gui.widgets.heights import Heights

log = logging.getLogger(__name__)
MARGIN = 24
STEP = 48  # px of one wheel notch or arrow
MANY = 5_000  # rows above which a change of width makes no new guesses
FOOT = 16  # px below the last row


class HasId(Protocol):
    """A row: its id is unique in its list."""

    @property
    def id(self) -> str: ...


class ScrolledRows(QAbstractScrollArea):
    """A column of rows of their own heights, at most `widest` px wide.

    `scrolled` comes with the index of the row at the top.
    """

    scrolled = Signal(int)

    def __init__(self, widest: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QAbstractScrollArea.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.rows: list[Any] = []
        self.widest = widest
        self._where: dict[str, int] = {}
        self._heights = Heights()
        self._real: set[int] = set()
        self._top = self._offset = 0
        self.wide = 0.0
        self._syncing = False
        self.verticalScrollBar().setSingleStep(STEP)
        self.verticalScrollBar().valueChanged.connect(self._on_bar)
        self._dress()
        theme().changed.connect(self._dress)

    # ------------------------------------------------------------------ what a subclass says

    def estimate(self, at: int) -> int:
        """A quick guess of a row's height in px."""
        raise NotImplementedError

    def height_for(self, at: int) -> int:
        """The height of row `at` for the column's width, laid out."""
        raise NotImplementedError

    def paint_row(self, painter: QPainter, at: int, y: int, clip: QRectF) -> None:
        """Paint one row whose upper edge is at `y`."""
        raise NotImplementedError

    def paint_over(self, painter: QPainter) -> None:
        """Paint what lies over the rows."""

    def forget(self) -> None:
        """Colours, fonts or zoom changed: laid-out rows are out of date."""

    # ------------------------------------------------------------------ rows

    def set_rows(
        self, rows: Sequence[HasId], *, stay: str = "top", guesses: Sequence[int] | None = None
    ) -> None:
        """Show these. `stay`: "top" keeps what stands at the top, "end" and "start" go there.

        `guesses` are estimated heights made elsewhere (beside the loop, for very many rows).
        """
        top_id = self.rows[self._top].id if self._top < len(self.rows) else ""
        self.rows = list(rows)
        self._where = {row.id: i for i, row in enumerate(self.rows)}
        self._measure_again(guesses)
        if stay == "end":
            self.to_end()
        elif stay == "start" or top_id not in self._where:
            self._top, self._offset = min(self._top, max(len(self.rows) - 1, 0)), 0
            if stay == "start":
                self._top = 0
        else:
            self._top = self._where[top_id]
        self.settle()

    def _measure_again(self, guesses: Sequence[int] | None = None) -> None:
        """Forget real heights. Of very many rows the old ones are guesses enough."""
        self.wide = self.column()
        self._real.clear()
        count = len(self.rows)
        if guesses is not None and len(guesses) == count:
            self._heights = Heights(guesses)
        elif count < MANY or len(self._heights) != count:
            self._heights = Heights([self.estimate(at) for at in range(count)])

    def column(self) -> float:
        """Width of the column in px."""
        return float(max(min(self.viewport().width() - self.left() - 20, self.widest), 160))

    def left(self) -> int:
        return MARGIN if self.window().width() >= 1000 else 16

    def measure(self, at: int) -> int:
        """The real height of a row, laid out if need be."""
        if at not in self._real:
            self._real.add(at)
            self._heights.set(at, self.height_for(at))
        return self._heights[at]

    def remeasure(self, rows: range) -> None:
        """These rows changed their heights (something was opened or folded)."""
        self._real.difference_update(rows)
        for at in rows:
            if at - rows.start < 200:
                self.measure(at)
        self.settle()

    def row_of(self, row_id: str) -> int:
        return self._where.get(row_id, -1)

    # ------------------------------------------------------------------ places

    def show_row(self, at: int, how: str = "near") -> None:
        high, view = self.measure(at), self.viewport().height()
        y = self.y_of(at)
        if how == "near":
            if y >= 0 and y + high <= view:
                return
            how = "top" if y < 0 or high > view else "bottom"
        room = {"top": 8, "middle": max((view - high) // 3, 8)}.get(how, view - high - 8)
        self._top, self._offset = at, 0
        self._walk(-room)
        self.settle()

    def y_of(self, at: int) -> int:
        """Where row `at` begins, in px of the view."""
        return self._heights.top(at) - self._heights.top(self._top) - self._offset

    def height_of(self, at: int) -> int:
        return self._heights[at]

    def visible(self) -> range:
        """Rows that are seen, also in part."""
        at, y = self._top, -self._offset
        high = self.viewport().height()
        while at < len(self.rows) and y < high:
            y += self.measure(at)
            at += 1
        return range(self._top, at)

    # ------------------------------------------------------------------ scrolling

    def at_end(self) -> bool:
        bar = self.verticalScrollBar()
        return bar.value() >= bar.maximum() - 4

    def to_end(self) -> None:
        if self.rows:
            self._top = len(self.rows) - 1
            self._offset = self.measure(self._top) + FOOT
            self._walk(-self.viewport().height())
            self.settle()

    def _walk(self, by: int) -> None:
        """Move the top by `by` px, measuring each row that is passed."""
        self._offset += by
        while self._offset < 0 and self._top > 0:
            self._top -= 1
            self._offset += self.measure(self._top)
        self._offset = max(self._offset, 0)
        while self._top < len(self.rows) - 1 and self._offset >= self.measure(self._top):
            self._offset -= self.measure(self._top)
            self._top += 1

    def _on_bar(self, value: int) -> None:
        if self._syncing or not self.rows:
            return
        bar = self.verticalScrollBar()
        if value >= bar.maximum():
            self.to_end()
            return
        by = value - self._heights.top(self._top) - self._offset
        if abs(by) <= 3 * self.viewport().height():
            self._walk(by)
        else:
            self._top = max(self._heights.at(value), 0)
            self._offset = max(value - self._heights.top(self._top), 0)
        self.settle()

    def settle(self) -> None:
        """Measure what is seen, keep the end in place, bring the scroll bar up to date."""
        if self.rows:
            self._top = min(self._top, len(self.rows) - 1)
            seen = self.visible()
            if seen.stop == len(self.rows):
                bottom = self.y_of(seen.stop - 1) + self.measure(seen.stop - 1) + FOOT
                if bottom < self.viewport().height():
                    self._walk(bottom - self.viewport().height())
                    self.visible()
        bar, view = self.verticalScrollBar(), self.viewport().height()
        self._syncing = True
        bar.setPageStep(view)
        bar.setRange(0, max(self._heights.total() + FOOT - view, 0))
        bar.setValue(self._heights.top(self._top) + self._offset if self.rows else 0)
        self._syncing = False
        if self.rows:
            self.scrolled.emit(self._top)
        self.viewport().update()

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        """Everything is painted anew; Qt must not move pixels."""

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self.column() != self.wide:
            end = self.at_end() and bool(self._real)
            self._measure_again()
            if end:
                self.to_end()
        self.settle()

    def _dress(self) -> None:
        palette = QPalette(self.palette())
        for role in (QPalette.ColorRole.Base, QPalette.ColorRole.Window):
            palette.setColor(role, token("canvas"))
        self.setPalette(palette)
        # With a style sheet the viewport keeps the colours of its first polish.
        self.viewport().setPalette(palette)
        if self.rows:
            self.forget()
            self._measure_again()
            self.settle()
        self.viewport().update()

    def sizeHint(self) -> QSize:
        return QSize(640, 480)

    # ------------------------------------------------------------------ painting

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        try:
            y, clip = -self._offset, QRectF(event.rect())
            for at in self.visible():
                self.paint_row(painter, at, y, clip)
                y += self._heights[at]
            self.paint_over(painter)
        except Exception:
            log.exception("rows could not be painted")
        painter.end()
