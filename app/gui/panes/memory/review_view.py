"""A proposal being decided: checklist, changes, and the result that Apply would write.

Holds no engine: it is given a proposal, marks and previews, and says what the person decided.
Below 1040 px the two halves are turns of a switch.
"""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from app.engine.records import Preview, Proposal, Source
from app.gui.look.text import thousands, tr
from app.gui.panes.memory.change_card import ChangeCard
from app.gui.panes.memory.change_list import ChangeList
from app.gui.panes.memory.change_rows import ChangeRow, Marks, change_rows, concerns
from app.gui.panes.memory.checklist import Checklist
from app.gui.panes.memory.deciding import Deciding, Verdict
from app.gui.panes.memory.lines_view import LinesView
from app.gui.panes.memory.result import result_rows
from app.gui.widgets.labels import T
from app.gui.widgets.meter import Share
from app.gui.widgets.surfaces import Splitter

NARROW = 1040  # px of the window


class ReviewView(QWidget):
    """Emits `changed` after each decision and `moved` when another change is in front."""

    changed = Signal()
    moved = Signal()
    source_wanted = Signal(object)  # Source
    raw_wanted = Signal()
    half_changed = Signal(str)  # changes or result, in a narrow window

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.proposal: Proposal | None = None
        self.deciding = Deciding(())
        self.preview: Preview | None = None
        self._marks: Mapping[int, Marks] = {}
        self._side = False
        self._editing = 0
        self._narrow = False
        self._half = "changes"
        self._pinned: frozenset[str] = frozenset()
        self._known: dict[object, ChangeRow] = {}
        self.reading_only = False
        self.checklist = Checklist()
        self.list = ChangeList(tr("Changes"))
        self.result = LinesView(tr("Result: what Apply writes now"), compact=True, left=0)
        self.result.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._build()
        self.list.focused.connect(self._on_focused)
        self.list.toggled.connect(self._on_toggled)
        self.list.card_made.connect(self._on_card)
        self.list.verticalScrollBar().valueChanged.connect(self._on_scrolled)
        self.checklist.go_wanted.connect(self._on_go)

    def _build(self) -> None:
        self.left = QWidget()
        left = QVBoxLayout(self.left)
        left.setContentsMargins(0, 0, 0, 0)
        left.setSpacing(0)
        checks = QHBoxLayout()
        checks.setContentsMargins(20, 2, 20, 4)
        checks.addWidget(self.checklist)
        left.addLayout(checks)
        left.addWidget(self.list, 1)
        self.right = QWidget()
        right = QVBoxLayout(self.right)
        right.setContentsMargins(0, 0, 0, 0)
        right.setSpacing(0)
        head = QHBoxLayout()
        head.setContentsMargins(18, 8, 16, 10)
        head.setSpacing(10)
        head.addWidget(T(tr("Result"), "head"))
        self._what = T(tr("what Apply writes now"), "small", "text_soft", elide="right")
        self._what.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        head.addWidget(self._what, 1)
        self.share = Share(tr("Budget"), 72)
        self.budget = T("", "small", "text_soft", tabular=True)
        head.addWidget(self.share)
        head.addWidget(self.budget)
        right.addLayout(head)
        right.addWidget(self.result, 1)
        self.splitter = Splitter(Qt.Orientation.Horizontal)
        self.splitter.addWidget(self.left)
        self.splitter.addWidget(self.right)
        self.splitter.setStretchFactor(0, 3)
        self.splitter.setStretchFactor(1, 2)
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.addWidget(self.splitter)

    # ------------------------------------------------------------------ what is shown

    def show_proposal(
        self, proposal: Proposal, marks: Mapping[int, Marks], pinned: frozenset[str] = frozenset()
    ) -> None:
        """Show a proposal; of one that is shown already, the change in front stays in front."""
        same = self.proposal is not None and self.proposal.info.id == proposal.info.id
        front = self.deciding.change(self.deciding.focus) if same else None
        self.proposal, self._marks, self._pinned = proposal, marks, pinned
        self._known.clear()
        self._editing = 0
        self.deciding = Deciding(proposal.changes, proposal.decisions)
        if front is not None:
            kept = [c.n for c in proposal.changes if (c.before, c.after) == _said(front)]
            met = any(c.conflict and self.deciding.decision(c.n) is None for c in proposal.changes)
            if kept and not met:  # what both changed is asked before anything else
                self.deciding.focus = kept[0]
        if not same:
            self.preview = None
            self.list.verticalScrollBar().setValue(0)
        self.render()

    def clear(self) -> None:
        self.proposal, self.deciding, self.preview = None, Deciding(()), None
        self._editing = 0

    def show_preview(self, preview: Preview, tokens: int = 0, budget: int = 0) -> None:
        """What Apply would write now."""
        self.preview = preview
        self.share.setVisible(budget > 0)
        self.budget.setVisible(budget > 0)
        if budget:
            self.share.set_share(tokens / budget)
            words = tr("{n} of {limit}", n=thousands(tokens), limit=thousands(budget))
            self.budget.setText(words)
        self._render_result(follow=True)

    def render(self) -> None:
        proposal = self.proposal
        if proposal is None:
            return
        links = frozenset(
            c.name for c in proposal.checks
            if not c.ok and concerns(c.name, c.detail, proposal.changes)
        )  # fmt: skip
        self.checklist.set_checks(proposal.checks, links)
        rows = change_rows(
            self.deciding,
            self._marks,
            side=self._side,
            editing=self._editing,
            decidable=not self.reading_only,
            known=self._known,
        )
        self.list.show_rows(rows, self.deciding.focus)
        self._render_result(follow=True)

    def _render_result(self, *, follow: bool = False) -> None:
        if self.preview is None or self.proposal is None:
            return
        rows = result_rows(self.proposal.base, self.preview, self.deciding, self._pinned)
        self.result.set_rows(rows)
        tinted = next((row for row in rows if row.tint), None)
        if follow and tinted is not None:
            index = self.result.rows_model.index(self.result.rows_model.place_of(tinted.id))
            self.result.scrollTo(index)

    # ------------------------------------------------------------------ deciding

    def decide(self, verdict: Verdict) -> None:
        """Accept or reject what is chosen (several rows), else the change in front."""
        self._decide(self._numbers(), verdict)

    def _decide(self, numbers: list[int], verdict: Verdict, text: str | None = None) -> None:
        if self._editing:
            self._editing = 0
        if numbers:
            self.deciding.decide(numbers, verdict, text)
            self._after()

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
        found = self.deciding.step(by)
        if found:
            self.list.clearSelection()
            self.render()
            self.moved.emit()
        return bool(found)

    def edit(self) -> None:
        """Own words for the change in front."""
        change = self.deciding.change(self.deciding.focus)
        if change is None or not change.after:
            return
        decision = self.deciding.decision(change.n)
        own = decision.text if decision is not None else None
        self._editing = change.n
        self.show_half("changes")
        self.render()
        card = self.list.card()
        if card is not None:
            card.start_editing(own if own is not None else "\n".join(change.after))

    def leave_editing(self) -> bool:
        """Close the field of own words; what was typed there is given up. False: none open."""
        if not self._editing:
            return False
        self._editing = 0
        self.list.drop_card()
        self.render()
        self.list.setFocus()
        return True

    def _after(self) -> None:
        self.list.clearSelection()
        self.render()
        self.changed.emit()

    # ------------------------------------------------------------------ turns

    def turn(self) -> None:
        """D: side by side or inline; in a narrow window changes or result."""
        if self._narrow:
            self.show_half("result" if self._half == "changes" else "changes")
            return
        self._side = not self._side
        self.list.forget()
        self.render()

    def show_half(self, half: str) -> None:
        self._half = half
        self.left.setVisible(not self._narrow or half == "changes")
        self.right.setVisible(not self._narrow or half == "result")
        self.half_changed.emit(half)

    def is_narrow(self) -> bool:
        return self._narrow

    def set_narrow(self, on: bool) -> None:
        if on != self._narrow:
            self._narrow = on
            self.show_half("changes" if not on else self._half)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.set_narrow(self.window().width() < NARROW)
        wide = self.width()
        if not self._narrow and wide != getattr(self, "_sized", 0):
            self._sized = wide
            share = 0.5 if self.window().width() > 1600 else 0.39
            right = max(round(wide * share), 360)
            self.splitter.setSizes([max(wide - right, 460), right])

    # ------------------------------------------------------------------ what the parts say

    def _on_focused(self, n: int) -> None:
        if n != self.deciding.focus and not self._editing:
            self.deciding.focus = n
            several = len(self.list.numbers()) > 1
            if not several:
                self.render()
            self.moved.emit()

    def _on_toggled(self, n: int) -> None:
        decision = self.deciding.decision(n)
        self._decide([n], decision.verdict if decision is not None else "accept")

    def _on_card(self, card: ChangeCard) -> None:
        card.accepted.connect(lambda n: self._decide([n], "accept"))
        card.rejected.connect(lambda n: self._decide([n], "reject"))
        card.edit_wanted.connect(lambda _: self.edit())
        card.source_wanted.connect(self.source_wanted)
        card.raw_wanted.connect(self.raw_wanted)
        card.saved.connect(self._on_saved)
        card.left.connect(self.leave_editing)

    def _on_saved(self, n: int, text: str) -> None:
        change = self.deciding.change(n)
        self._editing = 0
        self.list.drop_card()
        if change is not None:
            own = None if text == "\n".join(change.after) else text
            if self.deciding.decision(n) is not None and own is None:
                self.deciding.take_back([n])
            self._decide([n], "accept", own)
        self.list.setFocus()

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
            self.moved.emit()

    def first_source(self) -> Source | None:
        change = self.deciding.change(self.deciding.focus)
        return change.sources[0] if change is not None and change.sources else None


def _said(change: object) -> tuple[object, object]:
    return change.before, change.after  # type: ignore[attr-defined]
