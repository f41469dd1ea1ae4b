"""What may stand there: a list under the field that completes filters without taking the focus."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPoint, QRectF, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPaintEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.gui.look.text import tr
from app.gui.look.theme import token
from app.gui.look.type import row_height
from app.gui.panes.search.field import BEGIN, SearchField
from app.gui.panes.search.filters import (
    FIELD_WORDS,
    Filter,
    Known,
    completions,
    split,
    unfinished,
)
from app.gui.widgets.paint import draw_shadow, rounded, smooth
from app.gui.widgets.rows import Row, RowList

SHADE = 22  # px around the sheet


class Suggestions(QWidget):
    """Shows itself while a filter is typed or was asked for; Enter, Tab or a click takes one."""

    taken = Signal()

    def __init__(self, field: SearchField, over: QWidget) -> None:
        super().__init__(over)
        self._field, self._over = field, over
        self.known = Known()
        self.list = RowList(tr("Filters to choose from"), ground="raised", margin=4,
                            open_on_click=True)  # fmt: skip
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.delegate.lively = True
        self.list.opened.connect(self._take)
        box = QVBoxLayout(self)
        box.setContentsMargins(SHADE + 4, SHADE - 12, SHADE + 4, SHADE + 4)
        box.addWidget(self.list)
        field.keys = self.on_key
        field.textChanged.connect(lambda _: self.look())
        self.hide()

    def look(self) -> None:
        """Show what completes the filter at the end of the line; hide without one."""
        begun = unfinished(self._field.text())
        if begun is None or not self._field.hasFocus():
            self.hide()
            return
        _, name, value = begun
        found = completions(name, value, self.known)
        if not found or (len(found) == 1 and found[0][0] == value and not found[0][1]):
            self.hide()
            return
        self._show([Row(v, v if name != "session" else w or v, "" if name == "session" else w,
                        icon="funnel", data=Filter(name, v)) for v, w in found])  # fmt: skip

    def offer(self) -> None:
        """All filters there are."""
        self._field.setFocus()
        self._show([
            Row(name, f"{name}:", tr(FIELD_WORDS[name]), icon="funnel", data=name)
            for name in FIELD_WORDS
        ])  # fmt: skip

    def _show(self, rows: list[Row]) -> None:
        before = self.list.current_row()
        self.list.set_rows(rows)
        if before is None or all(row.id != before.id for row in rows):
            self.list.select(rows[0].id, quiet=True)
        place = self._field.mapTo(self._over, QPoint(BEGIN - 12, self._field.height()))
        high = (row_height(34) + 1) * len(rows)
        room = self._over.height() - place.y() - 12
        self.setGeometry(place.x() - SHADE, place.y() - 8, 420 + 2 * SHADE,
                         min(high, room) + 2 * SHADE - 8)  # fmt: skip
        self.show()
        self.raise_()

    def on_key(self, event: QEvent) -> bool:
        """Keys while the list is open; the field keeps the rest."""
        if not self.isVisible() or not isinstance(event, QKeyEvent):
            return False
        key = event.key()
        if key in (Qt.Key.Key_Down, Qt.Key.Key_Up):
            self.list.step(1 if key == Qt.Key.Key_Down else -1)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Tab):
            row = self.list.current_row()
            if row is None:
                return False
            self._take(row)
        elif key == Qt.Key.Key_Escape:
            self.hide()
        else:
            return False
        return True

    def _take(self, row: Row) -> None:
        field = self._field
        if isinstance(row.data, str):
            text = field.text()
            gap = " " if text and not text.endswith(" ") else ""
            field.setText(f"{text}{gap}{row.data}:")
            self.look()
            return
        begun = unfinished(field.text())
        rest = field.text()[: begun[0]] if begun else field.text()
        self.hide()
        _, rest = split(rest)
        field.blockSignals(True)
        field.setText(rest)
        field.blockSignals(False)
        field.set_filters([*field.filters(), row.data])
        self.taken.emit()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = smooth(self)
        box = self.rect().adjusted(SHADE, SHADE - 16, -SHADE, -SHADE)
        draw_shadow(painter, box, 8)
        rounded(painter, QRectF(box), 8, token("raised"), token("line_strong"))
        painter.end()
