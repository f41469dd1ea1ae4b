"""The lines of a place with their marks, as a list that keeps the hit in the middle."""

from __future__ import annotations

import logging
import math
import re
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import (
    QAbstractListModel,
    QModelIndex,
    QPointF,
    QRect,
    QRectF,
    QSize,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import QFontMetricsF, QKeyEvent, QPainter, QPalette, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeView,
    QWidget,
)

from app.gui.look.text import sentence, tr
from app.gui.look.theme import theme, token
from app.gui.look.type import font
from app.gui.panes.search.around import PageLine
from app.gui.panes.search.marked import Laid, Line, lay_out, one_line, paint
from app.gui.panes.search.model import Index
from app.gui.widgets.paint import draw_text, soft_ground

log = logging.getLogger(__name__)
LINE = Qt.ItemDataRole.UserRole
MARGIN = 20
KEPT = 600  # laid-out lines that are remembered
MOST_NEEDLES = 24
BEGUN = "\0"  # ends a needle that may go on: a sign that no text holds
SHORT = 2  # letters of a word that says little by itself
MOST_MARKS = 2_000


def needles(query: str) -> list[str]:
    """The words and phrases of `query` that are to be marked; one that may go on ends in `BEGUN`:
    the last word, which is still being typed, and what was typed with a star."""
    out: list[str] = []
    for found in re.finditer(r'"([^"]*)"?|(\S+)', query):
        phrase, word = found.groups()
        bare = (phrase or word or "").strip("*\"'“”,.;:!?()[]{}<>，。；：！？（）")
        if bare and bare != "OR" and not (word or "").startswith("-"):
            typed = found.end() == len(query) and not (len(bare) == 1 and bare.isascii())
            begun = word is not None and (typed or word.endswith("*"))
            out.append(bare + BEGUN * begun)
    return out


def marks(text: str, wanted: Sequence[str], *, anywhere: bool) -> tuple[tuple[int, int], ...]:
    """Where any of `wanted` stands in `text`, longest first where they overlap.

    Latin words are whole words, or the beginnings of words if they end in `BEGUN`; anything goes
    when `anywhere`.
    """
    longest = sorted({one.casefold() for one in wanted if one.strip()}, key=len, reverse=True)
    parts = [_pattern(one, anywhere) for one in longest[: 2 * MOST_NEEDLES]]
    if not parts:
        return ()
    pattern = re.compile("|".join(parts), re.IGNORECASE)
    return tuple(m.span() for m in pattern.finditer(text) if m.end() > m.start())


def _pattern(needle: str, anywhere: bool) -> str:
    bare = needle.removesuffix(BEGUN)
    begins = "" if anywhere or not bare[0].isascii() else r"(?<![A-Za-z0-9])"
    ends = "" if anywhere or bare != needle or not bare[-1].isascii() else r"(?![A-Za-z0-9])"
    return begins + re.escape(bare) + ends


def telling(wanted: Sequence[str]) -> list[str]:
    """Those that are worth a mark away from the hit itself: one or two Latin letters stand
    everywhere."""
    long = [w for w in wanted if len(w.removesuffix(BEGUN)) > SHORT or not w.isascii()]
    return long or list(wanted)


