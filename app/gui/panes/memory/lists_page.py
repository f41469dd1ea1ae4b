"""The lists beside MEMORY.md, one at a time: proposals, losses, refused claims, remarks.

Each list says what it holds, what can be done with the chosen row, and by which key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app.gui.look.text import tr
from app.gui.widgets.buttons import Button, SegmentSwitch
from app.gui.widgets.rows import Row, RowList
from app.gui.widgets.surfaces import EmptyState, side_margin

INNER = 16  # px from the edge of a row to its text


@dataclass(frozen=True)
class Section:
    """One list: its title, what to say while it is empty, and the act on the chosen row."""

    title: str
    empty: str
    why: str
    act: str = ""
    key: str = ""
    empty_act: str = ""


SECTIONS = {
    "proposals": Section(
        "Proposals",
        "No proposals yet",
        "A proposal is made when the daily logs hold something that MEMORY.md lacks. "
        "It changes nothing before you have decided.",
        "Open the review", "Enter", "Consolidate now",
    ),
    "losses": Section(
        "Losses",
        "Nothing was lost",
        "A fact that a version dropped and no other line took up is listed here, "
        "and can be brought back.",
        "Bring it back", "+",
    ),
    "refused": Section(
        "Refused",
        "Nothing was refused",
        "What you reject in a review is remembered here and not proposed again.",
        "Let it be proposed again", "Del",
    ),
    "quality": Section(
        "Quality",
        "Nothing to mend was found",
        "Lines that are said twice, dates that have passed, and lines that may contradict "
        "each other are listed here.",
        "Go to the line", "Enter",
    ),
}  # fmt: skip


class ListsPage(QWidget):
    """`section_wanted(name)` asks for another list, `opened(Row)` is Enter or a click, `acted()`
    the button beside the switch, `filled()` the button of an empty list."""

    section_wanted = Signal(str)
    opened = Signal(object)
    acted = Signal()
    filled = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.section = "proposals"
        names = [(name, tr(one.title)) for name, one in SECTIONS.items()]
        self.switch = SegmentSwitch(names, name=tr("List"))
        self.switch.chosen.connect(self.section_wanted)
        self.act = Button("", "plain")
        self.act.clicked.connect(self.acted)
        self.list = RowList(tr("Proposals"), lines=2, open_on_click=True)
        self.list.opened.connect(self.opened)
        self.list.chosen.connect(self._settle)
        self.empty = EmptyState("", margin=INNER)
        self.empty.acted.connect(self.filled)
        top = QHBoxLayout()
        top.setContentsMargins(INNER, 0, 8, 8)
        top.addWidget(self.switch)
        top.addStretch(1)
        top.addWidget(self.act)
        self._box = box = QVBoxLayout(self)
        box.setContentsMargins(8, 0, 8, 8)
        box.addLayout(top)
        box.addWidget(self.list, 1)
        box.addWidget(self.empty, 1)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._box.setContentsMargins(side_margin(self) - INNER, 0, 8, 8)

    def show_rows(self, section: str, rows: Sequence[Row]) -> None:
        """Show one list; its first row is chosen when none is."""
        one = SECTIONS[section]
        other = section != self.section
        self.section = section
        self.switch.set_current(section)
        self.list.setAccessibleName(tr(one.title))
        self.list.set_rows(rows)
        if other or self.list.current_row() is None:
            first = next((row for row in rows if not row.head), None)
            if first is not None:
                self.list.select(first.id, quiet=True)
        self.list.setVisible(bool(rows))
        self.empty.setVisible(not rows)
        self.empty.set_words(tr(one.empty), tr(one.why), tr(one.empty_act) if one.empty_act else "")
        self.act.setText(tr(one.act))
        self.act.set_key(one.key)
        self._settle()

    def front(self) -> QWidget:
        """Where the keys go: the rows, of an empty list the switch."""
        return self.list if self.list.isVisibleTo(self) else self.switch

    def chosen(self) -> Row | None:
        """The row that an act is about; None in an empty list."""
        row = self.list.current_row()
        return None if row is None or row.head or row.id.startswith("fared-") else row

    def _settle(self, *_: object) -> None:
        self.act.setVisible(self.list.isVisibleTo(self) and self.chosen() is not None)
