"""A proposal being decided: checklist, changes, and the result that Apply would write.

Holds no engine: it is given a proposal, marks and previews, and says what the person decided.
"""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from app.engine.records import Change, Proposal, Source
from app.gui.look.text import tr
from app.gui.panes.memory.causes import answered
from app.gui.panes.memory.change_card import ChangeCard
from app.gui.panes.memory.change_list import ChangeList
from app.gui.panes.memory.change_rows import ReviewRows, concerns
from app.gui.panes.memory.checklist import Checklist
from app.gui.panes.memory.columns_page import ColumnsPage
from app.gui.panes.memory.conflicts import Choice, Sides, choices, written
from app.gui.panes.memory.deciding import Deciding, Verdict
from app.gui.panes.memory.halves import Halves
from app.gui.panes.memory.overview import Overview
from app.gui.panes.memory.pieces import Key, Marks
from app.gui.panes.memory.result import Result
from app.gui.panes.memory.result_panel import ResultPanel


class ReviewView(QWidget):
    """Emits `changed` after each decision, `turned` when list and three columns change places."""

    changed = Signal()
    turned = Signal()
    source_wanted = Signal(object)  # Source
    apart_wanted = Signal()  # of the change in front
    raw_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.proposal: Proposal | None = None
        self.deciding = Deciding(())
        self._marks: Mapping[Key, Marks] = {}
        self._sides = Sides()
        self._side = False
        self._editing = 0
        self.pinned: frozenset[str] = frozenset()
        self._rows = ReviewRows(self.deciding, {})
        self.reading_only = False
        self.checklist = Checklist()
        self.list = ChangeList(tr("Changes"))
        self.strip = Overview()
        self.right = ResultPanel()
        self.columns = ColumnsPage()
        self.result = self.right.lines
        self._build()
        self.strip.wanted.connect(self.go_to)
        self.strip.stepped.connect(self.step)
        columns = self.columns
        columns.wanted.connect(self.go_to)
        columns.chosen.connect(lambda n, key: (self.go_to(n), self.choose(key)))
        columns.taken.connect(lambda n: self._decide([n], "accept"))
        columns.undone.connect(self._on_undone)
        columns.saved.connect(self._on_saved)
        columns.left.connect(self.leave_editing)
        columns.turned.connect(self.render)
        self.list.focused.connect(self._on_focused)
        self.list.toggled.connect(self._on_toggled)
        self.list.card_made.connect(self._on_card)
        self.list.verticalScrollBar().valueChanged.connect(self._on_scrolled)
        self.checklist.go_wanted.connect(self._on_go)

    def _build(self) -> None:
        changes = QWidget()
        left = QVBoxLayout(changes)
        left.setContentsMargins(0, 0, 0, 0)
        left.setSpacing(0)
        checks = QHBoxLayout()
        checks.setContentsMargins(20, 2, 20, 4)
        checks.addWidget(self.checklist)
        left.addLayout(checks)
        rows = QHBoxLayout()
        rows.setContentsMargins(0, 0, 0, 0)
        rows.setSpacing(0)
        rows.addWidget(self.list, 1)
        rows.addWidget(self.strip)
        left.addLayout(rows, 1)
        self.halves = Halves(changes, self.right)
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        self.pages = QStackedWidget()
        self.pages.addWidget(self.halves)
        self.pages.addWidget(self.columns)
        box.addWidget(self.pages)

    # ------------------------------------------------------------------ what is shown

    def show_proposal(
        self,
        proposal: Proposal,
        deciding: Deciding,
        marks: Mapping[Key, Marks],
        pinned: frozenset[str] = frozenset(),
        *,
        sides: Sides,
    ) -> None:
        """Show a proposal; of one that is shown already, the change in front stays in front."""
        same = self.proposal is not None and self.proposal.info.id == proposal.info.id
        front = self.deciding.change(self.deciding.focus) if same else None
        self.proposal, self._marks, self.pinned = proposal, marks, pinned
        self._sides = sides
        self._editing = 0
        self.deciding = deciding
        self._rows = ReviewRows(
            deciding, marks, decidable=not self.reading_only, sides=sides,
            answered=answered(proposal),
        )  # fmt: skip
        if front is not None:
            kept = [c.n for c in proposal.changes if (c.before, c.after) == _said(front)]
            met = any(c.conflict and self.deciding.decision(c.n) is None for c in proposal.changes)
            if kept and not met:  # what both changed is asked before anything else
                self.deciding.focus = kept[0]
        if not same:
            self.right.clear()
            self.list.verticalScrollBar().setValue(0)
        self.render()

    def clear(self) -> None:
        self.proposal, self.deciding = None, Deciding(())
        self._editing = 0

    def show_result(self, result: Result, tokens: int = 0, budget: int = 0) -> None:
        """What Apply would write now."""
        self.right.show_budget(tokens, budget)
        self.right.show_result(result)
        self._show_front()

    def marks_came(self) -> None:
        """More marks inside words are there: the rows that have them say so."""
        if self.proposal is not None and not self.in_columns() and not self._editing:
            self.list.show_rows(self._rows, self.deciding.focus)

    def render(self) -> None:
        proposal = self.proposal
        if proposal is None:
            return
        front = self.in_front()
        if self.in_columns() and (front is None or not front.conflict):
            self.show_columns(False)
            return
        if self.in_columns():
            self.columns.show_conflicts(
                proposal, self.deciding, self._marks, self._sides, editing=self._editing
            )
            return
        links = frozenset(
            c.name for c in proposal.checks
            if not c.ok and concerns(c.name, c.detail, proposal.changes)
        )  # fmt: skip
        self.checklist.set_checks(proposal.checks, links)
        self._rows.side, self._rows.editing = self._side, self._editing
        self.list.show_rows(self._rows, self.deciding.focus)
        self.strip.show_deciding(self.deciding)
        QTimer.singleShot(0, self, self._show_front)  # the list is painted first

    def _show_front(self) -> None:
        front = self.in_front()
        self.right.show_front(front, self.deciding.decision(front.n) if front else None)

    def measuring(self) -> bool:
        """Whether rows that are not seen still get their heights, in short turns."""
        return self.list.measuring() or self.result.measuring()

    # ------------------------------------------------------------------ deciding

    def decide(self, verdict: Verdict) -> bool:
        """Accept or reject what is chosen (several rows), else the change in front.

        False for a conflict of which nothing is chosen yet: then nothing is decided.
        """
        return self._decide(self._numbers(), verdict)

    def _decide(self, numbers: list[int], verdict: Verdict, text: str | None = None) -> bool:
        before = self.deciding.turns
        self._editing = 0
        self.deciding.decide(numbers, verdict, text)
        said = self.deciding.turns != before or not numbers
        if said:
            self._after()
        return said

    def _numbers(self) -> list[int]:
        chosen = self.list.numbers()
        if len(chosen) > 1:
            return chosen
        return [self.deciding.focus] if self.deciding.focus else []

    def take_back(self) -> None:
        if self.deciding.take_back(self._numbers()):
            self._after()

    def accept_rest(self) -> tuple[int, int]:
        found = self.deciding.accept_rest()
        self._after()
        return found

    def step(self, by: int) -> bool:
        """To the next or previous change. False when there is nothing left: Apply is next."""
        conflicts = self.in_columns()
        found = self.deciding.step(by, only=lambda c: c.conflict or not conflicts)
        if found:
            self.list.clearSelection()
            self.render()
        return bool(found)

    def edit(self) -> None:
        """Own words for the change in front."""
        change = self.in_front()
        if change is None or not (change.after or change.conflict):
            return
        self._editing = change.n
        self.halves.show_half("changes")
        self.render()
        card = self.columns.card(change.n) if self.in_columns() else self.list.card()
        if card is not None:
            card.start_editing(self._words_for(change))

    def _words_for(self, change: Change) -> str:
        """What the field of own words begins with."""
        if own := self.deciding.own(change.n):
            return own
        if change.conflict:
            choice = self.deciding.choice(change.n) or "now"
            return "\n".join(written(change, choice) or change.after)
        return "\n".join(change.after)

    def choose(self, key: Choice) -> str:
        """Choose what the conflict in front becomes; the reason when there is none."""
        change = self.in_front()
        if change is None or not change.conflict:
            return tr("The change in front is no conflict.")
        if key not in dict(choices(change)):
            return tr("One side dropped the line, so there is no both.")
        self._editing = 0
        if key == "own" and not self.deciding.own(change.n):
            self.edit()
        else:
            self.deciding.choose(change.n, key)
            self.render()
        return ""

    def leave_editing(self) -> bool:
        """Close the field of own words; what was typed there is given up. False: none open."""
        if not self._editing:
            return False
        self._editing = 0
        self.list.drop_card()
        self.render()
        self.front().setFocus()
        self.turned.emit()
        return True

    def _after(self) -> None:
        self.list.clearSelection()
        self.render()
        self.changed.emit()

    def _on_undone(self, n: int) -> None:
        if self.deciding.take_back([n]):
            self._after()

    # ------------------------------------------------------------------ turns

    def leave_columns(self) -> bool:
        """Back to the list of all changes. False when it stands there already."""
        return self.in_columns() and self.show_columns(False)

    def front(self) -> QWidget:
        """Where the keys go: the list, or the conflicts in columns."""
        return self.columns.area if self.in_columns() else self.list

    def in_columns(self) -> bool:
        return self.pages.currentWidget() is self.columns

    def show_columns(self, on: bool) -> bool:
        """The conflicts in three columns, or all changes in their list. False: no conflict."""
        conflicts = self.deciding.conflicts()
        if on and not conflicts:
            return False
        self._editing = 0
        if on and self.deciding.focus not in [c.n for c in conflicts]:
            self.deciding.focus = conflicts[0].n
        self.list.drop_card()
        self.pages.setCurrentWidget(self.columns if on else self.halves)
        self.render()
        self.front().setFocus()
        self.turned.emit()
        return True

    def turn(self) -> None:
        """D: side by side or inline; in a narrow window changes or result."""
        if self.halves.narrow:
            self.halves.turn()
            return
        self._side = not self._side
        self.list.forget()
        self.render()

    # ------------------------------------------------------------------ what the parts say

    def _on_focused(self, n: int) -> None:
        if n != self.deciding.focus and not self._editing:
            self.deciding.focus = n
            several = len(self.list.numbers()) > 1
            if not several:
                self.render()

    def _on_toggled(self, n: int) -> None:
        decision = self.deciding.decision(n)
        if decision is None and (change := self.deciding.change(n)) and change.conflict:
            self.go_to(n)  # a conflict is chosen first
            return
        self._decide([n], decision.verdict if decision is not None else "accept")

    def _on_card(self, card: ChangeCard) -> None:
        card.accepted.connect(lambda n: self._decide([n], "accept"))
        card.rejected.connect(lambda n: self._decide([n], "reject"))
        card.edit_wanted.connect(lambda _: self.edit())
        card.source_wanted.connect(self.source_wanted)
        card.raw_wanted.connect(self.raw_wanted)
        card.saved.connect(self._on_saved)
        card.left.connect(self.leave_editing)
        card.apart_wanted.connect(self.apart_wanted)
        card.choice_wanted.connect(lambda _, key: self.choose(key))

    def _on_saved(self, n: int, text: str) -> None:
        change = self.deciding.change(n)
        self._editing = 0
        self.list.drop_card()
        if change is not None:
            same = text == "\n".join(change.after) and not change.conflict
            own = None if same else text
            if self.deciding.decision(n) is not None and own is None:
                self.deciding.take_back([n])
            self._decide([n], "accept", own)
        self.front().setFocus()

    def _on_scrolled(self, value: int) -> None:
        if value > 60:
            self.checklist.set_folded(True)
        elif value == 0:
            self.checklist.set_folded(False)

    def _on_go(self, name: str) -> None:
        proposal = self.proposal
        check = next((c for c in proposal.checks if c.name == name), None) if proposal else None
        if proposal is None or check is None:
            return
        n = concerns(name, check.detail, proposal.changes)
        if n:
            self.go_to(n)

    def go_to(self, n: int) -> None:
        """Bring change `n` to the front."""
        if self.deciding.change(n) is not None:
            self.deciding.focus = n
            self.list.clearSelection()
            self.render()

    def in_front(self) -> Change | None:
        return self.deciding.change(self.deciding.focus)

    def first_source(self) -> Source | None:
        change = self.in_front()
        return change.sources[0] if change is not None and change.sources else None


def _said(change: object) -> tuple[object, object]:
    return change.before, change.after  # type: ignore[attr-defined]
