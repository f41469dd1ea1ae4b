"""One day on the page: its head, find bar, cards, or the words of an empty day."""

from __future__ import annotations

from datetime import date

from PySide6.QtCore import QDate, Signal
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from app.engine.records import DayInfo, DayLog
from app.gui.look.text import day as day_name
from app.gui.look.text import locale, preview, sentence, tr
from app.gui.panes.daily.calendar import Calendar
from app.gui.panes.daily.cards import Cards
from app.gui.panes.daily.days import card_rows, day_words, file_name, row_at_line, row_of_run
from app.gui.widgets.buttons import Button, IconButton
from app.gui.widgets.find_bar import FindBar
from app.gui.widgets.notices import Notices
from app.gui.widgets.pane import PaneHead, Target
from app.gui.widgets.surfaces import EmptyState


class DayPage(QWidget):
    """A day, or a file shown by itself."""

    flush_wanted = Signal()

    def __init__(self, notices: Notices) -> None:
        super().__init__()
        self.logs: list[DayLog] = []
        self.loaded = False
        self._hits: list[int] = []
        self._hit = -1
        self.head = PaneHead()
        self.fold = IconButton("panel-left", tr("Show or hide the calendar"), key="L")
        self.before = IconButton("chevron-left", tr("Previous day"), key="Left")
        self.after = IconButton("chevron-right", tr("Next day"), key="Right")
        self.flush = Button(tr("Flush now"), icon="arrow-down-to-line", key="F", height=30)
        self.back = Button(tr("Bring back"), icon="archive-restore", key="B", height=30)
        self.back.hide()
        self.head.add(self.before, self.after, self.back, self.flush)
        self.head.acts.setSpacing(6)
        self.head.lead(self.fold)
        self.strip = QWidget()
        strip = QHBoxLayout(self.strip)
        strip.setContentsMargins(12, 0, 12, 8)
        self.find_bar = FindBar(tr("Find in this day"))
        self.cards = Cards(tr("This day"))
        self.empty = EmptyState("", "", icon="arrow-down-to-line")
        self.stack = QStackedWidget()
        for widget in (QWidget(), self.cards, self.empty):
            self.stack.addWidget(widget)
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(0)
        for widget in (self.head, self.strip, notices, self.find_bar):
            box.addWidget(widget)
        box.addWidget(self.stack, 1)
        self.strip.hide()
        self.head.follow(self.cards)
        self.flush.clicked.connect(self.flush_wanted)
        self.empty.acted.connect(self.flush_wanted)
        self.find_bar.walked.connect(self.walk_hits)
        self.find_bar.closed.connect(self.close_find)
        self.find_bar.wanted.connect(lambda text: self.find(text))

    def take(self, calendar: Calendar) -> None:
        """Hold the calendar as a week strip."""
        layout = self.strip.layout()
        if layout is not None:
            layout.addWidget(calendar)
        calendar.set_week(True)
        self.strip.show()

    # ------------------------------------------------------------------ what it shows

    def show_logs(self, logs: list[DayLog], *, stay: str) -> None:
        self.logs, self.loaded = logs, True
        self.cards.set_rows(card_rows(logs), stay=stay)
        if self.find_bar.isVisibleTo(self):
            self.find(self.find_bar.field.text(), move=False)

    def say_day(self, of: date, today: date) -> None:
        """Head and, when nothing is there, the words of a day."""
        self.back.hide()
        near = (today - of).days in (0, 1)
        date_words = _long(of, today) if near else ""
        self.head.set_title(day_name(of, today), sentence([date_words, day_words(self.logs)]))
        if of == today:
            self._show(
                tr("Nothing is kept of today yet"),
                tr("A flush writes here what a session brought up: before each compaction, and "
                   "whenever you ask for it."), tr("Flush now"),
            )  # fmt: skip
        else:
            self._show(
                tr("Nothing was kept on this day"),
                tr("No session was flushed then. Days with a tint in the calendar have lines."),
            )

    def say_file(self, path: str, info: DayInfo | None) -> None:
        """The same for a file shown by itself."""
        archived = info is not None and info.archived
        self.back.setVisible(archived)
        kind = tr("archived") if archived else tr("a note")
        words = sentence([kind, day_words(self.logs)])
        self.head.set_title(preview(file_name(path), 80), words)
        self._show(tr("This file is empty"), tr("It is left as it is."))

    def _show(self, head: str, text: str, act: str = "") -> None:
        self.empty.set_words(head, text, act)
        self.stack.setCurrentWidget(self.cards if self.cards.rows else self.empty)

    def set_flushing(self, on: bool) -> None:
        self.flush.set_running(on, tr("Flushing") if on else tr("Flush now"))

    def go_to(self, target: Target) -> None:
        """Scroll to a line or to a flush's card, and mark the words to find."""
        at = row_of_run(self.cards.rows, target.section) if target.section else -1
        if target.line and target.path:
            at = row_at_line(self.cards.rows, target.path, target.line)
        self.cards.lit = self.cards.rows[at].id if at >= 0 else ""
        if target.find:
            self.find_bar.show()
            self.find_bar.field.setText(target.find)
            self.find(target.find, move=at < 0)
        if at >= 0:
            self.cards.set_current(at, show="middle")
        self.cards.setFocus()

    # ------------------------------------------------------------------ find

    def open_find(self) -> None:
        self.find_bar.show()
        self.find_bar.field.setFocus()
        self.find_bar.field.selectAll()

    def find(self, text: str, *, move: bool = True) -> None:
        """Mark `text`, and go to the first place of it from the current line on."""
        self._hits = self.cards.find(text)
        here = max(self.cards.current_at(), 0)
        self._hit = next((i for i, at in enumerate(self._hits) if at >= here), 0)
        self._hit = self._hit if self._hits else -1
        self._at_hit(move)

    def walk_hits(self, by: int) -> None:
        if self._hits:
            self._hit = (self._hit + by) % len(self._hits)
            self._at_hit(True)

    def _at_hit(self, move: bool) -> None:
        self.find_bar.show_count(self._hit + 1, len(self._hits), whole=True)
        if move and self._hits:
            self.cards.set_current(self._hits[self._hit], show="middle")

    def close_find(self) -> bool:
        """Close the bar; False when there was none."""
        if not self.find_bar.isVisibleTo(self):
            return False
        self.find_bar.hide()
        self._hits = self.cards.find("")
        self.cards.setFocus()
        return True

    def has_hits(self) -> bool:
        return bool(self._hits)


def _long(of: date, today: date) -> str:
    """The date of a day that is called Today or Yesterday."""
    pattern = "dddd, d MMMM" if of.year == today.year else "dddd, d MMMM yyyy"
    return locale().toString(QDate(of.year, of.month, of.day), pattern)
