"""Daily logs: a calendar beside one day, each flush a card with its lines and their states.

Invariant: a day is shown whole, with every file that belongs to it; "today" follows the clock of
the desk, also over midnight. Old content stays until new content is there.
"""

from __future__ import annotations

from datetime import date

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QGuiApplication, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QWidget

from app.engine.errors import Unreadable
from app.engine.events import Changed
from app.engine.records import DayInfo
from app.gui.look.text import tr
from app.gui.panes.daily.catalogue import daily_actions
from app.gui.panes.daily.days import (
    CardRow,
    by_day,
    counts,
    file_name,
    file_rows,
    tally,
)
from app.gui.panes.daily.jobs import Jobs
from app.gui.panes.daily.page import DayPage
from app.gui.panes.daily.ranges import message_ranges
from app.gui.panes.daily.side import SIDE_WIDTH, DailySide
from app.gui.widgets.action import Action
from app.gui.widgets.dialogs import Overlay
from app.gui.widgets.labels import T
from app.gui.widgets.notices import Act
from app.gui.widgets.paged import PagedText
from app.gui.widgets.pane import Desk, Pane, Target
from app.gui.widgets.rows import Row
from app.gui.widgets.surfaces import Splitter

NARROW = 900  # px of pane below which the calendar becomes a week strip
SOON = 150  # ms in which changes are gathered


