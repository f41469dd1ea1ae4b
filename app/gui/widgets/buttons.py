"""Buttons, switches, chips: painted, one class per kind (look.md 4 and 5).

A button names its act; its key stands in it. Focus comes by keyboard (a click leaves it where the
person was writing). Disabled buttons say why in their tooltip.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QKeyEvent, QPainter
from PySide6.QtWidgets import QAbstractButton, QButtonGroup, QHBoxLayout, QSizePolicy, QWidget

from app.gui.look.icons import paint_icon
from app.gui.look.text import tr
from app.gui.look.theme import soft_outline, theme, token
from app.gui.look.type import font
from app.gui.widgets.labels import plain_tip
from app.gui.widgets.paint import draw_text, focus_ring, rounded, smooth
from app.gui.widgets.rings import paint_ring, ring_clock

Kind = Literal["primary", "plain", "quiet", "danger"]


class Pressable(QAbstractButton):
    """What all buttons share: hover repaint, Enter presses, focus by Tab."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        theme().changed.connect(self.updateGeometry)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
            return
        super().keyPressEvent(event)

    def set_off(self, reason: str) -> None:
        """Disable with a reason (shown as tooltip), or enable with ""."""
        self.setEnabled(not reason)
        self.setToolTip(plain_tip(reason or self._tip()))

    def _tip(self) -> str:
        return ""


class Button(Pressable):
    """A button of one kind: primary, plain, quiet or danger.

    `key` is a hint, the action catalogue owns the key. `height`: 28, 26 in cards, 30 as main act.
    `setCheckable(True)` makes a quiet button one that can be on.
    """

    def __init__(
        self,
        text: str,
        kind: Kind = "plain",
        *,
        icon: str = "",
        key: str = "",
        height: int = 28,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.kind: Kind = kind
        self._icon = icon
        self._key = key
        self._least = height
        self._running = False
        self.setText(text)

    def set_icon(self, icon: str) -> None:
        self._icon = icon
        self.updateGeometry()
        self.update()

    def set_key(self, key: str) -> None:
        self._key = key
        self.updateGeometry()
        self.update()

    def set_running(self, on: bool, text: str | None = None) -> None:
        """Show the turning ring in place of the icon, and perhaps another word."""
        if text is not None:
            self.setText(text)
        if on != self._running:
            self._running = on
            clock = ring_clock()
            (clock.ticked.connect if on else clock.ticked.disconnect)(self.update)
        self.updateGeometry()
        self.update()

    def setText(self, text: str) -> None:
        super().setText(text)
        self.updateGeometry()

    def _weight(self) -> int:
        return 600 if self.kind == "primary" else 500

    def sizeHint(self) -> QSize:
        metrics = QFontMetricsF(font("body", self._weight()))
        width = metrics.horizontalAdvance(self.text()) + 20
        if self._icon or self._running:
            width += 22
        if self._key:
            width += QFontMetricsF(font("tiny", 500)).horizontalAdvance(self._key) + 8
        pad = self._least - 16  # a line of text of the usual size is 16 px
        return QSize(round(width + 0.5), max(self._least, round(metrics.height() + pad)))

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: object) -> None:
        painter = smooth(self)
        box = QRectF(self.rect())
        on, ink, faint = self._ground(painter, box)
        x = 10.0
        middle = box.center().y()
        if self._running:
            paint_ring(painter, QPointF(x + 8, middle), 6, token(ink))
            x += 22
        elif self._icon:
            shade = ink if ink in ("on_fill", "text_off", "lost", "accent") else "text_soft"
            paint_icon(painter, self._icon, x, middle - 8, 16, shade)
            x += 22
        weight = 600 if on and self.kind != "quiet" else self._weight()
        painter.setFont(font("body", weight))
        draw_text(painter, QRectF(x, 0, box.width(), box.height()), self.text(), token(ink))
        if self._key:
            painter.setFont(font("tiny", 500))
            right = QRectF(0, 0, box.width() - 10, box.height())
            draw_text(painter, right, self._key, token(faint), Qt.AlignmentFlag.AlignRight)
        painter.end()

    def _ground(self, painter: QPainter, box: QRectF) -> tuple[bool, str, str]:
        """Paint the ground; (is on, token of the text, token of the key)."""
        enabled, hover, down = self.isEnabled(), self.underMouse(), self.isDown()
        on = self.isChecked()
        ink, faint = ("text", "text_faint") if enabled else ("text_off", "text_off")
        if self.kind == "primary":
            fill = token("accent_fill" if enabled else "press")
            if enabled and down:
                fill = fill.darker(112)
            elif enabled and hover:
                fill = fill.lighter(106)
            if self.hasFocus():
                rounded(painter, box, 7, None, token("accent"), 2.0)
                rounded(painter, box.adjusted(4, 4, -4, -4), 4, fill)
            else:
                rounded(painter, box, 6, fill)
            ink = "on_fill" if enabled else "text_off"
            return on, ink, ink
        if self.kind == "quiet":
            fill = None
            if on:
                fill, ink = token("accent_soft"), "accent" if enabled else ink
            elif enabled:
                fill = token("press") if down else token("hover") if hover else None
                ink = "text_soft"
            border = token("accent") if on and soft_outline() else None
            rounded(painter, box, 6, fill, border, 2.0)
        else:
            edge = "text_faint" if hover and enabled else "line_strong"
            fill = token("press" if down else "raised")
            rounded(painter, box, 6, fill, token(edge))
            if self.kind == "danger" and enabled:
                ink = "lost"
        if self.hasFocus():
            focus_ring(painter, box, 6)
        return on, ink, faint


