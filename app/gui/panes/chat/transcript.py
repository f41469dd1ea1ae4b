"""The transcript's column: rows for pieces, at most 680 px wide, the newest at the bottom.

Invariant: nothing jumps. Following the end, it stays at the end; scrolled up, the row at the top of
what is seen stays where it is, whatever is added above or below. At most `MOST` rows exist; older
and newer ones are brought in by page.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QElapsedTimer, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QPalette, QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QSizePolicy, QVBoxLayout, QWidget

from app.gui.look.text import tr
from app.gui.panes.chat.cards import ApprovalRow, FailedRow, ToolRow, WaitingRow
from app.gui.panes.chat.model import Piece
from app.gui.panes.chat.rows import AnswerRow, CompactionRow, Hub, QuietRow, Row, UserRow
from app.gui.widgets.buttons import Button
from app.gui.widgets.labels import Link

WIDEST = 680
PAGE = 40  # rows mounted at first, and brought in at a time
MOST = 160  # rows that exist at once
SLICE = 6  # ms of making rows at a time; laying them out costs as much again
NEAR = 6  # px from the end that still count as the end

ROWS: dict[str, type[Row]] = {
    "user": UserRow, "assistant": AnswerRow, "live": AnswerRow, "broken": AnswerRow,
    "tool": ToolRow, "approval": ApprovalRow, "waiting": WaitingRow, "failed": FailedRow,
    "compaction": CompactionRow,
}  # fmt: skip


class _Sheet(QWidget):
    """The paper in the scroll area. `laid` when its size changed, rows being in their places."""

    laid = Signal()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.laid.emit()


class TranscriptView(QScrollArea):
    """Rows of pieces. `earlier_wanted()`: the first of what is loaded is shown, give more; so
    `later_wanted()` of the last one. `newest_wanted()`: the end is asked for and not loaded."""

    earlier_wanted = Signal()
    later_wanted = Signal()
    newest_wanted = Signal()
    end_left = Signal(bool)  # True: scrolled up

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.hub = hub
        self._pieces: list[Piece] = []
        self._rows: dict[str, Row] = {}
        self._lo = self._hi = 0
        self._more_before = self._more_after = False
        self._at_end = True
        self._anchor: tuple[Row, int] | None = None
        self._moving = False
        self.setAccessibleName(tr("Transcript"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        palette = QPalette(self.palette())
        palette.setColor(QPalette.ColorRole.Window, Qt.GlobalColor.transparent)
        self.setPalette(palette)
        self.viewport().setAutoFillBackground(False)
        self._settling = QTimer(self, singleShot=True, interval=0)
        self._settling.timeout.connect(self._keep_place)
        self._filling = QTimer(self, singleShot=True, interval=0)
        self._filling.timeout.connect(self._fill)
        self.sheet = _Sheet()
        self._outer = QHBoxLayout(self.sheet)
        self._outer.setContentsMargins(0, 0, 0, 0)
        self.column = QWidget()
        self.column.setMaximumWidth(WIDEST)
        self.column.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self._box = QVBoxLayout(self.column)
        self._box.setContentsMargins(0, 4, 0, 20)
        self._box.setSpacing(0)
        self.earlier = Link(tr("Earlier messages"))
        self.earlier.clicked.connect(self.show_earlier)
        self.later = Link(tr("Later messages"))
        self.later.clicked.connect(self.show_later)
        self._box.addWidget(self.earlier, 0, Qt.AlignmentFlag.AlignHCenter)
        self._box.addWidget(self.later, 0, Qt.AlignmentFlag.AlignHCenter)
        self._box.addStretch(1)
        self._outer.addWidget(self.column)
        self.setWidget(self.sheet)
        self.sheet.setAutoFillBackground(False)  # the area switched it on
        self.newest = Button(tr("Newest"), icon="arrow-down", parent=self)
        self.newest.clicked.connect(self.show_newest)
        self.newest.hide()
        self.sheet.laid.connect(self._on_laid)
        self.verticalScrollBar().rangeChanged.connect(lambda *_: self._keep_place())
        self.verticalScrollBar().valueChanged.connect(self._on_scrolled)
        self._settle_links()

    # ------------------------------------------------------------------ what is shown

    def show_pieces(
        self, pieces: Sequence[Piece], *, more_before: bool = False, more_after: bool = False
    ) -> None:
        """Show a newer state: rows are told, made or taken away; the place is kept."""
        old_last = self._whole()
        mounted = self._pieces[self._lo : self._hi]
        first = next((p.key for p in mounted if p.item.seq), "")
        last = mounted[-1].key if mounted else ""
        self._pieces = list(pieces)
        self._more_before, self._more_after = more_before, more_after
        where = {piece.key: at for at, piece in enumerate(self._pieces)}
        count = len(self._pieces)
        self._hi = count if old_last or last not in where else where[last] + 1
        self._lo = where.get(first, max(0, self._hi - PAGE))
        if self._at_end:
            self._lo = max(self._lo, self._hi - MOST)
        self._mount()

    def clear(self) -> None:
        """Another session: nothing is shown, and the end is followed."""
        self._pieces, self._lo, self._hi, self._more_after = [], 0, 0, False
        self._at_end, self._anchor = True, None
        self._mount()
        self.newest.hide()

    def append_live(self, key: str, text: str) -> bool:
        """More text for a streaming row. False when it is not shown."""
        row = self._rows.get(key)
        if not isinstance(row, AnswerRow):
            return False
        row.append(text)
        return True

    def set_live(self, key: str, text: str) -> None:
        """The whole text of a streaming row so far; what it has of it is not written again."""
        row = self._rows.get(key)
        if isinstance(row, AnswerRow):
            row.catch_up(text)

    def rename(self, keys: dict[str, str]) -> None:
        """A streamed text is stored now: its row goes on as the row of that item."""
        for old, new in keys.items():
            row = self._rows.get(old)
            if row is None or new in self._rows:
                continue
            self._rows = {new if k == old else k: r for k, r in self._rows.items()}

    def rows(self) -> list[Row]:
        """The rows that exist, from the top."""
        shown = self._pieces[self._lo : self._hi]
        return [self._rows[p.key] for p in shown if p.key in self._rows]

    def filling(self) -> bool:
        """Whether rows are still being made."""
        return self._filling.isActive()

    def row(self, key: str) -> Row | None:
        return self._rows.get(key)

    # ------------------------------------------------------------------ paging

    def show_earlier(self) -> None:
        if self._lo == 0:
            self.earlier_wanted.emit()
            return
        self._hold()
        self._lo = max(0, self._lo - PAGE)
        if self._hi - self._lo > MOST:
            self._hi = self._lo + MOST
        self._at_end = False
        self._mount()

    def show_later(self) -> None:
        if self._hi >= len(self._pieces) and self._more_after:
            self.later_wanted.emit()
            return
        self._hold()
        self._hi = min(len(self._pieces), self._hi + PAGE)
        self._lo = max(self._lo, self._hi - MOST)
        self._mount()

    def show_newest(self) -> None:
        """To the end, and follow it."""
        if self._more_after:
            self.newest_wanted.emit()
            return
        self._hi = len(self._pieces)
        self._lo = max(self._lo, self._hi - PAGE)
        self._at_end, self._anchor = True, None
        self._mount()
        self._keep_place()

    def reveal(self, key: str) -> bool:
        """Scroll to a row, brought in if need be. False when it is not loaded."""
        at = next((n for n, piece in enumerate(self._pieces) if piece.key == key), -1)
        if at < 0:
            return False
        if not self._lo <= at < self._hi:
            self._lo = max(0, at - PAGE // 2)
            self._hi = min(len(self._pieces), self._lo + PAGE)
        self._at_end = False
        self._anchor = None
        self._mount(key)
        self._anchor = (self._rows[key], 24)
        self._keep_place()
        return True

    def name_days(self) -> None:
        """Midnight passed: lines that name a day by today name it anew."""
        for row in self._rows.values():
            if isinstance(row, QuietRow):
                row.take(row.piece)

    # ------------------------------------------------------------------ rows

    def _mount(self, first: str = "") -> None:
        """Make the rows be what is to be shown; the row `first` at once, others in slices."""
        wanted = self._pieces[self._lo : self._hi]
        keys = {piece.key for piece in wanted}
        for key in [k for k in self._rows if k not in keys]:
            self._drop(key)
        at = 1  # 0 is the link to earlier ones
        for piece in wanted:
            row = self._rows.get(piece.key)
            if row is None:
                continue
            if type(row) is not ROWS.get(piece.kind, QuietRow):
                self._drop(piece.key)
                continue
            if row.piece != piece:
                row.take(piece)
            there = self._box.itemAt(at)
            if there is None or there.widget() is not row:
                self._box.removeWidget(row)
                self._box.insertWidget(at, row)
            at += 1
        self._settle_links()
        self._fill(first)

    def _fill(self, first: str = "") -> None:
        """Make missing rows for a slice of time, from the newest up."""
        clock = QElapsedTimer()
        clock.start()
        wanted = self._pieces[self._lo : self._hi]
        below: QWidget = self.later
        left = False
        for piece in reversed(wanted):
            row = self._rows.get(piece.key)
            if row is not None:
                below = row
            elif piece.key == first or clock.elapsed() < SLICE:
                below = self._make(piece, below)
            else:
                left = True
        self._settling.start()
        if left:
            self._filling.start()

    def _make(self, piece: Piece, below: QWidget) -> Row:
        row = ROWS.get(piece.kind, QuietRow)(self.hub, piece)
        self._rows[piece.key] = row
        self._box.insertWidget(self._box.indexOf(below), row)
        return row

    def _drop(self, key: str) -> None:
        row = self._rows.pop(key)
        if self._anchor is not None and self._anchor[0] is row:
            self._anchor = None
        row.hide()
        self._box.removeWidget(row)
        row.deleteLater()

    def _settle_links(self) -> None:
        self.earlier.setVisible(self._lo > 0 or self._more_before)
        self.later.setVisible(not self._whole())

    def _whole(self) -> bool:
        """Whether the newest row of the session is among those that are to be shown."""
        return self._hi >= len(self._pieces) and not self._more_after

    # ------------------------------------------------------------------ keeping the place

    def at_end(self) -> bool:
        return self._at_end

    def _hold(self) -> None:
        """Remember the row at the top of what is seen, and where it stands."""
        top = self.verticalScrollBar().value()
        for row in self.rows():
            y = row.mapTo(self.sheet, QPoint(0, 0)).y()
            if y + row.height() > top + 4:
                self._anchor = (row, y - top)
                return

    def _on_laid(self) -> None:
        self._keep_place()
        self._settling.start()  # once more when everything posted meanwhile has been laid out

    def _keep_place(self) -> None:
        bar = self.verticalScrollBar()
        self._moving = True
        if self._at_end:
            bar.setValue(bar.maximum())
        elif self._anchor is not None:
            row, offset = self._anchor
            bar.setValue(row.mapTo(self.sheet, QPoint(0, 0)).y() - offset)
        self._moving = False
        self._show_button()

    def _on_scrolled(self, value: int) -> None:
        if self._moving:
            return
        self._at_end = self._whole() and value >= self.verticalScrollBar().maximum() - NEAR
        if self._at_end:
            self._anchor = None
        else:
            self._hold()
        self._show_button()

    def _show_button(self) -> None:
        away = not self._at_end
        if away != self.newest.isVisibleTo(self):
            self.newest.setVisible(away)
            self.end_left.emit(away)
        if away:
            hint = self.newest.sizeHint()
            x = (self.width() - hint.width()) // 2
            self.newest.setGeometry(
                x, self.height() - hint.height() - 8, hint.width(), hint.height()
            )
            self.newest.raise_()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        # The column stays in line with the composer, also when a scroll bar shows.
        bar = self.width() - self.viewport().width()
        self._outer.setContentsMargins(16, 0, max(16 - bar, 0), 0)
        self._settling.start()

    def step(self, by: int) -> None:
        """One page (±1) by keyboard."""
        bar = self.verticalScrollBar()
        bar.setValue(bar.value() + by * bar.pageStep())
