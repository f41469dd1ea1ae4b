"""The list of sections beside the form, with a field that finds a setting."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.gui.look.text import tr
from app.gui.panes.settings.fields import SECTIONS
from app.gui.widgets.fields import Field
from app.gui.widgets.labels import Link, T
from app.gui.widgets.rows import Row, RowList

WIDTH = 236


class SectionList(QWidget):
    """`chosen(section id)`, `searched(words)`, `file_wanted()`."""

    chosen = Signal(str)
    searched = Signal(str)
    file_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFixedWidth(WIDTH)
        self._counts: dict[str, str] = {}
        self.title = T(tr("Settings"), "title")
        self.field = Field(tr("Find a setting"), tr("Find a setting"), icon="search")
        self.field.setClearButtonEnabled(False)
        self.field.textChanged.connect(self.searched)
        self.list = RowList(tr("Sections"), height=31, margin=12)
        self.list.chosen.connect(self._on_chosen)
        self.list.opened.connect(self._on_chosen)
        self.file = Link("config.toml")
        self.file.setToolTip(tr("Show the file in the file manager"))
        self.file.clicked.connect(self.file_wanted)
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 14)
        box.setSpacing(0)
        head = QVBoxLayout()
        head.setContentsMargins(20, 0, 12, 0)
        self.title.setFixedHeight(52)
        head.addWidget(self.title)
        search = QVBoxLayout()
        search.setContentsMargins(12, 0, 12, 10)
        search.addWidget(self.field)
        foot = QVBoxLayout()
        foot.setContentsMargins(9, 6, 12, 0)
        foot.setSpacing(0)
        foot.addWidget(self.file)
        said = T(tr("Every row here is a line there."), "small", "text_faint", wrap=True)
        said.setContentsMargins(3, 0, 0, 0)
        foot.addWidget(said)
        box.addLayout(head)
        box.addLayout(search)
        box.addWidget(self.list, 1)
        box.addLayout(foot)
        self._show()

    def set_counts(self, counts: dict[str, str]) -> None:
        """Words beside the sections: "1 changed"."""
        self._counts = counts
        self._show()

    def set_current(self, name: str) -> None:
        """Mark a section without telling anybody."""
        self.list.select(name, quiet=True)

    def search(self, words: str) -> None:
        self.field.setText(words)

    def _show(self) -> None:
        self.list.set_rows(
            [
                Row(one.id, tr(one.title), right=self._counts.get(one.id, ""), tone="soft")
                for one in SECTIONS
            ]
        )

    def _on_chosen(self, row: Row) -> None:
        if self.field.text():
            self.field.blockSignals(True)
            self.field.clear()
            self.field.blockSignals(False)
        self.chosen.emit(row.id)
