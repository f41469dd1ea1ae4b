"""A field for the raw text of a file: nothing of it is changed but what is typed."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QPlainTextEdit, QWidget

_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


def raw_text(field: QPlainTextEdit) -> str:
    """What stands in a field, to the character: `toPlainText` would turn hard spaces soft."""
    return field.document().toRawText().replace("\u2029", "\n")


class RawField(QPlainTextEdit):
    """Ctrl+S or Ctrl+Enter saves, Esc leaves; Enter makes a line."""

    save_wanted = Signal()
    left = Signal()

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setFrameShape(QPlainTextEdit.Shape.NoFrame)
        self.setTabChangesFocus(True)

    def words(self) -> str:
        return raw_text(self)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ShortcutOverride and self._own(event):  # type: ignore[arg-type]
            event.accept()
            return True
        return super().event(event)

    @staticmethod
    def _own(event: QKeyEvent) -> str:
        ctrl = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        if event.key() == Qt.Key.Key_Escape:
            return "leave"
        if ctrl and event.key() in (Qt.Key.Key_S, *_ENTER):
            return "save"
        return ""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        act = self._own(event)
        if act == "leave":
            self.left.emit()
        elif act == "save":
            self.save_wanted.emit()
        elif event.key() in _ENTER and event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self.insertPlainText("\n")  # Qt would put a line separator, which is no line in a file
        else:
            super().keyPressEvent(event)
