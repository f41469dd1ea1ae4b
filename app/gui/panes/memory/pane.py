"""The memory place: MEMORY.md, its versions, and the review of a proposal.

One stack, five modes: `file`, `version` (the file as it was), `edit`, `compare`, `review` (and
`closed`, a review that is over), `lists`. The scrubber stands under all of them. The engine is
asked in owned tasks, an older answer never overwrites a newer one, and what was shown stays until
then.
"""

from __future__ import annotations

import asyncio

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QStackedWidget, QWidget

from app.engine.errors import Unreadable
from app.engine.events import Changed
from app.engine.records import (
    JobInfo,
    MemoryView,
    ProposalInfo,
    Provenance,
    Version,
)
from app.gui.look.text import number, tr
from app.gui.panes.memory.acts import memory_actions
from app.gui.panes.memory.again import Again
from app.gui.panes.memory.causes import since_words
from app.gui.panes.memory.change_rows import word_of
from app.gui.panes.memory.compare_page import ComparePage
from app.gui.panes.memory.editor import Editor
from app.gui.panes.memory.file_page import FilePage
from app.gui.panes.memory.halves import is_narrow
from app.gui.panes.memory.head import Acts
from app.gui.panes.memory.lines_view import Origin, line_rows
from app.gui.panes.memory.lists import Lists
from app.gui.panes.memory.lists_page import ListsPage
from app.gui.panes.memory.review_view import ReviewView
from app.gui.panes.memory.reviews import Reviews
from app.gui.panes.memory.scrubber import Scrubber
from app.gui.panes.memory.titles import titles
from app.gui.panes.memory.versions import Versions
from app.gui.panes.memory.writes import Keeper, Writes
from app.gui.widgets.action import Action
from app.gui.widgets.notices import UndoBar
from app.gui.widgets.pane import Desk, Pane, Target

KINDS = frozenset({"memory", "versions", "proposals", "jobs"})
LOW = 700  # px of the window below which the scrubber folds
LARGE = 50_000  # characters from which rows are made in a thread
WISHES = ("open", "review", "list", "compare", "version")  # tasks that end in another page
VERSIONS = 200  # that are looked at, unless an older one is opened
EMPTY = MemoryView("", "absent", "", 0, 0)


