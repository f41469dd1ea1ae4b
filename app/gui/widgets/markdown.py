"""Markdown on screen: foreign text, so nothing is loaded and nothing opens by itself.

Text arrives whole (`set_markdown`) or streaming (`append`, `finish`). Unfinished text stands plain;
each finished block is rendered once. Work is cut into slices, so that the loop never waits (B88).
"""

from __future__ import annotations

from collections import deque
from math import ceil
from typing import Any

from PySide6.QtCore import QElapsedTimer, QRectF, Qt, QTimer, QUrl, Signal
from PySide6.QtGui import (
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPalette,
    QTextBlock,
    QTextCursor,
    QWheelEvent,
)
from PySide6.QtWidgets import QSizePolicy, QTextBrowser, QWidget

from app.gui.look.text import tr
from app.gui.look.theme import theme, token
from app.gui.look.type import Role, font
from app.gui.widgets.finding import Finding
from app.gui.widgets.labels import plain_tip
from app.gui.widgets.paint import rounded, smooth
from app.gui.widgets.segments import Segment, Segmenter
from app.gui.widgets.writing import CODE, MORE, QUOTE, WELL, Writer

EVERY = 40  # ms between two paintings of streaming text
SLICE = 10  # ms of rendering at a time
SHOWN = 60_000  # characters rendered before "show more"


