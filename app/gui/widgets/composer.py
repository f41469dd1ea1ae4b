"""Where a person writes: Enter sends (never during composition), Shift+Enter makes a line.

With its foot it is two lines tall at first; the field grows to 8 lines, then scrolls. The
text is the person's: it is cleared only by `clear()`, never by sending alone.
"""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QInputMethodEvent, QKeyEvent, QPaintEvent, QPalette
from PySide6.QtWidgets import QHBoxLayout, QPlainTextEdit, QSizePolicy, QVBoxLayout, QWidget

from app.gui.look.theme import theme, token
from app.gui.look.type import font, line_step
from app.gui.widgets.paint import rounded, smooth

LEAST, MOST = 1, 8


class WritingField(QPlainTextEdit):
    """The text field of a composer."""

    sent = Signal()
    focus_changed = Signal()

    def __init__(self, name: str, placeholder: str, least: int, most: int) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self.setPlaceholderText(placeholder)
        self.setFrameShape(QPlainTextEdit.Shape.NoFrame)
        self.setTabChangesFocus(True)
        self.document().setDocumentMargin(0)
        self.viewport().setAutoFillBackground(False)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._lines = (least, most)
        self._composing = False
        self._dress()
        self.textChanged.connect(self._fit)
        theme().changed.connect(self._dress)

    def composing(self) -> bool:
        """Whether an input method holds unfinished text."""
        return self._composing

    def inputMethodEvent(self, event: QInputMethodEvent) -> None:
        self._composing = bool(event.preeditString())
        super().inputMethodEvent(event)
        self._fit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            mods = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
            if self._composing:
                event.accept()
                return
            if mods == Qt.KeyboardModifier.NoModifier:
                self.sent.emit()
                return
            if mods == Qt.KeyboardModifier.ShiftModifier:
                self.textCursor().insertBlock()
                self.ensureCursorVisible()
                return
            event.ignore()
            return
        super().keyPressEvent(event)

    def focusInEvent(self, event: object) -> None:
        super().focusInEvent(event)  # type: ignore[arg-type]
        self.focus_changed.emit()

    def focusOutEvent(self, event: object) -> None:
        super().focusOutEvent(event)  # type: ignore[arg-type]
        self._composing = False
        self.focus_changed.emit()

    def resizeEvent(self, event: object) -> None:
        super().resizeEvent(event)  # type: ignore[arg-type]
        self._fit()

    def _fit(self) -> None:
        step = QFontMetricsF(self.font()).lineSpacing()
        least, most = self._lines
        layout = self.document().documentLayout()
        lines = max(round(layout.documentSize().height()), 1)
        shown = min(max(lines, least), most)
        high = round(shown * max(step, line_step("read") - 3)) + 4
        policy = Qt.ScrollBarPolicy
        self.setVerticalScrollBarPolicy(
            policy.ScrollBarAsNeeded if lines > most else policy.ScrollBarAlwaysOff
        )
        if high != self.minimumHeight():
            self.setFixedHeight(high)

    def _dress(self) -> None:
        self.setFont(font("read"))
        self.viewport().setFont(self.font())  # that is what the placeholder is painted in
        palette = QPalette(self.palette())
        palette.setColor(QPalette.ColorRole.Base, Qt.GlobalColor.transparent)
        palette.setColor(QPalette.ColorRole.Text, token("text"))
        palette.setColor(QPalette.ColorRole.PlaceholderText, token("text_faint"))
        self.setPalette(palette)
        self._fit()


class Composer(QWidget):
    """A rounded sheet with a field and a foot for buttons and hints.

    `sent(str)` on Enter or `send()` with text that is not blank; the text stays until `clear()`.
    `foot` is the row below the field: add buttons there.
    """

    sent = Signal(str)
    edited = Signal(str)

    def __init__(
        self,
        name: str,
        placeholder: str = "",
        *,
        least: int = LEAST,
        most: int = MOST,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.field = WritingField(name, placeholder, least, most)
        self.field.sent.connect(self.send)
        self.field.textChanged.connect(lambda: self.edited.emit(self.text()))
        self.field.focus_changed.connect(self.update)
        self.foot = QHBoxLayout()
        self.foot.setSpacing(6)
        box = QVBoxLayout(self)
        box.setContentsMargins(16, 12, 10, 9)
        box.setSpacing(6)
        box.addWidget(self.field)
        box.addLayout(self.foot)
        self.setFocusProxy(self.field)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme().changed.connect(self.update)

    def text(self) -> str:
        return self.field.toPlainText()

    def set_text(self, text: str) -> None:
        self.field.setPlainText(text)
        cursor = self.field.textCursor()
        cursor.movePosition(cursor.MoveOperation.End)
        self.field.setTextCursor(cursor)

    def clear(self) -> None:
        self.field.clear()

    def set_placeholder(self, text: str) -> None:
        self.field.setPlaceholderText(text)

    def send(self) -> None:
        """As Enter does."""
        text = self.text()
        if text.strip() and not self.field.composing():
            self.sent.emit(text)

    def sizeHint(self) -> QSize:
        return QSize(520, super().sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = smooth(self)
        focused = self.field.hasFocus()
        edge = token("accent") if focused else token("line_strong")
        width = 1.5 if focused else 1.0
        rounded(painter, QRectF(self.rect()), 10, token("raised"), edge, width)
        painter.end()
