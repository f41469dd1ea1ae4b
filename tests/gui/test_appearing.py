"""A window comes as it was left, and no part of it lies off the screen."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QRect
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.gui.window.appearing import appear, within

AREA = QRect(0, 30, 1280, 770)  # below a panel


@pytest.mark.parametrize(
    ("frame", "wanted"),
    [
        (QRect(100, 100, 900, 640), QRect(100, 100, 900, 640)),
        (QRect(0, 0, 1284, 830), AREA),
        (QRect(900, 600, 900, 640), QRect(380, 160, 900, 640)),
        (QRect(-50, 10, 900, 640), QRect(0, 30, 900, 640)),
    ],
)
def test_a_frame_that_does_not_fit_is_moved_then_made_smaller(frame: QRect, wanted: QRect) -> None:
    assert within(frame, AREA) == wanted


@pytest.mark.parametrize("maximized", [True, False])
def test_a_window_that_was_maximized_is_so_again(qtbot: QtBot, maximized: bool) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    appear(window, maximized=maximized)
    assert window.isVisible()
    assert window.isMaximized() == maximized
