"""One row of the list of hits, painted: a head, a hit with at most two lines around its match, or
what stands at the end."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from app.engine.records import Hit
from app.gui.look.icons import paint_icon
from app.gui.look.text import plural
from app.gui.look.theme import token
from app.gui.look.type import font, line_step
from app.gui.panes.search.marked import lay_out, paint
from app.gui.panes.search.model import ENTRY, Entry, Head, Index, Tail, line_of
from app.gui.widgets.delegate import paint_ground
from app.gui.widgets.paint import draw_text
from app.gui.widgets.surfaces import side_margin

if TYPE_CHECKING:
    from app.gui.panes.search.hits import HitList

log = logging.getLogger(__name__)
SIDE, ICON = 12, 22
LINES = 2
SURE = 1.03  # marks are bolder than what is measured
RIGHT = Qt.AlignmentFlag.AlignRight


class HitDelegate(QStyledItemDelegate):
    """Paints heads and hits; it never raises into Qt."""

    def __init__(self, view: HitList) -> None:
        super().__init__(view)
        self._view = view

    def margin(self) -> int:
        """Px from the edge of the list to its rows: their text lines up with the field."""
        return side_margin(self._view) - SIDE

    def text_width(self) -> float:
        return max(self._view.viewport().width() - 2 * (self.margin() + SIDE) - ICON, 60.0)

    def height(self, entry: Entry | None, row: int) -> int:
        """What a row needs; all the same where there are many."""
        if self._view.uniform:
            return self._height(LINES)
        if not isinstance(entry, Hit):
            small = QFontMetricsF(font("small", 600)).height()
            return round(small + (14 if row == 0 else 22))
        return self._height(self._lines(line_of(entry)[0]))

    def _height(self, lines: int) -> int:
        return round(self._title().height() + lines * line_step("read", font("body")) + 19)

    def _lines(self, text: str) -> int:
        """How many lines a text gets: measured, as laying it out costs a hundred times more."""
        metrics, room = QFontMetricsF(font("body")), self.text_width()
        if len(text) * metrics.averageCharWidth() > 2 * room:
            return LINES
        return 1 if metrics.horizontalAdvance(text) * SURE <= room else LINES

    @staticmethod
    def _title(weight: int = 500) -> QFontMetricsF:
        return QFontMetricsF(font("small", weight))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        painter.save()
        try:
            entry: Entry | None = index.data(ENTRY)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            by = self.margin()
            box = QRectF(option.rect).adjusted(by, 0, -by, -1)  # type: ignore[attr-defined]
            if isinstance(entry, Head):
                self._paint_head(painter, box, entry, index.row())
            elif isinstance(entry, Hit):
                self._paint_hit(painter, box, entry, option)
            elif isinstance(entry, Tail):
                self._paint_tail(painter, box, entry, index.row())
        except Exception:
            log.exception("a hit could not be painted")
        finally:
            painter.restore()

    def _paint_head(self, painter: QPainter, box: QRectF, head: Head, row: int) -> None:
        line = box.adjusted(SIDE, 4 if row == 0 else 12, -SIDE, -2)
        if self._view.uniform:
            line.setTop(line.bottom() - QFontMetricsF(font("small", 600)).height() - 6)
        painter.setFont(font("small", 600))
        draw_text(painter, line, head.title, token("text_soft"))
        x = QFontMetricsF(font("small", 600)).horizontalAdvance(head.title) + 9
        painter.setFont(font("small", tabular=True))
        draw_text(painter, line.adjusted(x, 0, 0, 0), head.count, token("text_faint"))
        self._paint_act(painter, line, act_words(head), row)

    def _paint_tail(self, painter: QPainter, box: QRectF, tail: Tail, row: int) -> None:
        line = box.adjusted(SIDE, 0, -SIDE, 0)
        self._paint_act(painter, line, tail.act, row)
        metrics = QFontMetricsF(font("small"))
        painter.setFont(font("small"))
        room = line.width() - QFontMetricsF(font("small", 500)).horizontalAdvance(tail.act) - 16
        words = metrics.elidedText(tail.words, Qt.TextElideMode.ElideRight, room)
        draw_text(painter, line, words, token("text_faint"))

    def _paint_act(self, painter: QPainter, line: QRectF, words: str, row: int) -> None:
        used = font("small", 500)
        used.setUnderline(self._view.hovered == row)
        painter.setFont(used)
        draw_text(painter, line, words, token("accent"), RIGHT)

    def _paint_hit(
        self, painter: QPainter, box: QRectF, hit: Hit, option: QStyleOptionViewItem
    ) -> None:
        flags = QStyle.StateFlag
        state = option.state  # type: ignore[attr-defined]
        selected = bool(state & flags.State_Selected)
        lively = self._view.lively or self._view.hasFocus()
        paint_ground(
            painter, box, hover=bool(state & flags.State_MouseOver), selected=selected,
            focus=lively, ring=selected and self._view.hasFocus(),
        )  # fmt: skip
        words = self._view.hits.words(hit)
        faint = "text_soft" if selected else "text_faint"
        inner = box.adjusted(SIDE, 8, -SIDE, 0)
        metrics = self._title(600 if selected else 500)
        top = QRectF(inner.left() + ICON, inner.top(), inner.width() - ICON, metrics.height())
        ink = "accent" if selected and lively else "text_soft"
        paint_icon(painter, words.icon, inner.left(), top.center().y() - 7, 14, ink)
        used = font("small", tabular=True)
        painter.setFont(used)
        wide = QFontMetricsF(used).horizontalAdvance(words.time)
        draw_text(painter, top, words.time, token(faint), RIGHT)
        painter.setFont(font("small", 600 if selected else 500))
        room = top.width() - wide - 12
        place = metrics.elidedText(words.place, Qt.TextElideMode.ElideRight, room)
        strong = "text" if selected else "text_soft"
        draw_text(painter, top, place, token(faint if self._view.dimmed else strong))
        laid = lay_out(
            words.text, words.spans, self.text_width(), font("body"), self._lines(words.text)
        )
        ink = faint if self._view.dimmed else "text"
        paint(painter, laid, QPointF(top.left(), top.bottom() + 3), ink)


def act_words(entry: Entry | None) -> str:
    """What can be clicked at the right of a row; "" for a hit."""
    if isinstance(entry, Tail):
        return entry.act
    more = entry.more if isinstance(entry, Head) else 0
    return plural(more, "Show {n} more", "Show {n} more") if more else ""
