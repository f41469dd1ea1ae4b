"""Chat: the transcript of a session, a reply while it is made, and what the person writes.

The pane owns what is shown; sending is `talking.Talk`, acts are `acts.SessionActs`, replies of all
sessions are `turns.Replies`. Changing the session stops nothing: its reply goes on.
"""

from __future__ import annotations

import inspect

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QStackedWidget, QWidget

from app.engine.errors import SessionNotFound, UserError
from app.engine.events import Activity, Changed, TurnEvent
from app.engine.records import SessionInfo, TranscriptItem
from app.gui.look.text import preview, tr
from app.gui.panes.chat.acts import SessionActs
from app.gui.panes.chat.first_steps import Guide
from app.gui.panes.chat.inspector import Inspector
from app.gui.panes.chat.layout import in_column, talking
from app.gui.panes.chat.looking import KINDS, ContextWatch
from app.gui.panes.chat.model import Stretch, pieces
from app.gui.panes.chat.reading import PAGE, Reading
from app.gui.panes.chat.rows import Hub
from app.gui.panes.chat.seek import FindBar
from app.gui.panes.chat.talking import Talk
from app.gui.panes.chat.transcript import TranscriptView
from app.gui.panes.chat.turns import ENDS, Replies
from app.gui.panes.chat.writing import Foot
from app.gui.widgets.action import Action
from app.gui.widgets.buttons import Button, IconButton
from app.gui.widgets.notices import UndoBar
from app.gui.widgets.pane import Desk, Pane, Target
from app.gui.widgets.surfaces import EmptyState

EVERY = 40  # ms between two looks at the transcript
BUSY = {"compaction": "compacting the context first", "overflow": "making the request fit"}


