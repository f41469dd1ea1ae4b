"""The list of hits: icon, place, time, then at most two lines around the match.

A flat `QTreeView` asks only for the heights of the rows it shows, so a hundred thousand hits open
at once (by item then; below `SMOOTH` rows it scrolls by pixel). Headings stand among the rows; one
with more hits than are shown has the words to click.
"""

from __future__ import annotations

import logging

from PySide6.QtCore import QItemSelectionModel, QModelIndex, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QFont,
    QFontMetricsF,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPalette,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeView,
    QWidget,
)

from app.gui.look.icons import paint_icon
from app.gui.look.text import plural, tr
from app.gui.look.theme import theme, token
from app.gui.look.type import font
from app.gui.panes.search.marked import lay_out, paint
from app.gui.panes.search.model import ENTRY, Entry, Found, Head, HitModel, Index
from app.gui.widgets.delegate import paint_ground
from app.gui.widgets.paint import draw_text

log = logging.getLogger(__name__)
MARGIN, SIDE, ICON = 12, 12, 22
SMOOTH = 1_500
LINES = 2
RIGHT = Qt.AlignmentFlag.AlignRight


class HitDelegate(QStyledItemDelegate):
    """Paints heads and hits; it never raises into Qt."""

    def __init__(self, view: HitList) -> None:
        super().__init__(view)
        self._view = view

    def text_width(self) -> float:
        return max(self._view.viewport().width() - 2 * (MARGIN + SIDE) - ICON, 60.0)

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        entry: Entry | None = index.data(ENTRY)
        if not isinstance(entry, Found):
            small = QFontMetricsF(font("small", 600)).height()
            return QSize(100, round(small + (14 if index.row() == 0 else 22)))
        words = self._view.hits.words(entry)
        laid = lay_out(words.text, words.spans, self.text_width(), font("body"), LINES)
        return QSize(100, round(self._title().height() + laid.height + 19))

    @staticmethod
    def _title(weight: int = 500) -> QFontMetricsF:
        return QFontMetricsF(font("small", weight))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        try:
            entry: Entry | None = index.data(ENTRY)
            painter.save()
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            box = QRectF(option.rect).adjusted(MARGIN, 0, -MARGIN, -1)  # type: ignore[attr-defined]
            if isinstance(entry, Head):
                self._paint_head(painter, box, entry, index.row())
            elif isinstance(entry, Found):
                self._paint_hit(painter, box, entry, option)
            painter.restore()
        except Exception:
            log.exception("a hit could not be painted")

    def _paint_head(self, painter: QPainter, box: QRectF, head: Head, row: int) -> None:
        line = box.adjusted(SIDE, 4 if row == 0 else 12, -SIDE, -2)
        painter.setFont(font("small", 600))
        draw_text(painter, line, head.title, token("text_soft"))
        x = QFontMetricsF(font("small", 600)).horizontalAdvance(head.title) + 9
        painter.setFont(font("small", tabular=True))
        draw_text(painter, line.adjusted(x, 0, 0, 0), head.count, token("text_faint"))
        if head.more:
            used = font("small", 500)
            used.setUnderline(self._view.hovered == row)
            painter.setFont(used)
            draw_text(painter, line, more_words(head), token("accent"), RIGHT)

    def _paint_hit(
        self, painter: QPainter, box: QRectF, found: Found, option: QStyleOptionViewItem
    ) -> None:
        flags = QStyle.StateFlag
        state = option.state  # type: ignore[attr-defined]
        selected = bool(state & flags.State_Selected)
        lively = self._view.lively or self._view.hasFocus()
        paint_ground(
            painter, box, hover=bool(state & flags.State_MouseOver), selected=selected,
            focus=lively, ring=selected and self._view.hasFocus(),
        )  # fmt: skip
        words = self._view.hits.words(found)
        faint = "text_soft" if selected else "text_faint"
        inner = box.adjusted(SIDE, 8, -SIDE, 0)
        metrics = self._title(600 if selected else 500)
        top = QRectF(inner.left() + ICON, inner.top(), inner.width() - ICON, metrics.height())
        ink = "accent" if selected and lively else "text_soft"
        paint_icon(painter, words.icon, inner.left(), top.center().y() - 7, 14, ink)
        used = font("small", tabular=True)
        painter.setFont(used)
        wide = QFontMetricsF(used).horizontalAdvance(words.time)
        draw_text(painter, top, words.time, token(faint), RIGHT)
        painter.setFont(font("small", 600 if selected else 500))
        room = top.width() - wide - 12
        place = metrics.elidedText(words.place, Qt.TextElideMode.ElideRight, room)
        draw_text(painter, top, place, token("text" if selected else "text_soft"))
        laid = lay_out(words.text, words.spans, self.text_width(), font("body"), LINES)
        paint(painter, laid, QPointF(top.left(), top.bottom() + 3), "text")


def more_words(head: Head) -> str:
    return plural(head.more, "Show {n} more", "Show {n} more")


