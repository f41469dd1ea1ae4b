"""Notices and the bar after an act (look.md 7).

A notice is 40 px: ground, icon, bold cause, what was kept, one or two acts, close. One per cause,
two at a time, the rest behind "2 more". The bar after an act stands at the lower edge for 8 s,
longer while pointer or focus is on it; one at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from PySide6.QtCore import QEvent, QObject, QPoint, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from app.gui.look.text import plural, tr
from app.gui.look.theme import theme, token
from app.gui.widgets.buttons import IconButton
from app.gui.widgets.labels import IconLabel, Link, T
from app.gui.widgets.paint import rounded, smooth

# tone: (ground, icon, ink)
TONES = {
    "warn": ("warn_bg", "triangle-alert", "warn"),
    "lost": ("lost_bg", "circle-x", "lost"),
    "ok": ("ok_bg", "circle-check", "ok"),
    "info": ("accent_softer", "info", "accent"),
}
AT_ONCE = 2


@dataclass(frozen=True)
class Act:
    """A word to click in a notice or bar. `key` is a hint to show beside it."""

    title: str
    run: Callable[[], object] = field(compare=False)
    key: str = ""
    closes: bool = False


class NoticeBar(QWidget):
    """One notice. `closed()` when a person closes it."""

    closed = Signal()

    def __init__(
        self,
        cause: str,
        text: str = "",
        *,
        tone: str = "warn",
        acts: tuple[Act, ...] = (),
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        ground, icon, ink = TONES.get(tone, TONES["warn"])
        self._ground = ground
        self.cause = T(cause, "body", weight=600, elide="right")
        self.text = T(text, "body", "text_soft", elide="right")
        self.cause.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.text.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        row = QHBoxLayout(self)
        row.setContentsMargins(14, 0, 6, 0)
        row.setSpacing(9)
        row.addWidget(IconLabel(icon, 16, ink))
        self._words = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._words.setSpacing(9)
        self._words.addWidget(self.cause)
        self._words.addWidget(self.text, 1)
        row.addLayout(self._words, 1)
        for act in acts:
            link = Link(act.title, "body", key=act.key)
            link.clicked.connect(act.run)
            if act.closes:
                link.clicked.connect(self.closed)
            row.addWidget(link)
        close = IconButton("x", tr("Close this notice"))
        close.clicked.connect(self.closed)
        row.addWidget(close)
        self.setMinimumHeight(40)
        self.setAccessibleName(f"{cause}. {text}")
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def set_text(self, text: str) -> None:
        self.text.setText(text)
        self._settle()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._settle()

    def _settle(self) -> None:
        """What was kept, and the remedy, go below a cause that leaves them no room."""
        needed = self.cause.sizeHint().width() + 9 + self.text.sizeHint().width()
        below = bool(self.text.text()) and needed > self._words.geometry().width()
        way = QBoxLayout.Direction.TopToBottom if below else QBoxLayout.Direction.LeftToRight
        if self._words.direction() != way:
            self._words.setDirection(way)
            self._words.setSpacing(2 if below else 9)
            self.setMinimumHeight(56 if below else 40)

    def paintEvent(self, event: object) -> None:
        painter = smooth(self)
        rounded(painter, QRectF(self.rect()), 8, token(self._ground))
        painter.end()


class Notices(QWidget):
    """The notices of one pane: newest on top, two at most, the rest behind a link."""

    def __init__(self, parent: QWidget | None = None, margin: int = 16, top: int = 0) -> None:
        super().__init__(parent)
        self._bars: dict[str, NoticeBar] = {}
        self._all = False
        self._box = QVBoxLayout(self)
        self._box.setContentsMargins(margin, top, margin, 8)
        self._box.setSpacing(6)
        self._more = Link("")
        self._more.clicked.connect(self._show_all)
        self._box.addWidget(self._more)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self._settle()

    def show_notice(
        self,
        cause: str,
        text: str = "",
        *,
        tone: str = "warn",
        acts: tuple[Act, ...] = (),
        key: str = "",
    ) -> NoticeBar:
        """Show a notice; an older one of the same `key` (default: the cause) gives way."""
        key = key or cause
        self.drop(key)
        bar = NoticeBar(cause, text, tone=tone, acts=acts)
        bar.closed.connect(lambda: self.drop(key))
        self._bars = {key: bar, **self._bars}
        self._box.insertWidget(0, bar)
        self._settle()
        return bar

    def drop(self, key: str) -> None:
        """Take the notice of that key away; its cause is gone."""
        bar = self._bars.pop(key, None)
        if bar is not None:
            bar.hide()
            self._box.removeWidget(bar)
            bar.deleteLater()
            self._settle()

    def clear(self) -> None:
        for key in list(self._bars):
            self.drop(key)

    def set_margin(self, px: int) -> None:
        """What is free at the left and right, so that they stand in line with the place's rows."""
        self._box.setContentsMargins(px, 0, px, 8)

    def causes(self) -> list[str]:
        """What is told now, newest first."""
        return [bar.cause.text() for bar in self._bars.values()]

    def _show_all(self) -> None:
        self._all = True
        self._settle()

    def _settle(self) -> None:
        hidden = 0
        for i, bar in enumerate(self._bars.values()):
            bar.setVisible(self._all or i < AT_ONCE)
            hidden += not (self._all or i < AT_ONCE)
        self._all = self._all and bool(self._bars)
        self._more.setText(plural(hidden, "{n} more", "{n} more"))
        self._more.setVisible(hidden > 0)
        self.setVisible(bool(self._bars))