class PageModel(QAbstractListModel):
    """The lines of a place, with their marks."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.lines: tuple[PageLine, ...] = ()
        self.marks: list[tuple[tuple[int, int], ...]] = []
        self.at = -1

    def show(
        self, lines: tuple[PageLine, ...], at: int, wanted: Sequence[str], *, anywhere: bool
    ) -> None:
        self.beginResetModel()
        self.lines, self.at = lines, at
        away = wanted if anywhere else telling(wanted)
        self.marks = [
            () if one.head else marks(one.text, wanted if n == at else away, anywhere=anywhere)
            for n, one in enumerate(lines)
        ]
        self.endResetModel()

    def places(self) -> list[tuple[int, int]]:
        """(line, which mark of it) of every mark, in order."""
        return [(i, n) for i, found in enumerate(self.marks) for n in range(len(found))][
            :MOST_MARKS
        ]

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.lines)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not 0 <= index.row() < len(self.lines):
            return None
        line = self.lines[index.row()]
        if role == LINE:
            return line
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return sentence((line.label, line.text))
        return None


class PageDelegate(QStyledItemDelegate):
    """Paints one line: label, text with marks, the hit's own line tinted."""

    def __init__(self, view: PageView) -> None:
        super().__init__(view)
        self._view = view
        # By what it says: the next hit is often one of the same place.
        self._kept: OrderedDict[tuple[object, ...], Laid] = OrderedDict()
        self._labels: dict[tuple[str, int], Line] = {}
        self.forget()

    def forget(self) -> None:
        """The theme or the size of text is another."""
        self._kept.clear()
        self._labels.clear()
        self._read, self._tiny = font("read"), font("tiny", tabular=True)

    def _room(self) -> float:
        return max(self._view.viewport().width() - self._view.gutter - 2 * MARGIN, 60.0)

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        line: PageLine | None = index.data(LINE)
        if line is None:
            return QSize(0, 0)
        if line.head:
            return QSize(100, round(QFontMetricsF(font("small", 600)).height() + 18))
        return QSize(100, self._laid(index.row()).height + 8)

    def _laid(self, row: int) -> Laid:
        text, marked = self._view.model_.lines[row].text, self._view.model_.marks[row]
        key = (text, marked, room := self._room())
        laid = self._kept.pop(key, None) or lay_out(text, marked, room, self._read)
        self._kept[key] = laid
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return laid

    def _label(self, text: str, room: int) -> Line:
        if (text, room) not in self._labels:
            if len(self._labels) >= KEPT:
                self._labels.clear()
            self._labels[text, room] = one_line(text, self._tiny, room)
        return self._labels[text, room]

    def mark_at(self, index: Index, which: int) -> tuple[int, int]:
        """Top and bottom of the line that a mark begins in, in px of the view."""
        laid = self._laid(index.row())
        start = laid.spans[which][0] if which < len(laid.spans) else 0
        at = sum(1 for line in laid.lines[1:] if line.textStart() <= start)
        top = self._view.visualRect(index).top() + 4 + at * laid.step
        return top, top + laid.step

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        painter.save()
        try:
            line: PageLine | None = index.data(LINE)
            if line is None:
                return
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            self._paint(painter, QRectF(option.rect), line, index.row())  # type: ignore[attr-defined]
        except Exception:
            log.exception("a line could not be painted")
        finally:
            painter.restore()

    def _paint(self, painter: QPainter, box: QRectF, line: PageLine, row: int) -> None:
        view = self._view
        left = box.left() + MARGIN + view.gutter
        if line.head:
            painter.setFont(font("small", 600))
            head = box.adjusted(MARGIN, 6, -MARGIN, 0)
            draw_text(painter, head, line.text[:200], token("text_soft"))
            return
        if row == view.model_.at:
            soft_ground(painter, box)
        laid = self._laid(row)
        label = self._label(line.label, view.gutter - 10)
        x = box.left() + MARGIN + (view.gutter - 10 - label.wide if line.label.isdigit() else 0)
        painter.setPen(token("text_faint"))
        label.line.draw(painter, QPointF(x, box.top() + 4 + (laid.step - label.high) / 2))
        strong = None
        if view.current is not None and view.current[0] == row:
            which = view.current[1]
            strong = laid.spans[which] if which < len(laid.spans) else None
        paint(painter, laid, QPointF(left, box.top() + 4), "text", strong)


