"""Uneven rows that people use: one is current, they can be walked, clicked and marked.

See `scrolled_rows.py` for how rows are laid out and scrolled. Marked text lies within one part of
one row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QEvent, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QAccessible, QAccessibleEvent, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QWidget

from app.gui.widgets.prose import Prose
from app.gui.widgets.scrolled_rows import STEP, HasId, ScrolledRows


@dataclass
class Hot:
    """A place to click in a row. `act` goes to whoever owns the rows; `name` is said of it."""

    box: QRectF
    act: str
    name: str
    kind: str = "link"


@dataclass(frozen=True)
class Marked:
    """Text marked with the mouse: in which row and part, from where to where (UTF-16 units)."""

    row: str
    part: int
    start: int
    end: int


class UnevenRows(ScrolledRows):
    """Rows of their own heights, one of them current.

    `acted(row, act)` for hot spots and Space, `moved(row)` as the current row changes. j, k,
    arrows, Page, Home and End walk; Shift extends.
    """

    acted = Signal(object, str)
    moved = Signal(object)
    menu_wanted = Signal(object, object)  # row, global QPoint

    def __init__(self, name: str, widest: int, parent: QWidget | None = None) -> None:
        self.hover: tuple[int, str] = (-1, "")
        self.marked: Marked | None = None
        self._current = self._anchor = -1
        self._press: tuple[int, int, int] | None = None
        super().__init__(widest, parent)
        self.setAccessibleName(name)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.viewport().setMouseTracking(True)

    # ------------------------------------------------------------------ what a subclass says

    def hots(self, at: int) -> Sequence[Hot]:
        """Where a row can be clicked, in px from its upper left corner."""
        return ()

    def prose_at(self, at: int, point: QPointF) -> tuple[int, Prose, QPointF] | None:
        """(part, text, point in the text) under a point of a row, for marking with the mouse."""
        return None

    def text_of(self, at: int, part: int) -> str:
        """The shown text of a part."""
        return ""

    def spoken(self, at: int) -> str:
        """The row as one sentence."""
        return ""

    def set_rows(
        self, rows: Sequence[HasId], *, stay: str = "top", guesses: Sequence[int] | None = None
    ) -> None:
        """Show these; see `ScrolledRows`. Current row and marked text stay with their rows."""
        now = self.current()
        super().set_rows(rows, stay=stay, guesses=guesses)
        self._current = self.row_of(now.id) if now is not None else -1
        self._anchor = self._current
        if self.marked is not None and self.row_of(self.marked.row) < 0:
            self.marked = None

    # ------------------------------------------------------------------ current row

    def current(self) -> Any:
        """The current row, None when there is none."""
        return self.rows[self._current] if 0 <= self._current < len(self.rows) else None

    def current_at(self) -> int:
        return self._current

    def chosen_range(self) -> range:
        """Indexes of the current row, or of all between it and where Shift began."""
        if self._current < 0:
            return range(0)
        low, high = sorted((self._current, max(self._anchor, 0)))
        return range(low, high + 1)

    def chosen(self) -> list[Any]:
        return [self.rows[at] for at in self.chosen_range()]

    def set_current(self, at: int, *, show: str = "near", extend: bool = False) -> None:
        """Make row `at` current. `show`: "near" scrolls as little as needed, "top", "middle"."""
        if not 0 <= at < len(self.rows):
            return
        self.show_row(at, show)
        self._choose(at, extend)

    def _choose(self, at: int, extend: bool) -> None:
        changed = at != self._current
        self._current = at
        if not extend:
            self._anchor = at
        if changed:
            self.setAccessibleDescription(self.spoken(at))
            told = QAccessibleEvent(self, QAccessible.Event.DescriptionChanged)
            QAccessible.updateAccessibility(told)
            self.moved.emit(self.rows[at])
        self.viewport().update()

    # ------------------------------------------------------------------ pointer

    def hit(self, at: QPointF) -> tuple[int, QPointF]:
        """Row under a point of the view and the point inside it; -1 when there is none."""
        y = -self._offset
        for row in self.visible():
            if y <= at.y() < y + self._heights[row]:
                return row, QPointF(at.x() - self.left(), at.y() - y)
            y += self._heights[row]
        return -1, at

    def hot(self, at: QPointF) -> tuple[int, Hot | None]:
        """Row and smallest hot spot under a point."""
        row, inside = self.hit(at)
        found = [h for h in self.hots(row) if h.box.contains(inside)] if row >= 0 else []
        return row, min(found, key=lambda h: h.box.width() * h.box.height(), default=None)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        row, inside = self.hit(event.position())
        if row < 0:
            return
        self._choose(row, bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier))
        if event.button() == Qt.MouseButton.RightButton:
            self.menu_wanted.emit(self.rows[row], event.globalPosition().toPoint())
            return
        self.marked = None
        found = self.prose_at(row, inside)
        if found is not None:
            part, prose, point = found
            self._press = (row, part, prose.unit_at(point.x(), point.y()))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._press is not None and event.buttons() & Qt.MouseButton.LeftButton:
            self._mark(event.position())
            return
        row, hot = self.hot(event.position())
        now = (row, hot.act) if hot is not None else (-1, "")
        shape = Qt.CursorShape.PointingHandCursor if hot is not None else Qt.CursorShape.ArrowCursor
        if hot is None and row >= 0 and self.prose_at(*self.hit(event.position())) is not None:
            shape = Qt.CursorShape.IBeamCursor
        self.viewport().setCursor(shape)
        if now != self.hover:
            self.hover = now
            self.viewport().update()

    def _mark(self, at: QPointF) -> None:
        row, part, start = self._press or (-1, 0, 0)
        inside = QPointF(at.x() - self.left(), at.y() - self.y_of(row))
        found = self.prose_at(row, inside)
        if found is None or found[0] != part:
            return
        end = found[1].unit_at(found[2].x(), found[2].y())
        low, high = sorted((start, end))
        self.marked = Marked(self.rows[row].id, part, low, high) if low < high else None
        self.viewport().update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._press = None
        if event.button() != Qt.MouseButton.LeftButton or self.marked is not None:
            return
        row, hot = self.hot(event.position())
        if row >= 0 and hot is not None:
            self.acted.emit(self.rows[row], hot.act)

    def marked_text(self) -> str:
        """The text that was marked with the mouse, "" for none."""
        if self.marked is None:
            return ""
        text = self.text_of(self.row_of(self.marked.row), self.marked.part)
        wide = text.encode("utf-16-le", "surrogatepass")
        piece = wide[self.marked.start * 2 : self.marked.end * 2]
        return piece.decode("utf-16-le", "replace")

    def leaveEvent(self, event: QEvent) -> None:
        self.hover = (-1, "")
        self.viewport().update()

    # ------------------------------------------------------------------ keys

    def keyPressEvent(self, event: QKeyEvent) -> None:
        mods = Qt.KeyboardModifier
        shift = bool(event.modifiers() & mods.ShiftModifier)
        if event.modifiers() & ~(mods.ShiftModifier | mods.KeypadModifier):
            event.ignore()
            return
        key, bar = event.key(), self.verticalScrollBar()
        if key in (Qt.Key.Key_Down, Qt.Key.Key_J):
            self.step(1, extend=shift and key == Qt.Key.Key_Down)
        elif key in (Qt.Key.Key_Up, Qt.Key.Key_K):
            self.step(-1, extend=shift and key == Qt.Key.Key_Up)
        elif key in (Qt.Key.Key_PageDown, Qt.Key.Key_PageUp):
            by = bar.pageStep() - STEP
            bar.setValue(bar.value() + (by if key == Qt.Key.Key_PageDown else -by))
        elif key == Qt.Key.Key_Home:
            self.set_current(0, extend=shift)
        elif key == Qt.Key.Key_End:
            self.to_end()
            self.set_current(len(self.rows) - 1, extend=shift)
        elif key == Qt.Key.Key_Space and self._current >= 0:
            self.press(self._current)
        else:
            event.ignore()

    def press(self, at: int) -> None:
        """The main act of a row: its first hot spot."""
        found = list(self.hots(at))
        if found:
            self.acted.emit(self.rows[at], found[0].act)

    def step(self, by: int, *, extend: bool = False) -> None:
        """To the next or previous row; a row taller than the view is scrolled through first."""
        if self._current < 0:
            self.set_current(self._top, extend=extend)
            return
        y, high = self.y_of(self._current), self._heights[self._current]
        view, bar = self.viewport().height(), self.verticalScrollBar()
        if by > 0 and view < y + high and y < view:
            bar.setValue(bar.value() + min(STEP * 3, y + high - view + 8))
        elif by < 0 < y + high and y < 0:
            bar.setValue(bar.value() - min(STEP * 3, -y + 8))
        else:
            self.set_current(self._current + by, extend=extend)

    def focusInEvent(self, event: object) -> None:
        if self._current < 0 and self.rows:
            self._current = self._anchor = self._top
        self.viewport().update()

    def focusOutEvent(self, event: object) -> None:
        self.viewport().update()
