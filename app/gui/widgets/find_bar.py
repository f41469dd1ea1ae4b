"""The bar of find-in-page: a field, a count, and the way from hit to hit."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QWidget

from app.gui.look.text import number, tr
from app.gui.widgets.buttons import IconButton
from app.gui.widgets.fields import Field
from app.gui.widgets.labels import T


class FindBar(QWidget):
    """The bar: `wanted(needle)`, `walked(±1)`, `closed()`."""

    wanted = Signal(str)
    walked = Signal(int)
    closed = Signal()

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.field = Field(name, name, icon="search")
        self.count = T("", "small", "text_faint", tabular=True)
        self.count.setMinimumWidth(110)
        before = IconButton("chevron-up", tr("Previous hit"), key="Shift+N")
        after = IconButton("chevron-down", tr("Next hit"), key="N")
        close = IconButton("x", tr("Close"), key="Esc")
        row = QHBoxLayout(self)
        row.setContentsMargins(24, 4, 20, 8)
        row.setSpacing(6)
        row.addWidget(self.field, 1)
        row.addSpacing(6)
        row.addWidget(self.count)
        for button in (before, after, close):
            row.addWidget(button)
        before.clicked.connect(lambda: self.walked.emit(-1))
        after.clicked.connect(lambda: self.walked.emit(1))
        close.clicked.connect(self.closed)
        self.field.textChanged.connect(self.wanted)
        self.field.installEventFilter(self)
        self.hide()

    def show_count(self, at: int, of: int, *, whole: bool) -> None:
        """(current from 1, all); not `whole` says that not all entries were looked through."""
        if not self.field.text().strip():
            self.count.setText("")
            return
        said = tr("{a} of {b}", a=number(at), b=number(of)) if of else tr("No hits")
        self.count.setText(said if whole else tr("{said} around here", said=said))

    def eventFilter(self, watched: object, event: object) -> bool:
        if watched is self.field and isinstance(event, QKeyEvent):
            if event.type() != QKeyEvent.Type.KeyPress:
                return False
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                back = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
                self.walked.emit(-1 if back else 1)
                return True
            if event.key() == Qt.Key.Key_Escape:
                self.closed.emit()
                return True
        return False
