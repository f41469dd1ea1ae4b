"""The middle of the window: the stack of panes, and the inspector at its right edge.

Wide windows show the inspector beside the pane; below 1120 px it lies over it. Its owner is the
pane in front; the stage only gives it room.
"""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from app.gui.look.theme import token
from app.gui.widgets.paint import smooth
from app.gui.widgets.surfaces import Splitter

OVER_BELOW = 1120  # width of the window
LEAST, WIDEST = 280, 520


class InspectorBed(QWidget):
    """The ground the inspector lies on."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.box = QVBoxLayout(self)
        self.box.setContentsMargins(1, 0, 0, 0)
        self.content: QWidget | None = None

    def put(self, content: QWidget | None) -> None:
        if self.content is content:
            return
        if self.content is not None:
            self.content.hide()
            self.box.removeWidget(self.content)
            self.content.setParent(None)
        self.content = content
        if content is not None:
            self.box.addWidget(content)
            content.show()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = smooth(self)
        painter.fillRect(self.rect(), token("side"))
        if not isinstance(self.parent(), Splitter):  # beside the pane the handle is the line
            painter.fillRect(0, 0, 1, self.height(), token("line_strong"))
        painter.end()


class _Stack(QStackedWidget):
    """As narrow as the pane in front can be: one that was visited before takes no room from it."""

    def minimumSizeHint(self) -> QSize:
        front = self.currentWidget()
        return QSize() if front is None else front.minimumSizeHint()


class Stage(QWidget):
    """Stack and inspector. `inspector_seen(bool)` as it comes and goes."""

    inspector_seen = Signal(bool)

    def __init__(self, width: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.stack = _Stack()
        self.stack.currentChanged.connect(self.stack.updateGeometry)
        self.bed = InspectorBed()
        self.bed.setMinimumWidth(LEAST)
        self.bed.setMaximumWidth(WIDEST)
        self.splitter = Splitter(Qt.Orientation.Horizontal)
        self.splitter.addWidget(self.stack)
        self.splitter.addWidget(self.bed)
        self.splitter.setStretchFactor(0, 1)
        self.splitter.setStretchFactor(1, 0)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self.splitter)
        self._wish = True  # beside the pane, when there is room
        self._over = False  # over the pane, when there is none
        self._narrow = False
        self._wide = width
        self.bed.hide()
        self.splitter.splitterMoved.connect(self._on_moved)

    # ------------------------------------------------------------------ inspector

    def set_inspector(self, content: QWidget | None) -> None:
        """Show another pane's inspector, or none."""
        self.bed.put(content)
        self._over = False
        self._settle()

    def set_wish(self, on: bool) -> None:
        self._wish = on
        self._settle()

    def wish(self) -> bool:
        return self._wish

    def inspector_width(self) -> int:
        return self._wide

    def inspector_visible(self) -> bool:
        return self.bed.isVisibleTo(self)

    def lies_over(self) -> bool:
        return self._narrow and self._over

    def toggle(self) -> None:
        if self._narrow:
            self._over = not self._over
        else:
            self._wish = not self._wish
        self._settle()

    def close_over(self) -> bool:
        """Fold an inspector that lies over the pane. False when there was none."""
        if not self.lies_over():
            return False
        self._over = False
        self._settle()
        return True

    def set_narrow(self, narrow: bool) -> None:
        if narrow != self._narrow:
            self._narrow = narrow
            self._over = False
            self._settle()

    def _settle(self) -> None:
        seen = self.bed.content is not None and (self._over if self._narrow else self._wish)
        before = self.inspector_visible()
        if self._narrow and self.bed.parent() is not self:
            self.bed.setParent(self)
        elif not self._narrow and self.bed.parent() is not self.splitter:
            self.splitter.addWidget(self.bed)
        self.bed.setVisible(seen)
        if seen and self._narrow:
            self._place_over()
            self.bed.raise_()
        elif seen:
            whole = self.splitter.width()
            self.splitter.setSizes([max(whole - self._wide, 100), self._wide])
        if before != seen:
            self.inspector_seen.emit(seen)

    def _place_over(self) -> None:
        wide = min(self._wide, self.width() - 40)
        self.bed.setGeometry(self.width() - wide, 0, wide, self.height())

    def _on_moved(self, _at: int, _index: int) -> None:
        if self.bed.isVisible() and not self._narrow:
            self._wide = self.bed.width()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self.lies_over():
            self._place_over()
