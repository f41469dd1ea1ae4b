"""Activity: what runs now, what comes next, and everything that was, with its reason.

The list is the queue's own past plus what was seen happening without a job. The chosen job stands
at the window's right edge. Cancel and the runs a person may ask for are actions with keys.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QPoint, QTimer
from PySide6.QtGui import QAction, QActionGroup, QResizeEvent
from PySide6.QtWidgets import QMenu, QStackedWidget, QVBoxLayout, QWidget

from app.engine.errors import UserError
from app.engine.events import Activity, Changed
from app.engine.records import Due, JobInfo
from app.gui.look.text import plural, tr
from app.gui.panes.activity import model
from app.gui.panes.activity.card import NextLine, RunningCard
from app.gui.panes.activity.detail import AGAIN, JobDetail
from app.gui.panes.activity.rows import JobList
from app.gui.widgets.action import Action
from app.gui.widgets.buttons import Button, IconButton
from app.gui.widgets.dialogs import ask
from app.gui.widgets.pane import Desk, Pane, Target
from app.gui.widgets.rows import Row
from app.gui.widgets.surfaces import EmptyState

SOON = 100  # ms in which several changes become one look
LIMIT = 500
SEEN_LIMIT = 200


class ActivityPane(Pane):
    """`open(Target("activity", entry_id=job id))` chooses that job."""

    place, title = "activity", "Activity"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.jobs: list[JobInfo] = []
        self.filter = "all"
        self._seen: deque[JobInfo] = deque(maxlen=SEEN_LIMIT)
        self._seen_count = 0
        self._asked = self._told = 0  # looks at the jobs: the last one begun, the one shown
        self._said = ""
        self._titles: dict[str, str] = {}
        self._inspector_shown = False
        self._build()
        self._later = QTimer(self, singleShot=True, interval=SOON)
        self._later.timeout.connect(lambda: self.tasks.latest("refresh", self.refresh()))
        self._second = QTimer(self, interval=1_000)
        self._second.timeout.connect(lambda: self.card.tick(self.desk.now()))
        desk.signals.changed.connect(self._on_changed)
        desk.signals.activity.connect(self._on_activity)

    def _build(self) -> None:
        self.head.set_title(tr("Activity"), tr("everything the memory did, and why"))
        self.run_button = Button(tr("Run"), icon="play", height=28)
        self.run_button.clicked.connect(self._show_run_menu)
        self.filter_button = IconButton("list-filter", tr("Choose what is listed"), key="L")
        self.filter_button.clicked.connect(self._show_filter_menu)
        self.head.add(self.run_button, self.filter_button)
        self.card = RunningCard()
        self.card.cancelled.connect(self.cancel)
        self.next = NextLine()
        self.above = above = QVBoxLayout()
        above.setContentsMargins(24, 2, 24, 4)
        above.setSpacing(2)
        above.addWidget(self.card)
        above.addWidget(self.next)
        self.body.addLayout(above)
        self.list = JobList(tr("Past jobs"))
        self.list.chosen.connect(self._on_chosen)
        self.list.opened.connect(self._on_opened)
        self.list.menu_wanted.connect(self._on_menu)
        self.empty = EmptyState(
            tr("Nothing has happened yet"),
            tr("Memory work appears here: each flush after a talk, each consolidation, with its "
               "reason and what it took."),
            tr("Bring the index up to date"),
            icon="refresh-cw", key="I", run=self.reindex,
        )  # fmt: skip
        self.pages = QStackedWidget()
        self.pages.addWidget(self.list)
        self.pages.addWidget(self.empty)
        self.body.addWidget(self.pages, 1)
        self.head.follow(self.list)
        self.detail = JobDetail()
        self.detail.go.connect(self.go)
        self.detail.again.connect(self.again)

    # ------------------------------------------------------------------ the contract

    def actions(self) -> list[Action]:
        def one(name: str, title: str, icon: str, run: Any, key: str, **more: Any) -> Action:
            full = f"activity.{name}"
            return Action(full, title, icon, run, key=key, when="pane:activity", **more)

        return [
            one("cancel", tr("Cancel the running job"), "x", self.cancel, "Del",
                off=lambda: "" if self.card.job or self._first_waiting() else tr("Nothing runs")),
            one("flush", tr("Flush the newest session now"), "arrow-down-to-line", self.flush, "F"),
            one("consolidate", tr("Consolidate now"), "sparkles", self.consolidate, "C"),
            one("maintain", tr("Maintain now: archive, clean up, re-index"), "archive",
                self.maintain, "M"),
            one("reindex", tr("Bring the index up to date"), "refresh-cw", self.reindex, "I"),
            one("rebuild", tr("Build the index anew"), "database", self.rebuild, "Shift+I"),
            one("again", tr("Run the chosen job again"), "rotate-ccw", self.again, "R",
                off=self._no_again),
            one("result", tr("Open what the chosen job made"), "arrow-right", self.open_result,
                "O", off=lambda: "" if self._target() else tr("It made nothing to open")),
            one("filter", tr("Choose what is listed"), "list-filter", self._show_filter_menu, "L"),
        ]  # fmt: skip

    async def refresh(self) -> None:
        """Look at the jobs again; choice and scroll position stay."""
        if self.desk.engine is None:  # the workspace could not be opened; the window says so
            return
        self._asked += 1
        asked = self._asked
        jobs = await self.desk.engine.ask.jobs(LIMIT)
        if asked < self._told:
            return  # a later look was answered first
        self._told, self.jobs = asked, jobs
        self._show()
        due = await self.desk.engine.ask.upcoming()
        if asked == self._told:
            self._show_ahead(due)

    async def open(self, target: Target) -> None:
        """Choose the job of that id."""
        await self.refresh()
        if target.entry_id:
            self.set_filter("all")
            self.list.select(target.entry_id)
            if not self._inspector_shown:
                self.inspector_toggled.emit()

    def activate(self) -> None:
        super().activate()
        self._second.start()

    def deactivate(self) -> None:
        super().deactivate()
        self._second.stop()

    def inspector(self) -> QWidget:
        return self.detail

    def on_inspector(self, shown: bool) -> None:
        self._inspector_shown = shown

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        side = 16 if self.window().width() < 1000 else 24
        self.above.setContentsMargins(side, 2, side, 4)
        self.list.set_margin(side - 12)

    def focus_parts(self) -> list[QWidget]:
        return [self.card.cancel, self.list, self.empty.button]

    # ------------------------------------------------------------------ showing

    def _everything(self) -> list[JobInfo]:
        return model.shown([*self.jobs, *self._seen], self.filter)

    def _show(self) -> None:
        now = self.desk.now()
        running = next((job for job in self.jobs if job.state == "running"), None)
        if running is None or self.card.job is None or running.id != self.card.job.id:
            self._said = ""
        self.card.show_job(running, now, self._said)
        rows = model.rows(self._everything(), now)
        self.list.set_rows(rows)
        bare = not rows and self.filter == "all"
        self.pages.setCurrentWidget(self.empty if bare else self.list)
        row = self.list.current_row()
        if row is None:
            first = next((r for r in rows if not r.head), None)
            if first is not None:
                self.list.select(first.id)
        elif row.data and row.data[0] != self.detail.job:
            self._on_chosen(row)

    def _show_ahead(self, due: Sequence[Due]) -> None:
        queue = model.waiting_words(self.jobs)
        asked = {job.kind for job in self.jobs if job.state in ("waiting", "running")}
        words = [model.due_words(one, self.desk.now()) for one in due if one.kind not in asked]
        self.next.set_words([one for one in (queue, *words) if one])

    def _on_changed(self, event: Changed) -> None:
        if event.kinds & {"jobs", "settings", "daily"} and not self._later.isActive():
            self._later.start()

    def _on_activity(self, event: Activity) -> None:
        running = self.card.job
        if running is not None and event.job_id == running.id and event.reason:
            self._said = event.reason
            self.card.show_job(running, self.desk.now(), self._said)
        made = model.seen(event, self.desk.now(), self._seen_count)
        if made is not None:
            self._seen_count += 1
            self._seen.append(made)
            self._later.start()

    def _on_chosen(self, row: Row) -> None:
        self.tasks.latest("detail", self._show_detail(row.data[0]))

    async def _show_detail(self, job: JobInfo) -> None:
        if self.detail.job is None or self.detail.job.id != job.id:
            self.detail.show_job(job, self.desk.now(), title=self._titles.get(job.session_id, ""))
        if job.id.startswith("seen-"):
            return
        ask_engine = self.desk.engine.ask
        calls = await ask_engine.model_calls(model.run_of(job))
        moves = await ask_engine.moves(job.id) if job.kind == "maintain" else []
        if job.session_id and job.session_id not in self._titles:
            self._titles.update({s.id: s.title for s in await ask_engine.sessions()})
        title = self._titles.get(job.session_id, "")
        self.detail.show_job(job, self.desk.now(), calls, moves, title)

    def _on_opened(self, row: Row) -> None:
        if not self._inspector_shown:
            self.inspector_toggled.emit()
            return
        self.open_result()

    def set_filter(self, chosen: str) -> None:
        """List only what a filter lets through."""
        self.filter = chosen if chosen in model.FILTERS else "all"
        words = tr(model.FILTERS[self.filter][0])
        plain = self.filter == "all"
        said = tr("everything the memory did, and why") if plain else words
        self.head.set_title(tr("Activity"), said)
        self.filter_button.set_icon("list-filter", "text_soft" if plain else "accent")
        self._show()

    # ------------------------------------------------------------------ doing

    def cancel(self) -> None:
        """End the running job, else take back the one that waits longest."""
        job = self.card.job or self._first_waiting()
        if job is not None:
            self.tasks.start("cancel", self.desk.engine.do.cancel_job(job.id))

    def _first_waiting(self) -> JobInfo | None:
        waiting = [job for job in self.jobs if job.state == "waiting"]
        return min(waiting, key=lambda job: job.queued, default=None)

    def consolidate(self) -> None:
        self.tasks.start("run", self.desk.engine.do.consolidate(initiator=self))

    def reindex(self) -> None:
        self.tasks.start("run", self.desk.engine.do.reindex(initiator=self))

    def rebuild(self) -> None:
        self.tasks.start("run", self.desk.engine.do.reindex(rebuild=True, initiator=self))

    def flush(self) -> None:
        self.tasks.start("run", self._flush_newest())

    async def _flush_newest(self) -> None:
        sessions = await self.desk.engine.ask.sessions()
        if not sessions:
            raise UserError(tr("There is no session to flush."), tr("Talk a little first."))
        await self.desk.engine.do.flush(sessions[0].id, initiator=self)

    def maintain(self) -> None:
        self.tasks.latest("maintain", self._maintain())

    async def _maintain(self) -> None:
        """Show first what would be moved; run only when told so."""
        items = await self.desk.engine.ask.retention_preview()
        head, text, listed = model.retention_words(items)
        buttons = [("", tr("Leave it"), "plain"), ("run", tr("Maintain now"), "primary")]
        if await ask(self.window(), head, text, buttons, code=listed, width=620) == "run":
            if items:  # the list was seen: from now on rounds may put away what is due
                await self.desk.engine.do.allow_retention(initiator=self)
            await self.desk.engine.do.maintain(initiator=self)

    def _no_again(self) -> str:
        job = self.detail.job
        if job is None:
            return tr("No job is chosen")
        return "" if job.kind in AGAIN else tr("It comes by itself")

    def again(self) -> None:
        """Ask for the chosen job once more."""
        job = self.detail.job
        if job is None:
            return
        if job.kind == "flush" and job.session_id:
            work = self.desk.engine.do.flush(job.session_id, initiator=self)
            self.tasks.start("run", work)
            return
        runs = {"consolidate": self.consolidate, "maintain": self.maintain, "reindex": self.reindex}
        if job.kind in runs:
            runs[job.kind]()

    def _target(self) -> Target | None:
        job = self.detail.job
        if job is None:
            return None
        made = model.result_target(job)
        return made or (Target("timeline", session_id=job.session_id) if job.session_id else None)

    def open_result(self) -> None:
        target = self._target()
        if target is not None:
            self.go.emit(target)

    # ------------------------------------------------------------------ menus

    def _show_run_menu(self) -> None:
        menu = QMenu(self)
        for action in self.actions()[1:6]:
            made = menu.addAction(action.title)
            made.triggered.connect(action.run)
        menu.popup(self.run_button.mapToGlobal(QPoint(0, self.run_button.height() + 2)))

    def _show_filter_menu(self) -> None:
        menu = QMenu(self)
        group = QActionGroup(menu)
        every = [*self.jobs, *self._seen]
        for key, (words, _) in model.FILTERS.items():
            count = len(model.shown(every, key))
            made = QAction(f"{tr(words)}  {plural(count, '{n}', '{n}')}", menu, checkable=True)
            made.setChecked(key == self.filter)
            made.triggered.connect(lambda _=False, k=key: self.set_filter(k))
            group.addAction(made)
            menu.addAction(made)
        menu.popup(self.filter_button.mapToGlobal(QPoint(0, self.filter_button.height() + 2)))

    def _on_menu(self, row: Row, at: QPoint) -> None:
        menu = QMenu(self)
        for action in self.actions()[6:8]:
            made = menu.addAction(action.title)
            made.setEnabled(not action.off())
            made.triggered.connect(action.run)
        menu.popup(at)