class MemoryPane(Reviews, Versions, Lists, Again, Writes, Pane):
    place, title = "memory", "Memory"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.mode = "file"
        self.memory = EMPTY
        self.versions: list[Version] = []
        self.far_back = 0  # how many of them an older one asked for
        self.infos: list[ProposalInfo] = []
        self.job: JobInfo | None = None
        self.origins_on = bool(desk.kept.get("memory.origins", False))
        self.edit_open = False
        self.applying = False
        self.wanted = ""  # the proposal that was asked for last, until it is left
        self._asked = self._told = 0  # looks at all of it: the last one begun, the one shown
        self._jobs_asked = self._jobs_told = 0  # and at the jobs
        self._preview_wanted = False
        self._offered = 0  # the version that the bar's Undo takes back
        self._origins: dict[int, Origin] = {}
        self.keeper = Keeper(self)
        self._build()
        self._wire()
        self._soon = QTimer(self, singleShot=True, interval=100)
        self._soon.timeout.connect(lambda: self.tasks.latest("refresh", self.refresh()))

    def _build(self) -> None:
        self.acts = Acts(self.head)
        self.file = FilePage()
        self.review = ReviewView()
        self.compare = ComparePage()
        self.editor = Editor()
        self.lists = ListsPage()
        self.stack = QStackedWidget()
        for page in (self.file, self.review, self.compare, self.editor, self.lists):
            self.stack.addWidget(page)
        self.scrubber = Scrubber()
        self.body.addWidget(self.stack, 1)
        self.body.addWidget(self.scrubber)
        self.notices.set_margin(24)
        self.undo_bar = UndoBar(self.stack)  # above the scrubber, whose handles stay free
        columns = self.review.columns
        lists = (self.file.lines, self.review.list, self.review.result, self.compare.list)
        for rows in (*lists, columns):
            self.undo_bar.room.connect(rows.set_room)

    def _wire(self) -> None:
        self.desk.signals.changed.connect(self._on_changed)
        acts = self.acts
        acts.origins.clicked.connect(self.toggle_origins)
        acts.edit.clicked.connect(self.edit)
        acts.queue.clicked.connect(lambda: self.show_list("proposals"))
        acts.back.clicked.connect(self.leave)
        acts.close.clicked.connect(self.leave)
        acts.cancel.clicked.connect(self.leave)
        acts.save.clicked.connect(lambda: self.tasks.latest("save", self.save_edit()))
        acts.primary.clicked.connect(self.main_act)
        acts.apply.clicked.connect(lambda: self.tasks.latest("apply", self.apply()))
        acts.reject_all.clicked.connect(lambda: self.tasks.latest("reject", self.reject_all()))
        acts.half.chosen.connect(self.review.halves.show_half)
        self.review.halves.turned.connect(acts.half.set_current)
        self.review.changed.connect(self._on_decided)
        self.review.turned.connect(self.settle_head)
        self.review.source_wanted.connect(self.open_source)
        self.review.apart_wanted.connect(lambda: self.tasks.latest("apart", self.turn_apart()))
        self.review.raw_wanted.connect(lambda: self.tasks.latest("raw", self.show_raw()))
        self.file.line_chosen.connect(self.ask_why)
        self.file.acted.connect(self._on_empty_act)
        self.file.back_to_now.connect(self.leave_version)
        self.file.restore_wanted.connect(lambda: self.tasks.latest("restore", self.restore()))
        why = self.file.why
        why.closed.connect(self.file.close_why)
        why.source_wanted.connect(self.open_source)
        why.message_wanted.connect(self.open_message)
        why.version_wanted.connect(self.scrubber.line.show_version)
        why.change_wanted.connect(self._on_change_wanted)
        self.editor.saved.connect(lambda: self.tasks.latest("save", self.save_edit()))
        self.editor.left.connect(self.leave)
        self.lists.section_wanted.connect(self.show_list)
        self.lists.opened.connect(self.open_row)
        self.lists.acted.connect(self.list_act)
        self.lists.filled.connect(self.consolidate_or_say)
        self.compare.bring_wanted.connect(lambda: self.tasks.latest("restore", self.bring_back()))
        self.compare.review_wanted.connect(self.start_review)
        self.scrubber.line.shown.connect(self._on_version_shown)
        self.scrubber.compare_wanted.connect(self.show_compare)

    # ------------------------------------------------------------------ the pane's contract

    def actions(self) -> list[Action]:  # type: ignore[override]
        return memory_actions(self)

    def focus_parts(self) -> list[QWidget]:
        front: dict[str, list[QWidget]] = {
            "file": [self.file.lines, self.file.why],
            "version": [self.file.lines],
            "edit": [self.editor.field],
            "compare": [self.compare.list],
            "review": [self.review.front(), self.review.checklist, self.review.result],
            "closed": [self.review.list, self.review.result],
            "lists": [self.lists.front(), self.lists.switch],
        }
        return [*front[self.mode], self.scrubber.line]

    def find(self) -> bool:
        if self.mode not in ("file", "version"):
            return False
        self.file.open_find()
        return True

    def give_up(self, *, but: str = "") -> None:
        """Another page is wanted: none comes that was asked for before."""
        for name in WISHES:
            if name != but:
                self.tasks.cancel(name)

    async def open(self, target: Target) -> None:
        self.give_up(but="open")
        if target.proposal:
            await self.load_review(target.proposal)
            return
        if target.version:
            await self.refresh()
            await self.open_version(target.version)
        elif target.line or target.find:
            await self.refresh()
            self.show_mode("file")
            self.leave_version()
        if target.find:
            self.file.open_find(target.find)
            self.file.find_text(target.find)
            self.file.lines.setFocus()
        if target.line and not self.file.go_to(target.line):
            raise Unreadable(
                tr("MEMORY.md has no line {n} any more.", n=number(target.line)),
                tr("Search for its words, or look at the earlier versions."),
            )

    async def refresh(self) -> None:
        ask, many = self.desk.engine.ask, max(self.far_back, VERSIONS)
        self._asked += 1
        asked = self._asked
        memory, versions, infos = await asyncio.gather(
            ask.memory(), ask.versions(many), ask.proposals()
        )
        if asked < self._told:
            return  # a later look was answered first
        before, self._told = (self.memory, self.infos), asked
        self.memory, self.infos = memory, infos
        if many >= self.far_back:  # else somebody went farther back meanwhile
            self.versions = versions
        if self.origins_on:
            await self._load_origins()
        text = self.memory.text
        if len(text) > LARGE and self.mode == "file" and not self.file.knows(text):
            rows = await asyncio.to_thread(line_rows, text)
            if self.mode == "file" and text == self.memory.text:
                self.file.take(text, rows)
        self.drop_stale_undo()
        waiting = bool(self.waiting())
        self.scrubber.set_versions(self.versions, self.desk.now(), waiting)
        if self.mode == "lists":
            await self.load_list(self.lists.section, again=True)
        if self.mode == "file":
            self._show_file()
            if before != (self.memory, self.infos):
                self.file.follow_why()
        elif self.mode == "review" and self.review.proposal is not None and not self.applying:
            await self._follow_review(self.review.proposal.info.id)
            self.tell_rival()
        self._say_problem()
        self.settle_head()
        await self.look_at_jobs()

    def _on_changed(self, event: Changed) -> None:
        if self.shown and event.kinds & KINDS:
            self._soon.start()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.leave():
            return
        super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fold()

    def _fold(self) -> None:
        """What the window has no room for, and what three columns need none of."""
        window = self.window()
        columns = self.mode == "review" and self.review.in_columns()
        self.scrubber.setVisible(window.height() >= LOW and not columns)
        self.undo_bar.set_lift(self.review.columns.foot_height() if columns else 0)
        mode = "columns" if columns else self.mode
        self.acts.show_mode(mode, narrow=is_narrow(window))

    # ------------------------------------------------------------------ modes

    def show_mode(self, mode: str) -> None:
        if self.mode == "edit" != mode:
            self.edit_open = self.editor.touched()  # E goes on with it, whoever turned the page
        self.mode = mode
        page: dict[str, QWidget] = {
            "file": self.file, "version": self.file, "edit": self.editor, "lists": self.lists,
            "compare": self.compare, "review": self.review, "closed": self.review,
        }  # fmt: skip
        self.stack.setCurrentWidget(page[mode])
        if mode == "file":
            self._show_file()
        if mode not in ("review", "closed"):
            self.wanted = ""
        if mode != "review":
            for key in ("moved", "rival", "note"):
                self.notices.drop(key)
        if mode not in ("version", "compare"):
            self.scrubber.to_newest()
        self.settle_head()
        if self.shown and self.isVisible() and not self.scrubber.line.hasFocus():
            self.focus_parts()[0].setFocus()

    def leave(self) -> bool:
        """Esc: close what was opened last. False when the file stands there already."""
        if self.mode == "review" and (self.review.leave_editing() or self.review.leave_columns()):
            return True
        if self.mode in ("file", "version") and self.file.close_find():
            return True
        if self.mode == "version":
            self.leave_version()
            return True
        if self.mode == "file":
            return self.file.close_why()
        if self.mode == "compare" and self.compare.rival is not None:
            self.start_review(self.compare.rival.id)
            return True
        if self.mode == "edit" and self.editor.touched():
            self.undo_bar.show_act(tr("Your text is kept: E goes on with it"), tone="info")
        self.give_up()
        self.show_mode("file")
        return True

    def settle_head(self) -> None:
        self._fold()
        title, details = titles(self, narrow=is_narrow(self.window()))
        self.head.set_title(title, details)
        met = self.mode == "review" and bool(self.review.deciding.conflicts())
        self.head.details.set_color("warn" if met else "text_faint")
        memory = self.memory
        known = memory.state != "unreadable"  # of a file not understood nothing is counted
        budget = memory.budget if known else 0
        self.acts.show_budget(memory.tokens, budget, estimated=memory.estimated)
        self.acts.origins.setChecked(self.origins_on)
        deciding = self.review.deciding
        if self.mode == "review":
            self.acts.show_apply(deciding, self.why_not_apply())
        self._settle_main()

    # ------------------------------------------------------------------ the file

    def _show_file(self) -> None:
        self.file.show_file(self.memory, self._origins if self.origins_on else {})
        self.file.lines.set_origins(self.origins_on)

    def _say_problem(self) -> None:
        if self.memory.problem and self.memory.state != "unreadable":
            self.notice(self.memory.problem, key="memory.problem")
        else:
            self.notices.drop("memory.problem")

    async def _load_origins(self) -> None:
        found = await self.desk.engine.ask.origins()
        now = self.desk.now()
        self._origins = {
            n: Origin(v.cause, since_words(v, now)) for n, v in enumerate(found, 1) if v is not None
        }

    def toggle_origins(self) -> None:
        self.origins_on = not self.origins_on
        self.desk.kept["memory.origins"] = self.origins_on
        self.tasks.latest("refresh", self.refresh())

    def ask_why(self, line: int) -> None:
        self.tasks.latest("why", self._why(line))

    async def _why(self, line: int) -> None:
        raw, pinned = self.file.raw_line(line), line in self.memory.pinned
        found: Provenance = await self.desk.engine.ask.why(line)
        waiting = await self._waiting_change(raw)
        messages = await self.messages_of(found.sources[:8])
        if self.file.version or self.mode != "file":
            return
        self.file.why.show_line(
            found, self.desk.now(), messages=messages, waiting=waiting,
            pinned=pinned,
        )  # fmt: skip
        self.file.open_why()

    async def _waiting_change(self, raw: str) -> tuple[int, str]:
        """The change of the waiting proposal that touches this line."""
        waiting = self.waiting()
        if not waiting or not raw.strip():
            return 0, ""
        proposal = await self.desk.engine.ask.proposal(waiting[0].id)
        for change in proposal.changes:
            if raw in change.before:
                return change.n, word_of(change).lower()
        return 0, ""

    def show_why(self) -> None:
        if line := self.file.chosen_line():
            self.ask_why(line)

    def edit(self) -> None:
        if self.mode == "review":
            self.review.edit()
            return
        reason = self.editor.refuses(self.memory.text)
        if self.memory.state == "unreadable":
            reason = tr("MEMORY.md cannot be read, so it is not edited here.")
        if reason:
            self.notice(reason, tr("Open the file in an editor of your own."), key="edit")
            return
        if not self.edit_open:
            text = self.memory.text if self.memory.state == "present" else "# Memory\n\n- "
            self.editor.begin(text, self.memory.sha256, self.file.chosen_line())
        self.give_up()
        self.show_mode("edit")

    def _on_empty_act(self) -> None:
        if self.memory.state == "unreadable":
            self.tasks.latest("refresh", self.refresh())
        else:
            self.edit()

    def show_now(self) -> None:
        self.show_mode("file")
        self.edit_open = True
        self.tasks.latest("refresh", self.refresh())

    def show_newest(self) -> None:
        self.leave_version()
        self.show_mode("file")

    def copy_lines(self) -> None:
        """Ctrl+C: the chosen lines, as they stand in the file."""
        if self.mode in ("file", "version"):
            self.file.lines.copy()
        elif self.mode in ("review", "closed", "compare"):
            listed = self.compare.list if self.mode == "compare" else self.review.list
            listed.copy()
