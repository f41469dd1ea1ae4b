"""Find in page for text widgets: every hit marked, one of them current, walking wraps around."""

from __future__ import annotations

from PySide6.QtGui import QColor, QTextCharFormat, QTextCursor, QTextDocument
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit

from app.gui.look.theme import theme, token

MOST = 2_000  # hits that are marked


class Finding:
    """Hits of one needle in one text widget."""

    def __init__(self, view: QTextEdit | QPlainTextEdit) -> None:
        self._view = view
        self._hits: list[tuple[int, int]] = []
        self._at = -1
        self.needle = ""

    def find(self, needle: str) -> int:
        """Mark every place of `needle` (not case sensitive); how many there are."""
        self.needle = needle
        self._hits, self._at = [], -1
        document = self._view.document()
        cursor = QTextCursor(document)
        while needle and len(self._hits) < MOST:
            cursor = document.find(needle, cursor, QTextDocument.FindFlag(0))
            if cursor.isNull():
                break
            self._hits.append((cursor.selectionStart(), cursor.selectionEnd()))
        if self._hits:
            self._at = 0
            self._show()
        self.mark()
        return len(self._hits)

    def count(self) -> tuple[int, int]:
        """(current from 1, all); (0, 0) without hits."""
        return (self._at + 1, len(self._hits)) if self._hits else (0, 0)

    def walk(self, by: int) -> None:
        """To the next (1) or previous (-1) hit."""
        if self._hits:
            self._at = (self._at + by) % len(self._hits)
            self._show()
            self.mark()

    def clear(self) -> None:
        self.find("")

    def mark(self) -> None:
        """Paint the marks again, also after a change of theme."""
        out: list[QTextEdit.ExtraSelection] = []
        for i, (start, end) in enumerate(self._hits):
            one = QTextEdit.ExtraSelection()
            cursor = QTextCursor(self._view.document())
            cursor.setPosition(start)
            cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
            form = QTextCharFormat()
            form.setBackground(token("hit") if i != self._at else _strong())
            form.setForeground(token("text"))
            one.cursor, one.format = cursor, form  # type: ignore[misc]
            out.append(one)
        self._view.setExtraSelections(out)

    def _show(self) -> None:
        start, _ = self._hits[self._at]
        cursor = QTextCursor(self._view.document())
        cursor.setPosition(start)
        self._view.setTextCursor(cursor)
        self._view.ensureCursorVisible()


def _strong() -> QColor:
    color = token("hit")
    return color.lighter(130) if theme().scheme == "dark" else color.darker(118)
