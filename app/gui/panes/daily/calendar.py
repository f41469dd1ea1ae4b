"""The calendar: a month (or, where there is little room, one week) in one paint.

Each day has its number, under it the count of its lines, and a tint by that count. Hit test by
index; the chosen day has the accent outline, today its number in accent.
"""

from __future__ import annotations

import logging
from datetime import date, timedelta

from PySide6.QtCore import QDate, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetricsF, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.gui.look.text import day, locale, number, plural, tr
from app.gui.look.theme import soft_outline, theme, token
from app.gui.look.type import font
from app.gui.widgets.paint import draw_text, focus_ring, rounded, smooth

log = logging.getLogger(__name__)
CELL, HEAD = 38, 26  # px: a day's side with its gap, the row of week days
MOST_TINT = 0.24
CENTER = Qt.AlignmentFlag.AlignHCenter


class Calendar(QWidget):
    """`chosen(date)` by click or arrows; `turned()` when another month is shown."""

    chosen = Signal(object)
    turned = Signal()

    def __init__(self, today: date, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.today = today
        self.month = today.replace(day=1)
        self.day: date | None = today
        self._counts: dict[date, int] = {}
        self._hover: date | None = None
        self._week = False
        self._settle()
        theme().changed.connect(self._settle)

    # ------------------------------------------------------------------ what it shows

    def set_counts(self, counts: dict[date, int]) -> None:
        self._counts = counts
        self.update()

    def set_today(self, today: date) -> None:
        self.today = today
        self.update()

    def set_day(self, of: date | None) -> None:
        """Choose a day (without a signal) and turn to its month."""
        self.day = of
        if of is not None and of.replace(day=1) != self.month:
            self.month = of.replace(day=1)
            self.turned.emit()
        self._settle()

    def set_week(self, on: bool) -> None:
        """One week instead of a month."""
        self._week = on
        self._settle()

    def turn(self, by: int) -> None:
        """Another month (or, in one week, the week after or before)."""
        if self._week and self.day is not None:
            self.chosen.emit(self.day + timedelta(days=7 * by))
            return
        months = self.month.year * 12 + self.month.month - 1 + by
        if 12 <= months < 12 * 9_999:
            self.month = date(months // 12, months % 12 + 1, 1)
            self._settle()
            self.turned.emit()

    def title(self) -> str:
        return locale().toString(QDate(self.month.year, self.month.month, 1), "MMMM yyyy")

    # ------------------------------------------------------------------ geometry

    def _first(self) -> date:
        """The first day of the first row; weeks begin as the locale says."""
        start = self.month
        if self._week:
            start = self.day or self.today
        begins = locale().firstDayOfWeek().value  # 1 is Monday
        back = (start.isoweekday() - begins) % 7
        return start - timedelta(days=min(back, start.toordinal() - 1))

    def rows(self) -> int:
        if self._week:
            return 1
        last = (self.month.replace(day=28) + timedelta(days=4)).replace(day=1) - timedelta(days=1)
        return (last - self._first()).days // 7 + 1

    def _settle(self) -> None:
        high = max(CELL, round(QFontMetricsF(font("body")).height() * 2 + 8))
        self._high = high
        self.setFixedHeight(HEAD + self.rows() * high + 2)
        self.setAccessibleName(tr("Calendar, {month}", month=self.title()))
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(268, self.height())

    def cell(self, of: date) -> QRectF:
        """Where a day stands."""
        n = (of - self._first()).days
        wide = self.width() / 7
        return QRectF(n % 7 * wide + 2, HEAD + n // 7 * self._high + 1, wide - 4, self._high - 3)

    def day_at(self, x: float, y: float) -> date | None:
        column, row = int(x // (self.width() / 7)), int((y - HEAD) // self._high)
        if y < HEAD or not 0 <= column < 7 or not 0 <= row < self.rows():
            return None
        of = self._first() + timedelta(days=row * 7 + column)
        return of if self._week or of.month == self.month.month else None

    # ------------------------------------------------------------------ painting

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = smooth(self)
        try:
            self._paint(painter)
        except Exception:
            log.exception("the calendar could not be painted")
        painter.end()

    def _paint(self, painter: QPainter) -> None:
        first = self._first()
        wide = self.width() / 7
        painter.setFont(font("tiny"))
        for column in range(7):
            name = locale().dayName((first + timedelta(days=column)).isoweekday(),
                                    locale().FormatType.NarrowFormat)  # fmt: skip
            draw_text(painter, QRectF(column * wide, 2, wide, 18), name, token("text_soft"), CENTER)
        for n in range(self.rows() * 7):
            of = first + timedelta(days=n)
            if self._week or of.month == self.month.month:
                self._paint_day(painter, of, self._counts.get(of, 0))
        if self.hasFocus() and self.day is not None and first <= self.day:
            inside = (self.day - first).days < self.rows() * 7
            if inside and (self._week or self.day.month == self.month.month):
                focus_ring(painter, self.cell(self.day).adjusted(-1, -1, 1, 1), 6)

    def _paint_day(self, painter: QPainter, of: date, count: int) -> None:
        box = self.cell(of)
        chosen = of == self.day
        if chosen:
            rounded(painter, box, 6, token("accent_soft"), token("accent"), 1.5)
        elif count:
            rounded(painter, box, 6, self._tint(count))
        elif of == self._hover:
            rounded(painter, box, 6, token("hover"))
        if of == self._hover and not chosen:
            rounded(painter, box, 6, None, token("line_strong"))
        strong = of == self.today or chosen
        ink = "accent" if of == self.today else "text" if count or chosen else "text_soft"
        painter.setFont(font("body", 600 if strong else 400, tabular=True))
        if not count:
            draw_text(painter, box, str(of.day), token(ink), CENTER)
            return
        half = box.height() / 2
        upper = QRectF(box.left(), box.top() + 2, box.width(), half)
        lower = QRectF(box.left(), box.top() + half - 1, box.width(), half - 1)
        draw_text(painter, upper, str(of.day), token(ink), CENTER)
        painter.setFont(font("tiny", 500, tabular=True))
        shown = number(count) if count < 1_000 else "999+"
        draw_text(painter, lower, shown, token("accent" if chosen else "ok"), CENTER)

    def _tint(self, count: int) -> QColor:
        if soft_outline():
            return token("raised")
        shade = token("kind_flush")
        shade.setAlphaF(min(0.05 + 0.017 * count, MOST_TINT))
        return shade

    # ------------------------------------------------------------------ pointer and keys

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        of = self.day_at(event.position().x(), event.position().y())
        if of != self._hover:
            self._hover = of
            lines = self._counts.get(of, 0) if of else 0
            tip = f"{day(of, self.today)}, {plural(lines, '{n} line', '{n} lines')}" if of else ""
            self.setToolTip(tip)
            self.update()

    def leaveEvent(self, event: object) -> None:
        self._hover = None
        self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        of = self.day_at(event.position().x(), event.position().y())
        if of is not None and event.button() == Qt.MouseButton.LeftButton:
            self.chosen.emit(of)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = {Qt.Key.Key_Up: -7, Qt.Key.Key_Down: 7}
        by = steps.get(Qt.Key(event.key()))
        if by is not None and self.day is not None:
            self.chosen.emit(self.day + timedelta(days=by))
        elif event.key() == Qt.Key.Key_PageUp:
            self.turn(-1)
        elif event.key() == Qt.Key.Key_PageDown:
            self.turn(1)
        else:
            event.ignore()

    def focusInEvent(self, event: object) -> None:
        self.update()

    def focusOutEvent(self, event: object) -> None:
        self.update()
