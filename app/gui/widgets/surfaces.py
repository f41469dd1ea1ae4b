"""What lies on the paper: cards, wells, folds, hairlines, empty states, splitters."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import (
    QEasingCurve,
    QPropertyAnimation,
    QRectF,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QKeyEvent, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QSizePolicy,
    QSplitter,
    QSplitterHandle,
    QVBoxLayout,
    QWidget,
)

from app.gui.look.icons import paint_icon
from app.gui.look.theme import duration, theme, token
from app.gui.widgets.buttons import Button
from app.gui.widgets.labels import T
from app.gui.widgets.paint import focus_ring, rounded, smooth


class Card(QWidget):
    """Raised paper with a 1 px border, for a thing that can be acted on as one.

    `set_focused(True)` draws the 1.5 px accent outline of the card in focus; `tone` "warn" the
    border of a tool approval. Content goes into `self.box`.
    """

    def __init__(
        self, *, radius: int = 8, ground: str = "raised", margins: int = 0,
        parent: QWidget | None = None,
    ) -> None:  # fmt: skip
        super().__init__(parent)
        self._radius = radius
        self._ground = ground
        self._border = "line_strong"
        self._focused = False
        self.box = QVBoxLayout(self)
        self.box.setContentsMargins(margins, margins, margins, margins)
        self.box.setSpacing(0)
        theme().changed.connect(self.update)

    def set_focused(self, on: bool) -> None:
        if on != self._focused:
            self._focused = on
            self.update()

    def set_border(self, color: str) -> None:
        self._border = color
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = smooth(self)
        box = QRectF(self.rect())
        border, width = ("accent", 1.5) if self._focused else (self._border, 1.0)
        rounded(painter, box, self._radius, token(self._ground), token(border), width)
        painter.end()


class Ground(QWidget):
    """A plain ground of one token ("side", "sunken"); `radius` rounds it, `line` edges it."""

    def __init__(
        self, color: str, *, radius: int = 0, line: str = "", parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._color, self._radius, self._line = color, radius, line

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = smooth(self)
        rounded(painter, QRectF(self.rect()), self._radius, token(self._color))
        edge = token("line")
        if self._line == "left":
            painter.fillRect(0, 0, 1, self.height(), edge)
        elif self._line == "right":
            painter.fillRect(self.width() - 1, 0, 1, self.height(), edge)
        elif self._line == "top":
            painter.fillRect(0, 0, self.width(), 1, edge)
        elif self._line == "bottom":
            painter.fillRect(0, self.height() - 1, self.width(), 1, edge)
        painter.end()


class Hairline(QWidget):
    """A line of 1 px between things."""

    def __init__(self, vertical: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        if vertical:
            self.setFixedWidth(1)
        else:
            self.setFixedHeight(1)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = smooth(self)
        painter.fillRect(self.rect(), token("line"))
        painter.end()


def side_margin(widget: QWidget, wide: int = 24) -> int:
    """Px beside a place's text: `wide`, at most 16 in a window below 1000 px (look.md, 4)."""
    return min(wide, 16) if widget.window().width() < 1000 else wide


