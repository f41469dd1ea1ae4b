"""One row of the list of hits, painted: a head, a hit with at most two lines around its match, or
what stands at the end.

Idea: scrolling is painting, so what a hit says is put into words and lines once and kept for the
next painting, at most `KEPT` of each. Whether it is chosen, pointed at or dimmed is no part of it.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, NamedTuple

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from app.engine.records import Hit
from app.gui.look.icons import paint_icon
from app.gui.look.text import plural
from app.gui.look.theme import token
from app.gui.look.type import font, line_step
from app.gui.panes.search.marked import WIDE, Laid, Line, lay_out, one_line, paint
from app.gui.panes.search.model import Entry, Head, Index, Tail, line_of
from app.gui.widgets.delegate import paint_ground
from app.gui.widgets.paint import draw_text
from app.gui.widgets.surfaces import side_margin

if TYPE_CHECKING:
    from app.gui.panes.search.hits import HitList

log = logging.getLogger(__name__)
SIDE, ICON = 12, 22
TOP = 8  # px from a row's edge to its place and time
LINES = 2
KEPT = 600  # hits, and places and times, that are remembered
SURE = 1.03  # marks are bolder than what is measured
RIGHT = Qt.AlignmentFlag.AlignRight
SELECTED, OVER = QStyle.StateFlag.State_Selected.value, QStyle.StateFlag.State_MouseOver.value


class _Row(NamedTuple):
    """A hit in lines, each with where it stands, px from the upper left corner of the row."""

    hit: Hit
    icon: str
    middle: float  # of icon, place and time
    time: Line
    time_at: QPointF
    place: Line
    place_at: QPointF
    text: Laid
    text_at: QPointF


class HitDelegate(QStyledItemDelegate):
    """Paints heads and hits between `begin` and the end of a painting; it never raises into Qt."""

    def __init__(self, view: HitList) -> None:
        super().__init__(view)
        self._view = view
        self._side, self._room, self._focus = 0, 0.0, False
        self._rows: dict[tuple[int, bool], _Row] = {}  # by identity, and whether it is chosen
        self._lines: dict[tuple[str, str, float], Line] = {}  # places and times: many are equal
        self.forget()

    def forget(self) -> None:
        """The words, the theme or the size of text are others now."""
        self._rows.clear()
        self._lines.clear()
        self._body = font("body")
        self._widths = QFontMetricsF(self._body)
        self._fonts = {
            "time": font("small", tabular=True),
            "title": font("small", 500),
            "chosen": font("small", 600),
        }
        self._high = {kind: QFontMetricsF(used).height() for kind, used in self._fonts.items()}

    def begin(self) -> None:
        """What is the same for all rows that are painted next."""
        self._side, self._focus = self.margin(), self._view.hasFocus()
        if (room := self.text_width()) != self._room:
            self.forget()
            self._room = room

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
        if len(text) * self._widths.averageCharWidth() > 2 * room:
            return LINES
        return 1 if self._widths.horizontalAdvance(text) * SURE <= room else LINES

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        painter.save()
        try:
            entry, by = self._view.hits.entry(index.row()), self._side
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            box = QRectF(option.rect).adjusted(by, 0, -by, -1)  # type: ignore[attr-defined]
            if isinstance(entry, Hit):
                self._paint_hit(painter, box, entry, option.state.value)  # type: ignore[attr-defined]
            elif isinstance(entry, Head):
                self._paint_head(painter, box, entry, index.row())
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
        lively = view.lively or self._focus
        paint_ground(
            painter, box, hover=bool(state & OVER), selected=selected,
            focus=lively, ring=selected and self._focus,
        )  # fmt: skip
        row = self._row(hit, chosen=selected)
        painter.translate(box.topLeft())
        ink = "accent" if selected and lively else "text_soft"
        paint_icon(painter, row.icon, SIDE, row.middle - 7, 14, ink)
        faint = "text_soft" if selected else "text_faint"
        painter.setPen(token(faint))
        row.time.line.draw(painter, row.time_at)
        painter.setPen(token(faint if view.dimmed else "text" if selected else "text_soft"))
        row.place.line.draw(painter, row.place_at)
        paint(painter, row.text, row.text_at, faint if view.dimmed else "text")

    def _row(self, hit: Hit, *, chosen: bool) -> _Row:
        row = self._rows.get((id(hit), chosen))  # it holds the hit, so none else gets its number
        if row is None:
            row = self._made(hit, "chosen" if chosen else "title")
            _keep(self._rows, (id(hit), chosen), row)
        return row

    def _made(self, hit: Hit, kind: str) -> _Row:
        words, left, room = self._view.hits.words(hit), SIDE + ICON, self._room
        middle = TOP + self._high[kind] / 2
        time = self._line(words.time, "time")
        time_at = QPointF(left + room - time.wide, middle - time.high / 2)
        text = lay_out(words.text, words.spans, room, self._body, self._needed(words.text, room))
        place = self._line(words.place, kind, max(room - time.wide - 12, 0.0))
        place_at = QPointF(left, middle - place.high / 2)
        text_at = QPointF(left, TOP + self._high[kind] + 3)
        return _Row(hit, words.icon, middle, time, time_at, place, place_at, text, text_at)

    def _line(self, text: str, kind: str, room: float = WIDE) -> Line:
        line = self._lines.get((text, kind, room))
        if line is None:
            line = one_line(text, self._fonts[kind], room)
            _keep(self._lines, (text, kind, room), line)
        return line


def _keep(kept: dict[Any, Any], key: object, made: object) -> None:
    """Remember it; of more than `KEPT` the oldest is forgotten."""
    kept[key] = made
    if len(kept) > KEPT:
        del kept[next(iter(kept))]


def act_words(entry: Entry | None) -> str:
    """What can be clicked at the right of a row; "" for a hit."""
    if isinstance(entry, Tail):
        return entry.act
    more = entry.more if isinstance(entry, Head) else 0
    return plural(more, "Show {n} more", "Show {n} more") if more else ""
