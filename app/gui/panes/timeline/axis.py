"""The axis: one lane per kind, zoomed and brushed, with the playhead of the transcript.

Lanes are painted once into a pixmap; band and playhead lie over it. A lane with more than one mark
per 6 px becomes a density bar of the same colour.
"""

from __future__ import annotations

import logging
from bisect import bisect_left, bisect_right
from collections import Counter

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFontMetricsF,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
    QResizeEvent,
    QWheelEvent,
)  # fmt: skip
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.gui.look.text import clock, tr
from app.gui.look.theme import soft_outline, theme, token
from app.gui.look.type import font
from app.gui.panes.timeline.gaps import paint_fold, paint_whole
from app.gui.panes.timeline.scale import LANES, Fold, Mark, Scale, ticks
from app.gui.widgets.marks import mark_of, paint_mark
from app.gui.widgets.paint import draw_text, focus_ring, rounded, smooth

log = logging.getLogger(__name__)
HEIGHT, FOLDED = 146, 46
TOP, STEP = 30, 19  # px: first lane's middle, lane to lane
CROWD = 6.0  # px per mark below which a lane shows density
CLOSEST = 2.0  # kept seconds that the whole width shows at most zoom
WORDS = ("Messages", "Tools", "Flush", "Compaction", "Eviction", "Memory")
Range = tuple[float, float]


