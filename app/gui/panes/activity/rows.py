"""The list of past jobs: columns that stand under each other, so that states can be scanned."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter
from PySide6.QtWidgets import QWidget

from app.gui.look.icons import paint_icon
from app.gui.look.theme import token
from app.gui.look.type import font
from app.gui.panes.activity.model import Cells
from app.gui.widgets.delegate import RowDelegate
from app.gui.widgets.marks import paint_mark
from app.gui.widgets.paint import draw_text
from app.gui.widgets.rows import Row, RowList

RIGHT = Qt.AlignmentFlag.AlignRight
NARROW = 520  # px of a row below which the duration gives way


class JobDelegate(RowDelegate):
    """time, mark, kind, why, state, duration."""

    def set_margin(self, margin: int) -> None:
        self._margin = margin

    def _paint_sign(self, painter: QPainter, inner: QRectF, row: Row) -> QRectF:
        return inner

    def _paint_one(
        self, painter: QPainter, inner: QRectF, row: Row, selected: bool, faint: str
    ) -> None:
        if row.data is None:
            super()._paint_one(painter, inner, row, selected, faint)
            return
        one: Cells = row.data[1]
        figures = font("small", tabular=True)
        wide = QFontMetricsF(figures)
        painter.setFont(figures)
        time_width = wide.horizontalAdvance("00:00") + 16
        draw_text(painter, inner, one.time, token(faint))
        mark = QPointF(inner.left() + time_width + 6, inner.center().y())
        paint_mark(painter, one.mark, mark)
        room = inner.adjusted(time_width + 22, 0, 0, 0)
        room = self._paint_took(painter, room, one, faint, wide)
        room = self._paint_state(painter, room, one, selected)
        name = font("body", 600 if selected else 500)
        painter.setFont(name)
        draw_text(painter, room, one.kind, token("text"))
        column = max(126.0, QFontMetricsF(font("body", 600)).horizontalAdvance(one.kind) + 14)
        self._paint_why(painter, room.adjusted(column, 0, -12, 0), one, faint)

    def _paint_took(
        self, painter: QPainter, room: QRectF, one: Cells, faint: str, wide: QFontMetricsF
    ) -> QRectF:
        if room.width() < NARROW - 76:
            return room
        draw_text(painter, room, one.took, token(faint), RIGHT)
        return room.adjusted(0, 0, -wide.horizontalAdvance("00 min 00 s") - 4, 0)

    def _paint_state(self, painter: QPainter, room: QRectF, one: Cells, selected: bool) -> QRectF:
        used = font("small", 500)
        width = QFontMetricsF(used).horizontalAdvance("cancelled") + 28
        left = room.right() - width
        ink = "text_soft" if selected and one.ink == "text_faint" else one.ink
        paint_icon(painter, one.icon, left, room.center().y() - 7, 14, ink)
        painter.setFont(used)
        draw_text(painter, QRectF(left + 20, room.top(), width, room.height()), one.state,
                  token(ink))  # fmt: skip
        return room.adjusted(0, 0, -width - 8, 0)

    def _paint_why(self, painter: QPainter, room: QRectF, one: Cells, faint: str) -> None:
        """Who asked for it in faint ink, then what came of it."""
        used = font("small")
        metrics = QFontMetricsF(used)
        painter.setFont(used)
        mode = Qt.TextElideMode.ElideRight
        for words, ink in ((one.trigger, faint), (one.why, "text_soft")):
            if room.width() < 24 or not words:
                continue
            text = metrics.elidedText(words, mode, room.width())
            draw_text(painter, room, text, token(ink))
            room = room.adjusted(metrics.horizontalAdvance(text) + 10, 0, 0, 0)


class JobList(RowList):
    """Rows whose `data` is (JobInfo, Cells)."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(name, margin=12, parent=parent)
        self.delegate: JobDelegate = JobDelegate(1, 12, self)
        self.setItemDelegate(self.delegate)

    def set_margin(self, margin: int) -> None:
        """Side margin of the rows in px; the text begins 12 px further in."""
        self.delegate.set_margin(margin)
        self.viewport().update()
