"""A well with line numbers beside it: pieces of one giant line share one number."""

from __future__ import annotations

from PySide6.QtCore import QRect, QRectF, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QWidget

from app.gui.look.text import tr
from app.gui.look.theme import token
from app.gui.look.type import font
from app.gui.widgets.paged import LINK, SOFT, PagedText
from app.gui.widgets.paint import draw_text, smooth

GUTTER = 52  # px


class NumberedText(PagedText):
    """A `PagedText` that numbers its lines from `start_at`; 0 shows no numbers."""

    def __init__(self) -> None:
        super().__init__(tr("Text of the result"))
        self._first = 0
        self._numbers: list[int] = []
        self._gutter = _Gutter(self)
        self.setViewportMargins(GUTTER, 0, 0, 0)
        self.blockCountChanged.connect(self._count_again)
        self.updateRequest.connect(lambda *_: self._gutter.update())

    def start_at(self, line: int) -> None:
        """The number of the first line of what is shown."""
        self._first = line
        self._count_again()

    def numbers(self) -> list[int]:
        """The number at each block; 0 where it goes on with the line above."""
        if not self._numbers and self._first:
            number, goes_on = self._first - 1, False
            block = self.document().firstBlock()
            while block.isValid():
                own = goes_on or block.userState() == LINK
                number += not own
                self._numbers.append(0 if own else number)
                goes_on = block.userState() == SOFT
                block = block.next()
        return self._numbers

    def paint_numbers(self, painter: QPainter, box: QRectF) -> None:
        """Numbers beside the lines in view, right-aligned."""
        painter.fillRect(box, token("sunken"))
        numbers = self.numbers()
        painter.setFont(font("tiny", tabular=True))
        block = self.firstVisibleBlock()
        while block.isValid():
            place = self.blockBoundingGeometry(block).translated(self.contentOffset())
            if place.top() > box.height():
                break
            at = block.blockNumber()
            if at < len(numbers) and numbers[at]:
                high = self.blockBoundingRect(block).height() / max(block.lineCount(), 1)
                line = QRectF(0, place.top(), GUTTER - 4, high)
                right = Qt.AlignmentFlag.AlignRight
                draw_text(painter, line, str(numbers[at]), token("text_faint"), right)
            block = block.next()

    def _count_again(self) -> None:
        self._numbers = []
        self._gutter.update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._gutter.setGeometry(QRect(0, 0, GUTTER, self.height()))


class _Gutter(QWidget):
    def __init__(self, text: NumberedText) -> None:
        super().__init__(text)
        self._text = text

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = smooth(self)
        self._text.paint_numbers(painter, QRectF(self.rect()))
        painter.end()
