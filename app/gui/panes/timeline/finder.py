"""Find in this transcript: a field, a count, and the hits among the items that are loaded."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QWidget

from app.engine.records import TranscriptItem
from app.gui.look.text import number, tr
from app.gui.look.theme import theme, token
from app.gui.panes.timeline.ink import Laid
from app.gui.panes.timeline.prose import units
from app.gui.widgets.buttons import IconButton
from app.gui.widgets.fields import Field
from app.gui.widgets.labels import T


def hits_in(items: Sequence[TranscriptItem], needle: str) -> list[int]:
    """Places of the items that hold `needle`, not case sensitive."""
    wanted = needle.casefold()
    if not wanted.strip():
        return []
    return [i for i, item in enumerate(items) if wanted in _text(item).casefold()]


def _text(item: TranscriptItem) -> str:
    if item.kind == "tool":
        return f"{item.tool}\n{item.arguments}\n{item.result or ''}"
    return f"{item.text}\n{item.reasoning}"


def marks_in(laid: Laid, needle: str, current: bool) -> dict[int, list[tuple[int, int, QColor]]]:
    """Stretches to mark in a laid-out block, by part, in UTF-16 units."""
    wanted = needle.casefold()
    out: dict[int, list[tuple[int, int, QColor]]] = {}
    if not wanted.strip():
        return out
    ground = token("hit")
    if current:
        dark = theme().scheme == "dark"
        ground = ground.lighter(130) if dark else ground.darker(112)
    for text in laid.texts:
        shown = text.prose.text
        low = shown.casefold()
        if len(low) != len(shown):
            low = shown.lower()
        at = low.find(wanted)
        found: list[tuple[int, int, QColor]] = []
        while at >= 0 and len(found) < 500:
            start = units(shown[:at])
            found.append((start, start + units(shown[at : at + len(wanted)]), ground))
            at = low.find(wanted, at + max(len(wanted), 1))
        if found:
            out[text.source] = found
    return out


class FindBar(QWidget):
    """The bar: `wanted(needle)`, `walked(±1)`, `closed()`."""

    wanted = Signal(str)
    walked = Signal(int)
    closed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.field = Field(tr("Find in this session"), tr("Find in this session"), icon="search")
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
        """(current from 1, all); not `whole` says that older entries were not looked through."""
        if not self.field.text().strip():
            self.count.setText("")
            return
        said = tr("{a} of {b}", a=number(at), b=number(of)) if of else tr("No hits")
        self.count.setText(said if whole else tr("{said}, newest entries", said=said))

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
