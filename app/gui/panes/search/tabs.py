"""The row under the field: one tab per layer with its count, then order and grouping."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QWidget

from app.gui.look.text import number, tr
from app.gui.look.theme import soft_outline, token
from app.gui.look.type import font
from app.gui.panes.search.asking import TABS, tab_count
from app.gui.panes.search.model import LAYER_WORDS
from app.gui.widgets.buttons import Button, Pressable
from app.gui.widgets.paint import draw_text, focus_ring, hairline_below, rounded, smooth


class Tab(Pressable):
    """A layer's name and its count."""

    def __init__(self, layer: str) -> None:
        super().__init__()
        self.layer = layer
        self.count = -1
        self.setCheckable(True)
        self.setAutoExclusive(True)
        self.setText(tr(LAYER_WORDS[layer]))

    def set_count(self, count: int) -> None:
        """-1 while nothing is searched for."""
        if count != self.count:
            self.count = count
            said = f"{self.text()}: {number(count)}" if count >= 0 else self.text()
            self.setAccessibleName(said)
            self.updateGeometry()
            self.update()

    def _number(self) -> str:
        return number(self.count) if self.count >= 0 else ""

    def sizeHint(self) -> QSize:
        wide = QFontMetricsF(font("body", 600)).horizontalAdvance(self.text()) + 20
        if self.count >= 0:
            metrics = QFontMetricsF(font("small", tabular=True))
            wide += metrics.horizontalAdvance(self._number()) + 7
        return QSize(round(wide + 0.5), max(28, round(QFontMetricsF(font("body")).height() + 12)))

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: object) -> None:
        painter = smooth(self)
        box = QRectF(self.rect())
        on = self.isChecked()
        if on:
            edge = token("accent") if soft_outline() else None
            rounded(painter, box, 6, token("accent_soft"), edge, 2.0)
        elif self.underMouse():
            rounded(painter, box, 6, token("hover"))
        used = font("body", 600 if on else 500)
        painter.setFont(used)
        draw_text(painter, box.adjusted(10, 0, 0, 0), self.text(),
                  token("text" if on else "text_soft"))  # fmt: skip
        x = 10 + QFontMetricsF(used).horizontalAdvance(self.text()) + 7
        painter.setFont(font("small", tabular=True))
        draw_text(painter, box.adjusted(x, 0, 0, 0), self._number(),
                  token("accent" if on else "text_faint"))  # fmt: skip
        if self.hasFocus():
            focus_ring(painter, box, 6)
        painter.end()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            event.ignore()
            return
        super().keyPressEvent(event)


class Tabs(QWidget):
    """`chosen(layer)`, `order_turned()`, `grouping_turned()`."""

    chosen = Signal(str)
    order_turned = Signal()
    grouping_turned = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setMinimumHeight(44)
        self._sorting = ("", "")
        self._tabs = {layer: Tab(layer) for layer in TABS}
        self.order = Button("", "quiet", icon="arrow-up-down")
        self.grouping = Button("", "quiet", icon="rows-3")
        self.order.clicked.connect(self.order_turned)
        self.grouping.clicked.connect(self.grouping_turned)
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(22, 2, 16, 8)
        self._row.setSpacing(2)
        self._row.setSizeConstraint(QHBoxLayout.SizeConstraint.SetNoConstraint)
        for layer, tab in self._tabs.items():
            tab.setAccessibleName(tab.text())
            tab.setToolTip(tr("Hits. A line that stands in several places counts in each of them"))
            tab.clicked.connect(lambda _=False, x=layer: self.chosen.emit(x))
            self._row.addWidget(tab)
        self._row.addStretch(1)
        self._row.addWidget(self.order)
        self._row.addWidget(self.grouping)
        self.set_current("all")

    def current(self) -> str:
        return next(layer for layer, tab in self._tabs.items() if tab.isChecked())

    def set_current(self, layer: str) -> None:
        """Show `layer` as chosen; nobody is told."""
        self._tabs[layer].setChecked(True)

    def neighbour(self, by: int) -> str:
        """The tab beside the current one, round at the ends."""
        return TABS[(TABS.index(self.current()) + by) % len(TABS)]

    def set_counts(self, counts: dict[str, int] | None) -> None:
        """The hits per layer; None while nothing is searched for."""
        for layer, tab in self._tabs.items():
            tab.set_count(-1 if counts is None else tab_count(counts, layer))
        self._settle()

    def set_sorting(self, *, newest: bool, by_day: bool) -> None:
        self._sorting = (
            tr("Newest first") if newest else tr("Best first"),
            tr("By day") if by_day else tr("By place"),
        )
        self.order.setAccessibleName(
            tr("Order: newest first") if newest else tr("Order: best first")
        )
        self.grouping.setAccessibleName(tr("Groups: by day") if by_day else tr("Groups: by place"))
        self._settle()

    def _tabs_wide(self) -> int:
        return sum(tab.sizeHint().width() + self._row.spacing() for tab in self._tabs.values())

    def _settle(self) -> None:
        """Where the tabs need the room, order and groups are their icons and tell by tip."""
        metrics = QFontMetricsF(font("body", 500))
        words = sum(metrics.horizontalAdvance(one) + 44 for one in self._sorting)
        margins = self._row.contentsMargins()
        fits = self._tabs_wide() + words + margins.left() + margins.right() <= self.width()
        for button, said in zip((self.order, self.grouping), self._sorting, strict=True):
            button.setText(said if fits else "")
            button.setToolTip("" if fits else button.accessibleName())

    def minimumSizeHint(self) -> QSize:
        """The words of order and groups ask for no room: they go first."""
        return QSize(self._tabs_wide() + 132, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._settle()

    def set_margin(self, left: int) -> None:
        self._row.setContentsMargins(left - 2, 2, 16, 8)

    def paintEvent(self, event: object) -> None:
        hairline_below(self)
