"""The two halves of a review: changes and result, side by side or turns of a switch when narrow."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.gui.look.theme import theme
from app.gui.widgets.surfaces import Splitter

NARROW = 1040  # px of the window below which one half is shown, with text of the usual size
LARGE = 1600  # px of the window from which the result may take half


def is_narrow(window: QWidget, least: int = NARROW) -> bool:
    """Whether a window has not even `least` px of width; larger text needs more of them."""
    return window.width() < least * max(theme().zoom, 1.0)


class Halves(QWidget):
    """`turned(half)`: "changes" or "result" is shown now."""

    turned = Signal(str)

    def __init__(self, left: QWidget, right: QWidget) -> None:
        super().__init__()
        self.left, self.right = left, right
        self.narrow = False
        self._half = "changes"
        self._sized = 0
        self._splitter = Splitter(Qt.Orientation.Horizontal)
        self._splitter.addWidget(left)
        self._splitter.addWidget(right)
        self._splitter.setStretchFactor(0, 3)
        self._splitter.setStretchFactor(1, 2)
        theme().changed.connect(self._fold)
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.addWidget(self._splitter)

    def show_half(self, half: str) -> None:
        self._half = half
        self.left.setVisible(not self.narrow or half == "changes")
        self.right.setVisible(not self.narrow or half == "result")
        self.turned.emit(half)

    def turn(self) -> None:
        self.show_half("result" if self._half == "changes" else "changes")

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fold()

    def _fold(self) -> None:
        narrow = is_narrow(self.window())
        if narrow != self.narrow:
            self.narrow = narrow
            self.show_half(self._half if narrow else "changes")
        wide = self.width()
        if not narrow and wide != self._sized:
            self._sized = wide
            share = 0.5 if self.window().width() > LARGE else 0.39
            right = max(round(wide * share), 360)
            self._splitter.setSizes([max(wide - right, 460), right])