class HitList(QTreeView):
    """Hits to walk and open. `chosen(Found)`, `opened(Found)`, `more_in(layer)`, `left()`.

    `lively` paints the choice as active while the person types in the field above.
    """

    chosen = Signal(object)
    opened = Signal(object)
    more_in = Signal(str)
    left = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(tr("Hits"))
        self.lively = False
        self.hovered = -1
        self._quiet = False
        self.hits = HitModel(self)
        self.setModel(self.hits)
        self.setItemDelegate(HitDelegate(self))
        self.setHeaderHidden(True)
        self.setRootIsDecorated(False)
        self.setIndentation(0)
        self.setItemsExpandable(False)
        self.setFrameShape(QTreeView.Shape.NoFrame)
        self.setMouseTracking(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setTabKeyNavigation(False)
        self.selectionModel().currentChanged.connect(self._on_current)
        self._dress()
        theme().changed.connect(self._dress)

    # ------------------------------------------------------------------ choice

    def settle(self) -> None:
        """The model was filled anew: scroll by pixel while that is cheap."""
        modes = QAbstractItemView.ScrollMode
        few = self.hits.rowCount() < SMOOTH
        self.setVerticalScrollMode(modes.ScrollPerPixel if few else modes.ScrollPerItem)

    def current(self) -> Found | None:
        entry = self.hits.entry(self.currentIndex().row())
        return entry if isinstance(entry, Found) and self.currentIndex().isValid() else None

    def choose(self, row: int, *, quiet: bool = False) -> bool:
        """Make the hit of that row current; `quiet` says so to nobody."""
        if not isinstance(self.hits.entry(row), Found):
            return False
        self._quiet = quiet
        flags = QItemSelectionModel.SelectionFlag
        index = self.hits.index(row)
        self.selectionModel().setCurrentIndex(index, flags.ClearAndSelect | flags.Rows)
        if not quiet:
            self.scrollTo(index)
        self._quiet = False
        return True

    def step(self, by: int) -> bool:
        """To the next or previous hit."""
        row = self.currentIndex().row() if self.currentIndex().isValid() else -1 if by > 0 else 0
        row += by
        while 0 <= row < self.hits.rowCount():
            if self.choose(row):
                if row <= 1 and by < 0:
                    self.scrollToTop()
                return True
            row += by
        if row >= self.hits.rowCount() and self.hits.canFetchMore(QModelIndex()):
            self.hits.fetchMore(QModelIndex())
        return False

    def _on_current(self, now: QModelIndex, before: QModelIndex) -> None:
        entry = self.hits.entry(now.row())
        if isinstance(entry, Found) and not self._quiet:
            self.chosen.emit(entry)

    # ------------------------------------------------------------------ Qt's side

    def _dress(self) -> None:
        palette = QPalette(self.palette())
        for role in (QPalette.ColorRole.Base, QPalette.ColorRole.Highlight):
            palette.setColor(role, token("canvas"))
        self.setPalette(palette)
        self.viewport().setPalette(palette)
        self.scheduleDelayedItemsLayout()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.scheduleDelayedItemsLayout()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = event.key()
        plain = event.modifiers() in (
            Qt.KeyboardModifier.NoModifier,
            Qt.KeyboardModifier.KeypadModifier,
        )
        if plain and key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            if (found := self.current()) is not None:
                self.opened.emit(found)
            return
        if plain and key in (Qt.Key.Key_J, Qt.Key.Key_K, Qt.Key.Key_Down, Qt.Key.Key_Up):
            down = key in (Qt.Key.Key_J, Qt.Key.Key_Down)
            if not self.step(1 if down else -1) and not down:
                self.left.emit()
            return
        if key in (Qt.Key.Key_Escape, Qt.Key.Key_Backspace):
            event.ignore()
            return
        super().keyPressEvent(event)

    def keyboardSearch(self, search: str) -> None:
        """Letters are keys of the pane, not a search."""

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        head = self._more_at(event)
        if head is not None and event.button() == Qt.MouseButton.LeftButton:
            self.more_in.emit(head.key)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        index = self.indexAt(event.position().toPoint())
        entry = self.hits.entry(index.row()) if index.isValid() else None
        if isinstance(entry, Found):
            self.opened.emit(entry)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        index = self.indexAt(event.position().toPoint())
        over = index.row() if self._more_at(event) is not None else -1
        if over != self.hovered:
            self.hovered = over
            shape = Qt.CursorShape.PointingHandCursor if over >= 0 else Qt.CursorShape.ArrowCursor
            self.viewport().setCursor(shape)
            self.viewport().update()

    def _more_at(self, event: QMouseEvent) -> Head | None:
        """The head whose "Show n more" is under the pointer."""
        at = event.position().toPoint()
        index = self.indexAt(at)
        entry = self.hits.entry(index.row()) if index.isValid() else None
        if not isinstance(entry, Head) or not entry.more:
            return None
        used: QFont = font("small", 500)
        left = self.viewport().width() - MARGIN - SIDE
        left -= round(QFontMetricsF(used).horizontalAdvance(more_words(entry))) + 4
        return entry if at.x() >= left else None
