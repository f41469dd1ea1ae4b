"""F1: the keys of the place in front, then those of the whole window."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QFrame, QGridLayout, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from app.gui.look.text import tr
from app.gui.look.theme import token
from app.gui.widgets.action import Action
from app.gui.widgets.buttons import IconButton
from app.gui.widgets.dialogs import Overlay
from app.gui.widgets.labels import IconLabel, KeyCaps, T

IN_LISTS = (
    (("J", "K"), "Next and previous row"),
    (("Enter",), "Open the row"),
    (("Esc",), "Close or cancel"),
)


class KeysSheet(Overlay):
    """A sheet of two columns; scrolls when the window is small. `typed` is what can be typed in
    the place, and what it means."""

    def __init__(
        self, window: QWidget, place: str, actions: Sequence[Action],
        typed: Sequence[tuple[str, str]] = (),
    ) -> None:  # fmt: skip
        super().__init__(window, 820, 56)
        self.setAccessibleName(tr("Keys"))
        head = QHBoxLayout()
        head.addWidget(T(tr("Keys"), "title"), 1)
        close = IconButton("x", tr("Close"), key="Esc")
        close.clicked.connect(self.close_sheet)
        head.addWidget(close)
        self.box.addLayout(head)
        inner = QWidget()
        columns = QHBoxLayout(inner)
        columns.setContentsMargins(0, 0, 8, 0)
        columns.setSpacing(40)
        own = [a for a in actions if a.place and a.keys]
        whole = [a for a in actions if not a.place and a.keys]
        here = self._column(place, own, lists=True)
        if typed:
            here.insertLayout(here.count() - 1, self._typed(typed))
        columns.addLayout(here, 1)
        columns.addLayout(self._column(tr("Everywhere"), whole), 1)
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setAccessibleName(tr("Keys"))
        for widget in (area, area.viewport(), inner):
            palette = QPalette(widget.palette())
            palette.setColor(QPalette.ColorRole.Window, token("raised"))
            widget.setPalette(palette)
        area.setWidget(inner)
        area.setMinimumHeight(min(inner.sizeHint().height() + 4, 560))
        self.box.addWidget(area, 1)
        self._area = area

    def start(self) -> None:
        self.open(self._area)

    def _column(self, title: str, actions: Sequence[Action], lists: bool = False) -> QVBoxLayout:
        box = QVBoxLayout()
        box.setSpacing(8)
        box.addWidget(T(title, "small", "text_soft", weight=600))
        grid = QGridLayout()
        grid.setHorizontalSpacing(10)
        grid.setVerticalSpacing(6)
        grid.setColumnStretch(1, 1)
        row = 0
        for action in actions:
            self._row(grid, row, action.icon, action.title, action.keys)
            row += 1
        if lists:
            for keys, words in IN_LISTS:
                self._row(grid, row, "list", tr(words), keys)
                row += 1
        box.addLayout(grid)
        box.addStretch(1)
        return box

    @staticmethod
    def _typed(typed: Sequence[tuple[str, str]]) -> QGridLayout:
        grid = QGridLayout()
        grid.setContentsMargins(0, 12, 0, 0)
        grid.setHorizontalSpacing(10)
        grid.setVerticalSpacing(6)
        grid.setColumnStretch(1, 1)
        grid.addWidget(T(tr("What can be typed"), "small", "text_soft", weight=600), 0, 0, 1, 2)
        for row, (sample, means) in enumerate(typed, 1):
            grid.addWidget(T(sample, "code"), row, 0)
            grid.addWidget(T(means, "body", elide="right"), row, 1)
        return grid

    @staticmethod
    def _row(grid: QGridLayout, row: int, icon: str, title: str, keys: Sequence[str]) -> None:
        grid.addWidget(IconLabel(icon, 14), row, 0)
        grid.addWidget(T(title, "body", elide="right"), row, 1)
        caps = QHBoxLayout()
        caps.setSpacing(8)
        caps.addStretch(1)
        for key in keys[: 2 if len(keys[0]) == 1 else 1]:
            caps.addWidget(KeyCaps(key))
        grid.addLayout(caps, row, 2, Qt.AlignmentFlag.AlignRight)