COVERS = 42 + 2 * 16  # px of the lower edge that the bar and its margins take


class UndoBar(QWidget):
    """After an act: what was written, Show, Undo. A child laid over the lower edge of `over`.

    `room(px)`: what it covers there, 0 when it is gone, for lists to end that much later.
    """

    gone = Signal()
    room = Signal(int)

    def __init__(self, over: QWidget) -> None:
        super().__init__(over)
        self._over = over
        self._lift = 0
        self.acts: tuple[Act, ...] = ()  # what is offered beside the words
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(14, 0, 8, 0)
        self._row.setSpacing(8)
        self._timer = QTimer(self, singleShot=True)
        self._timer.timeout.connect(self._on_time)
        self.setFixedHeight(42)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        over.installEventFilter(self)
        theme().changed.connect(self.update)
        self.hide()

    def show_act(
        self, text: str, acts: tuple[Act, ...] = (), *, tone: str = "ok", bar_seconds: float = 8.0
    ) -> None:
        """Show what was done, in place of what stood here."""
        self.acts = acts
        self.hide()  # a bar on screen counts new words only some events later: it would be empty
        while (item := self._row.takeAt(0)) is not None:
            if (old := item.widget()) is not None:
                old.hide()
                old.deleteLater()
        _, icon, ink = TONES[tone]
        self._row.addWidget(IconLabel(icon, 16, ink))
        label = T(text, "body", weight=500, elide="right")
        self._row.addWidget(label, 1)
        for act in acts:
            link = Link(act.title, "body", key=act.key)
            link.clicked.connect(act.run)
            link.clicked.connect(self.close_bar)
            self._row.addWidget(link)
        close = IconButton("x", tr("Close"), size=14, side=26)
        close.clicked.connect(self.close_bar)
        self._row.addWidget(close)
        self.setAccessibleName(text)
        self.show()
        self._place()
        self.raise_()
        self.room.emit(COVERS)
        self._timer.start(round(bar_seconds * 1_000))

    def set_lift(self, px: int) -> None:
        """Stand that much higher: above what must stay readable at the lower edge."""
        if px != self._lift:
            self._lift = px
            self._place()

    def below(self, whole: QWidget) -> int:
        """Px of the lower edge of `whole`, around this bar, that it leaves readable."""
        foot = self._over.mapTo(whole, QPoint(0, self._over.height())).y()
        return whole.height() - foot + self._lift

    def close_bar(self) -> None:
        self._timer.stop()
        if self.isVisible():
            self.hide()
            self.room.emit(0)
            self.gone.emit()

    def _on_time(self) -> None:
        focus = self.focusWidget()
        if self.underMouse() or (focus is not None and focus.hasFocus()):
            self._timer.start(1_000)
            return
        self.close_bar()

    def _place(self) -> None:
        over = self._over
        wide = min(self.sizeHint().width() + 24, over.width() - 48)
        self.setGeometry(24, over.height() - 42 - 16 - self._lift, wide, 42)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and self.isVisible():
            self._place()
        return False

    def paintEvent(self, event: object) -> None:
        painter = smooth(self)
        rounded(painter, QRectF(self.rect()), 10, token("raised"), token("line_strong"))
        painter.end()