class EmptyState(QWidget):
    """What will be here, how it gets here, and the act: left-aligned, in the upper third."""

    acted = Signal()

    def __init__(
        self,
        head: str,
        sentence: str = "",
        act: str = "",
        *,
        icon: str = "",
        key: str = "",
        run: Callable[[], object] | None = None,
        margin: int = 24,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.head = T(head, "head", wrap=True)
        self.sentence = T(sentence, "body", "text_soft", wrap=True)
        self.sentence.setMaximumWidth(560)
        self._margin = margin
        self.button = Button(act, icon=icon, key=key)
        if not act:  # never setVisible(True) here: without a parent it would be a window
            self.button.hide()
        self.button.clicked.connect(self.acted)
        if run is not None:
            self.acted.connect(run)
        self._box = box = QVBoxLayout(self)
        box.setContentsMargins(margin, 24, margin, 24)
        box.setSpacing(6)
        box.addStretch(1)
        box.addWidget(self.head)
        box.addWidget(self.sentence)
        box.addSpacing(6)
        box.addWidget(self.button, 0, Qt.AlignmentFlag.AlignLeft)
        box.addStretch(4)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        side = side_margin(self, self._margin)
        self._box.setContentsMargins(side, 24, side, 24)

    def set_words(self, head: str, sentence: str = "", act: str = "") -> None:
        self.head.setText(head)
        self.sentence.setText(sentence)
        self.button.setText(act)
        self.button.setVisible(bool(act))


class FoldHead(QWidget):
    """The clickable head of a fold: chevron, then whatever `row` holds."""

    clicked = Signal()

    def __init__(self, name: str, height: int = 34, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.open = False
        self.setAccessibleName(name)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setMinimumHeight(height)
        self.row = QHBoxLayout(self)
        self.row.setContentsMargins(34, 0, 12, 0)
        self.row.setSpacing(8)

    def mouseReleaseEvent(self, event: object) -> None:
        self.clicked.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self.clicked.emit()
            return
        super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = smooth(self)
        box = QRectF(self.rect())
        if self.underMouse():
            rounded(painter, box.adjusted(2, 2, -2, -2), 6, token("hover"))
        name = "chevron-down" if self.open else "chevron-right"
        paint_icon(painter, name, 10, box.center().y() - 7, 14, "text_soft")
        if self.hasFocus():
            focus_ring(painter, box, 6)
        painter.end()


class Fold(QWidget):
    """A head that shows or hides a body in 140 ms. `toggled(bool)`.

    The body may be given as a function: it is made at the first unfolding.
    """

    toggled = Signal(bool)

    def __init__(
        self,
        name: str,
        body: QWidget | Callable[[], QWidget] | None = None,
        *,
        title: bool = True,
        height: int = 34,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.head = FoldHead(name, height)
        if title:
            self.head.row.addWidget(T(name, "body", weight=500, elide="right"), 1)
        self.head.clicked.connect(self.toggle)
        self._make = body
        self._body: QWidget | None = None
        self._moving: QPropertyAnimation | None = None
        self.box = QVBoxLayout(self)
        self.box.setContentsMargins(0, 0, 0, 0)
        self.box.setSpacing(0)
        self.box.addWidget(self.head)

    def is_open(self) -> bool:
        return self.head.open

    def toggle(self) -> None:
        self.set_open(not self.head.open)

    def set_open(self, on: bool, *, moving: bool = True) -> None:
        if on == self.head.open:
            return
        self.head.open = on
        self.head.update()
        body = self._made()
        if body is not None:
            self._move(body, on, duration(140) if moving and self.isVisible() else 0)
        self.toggled.emit(on)

    def _made(self) -> QWidget | None:
        if self._body is None and self._make is not None:
            self._body = self._make if isinstance(self._make, QWidget) else self._make()
            self._body.hide()
            self.box.addWidget(self._body)
        return self._body

    def _move(self, body: QWidget, on: bool, milliseconds: int) -> None:
        if self._moving is not None:
            self._moving.stop()
            self._moving = None
        if not milliseconds:
            body.setMaximumHeight(16_777_215)
            body.setVisible(on)
            return
        full = body.sizeHint().height() if on else body.height()
        moving = QPropertyAnimation(body, b"maximumHeight", self)
        moving.setDuration(milliseconds)
        moving.setEasingCurve(QEasingCurve.Type.OutCubic)
        moving.setStartValue(0 if on else full)
        moving.setEndValue(full if on else 0)
        moving.finished.connect(lambda: self._moved(body, on))
        body.setVisible(True)
        self._moving = moving
        moving.start()

    def _moved(self, body: QWidget, on: bool) -> None:
        body.setVisible(on)
        body.setMaximumHeight(16_777_215)
        self._moving = None


class _Handle(QSplitterHandle):
    """1 px painted, 7 px to grab (the grab area lies over both neighbours)."""

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = smooth(self)
        across = self.orientation() == Qt.Orientation.Horizontal
        color = token("accent") if self.underMouse() else token("line")
        if across:
            painter.fillRect(self.width() // 2, 0, 1, self.height(), color)
        else:
            painter.fillRect(0, self.height() // 2, self.width(), 1, color)
        painter.end()

    def enterEvent(self, event: object) -> None:
        self.update()

    def leaveEvent(self, event: object) -> None:
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(1, 1)


class Splitter(QSplitter):
    """A splitter whose parts never vanish by dragging."""

    def __init__(
        self,
        orientation: Qt.Orientation = Qt.Orientation.Horizontal,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(orientation, parent)
        self.setHandleWidth(1)
        self.setChildrenCollapsible(False)

    def createHandle(self) -> QSplitterHandle:
        return _Handle(self.orientation(), self)


def column(widget: QWidget, widest: int) -> QWidget:
    """`widget` in the middle of its pane, at most `widest` px wide."""
    out = QWidget()
    row = QHBoxLayout(out)
    row.setContentsMargins(0, 0, 0, 0)
    row.addStretch(1)
    row.addWidget(widget, 1_000)
    row.addStretch(1)
    widget.setMaximumWidth(widest)
    widget.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
    return out
