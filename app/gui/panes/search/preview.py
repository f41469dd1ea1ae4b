"""The place itself beside the hits: its lines, find filled in, and the ways out of it."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QKeyEvent, QPainter, QPalette, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeView,
    QVBoxLayout,
    QWidget,
)

from app.gui.look.text import number, sentence, tr
from app.gui.look.theme import theme, token
from app.gui.look.type import font
from app.gui.panes.search.around import PageLine, Place, Way
from app.gui.panes.search.marked import lay_out, paint
from app.gui.panes.search.model import Index
from app.gui.widgets.buttons import IconButton
from app.gui.widgets.fields import Field
from app.gui.widgets.labels import IconLabel, KeyCaps, Link, T
from app.gui.widgets.paint import draw_text
from app.gui.widgets.surfaces import Hairline

log = logging.getLogger(__name__)
LINE = Qt.ItemDataRole.UserRole
MARGIN = 20
MOST_NEEDLES = 24
MOST_MARKS = 2_000


def needles(query: str) -> list[str]:
    """The words and phrases of `query` that are to be marked."""
    out: list[str] = []
    for phrase, word in re.findall(r'"([^"]*)"?|(\S+)', query):
        bare = (phrase or word).strip("*\"'“”,.;:!?()[]{}<>，。；：！？（）")
        if bare and bare != "OR" and not word.startswith("-"):
            out.append(bare)
    return out


def marks(text: str, wanted: Sequence[str], *, anywhere: bool) -> tuple[tuple[int, int], ...]:
    """Where any of `wanted` stands in `text`, longest first where they overlap.

    Latin words begin at the beginning of a word, unless `anywhere`.
    """
    longest = sorted({one.casefold() for one in wanted if one.strip()}, key=len, reverse=True)
    if not longest:
        return ()
    begins = "" if anywhere else r"(?<![A-Za-z0-9])"
    parts = [(begins if one[0].isascii() else "") + re.escape(one) for one in longest]
    pattern = re.compile("|".join(parts[: 2 * MOST_NEEDLES]), re.IGNORECASE)
    return tuple(m.span() for m in pattern.finditer(text) if m.end() > m.start())


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
        self.marks = [
            () if one.head else marks(one.text, wanted, anywhere=anywhere) for one in lines
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

    def _room(self) -> float:
        return max(self._view.viewport().width() - self._view.gutter - 2 * MARGIN, 60.0)

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        line: PageLine | None = index.data(LINE)
        if line is None:
            return QSize(0, 0)
        if line.head:
            return QSize(100, round(QFontMetricsF(font("small", 600)).height() + 18))
        found = self._view.model_.marks[index.row()]
        laid = lay_out(line.text, found, self._room(), font("read"))
        return QSize(100, laid.height + 8)

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
            painter.fillRect(box, token("accent_softer"))
        laid = lay_out(line.text, view.model_.marks[row], self._room(), font("read"))
        label = QRectF(box.left() + MARGIN, box.top() + 4, view.gutter - 10, laid.step)
        painter.setFont(font("tiny", tabular=True))
        cut = QFontMetricsF(painter.font()).elidedText(
            line.label, Qt.TextElideMode.ElideRight, label.width()
        )
        side = Qt.AlignmentFlag.AlignRight if line.label.isdigit() else Qt.AlignmentFlag.AlignLeft
        draw_text(painter, label, cut, token("text_faint"), side)
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
        self.model_ = PageModel(self)
        self.setModel(self.model_)
        self.setItemDelegate(PageDelegate(self))
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
        metrics = QFontMetricsF(font("tiny"))
        wide = max((metrics.horizontalAdvance(x.label) for x in self.model_.lines), default=0.0)
        self.gutter = round(min(max(wide, 18), 86)) + 12

    def _dress(self) -> None:
        palette = QPalette(self.palette())
        palette.setColor(QPalette.ColorRole.Base, token("canvas"))
        self.setPalette(palette)
        self.viewport().setPalette(palette)
        self.scheduleDelayedItemsLayout()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.scheduleDelayedItemsLayout()

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


class Preview(QWidget):
    """The right side: title, find, lines, ways. `way_wanted(Target)`, `opened()`, `left()`."""

    way_wanted = Signal(object)
    opened = Signal()
    left = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._wanted: list[str] | None = None
        self._place: Place | None = None
        self.ways: tuple[Way, ...] = ()
        self.title = T("", "head", elide="right")
        self.details = T("", "small", "text_faint", elide="right")
        self.note = T("", "small", "warn", wrap=True)
        self.field = _FindField(tr("Find in this place"), tr("Find here"), icon="search")
        self.field.textChanged.connect(self._on_needle)
        self.field.returnPressed.connect(lambda: self.walk(1))
        self.field.left.connect(self.left)
        self.view = PageView()
        self.view.opened.connect(self.opened)
        self.view.left.connect(self.left)
        self._links = QVBoxLayout()
        self._links.setContentsMargins(MARGIN, 10, MARGIN, 10)
        self._links.setSpacing(4)
        self._line = Hairline()
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 10, 0, 0)
        box.setSpacing(0)
        head = QHBoxLayout()
        head.setContentsMargins(MARGIN, 0, MARGIN, 8)
        head.setSpacing(10)
        head.addWidget(self.title)
        head.addWidget(self.details, 1)
        box.addLayout(head)
        box.addLayout(self._find_row())
        note = QHBoxLayout()
        note.setContentsMargins(MARGIN, 0, MARGIN, 0)
        note.addWidget(self.note)
        box.addLayout(note)
        box.addWidget(self.view, 1)
        box.addWidget(self._line)
        box.addLayout(self._links)
        self.clear()

    def _find_row(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setContentsMargins(MARGIN, 0, MARGIN - 6, 8)
        row.setSpacing(2)
        self.before = IconButton("chevron-up", tr("Previous hit here"), key="Shift+N")
        self.after = IconButton("chevron-down", tr("Next hit here"), key="N")
        self.before.clicked.connect(lambda: self.walk(-1))
        self.after.clicked.connect(lambda: self.walk(1))
        row.addWidget(self.field, 1)
        row.addSpacing(4)
        row.addWidget(self.before)
        row.addWidget(self.after)
        return row

    # ------------------------------------------------------------------ what is shown

    def clear(self) -> None:
        self._place = None
        self._show_parts(False)

    def _show_parts(self, there: bool) -> None:
        for part in (self.title, self.details, self.field, self.before, self.after, self.view):
            part.setVisible(there)
        self.note.setVisible(there and bool(self.note.text()))
        if not there:
            self._set_ways(())

    def show_place(self, place: Place, find: str, wanted: list[str]) -> None:
        """Show `place` with `wanted` marked; `find`, the words as typed, stands in the field."""
        self._place, self._wanted = place, wanted
        self.title.setText(place.title)
        self.details.setText(place.details)
        self.note.setText(place.note)
        if self.field.text() != find:
            self.field.blockSignals(True)
            self.field.setText(find)
            self.field.blockSignals(False)
        self._set_ways(place.ways)
        self._show_parts(True)
        self._mark()

    def _on_needle(self, _: str) -> None:
        self._wanted = None
        self._mark()

    def _mark(self) -> None:
        if self._place is None:
            return
        typed = self._wanted is None
        wanted = [self.field.text()] if self._wanted is None else self._wanted
        model = self.view.model_
        model.show(self._place.lines, self._place.at, wanted, anywhere=typed)
        self.view.fit_gutter()
        own = [p for p in model.places() if p[0] >= self._place.at]
        self.view.current = own[0] if own else None
        self._say()
        index = model.index(max(self._place.at, 0))
        self.view.doItemsLayout()
        self.view.scrollTo(index, QAbstractItemView.ScrollHint.PositionAtCenter)

    def walk(self, by: int) -> None:
        """To the next or previous mark; round at the ends."""
        places = self.view.model_.places()
        if not places:
            return
        now = self.view.current
        at = places.index(now) if now in places else -1 if by > 0 else 0
        self.view.current = places[(at + by) % len(places)]
        self._say()
        self.view.scrollTo(self.view.model_.index(self.view.current[0]))
        self.view.viewport().update()

    def count(self) -> tuple[int, int]:
        """(current mark from 1, all)."""
        places = self.view.model_.places()
        now = self.view.current
        return (places.index(now) + 1 if now in places else 0), len(places)

    def _say(self) -> None:
        at, all_ = self.count()
        if not self.field.text() and not self._wanted:
            self.field.set_unit("")
        elif not all_:
            self.field.set_unit(tr("no hits"))
        else:
            self.field.set_unit(tr("{n} of {all}", n=number(at), all=number(all_)))

    # ------------------------------------------------------------------ ways out

    def _set_ways(self, ways: tuple[Way, ...]) -> None:
        self.ways = ways
        while (item := self._links.takeAt(0)) is not None:
            if (row := item.widget()) is not None:
                row.hide()
                row.deleteLater()
        for way in ways:
            self._links.addWidget(self._row(way))
        self._line.setVisible(bool(ways))
        self._links.setContentsMargins(MARGIN, 10 if ways else 0, MARGIN, 10 if ways else 0)

    def _row(self, way: Way) -> QWidget:
        out = QWidget()
        row = QHBoxLayout(out)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(6)
        label = T(way.label, "small", "text_faint")
        label.setFixedWidth(86)
        link = Link(way.text)
        link.setAccessibleName(f"{way.label} {way.text}")
        link.clicked.connect(lambda _=False, t=way.target: self.way_wanted.emit(t))
        row.addWidget(label)
        row.addWidget(IconLabel(way.icon, 14, "accent"))
        row.addWidget(link)
        row.addStretch(1)
        if way.key:
            row.addWidget(KeyCaps(way.key))
        return out

    def way(self, key: str) -> Way | None:
        """The way with that key, for the actions G P and G C."""
        return next((way for way in self.ways if way.key == key), None)


class _FindField(Field):
    """A field that Esc leaves."""

    left = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.left.emit()
            return
        super().keyPressEvent(event)
