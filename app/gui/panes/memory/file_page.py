"""MEMORY.md as it is now, or as it was: its lines, the chain behind a chosen one, find in page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from app.engine.records import MemoryView, Version
from app.gui.look.text import clock, moment, number, plural, tr
from app.gui.panes.memory.lines_view import (
    LineRow,
    LinesView,
    Origin,
    dressed,
    found_in,
    line_rows,
)
from app.gui.panes.memory.why_panel import WhyPanel
from app.gui.widgets.find_bar import FindBar
from app.gui.widgets.notices import Act, NoticeBar
from app.gui.widgets.rows import Row
from app.gui.widgets.surfaces import EmptyState, Splitter


class FilePage(QWidget):
    """`line_chosen(n)` when a line of the file now is chosen."""

    line_chosen = Signal(int)
    acted = Signal()  # the button of an empty state
    back_to_now = Signal()
    restore_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows: list[LineRow] = []
        self._key: object = None
        self.version = 0  # 0: the file now
        self.lines = LinesView(tr("MEMORY.md"))
        self.why = WhyPanel()
        self.why.hide()
        self.empty = EmptyState("", "", "")
        self.empty.acted.connect(self.acted)
        self.find_bar = FindBar(tr("Find in MEMORY.md"))
        self.find_bar.wanted.connect(self.find_text)
        self.find_bar.walked.connect(self.walk)
        self.find_bar.closed.connect(self.close_find)
        self.bar = NoticeBar(
            "", "", tone="info",
            acts=(Act(tr("Restore"), self.restore_wanted.emit, "R"),),
        )  # fmt: skip
        self.bar.closed.connect(self.back_to_now)
        self.bar.hide()
        bars = QHBoxLayout()
        bars.setContentsMargins(16, 0, 16, 4)
        bars.addWidget(self.bar)
        left = QWidget()
        column = QVBoxLayout(left)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(bars)
        column.addWidget(self.find_bar)
        column.addWidget(self.lines, 1)
        self.splitter = Splitter(Qt.Orientation.Horizontal)
        self.splitter.addWidget(left)
        self.splitter.addWidget(self.why)
        self.splitter.setStretchFactor(0, 1)
        self.splitter.setStretchFactor(1, 0)
        self.stack = QStackedWidget()
        self.stack.addWidget(self.splitter)
        self.stack.addWidget(self.empty)
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.addWidget(self.stack)
        self.lines.chosen.connect(self._on_chosen)
        self.lines.opened.connect(self._on_chosen)
        self.lines.clicked.connect(self._on_clicked)

    # ------------------------------------------------------------------ what is shown

    def show_file(self, memory: MemoryView, origins: Mapping[int, Origin]) -> None:
        """The file now; the same rows stay where they are."""
        if not self._state(memory):
            return
        self.version = 0
        self.bar.hide()
        self._show(memory.text, memory.pinned, origins)

    def show_version(self, version: Version, text: str, now: datetime) -> None:
        """An earlier version in place of the file, with a line that says so."""
        self.version = version.number
        self.stack.setCurrentWidget(self.splitter)
        self.bar.cause.setText(as_it_was(version, now))
        counts = []
        if version.added:
            counts.append(plural(version.added, "{n} line came", "{n} lines came"))
        if version.dropped:
            counts.append(plural(version.dropped, "{n} line went", "{n} lines went"))
        said = tr("version {n}", n=number(version.number))
        self.bar.set_text(", ".join([said, *counts]))
        self.bar.show()
        self._show(text, (), {})
        self.close_why()

    def knows(self, text: str) -> bool:
        """Whether the rows of `text` are at hand."""
        return text == self._key

    def take(self, text: str, rows: list[LineRow]) -> None:
        """Rows of a large text that were made beside the window's thread."""
        self._key, self._rows = text, rows

    def _show(self, text: str, pinned: Sequence[int], origins: Mapping[int, Origin]) -> None:
        key = text
        if key != self._key:
            self._key = key
            self._rows = line_rows(text)
        rows = dressed(self._rows, pinned=pinned, origins=origins)
        self.lines.set_rows(rows)

    def _state(self, memory: MemoryView) -> bool:
        """Whether there are lines to show; else the state that says why not."""
        if memory.state == "present":
            self.stack.setCurrentWidget(self.splitter)
            return True
        words = {
            "absent": (
                tr("Nothing is remembered yet"),
                tr("MEMORY.md will hold what the agent keeps for good. It begins with the first "
                   "conversation that is consolidated, or with a line of your own."),
                tr("Write a first line"),
            ),
            "empty": (
                tr("MEMORY.md is empty"),
                tr("The file is there and holds nothing. Conversations fill it by way of the "
                   "daily logs, or you write a line of your own."),
                tr("Write a first line"),
            ),
            "unreadable": (
                tr("MEMORY.md cannot be read"),
                (memory.problem or tr("It is no text that can be understood."))
                + " " + tr("It is left exactly as it is, and nothing is written to it."),
                tr("Look again"),
            ),
        }  # fmt: skip
        head, sentence, act = words[memory.state]
        self.empty.set_words(head, sentence, act)
        self.stack.setCurrentWidget(self.empty)
        self._rows, self._key = [], None
        self.lines.set_rows([])
        return False

    # ------------------------------------------------------------------ lines

    def chosen_line(self) -> int:
        row = self.lines.current_row()
        return row.number if isinstance(row, LineRow) else 0

    def raw_line(self, wanted: int) -> str:
        found = next((row for row in self._rows if row.number == wanted), None)
        return str(found.data) if found is not None else ""

    def go_to(self, line: int) -> bool:
        """Choose a line, bring it into view and show its chain, chosen before or not."""
        found = self.lines.select(f"l{line}", quiet=True)
        if found:
            self.lines.setFocus()
            self.line_chosen.emit(line)
        return found

    def _on_chosen(self, row: Row) -> None:
        if isinstance(row, LineRow) and row.number and not self.version:
            self.line_chosen.emit(row.number)

    def _on_clicked(self) -> None:
        """A click shows the chain also of the line that is chosen already."""
        row = self.lines.current_row()
        if self.why.isHidden() and row is not None:
            self._on_chosen(row)

    def follow_why(self) -> None:
        """An open chain is that of the chosen line, however it was chosen."""
        if self.why.isHidden() or self.version:
            return
        line = self.chosen_line()
        if line:
            self.line_chosen.emit(line)
        else:
            self.why.hide()

    def open_why(self) -> None:
        if self.why.isHidden():
            self.why.show()
            wide = self.splitter.width()
            side = 330 if wide > 760 else 280
            self.splitter.setSizes([max(wide - side, 200), side])

    def close_why(self) -> bool:
        """Close the chain. False when it was closed."""
        was = not self.why.isHidden()
        self.why.hide()
        if was:
            self.lines.setFocus()
        return was

    # ------------------------------------------------------------------ find

    def open_find(self, needle: str = "") -> None:
        self.find_bar.show()
        if needle:
            self.find_bar.field.setText(needle)
        self.find_bar.field.setFocus()
        self.find_bar.field.selectAll()

    def close_find(self) -> bool:
        was = not self.find_bar.isHidden()
        self.find_bar.hide()
        self.lines.set_needle("")
        if was:
            self.lines.setFocus()
        return was

    def find_text(self, needle: str) -> int:
        """Mark every place of `needle`, go to the first; how many lines hold it."""
        self.lines.set_needle(needle)
        found = found_in(self._rows, needle)
        if found:
            self.lines.select(f"l{found[0]}", quiet=True)
            self.follow_why()
        self._count(found)
        return len(found)

    def finds(self) -> bool:
        """Whether something is being looked for."""
        return not self.find_bar.isHidden() and bool(self.find_bar.field.text())

    def walk(self, by: int) -> None:
        found = found_in(self._rows, self.find_bar.field.text())
        if not found:
            return
        now = self.chosen_line()
        at = found.index(now) if now in found else -1 if by > 0 else 0
        self.lines.select(f"l{found[(at + by) % len(found)]}", quiet=True)
        self.follow_why()
        self._count(found)

    def _count(self, found: Sequence[int]) -> None:
        now = self.chosen_line()
        at = found.index(now) + 1 if now in found else 0
        self.find_bar.show_count(at, len(found), whole=True)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if not self.why.isHidden() and self.width() <= 760:
            self.splitter.setSizes([self.width() - 280, 280])


def as_it_was(version: Version, now: datetime) -> str:
    """ "As it was at 14:06", of a day before today "As it was on 15 Nov, 14:06"."""
    when = moment(version.when, now)
    if when == clock(version.when):
        return tr("As it was at {when}", when=when)
    return tr("As it was on {when}", when=when)
