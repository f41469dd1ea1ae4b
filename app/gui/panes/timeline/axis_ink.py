"""The axis, painted: ticks, names and folds, a lane of marks each, and over them band and playhead.

A lane with more than one mark per `CROWD` px becomes a density bar of the same colour. Where things
are is the axis' to say; nothing here is kept from one painting to the next.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen, QPixmap

from app.gui.look.text import clock, tr
from app.gui.look.theme import soft_outline, token
from app.gui.look.type import font
from app.gui.panes.timeline.gaps import paint_fold, paint_whole
from app.gui.panes.timeline.scale import LANES, Fold, Mark, ticks
from app.gui.widgets.marks import mark_of, paint_mark
from app.gui.widgets.paint import draw_text, focus_ring, rounded

if TYPE_CHECKING:
    from app.gui.panes.timeline.axis import Axis

CROWD = 6.0  # px per mark below which a lane shows density
WORDS = ("Messages", "Tools", "Flush", "Compaction", "Eviction", "Memory")


class AxisInk:
    """Paints one axis."""

    def __init__(self, axis: Axis) -> None:
        self._axis = axis

    def still(self, ratio: float) -> QPixmap:
        made = QPixmap(round(self._axis.width() * ratio), round(self._axis.height() * ratio))
        made.setDevicePixelRatio(ratio)
        made.fill(Qt.GlobalColor.transparent)
        painter = QPainter(made)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._draw_grid(painter)
        for lane, marks in enumerate(self._axis.scale.lanes):
            self._draw_lane(painter, lane, marks)
        painter.end()
        return made

    def _draw_grid(self, painter: QPainter) -> None:
        left, right = self._axis.left(), self._axis.width() - 24.0
        bottom = self._axis.height() - 8.0
        painter.setFont(font("tiny", tabular=True))
        metrics = QFontMetricsF(painter.font())
        taken = -1e9
        found = ticks(self._axis.scale, *self._axis.view, self._axis.span())
        fine = len({clock(when) for _, when in found}) < len(found)
        for v, when in found:
            x = self._axis.x_of(v)
            label = f"{clock(when)}:{when.second:02}" if fine else clock(when)
            wide = metrics.horizontalAdvance(label)
            start = min(max(x - wide / 2, left - 12), right - wide + 12)
            if x > right + 1 or start < taken + 12:
                continue
            taken = start + wide
            if not self._axis.folded:
                painter.fillRect(QRectF(x, 21, 1, bottom - 21), token("line"))
            draw_text(painter, QRectF(start, 1, wide + 4, 17), label, token("text_faint"))
        lanes = 1 if self._axis.folded else len(LANES)
        for lane in range(lanes):
            y = self._axis.lane_y(lane)
            painter.fillRect(QRectF(left - 4, y, right - left + 8, 1), token("line"))
        if not self._axis.folded:
            self._draw_names(painter, left)
        for fold in self._axis.scale.folds:
            self._draw_gap(painter, fold)

    def _draw_names(self, painter: QPainter, left: float) -> None:
        margin = 24.0 if self._axis.window().width() >= 1000 else 16.0
        painter.setFont(font("small"))
        for lane, kind in enumerate(LANES):
            y = self._axis.lane_y(lane)
            paint_mark(painter, kind, QPointF(margin + 12, y), 3.8)
            if left > margin + 40:
                box = QRectF(
                    margin + 26, y - self._axis.step / 2, left - margin - 26, self._axis.step
                )
                draw_text(painter, box, tr(WORDS[lane]), token("text_soft"))

    def _draw_gap(self, painter: QPainter, fold: Fold) -> None:
        x1, x2 = self._axis.x_of(fold.start), self._axis.x_of(fold.end)
        left, right = self._axis.left(), self._axis.width() - 24.0
        if x2 >= left and x1 <= right:
            top = 22.0 if not self._axis.folded else 18.0
            x1, x2 = max(x1, left), min(x2, right)
            box = QRectF(x1 + 2, top, max(x2 - x1 - 4, 1), self._axis.height() - top - 8)
            paint_fold(painter, box, fold.seconds)

    def _draw_lane(self, painter: QPainter, lane: int, marks: tuple[Mark, ...]) -> None:
        places = [m.v for m in marks]
        start, end = self._axis.view
        low, high = bisect_left(places, start), bisect_right(places, end)
        if low >= high:
            return
        y = self._axis.lane_y(lane)
        right = self._axis.width() - 24.0
        if (high - low) * CROWD > self._axis.span():
            self._draw_density(painter, lane, marks[low:high], y)
            return
        for mark in marks[low:high]:
            x = min(self._axis.x_of(mark.v), right)
            self._draw_mark(painter, lane, mark, x, y)

    def _draw_mark(self, painter: QPainter, lane: int, mark: Mark, x: float, y: float) -> None:
        if lane == 0 and mark.kind in ("user", "assistant"):
            tall = 4 + 11 * mark.size
            box = QRectF(x - 1.5, y - tall / 2 + 0.5, 3, tall)
            shade = token("kind_message")
            if mark.hollow:
                rounded(painter, box, 1, None, shade)
            else:
                rounded(painter, box, 1, shade)
        elif mark.hollow:
            painter.setPen(QPen(token(mark_of(mark.kind)[1]), 1.2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(QRectF(x - 3, y - 3, 6, 6))
        else:
            paint_mark(painter, mark.kind, QPointF(x, y + 0.5), 3.4 if lane == 1 else 4.6)

    def _draw_density(
        self, painter: QPainter, lane: int, marks: tuple[Mark, ...], y: float
    ) -> None:
        start, end = self._axis.view
        per = self._axis.span() / max(end - start, 1e-6) / 3
        bins = Counter(int((mark.v - start) * per) for mark in marks)
        most = max(bins.values())
        shade = token(mark_of(LANES[lane])[1])
        for place, count in bins.items():
            tall = 2 + 11 * (count / most) ** 0.6
            box = QRectF(self._axis.left() + place * 3, y - tall / 2 + 0.5, 2.4, tall)
            painter.fillRect(box, shade)

    def draw_over(self, painter: QPainter) -> None:
        left, right = self._axis.left(), self._axis.width() - 24.0
        top, bottom = 20.0 if not self._axis.folded else 17.0, self._axis.height() - 6.0
        if self._axis.range is not None:
            x1, x2 = (min(max(self._axis.x_of(v), left - 6), right + 6) for v in self._axis.range)
            band = token("accent")
            edge = QColor(band)
            band.setAlphaF(0.0 if soft_outline() else 0.09)
            edge.setAlphaF(1.0 if soft_outline() else 0.55)
            rounded(painter, QRectF(x1 - 3, top, max(x2 - x1, 1) + 6, bottom - top), 4, band, edge)
        x = self._axis.x_of(self._axis.head)
        if self._axis.scale.places and left - 2 <= x <= right + 2:
            painter.fillRect(QRectF(x - 0.75, top - 1, 1.5, bottom - top + 1), token("text"))
        if self._axis.view != (0.0, self._axis.scale.length):
            track = QRectF(left, self._axis.height() - 4.0, self._axis.span(), 3)
            paint_whole(painter, track, self._axis.view, self._axis.scale.length)
        if self._axis.hasFocus():
            focus_ring(painter, QRectF(self._axis.rect()).adjusted(8, 0, -8, -1), 6)
