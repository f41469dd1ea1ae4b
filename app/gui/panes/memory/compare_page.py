"""Two versions of MEMORY.md as typed changes, and the way to bring one lost line back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.engine.records import Change
from app.gui.look.text import number, plural, tr
from app.gui.panes.memory.change_list import ChangeList
from app.gui.panes.memory.change_rows import change_rows
from app.gui.panes.memory.deciding import Deciding
from app.gui.panes.memory.lines import shown
from app.gui.panes.memory.pieces import Key, Marks
from app.gui.widgets.labels import T
from app.gui.widgets.surfaces import EmptyState


class ComparePage(QWidget):
    """Reads only. `chosen()` is the change in front."""

    acted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.old = self.new = 0
        self._deciding = Deciding(())
        self._marks: Mapping[Key, Marks] = {}
        self.said = T("", "small", "text_soft")
        self.said.setContentsMargins(26, 0, 24, 4)
        self.list = ChangeList(tr("Changes between two versions"))
        self.list.focused.connect(self._on_focused)
        self.empty = EmptyState(tr("No difference"), tr("Both versions hold the same lines."))
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(0)
        box.addWidget(self.said)
        box.addWidget(self.list, 1)
        box.addWidget(self.empty, 1)

    def show_changes(
        self, old: int, new: int, changes: Sequence[Change], marks: Mapping[Key, Marks]
    ) -> None:
        self.old, self.new = old, new
        self._deciding, self._marks = Deciding(changes), marks
        lost = sum(len(c.before) for c in changes if c.kind == "dropped")
        added = sum(len(c.after) for c in changes if c.kind == "added")
        parts = [plural(len(changes), "{n} change", "{n} changes")]
        parts.append(plural(lost, "{n} line lost", "{n} lines lost") if lost else "")
        parts.append(plural(added, "{n} line added", "{n} lines added") if added else "")
        self.said.setText(tr(", ").join(p for p in parts if p))
        self.list.setVisible(bool(changes))
        self.said.setVisible(bool(changes))
        self.empty.setVisible(not changes)
        self.render()

    def render(self) -> None:
        rows = change_rows(self._deciding, self._marks, decidable=False)
        self.list.show_rows(rows, self._deciding.focus)

    def step(self, by: int) -> None:
        if self._deciding.step(by):
            self.render()

    def chosen(self) -> Change | None:
        return self._deciding.change(self._deciding.focus)

    def title(self) -> str:
        return tr("Version {old} and {new}", old=number(self.old), new=number(self.new))

    def _on_focused(self, n: int) -> None:
        self._deciding.focus = n
        self.list.viewport().update()


def bring_back(text: str, change: Change) -> str:
    """`text` with the lost lines of `change` at the end of their section, or at the end."""
    lines = text.split("\n")
    home = change.section.strip()
    at = 0
    inside = False
    for i, line in enumerate(lines):
        one = shown(line)
        if one.level:
            if inside:
                break
            inside = one.text.strip() == home
        if inside and line.strip():
            at = i + 1
    if not at:
        while lines and not lines[-1].strip():
            lines.pop()
        return "\n".join([*lines, *([""] if lines else []), *change.before, ""])
    return "\n".join([*lines[:at], *change.before, *lines[at:]])
