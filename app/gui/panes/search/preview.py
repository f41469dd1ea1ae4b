"""The place itself beside the hits: its lines, find filled in, and the ways out of it."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFontMetricsF, QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app.gui.look.text import number, tr
from app.gui.look.type import font
from app.gui.panes.search.around import Place, Way
from app.gui.panes.search.page import MARGIN, PageView
from app.gui.widgets.buttons import IconButton
from app.gui.widgets.fields import Field
from app.gui.widgets.labels import IconLabel, KeyCaps, Link, T
from app.gui.widgets.surfaces import Hairline


class Preview(QWidget):
    """The right side: title, find, lines, ways. `way_wanted(Target)`, `opened()`, `left()`."""

    way_wanted = Signal(object)
    opened = Signal()
    left = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._wanted: list[str] | None = None
        self._anywhere = False
        self._place: Place | None = None
        self.ways: tuple[Way, ...] = ()
        self.title = T("", "head", elide="right")
        self.details = T("", "small", "text_faint", elide="right")
        self.note = T("", "small", "warn", wrap=True)
        self.field = _FindField(tr("Find in this place"), tr("Find here"), icon="search")
        self.field.textChanged.connect(self._on_needle)
        self.field.returnPressed.connect(lambda: self.walk(1))
        self.field.left.connect(self.left)
        self.view = PageView()
        self.view.opened.connect(self.opened)
        self.view.left.connect(self.left)
        self._links = QVBoxLayout()
        self._links.setContentsMargins(MARGIN, 10, MARGIN, 10)
        self._links.setSpacing(4)
        self._line = Hairline()
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 10, 0, 0)
        box.setSpacing(0)
        head = QHBoxLayout()
        head.setContentsMargins(MARGIN, 0, MARGIN, 8)
        head.setSpacing(10)
        head.addWidget(self.title)
        head.addWidget(self.details, 1)
        box.addLayout(head)
        box.addLayout(self._find_row())
        note = QHBoxLayout()
        note.setContentsMargins(MARGIN, 0, MARGIN, 0)
        note.addWidget(self.note)
        box.addLayout(note)
        box.addWidget(self.view, 1)
        box.addWidget(self._line)
        box.addLayout(self._links)
        self.clear()

    def _find_row(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setContentsMargins(MARGIN, 0, MARGIN - 6, 8)
        row.setSpacing(2)
        self.before = IconButton("chevron-up", tr("Previous hit here"), key="Shift+N")
        self.after = IconButton("chevron-down", tr("Next hit here"), key="N")
        self.before.clicked.connect(lambda: self.walk(-1))
        self.after.clicked.connect(lambda: self.walk(1))
        row.addWidget(self.field, 1)
        row.addSpacing(4)
        row.addWidget(self.before)
        row.addWidget(self.after)
        return row

    # ------------------------------------------------------------------ what is shown

    def clear(self) -> None:
        self._place = None
        self._show_parts(False)

    def _show_parts(self, there: bool) -> None:
        for part in (self.title, self.details, self.field, self.before, self.after, self.view):
            part.setVisible(there)
        self.note.setVisible(there and bool(self.note.text()))
        if not there:
            self._set_ways(())

    def show_place(
        self, place: Place, find: str, wanted: list[str], *, anywhere: bool = False
    ) -> None:
        """Show `place` with `wanted` marked, also inside of words if `anywhere`; `find`, the words
        as typed, stands in the field."""
        self._place, self._wanted, self._anywhere = place, wanted, anywhere
        self.title.setText(place.title)
        self.details.setText(place.details)
        self.note.setText(place.note)
        if self.field.text() != find:
            self.field.blockSignals(True)
            self.field.setText(find)
            self.field.blockSignals(False)
        self._set_ways(place.ways)
        self._show_parts(True)
        self._mark()

    def _on_needle(self, _: str) -> None:
        self._wanted, self._anywhere = None, True
        self._mark()

    def _mark(self) -> None:
        if self._place is None:
            return
        wanted = [self.field.text()] if self._wanted is None else self._wanted
        model = self.view.model_
        model.show(self._place.lines, self._place.at, wanted, anywhere=self._anywhere)
        self.view.fit_gutter()
        own = [p for p in model.places() if p[0] >= self._place.at]
        self.view.current = own[0] if own else None
        self._say()
        self.view.hold(max(self._place.at, 0))

    def walk(self, by: int) -> None:
        """To the next or previous mark; round at the ends."""
        places = self.view.model_.places()
        if not places:
            return
        now = self.view.current
        at = places.index(now) if now in places else -1 if by > 0 else 0
        self.view.current = places[(at + by) % len(places)]
        self._say()
        self.view.show_mark()
        self.view.viewport().update()

    def count(self) -> tuple[int, int]:
        """(current mark from 1, all)."""
        places = self.view.model_.places()
        now = self.view.current
        return (places.index(now) + 1 if now in places else 0), len(places)

    def _say(self) -> None:
        at, all_ = self.count()
        if not self.field.text() and not self._wanted:
            self.field.set_unit("")
        elif not all_:
            self.field.set_unit(tr("no hits"))
        else:
            self.field.set_unit(tr("{n} of {all}", n=number(at), all=number(all_)))

    # ------------------------------------------------------------------ ways out

    def _set_ways(self, ways: tuple[Way, ...]) -> None:
        self.ways = ways
        while (item := self._links.takeAt(0)) is not None:
            if (row := item.widget()) is not None:
                row.hide()
                row.deleteLater()
        metrics = QFontMetricsF(font("small"))
        wide = max((metrics.horizontalAdvance(way.label) for way in ways), default=0.0)
        before: QWidget = self.view
        for way in ways:
            row, link = self._row(way, max(86, round(wide) + 12))
            self._links.addWidget(row)
            QWidget.setTabOrder(before, link)
            before = link
        self._line.setVisible(bool(ways))
        self._links.setContentsMargins(MARGIN, 10 if ways else 0, MARGIN, 10 if ways else 0)

    def _row(self, way: Way, wide: int) -> tuple[QWidget, Link]:
        out = QWidget()
        row = QHBoxLayout(out)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(6)
        label = T(way.label, "small", "text_faint")
        label.setFixedWidth(wide)
        link = Link(way.text, elide=True)
        link.setAccessibleName(f"{way.label} {way.text}")
        link.clicked.connect(lambda _=False, t=way.target: self.way_wanted.emit(t))
        row.addWidget(label)
        row.addWidget(IconLabel(way.icon, 14, "accent"))
        row.addWidget(link)
        row.addStretch(1)
        if way.key:
            row.addWidget(KeyCaps(way.key))
        return out, link

    def way(self, key: str) -> Way | None:
        """The way with that key, for the actions G P and G C."""
        return next((way for way in self.ways if way.key == key), None)


class _FindField(Field):
    """A field that Esc leaves."""

    left = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.left.emit()
            return
        super().keyPressEvent(event)
