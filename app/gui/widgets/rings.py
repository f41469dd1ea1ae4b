"""What runs: the turning ring, its one clock, and quiet bars where rows will be."""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtCore import (
    QCoreApplication,
    QElapsedTimer,
    QObject,
    QPointF,
    QRectF,
    QSize,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import QColor, QPainter, QPen
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QWidget

from app.gui.look.text import seconds
from app.gui.look.theme import theme, token
from app.gui.widgets.labels import T
from app.gui.widgets.paint import rounded, smooth

LATE = 150  # ms below which loading shows nothing


class _Clock(QObject):
    """Ticks 25 times a second while somebody listens; one turn a second."""

    ticked = Signal()

    def __init__(self) -> None:
        super().__init__(QCoreApplication.instance())
        self._timer = QTimer(self)
        self._timer.setInterval(40)
        self._timer.timeout.connect(self._on_tick)
        self._since = QElapsedTimer()
        self._since.start()

    def connectNotify(self, signal: object) -> None:
        self._timer.start()

    def _on_tick(self) -> None:
        if self.receivers("2ticked()") == 0:
            self._timer.stop()
            return
        if not theme().still:
            self.ticked.emit()

    def angle(self) -> float:
        """Degrees of the moment."""
        return (self._since.elapsed() % 1_000) * 0.36


@lru_cache(maxsize=1)
def ring_clock() -> _Clock:
    return _Clock()


def paint_ring(painter: QPainter, center: QPointF, radius: float, color: QColor) -> None:
    """The turning ring; a still dashed circle for people who want no motion."""
    pen = QPen(color, 1.6)
    pen.setCapStyle(Qt.PenCapStyle.RoundCap)
    box = QRectF(center.x() - radius, center.y() - radius, 2 * radius, 2 * radius)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    if theme().still:
        pen.setDashPattern([1.6, 2.2])
        painter.setPen(pen)
        painter.drawEllipse(box)
        return
    painter.setPen(pen)
    painter.drawArc(box, round(-ring_clock().angle() * 16), 270 * 16)


class RunningRing(QWidget):
    """A ring of 14 px that turns while it can be seen."""

    def __init__(
        self, color: str = "accent", side: int = 14, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._color = color
        self.setFixedSize(side, side)
        ring_clock().ticked.connect(self.update)

    def paintEvent(self, event: object) -> None:
        painter = smooth(self)
        center = QRectF(self.rect()).center()
        paint_ring(painter, center, self.width() / 2 - 1.2, token(self._color))
        painter.end()


class Working(QWidget):
    """Ring, word and seconds elapsed; "running 8 s"."""

    def __init__(self, text: str, color: str = "accent", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.text = T(text, "small", "text_soft", tabular=True)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        row.addWidget(RunningRing(color))
        row.addWidget(self.text)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._word = text
        self._since = QElapsedTimer()
        self._since.start()
        self._timer = QTimer(self)
        self._timer.setInterval(1_000)
        self._timer.timeout.connect(self._on_second)
        self._timer.start()

    def set_word(self, text: str) -> None:
        self._word = text
        self._on_second()

    def restart(self) -> None:
        self._since.restart()
        self._on_second()

    def _on_second(self) -> None:
        passed = self._since.elapsed() // 1_000
        self.text.setText(f"{self._word}  {seconds(passed)}" if passed else self._word)


class Loading(QWidget):
    """Quiet bars where rows will be; nothing in the first 150 ms, a word after 1 s."""

    def __init__(self, word: str = "", rows: int = 4, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows = rows
        self._word = word
        self._state = 0
        self._late = QTimer(self, singleShot=True, interval=LATE)
        self._late.timeout.connect(lambda: self._to(1))
        self._later = QTimer(self, singleShot=True, interval=1_000)
        self._later.timeout.connect(lambda: self._to(2))

    def _to(self, state: int) -> None:
        self._state = state
        self.update()

    def showEvent(self, event: object) -> None:
        self._to(0)
        self._late.start()
        self._later.start()

    def hideEvent(self, event: object) -> None:
        self._late.stop()
        self._later.stop()

    def sizeHint(self) -> QSize:
        return QSize(240, self._rows * 34 + 24)

    def paintEvent(self, event: object) -> None:
        if not self._state:
            return
        painter = smooth(self)
        shares = (0.72, 0.9, 0.58, 0.8, 0.66)
        width = min(self.width() - 24, 300)
        y = 10.0
        if self._state == 2 and self._word:
            from app.gui.look.type import font

            painter.setFont(font("small"))
            painter.setPen(token("text_faint"))
            painter.drawText(QPointF(12, y + 10), self._word)
            y += 26
        for i in range(self._rows):
            share = shares[i % len(shares)]
            rounded(painter, QRectF(12, y, width * share, 10), 5, token("hover"))
            rounded(painter, QRectF(12, y + 15, width * share * 0.5, 7), 3.5, token("side"))
            y += 34
        painter.end()
