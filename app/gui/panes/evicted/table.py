"""The table of evicted results: painted columns under a head of its own.

The columns fold in the order of look.md section 8: what was asked first, then the session, then
the age go into a second line of the row, so that tool, size and state always stand.
"""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QResizeEvent
from PySide6.QtWidgets import QWidget

from app.gui.look.icons import paint_icon
from app.gui.look.text import sentence, tr
from app.gui.look.theme import theme, token
from app.gui.look.type import code_font, font, row_height
from app.gui.panes.evicted.model import Result
from app.gui.widgets.buttons import Pressable
from app.gui.widgets.delegate import SIDE, RowDelegate
from app.gui.widgets.paint import draw_text, focus_ring, hairline_below, smooth
from app.gui.widgets.rows import Row, RowList

MARGIN = 12  # px from the list's edge to a row's ground
ICON = 22  # px of the tool's icon and its gap
RIGHT = Qt.AlignmentFlag.AlignRight

TITLES = {
    "tool": "Tool",
    "what": "What",
    "size": "Characters",
    "session": "Session",
    "when": "Age",
    "state": "State",
}


def columns(width: float, zoom: float = 1.0) -> dict[str, tuple[float, float]]:
    """(left, width) of each column that fits beside the others in `width` px at a text zoom."""
    left, right = MARGIN + SIDE + ICON, width - MARGIN - SIDE
    share = width / zoom  # px as if the text had its own size
    out: dict[str, tuple[float, float]] = {}
    x = right - 108 * zoom
    out["state"] = (x, 108 * zoom)
    if share >= 560:
        x -= 116 * zoom
        out["when"] = (x, 104 * zoom)
    if share >= 720:
        session = min(max((share - 520) * 0.42, 150), 420) * zoom
        x -= session + 12
        out["session"] = (x, session)
    x -= 92 * zoom + 28
    out["size"] = (x, 92 * zoom)
    if share >= 900:
        out["tool"] = (left, 128 * zoom)
        start = left + 128 * zoom + 12
        out["what"] = (start, x - start - 12)
    else:
        out["tool"] = (left, x - left - 12)
    return out


def folds(width: float, zoom: float = 1.0) -> bool:
    """Whether something stands in a second line of the rows."""
    return width / zoom < 900


class TableDelegate(RowDelegate):
    """Paints a `Result` in columns."""

    def set_lines(self, lines: int) -> None:
        self._lines = lines

    def _paint_one(
        self, painter: QPainter, inner: QRectF, row: Row, selected: bool, faint: str
    ) -> None:
        self._paint_cells(painter, inner, row, selected, faint)

    def _paint_two(
        self, painter: QPainter, inner: QRectF, row: Row, selected: bool, faint: str
    ) -> None:
        upper = QRectF(inner.left(), inner.top() + 5, inner.width(), 22)
        self._paint_cells(painter, upper, row, selected, faint)
        result: Result = row.data
        there = columns(inner.right() + MARGIN + SIDE, theme().zoom)
        more = [result.what]
        more += [] if "session" in there else [result.session]
        more += [] if "when" in there else [result.age]
        lower = QRectF(inner.left(), upper.bottom(), inner.width(), inner.bottom() - upper.bottom())
        self._cell(painter, lower, sentence(more), font("small"), faint)

    def _paint_cells(
        self, painter: QPainter, box: QRectF, row: Row, selected: bool, faint: str
    ) -> None:
        result: Result = row.data
        there = columns(box.right() + MARGIN + SIDE, theme().zoom)
        soft = "text_soft" if selected else "text_faint"

        def cell(name: str) -> QRectF:
            left, width = there[name]
            return QRectF(left, box.top(), width, box.height())

        known = bool(result.info.tool)
        name = font("body", 600 if selected else 500)
        self._cell(painter, cell("tool"), result.tool, name, "text" if known else soft)
        if "what" in there:
            self._cell(painter, cell("what"), result.what, code_font("small"), "text_soft")
        figures = font("body", tabular=True)
        self._cell(painter, cell("size"), result.size, figures, "text_soft", right=True)
        if "session" in there:
            ink = "text" if result.info.session_id else soft
            self._cell(painter, cell("session"), result.session, font("body"), ink)
        if "when" in there:
            self._cell(painter, cell("when"), result.age, font("body", tabular=True), soft)
        state = cell("state")
        ink = "warn" if result.warn else soft
        middle = state.center().y()
        sign = "warn" if result.warn else "text_soft"
        paint_icon(painter, result.state_icon, state.left(), middle - 7, 14, sign)
        self._cell(painter, state.adjusted(20, 0, 0, 0), result.state, font("small"), ink)

    @staticmethod
    def _cell(
        painter: QPainter, box: QRectF, text: str, used: QFont, ink: str, *, right: bool = False
    ) -> None:
        if not text or box.width() < 8:
            return
        metrics = QFontMetricsF(used)
        cut = metrics.elidedText(text[:400], Qt.TextElideMode.ElideRight, box.width())
        painter.setFont(used)
        draw_text(painter, box, cut, token(ink), RIGHT if right else Qt.AlignmentFlag.AlignLeft)