class IconButton(Pressable):
    """An icon alone; `name` is its accessible name and, with its key, its tooltip."""

    def __init__(
        self,
        icon: str,
        name: str,
        *,
        key: str = "",
        size: int = 16,
        side: int = 28,
        color: str = "text_soft",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._icon, self._size, self._color = icon, size, color
        self._name, self._key = name, key
        self.setFixedSize(side, side)
        self.set_name(name)

    def set_name(self, name: str) -> None:
        self._name = name
        self.setAccessibleName(name)
        self.setToolTip(plain_tip(self._tip()))

    def set_icon(self, icon: str, color: str | None = None) -> None:
        self._icon, self._color = icon, color or self._color
        self.update()

    def _tip(self) -> str:
        return f"{self._name} ({self._key})" if self._key else self._name

    def paintEvent(self, event: object) -> None:
        painter = smooth(self)
        box = QRectF(self.rect())
        color = self._color if self.isEnabled() else "text_off"
        if self.isChecked():
            rounded(painter, box, 6, token("accent_soft"))
            color = "accent"
        elif self.isEnabled() and (self.isDown() or self.underMouse()):
            rounded(painter, box, 6, token("press" if self.isDown() else "hover"))
        half = self._size / 2
        paint_icon(
            painter, self._icon, box.center().x() - half, box.center().y() - half, self._size, color
        )
        if self.hasFocus():
            focus_ring(painter, box, 6)
        painter.end()


class Chip(Pressable):
    """A small filled label; with `closable` a click removes it (`clicked`). A checked one looks
    like selected text."""

    def __init__(self, text: str, *, closable: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._closable = closable
        self.setText(text)
        if closable:
            self.setToolTip(plain_tip(tr("Remove {what}", what=text)))
        else:
            self.setFocusPolicy(Qt.FocusPolicy.NoFocus)

    def sizeHint(self) -> QSize:
        metrics = QFontMetricsF(font("small", 500))
        width = metrics.horizontalAdvance(self.text()) + 16 + (18 if self._closable else 0)
        return QSize(round(width + 0.5), max(22, round(metrics.height() + 6)))

    def paintEvent(self, event: object) -> None:
        painter = smooth(self)
        box = QRectF(self.rect())
        border = token("accent") if soft_outline() else None
        on = self.isChecked()
        rounded(painter, box, 5, token("accent_fill" if on else "accent_soft"), border, 2.0)
        painter.setFont(font("small", 500))
        ink = token("on_fill" if on else "accent")
        draw_text(painter, box.adjusted(8, 0, 0, 0), self.text(), ink)
        if self._closable:
            cross = "on_fill" if on else "text_soft"
            paint_icon(painter, "x", box.right() - 20, box.center().y() - 6, 12, cross)
        if self.hasFocus():
            focus_ring(painter, box, 5)
        painter.end()


class _Segment(Pressable):
    def __init__(self, text: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setText(text)
        self.setCheckable(True)

    def sizeHint(self) -> QSize:
        metrics = QFontMetricsF(font("body", 600))
        return QSize(
            round(metrics.horizontalAdvance(self.text()) + 22), max(26, round(metrics.height() + 9))
        )

    def paintEvent(self, event: object) -> None:
        painter = smooth(self)
        box = QRectF(self.rect())
        if self.isChecked():
            rounded(painter, box, 5, token("raised"), token("line_strong"))
        painter.setFont(font("body", 600 if self.isChecked() else 500))
        ink = "text_off" if not self.isEnabled() else "text" if self.isChecked() else "text_soft"
        if self.underMouse() and self.isEnabled():
            ink = "text"
        draw_text(painter, box, self.text(), token(ink), Qt.AlignmentFlag.AlignHCenter)
        if self.hasFocus():
            focus_ring(painter, box, 5)
        painter.end()


class SegmentSwitch(QWidget):
    """A few choices side by side; `chosen(key)` when a person presses one."""

    chosen = Signal(str)

    def __init__(
        self,
        choices: Sequence[tuple[str, str]],
        current: str = "",
        *,
        name: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._group = QButtonGroup(self)
        self._segments: dict[str, _Segment] = {}
        row = QHBoxLayout(self)
        row.setContentsMargins(2, 2, 2, 2)
        row.setSpacing(0)
        for key, text in choices:
            segment = _Segment(text)
            segment.setAccessibleName(f"{name}: {text}" if name else text)
            self._segments[key] = segment
            self._group.addButton(segment)
            row.addWidget(segment)
        self.set_current(current or choices[0][0])
        self._group.buttonClicked.connect(self._on_clicked)

    def current(self) -> str:
        return next((k for k, s in self._segments.items() if s.isChecked()), "")

    def set_current(self, key: str) -> None:
        """Show `key` as chosen without telling anybody; "" for none of them."""
        if key in self._segments:
            self._segments[key].setChecked(True)
            self.setFocusProxy(self._segments[key])
        elif not key and (checked := self._group.checkedButton()) is not None:
            self._group.setExclusive(False)
            checked.setChecked(False)
            self._group.setExclusive(True)

    def set_tip(self, key: str, words: str) -> None:
        """What a pointer over one choice is told, such as its key."""
        self._segments[key].setToolTip(plain_tip(words))

    def _on_clicked(self, _: object) -> None:
        self.chosen.emit(self.current())

    def paintEvent(self, event: object) -> None:
        painter = smooth(self)
        rounded(painter, QRectF(self.rect()), 6, token("hover"))
        painter.end()


class Switch(Pressable):
    """On or off; `toggled(bool)`. `name` is its accessible name."""

    def __init__(self, name: str, on: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setCheckable(True)
        self.setChecked(on)
        self.setFixedSize(36, 22)

    def paintEvent(self, event: object) -> None:
        painter = smooth(self)
        box = QRectF(2, 2, 32, 18)
        on = self.isChecked()
        if on:
            rounded(painter, box, 9, token("accent_fill" if self.isEnabled() else "press"))
        else:
            edge = token("edge" if self.isEnabled() else "line_strong")
            rounded(painter, box, 9, None, edge, 1.5)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(token("on_fill") if on else token("edge"))
        painter.drawEllipse(QPointF(25 if on else 12, 11), 6 if on else 5, 6 if on else 5)
        if self.hasFocus():
            focus_ring(painter, QRectF(self.rect()), 11)
        painter.end()
