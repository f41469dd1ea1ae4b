"""Labels: plain text in a role and a token. Nothing here ever reads its text as markup."""

from __future__ import annotations

from html import escape

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QKeyEvent, QMouseEvent, QPalette, QShowEvent
from PySide6.QtWidgets import QAbstractButton, QHBoxLayout, QLabel, QSizePolicy, QWidget

from app.gui.look import icons
from app.gui.look.text import elided, neutral
from app.gui.look.theme import theme, token
from app.gui.look.type import Role, code_font, font
from app.gui.widgets.action import key_caps
from app.gui.widgets.paint import caps_height, caps_width, draw_caps, draw_text, focus_ring, smooth


class T(QLabel):
    """Plain text. `elide` ("right", "middle") keeps one line and has the rest as tooltip.

    `wrap` breaks lines. `selectable` lets people copy. The font follows zoom, the colour the theme.
    """

    def __init__(
        self,
        text: str = "",
        role: Role = "body",
        color: str = "text",
        *,
        weight: int | None = None,
        wrap: bool = False,
        elide: str = "",
        tabular: bool = False,
        selectable: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._look: tuple[Role, str, int | None, bool] = (role, color, weight, tabular)
        self._elide = elide
        self._whole = ""
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setForegroundRole(QPalette.ColorRole.WindowText)  # within a list it would be Text
        self.setWordWrap(wrap)
        if elide:
            self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        if selectable:
            self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            self.setCursor(Qt.CursorShape.IBeamCursor)
        self.setText(text)
        self._dress()
        theme().changed.connect(self._dress)

    def setText(self, text: str) -> None:
        whole = neutral(text)
        if whole == self._whole and super().text() == whole:
            return
        self._whole = whole
        super().setText(self._whole)
        if self._elide:
            self.setToolTip("")
            self.updateGeometry()

    def set_color(self, color: str) -> None:
        role, _, weight, tabular = self._look
        self._look = (role, color, weight, tabular)
        self._dress()

    def set_weight(self, weight: int | None) -> None:
        role, color, _, tabular = self._look
        self._look = (role, color, weight, tabular)
        self._dress()

    def _dress(self) -> None:
        role, color, weight, tabular = self._look
        made = (
            code_font("body", weight or 400)
            if role == "code"
            else font(role, weight, tabular=tabular)
        )
        if made != self.font():
            self.setFont(made)
        palette = QPalette(self.palette())
        palette.setColor(QPalette.ColorRole.WindowText, token(color))
        self.setPalette(palette)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._dress()  # the first polish under a style sheet brings back an earlier font

    def minimumSizeHint(self) -> QSize:
        hint = super().minimumSizeHint()
        return QSize(0, hint.height()) if self._elide else hint

    def heightForWidth(self, width: int) -> int:
        """A layout asks for the width it could give, which may be more than this takes."""
        return super().heightForWidth(min(width, self.maximumWidth()))

    def paintEvent(self, event: object) -> None:
        if not self._elide:
            super().paintEvent(event)  # type: ignore[arg-type]
            return
        painter = smooth(self)
        painter.setFont(self.font())
        box = QRectF(self.contentsRect())
        shown = elided(self._whole, QFontMetricsF(self.font()), box.width(), self._elide)
        align = Qt.AlignmentFlag(self.alignment() & Qt.AlignmentFlag.AlignHorizontal_Mask)
        draw_text(painter, box, shown, self.palette().color(QPalette.ColorRole.WindowText), align)
        painter.end()
        tip = plain_tip(self._whole) if shown != self._whole else ""
        if tip != self.toolTip():
            self.setToolTip(tip)


def plain_tip(text: str) -> str:
    """`text` as a tooltip that Qt cannot take for markup, at most 2,000 characters."""
    cut = neutral(text[:2_000])
    looks_rich = "<" in cut or "&lt;" in cut  # as Qt::mightBeRichText sees it
    return f"<span>{escape(cut)}</span>".replace("\n", "<br>") if looks_rich else cut


class IconLabel(QLabel):
    """An icon that is decoration beside a word."""

    def __init__(
        self, name: str, size: int = 16, color: str = "text_soft", parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._args = (name, size, color)
        self.setFixedSize(size, size)
        theme().changed.connect(self.update)

    def set_icon(self, name: str, color: str | None = None) -> None:
        self._args = (name, self._args[1], color or self._args[2])
        self.update()

    def paintEvent(self, event: object) -> None:
        painter = smooth(self)
        name, size, color = self._args
        if name:
            icons.paint_icon(painter, name, 0, 0, size, color)
        painter.end()


class Link(QAbstractButton):
    """Words to click, in accent: "Show", "Undo". Space and Enter press it.

    With `elide` it gives way where there is too little room, and has the whole as tooltip.
    """

    def __init__(
        self,
        text: str,
        role: Role = "small",
        color: str = "accent",
        *,
        weight: int = 500,
        key: str = "",
        elide: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._elide = elide
        self._role: Role = role
        self._color = color
        self._weight = weight
        self._key = key_caps(key) if key else []
        self.setText(text)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        across = QSizePolicy.Policy.Maximum if elide else QSizePolicy.Policy.Fixed
        self.setSizePolicy(across, QSizePolicy.Policy.Fixed)
        theme().changed.connect(self.updateGeometry)

    def minimumSizeHint(self) -> QSize:
        hint = self.sizeHint()
        return QSize(0, hint.height()) if self._elide else hint

    def sizeHint(self) -> QSize:
        metrics = QFontMetricsF(font(self._role, self._weight))
        caps = 6 + caps_width(self._key) if self._key else 0
        return QSize(
            round(metrics.horizontalAdvance(self.text()) + caps + 6.5), round(metrics.height() + 6)
        )

    def paintEvent(self, event: object) -> None:
        painter = smooth(self)
        used = font(self._role, self._weight)
        used.setUnderline(self.underMouse() and self.isEnabled())
        painter.setFont(used)
        box = QRectF(self.rect()).adjusted(3, 0, -3, 0)
        color = token(self._color if self.isEnabled() else "text_off")
        shown = self.text()
        if self._elide:
            shown = elided(shown, QFontMetricsF(used), box.width())
            tip = plain_tip(self.text()) if shown != self.text() else ""
            if tip != self.toolTip():
                self.setToolTip(tip)
        draw_text(painter, box, shown, color)
        if self._key:
            draw_caps(painter, box.right(), box.center().y(), self._key)
        if self.hasFocus():
            focus_ring(painter, QRectF(self.rect()), 4)
        painter.end()

    def enterEvent(self, event: object) -> None:
        self.update()

    def leaveEvent(self, event: QEvent) -> None:
        self.update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
            return
        super().keyPressEvent(event)


class KeyCaps(QWidget):
    """Key caps standing by themselves."""

    def __init__(self, key: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._caps = key_caps(key)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setFixedSize(self.sizeHint())
        theme().changed.connect(self._fit)

    def _fit(self) -> None:
        self.setFixedSize(self.sizeHint())

    def sizeHint(self) -> QSize:
        return QSize(round(caps_width(self._caps)) + 1, round(caps_height()) + 2)

    def paintEvent(self, event: object) -> None:
        painter = smooth(self)
        draw_caps(painter, self.width() - 0.5, self.height() / 2, self._caps)
        painter.end()


class KeyLegend(QWidget):
    """Keys in a row, each with what it does beside it."""

    def __init__(self, *keys: tuple[str, str]) -> None:
        super().__init__()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(6)
        for key, means in keys:
            row.addWidget(KeyCaps(key))
            row.addWidget(T(means, "small", "text_soft"))
            row.addSpacing(6)


class Clickable(QWidget):
    """A composed widget that acts as one button: mouse, Space, Enter, focus ring."""

    clicked = Signal()

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        inside = self.rect().contains(event.position().toPoint())
        if event.button() == Qt.MouseButton.LeftButton and inside:
            self.clicked.emit()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        event.accept()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self.clicked.emit()
            return
        super().keyPressEvent(event)

    def center(self) -> QPointF:
        return QRectF(self.rect()).center()
