"""The conflicts of a review side by side, when a person wants to see all three texts at once."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from app.engine.records import Change, Proposal
from app.gui.look.text import tr
from app.gui.panes.memory.conflict_card import Around, ConflictCard
from app.gui.panes.memory.conflicts import Sides, kept_words
from app.gui.panes.memory.deciding import Deciding
from app.gui.panes.memory.halves import is_narrow
from app.gui.panes.memory.pieces import Key, Marks
from app.gui.widgets.labels import IconLabel, KeyCaps, T
from app.gui.widgets.surfaces import Ground, Hairline

LEAST = 900  # px of the window below which columns become parts
AT_ONCE = 40  # cards that stand on the page at once


class ColumnsPage(QWidget):
    """Signals of its cards, each with the conflict's number.

    `turned`: columns became parts, or parts columns, so that the conflicts are to be shown again.
    """

    wanted = Signal(int)
    chosen = Signal(int, str)
    taken = Signal(int)
    undone = Signal(int)
    saved = Signal(int, str)
    left = Signal()
    turned = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._key: object = None
        self._cards: dict[int, ConflictCard] = {}
        self._bed = Ground("canvas")
        self._rows = QVBoxLayout(self._bed)
        self._rows.setContentsMargins(24, 2, 24, 16)
        self._rows.setSpacing(12)
        self.area = QScrollArea()
        self.area.setWidgetResizable(True)
        self.area.setFrameShape(QFrame.Shape.NoFrame)
        self.area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.area.setWidget(self._bed)
        self.area.setAccessibleName(tr("Conflicts in three columns"))
        self.area.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.kept = T("", "small", "text_soft", elide="right")
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(0)
        box.addWidget(self.area, 1)
        box.addWidget(Hairline())
        self._foot = QWidget()
        self._foot.setLayout(self._foot_row())
        box.addWidget(self._foot)

    def foot_height(self) -> int:
        """Px of the lower edge that say what is kept, and the keys."""
        return self._foot.sizeHint().height()

    def set_room(self, px: int) -> None:
        """Keep `px` below the last card free for a bar."""
        margins = self._rows.contentsMargins()
        margins.setBottom(16 + px)
        self._rows.setContentsMargins(margins)

    def _foot_row(self) -> QHBoxLayout:
        foot = QHBoxLayout()
        foot.setContentsMargins(24, 7, 16, 7)
        foot.setSpacing(6)
        foot.addWidget(IconLabel("shield-check", 14, "text_soft"))
        foot.addWidget(self.kept, 1)
        for keys, words in (
            ("J, K", tr("next, previous")), ("U", tr("undo")), ("Esc", tr("decide later")),
        ):  # fmt: skip
            foot.addSpacing(8)
            foot.addWidget(KeyCaps(keys))
            foot.addWidget(T(words, "small", "text_soft"))
        return foot

    def show_conflicts(
        self,
        proposal: Proposal,
        deciding: Deciding,
        marks: Mapping[Key, Marks],
        sides: Sides,
        *,
        editing: int = 0,
    ) -> None:
        """Follow the review; cards stay while their conflicts do."""
        conflicts = deciding.conflicts()
        self._settle(proposal, conflicts, marks, sides, deciding.focus)
        self.kept.setText(kept_words(proposal))
        for n, card in self._cards.items():
            card.show_state(
                deciding.decision(n), deciding.choice(n), deciding.own(n),
                front=n == deciding.focus, editing=n == editing,
            )  # fmt: skip
        QTimer.singleShot(0, self, lambda: self._bring(deciding.focus))

    def card(self, n: int) -> ConflictCard | None:
        return self._cards.get(n)

    def _settle(
        self,
        proposal: Proposal,
        conflicts: list[Change],
        marks: Mapping[Key, Marks],
        sides: Sides,
        focus: int,
    ) -> None:
        at = next((i for i, c in enumerate(conflicts) if c.n == focus), 0)
        first = at // AT_ONCE * AT_ONCE
        shown = conflicts[first : first + AT_ONCE]
        stacked = is_narrow(self.window(), LEAST)
        key = (id(proposal), [c.n for c in shown], stacked)
        if key == self._key:
            return
        self._key = key
        while (item := self._rows.takeAt(0)) is not None:
            if (old := item.widget()) is not None:
                old.hide()
                old.deleteLater()
        self._cards.clear()
        base, candidate = proposal.base.split("\n"), proposal.candidate.split("\n")
        for i, change in enumerate(shown, first + 1):
            card = ConflictCard(
                change, marks, sides, around(change, base, candidate), (i, len(conflicts)),
                stacked=stacked,
            )  # fmt: skip
            for name in ("wanted", "chosen", "taken", "undone", "saved", "left"):
                getattr(card, name).connect(getattr(self, name))
            self._cards[change.n] = card
            self._rows.addWidget(card)
        self._rows.addStretch(1)

    def _bring(self, n: int) -> None:
        if (card := self._cards.get(n)) is not None:
            self.area.ensureWidgetVisible(card, 0, 12)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self._key is not None and self._key[2] != is_narrow(self.window(), LEAST):  # type: ignore[index]
            self.turned.emit()


def around(change: Change, base: list[str], candidate: list[str]) -> Around:
    """The lines beside a conflict that file and proposal share."""
    first, lines, many = change.base_line, base, len(change.before)
    if not first:
        first, lines, many = change.result_line, candidate, len(change.after)
    if not first:
        return Around()
    both = set(base) & set(candidate)
    above = next((line for line in reversed(lines[: first - 1]) if line.strip()), "")
    below = next((line for line in lines[first - 1 + many :] if line.strip()), "")
    return Around(above if above in both else "", below if below in both else "", change.base_line)