class Axis(QWidget):
    """`jumped(item)` after a click; `brushed()` when the range changed (see `range`)."""

    jumped = Signal(int)
    brushed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(tr("Axis of this session"))
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setMouseTracking(True)
        self.scale = Scale(tuple(() for _ in LANES))
        self.range: Range | None = None
        self.view: Range = (0.0, 1.0)
        self.head = 0.0
        self._folded = False
        self._still: QPixmap | None = None
        self._lanes_at: float | None = None
        self._press: float | None = None
        self._brushing = False
        self._step = STEP
        self._again()
        theme().changed.connect(self._again)

    # ------------------------------------------------------------------ what it shows

    def set_scale(self, scale: Scale, *, keep: bool, shift: int = 0) -> None:
        """Another scale; `keep` leaves zoom and range at their moments (more of the session is
        there). `shift` is how many items came before those that were shown."""
        whole = self.view == (0.0, self.scale.length)
        if keep:
            self._carry(scale, shift)
        self.scale = scale
        if not keep or whole:
            self.view = (0.0, scale.length)
        if not keep:
            self.range = None
        self._again()

    def _carry(self, scale: Scale, shift: int) -> None:
        start, end = (self.scale.moved_to(scale, v, shift) for v in self.view)
        start = min(max(start, 0.0), max(scale.length - CLOSEST, 0.0))
        self.view = (start, min(max(end, start + CLOSEST), scale.length))
        if self.range is not None:
            first, last = (self.scale.moved_to(scale, v, shift) for v in self.range)
            self.range = (first, last)

    def set_folded(self, on: bool) -> None:
        """One lane of all marks instead of six."""
        if on != self._folded:
            self._folded = on
            self._again()

    def set_head(self, item: int) -> None:
        """Put the playhead at an item."""
        if 0 <= item < len(self.scale.places):
            self.head = self.scale.places[item]
            self.update()

    def _again(self) -> None:
        """Size, font or content changed: draw the still parts anew."""
        self._step = max(STEP, round(QFontMetricsF(font("small")).height() + 2))
        self.setFixedHeight(FOLDED if self._folded else HEIGHT + 5 * (self._step - STEP))
        self._still = None
        self._lanes_at = None
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(400, self.height())

    # ------------------------------------------------------------------ geometry

    def _left(self) -> float:
        if self._lanes_at is None:
            self._lanes_at = self._lanes_left()
        return self._lanes_at

    def _lanes_left(self) -> float:
        """Where the lanes begin, right of their names; asked once per size and font."""
        margin = 24.0 if self.window().width() >= 1000 else 16.0
        if self._folded:
            return margin
        wide = max(QFontMetricsF(font("small")).horizontalAdvance(tr(w)) for w in WORDS)
        return margin + 26 + wide + 16 if self.width() > 480 else margin + 26

    def _span(self) -> float:
        return max(self.width() - self._left() - 24.0, 40.0)

    def x_of(self, v: float) -> float:
        start, end = self.view
        return self._left() + (v - start) / max(end - start, 1e-6) * self._span()

    def v_of(self, x: float) -> float:
        start, end = self.view
        share = (x - self._left()) / self._span()
        return min(max(start + share * (end - start), 0.0), self.scale.length)

    def lane_y(self, lane: int) -> float:
        return 28.0 if self._folded else float(TOP + lane * self._step)

    # ------------------------------------------------------------------ acts

    def zoom(self, by: float, about: float | None = None) -> None:
        """Zoom by a factor (above 1: nearer) about a place; by default the playhead."""
        start, end = self.view
        middle = about if about is not None else min(max(self.head, start), end)
        wide = min(max((end - start) / by, CLOSEST), self.scale.length)
        share = (middle - start) / max(end - start, 1e-6)
        left = min(max(middle - share * wide, 0.0), max(self.scale.length - wide, 0.0))
        self.view = (left, min(left + wide, self.scale.length))
        self._again()

    def fit(self) -> None:
        self.view = (0.0, self.scale.length)
        self._again()

    def brush(self, start: float, end: float) -> None:
        self.range = (min(start, end), max(start, end))
        self.brushed.emit()
        self.update()

    def clear_range(self) -> None:
        if self.range is not None:
            self.range = None
            self.brushed.emit()
            self.update()

    def extend(self, by: int) -> None:
        """Shift+arrows: move the end of the range to the next or previous mark."""
        places = sorted(set(self.scale.places))
        if not places:
            return
        anchor, end = self.range or (self.head, self.head)
        at = bisect_right(places, end) if by > 0 else bisect_left(places, end) - 1
        at = min(max(at, 0), len(places) - 1)
        if places[at] <= anchor and by < 0:
            self.clear_range()
            return
        self.brush(anchor, places[at])

    def next_mark(self, by: int, kinds: tuple[int, ...]) -> int:
        """The item of the next (1) or previous (-1) mark in these lanes, -1 without one."""
        marks = sorted((m.v, m.at) for lane in kinds for m in self.scale.lanes[lane])
        if by > 0:
            return next((at for v, at in marks if v > self.head + 1e-6), -1)
        return next((at for v, at in reversed(marks) if v < self.head - 1e-6), -1)

    # ------------------------------------------------------------------ painting

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = smooth(self)
        try:
            ratio = self.devicePixelRatioF()
            if self._still is None or self._still.devicePixelRatio() != ratio:
                self._still = self._draw_still(ratio)
            painter.drawPixmap(0, 0, self._still)
            self._draw_over(painter)
        except Exception:
            log.exception("the axis could not be painted")
        painter.end()

    def _draw_still(self, ratio: float) -> QPixmap:
        made = QPixmap(round(self.width() * ratio), round(self.height() * ratio))
        made.setDevicePixelRatio(ratio)
        made.fill(Qt.GlobalColor.transparent)
        painter = QPainter(made)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._draw_grid(painter)
        for lane, marks in enumerate(self.scale.lanes):
            self._draw_lane(painter, lane, marks)
        painter.end()
        return made

    def _draw_grid(self, painter: QPainter) -> None:
        left, right = self._left(), self.width() - 24.0
        bottom = self.height() - 8.0
        painter.setFont(font("tiny", tabular=True))
        metrics = QFontMetricsF(painter.font())
        taken = -1e9
        found = ticks(self.scale, *self.view, self._span())
        fine = len({clock(when) for _, when in found}) < len(found)
        for v, when in found:
            x = self.x_of(v)
            label = f"{clock(when)}:{when.second:02}" if fine else clock(when)
            wide = metrics.horizontalAdvance(label)
            start = min(max(x - wide / 2, left - 12), right - wide + 12)
            if x > right + 1 or start < taken + 12:
                continue
            taken = start + wide
            if not self._folded:
                painter.fillRect(QRectF(x, 21, 1, bottom - 21), token("line"))
            draw_text(painter, QRectF(start, 1, wide + 4, 17), label, token("text_faint"))
        lanes = 1 if self._folded else len(LANES)
        for lane in range(lanes):
            y = self.lane_y(lane)
            painter.fillRect(QRectF(left - 4, y, right - left + 8, 1), token("line"))
        if not self._folded:
            self._draw_names(painter, left)
        for fold in self.scale.folds:
            self._draw_gap(painter, fold)

    def _draw_names(self, painter: QPainter, left: float) -> None:
        margin = 24.0 if self.window().width() >= 1000 else 16.0
        painter.setFont(font("small"))
        for lane, kind in enumerate(LANES):
            y = self.lane_y(lane)
            paint_mark(painter, kind, QPointF(margin + 12, y), 3.8)
            if left > margin + 40:
                box = QRectF(margin + 26, y - self._step / 2, left - margin - 26, self._step)
                draw_text(painter, box, tr(WORDS[lane]), token("text_soft"))

    def _draw_gap(self, painter: QPainter, fold: Fold) -> None:
        x1, x2 = self.x_of(fold.start), self.x_of(fold.end)
        left, right = self._left(), self.width() - 24.0
        if x2 >= left and x1 <= right:
            top = 22.0 if not self._folded else 18.0
            x1, x2 = max(x1, left), min(x2, right)
            box = QRectF(x1 + 2, top, max(x2 - x1 - 4, 1), self.height() - top - 8)
            paint_fold(painter, box, fold.seconds)

    def _draw_lane(self, painter: QPainter, lane: int, marks: tuple[Mark, ...]) -> None:
        places = [m.v for m in marks]
        start, end = self.view
        low, high = bisect_left(places, start), bisect_right(places, end)
        if low >= high:
            return
        y = self.lane_y(lane)
        right = self.width() - 24.0
        if (high - low) * CROWD > self._span():
            self._draw_density(painter, lane, marks[low:high], y)
            return
        for mark in marks[low:high]:
            x = min(self.x_of(mark.v), right)
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
        start, end = self.view
        per = self._span() / max(end - start, 1e-6) / 3
        bins = Counter(int((mark.v - start) * per) for mark in marks)
        most = max(bins.values())
        shade = token(mark_of(LANES[lane])[1])
        for place, count in bins.items():
            tall = 2 + 11 * (count / most) ** 0.6
            box = QRectF(self._left() + place * 3, y - tall / 2 + 0.5, 2.4, tall)
            painter.fillRect(box, shade)

    def _draw_over(self, painter: QPainter) -> None:
        left, right = self._left(), self.width() - 24.0
        top, bottom = 20.0 if not self._folded else 17.0, self.height() - 6.0
        if self.range is not None:
            x1, x2 = (min(max(self.x_of(v), left - 6), right + 6) for v in self.range)
            band = token("accent")
            edge = QColor(band)
            band.setAlphaF(0.0 if soft_outline() else 0.09)
            edge.setAlphaF(1.0 if soft_outline() else 0.55)
            rounded(painter, QRectF(x1 - 3, top, max(x2 - x1, 1) + 6, bottom - top), 4, band, edge)
        x = self.x_of(self.head)
        if self.scale.places and left - 2 <= x <= right + 2:
            painter.fillRect(QRectF(x - 0.75, top - 1, 1.5, bottom - top + 1), token("text"))
        if self.view != (0.0, self.scale.length):
            track = QRectF(left, self.height() - 4.0, self._span(), 3)
            paint_whole(painter, track, self.view, self.scale.length)
        if self.hasFocus():
            focus_ring(painter, QRectF(self.rect()).adjusted(8, 0, -8, -1), 6)

    # ------------------------------------------------------------------ pointer and keys

    def wheelEvent(self, event: QWheelEvent) -> None:
        turned = event.angleDelta().y()
        across = event.angleDelta().x()
        if turned:
            self.zoom(1.25 ** (turned / 120), self.v_of(event.position().x()))
        elif across:
            self._shift(-across / 120 * 0.1)
        event.accept()

    def _shift(self, share: float) -> None:
        start, end = self.view
        wide = end - start
        left = min(max(start + share * wide, 0.0), self.scale.length - wide)
        self.view = (left, left + wide)
        self._again()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._press, self._brushing = event.position().x(), False

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        x = event.position().x()
        if self._press is not None and (self._brushing or abs(x - self._press) > 4):
            self._brushing = True
            self.brush(self.v_of(self._press), self.v_of(x))
            return
        mark = self.mark_at(event.position())
        shape = Qt.CursorShape.PointingHandCursor if mark else Qt.CursorShape.CrossCursor
        self.setCursor(shape)
        self.setToolTip(self._tip(mark) if mark else "")

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if self._press is None or event.button() != Qt.MouseButton.LeftButton:
            return
        brushing, self._press = self._brushing, None
        if brushing:
            return
        mark = self.mark_at(event.position()) or self._nearest(self.v_of(event.position().x()))
        if mark is not None:
            self.jumped.emit(mark.at)

    def mark_at(self, at: QPointF) -> Mark | None:
        """The mark under a point, within 6 px."""
        for lane, marks in enumerate(self.scale.lanes):
            if abs(self.lane_y(lane) - at.y()) > 9:
                continue
            places = [m.v for m in marks]
            v = self.v_of(at.x())
            i = bisect_left(places, v)
            for mark in marks[max(i - 1, 0) : i + 1]:
                if abs(self.x_of(mark.v) - at.x()) <= 6:
                    return mark
        return None

    def _nearest(self, v: float) -> Mark | None:
        marks = (m for lane in self.scale.lanes for m in lane)
        return min(marks, key=lambda m: abs(m.v - v), default=None)

    def _tip(self, mark: Mark) -> str:
        when = self.scale.when(mark.v)
        time = tr("time unknown") if mark.hollow else clock(when) if when else ""
        return f"{tr(mark_of(mark.kind)[2])}, {time}" if time else tr(mark_of(mark.kind)[2])

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = {Qt.Key.Key_Right: 1, Qt.Key.Key_Left: -1}.get(Qt.Key(event.key()))
        if step is not None and not event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            found = self.next_mark(step, tuple(range(len(LANES))))
            if found >= 0:
                self.jumped.emit(found)
            return
        event.ignore()

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._still, self._lanes_at = None, None
        super().resizeEvent(event)

    def focusInEvent(self, event: object) -> None:
        self.update()

    def focusOutEvent(self, event: object) -> None:
        self.update()
