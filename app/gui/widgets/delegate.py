"""The painter of rows. It reads one record per row and never raises into Qt."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from PySide6.QtCore import (
    QModelIndex,
    QPersistentModelIndex,
    QPointF,
    QRectF,
    QSize,
    Qt,
)
from PySide6.QtGui import QFont, QFontMetricsF, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from app.gui.look.icons import paint_icon
from app.gui.look.text import plain_line
from app.gui.look.theme import soft_outline, token
from app.gui.look.type import Role, font
from app.gui.widgets.marks import IN_LISTS, paint_mark
from app.gui.widgets.paint import draw_text, focus_ring, rounded
from app.gui.widgets.rings import paint_ring

if TYPE_CHECKING:
    from app.gui.widgets.rows import Row

log = logging.getLogger(__name__)
_INKS = {"failed": "lost", "faint": "text_faint", "soft": "text_soft", "off": "text_off"}
Index = QModelIndex | QPersistentModelIndex
SIDE = 12  # px from a row's edge to its text
RIGHT = Qt.AlignmentFlag.AlignRight


def paint_ground(
    painter: QPainter, box: QRectF, *, hover: bool, selected: bool, focus: bool, ring: bool,
    radius: float = 6,
) -> None:  # fmt: skip
    """The ground of a row: hover, selected with or without focus, keyboard focus."""
    if selected and focus:
        outline = token("accent") if soft_outline() else None
        rounded(painter, box, radius, token("accent_soft"), outline, 2.0)
    elif selected or hover:
        rounded(painter, box, radius, token("hover"))
    if ring:
        focus_ring(painter, box, radius)


def draw_hits(
    painter: QPainter, box: QRectF, text: str, spans: tuple[tuple[int, int], ...], used: QFont,
    color: str,
) -> None:  # fmt: skip
    """One elided line with marked stretches: a ground plus weight, also for Chinese."""
    bold = QFont(used)
    bold.setWeight(QFont.Weight.DemiBold)
    plain, strong = QFontMetricsF(used), QFontMetricsF(bold)
    x, at = box.left(), 0
    pieces: list[tuple[str, bool]] = []
    for start, end in spans:
        pieces += [(text[at:start], False), (text[start:end], True)]
        at = end
    pieces.append((text[at : at + 400], False))
    for piece, marked in pieces:
        metrics = strong if marked else plain
        left = box.right() - x
        if not piece or left < 4:
            continue
        shown = metrics.elidedText(piece, Qt.TextElideMode.ElideRight, left)
        width = metrics.horizontalAdvance(shown)
        if marked:
            ground = QRectF(
                x - 1, box.center().y() - metrics.height() / 2, width + 2, metrics.height()
            )
            rounded(painter, ground, 3, token("hit"))
        painter.setFont(bold if marked else used)
        draw_text(painter, QRectF(x, box.top(), width + 2, box.height()), shown,
                  token("text" if marked else color))  # fmt: skip
        x += width
        if shown != piece:
            break


class RowDelegate(QStyledItemDelegate):
    """Paints `Row` records of one or two lines; `margin` is the list's own side margin."""

    def __init__(self, lines: int, margin: int, parent: QWidget, role: Role = "body") -> None:
        super().__init__(parent)
        self._role: Role = role
        self.side = SIDE
        self.lively = False  # the choice is active though a field above the list has the focus
        self._lines = lines
        self.margin = margin

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(120, 34 if self._lines == 1 else 50)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        try:
            row: Row | None = index.data(Qt.ItemDataRole.UserRole)
            if row is None:
                return
            painter.save()
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            box = QRectF(option.rect).adjusted(self.margin, 0, -self.margin, -1)  # type: ignore[attr-defined]
            if row.head:
                self._paint_head(painter, box, row)
            else:
                self._paint_row(painter, box, row, option)
            painter.restore()
        except Exception:
            log.exception("a row could not be painted")

    def _paint_head(self, painter: QPainter, box: QRectF, row: Row) -> None:
        line = QRectF(box.left() + SIDE, box.bottom() - 26, box.width() - 2 * SIDE, 24)
        painter.setFont(font("small", 600))
        draw_text(painter, line, row.title, token("text_soft"))
        x = QFontMetricsF(font("small", 600)).horizontalAdvance(row.title) + 8
        painter.setFont(font("small"))
        draw_text(painter, line.adjusted(x, 0, 0, 0), row.detail, token("text_faint"))
        if row.right:
            draw_text(painter, line, row.right, token("text_faint"), RIGHT)

    def _paint_row(
        self, painter: QPainter, box: QRectF, row: Row, option: QStyleOptionViewItem
    ) -> None:
        flags = QStyle.StateFlag
        state = option.state  # type: ignore[attr-defined]
        view = option.widget  # type: ignore[attr-defined]
        focus = bool(view is not None and view.hasFocus())
        selected = bool(state & flags.State_Selected)
        hover = bool(state & flags.State_MouseOver)
        ring = focus and bool(state & flags.State_HasFocus)
        lively = focus or self.lively
        paint_ground(painter, box, hover=hover, selected=selected, focus=lively, ring=ring)
        inner = box.adjusted(self.side + 16 * row.indent, 0, -self.side, 0)
        faint = "text_soft" if selected else "text_faint"
        inner = self._paint_sign(painter, inner, row)
        if self._lines == 1:
            self._paint_one(painter, inner, row, selected, faint)
        else:
            self._paint_two(painter, inner, row, selected, faint)

    def _paint_sign(self, painter: QPainter, inner: QRectF, row: Row) -> QRectF:
        """Icon, mark or ring at the left; what is left of the row."""
        middle = inner.center().y() if self._lines == 1 else inner.top() + 17
        if row.tone == "running":
            paint_ring(painter, QPointF(inner.left() + 7, middle), 5.6, token("accent"))
        elif row.tone == "failed" and not row.mark:
            paint_icon(painter, row.icon or "circle-x", inner.left(), middle - 7, 14, "lost")
        elif row.icon:
            paint_icon(painter, row.icon, inner.left(), middle - 7, 14, row.icon_color)
        elif row.mark:
            paint_mark(painter, row.mark, QPointF(inner.left() + 6, middle), IN_LISTS + 0.5)
        else:
            return inner
        return inner.adjusted(22, 0, 0, 0)

    def _paint_one(
        self, painter: QPainter, inner: QRectF, row: Row, selected: bool, faint: str
    ) -> None:
        room = self._paint_right(painter, inner, row, faint)
        room = self._paint_marks(painter, room, row)
        used = font(self._role, 600 if selected else 400)
        title = self._title(painter, room, row, used, selected)
        if row.detail:
            painter.setFont(font("small"))
            rest = room.adjusted(title + 10, 0, 0, 0)
            self._line(painter, rest, row.detail, font("small"), faint, row, "detail")

    def _paint_two(
        self, painter: QPainter, inner: QRectF, row: Row, selected: bool, faint: str
    ) -> None:
        upper = QFontMetricsF(font("body", 600)).height()
        lower = QFontMetricsF(font("small")).height()
        top = inner.center().y() - (upper + 3 + lower) / 2
        first = QRectF(inner.left(), top, inner.width(), upper)
        second = QRectF(inner.left(), top + upper + 3, inner.width(), lower)
        room = self._paint_right(painter, first, row, faint)
        self._title(painter, room, row, font("body", 600 if selected else 500), selected)
        second = self._paint_marks(painter, second, row)
        color = "lost" if row.tone == "failed" else faint
        self._line(painter, second, row.detail, font("small"), color, row, "detail")

    def _title(
        self, painter: QPainter, room: QRectF, row: Row, used: QFont, selected: bool
    ) -> float:
        """The name; its width."""
        color = "text" if selected and row.tone == "soft" else _INKS.get(row.tone, "text")
        if row.tone == "failed" and self._lines == 2:
            color = "text"
        return self._line(painter, room, row.title, used, color, row, "title")

    def _line(
        self, painter: QPainter, room: QRectF, text: str, used: QFont, color: str, row: Row,
        which: str,
    ) -> float:  # fmt: skip
        if not text or room.width() < 8:
            return 0.0
        metrics = QFontMetricsF(used)
        if row.spans and (which == "title") == row.spans_in_title:
            draw_hits(painter, room, text, row.spans, used, color)
            return metrics.horizontalAdvance(text[:400])
        shown = metrics.elidedText(
            plain_line(text[:600]), Qt.TextElideMode.ElideRight, room.width()
        )
        painter.setFont(used)
        draw_text(painter, room, shown, token(color))
        return metrics.horizontalAdvance(shown)

    def _paint_right(self, painter: QPainter, room: QRectF, row: Row, faint: str) -> QRectF:
        if row.dot:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(token("accent"))
            painter.drawEllipse(QPointF(room.right() - 3, room.center().y()), 3, 3)
            room = room.adjusted(0, 0, -14, 0)
        if not row.right:
            return room
        used = font("small", tabular=True)
        painter.setFont(used)
        width = QFontMetricsF(used).horizontalAdvance(row.right)
        draw_text(painter, room, row.right, token(faint), RIGHT)
        return room.adjusted(0, 0, -width - 10, 0)

    def _paint_marks(self, painter: QPainter, room: QRectF, row: Row) -> QRectF:
        x = room.right() - 5
        for kind in reversed(row.marks[:6]):
            paint_mark(painter, kind, QPointF(x, room.center().y()), IN_LISTS + 0.3)
            x -= 14
        return room.adjusted(0, 0, -14.0 * len(row.marks[:6]), 0)