class DailyPane(Pane):
    """The daily logs."""

    place, title = "daily", "Daily logs"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.today = desk.now().astimezone().date()
        self.files: list[DayInfo] = []
        self.day: date | None = self.today
        self.file = ""  # a file shown by itself (archived, undated); "" for a day
        self._archive_open = False
        self._chose = False  # a person (or a target) chose what is shown
        self._list_open = False
        self._asked = 0  # looks at the files or at a day that were begun
        self._told = self._told_day = 0  # which of them is shown
        self._stay = "top"  # where the view goes with the next rows of the day
        self.side = DailySide(self.today)
        self.page = DayPage(self.notices)
        self.cards = self.page.cards
        self.jobs = Jobs(self, lambda: self.page.set_flushing(self.jobs.running("flush")))
        self.head.hide()
        self.splitter = Splitter(Qt.Orientation.Horizontal)
        self.splitter.addWidget(self.side)
        self.splitter.addWidget(self.page)
        self.splitter.setStretchFactor(1, 1)
        kept = desk.kept.get("daily.side")
        wide = kept if isinstance(kept, int) and 260 <= kept <= 400 else SIDE_WIDTH
        self.splitter.setSizes([wide, 800])
        self.splitter.splitterMoved.connect(lambda at, _: desk.kept.__setitem__("daily.side", at))
        self.body.addWidget(self.splitter, 1)
        self._connect()

    def _connect(self) -> None:
        page, side = self.page, self.side
        page.before.clicked.connect(lambda: self.step(-1))
        page.after.clicked.connect(lambda: self.step(1))
        page.fold.clicked.connect(self.toggle_side)
        page.flush_wanted.connect(self.flush)
        page.back.clicked.connect(self.bring_back)
        side.calendar.chosen.connect(self.choose)
        side.calendar.turned.connect(lambda: self.tasks.latest("month", self._tally()))
        side.files.opened.connect(self._on_file)
        self.cards.acted.connect(self.on_act)
        self._soon = QTimer(self, singleShot=True, interval=SOON)
        self._soon.timeout.connect(lambda: self.tasks.latest("again", self.refresh()))
        self.desk.signals.changed.connect(self.on_changed)

    # ------------------------------------------------------------------ the contract

    def actions(self) -> list[Action]:
        return daily_actions(self)

    def focus_parts(self) -> list[QWidget]:
        return [self.cards, self.side.calendar, self.side.files]

    async def refresh(self) -> None:
        """The list of files, and what is shown of them."""
        self.look_at_clock()
        await self._look()
        self._show_files()
        if not self._chose and self.day == self.today and self.today not in by_day(self.files):
            newest = max(by_day(self.files), default=self.today)
            self.day = newest
            self.side.calendar.set_day(newest)
        await self._show_day()
        self.tasks.latest("month", self._tally())

    async def open(self, target: Target) -> None:
        """A file of `memory/`, at a line, with words to find, or at a flush's section."""
        await self._look()
        info = next((f for f in self.files if f.path == target.path), None)
        if target.path and info is None:
            raise Unreadable(
                tr("{name} is not in this workspace any more.", name=file_name(target.path)),
                tr("It may be in the archive, or it was moved by hand."),
            )
        self._chose = True
        if info is not None:
            self._choose_file(info)
        self._show_files()
        self._stay = "start"
        if await self._show_day():
            self.page.go_to(target)

    async def _look(self) -> None:
        """The files as they are; an answer that comes behind that of a later look is dropped."""
        self._asked += 1
        asked = self._asked
        files = await self.desk.engine.ask.days()
        if asked >= self._told:
            self._told, self.files = asked, files

    def find(self) -> bool:
        self.page.open_find()
        return True

    # ------------------------------------------------------------------ what is shown

    def _choose_file(self, info: DayInfo) -> None:
        if info.day is not None and not info.archived:
            self.file, self.day = "", info.day
            self.side.calendar.set_day(info.day)
        else:
            self.file, self.day = info.path, info.day
            self.side.calendar.set_day(None)
            self._archive_open = self._archive_open or info.archived

    def choose(self, of: date) -> None:
        """Show a day."""
        if of == self.day and not self.file:
            return
        self.tasks.cancel("open")  # where one was going before
        self._chose = True
        self.day, self.file, self.cards.lit = of, "", ""
        self.side.calendar.set_day(of)
        self.side.files.clear_choice()
        self._stay = "start"
        self.tasks.latest("day", self._show_day())

    def show_today(self) -> None:
        self.choose(self.today)

    def step(self, by: int) -> None:
        """To the next (1) or previous (-1) day that has a log; today always counts as one."""
        known = sorted({*by_day(self.files), self.today})
        here = self.day or self.today
        found = [d for d in known if (d > here if by > 0 else d < here)]
        if found:
            self.choose(found[0] if by > 0 else found[-1])

    def can_step(self, by: int) -> bool:
        here = self.day or self.today
        days = {*by_day(self.files), self.today}
        return any((d > here if by > 0 else d < here) for d in days)

    def _show_files(self) -> None:
        days = by_day(self.files)
        self.side.calendar.set_counts(counts(days))
        rows = file_rows(self.files, archive_open=self._archive_open, today=self.today)
        self.side.files.set_rows(rows)
        self.side.files_line.setVisible(bool(rows))
        if self.file:
            self.side.files.select(self.file, quiet=True)

    def _paths(self) -> list[str]:
        if self.file:
            return [self.file]
        return [info.path for info in by_day(self.files).get(self.day or self.today, [])]

    async def _show_day(self) -> bool:
        """Show what is chosen; False when something else was chosen while it was read."""
        self._asked += 1
        asked, of, file = self._asked, self.day, self.file
        logs = [await self.desk.engine.ask.day(path) for path in self._paths()]
        if (of, file) != (self.day, self.file):
            return False
        if asked > self._told_day:  # else it is shown already as a later look found it
            self._told_day = asked
            self.page.show_logs(logs, stay=self._stay)
            self._stay = "top"
            self._say()
            self.tasks.latest("titles", self._titles(list(self.cards.rows)))
        return True

    def _say(self) -> None:
        """Head, buttons and the words of an empty day."""
        if self.file:
            info = next((f for f in self.files if f.path == self.file), None)
            self.page.say_file(self.file, info)
        else:
            self.page.say_day(self.day or self.today, self.today)
        self.page.before.setEnabled(self.can_step(-1))
        self.page.after.setEnabled(self.can_step(1))

    async def _titles(self, rows: list[CardRow]) -> None:
        """Names of the sessions, then which of their messages each flush covers."""
        ask = self.desk.engine.ask
        self.cards.titles = {s.id: s.title for s in await ask.sessions()}
        self.cards.settle()
        self.cards.ranges = await message_ranges(ask, rows, set(self.cards.titles))
        self.cards.settle()

    async def _tally(self) -> None:
        """How the shown month stands; read day by day, beside whatever else goes on."""
        month = self.side.calendar.month
        found = [
            info
            for of, infos in by_day(self.files).items()
            if (of.year, of.month) == (month.year, month.month)
            for info in infos
        ]
        logs = [await self.desk.engine.ask.day(info.path) for info in found]
        if month != self.side.calendar.month:
            return
        this = month == self.today.replace(day=1)
        title = tr("This month") if this else self.side.calendar.title()
        self.side.tally.set_counts(tally(logs), title)

    # ------------------------------------------------------------------ what happens

    def on_changed(self, event: Changed) -> None:
        if self.shown and event.kinds & {"daily", "proposals", "sessions"}:
            self._soon.start()

    def look_at_clock(self) -> None:
        """Today turns over at midnight; what is shown stays."""
        now = self.desk.now().astimezone().date()
        if now != self.today:
            self.today = now
            self.side.calendar.set_today(now)
            self._show_files()
            if self.page.loaded:
                self._say()

    def _on_file(self, row: Row) -> None:
        if row.id == "archive":
            self._archive_open = not self._archive_open
            self._show_files()
        elif isinstance(row.data, DayInfo):
            self.tasks.cancel("open")
            self._chose = True
            self._stay = "start"
            info = row.data
            self._choose_file(info)
            self.tasks.latest("day", self._show_file(info))

    async def _show_file(self, info: DayInfo) -> None:
        if await self._show_day():
            self.page.go_to(Target("daily", path=info.path, line=1))

    def on_act(self, row: CardRow, act: str) -> None:
        """A link or the state of a row."""
        if act == "session":
            self.to_session(row)
        elif act == "why":
            self.cards.toggle(row)
        elif act == "proposal":
            self.to_proposal(row)
        elif act == "read" and row.line is not None:
            self._read(row.line.text)

    def to_session(self, row: CardRow | None = None) -> None:
        """To the session's entry where the flush of a row began."""
        row = row or self.cards.current()
        if row is not None and row.section is not None and row.section.session_id:
            section = row.section
            entry = section.last_entry if row.form == "head" else section.first_entry
            self.go.emit(Target("timeline", session_id=section.session_id,
                                entry_id=entry or section.first_entry))  # fmt: skip

    def to_proposal(self, row: CardRow | None = None) -> None:
        """To what came of a line: its review, or MEMORY.md with the line to find."""
        row = row or self.cards.current()
        if row is not None and row.line is not None and row.line.proposal:
            self.go.emit(Target("memory", proposal=row.line.proposal))

    def _read(self, text: str) -> None:
        over = Overlay(self.window(), 920, 64)
        over.setAccessibleName(tr("The whole line"))
        over.box.addWidget(T(tr("The whole line"), "head"))
        view = PagedText(tr("The whole line"))
        view.setMinimumHeight(max(self.window().height() - 220, 240))
        view.set_text(text)
        over.box.addWidget(view, 1)
        over.open(view)

    def why(self) -> None:
        row = self.cards.current()
        if row is not None:
            self.cards.toggle(row)

    def copy(self) -> None:
        text = self.cards.marked_text() or "\n".join(
            row.line.text for row in self.cards.chosen() if row.line is not None
        )
        if text:
            QGuiApplication.clipboard().setText(text)

    def in_archive(self) -> bool:
        """Is what is shown a file of the archive?"""
        return any(info.archived and info.path == self.file for info in self.files)

    def bring_back(self) -> None:
        """Move the file of the archive that is shown back among the days."""
        self.tasks.latest("move", self._move(self.file, archived=False))

    async def _move(self, path: str, *, archived: bool) -> None:
        before = self.day, self.file
        new = await self.desk.engine.do.move_day(path, archived=archived, initiator=self)
        if before == (self.day, self.file):
            await self.open(Target("daily", path=new))
        else:  # somebody went elsewhere meanwhile
            await self.refresh()
        name = file_name(new)
        if archived:
            self.jobs.bar.show_act(tr("{name} is in the archive", name=name))
            return
        undo = Act(tr("Undo"), lambda: self.tasks.latest("move", self._move(new, archived=True)))
        self.jobs.bar.show_act(tr("{name} is back from the archive", name=name), (undo,))

    def flush(self) -> None:
        if not self.jobs.running("flush"):
            self.tasks.start("flush", self.jobs.flush())

    def consolidate(self) -> None:
        if not self.jobs.running("consolidate"):
            self.tasks.start("consolidate", self.jobs.consolidate())

    # ------------------------------------------------------------------ size and keys

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        old, narrow = event.oldSize().width(), self.width() < NARROW
        if old <= 0 or narrow != (old < NARROW):
            self._fold(narrow)

    def _fold(self, narrow: bool) -> None:
        """In a narrow pane the calendar is a week above the cards."""
        self.page.fold.setVisible(narrow)
        self.side.setVisible(not narrow or self._list_open)
        if narrow:
            self.page.take(self.side.calendar)
        else:
            self.page.strip.hide()
            self.side.hold_calendar()

    def toggle_side(self) -> None:
        """Show or hide the files (and, where there is room, the calendar)."""
        self._list_open = not self.side.isVisibleTo(self)
        self.side.setVisible(self._list_open)

    def escape(self) -> None:
        if not self.page.close_find():
            self.cards.lit = ""
            self.cards.setFocus()
            self.cards.viewport().update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if enter and self.cards.hasFocus():
            self.to_session()
            return
        super().keyPressEvent(event)
