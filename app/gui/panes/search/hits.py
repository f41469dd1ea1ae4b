"""The list of hits: icon, place, time, then at most two lines around the match.

A table of one column. Up to `SNUG` rows are as tall as their text; of more all are equally tall, so
that a hundred thousand open and scroll without being measured. Headings stand among the rows; one
with more hits than are shown has the words to click.
"""

from __future__ import annotations

from PySide6.QtCore import (
    QEvent,
    QItemSelectionModel,
    QModelIndex,
    Qt,
    Signal,
)
from PySide6.QtGui import (
    QFont,
    QFontMetricsF,
    QKeyEvent,
    QMouseEvent,
    QPaintEvent,
    QPalette,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QTableView,
    QWidget,
)

from app.engine.records import Hit
from app.gui.look.text import tr
from app.gui.look.theme import theme, token
from app.gui.look.type import font
from app.gui.panes.search.ink import SIDE, HitDelegate, act_words
from app.gui.panes.search.model import (
    Entry,
    Head,
    HitKey,
    HitModel,
    Tail,
    hit_key,
)

SNUG = 400
AHEAD = 8  # heights of the view that are kept below it


class HitList(QTableView):
    """Hits to walk and open. `chosen(Hit)`, `opened(Hit)`, `more_in(layer)`, `rest_wanted()`
    for what stands behind the tail, `left()`.

    `lively` paints the choice as active while the person types in the field above.
    """

    chosen = Signal(object)
    opened = Signal(object)
    more_in = Signal(str)
    rest_wanted = Signal()
    left = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(tr("Hits"))
        self.lively = self.dimmed = False
        self.hovered = -1
        self.uniform = False
        self._quiet = False
        self.hits = HitModel(self)
        self.setModel(self.hits)
        self.painter_ = HitDelegate(self)
        self.setItemDelegate(self.painter_)
        self.hits.modelReset.connect(self.painter_.forget)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setCornerButtonEnabled(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.horizontalHeader().hide()
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.verticalHeader().setMinimumSectionSize(1)
        self.setFrameShape(QTableView.Shape.NoFrame)
        self.setMouseTracking(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setTabKeyNavigation(False)
        self.selectionModel().currentChanged.connect(self._on_current)
        self.verticalScrollBar().valueChanged.connect(self._on_scrolled)
        self.verticalScrollBar().rangeChanged.connect(self._on_scrolled)
        self._dress()
        theme().changed.connect(self._dress)

    # ------------------------------------------------------------------ choice

    def settle(self) -> None:
        """The rows are others now: give them their heights; the topmost stays where it is."""
        many = self.hits.rowCount() > SNUG
        top = self.rowAt(0) if many != self.uniform else -1
        y = self.rowViewportPosition(top)
        if many and self.uniform:
            return
        self.uniform = many
        self._size_rows()
        if top >= 0:
            self._stand(top, y)

    def anchor(self) -> tuple[HitKey | None, int]:
        """The first hit that is wholly seen, as (`hit_key`, px from the top of the view)."""
        row = max(self.rowAt(0), 0)
        for at in range(row, min(row + 4, self.hits.rowCount())):
            entry, y = self.hits.entry(at), self.rowViewportPosition(at)
            if isinstance(entry, Hit) and y >= 0:
                return hit_key(entry), y
        return None, 0

    def hold(self, anchor: tuple[HitKey | None, int]) -> None:
        """Scroll so that the hit of an earlier `anchor` stands where it stood."""
        row = self.hits.row_of(anchor[0]) if anchor[0] is not None else -1
        if row >= 0:
            self._stand(row, anchor[1])

    def _stand(self, row: int, y: int) -> None:
        self.updateGeometries()
        bar = self.verticalScrollBar()
        bar.setValue(bar.value() + self.rowViewportPosition(row) - y)

    def _size_rows(self) -> None:
        header = self.verticalHeader()
        if self.uniform:
            header.setDefaultSectionSize(self.painter_.height(None, 0))
            return
        for row, entry in enumerate(self.hits.entries()[:SNUG]):
            want = self.painter_.height(entry, row)
            if header.sectionSize(row) != want:
                header.resizeSection(row, want)

    def set_dimmed(self, on: bool) -> None:
        """What is listed is no longer what is asked for; better is on its way."""
        if on != self.dimmed:
            self.dimmed = on
            self.viewport().update()

    def current(self) -> Hit | None:
        entry = self.hits.entry(self.currentIndex().row())
        return entry if isinstance(entry, Hit) and self.currentIndex().isValid() else None

    def choose(self, row: int, *, quiet: bool = False) -> bool:
        """Make the hit of that row current; `quiet` says so to nobody."""
        if not isinstance(self.hits.entry(row), Hit):
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
        if row >= self.hits.rowCount():
            self.hits.ask_more()
        return False

    def _on_scrolled(self) -> None:
        """More is asked for some views before the end, so that who pages on does not arrive."""
        bar = self.verticalScrollBar()
        if bar.value() >= bar.maximum() - AHEAD * bar.pageStep():
            self.hits.ask_more()

    def _on_current(self, now: QModelIndex, before: QModelIndex) -> None:
        entry = self.hits.entry(now.row())
        if isinstance(entry, Hit) and not self._quiet:
            self.chosen.emit(entry)

    # ------------------------------------------------------------------ Qt's side

    def _dress(self) -> None:
        palette = QPalette(self.palette())
        for role in (QPalette.ColorRole.Base, QPalette.ColorRole.Highlight):
            palette.setColor(role, token("canvas"))
        self.setPalette(palette)
        self.viewport().setPalette(palette)
        self.painter_.forget()
        self._size_rows()

    def paintEvent(self, event: QPaintEvent) -> None:
        self.painter_.begin()
        super().paintEvent(event)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.LanguageChange, QEvent.Type.LocaleChange):
            self.painter_.forget()
            self.viewport().update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width() and not self.uniform:
            self._size_rows()

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
        entry = self._act_at(event)
        if event.button() != Qt.MouseButton.LeftButton:
            return
        if isinstance(entry, Head):
            self.more_in.emit(entry.key)
        elif isinstance(entry, Tail):
            self.rest_wanted.emit()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        index = self.indexAt(event.position().toPoint())
        entry = self.hits.entry(index.row()) if index.isValid() else None
        if isinstance(entry, Hit):
            self.opened.emit(entry)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        index = self.indexAt(event.position().toPoint())
        over = index.row() if self._act_at(event) is not None else -1
        if over != self.hovered:
            self.hovered = over
            shape = Qt.CursorShape.PointingHandCursor if over >= 0 else Qt.CursorShape.ArrowCursor
            self.viewport().setCursor(shape)
            self.viewport().update()

    def _act_at(self, event: QMouseEvent) -> Entry | None:
        """The row whose words to click are under the pointer."""
        at = event.position().toPoint()
        index = self.indexAt(at)
        entry = self.hits.entry(index.row()) if index.isValid() else None
        if not (words := act_words(entry)):
            return None
        used: QFont = font("small", 500)
        left = self.viewport().width() - self.painter_.margin() - SIDE
        left -= round(QFontMetricsF(used).horizontalAdvance(words)) + 4
        return entry if at.x() >= left else None
