"""Plain foreign text in the transcript: as tall as it is, selectable, never laid out in one piece.

A text over `SHOWN` characters stands cut with a link; one huge line is what freezes a layout, so
lines are broken into blocks of 2 kB (qt-facts, finding 4).
"""

from __future__ import annotations

from math import ceil

from PySide6.QtCore import QMimeData, Qt
from PySide6.QtGui import (
    QFontMetricsF,
    QPalette,
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QWheelEvent,
)
from PySide6.QtWidgets import QSizePolicy, QTextEdit, QWidget

from app.gui.look.text import neutral
from app.gui.look.theme import theme, token
from app.gui.look.type import Role, font, line_step
from app.gui.widgets.finding import Finding
from app.gui.widgets.paged import PagedText

SHOWN = 6_000  # characters of a text before "show all"
PIECE = 2_000  # characters of one block
SOFT = 1  # block state: the next block goes on with the same line
LEAST, MOST = 40, 320  # px of a well


class PlainText(QTextEdit):
    """Read-only plain text of a role and a colour, no scroll bars."""

    def __init__(
        self, text: str = "", *, role: Role = "read", color: str = "text", name: str = "",
        parent: QWidget | None = None,
    ) -> None:  # fmt: skip
        super().__init__(parent)
        self._role: Role = role
        self._color = color
        self._source = ""
        self.setAccessibleName(name)
        self.setReadOnly(True)
        self.setUndoRedoEnabled(False)
        self.setFrameShape(QTextEdit.Shape.NoFrame)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.document().setDocumentMargin(0)
        self.viewport().setAutoFillBackground(False)
        self.document().documentLayout().documentSizeChanged.connect(self._on_size)
        self.finding = Finding(self)
        self._dress()
        theme().changed.connect(self._on_theme)
        self.set_text(text)

    def set_text(self, text: str) -> None:
        """Show `text`, at most `SHOWN` characters of it (the caller offers the rest)."""
        if text == self._source and not self.document().isEmpty():
            return
        self._source = text
        self.clear()
        cursor = QTextCursor(self.document())
        form = QTextBlockFormat()
        form.setLineHeight(
            line_step(self._role), QTextBlockFormat.LineHeightTypes.FixedHeight.value
        )
        ink = QTextCharFormat()
        ink.setFont(font(self._role))
        ink.setForeground(token(self._color))
        cursor.beginEditBlock()
        cursor.setBlockFormat(form)
        first = True
        for line in neutral(text[:SHOWN]).split("\n"):
            for start in range(0, max(len(line), 1), PIECE):
                if not first:
                    if start:
                        cursor.block().setUserState(SOFT)
                    cursor.insertBlock(form)
                first = False
                cursor.insertText(line[start : start + PIECE], ink)
        cursor.endEditBlock()

    def text(self) -> str:
        return self._source

    def createMimeDataFromSelection(self) -> QMimeData:
        data = QMimeData()
        data.setText(self.textCursor().selection().toPlainText())
        return data

    def _on_size(self, _: object = None) -> None:
        high = max(ceil(self.document().size().height()), 4)
        if high != self.height() or high != self.maximumHeight():
            self.setFixedHeight(high)

    def _on_theme(self) -> None:
        self._dress()
        text, self._source = self._source, ""
        self.set_text(text)

    def _dress(self) -> None:
        self.setFont(font(self._role))
        palette = QPalette(self.palette())
        palette.setColor(QPalette.ColorRole.Base, Qt.GlobalColor.transparent)
        palette.setColor(QPalette.ColorRole.Text, token(self._color))
        self.setPalette(palette)

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()


class Well(PagedText):
    """Foreign text in a well as tall as its lines, up to `most` px; then it scrolls."""

    def __init__(self, name: str, text: str = "", *, most: int = MOST, margin: int = 14) -> None:
        super().__init__(name)
        self._most = most
        self.document().setDocumentMargin(margin)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        if text:
            self.set_text(text)

    def set_page(self, text: str, start: int, end: int, total: int) -> None:
        super().set_page(text, start, end, total)
        self._fit()

    def show_more(self, block: QTextBlock) -> bool:
        done = super().show_more(block)
        if done:
            self._fit()
        return done

    def resizeEvent(self, event: object) -> None:
        super().resizeEvent(event)  # type: ignore[arg-type]
        self._fit()

    def _on_theme(self) -> None:
        super()._on_theme()
        self._fit()

    def _fit(self) -> None:
        """As tall as the text by count of its columns: laying it out to know would be too dear."""
        margin = round(self.document().documentMargin())
        metrics = QFontMetricsF(self.font())
        step = metrics.lineSpacing()
        columns = max((self.width() - 2 * margin - 6) / max(metrics.averageCharWidth(), 1.0), 8.0)
        room = (self._most - 2 * margin) / step
        lines, block, wrapped = 0, self.document().begin(), False
        while block.isValid() and lines <= room:
            own = max(1, ceil(_columns(block.text()) / columns))
            wrapped = wrapped or own > 1
            lines += own
            block = block.next()
        fits = lines <= room and not wrapped
        policy = Qt.ScrollBarPolicy
        self.setVerticalScrollBarPolicy(
            policy.ScrollBarAlwaysOff if fits else policy.ScrollBarAsNeeded
        )
        high = min(max(ceil(lines * step) + 2 * margin + 1, LEAST), self._most)
        if high != self.height() or high != self.maximumHeight():
            self.setFixedHeight(high)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if self.verticalScrollBar().maximum() == 0:
            event.ignore()  # nothing to scroll here: the transcript scrolls
            return
        super().wheelEvent(event)


def _columns(text: str) -> int:
    """Columns of fixed type: wide scripts take two."""
    return len(text) + sum(ch > "\u2e7f" for ch in text)