class ResultList(RowList):
    """The rows; two lines each while columns are folded."""

    def __init__(self) -> None:
        super().__init__(tr("Evicted results"), lines=1, margin=MARGIN, several=True)
        self.cells = TableDelegate(1, MARGIN, self)
        self.setItemDelegate(self.cells)

    def resizeEvent(self, event: QResizeEvent) -> None:
        if self._fold():
            self._dress()
        super().resizeEvent(event)

    def _fold(self) -> bool:
        """Two lines where columns are folded; whether that is new."""
        lines = 2 if folds(self.viewport().width(), theme().zoom) else 1
        new = lines != self._lines
        if new:
            self._lines = lines
            self.cells.set_lines(lines)
        return new

    def _dress(self) -> None:
        if hasattr(self, "cells"):  # the text may have become larger
            self._fold()
        super()._dress()


class _HeadCell(Pressable):
    """A column's name; a click sorts by it."""

    def __init__(self, key: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.key = key
        self.sign = ""
        self.right = key == "size"
        self.setText(tr(TITLES[key]))
        self.setAccessibleName(tr("Sort by {column}", column=tr(TITLES[key]).lower()))
        self.setEnabled(key != "what")

    def paintEvent(self, event: object) -> None:
        painter = smooth(self)
        box = QRectF(self.rect())
        used = font("small", 600 if self.sign else 500)
        painter.setFont(used)
        ink = "text" if self.sign or (self.underMouse() and self.isEnabled()) else "text_soft"
        draw_text(painter, box, self.text(), token(ink), RIGHT if self.right else _LEFT)
        if self.sign:
            wide = QFontMetricsF(used).horizontalAdvance(self.text())
            x = box.right() - wide - 16 if self.right else wide + 4
            paint_icon(painter, self.sign, x, box.center().y() - 6, 12, "text_soft")
        if self.hasFocus():
            focus_ring(painter, box, 4)
        painter.end()


_LEFT = Qt.AlignmentFlag.AlignLeft


class TableHead(QWidget):
    """The names of the columns; `sorted(key, down)` when a person wants another order."""

    sorted = Signal(str, bool)

    def __init__(self, key: str, down: bool) -> None:
        super().__init__()
        self._key, self._down = key, down
        self._cells = {name: _HeadCell(name, self) for name in TITLES}
        for name, cell in self._cells.items():
            cell.clicked.connect(lambda _=False, n=name: self.choose(n))
        self.setFixedHeight(row_height(30))
        self._sign()
        theme().changed.connect(self._on_theme)

    def choose(self, key: str) -> None:
        """Sort by `key`; the same key again turns the order round."""
        down = not self._down if key == self._key else key in ("when", "size")
        self._key, self._down = key, down
        self._sign()
        self.sorted.emit(key, down)

    def order(self) -> tuple[str, bool]:
        return self._key, self._down

    def _sign(self) -> None:
        for name, cell in self._cells.items():
            arrow = "chevron-down" if self._down else "chevron-up"
            cell.sign = arrow if name == self._key else ""
            cell.update()

    def _on_theme(self) -> None:
        self.setFixedHeight(row_height(30))
        self._place()

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._place()

    def _place(self) -> None:
        there = columns(self.width(), theme().zoom)
        for name, cell in self._cells.items():
            cell.setVisible(name in there)
            if name in there:
                left, width = there[name]
                if name == "tool":
                    left, width = left - ICON, width + ICON
                cell.setGeometry(round(left), 2, round(width), self.height() - 4)

    def paintEvent(self, event: object) -> None:
        hairline_below(self)
