"""The transcript as a sheet: rows of uneven height, laid out only where they are seen.

Invariant: what stands at the top of the view stays there when rows above it are added, measured or
folded, and when the width changes. Row and offset are the truth; the scroll bar follows.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QAccessibleEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPalette,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QWidget

from app.gui.look.theme import theme, token
from app.gui.panes.timeline.blocks import Block
from app.gui.panes.timeline.heights import Heights
from app.gui.panes.timeline.ink import Hot, Inker, Laid, State

log = logging.getLogger(__name__)
MARGIN = 24
WIDEST = 880  # px of the column
SIDE_FROM = 640  # px of column from which a summary stands beside its messages
HALF = 0.5  # share of the column that compacted messages keep
STEP = 48  # px of one wheel notch or arrow


class Sheet(QAbstractScrollArea):
    """Blocks, one of them current. `acted(Block, act)` for links, buttons and folds."""

    acted = Signal(object, str)
    moved = Signal(object)  # the current Block
    scrolled = Signal(int)  # index of the item at the top
    menu_wanted = Signal(object, object)
    selected = Signal(str)  # text that was marked with the mouse

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setFrameShape(QAbstractScrollArea.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.viewport().setMouseTracking(True)
        self.viewport().setCursor(Qt.CursorShape.ArrowCursor)
        self.ink = Inker()
        self.blocks: list[Block] = []
        self.opened: set[str] = set()
        self._where: dict[str, int] = {}
        self._heights = Heights()
        self._real: set[int] = set()
        self._top, self._offset = 0, 0
        self._current = -1
        self._anchor_row = -1
        self._hover: tuple[int, str] = (-1, "")
        self._width = 0.0
        self._syncing = False
        self.dim_outside: Callable[[Block], bool] = lambda block: False
        self.marks_of: Callable[[Block, Laid], dict[int, list[tuple[int, int, object]]]] | None = (
            None
        )
        self.overlay: Callable[[QPainter], None] | None = None
        self.extra: Callable[[int], int] | None = None  # px a row gets for what stands beside it
        self.verticalScrollBar().setSingleStep(STEP)
        self.verticalScrollBar().valueChanged.connect(self._on_bar)
        self._dress()
        theme().changed.connect(self._dress)

    # ------------------------------------------------------------------ content

    def set_blocks(self, blocks: Sequence[Block], *, stay: str = "top") -> None:
        """Show these. `stay`: "top" keeps what stands at the top, "end" follows the end."""
        top_id = self.blocks[self._top].id if self._top < len(self.blocks) else ""
        top_at = self.blocks[self._top].at if self._top < len(self.blocks) else 0
        now = self.current()
        self.blocks = list(blocks)
        self._where = {block.id: i for i, block in enumerate(self.blocks)}
        self._measure_again()
        self._current = self._where.get(now.id, -1) if now else -1
        self._anchor_row = self._current
        if stay == "end":
            self.to_end()
        elif stay == "start" or not top_id:
            self._top, self._offset = 0, 0
        elif top_id in self._where:
            self._top = self._where[top_id]
        else:
            self._top = next((i for i, b in enumerate(self.blocks) if b.at >= top_at), 0)
            self._offset = 0
        self._settle()

    def _measure_again(self) -> None:
        self._width = self.column()
        self._real.clear()
        full, half = self._width, self._width * HALF
        beside = self.beside()
        self._heights = Heights(
            [self.ink.estimate(b, half if b.group and beside else full) for b in self.blocks]
        )

    def column(self) -> float:
        """Width of the column in px."""
        left = self.left()
        return float(max(min(self.viewport().width() - left - 20, WIDEST), 160))

    def left(self) -> int:
        return MARGIN if self.window().width() >= 1000 else 16

    def beside(self) -> bool:
        """Whether a summary has room beside its messages."""
        return self.column() >= SIDE_FROM

    def width_of(self, block: Block) -> float:
        if block.group and self.beside():
            return self._width * HALF
        return self._width

    def laid(self, at: int) -> Laid:
        block = self.blocks[at]
        return self.ink.lay(block, self.width_of(block), block.id in self.opened)

    def measure(self, at: int) -> int:
        """The real height of a row, laid out if need be."""
        if at in self._real:
            return self._heights[at]
        high = self.laid(at).height
        if self.extra is not None:
            self._real.add(at)  # `extra` may ask for the rows around
            high += self.extra(at)
        self._real.add(at)
        self._heights.set(at, high)
        return high

    def remeasure(self, at: int) -> None:
        """Row `at` changed its height (it was opened or folded)."""
        self._real.discard(at)
        if self.blocks[at].group:
            group = self.blocks[at].group
            n = at
            while n < len(self.blocks) and self.blocks[n].group == group:
                self._real.discard(n)
                n += 1
        self.measure(at)
        self._settle()

    def row_of(self, block_id: str) -> int:
        return self._where.get(block_id, -1)

    # ------------------------------------------------------------------ current row

    def current(self) -> Block | None:
        return self.blocks[self._current] if 0 <= self._current < len(self.blocks) else None

    def current_row(self) -> int:
        return self._current

    def chosen(self) -> list[Block]:
        """The current block, or all between it and where Shift began."""
        if self._current < 0:
            return []
        low, high = sorted((self._current, max(self._anchor_row, 0)))
        return self.blocks[low : high + 1]

    def set_current(self, at: int, *, show: str = "near", extend: bool = False) -> None:
        """Make row `at` current. `show`: "near" scrolls as little as needed, "top", "middle"."""
        if not 0 <= at < len(self.blocks):
            return
        changed = at != self._current
        self._current = at
        if not extend:
            self._anchor_row = at
        self.show_row(at, show)
        if changed:
            self.setAccessibleDescription(self.laid(at).shown.spoken)
            QAccessible.updateAccessibility(
                QAccessibleEvent(self, QAccessible.Event.DescriptionChanged)
            )
            self.moved.emit(self.blocks[at])
        self.viewport().update()

    def show_row(self, at: int, how: str = "near") -> None:
        high, view = self.measure(at), self.viewport().height()
        y = self.y_of(at)
        if how == "near":
            if y >= 0 and y + high <= view:
                return
            how = "top" if y < 0 or high > view else "bottom"
        room = {"top": 8, "middle": max((view - high) // 3, 8)}.get(how, view - high - 8)
        self._top, self._offset = at, 0
        self._walk(-room)
        self._settle()

    def y_of(self, at: int) -> int:
        """Where row `at` begins, in px of the view."""
        return self._heights.top(at) - self._heights.top(self._top) - self._offset

    def height_of(self, at: int) -> int:
        return self._heights[at]

    def visible(self) -> range:
        """Rows that are seen, also in part."""
        at, y = self._top, -self._offset
        high = self.viewport().height()
        while at < len(self.blocks) and y < high:
            y += self.measure(at)
            at += 1
        return range(self._top, at)

    def at_end(self) -> bool:
        bar = self.verticalScrollBar()
        return bar.value() >= bar.maximum() - 4

    def to_end(self) -> None:
        if not self.blocks:
            return
        self._top, self._offset = len(self.blocks) - 1, 0
        self._offset = self.measure(self._top)
        self._walk(-self.viewport().height())
        self._settle()

    # ------------------------------------------------------------------ scrolling

    def _walk(self, by: int) -> None:
        """Move the top by `by` px, measuring each row that is passed."""
        self._offset += by
        while self._offset < 0 and self._top > 0:
            self._top -= 1
            self._offset += self.measure(self._top)
        self._offset = max(self._offset, 0)
        while self._top < len(self.blocks) - 1 and self._offset >= self.measure(self._top):
            self._offset -= self.measure(self._top)
            self._top += 1

    def _on_bar(self, value: int) -> None:
        if self._syncing or not self.blocks:
            return
        now = self._heights.top(self._top) + self._offset
        by = value - now
        if abs(by) <= 3 * self.viewport().height():
            self._walk(by)
        else:
            self._top = max(self._heights.at(value), 0)
            self._offset = max(value - self._heights.top(self._top), 0)
        if value >= self.verticalScrollBar().maximum():
            self.to_end()
            return
        self._settle()

    def _settle(self) -> None:
        """Measure what is seen, keep the end in place, and bring the scroll bar up to date."""
        if self.blocks:
            self._top = min(self._top, len(self.blocks) - 1)
            seen = self.visible()
            if seen.stop == len(self.blocks):
                bottom = self.y_of(seen.stop - 1) + self.measure(seen.stop - 1) + 16
                if bottom < self.viewport().height():
                    self._walk(bottom - self.viewport().height())
                    self.visible()
        bar = self.verticalScrollBar()
        self._syncing = True
        bar.setPageStep(self.viewport().height())
        bar.setRange(0, max(self._heights.total() + 16 - self.viewport().height(), 0))
        bar.setValue(self._heights.top(self._top) + self._offset if self.blocks else 0)
        self._syncing = False
        if self.blocks:
            self.scrolled.emit(self.blocks[self._top].at)
        self.viewport().update()

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        """Everything is painted anew; Qt must not move pixels."""

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self.column() != self._width:
            end = self.at_end() and bool(self._real)
            self._measure_again()
            if end:
                self.to_end()
        self._settle()

    def event(self, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self.viewport().update()
        return super().event(event)

    def _dress(self) -> None:
        palette = QPalette(self.palette())
        for role in (QPalette.ColorRole.Base, QPalette.ColorRole.Window):
            palette.setColor(role, token("canvas"))
        self.setPalette(palette)
        self.ink.forget()
        if self.blocks:
            self._measure_again()
            self._settle()
        self.viewport().update()

    def sizeHint(self) -> QSize:
        return QSize(640, 480)

    # ------------------------------------------------------------------ painting

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        try:
            self._paint(painter, QRectF(event.rect()))
        except Exception:
            log.exception("the transcript could not be painted")
        painter.end()

    def _paint(self, painter: QPainter, clip: QRectF) -> None:
        y = -self._offset
        left, focus = self.left(), self.hasFocus()
        low, high = sorted((self._current, self._anchor_row))
        for at in self.visible():
            block, laid = self.blocks[at], self.laid(at)
            state = State(
                current=at == self._current,
                chosen=low <= at <= high and self._current >= 0,
                focus=focus,
                dim=bool(block.group) or self.dim_outside(block),
                hover=self._hover[1] if self._hover[0] == at else "",
            )
            if self.marks_of is not None:
                state.marks = self.marks_of(block, laid)  # type: ignore[assignment]
            self.ink.paint(painter, block, laid, left, y, state, clip)
            y += self._heights[at]
        if self.overlay is not None:
            self.overlay(painter)

    # ------------------------------------------------------------------ pointer and keys

    def hit(self, at: QPointF) -> tuple[int, QPointF]:
        """Row under a point and the point inside it; -1 when there is none."""
        y = -self._offset
        for row in self.visible():
            high = self._heights[row]
            if y <= at.y() < y + high:
                return row, QPointF(at.x() - self.left(), at.y() - y)
            y += high
        return -1, at

    def _hot(self, at: QPointF) -> tuple[int, Hot | None]:
        row, inside = self.hit(at)
        if row < 0:
            return row, None
        hots = [h for h in self.laid(row).hots if h.box.contains(inside)]
        return row, min(hots, key=lambda h: h.box.width() * h.box.height(), default=None)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        row, hot = self._hot(event.position())
        now = (row, hot.act) if hot is not None else (-1, "")
        if now != self._hover:
            self._hover = now
            self.viewport().setCursor(
                Qt.CursorShape.PointingHandCursor if hot else Qt.CursorShape.ArrowCursor
            )
            self.viewport().update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        row, _ = self.hit(event.position())
        if row >= 0:
            extend = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
            self._choose(row, extend)
        if event.button() == Qt.MouseButton.RightButton and row >= 0:
            self.menu_wanted.emit(self.blocks[row], event.globalPosition().toPoint())

    def _choose(self, row: int, extend: bool) -> None:
        """Choose a row under the pointer without scrolling."""
        self._current = row
        if not extend:
            self._anchor_row = row
        self.moved.emit(self.blocks[row])
        self.viewport().update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton:
            return
        row, hot = self._hot(event.position())
        if row >= 0 and hot is not None:
            self.acted.emit(self.blocks[row], hot.act)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        shift = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        key = event.key()
        if event.modifiers() & ~(
            Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.KeypadModifier
        ):
            event.ignore()
            return
        bar = self.verticalScrollBar()
        if key in (Qt.Key.Key_Down, Qt.Key.Key_J):
            self.step(1, extend=shift and key == Qt.Key.Key_Down)
        elif key in (Qt.Key.Key_Up, Qt.Key.Key_K):
            self.step(-1, extend=shift and key == Qt.Key.Key_Up)
        elif key == Qt.Key.Key_PageDown:
            bar.setValue(bar.value() + bar.pageStep() - STEP)
        elif key == Qt.Key.Key_PageUp:
            bar.setValue(bar.value() - bar.pageStep() + STEP)
        elif key == Qt.Key.Key_Home:
            self.set_current(0, extend=shift)
        elif key == Qt.Key.Key_End:
            self.to_end()
            self.set_current(len(self.blocks) - 1, extend=shift)
        elif key == Qt.Key.Key_Space and (block := self.current()) is not None:
            self.act_on(block)
        else:
            event.ignore()

    def act_on(self, block: Block) -> None:
        """The main act of a block: open or fold it, or follow its link."""
        laid = self.laid(self._where[block.id])
        if laid.hots:
            self.acted.emit(block, laid.hots[0].act)

    def step(self, by: int, *, extend: bool = False) -> None:
        """To the next or previous row; a row taller than the view is scrolled through first."""
        if self._current < 0:
            self.set_current(self._top, extend=extend)
            return
        y, high = self.y_of(self._current), self._heights[self._current]
        view = self.viewport().height()
        bar = self.verticalScrollBar()
        if by > 0 and y + high > view and y < view:
            bar.setValue(bar.value() + min(STEP * 3, y + high - view + 8))
            return
        if by < 0 and y < 0 and y + high > 0:
            bar.setValue(bar.value() - min(STEP * 3, -y + 8))
            return
        self.set_current(self._current + by, extend=extend)

    def focusInEvent(self, event: object) -> None:
        if self._current < 0 and self.blocks:
            self._current = self._anchor_row = self._top
        self.viewport().update()

    def focusOutEvent(self, event: object) -> None:
        self.viewport().update()

    def leaveEvent(self, event: QEvent) -> None:
        self._hover = (-1, "")
        self.viewport().update()

    def marked_text(self) -> str:
        """The text that was marked with the mouse."""
        return ""
