"""Fields: one line of typing, with an icon, a unit, and what is wrong told under it."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPaintEvent, QPalette
from PySide6.QtWidgets import QComboBox, QLineEdit, QStyle, QStyleOptionComboBox, QWidget

from app.gui.look.icons import paint_icon
from app.gui.look.theme import theme, token
from app.gui.look.type import font, row_height
from app.gui.widgets.paint import draw_text, focus_ring, rounded, smooth


class Field(QLineEdit):
    """A text field of 30 px (`tall`: the search field, 42). `name` is its accessible name.

    `icon` stands at the left, `unit` at the right. `set_wrong(True)` draws the border of a wrong
    value; the reason belongs into a label under it.
    """

    def __init__(
        self,
        name: str,
        placeholder: str = "",
        *,
        icon: str = "",
        unit: str = "",
        tall: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setPlaceholderText(placeholder)
        self.setFrame(False)
        self._icon, self._unit, self._tall, self._wrong = icon, unit, tall, False
        self._dress()
        theme().changed.connect(self._dress)

    def set_wrong(self, wrong: bool) -> None:
        self._wrong = wrong
        self.update()

    def set_unit(self, unit: str) -> None:
        self._unit = unit
        self._dress()

    def _dress(self) -> None:
        palette = QPalette(theme_palette(self))
        palette.setColor(QPalette.ColorRole.Base, Qt.GlobalColor.transparent)
        self.setPalette(palette)
        self.setFont(font("read" if self._tall else "body"))
        left = 32 if self._icon else 8
        if self._tall and self._icon:
            left = 40
        right = 8
        if self._unit:
            right += self.fontMetrics().horizontalAdvance(self._unit) + 8
        self.setTextMargins(left, 0, right, 0)
        self.setMinimumHeight(42 if self._tall else row_height(30))

    def sizeHint(self) -> QSize:
        hint = super().sizeHint()
        return QSize(hint.width(), max(hint.height(), 42 if self._tall else 30))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = smooth(self)
        box = QRectF(self.rect())
        radius = 8 if self._tall else 6
        edge = "lost" if self._wrong else "line_strong"
        rounded(painter, box, radius, token("raised"), token(edge), 1.5 if self._wrong else 1.0)
        if self.hasFocus() and not self._wrong:
            focus_ring(painter, box, radius)
        middle = box.center().y()
        if self._icon:
            color = "accent" if self._tall and self.hasFocus() else "text_soft"
            paint_icon(painter, self._icon, 14 if self._tall else 10, middle - 8, 16, color)
        if self._unit:
            painter.setFont(font("small"))
            unit = box.adjusted(0, 0, -10, 0)
            draw_text(painter, unit, self._unit, token("text_faint"), Qt.AlignmentFlag.AlignRight)
        painter.end()
        super().paintEvent(event)


def theme_palette(widget: QWidget) -> QPalette:
    from app.gui.look.theme import palette_for

    return palette_for(theme().scheme, theme().contrast)


class Choice(QComboBox):
    """One of a list. `name` is its accessible name."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self._dress()
        theme().changed.connect(self._dress)

    def _dress(self) -> None:
        self.setFont(font("body"))
        self.setMinimumHeight(row_height(30))

    def wheelEvent(self, event: object) -> None:
        event.ignore()  # type: ignore[attr-defined]

    def paintEvent(self, event: QPaintEvent) -> None:
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        painter = smooth(self)
        box = QRectF(self.rect())
        over = bool(option.state & QStyle.StateFlag.State_MouseOver)
        edge = token("text_faint" if over and self.isEnabled() else "line_strong")
        rounded(painter, box, 6, token("raised"), edge)
        if self.hasFocus():
            focus_ring(painter, box, 6)
        painter.setFont(self.font())
        ink = token("text" if self.isEnabled() else "text_off")
        inner = box.adjusted(10, 0, -28, 0)
        shown = self.fontMetrics().elidedText(
            self.currentText(), Qt.TextElideMode.ElideRight, round(inner.width())
        )
        draw_text(painter, inner, shown, ink)
        paint_icon(painter, "chevron-down", box.right() - 23, box.center().y() - 7, 14)
        painter.end()
