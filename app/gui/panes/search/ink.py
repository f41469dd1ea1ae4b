"""One row of the list of hits, painted: a head, a hit with at most two lines around its match, or
what stands at the end.

Idea: scrolling is painting, so what a hit says is put into words and lines once and kept for the
next painting, at most `KEPT` of each. Whether it is chosen, pointed at or dimmed is no part of it.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from app.engine.records import Hit
from app.gui.look.icons import paint_icon
from app.gui.look.text import plural
from app.gui.look.theme import token
from app.gui.look.type import font, line_step
from app.gui.panes.search.marked import Laid, lay_out, paint
from app.gui.panes.search.model import Entry, Head, Index, Shown, Tail, line_of
from app.gui.widgets.delegate import paint_ground
from app.gui.widgets.paint import draw_text
from app.gui.widgets.surfaces import side_margin

if TYPE_CHECKING:
    from app.gui.panes.search.hits import HitList

log = logging.getLogger(__name__)
SIDE, ICON = 12, 22
LINES = 2
KEPT = 600  # hits, and places and times, that are remembered
WIDE = 100_000.0  # px that no line of a row is long
SURE = 1.03  # marks are bolder than what is measured
RIGHT = Qt.AlignmentFlag.AlignRight
SELECTED, OVER = QStyle.StateFlag.State_Selected.value, QStyle.StateFlag.State_MouseOver.value


@dataclass(frozen=True)
class _Row:
    """A hit in words, and its text in lines."""

    hit: Hit
    words: Shown
    laid: Laid


class HitDelegate(QStyledItemDelegate):
    """Paints heads and hits; it never raises into Qt."""

    def __init__(self, view: HitList) -> None:
        super().__init__(view)
        self._view = view
        self._room = 0.0
        self._rows: dict[int, _Row] = {}  # by the hit's identity, the oldest first
        self._lines: dict[tuple[str, str, float], Laid] = {}  # places and times: many are equal
        self.forget()

    def forget(self) -> None:
        """The words, the theme or the size of text are others now."""
        self._rows.clear()
        self._lines.clear()
        self._body = font("body")
        self._fonts = {
            "time": font("small", tabular=True),
            "title": font("small", 500),
            "chosen": font("small", 600),
        }
        self._high = {kind: QFontMetricsF(used).height() for kind, used in self._fonts.items()}

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
        return self._height(self._needed(line_of(entry)[0], self.text_width()))

    def _height(self, lines: int) -> int:
        return round(self._high["title"] + lines * line_step("read", self._body) + 19)

    def _needed(self, text: str, room: float) -> int:
        """How many lines a text gets: measured, as laying it out costs a hundred times more."""
        metrics = QFontMetricsF(self._body)
        if len(text) * metrics.averageCharWidth() > 2 * room:
            return LINES
        return 1 if metrics.horizontalAdvance(text) * SURE <= room else LINES

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        painter.save()
        try:
            entry = self._view.hits.entry(index.row())
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            by = self.margin()
            box = QRectF(option.rect).adjusted(by, 0, -by, -1)  # type: ignore[attr-defined]
            if isinstance(entry, Head):
                self._paint_head(painter, box, entry, index.row())
            elif isinstance(entry, Hit):
                self._paint_hit(painter, box, entry, option.state.value)  # type: ignore[attr-defined]
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

    def _paint_hit(self, painter: QPainter, box: QRectF, hit: Hit, state: int) -> None:
        view, selected = self._view, bool(state & SELECTED)
        lively = view.lively or view.hasFocus()
        paint_ground(
            painter, box, hover=bool(state & OVER), selected=selected,
            focus=lively, ring=selected and view.hasFocus(),
        )  # fmt: skip
        left, room = box.left() + SIDE + ICON, max(box.width() - 2 * SIDE - ICON, 60.0)
        row, kind = self._row(hit, room), "chosen" if selected else "title"
        top = QRectF(left, box.top() + 8, room, self._high[kind])
        ink = "accent" if selected and lively else "text_soft"
        paint_icon(painter, row.words.icon, box.left() + SIDE, top.center().y() - 7, 14, ink)
        faint = "text_soft" if selected else "text_faint"
        time = self._line(row.words.time, "time", room)
        wide = _draw_line(painter, time, top, token(faint), at_end=True)
        top.setWidth(max(room - wide - 12, 0.0))
        ink = faint if view.dimmed else "text" if selected else "text_soft"
        _draw_line(painter, self._line(row.words.place, kind, top.width()), top, token(ink))
        ink = faint if view.dimmed else "text"
        paint(painter, row.laid, QPointF(left, top.bottom() + 3), ink)

    def _row(self, hit: Hit, room: float) -> _Row:
        """`hit` as it is painted where its text has `room` px."""
        if room != self._room:
            self.forget()
            self._room = room
        row = self._rows.get(id(hit))  # it holds the hit, so that no other gets its number
        if row is None:
            words = self._view.hits.words(hit)
            lines = self._needed(words.text, room)
            row = _Row(hit, words, lay_out(words.text, words.spans, room, self._body, lines))
            _keep(self._rows, id(hit), row)
        return row

    def _line(self, text: str, kind: str, room: float) -> Laid:
        """`text` in one line, cut to `room` px."""
        laid = self._lines.get((text, kind, room))
        if laid is None:
            used = self._fonts[kind]
            cut = QFontMetricsF(used).elidedText(text, Qt.TextElideMode.ElideRight, room)
            laid = lay_out(cut, (), WIDE, used, 1)
            _keep(self._lines, (text, kind, room), laid)
        return laid


def _keep(kept: dict[Any, Any], key: object, made: object) -> None:
    """Remember it; of more than `KEPT` the oldest is forgotten."""
    kept[key] = made
    if len(kept) > KEPT:
        del kept[next(iter(kept))]


def _draw_line(
    painter: QPainter, laid: Laid, box: QRectF, ink: QColor, *, at_end: bool = False
) -> float:
    """The one line of `laid` in the middle of the height of `box`, at its left edge; right-to-left
    text, and any `at_end`, at its right one. How wide it is in px."""
    line = laid.lines[0]
    own = line.naturalTextRect()
    x = box.right() - own.width() if at_end or own.left() > 0 else box.left()
    y = box.center().y() - (line.ascent() + line.descent()) / 2 - line.y()
    painter.setPen(ink)
    line.draw(painter, QPointF(x - own.left(), y))
    return own.width()


def act_words(entry: Entry | None) -> str:
    """What can be clicked at the right of a row; "" for a hit."""
    if isinstance(entry, Tail):
        return entry.act
    more = entry.more if isinstance(entry, Head) else 0
    return plural(more, "Show {n} more", "Show {n} more") if more else ""
