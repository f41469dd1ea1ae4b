"""Two versions of MEMORY.md, or two proposals, as typed changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app.engine.records import Change, ProposalInfo
from app.gui.look.text import number, plural, tr
from app.gui.panes.memory.causes import maker
from app.gui.panes.memory.change_list import ChangeList
from app.gui.panes.memory.change_rows import ReviewRows
from app.gui.panes.memory.deciding import Deciding
from app.gui.panes.memory.pieces import Key, Marks
from app.gui.widgets.buttons import Button
from app.gui.widgets.labels import T
from app.gui.widgets.surfaces import EmptyState


class ComparePage(QWidget):
    """Reads only. `chosen()` is the change in front."""

    bring_wanted = Signal()  # the lost lines of the change in front
    review_wanted = Signal(str)  # the second of two proposals

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.old = self.new = 0  # versions
        self.rival: ProposalInfo | None = None  # the first of two proposals
        self.other: ProposalInfo | None = None  # the second
        self._title = ""
        self._deciding = Deciding(())
        self._rows = ReviewRows(self._deciding, {}, decidable=False)
        self.list = ChangeList(tr("Changes between two versions"))
        self.list.focused.connect(self._on_focused)
        self.said = T("", "small", "text_soft")
        self.back = Button(tr("Bring it back"), "plain", icon="plus", key="+", height=26)
        self.back.clicked.connect(self.bring_wanted)
        self.open_other = Button(tr("Review the other"), "plain", key="Enter", height=26)
        self.open_other.clicked.connect(self._on_opened)
        self.list.opened.connect(self._on_opened)
        self._top = QWidget()
        self._top.setMinimumHeight(30)
        top = QHBoxLayout(self._top)
        top.setContentsMargins(26, 0, 24, 4)
        top.addWidget(self.said, 1)
        top.addWidget(self.back)
        top.addWidget(self.open_other)
        self.empty = EmptyState(tr("No difference"), tr("Both hold the same lines."))
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(0)
        box.addWidget(self._top)
        box.addWidget(self.list, 1)
        box.addWidget(self.empty, 1)

    def show_changes(
        self, old: int, new: int, changes: Sequence[Change], marks: Mapping[Key, Marks]
    ) -> None:
        """Two versions, the older first."""
        self.old, self.new, self.rival = old, new, None
        self._title = tr("Version {old} and {new}", old=number(old), new=number(new))
        self._show(changes, marks)

    def show_rivals(
        self,
        first: ProposalInfo,
        other: ProposalInfo,
        changes: Sequence[Change],
        marks: Mapping[Key, Marks],
    ) -> None:
        """What a second run would write where the first writes something else."""
        self.old, self.new, self.rival = 0, 0, first
        self.other = other
        one, two = maker(first.model), maker(other.model)
        self._title = tr("the proposal by {one}, and that by {two}", one=one, two=two)
        self._show(changes, marks)

    def _show(self, changes: Sequence[Change], marks: Mapping[Key, Marks]) -> None:
        self._deciding = Deciding(changes)
        self._rows = ReviewRows(self._deciding, marks, decidable=False)
        lost = sum(len(c.before) for c in changes if c.kind == "dropped")
        added = sum(len(c.after) for c in changes if c.kind == "added")
        parts = [plural(len(changes), "{n} change", "{n} changes")]
        parts.append(plural(lost, "{n} line lost", "{n} lines lost") if lost else "")
        parts.append(plural(added, "{n} line added", "{n} lines added") if added else "")
        self.said.setText(tr(", ").join(p for p in parts if p))
        self.list.setVisible(bool(changes))
        self._top.setVisible(bool(changes))
        self.empty.setVisible(not changes)
        self.render()

    def render(self) -> None:
        self.list.show_rows(self._rows, self._deciding.focus)
        self._settle()

    def _settle(self) -> None:
        """Lines of a version can be brought back; a proposal is decided in its own review."""
        change = self.chosen()
        self.open_other.setVisible(self.rival is not None)
        self.back.setVisible(self.rival is None and change is not None and bool(change.before))

    def step(self, by: int) -> None:
        if self._deciding.step(by):
            self.render()

    def chosen(self) -> Change | None:
        return self._deciding.change(self._deciding.focus)

    def title(self) -> str:
        return self._title

    def _on_opened(self, *_: object) -> None:
        if self.rival is not None and self.other is not None:
            self.review_wanted.emit(self.other.id)

    def _on_focused(self, n: int) -> None:
        self._deciding.focus = n
        self.list.viewport().update()
        self._settle()
