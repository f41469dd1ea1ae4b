"""A page of setting rows in groups: made once per section, its rows updated in place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QSizePolicy, QVBoxLayout, QWidget

from app.gui.panes.settings.contents import Given
from app.gui.panes.settings.controls import ChoiceControl, control_for
from app.gui.panes.settings.fields import Spec
from app.gui.panes.settings.rows import SettingRow
from app.gui.widgets.labels import T

WIDEST = 760


class _Column(QWidget):
    """As wide as there is room, as tall as its text needs at that width: its rows fold instead."""

    def minimumSizeHint(self) -> QSize:
        return QSize(0, 0)


class Page(QScrollArea):
    """A scrolling column of at most 760 px. Content goes into `self.box`."""

    def __init__(self, name: str, widest: int = WIDEST, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName(name)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.column = _Column()
        self.column.setMaximumWidth(widest)
        self.column.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.box = QVBoxLayout(self.column)
        self.box.setContentsMargins(32, 2, 24, 40)
        self.box.setSpacing(0)
        self.setWidget(self.column)
        self.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
        # Nothing here paints a ground of its own: the window's paper shows through in every theme.
        self.viewport().setAutoFillBackground(False)
        self.column.setAutoFillBackground(False)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.box.setContentsMargins(16 if self.window().width() < 1000 else 32, 2, 24, 40)


class Form(Page):
    """Rows of fields. `wanted(Spec, value)` when a person wants another value."""

    wanted = Signal(object, object)

    def __init__(
        self,
        name: str,
        sentence: str = "",
        top: QWidget | None = None,
        models: Callable[[], Sequence[tuple[Any, str]]] = lambda: (),
    ) -> None:
        super().__init__(name)
        self.rows: dict[str, SettingRow] = {}
        self._models = models
        self._shape: list[tuple[str, tuple[str, ...]]] = []
        self._parts: list[str] = []  # heads ("# title") and rows (ids) as they stand
        self.sentence = T(sentence, "body", "text_soft", wrap=True)
        self.sentence.setVisible(bool(sentence))
        self.box.addWidget(self.sentence)
        if top is not None:
            self.box.addSpacing(12)
            self.box.addWidget(top)
        # A widget, not a layout in the layout: only so does the page learn that a row grew.
        holder = QWidget()
        self.inner = QVBoxLayout(holder)
        self.inner.setContentsMargins(0, 0, 0, 0)
        self.inner.setSpacing(0)
        self.box.addWidget(holder)
        self.box.addStretch(1)

    def show_groups(self, groups: Sequence[tuple[str, Sequence[Given]]]) -> None:
        """Show these groups. Rows that stay are updated in place, in what they show only."""
        shape = [(title, tuple(spec.id for spec, _, _ in given)) for title, given in groups]
        if shape != self._shape:
            self._build(groups)
            self._shape = shape
        for _, given in groups:
            for spec, value, default in given:
                row = self.rows[spec.id]
                if isinstance(row.control, ChoiceControl) and spec.kind == "model":
                    row.control.set_choices(self._models())
                row.put(value, default)

    def _build(self, groups: Sequence[tuple[str, Sequence[Given]]]) -> None:
        """Bring heads and rows into this order. What stays is not touched: a row that is taken out
        of a layout and put back no longer tells it when it grows."""
        wanted: list[tuple[str, Spec | None]] = []
        for title, given in groups:
            wanted.append((f"# {title}", None))
            wanted += [(spec.id, spec) for spec, _, _ in given]
        names = {name for name, _ in wanted}
        at = 0
        for name, spec in wanted:
            while at < len(self._parts) and self._parts[at] not in names:
                self._take(at)
            while name in self._parts and self._parts[at] != name:
                self._take(at)
            if name not in self._parts:
                made = self._made(spec) if spec is not None else _head(name[2:])
                self.inner.insertWidget(at, made)
                self._parts.insert(at, name)
                if isinstance(made, SettingRow):
                    self.rows[name] = made
            at += 1
        while len(self._parts) > at:
            self._take(at)

    def _take(self, at: int) -> None:
        self.rows.pop(self._parts.pop(at), None)
        item = self.inner.takeAt(at)
        widget = item.widget() if item is not None else None
        if widget is not None:
            widget.hide()
            widget.deleteLater()

    def _made(self, spec: Spec) -> SettingRow:
        control = control_for(spec, self._models(), lambda: fallback(spec))
        row = SettingRow(spec, control, indent=max(len(spec.path) - 2, 0))
        row.wanted.connect(self.wanted)
        return row

    def first(self) -> QWidget | None:
        """Where the focus goes when one comes here by a key."""
        row = next(iter(self.rows.values()), None)
        return row.control if row is not None else None


def _head(title: str) -> QWidget:
    head = T(title, "body", weight=600)
    head.setContentsMargins(0, 20 if title else 8, 0, 2)
    if not title:
        head.setFixedHeight(10)
    return head


# The number a word ("auto", "never") gives way to when a person wants one of their own.
_OWN = {
    "compaction.trigger_tokens": 80_000,
    "compaction.reserved": 4_000,
    "compaction.keep_tokens": 4_000,
    "injection.max_context_tokens": 8_000,
    "memory.daily_file_retention_days": 90,
    "memory.session_retention_days": 180,
}


def fallback(spec: Spec) -> int:
    return _OWN.get(spec.id, 1)
