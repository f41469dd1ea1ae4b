"""The line under the hits: how the answer came about, and what is not as usual with the index."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QFontMetricsF, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QWidget

from app.engine.records import IndexState
from app.gui.look.text import number, tr
from app.gui.look.type import font
from app.gui.panes.search.asking import BUILD, index_words
from app.gui.widgets.labels import IconLabel, KeyLegend, Link, T
from app.gui.widgets.rings import RunningRing

LEAST = 160  # px that what is unusual keeps in a narrow window
MARGINS = 110  # px of margins, gaps and the sign


class Foot(QWidget):
    """Words about the answer, a mark while the index is not whole, and the keys of the hits.

    `meaning_wanted()`, `again_wanted()`, `index_wanted()`. Hidden when there is nothing to say.
    """

    meaning_wanted = Signal()
    again_wanted = Signal()
    index_wanted = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._quiet = self._busy = self._narrow = False
        self._state = IndexState("ready")
        self._note = self._words = self._short = ""
        self.setMinimumHeight(30)
        self.words = T("", "small", "text_faint", elide="right", tabular=True)
        self.meaning = Link(tr("What was searched"), key="?")
        self.meaning.clicked.connect(self.meaning_wanted)
        self._ring = RunningRing("warn")
        self._sign = IconLabel("clock", 14, "warn")
        self.state = T("", "small", "warn", elide="right", tabular=True)
        self.again = Link(tr("Search again"), key="F5")
        self.again.clicked.connect(self.again_wanted)
        self.build = Link(tr(BUILD))
        self.build.clicked.connect(self.index_wanted)
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(24, 0, 20, 0)
        self._row.setSpacing(6)
        for part in (self.words, self.meaning, self._ring, self._sign):
            self._row.addWidget(part)
        self._row.addWidget(self.state, 1)
        self._row.addWidget(self.build)
        self._row.addWidget(self.again)
        self._row.addStretch(0)
        self._keys = KeyLegend(("Enter", tr("open")), ("Backspace", tr("back to these results")))
        self._row.addWidget(self._keys)
        self.again.hide()
        self._settle()

    # ------------------------------------------------------------------ what is said

    def say(self, words: str, note: str = "", short: str = "") -> None:
        """The mode that answered, order, hits and time; `note` is what was unusual about it, and
        `short` stands for the words where the note needs their room."""
        self._words, self._short = words, short or words
        self._note = note
        self._settle()

    def show_index(self, state: IndexState) -> None:
        """The state of the index; a whole one is not worth a word here."""
        self._state = state
        self._settle()

    def set_busy(self, on: bool) -> None:
        """A search takes longer than a moment."""
        self._busy = on
        self._settle()

    def offer_again(self, on: bool) -> None:
        """The files changed, and what is listed is too much to be asked for again unasked."""
        self.again.setVisible(on)

    def set_quiet(self, on: bool) -> None:
        """Another part says all that is to be said."""
        self._quiet = on
        self._settle()

    def set_narrow(self, narrow: bool, margin: int) -> None:
        """Key hints go first."""
        self._row.setContentsMargins(margin, 0, 20, 0)
        self._narrow = narrow
        self._settle()

    def _fits(self, state: str) -> bool:
        """Whether the key hints have room beside all that is said."""
        wide = _wide(self.words.text() + state)
        return wide + self._keys.sizeHint().width() <= self._room()

    def _room(self) -> float:
        """Px for words."""
        return self.width() - self.meaning.sizeHint().width() - MARGINS

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._settle()

    def _settle(self) -> None:
        words, whole = index_words(self._state)
        building = self._state.state == "building"
        if building:  # the window's status line says the rest
            words = tr(
                "Index growing, {n} of {all} files",
                n=number(self._state.done), all=number(self._state.total),
            )  # fmt: skip
        if whole or (self._note and not building):
            words = self._note
        if self._busy:
            words = tr("Searching")
        self.state.setText(words)
        needed = _wide(words)
        cramped = bool(words) and _wide(self._words) + needed > self._room()
        self.words.setText(self._short if cramped else self._words)
        rest = max(self._room() - _wide(self.words.text()), LEAST)
        self.state.setMinimumWidth(round(min(needed, rest)))  # beside an answer's own words, too
        self.state.set_color("text_soft" if self._busy else "warn")
        self._ring.setVisible(bool(words) and (building or self._busy))
        bad = self._state.state == "unavailable"
        late = "info" if whole else "clock"  # what is said of the query has nothing to do with time
        self._sign.set_icon("triangle-alert" if bad else late, "warn")
        self._sign.setVisible(bool(words) and not building and not self._busy)
        self.build.setVisible(bad and not self._busy)
        self._keys.setVisible(not self._narrow and self._fits(words))
        answered = bool(self.words.text())
        self.meaning.setVisible(answered)
        self.setVisible(not self._quiet and (answered or bool(words)))


def _wide(text: str) -> float:
    return QFontMetricsF(font("small")).horizontalAdvance(text)
