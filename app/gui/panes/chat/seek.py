"""Find in this session: what is loaded of it, newest hit first, its words marked."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QWidget

from app.engine.records import TranscriptItem
from app.gui.look.text import number, tr
from app.gui.panes.chat.model import shown
from app.gui.panes.chat.transcript import TranscriptView
from app.gui.widgets.buttons import IconButton
from app.gui.widgets.fields import Field
from app.gui.widgets.finding import Finding
from app.gui.widgets.labels import Link, T


def hits(items: Sequence[TranscriptItem], needle: str) -> list[str]:
    """Ids of items whose words hold `needle`, whatever its case, newest first."""
    wanted = needle.casefold()
    if not wanted.strip():
        return []
    return [
        item.id
        for item in reversed(items)
        if shown(item)
        and any(
            wanted in text.casefold() for text in (item.text, item.arguments, item.result or "")
        )
    ]


class FindBar(QWidget):
    """The field, how many there are, next and previous. `everywhere(str)` searches all places."""

    everywhere = Signal(str)
    closed = Signal()

    def __init__(self, view: TranscriptView, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._view = view
        self._items: Sequence[TranscriptItem] = ()
        self._hits: list[str] = []
        self._at = -1
        self.field = Field(tr("Find in this session"), tr("Find in this session"), icon="search")
        self.count = T("", "small", "text_soft", tabular=True)
        older = IconButton("chevron-up", tr("Older hit"), key="Enter")
        newer = IconButton("chevron-down", tr("Newer hit"), key="Shift+Enter")
        close = IconButton("x", tr("Close the search"), key="Esc")
        all_places = Link(tr("Search everywhere"))
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 4, 0, 8)
        row.setSpacing(6)
        self.field.setMaximumWidth(300)
        row.addWidget(self.field, 1)
        row.addWidget(self.count)
        row.addWidget(older)
        row.addWidget(newer)
        row.addStretch(1)
        row.addWidget(all_places)
        row.addWidget(close)
        self.field.textChanged.connect(self.look)
        older.clicked.connect(lambda: self.walk(1))
        newer.clicked.connect(lambda: self.walk(-1))
        close.clicked.connect(self.close_bar)
        all_places.clicked.connect(lambda: self.everywhere.emit(self.field.text()))
        self.hide()

    def begin(self, items: Sequence[TranscriptItem], needle: str = "") -> None:
        """Open with `needle`, or with what was looked for last."""
        self._items = items
        self.show()
        if needle and needle != self.field.text():
            self.field.setText(needle)
        else:
            self.look()
        self.field.selectAll()
        self.field.setFocus()

    def look(self, _: str = "") -> None:
        self._hits = hits(self._items, self.field.text())
        self._at = 0 if self._hits else -1
        self._show()

    def walk(self, by: int) -> None:
        """To the next older (1) or newer (-1) hit."""
        if self._hits:
            self._at = (self._at + by) % len(self._hits)
            self._show()

    def _show(self) -> None:
        asked = bool(self.field.text().strip())
        of = tr("{n} of {m}", n=number(self._at + 1), m=number(len(self._hits)))
        self.count.setText(of if self._hits else tr("not in what is loaded") if asked else "")
        if not self._hits:
            return
        key = self._hits[self._at]
        if self._view.reveal(key):
            self._mark(key)

    def _mark(self, key: str) -> None:
        row = self._view.row(key)
        if row is None:
            return
        row.unfold()
        for widget in row.findChildren(QWidget):
            finding = getattr(widget, "finding", None)
            if isinstance(finding, Finding):
                finding.find(self.field.text())

    def close_bar(self) -> None:
        self.hide()
        for row in self._view.rows():
            for widget in row.findChildren(QWidget):
                finding = getattr(widget, "finding", None)
                if isinstance(finding, Finding) and finding.needle:
                    finding.clear()
        self.closed.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.close_bar()
            return
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            back = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
            self.walk(-1 if back else 1)
            return
        super().keyPressEvent(event)