class MarkdownView(QTextBrowser):
    """A read-only text. `fit=True`: as tall as its text, no scroll bars (chat); else it scrolls.

    `link_clicked(str)` after a click on an http, https or mailto link: connect it to something that
    shows the target (`Pane.ask_link`). `grown()` when the height changed.
    """

    link_clicked = Signal(str)
    grown = Signal()

    def __init__(
        self,
        text: str = "",
        *,
        role: Role = "read",
        color: str = "text",
        fit: bool = True,
        name: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._fit = fit
        self._writer = Writer(role, color)
        self._role: Role = role
        self._source: list[str] = []
        self._cutter = Segmenter()
        self._waiting: deque[Segment] = deque()
        self._folded: list[Segment] = []
        self._cuts: list[str] = []
        self._shown = 0
        self._tail_at = -1
        self._tail = ""
        self._ended = True
        self.setAccessibleName(name or tr("Text"))
        self.setOpenLinks(False)
        self.setOpenExternalLinks(False)
        self.setFrameShape(QTextBrowser.Shape.NoFrame)
        self.setUndoRedoEnabled(False)
        self.document().setDocumentMargin(0)
        self.document().setIndentWidth(22)
        self.viewport().setAutoFillBackground(False)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextBrowserInteraction)
        self.anchorClicked.connect(self._on_anchor)
        self.highlighted.connect(self._on_hover)
        self.finding = Finding(self)
        self._timer = QTimer(self, singleShot=True)
        self._timer.timeout.connect(self._work)
        if fit:
            self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
            self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
            self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
            self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
            self.document().documentLayout().documentSizeChanged.connect(self._on_size)
        self._dress()
        theme().changed.connect(self._on_theme)
        if text:
            self.set_markdown(text)

    # ------------------------------------------------------------------ text in

    def set_markdown(self, text: str) -> None:
        """Show `text`, whole. Up to about 16 kB is there at once, the rest follows in slices."""
        if self._ended and self.markdown() == text:
            return
        self._reset()
        self._source = [text]
        self._waiting.extend(self._cutter.feed(text))
        self._waiting.extend(self._cutter.close())
        self._work()

    def append(self, text: str) -> None:
        """Streaming: more text at the end. Painted at most every 40 ms."""
        if not text:
            return
        if self._ended and self._source:
            self._reset(keep=True)
        self._ended = False
        self._source.append(text)
        self._waiting.extend(self._cutter.feed(text))
        if not self._timer.isActive():
            self._timer.start(EVERY)

    def finish(self) -> None:
        """Streaming is over: render what still stands plain."""
        self._waiting.extend(self._cutter.close())
        self._ended = True
        self._work()

    def markdown(self) -> str:
        """The source text."""
        if len(self._source) > 1:
            self._source = ["".join(self._source)]
        return self._source[0] if self._source else ""

    def clear(self) -> None:
        self._reset()

    def busy(self) -> bool:
        """Whether text still waits to be rendered."""
        return bool(self._waiting) or self._timer.isActive()

    # ------------------------------------------------------------------ rendering

    def _reset(self, *, keep: bool = False) -> None:
        self._timer.stop()
        super().clear()
        self._writer.restart()
        self._cutter = Segmenter()
        self._waiting.clear()
        self._folded, self._cuts = [], []
        self._shown, self._tail_at, self._tail = 0, -1, ""
        self._ended = True
        if not keep:
            self._source = []
        else:
            self._waiting.extend(self._cutter.feed(self.markdown()))

    def _work(self) -> None:
        """Render finished segments for a slice of time, then show the unfinished rest."""
        clock = QElapsedTimer()
        clock.start()
        cursor = QTextCursor(self.document())
        if self._waiting:
            self._drop_tail(cursor)
        cursor.beginEditBlock()  # one layout for the whole slice
        while self._waiting and clock.elapsed() < SLICE:
            segment = self._waiting.popleft()
            if self._shown >= SHOWN:
                self._folded.append(segment)
                continue
            self._shown += len(segment.text)
            self._cuts.append(segment.cut)
            more = f"{MORE}cut/{len(self._cuts) - 1}" if segment.cut else ""
            self._writer.write(cursor, segment, more)
        cursor.endEditBlock()
        if self._waiting:
            self._timer.start(0)
            return
        if self._ended:
            self._fold_line(cursor)
        elif self._shown < SHOWN:
            self._show_tail(cursor, self._cutter.rest)

    def _fold_line(self, cursor: QTextCursor) -> None:
        if not self._folded or self._tail_at >= 0:
            return
        size = sum(len(s.text) + len(s.cut) for s in self._folded)
        cursor.movePosition(QTextCursor.MoveOperation.End)
        self._tail_at = cursor.position()
        words = tr("Show {n} kB more", n=max(size // 1_000, 1))
        self._writer.link_line(cursor, words, MORE + "rest")

    def _show_tail(self, cursor: QTextCursor, rest: str) -> None:
        if rest == self._tail and self._tail_at >= 0:
            return
        cursor.movePosition(QTextCursor.MoveOperation.End)
        if self._tail_at >= 0 and rest.startswith(self._tail):
            new = rest[len(self._tail) :].replace("\n", "\u2028")
            cursor.insertText(new, self._writer.char())
        else:
            self._drop_tail(cursor)
            if rest:
                cursor.movePosition(QTextCursor.MoveOperation.End)
                self._fresh_before = self._writer.fresh
                self._tail_at = cursor.position()
                self._writer.tail(cursor, rest)
        self._tail = rest

    def _drop_tail(self, cursor: QTextCursor) -> None:
        if self._tail_at < 0:
            return
        cursor.setPosition(self._tail_at)
        cursor.movePosition(QTextCursor.MoveOperation.End, QTextCursor.MoveMode.KeepAnchor)
        cursor.removeSelectedText()
        if self._tail_at == 0 or self._fresh_before:
            self._writer.restart()
        self._tail_at, self._tail = -1, ""

    _fresh_before = False

    def _on_anchor(self, url: QUrl) -> None:
        target = url.toString()
        if not target.startswith(MORE):
            self.link_clicked.emit(target)
            return
        what = target.removeprefix(MORE)
        cursor = QTextCursor(self.document())
        if what == "rest":
            self._drop_tail(cursor)
            self._waiting.extend(self._folded)
            self._folded, self._shown = [], 0
            self._work()
        elif what.startswith("cut/"):
            self._show_cut(int(what.removeprefix("cut/")), target)

    def _show_cut(self, at: int, target: str) -> None:
        """Write a giant line's next 100 kB in place of its link."""
        hidden = self._cuts[at]
        now, later = hidden[:100_000], hidden[100_000:]
        self._cuts[at] = later
        block = self.document().begin()
        while block.isValid():
            if block.begin() != block.end():
                fragment = block.begin().fragment()
                if fragment.charFormat().anchorHref() == target:
                    break
            block = block.next()
        if not block.isValid():
            return
        cursor = QTextCursor(block)
        cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
        link = cursor.charFormat()
        cursor.removeSelectedText()
        cursor.beginEditBlock()
        for start in range(0, len(now), 2_000):
            cursor.insertText(now[start : start + 2_000], self._writer.char())
            cursor.insertBlock()
        if later:
            cursor.insertText(tr("Show {n} kB more", n=len(later) // 1_000 + 1), link)
        cursor.endEditBlock()

    # ------------------------------------------------------------------ Qt's side

    def loadResource(self, kind: int, name: Any) -> Any:
        """Nothing is loaded, whatever the text asks for."""
        return None

    def _on_hover(self, url: QUrl) -> None:
        target = url.toString()
        self.setToolTip("" if target.startswith(MORE) else plain_tip(target))

    def _on_size(self, _: object = None) -> None:
        high = max(ceil(self.document().size().height()), 4)
        if self.document().lastBlock().blockFormat().property(CODE):
            high += WELL  # a margin below the last block is not part of the document
        if high != self.height() or high != self.maximumHeight():
            self.setFixedHeight(high)
            self.grown.emit()

    def _on_theme(self) -> None:
        self._dress()
        if not self._source:
            return
        text, ended = self.markdown(), self._ended
        self._reset()
        self._source, self._ended = [text], ended
        self._waiting.extend(self._cutter.feed(text))
        if ended:
            self._waiting.extend(self._cutter.close())
        self._work()

    def _dress(self) -> None:
        self.setFont(font(self._role))
        palette = QPalette(self.palette())
        palette.setColor(QPalette.ColorRole.Base, Qt.GlobalColor.transparent)
        palette.setColor(QPalette.ColorRole.Text, token("text"))
        self.setPalette(palette)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if self._fit:
            event.ignore()
            return
        super().wheelEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        super().mousePressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = smooth(self.viewport())  # type: ignore[arg-type]
        painter.translate(-self.horizontalScrollBar().value(), -self.verticalScrollBar().value())
        seen = QRectF(event.rect()).translated(
            self.horizontalScrollBar().value(), self.verticalScrollBar().value()
        )
        block = self.cursorForPosition(event.rect().topLeft()).block()
        while block.previous().isValid() and block.previous().blockFormat().property(CODE):
            block = block.previous()
        self._paint_grounds(painter, block, seen)
        painter.end()
        super().paintEvent(event)

    def _paint_grounds(self, painter: QPainter, block: QTextBlock, seen: QRectF) -> None:
        """Wells behind code, bars beside quotes, from `block` to the end of what is seen."""
        layout = self.document().documentLayout()
        well = QRectF()
        while block.isValid():
            box = layout.blockBoundingRect(block)
            form = block.blockFormat()
            if form.property(CODE):
                left = form.leftMargin() - WELL
                line = QRectF(left, box.top(), self.document().textWidth() - left, box.height())
                well = well.united(line) if well.isValid() else line
            elif well.isValid():
                rounded(painter, well.adjusted(0, -WELL + 2, 0, WELL - 2), 6, token("sunken"))
                well = QRectF()
            if box.top() > seen.bottom():
                break
            for level in range(int(form.property(QUOTE) or 0)):
                bar = QRectF(14 * level + 1, box.top(), 2, box.height())
                rounded(painter, bar, 1, token("line_strong"))
            block = block.next()
        if well.isValid():
            rounded(painter, well.adjusted(0, -WELL + 2, 0, WELL - 2), 6, token("sunken"))
