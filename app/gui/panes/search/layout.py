"""The widgets of the search place, and which of them is in view."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from app.gui.look.text import tr
from app.gui.panes.search.field import SearchField
from app.gui.panes.search.foot import Foot
from app.gui.panes.search.hits import HitList
from app.gui.panes.search.preview import Preview
from app.gui.panes.search.start import NonePart, Remembered, StartPart
from app.gui.panes.search.suggest import Suggestions
from app.gui.panes.search.syntax import SyntaxTable
from app.gui.panes.search.tabs import Tabs
from app.gui.widgets.buttons import SegmentSwitch
from app.gui.widgets.labels import IconLabel, T
from app.gui.widgets.notices import UndoBar
from app.gui.widgets.pane import Pane
from app.gui.widgets.surfaces import Splitter

MODES = ("auto", "words", "natural", "literal")
MODE_WORDS = {
    "auto": "All words first; then a word may go on, then any of the words.",
    "words": "All words, in any order.",
    "natural": "Any of the words that matter, however they are written.",
    "literal": "Exactly these letters, in this order.",
}
FELL_BACK = "No line holds them all, so any of the words that matter was enough."


class SearchParts:
    """Field and modes on top, tabs, then one of: start, hits with preview, nothing found."""

    def __init__(self, pane: Pane, remembered: Remembered) -> None:
        self._pane = pane
        self._narrow = False
        self._alone = False
        self.field = SearchField()
        self.modes = SegmentSwitch(
            [
                (m, tr(w))
                for m, w in zip(MODES, ("Auto", "Words", "Natural", "Literal"), strict=True)
            ],
            name=tr("How to search"),
        )
        self.tabs = Tabs()
        self.list = HitList()
        self.preview = Preview()
        self.start = StartPart(remembered)
        self.none = NonePart()
        self.foot = Foot()
        self.stack = QStackedWidget()
        self._build_top()
        self._build_meaning()
        self._build_middle()
        pane.body.addWidget(self.foot)
        self.suggest = Suggestions(self.field, pane)
        self.bar = UndoBar(self.stack)  # above the foot, which goes on saying how it was answered

    def _build_top(self) -> None:
        self._top = QHBoxLayout()
        self._top.setContentsMargins(24, 14, 20, 8)
        self._top.setSpacing(14)
        self._top.addWidget(self.field, 1)
        self._top.addWidget(self.modes)
        self._pane.body.addLayout(self._top)
        self._pane.body.addWidget(self.tabs)

    def _build_meaning(self) -> None:
        self.meaning = QWidget()
        said = QVBoxLayout(self.meaning)
        said.setContentsMargins(24, 8, 20, 4)
        said.setSpacing(8)
        self._meaning = T("", "small", "text_soft", wrap=True)
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(IconLabel("info", 14, "accent"), 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(self._meaning, 1)
        said.addLayout(row)
        said.addWidget(SyntaxTable())
        self.meaning.hide()
        self._pane.body.addWidget(self.meaning)

    def _build_middle(self) -> None:
        self.split = Splitter()
        self.split.addWidget(self.list)
        self.split.addWidget(self.preview)
        self.list.setMinimumWidth(300)
        self.preview.setMinimumWidth(300)
        self.split.setStretchFactor(0, 54)
        self.split.setStretchFactor(1, 46)
        kept = self._pane.desk.kept.get("search.split")
        good = isinstance(kept, list) and len(kept) == 2 and all(isinstance(n, int) for n in kept)
        self.split.setSizes([max(int(n), 1) for n in kept] if good and kept else [560, 516])
        self.split.splitterMoved.connect(self._keep_sizes)
        for part in (self.start, self.split, self.none):
            self.stack.addWidget(part)
        self._pane.body.addWidget(self.stack, 1)

    def _keep_sizes(self) -> None:
        self._pane.desk.kept["search.split"] = self.split.sizes()

    # ------------------------------------------------------------------ what is in view

    def show_part(self, part: QWidget) -> None:
        leaving, focus = self.stack.currentWidget(), QApplication.focusWidget()
        gone = leaving if leaving is not part else None
        if gone is not None and focus is not None and gone.isAncestorOf(focus):
            self.field.setFocus()  # Qt would give it to whatever the window has first
        self.stack.setCurrentWidget(part)
        self.foot.set_quiet(part is self.none)
        if part is not self.split:
            self.list.hits.set_entries([], {}, self._pane.desk.now())
            self._alone = False
        self.fold(preview_alone=self._alone)

    def shows_hits(self) -> bool:
        return self.stack.currentWidget() is self.split

    def is_narrow(self) -> bool:
        return self._narrow

    def set_narrow(self, narrow: bool) -> None:
        """Below some width the preview does not stand beside the hits."""
        left = 16 if self._pane.window().width() < 1000 else 24
        self._top.setContentsMargins(left, 14, 16 if left == 16 else 20, 8)
        self.tabs.set_margin(left)
        if narrow != self._narrow:
            self._narrow = narrow
            self.fold(preview_alone=self._alone)
        self.foot.set_narrow(self._pane.width() < 720, left)

    def fold(self, *, preview_alone: bool = False) -> None:
        """In a narrow window show the hits, or the preview alone."""
        self._alone = preview_alone and self._narrow
        self.list.setVisible(not self._alone)
        self.preview.setVisible(not self._narrow or self._alone)

    # ------------------------------------------------------------------ what is said

    def say_meaning(self, words: str, mode: str, answered: str) -> None:
        """`words` are the query's; then how it was taken in that mode, by the one that answered.
        What can be typed stands below."""
        fell = mode == "auto" and answered == "natural"
        self._meaning.setText(f"{words} {tr(FELL_BACK if fell else MODE_WORDS[mode])}")
        self.meaning.show()