class PageView(QTreeView):
    """The lines. Enter opens the place (`opened`), Backspace goes back (`left`)."""

    opened = Signal()
    left = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName(tr("The place of the hit"))
        self.gutter = 34
        self.current: tuple[int, int] | None = None
        # The row in the middle, the value of the scroll bar, and where the row stands in the view.
        self._held: tuple[int, int, tuple[QRect, QRect]] | None = None
        self._settling = QTimer(self, singleShot=True, interval=0)
        self._settling.timeout.connect(self._settle)
        self.verticalScrollBar().rangeChanged.connect(self._on_range)
        self.model_ = PageModel(self)
        self.setModel(self.model_)
        self.painter_ = PageDelegate(self)
        self.setItemDelegate(self.painter_)
        self.setHeaderHidden(True)
        self.setRootIsDecorated(False)
        self.setIndentation(0)
        self.setFrameShape(QTreeView.Shape.NoFrame)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setTabKeyNavigation(False)
        self._dress()
        theme().changed.connect(self._dress)

    def fit_gutter(self) -> None:
        """Room for the longest label: a line number or a speaker."""
        metrics = QFontMetricsF(font("tiny", tabular=True))
        wide = max((metrics.horizontalAdvance(x.label) for x in self.model_.lines), default=0.0)
        self.gutter = math.ceil(min(max(wide, 18), 120)) + 12

    def _dress(self) -> None:
        palette = QPalette(self.palette())
        palette.setColor(QPalette.ColorRole.Base, token("canvas"))
        self.setPalette(palette)
        self.viewport().setPalette(palette)
        self.painter_.forget()
        self.fit_gutter()
        self.scheduleDelayedItemsLayout()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.scheduleDelayedItemsLayout()
        if self._held is not None and self._held[1] == self.verticalScrollBar().value():
            self.hold(self._held[0])

    def hold(self, row: int) -> None:
        """Bring `row` to the middle, and keep it there while the parts around find their size;
        once somebody scrolls it is theirs."""
        self._centre(row)
        self._settling.start()

    def _on_range(self, _: int, most: int) -> None:
        """A view that grew has less to scroll: what moves the bar then is nobody's hand. (Qt tells
        of the range before it moves the bar.)"""
        bar = self.verticalScrollBar()
        if self._held is not None and self._held[1] == bar.value() > most:
            self._held = (self._held[0], most, self._held[2])

    def _settle(self) -> None:
        """Once more if what was posted meanwhile has moved it."""
        if self._held is None or self._held[1] != self.verticalScrollBar().value():
            return
        if self._held[2] != self._stands(self._held[0]):
            self._centre(self._held[0])

    def _stands(self, row: int) -> tuple[QRect, QRect]:
        return self.visualRect(self.model_.index(row)), self.viewport().rect()

    def _centre(self, row: int) -> None:
        self.doItemsLayout()
        self.scrollTo(self.model_.index(row), QAbstractItemView.ScrollHint.PositionAtCenter)
        if self.current is not None and self.current[0] == row:
            self.show_mark()
        self._held = (row, self.verticalScrollBar().value(), self._stands(row))

    def show_mark(self) -> None:
        """Bring the current mark into view; its row may be taller than the view."""
        if self.current is None:
            return
        index = self.model_.index(self.current[0])
        self.scrollTo(index)
        top, bottom = self.painter_.mark_at(index, self.current[1])
        if top < 0 or bottom > self.viewport().height():
            bar = self.verticalScrollBar()
            bar.setValue(bar.value() + (top + bottom - self.viewport().height()) // 2)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = event.key()
        bar = self.verticalScrollBar()
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.opened.emit()
        elif key in (Qt.Key.Key_Backspace, Qt.Key.Key_Escape):
            self.left.emit()
        elif key in (Qt.Key.Key_Down, Qt.Key.Key_Up):
            bar.setValue(bar.value() + (28 if key == Qt.Key.Key_Down else -28))
        else:
            super().keyPressEvent(event)

    def keyboardSearch(self, search: str) -> None:
        """Letters are keys of the pane."""
