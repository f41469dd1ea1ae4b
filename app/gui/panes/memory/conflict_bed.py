"""The row where a person chooses what a conflict becomes: "Will be written", and the choices."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QWidget

from app.engine.records import Change
from app.gui.look.text import tr
from app.gui.panes.memory.conflicts import Choice, choices
from app.gui.widgets.buttons import SegmentSwitch
from app.gui.widgets.labels import T

KEYS = {"now": "1", "theirs": "2", "both": "3", "neither": "4", "own": "E"}


class ConflictBed(QWidget):
    """`chosen(choice)`; nothing is decided by it."""

    chosen = Signal(str)

    def __init__(self, change: Change, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        found = choices(change)
        self.switch = SegmentSwitch(found, name=tr("Will be written"))
        for key, _ in found:
            self.switch.set_tip(key, tr("Key {key}", key=KEYS[key]))
        self.switch.chosen.connect(self.chosen)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        self._label = T(tr("Will be written"), "small", weight=600)
        row.addWidget(self._label)
        row.addStretch(1)
        row.addWidget(self.switch)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The choices are never cut for the sake of their label: the switch bears its name too."""
        super().resizeEvent(event)
        needed = self.switch.sizeHint().width() + self._label.sizeHint().width() + 16
        self._label.setVisible(needed <= self.width())

    def show_choice(self, choice: Choice) -> None:
        """Mark what is chosen; "both" in either order is one segment."""
        self.switch.set_current("both" if choice == "swapped" else choice)
