"""Parts of the timeline's page: the list's side, and the line that tells a brushed range."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app.gui.look.text import tr
from app.gui.widgets.fields import Field
from app.gui.widgets.labels import IconLabel, Link, T
from app.gui.widgets.paint import smooth, soft_ground
from app.gui.widgets.pane import PaneHead
from app.gui.widgets.rows import RowList

LIST_WIDTH = 272


class SessionSide(QWidget):
    """The sessions: a field that filters them, and their list."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.head = PaneHead(tr("Timeline"), margin=20)
        self.filter = Field(tr("Filter sessions"), tr("Filter sessions"), icon="search")
        self.filter.setClearButtonEnabled(True)
        self.list = RowList(tr("Sessions"), lines=2)
        self.none = T(tr("No session has these words."), "small", "text_faint", wrap=True)
        self.none.setContentsMargins(20, 12, 20, 0)
        self.none.hide()
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(0)
        box.addWidget(self.head)
        row = QHBoxLayout()
        row.setContentsMargins(12, 0, 12, 6)
        row.addWidget(self.filter)
        box.addLayout(row)
        box.addWidget(self.none)
        box.addWidget(self.list, 1)
        self.setMinimumWidth(200)
        self.setMaximumWidth(420)


class RangeLine(QWidget):
    """A brushed range in words, with Clear."""

    cleared = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.words = T("", "small", "accent", weight=500, elide="right")
        clear = Link(tr("Clear"), key="Esc")
        clear.clicked.connect(self.cleared)
        row = QHBoxLayout(self)
        row.setContentsMargins(24, 0, 16, 0)
        row.setSpacing(9)
        row.addWidget(IconLabel("scan", 14, "accent"))
        row.addWidget(self.words, 1)
        row.addWidget(clear)
        self.setFixedHeight(30)
        self.hide()

    def show_words(self, text: str) -> None:
        self.words.setText(text)
        self.setAccessibleName(text)
        self.setVisible(bool(text))

    def paintEvent(self, event: object) -> None:
        painter = smooth(self)
        soft_ground(painter, QRectF(self.rect()))
        painter.end()
