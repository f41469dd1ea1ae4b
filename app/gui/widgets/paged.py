"""Foreign text in a well: logs, results, files. Plain, never wrapped into one giant layout.

A line over 10 kB is cut with a line of our own, "show 390 kB more"; what is shown of it stands in
soft pieces of 2 kB, because one huge block is what freezes a text widget. Copying joins the pieces
again. Terminal colours become tokens and are not copied. Pages come from whoever knows
(`page_wanted`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from PySide6.QtCore import QMimeData, Qt, Signal
from PySide6.QtGui import (
    QFont,
    QKeyEvent,
    QMouseEvent,
    QPalette,
    QTextBlock,
    QTextCharFormat,
    QTextCursor,
)
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from app.gui.look.text import neutral, tr, without_escapes
from app.gui.look.theme import ANSI, theme, token
from app.gui.look.type import code_font
from app.gui.widgets.finding import Finding
from app.gui.widgets.segments import LINE_LIMIT, LINE_SHOWN

PIECE = 2_000  # characters of one block
STEP = 100_000  # characters shown by one "show more"
SOFT = 1  # block state: the next block goes on with the same line
LINK = 2  # block state: our own words, not part of the text

_SGR = re.compile(r"\x1b\[([0-9;]*)m")


@dataclass
class _Ink:
    color: str = "text"
    bold: bool = False

    def take(self, codes: str) -> None:
        """Follow one SGR sequence."""
        for code in (int(c or 0) for c in codes.split(";")):
            if code == 0:
                self.color, self.bold = "text", False
            elif code == 1:
                self.bold = True
            elif code == 22:
                self.bold = False
            elif 30 <= code <= 37:
                self.color = ANSI[code - 30]
            elif 90 <= code <= 97:
                self.color, self.bold = ANSI[code - 90], True
            elif code == 39:
                self.color = "text"


class PagedText(QPlainTextEdit):
    """A read-only well. `set_text` for all, `set_page` for one page of a longer text.

    `page_wanted(start)` when a person goes past the last line of a page that is not the end.
    """

    page_wanted = Signal(int)

    def __init__(
        self, name: str, *, wrap: bool = True, ground: str = "sunken", parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setReadOnly(True)
        self.setUndoRedoEnabled(False)
        self.setFrameShape(QPlainTextEdit.Shape.NoFrame)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.document().setDocumentMargin(14)
        self._ground = ground
        self._text = ""
        self._hidden: dict[int, str] = {}
        self._asked = -1
        self._end = self._total = 0
        self.finding = Finding(self)
        self.set_wrap(wrap)
        self.verticalScrollBar().valueChanged.connect(self._on_scrolled)
        self._dress()
        theme().changed.connect(self._on_theme)

    def set_wrap(self, on: bool) -> None:
        modes = QPlainTextEdit.LineWrapMode
        self.setLineWrapMode(modes.WidgetWidth if on else modes.NoWrap)

    def set_text(self, text: str) -> None:
        """Show `text`, whole, from its start."""
        self.set_page(text, 0, len(text), len(text))

    def set_page(self, text: str, start: int, end: int, total: int) -> None:
        """Show characters `start` to `end` of `total`; a page that begins at the end is added."""
        follows = start > 0 and start == self._end and start == self._asked
        self._end, self._total = end, total
        self._asked = -1
        if follows:
            self._text += text
            self._put(text, at_end=True)
            return
        self._text = text
        self.clear()
        self._hidden.clear()
        self._put(text, at_end=False)
        self.moveCursor(QTextCursor.MoveOperation.Start)

    def text(self) -> str:
        """What was given, untouched."""
        return self._text

    def shown_range(self) -> tuple[int, int]:
        """(end of what is loaded, total), in characters."""
        return self._end, self._total

    # ------------------------------------------------------------------ writing

    def _put(self, text: str, *, at_end: bool) -> None:
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.beginEditBlock()
        ink = _Ink()
        for i, line in enumerate(text.split("\n")):
            if i:
                cursor.insertBlock()
            self._put_line(cursor, neutral(line.rstrip("\r")), ink)
        cursor.endEditBlock()

    def _put_line(self, cursor: QTextCursor, line: str, ink: _Ink) -> None:
        if len(line) <= PIECE:
            self._put_inked(cursor, line, ink)
            return
        shown, hidden = line, ""
        if len(line) > LINE_LIMIT:
            shown, hidden = line[:LINE_SHOWN], line[LINE_SHOWN:]
        self._put_pieces(cursor, shown)
        if hidden:
            self._put_link(cursor, hidden)

    def _put_pieces(self, cursor: QTextCursor, text: str) -> None:
        form = self._form(_Ink())
        bare = without_escapes(text)
        for start in range(0, len(bare), PIECE):
            if start:
                cursor.block().setUserState(SOFT)
                cursor.insertBlock()
            cursor.insertText(bare[start : start + PIECE], form)

    def _put_link(self, cursor: QTextCursor, hidden: str) -> None:
        cursor.block().setUserState(SOFT)
        cursor.insertBlock()
        form = QTextCharFormat()
        form.setForeground(token("accent"))
        form.setFontWeight(QFont.Weight.Medium)
        cursor.insertText(tr("Show {n} kB more", n=len(hidden) // 1_000 + 1), form)
        cursor.block().setUserState(LINK)
        self._hidden[cursor.block().blockNumber()] = hidden

    def _put_inked(self, cursor: QTextCursor, line: str, ink: _Ink) -> None:
        if "\x1b" not in line:
            cursor.insertText(line, self._form(ink))
            return
        at = 0
        for found in _SGR.finditer(line):
            cursor.insertText(without_escapes(line[at : found.start()]), self._form(ink))
            ink.take(found[1])
            at = found.end()
        cursor.insertText(without_escapes(line[at:]), self._form(ink))

    @staticmethod
    def _form(ink: _Ink) -> QTextCharFormat:
        form = QTextCharFormat()
        form.setForeground(token(ink.color))
        form.setFontWeight(QFont.Weight.DemiBold if ink.bold else QFont.Weight.Normal)
        return form

    def show_more(self, block: QTextBlock) -> bool:
        """Unfold the giant line whose link stands in `block`. False when there is none."""
        number = block.blockNumber()
        hidden = self._hidden.pop(number, None)
        if hidden is None:
            return False
        now, later = hidden[:STEP], hidden[STEP:]
        before = self.blockCount()
        cursor = QTextCursor(block)
        cursor.beginEditBlock()
        cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
        cursor.removeSelectedText()
        cursor.block().setUserState(-1)
        self._put_pieces(cursor, now)
        moved: dict[int, str] = {}
        if later:
            self._put_link(cursor, later)
            moved[cursor.block().blockNumber()] = later
            self._hidden.pop(cursor.block().blockNumber(), None)
        cursor.endEditBlock()
        by = self.blockCount() - before
        self._hidden = {k + by if k > number else k: v for k, v in self._hidden.items()} | moved
        return True

    # ------------------------------------------------------------------ Qt's side

    def createMimeDataFromSelection(self) -> QMimeData:
        """Plain text: soft pieces joined, our own words left out."""
        cursor = self.textCursor()
        start, end = cursor.selectionStart(), cursor.selectionEnd()
        out: list[str] = []
        block = self.document().findBlock(start)
        while block.isValid() and block.position() <= end:
            text = block.text()
            if block.userState() != LINK:
                out.append(text[max(start - block.position(), 0) : max(end - block.position(), 0)])
            last = block.position() + len(text) >= end
            if not last and block.userState() != SOFT:
                out.append("\n")
            block = block.next()
        data = QMimeData()
        data.setText("".join(out))
        return data

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.show_more(
            self.textCursor().block()
        ):
            return
        super().keyPressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        if event.button() == Qt.MouseButton.LeftButton and not self.textCursor().hasSelection():
            self.show_more(self.cursorForPosition(event.position().toPoint()).block())

    def _on_scrolled(self, value: int) -> None:
        if value >= self.verticalScrollBar().maximum() - 2:
            self._want_more()

    def _want_more(self) -> None:
        if self._end < self._total and self._asked != self._end:
            self._asked = self._end
            self.page_wanted.emit(self._end)

    def _on_theme(self) -> None:
        self._dress()
        if self._text:
            at = self.verticalScrollBar().value()
            text, self._asked = self._text, -1
            self.clear()
            self._hidden.clear()
            self._put(text, at_end=False)
            self.verticalScrollBar().setValue(at)
            self.finding.mark()

    def _dress(self) -> None:
        self.setFont(code_font("body"))
        palette = QPalette(self.palette())
        palette.setColor(QPalette.ColorRole.Base, token(self._ground))
        palette.setColor(QPalette.ColorRole.Text, token("text"))
        self.setPalette(palette)
        # With a style sheet the viewport keeps the colours of its first polish.
        self.viewport().setPalette(palette)
