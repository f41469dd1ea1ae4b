"""AGENTS.md: an editor with Save. What somebody else wrote meanwhile is not overwritten unasked."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QPalette, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QPlainTextEdit, QVBoxLayout, QWidget

from app.gui.look.text import plural, tr
from app.gui.look.theme import theme, token
from app.gui.look.type import code_font
from app.gui.widgets.buttons import Button
from app.gui.widgets.labels import T
from app.gui.widgets.raw_field import raw_text
from app.gui.widgets.surfaces import Ground

LONGEST_LINE = 10_000  # a longer line would freeze the editor: such a file is shown elsewhere


class AgentsPage(QWidget):
    """`save_wanted(text)`; `base` is the file's text as it was read."""

    save_wanted = Signal(str)

    def __init__(self, sentence: str) -> None:
        super().__init__()
        self.base = ""
        self.edit = QPlainTextEdit()
        self.edit.setAccessibleName("AGENTS.md")
        self.edit.setPlaceholderText(
            tr("You are a helpful agent with a memory. Answer in the language you were asked in.")
        )
        self.edit.setFrameShape(QPlainTextEdit.Shape.NoFrame)
        self.edit.setTabChangesFocus(True)
        self.edit.document().setDocumentMargin(10)
        self.edit.textChanged.connect(self._on_edited)
        ground = Ground("sunken", radius=8)
        inner = QVBoxLayout(ground)
        inner.setContentsMargins(4, 4, 4, 4)
        inner.addWidget(self.edit)
        self.save = Button(tr("Save"), "primary", key="Ctrl+S", height=30)
        self.save.clicked.connect(self.ask_save)
        self.back = Button(tr("Take back"), "quiet")
        self.back.clicked.connect(lambda: self.show_text(self.base))
        self.state = T("", "small", "text_faint")
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(self.save)
        row.addWidget(self.back)
        row.addWidget(self.state, 1)
        self.box = box = QVBoxLayout(self)
        box.setContentsMargins(32, 2, 24, 20)
        box.setSpacing(12)
        box.addWidget(T(sentence, "body", "text_soft", wrap=True))
        box.addWidget(ground, 1)
        box.addLayout(row)
        self.setMaximumWidth(760)
        self._dress()
        theme().changed.connect(self._dress)
        self._on_edited()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.box.setContentsMargins(16 if self.window().width() < 1000 else 32, 2, 24, 20)

    def _dress(self) -> None:
        self.edit.setFont(code_font("read"))
        palette = self.edit.palette()
        palette.setColor(QPalette.ColorRole.Base, Qt.GlobalColor.transparent)
        palette.setColor(QPalette.ColorRole.Text, token("text"))
        self.edit.setPalette(palette)

    def text(self) -> str:
        return raw_text(self.edit)

    def is_edited(self) -> bool:
        return self.text() != self.base

    def show_text(self, text: str) -> None:
        """The file's text. What a person has typed and not saved stays."""
        if any(len(line) > LONGEST_LINE for line in text.split("\n")):
            self.edit.setReadOnly(True)
            self.state.setText(tr("A line is too long for this editor; use another one."))
            return
        self.base = text
        if self.text() != text:
            place = self.edit.textCursor().position()
            self.edit.setPlainText(text)
            cursor = self.edit.textCursor()
            cursor.setPosition(min(place, len(text)))
            self.edit.setTextCursor(cursor)
        self._on_edited()

    def follow(self, text: str) -> None:
        """The file changed on the disk: show it, unless something is typed here."""
        if not self.is_edited():
            self.show_text(text)

    def ask_save(self) -> None:
        if self.is_edited():
            self.save_wanted.emit(self.text())

    def _on_edited(self) -> None:
        edited = self.is_edited()
        self.save.set_off("" if edited else tr("Nothing is changed"))
        self.back.setVisible(edited)
        words = len(self.text().split())
        counted = plural(words, "{n} word", "{n} words")
        self.state.setText(tr("not saved yet") if edited else counted)
