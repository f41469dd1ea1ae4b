"""MEMORY.md as raw text to be edited in place. What was typed is kept until it is saved or left."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.gui.look.text import tr
from app.gui.look.theme import theme, token
from app.gui.look.type import code_font
from app.gui.widgets.finding import Finding
from app.gui.widgets.raw_field import RawField

LONGEST = 10_000  # characters of one line; Qt's wrapping of longer ones stops the window


class Editor(QWidget):
    """`base` is the hash of the text that editing began with."""

    saved = Signal()
    left = Signal()
    edited = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.base = ""
        self._before = ""
        self._crlf = False
        self.field = _Field()
        self.finding = Finding(self.field)
        self.field.save_wanted.connect(self.saved)
        self.field.left.connect(self.left)
        self.field.textChanged.connect(self.edited)
        box = QVBoxLayout(self)
        box.setContentsMargins(24, 0, 12, 8)
        box.addWidget(self.field)

    @staticmethod
    def refuses(text: str) -> str:
        """Why this text is not edited here, "" when it can be."""
        if any(len(line) > LONGEST for line in text.split("\n")):
            return tr("A line of MEMORY.md is too long to be edited here.")
        if "\u2029" in text or "\x00" in text:
            return tr("MEMORY.md holds characters that a text field would change.")
        return ""

    def begin(self, text: str, base: str, line: int = 0) -> None:
        """Start on `text`, with the cursor in `line` (1-based)."""
        self._crlf = "\r\n" in text
        self._before = text
        self.base = base
        self.field.setPlainText(text.replace("\r\n", "\n"))
        block = self.field.document().findBlockByNumber(max(line - 1, 0))
        cursor = self.field.textCursor()
        cursor.setPosition(block.position() if block.isValid() else 0)
        self.field.setTextCursor(cursor)
        self.field.ensureCursorVisible()
        self.field.setFocus()

    def rest_on(self, text: str, base: str) -> None:
        """That was saved; what is typed since goes on from it."""
        self._before, self.base = text, base

    def text(self) -> str:
        """What stands in the field, with the file's own line ends."""
        now = self.field.words()
        return now.replace("\n", "\r\n") if self._crlf else now

    def touched(self) -> bool:
        return self.text() != self._before


class _Field(RawField):
    def __init__(self) -> None:
        super().__init__(tr("MEMORY.md, raw text"))
        self._dress()
        theme().changed.connect(self._dress)

    def _dress(self) -> None:
        self.setFont(code_font("read"))
        palette = QPalette(self.palette())
        palette.setColor(QPalette.ColorRole.Base, token("canvas"))
        palette.setColor(QPalette.ColorRole.Text, token("text"))
        self.setPalette(palette)