class ChatPane(Pane):
    place, title = "chat", "Chat"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.session_id = ""
        self.reading = Reading()
        self.replies = Replies()
        self.hub = Hub(self)
        self.hub.today = lambda: desk.now().astimezone().date()
        self.view = TranscriptView(self.hub)
        self.foot = Foot()
        self.panel = Inspector()
        self.talk = Talk(self)
        self.acts = SessionActs(self)
        self.watch = ContextWatch(self)
        self.guide = Guide(self)
        self.finder = FindBar(self.view)
        self._info: SessionInfo | None = None
        self.fresh = ""  # a new session that has no message yet
        self._asked = self._told = 0  # looks at the newest items: the last one begun, the one shown
        self._build()
        self.bar = UndoBar(self.middle)
        self._wire()

    def _build(self) -> None:
        self.timeline = Button(tr("Timeline"), "quiet", icon="chart-gantt")
        self.more = IconButton("ellipsis", tr("More about this session"))
        self.unfold = IconButton("panel-right", tr("Show the context"), key="Ctrl+I")
        self.head.add(self.timeline, self.more, self.unfold)
        self.head.follow(self.view)
        self.empty = EmptyState(
            tr("A new session"),
            tr("Write the first message below. What is worth keeping goes to today's log, and from "
               "there, once you have accepted it, into MEMORY.md."),
            tr("See what the model is told"), icon="panel-right", key="Ctrl+I", margin=16,
            run=self.inspector_toggled.emit,
        )  # fmt: skip
        self.middle = QStackedWidget()
        self.middle.addWidget(self.view)
        self.middle.addWidget(in_column(self.empty))
        self.pages = QStackedWidget()
        self.pages.addWidget(talking(self.finder, self.middle, self.foot))
        self.pages.addWidget(self.guide.sheet)
        self.body.addWidget(self.pages, 1)

    def _wire(self) -> None:
        self._paint = QTimer(self, singleShot=True, interval=EVERY)
        self._paint.timeout.connect(self._show)
        self.hub.go.connect(self.go)
        self.hub.link.connect(self.ask_link)
        self.hub.whole.connect(self._on_whole)
        self.hub.approve.connect(self.talk.approve)
        self.hub.again.connect(self.talk.again)
        self.hub.undo.connect(lambda: self._start(self.acts.undo_saved()))
        self.view.earlier_wanted.connect(lambda: self.tasks.latest("earlier", self._earlier()))
        self.view.later_wanted.connect(lambda: self.tasks.latest("earlier", self._later()))
        self.view.newest_wanted.connect(self._newest)
        self.foot.sent.connect(self.talk.on_sent)
        self.foot.stopped.connect(self.stop)
        self.foot.edited.connect(self._on_edited)
        self.foot.queued.taken_back.connect(self.talk.take_back)
        self.timeline.clicked.connect(self.show_timeline)
        self.more.clicked.connect(lambda: self.acts.show_menu(self.more))
        self.unfold.clicked.connect(self.inspector_toggled)
        self.panel.folded.connect(self.inspector_toggled)
        self.panel.go.connect(self.go)
        self.panel.preview_wanted.connect(lambda: self._start(self.acts.preview()))
        self.panel.compact_wanted.connect(lambda: self._start(self.acts.compact()))
        self.finder.everywhere.connect(lambda text: self.go.emit(Target("search", find=text)))
        self.finder.closed.connect(self.foot.composer.setFocus)
        self.desk.signals.turn.connect(self._on_turn)
        self.desk.signals.changed.connect(self._on_changed)
        self.desk.signals.activity.connect(self._on_activity)
        # Folded, the panel has no parent: it must go with the pane, not by the collector, which
        # may run in any thread.
        self.destroyed.connect(self.panel.deleteLater)

    @property
    def items(self) -> list[TranscriptItem]:
        """What is loaded of the session that is shown, in order."""
        return self.reading.items

    # ------------------------------------------------------------------ the pane contract

    def actions(self) -> list[Action]:
        return self.acts.actions()

    def inspector(self) -> QWidget | None:
        return None if self.guide.shown() else self.panel

    def on_inspector(self, shown: bool) -> None:
        self.unfold.setVisible(not shown)

    def focus_parts(self) -> list[QWidget]:
        if self.guide.shown():
            return [self.guide.sheet.review.button]
        return [self.foot.composer.field, self.view]

    async def open(self, target: Target) -> None:
        """A session, an item in it, or a new one (`section="new"`)."""
        for name in ("refresh", "guide"):
            self.tasks.cancel(name)
        self.guide.leave()
        if target.section == "new":
            await self.new_session()
        elif target.session_id:
            await self._open_session(target.session_id)
            if target.entry_id:
                await self._reveal(target.entry_id)
        if target.find:
            self.finder.begin(self.items, target.find)
        else:
            self.foot.composer.setFocus()

    def find(self) -> bool:
        if self.guide.shown() or not self.items:
            return False
        self.finder.begin(self.items, self.acts.selection()[0][:200])
        return True

    def activate(self) -> None:
        super().activate()
        self.watch.model()

    def on_new_day(self) -> None:
        self.view.name_days()

    async def refresh(self) -> None:
        if self.guide.wanted():
            await self.guide.show()
        if self.session_id:
            await self._read()
        else:
            await self.enter_any()
        self.watch.now()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.talk.busy(self.session_id):
            self.stop()
            return
        super().keyPressEvent(event)

    # ------------------------------------------------------------------ sessions

    async def new_session(self) -> str:
        """Show a new session; one that is still empty is used again."""
        if not self.fresh:
            self.fresh = await self.desk.engine.do.new_session(initiator=self)
        await self._open_session(self.fresh)
        return self.fresh

    async def enter_any(self, but: str = "") -> None:
        """Show the newest session (not `but`), or a new one, unless one is entered meanwhile."""
        before = self.session_id
        sessions = [s for s in await self.desk.engine.ask.sessions() if s.id != but]
        if self.session_id != before:
            return
        if sessions:
            await self._open_session(sessions[0].id)
        elif self.off():
            self._show()
        else:
            await self.new_session()

    async def _open_session(self, session_id: str) -> None:
        """Show a session; when it is gone, another one, and say so unless it is the first."""
        first = not self.session_id
        self._enter(session_id)
        try:
            await self._read()
        except SessionNotFound as error:
            if session_id != self.session_id:
                return
            self.fresh = "" if session_id == self.fresh else self.fresh
            self.session_id = ""
            await self.enter_any(but=session_id)
            if not first:
                self.fail(error)
            return
        self.watch.now()

    def _enter(self, session_id: str) -> None:
        if session_id == self.session_id:
            return
        self.session_id = session_id
        self.foot.composer.set_text(self.talk.drafts.get(session_id))
        self.talk.show_queue()
        self.bar.close_bar()
        self.notices.clear()
        self.showing.emit(session_id)

    async def _read(self) -> None:
        """The newest items again; older ones that are loaded stay."""
        self._asked += 1
        asked, session_id = self._asked, self.session_id
        page = await self.desk.engine.ask.transcript(session_id, limit=PAGE)
        if session_id != self.session_id or asked < self._told:
            return  # another session was entered, or a later look was answered first
        self._told = asked
        if self.reading.session_id != session_id:
            self.reading, self._info = Reading(session_id), None
            self.hub.session_id = session_id
            self.view.clear()
            self.tasks.latest("title", self.read_title())
        if self.reading.more_after:
            return
        self.reading.take(page)
        if page and session_id == self.fresh:
            self.fresh = ""
        self._show()

    async def _earlier(self) -> None:
        reading = self.reading
        if await reading.earlier(self.desk.engine.ask) and self._shows(reading):
            self._show()
            self.view.show_earlier()

    async def _later(self) -> None:
        reading = self.reading
        if await reading.later(self.desk.engine.ask) and self._shows(reading):
            self._show()
            self.view.show_later()

    def _newest(self) -> None:
        self.reading.leave()
        self.view.clear()
        self.tasks.latest("read", self._read())

    async def _reveal(self, entry_id: str) -> None:
        """Scroll to an item; when it is not loaded, what stands around it is shown instead."""
        reading = self.reading
        if not any(item.id == entry_id for item in reading.items):
            found = await reading.reach(self.desk.engine.ask, entry_id)
            if not self._shows(reading):
                return
            if found:
                self.view.clear()
                self._show()
        if not self.view.reveal(entry_id):
            raise UserError(tr("That message is no longer in the log."), tr("Look around it."))

    def _shows(self, reading: Reading) -> bool:
        """Whether no other session came in the place of that one."""
        return reading is self.reading and reading.session_id == self.session_id

    async def read_title(self) -> None:
        sessions = await self.desk.engine.ask.sessions()
        self._info = next((s for s in sessions if s.id == self.session_id), None)
        self._show_head()

    def session_title(self) -> str:
        return self._info.title if self._info is not None else ""

    # ------------------------------------------------------------------ showing

    def _show(self) -> None:
        reading = self.reading
        if reading.session_id != self.session_id:
            return
        reply = self.replies.of(self.session_id)
        running = self.replies.running(self.session_id)
        tail: list[Stretch] = []
        asks: set[str] = set()
        if reading.more_after:  # its rows stand at the end, which is elsewhere
            reply = None
        if reply is not None:
            self.view.rename(reply.settled(reading.items))
            tail, asks = reply.tail, set(reply.asks)
        rows = pieces(reading.items, tail, running=running, asks=asks)
        if reply is not None:
            rows += reply.foot(rows)
        self.view.show_pieces(rows, more_before=reading.more_before, more_after=reading.more_after)
        for stretch in tail:  # what streamed while another session was shown
            if stretch.item is None:
                self.view.set_live(stretch.key, stretch.whole())
        self.middle.setCurrentIndex(0 if rows or reading.more_before else 1)
        self.foot.set_running(running)
        self.panel.set_reply_running(running)
        self._show_head()

    def show_soon(self) -> None:
        """Show what is so now, at most every 40 ms."""
        if not self._paint.isActive():
            self._paint.start()

    def _show_head(self) -> None:
        title = preview(self.session_title(), 120, blank=tr("New session"))
        self.head.set_title(title)
        self.timeline.setVisible(bool(self.items))

    def show_timeline(self) -> None:
        self.go.emit(Target("timeline", session_id=self.session_id))

    def off(self) -> str:
        """Why nothing can be written here; "" when it can."""
        if self.desk.engine is None:
            return tr("The workspace is still being opened.")
        return getattr(self.desk.engine, "problem", "") or ""

    # ------------------------------------------------------------------ what the engine says

    def _on_turn(self, event: TurnEvent) -> None:
        reply, key = self.replies.take(event)
        if event.session_id != self.session_id:
            self.talk.on_other(event)
            return
        if reply is None:
            return
        if event.kind in ENDS:
            self.watch.sent(self.session_id)
            self.watch.soon()
            self.tasks.latest("read", self._read())
        if key and self.view.append_live(key, event.text):
            return
        self.show_soon()

    def _on_activity(self, event: Activity) -> None:
        """Say what a reply waits for while its context is made to fit."""
        reply = self.replies.of(event.session_id)
        if reply is None or not reply.running or event.step not in BUSY:
            return
        reply.waiting = tr(BUSY[event.step]) if event.state == "started" else ""
        if event.session_id == self.session_id:
            self.show_soon()

    def _on_changed(self, event: Changed) -> None:
        if self.desk.engine is None or not self.session_id:
            return
        ours = not event.ids or self.session_id in event.ids
        if "transcript" in event.kinds and ours:
            self.tasks.latest("read", self._read())
        if "sessions" in event.kinds and ours:
            self.tasks.latest("title", self.read_title())
        if "settings" in event.kinds:
            self.watch.model()
        if event.kinds & KINDS and (ours or "memory" in event.kinds):
            self.watch.soon()

    # ------------------------------------------------------------------ what people do

    def _on_edited(self, text: str) -> None:
        self.talk.on_edited(text)
        self.watch.soon()

    def stop(self) -> None:
        if self.talk.busy(self.session_id):
            self.tasks.latest("stop", self.desk.engine.do.stop(self.session_id))

    def _on_whole(self, item_id: str, take: object) -> None:
        session_id, row = self.reading.session_id, self.view.row(item_id)

        async def fetch() -> None:
            text = await self.desk.engine.ask.full_text(session_id, item_id)
            if self.view.row(item_id) is row:  # else it is gone, with what was to be shown in it
                take(text)  # type: ignore[operator]

        self._start(fetch())

    def run(self, action: Action) -> None:
        """Run one of our own actions, from the menu."""
        result = action.run()
        if inspect.iscoroutine(result):
            self._start(result)

    def _start(self, work: object) -> None:
        self.tasks.start("act", work)  # type: ignore[arg-type]
