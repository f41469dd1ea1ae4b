"""How a window comes onto the screen: as it was left, and with all of it to be seen."""

from __future__ import annotations

from PySide6.QtCore import QRect, QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

FRAMED = 200  # ms after which a window manager has put its frame around a new window


def appear(window: QWidget, *, maximized: bool) -> None:
    """Show a window for the first time."""
    if maximized:
        window.showMaximized()
        return
    window.show()
    if QGuiApplication.platformName() != "offscreen":  # that one's screen is made up
        QTimer.singleShot(FRAMED, window, lambda: _keep_within(window))


def _keep_within(window: QWidget) -> None:
    if window.isMaximized() or window.isFullScreen():
        return
    frame, area = window.frameGeometry(), window.screen().availableGeometry()
    wanted = within(frame, area)
    if wanted != frame:
        window.resize(window.size() - (frame.size() - wanted.size()))
        window.move(wanted.topLeft())


def within(frame: QRect, area: QRect) -> QRect:
    """The part of the screen that is nearest to `frame` and not outside `area`, no larger."""
    size = frame.size().boundedTo(area.size())
    left = min(max(frame.left(), area.left()), area.right() + 1 - size.width())
    top = min(max(frame.top(), area.top()), area.bottom() + 1 - size.height())
    return QRect(left, top, size.width(), size.height())
