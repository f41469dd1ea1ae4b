"""Where the parts of the chat place stand: all of them in line with the transcript's column."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app.gui.panes.chat.transcript import WIDEST


def talking(finder: QWidget, middle: QWidget, foot: QWidget) -> QWidget:
    """A conversation: find on top, the transcript, and what the person writes."""
    out = QWidget()
    box = QVBoxLayout(out)
    box.setContentsMargins(0, 0, 0, 0)
    box.setSpacing(0)
    box.addWidget(in_column(finder))
    box.addWidget(middle, 1)
    box.addWidget(in_column(foot, low=16))
    return out


def in_column(widget: QWidget, low: int = 0) -> QWidget:
    """`widget` in the middle, as wide as the column; `low` px are left below it."""
    out = QWidget()
    row = QHBoxLayout(out)
    row.setContentsMargins(16, 0, 16, low)
    widget.setMaximumWidth(WIDEST)
    row.addWidget(widget)
    return out
