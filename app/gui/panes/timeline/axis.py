"""The axis: one lane per kind, zoomed and brushed, with the playhead of the transcript.

Where everything is, and what pointer and keys do with it; `axis_ink` paints it. Lanes are painted
once into a pixmap; band and playhead lie over it.
"""

from __future__ import annotations

import logging
from bisect import bisect_left, bisect_right

from PySide6.QtCore import QPointF, QSize, Qt, Signal
from PySide6.QtGui import (
    QFontMetricsF,
    QKeyEvent,
    QMouseEvent,
    QPaintEvent,
    QPixmap,
    QResizeEvent,
    QWheelEvent,
)  # fmt: skip
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.gui.look.text import clock, tr
from app.gui.look.theme import theme
from app.gui.look.type import font
from app.gui.panes.timeline.axis_ink import WORDS, AxisInk
from app.gui.panes.timeline.scale import LANES, Mark, Scale
from app.gui.widgets.marks import mark_of
from app.gui.widgets.paint import smooth

log = logging.getLogger(__name__)
HEIGHT, FOLDED = 146, 46
TOP, STEP = 30, 19  # px: first lane's middle, lane to lane
CLOSEST = 2.0  # kept seconds that the whole width shows at most zoom
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
        self.folded = False
        self._still: QPixmap | None = None
        self._lanes_at: float | None = None
        self._press: float | None = None
        self._brushing = False
        self.step = STEP
        self._ink = AxisInk(self)
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
        if on != self.folded:
            self.folded = on
            self._again()

    def set_head(self, item: int) -> None:
        """Put the playhead at an item."""
        if 0 <= item < len(self.scale.places):
            self.head = self.scale.places[item]
            self.update()

    def _again(self) -> None:
        """Size, font or content changed: draw the still parts anew."""
        self.step = max(STEP, round(QFontMetricsF(font("small")).height() + 2))
        self.setFixedHeight(FOLDED if self.folded else HEIGHT + 5 * (self.step - STEP))
        self._still = None
        self._lanes_at = None
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(400, self.height())

    # ------------------------------------------------------------------ geometry

    def left(self) -> float:
        if self._lanes_at is None:
            self._lanes_at = self._lanes_left()
        return self._lanes_at

    def _lanes_left(self) -> float:
        """Where the lanes begin, right of their names; asked once per size and font."""
        margin = 24.0 if self.window().width() >= 1000 else 16.0
        if self.folded:
            return margin
        wide = max(QFontMetricsF(font("small")).horizontalAdvance(tr(w)) for w in WORDS)
        return margin + 26 + wide + 16 if self.width() > 480 else margin + 26

    def span(self) -> float:
        return max(self.width() - self.left() - 24.0, 40.0)

    def x_of(self, v: float) -> float:
        start, end = self.view
        return self.left() + (v - start) / max(end - start, 1e-6) * self.span()

    def v_of(self, x: float) -> float:
        start, end = self.view
        share = (x - self.left()) / self.span()
        return min(max(start + share * (end - start), 0.0), self.scale.length)

    def lane_y(self, lane: int) -> float:
        return 28.0 if self.folded else float(TOP + lane * self.step)

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
                self._still = self._ink.still(ratio)
            painter.drawPixmap(0, 0, self._still)
            self._ink.draw_over(painter)
        except Exception:
            log.exception("the axis could not be painted")
        painter.end()

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
