"""Chat: the transcript of a session, a reply while it is made, and what the person writes."""

from __future__ import annotations

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QHBoxLayout, QWidget

from app.engine.events import Changed, TurnEvent
from app.engine.records import TranscriptItem
from app.gui.panes.chat.model import merge, pieces
from app.gui.panes.chat.rows import Hub
from app.gui.panes.chat.transcript import WIDEST, TranscriptView
from app.gui.panes.chat.turns import Replies
from app.gui.panes.chat.writing import Drafts, Foot
from app.gui.widgets.pane import Desk, Pane, Target

PAGE = 200  # items read at a time
EVERY = 40  # ms between two looks at the transcript


class ChatPane(Pane):
    place, title = "chat", "Chat"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.session_id = ""
        self.items: list[TranscriptItem] = []
        self.replies = Replies()
        self.drafts = Drafts(desk.kept)
        self.queue: dict[str, str] = {}
        self._more_before = False
        self.hub = Hub(self)
        self.view = TranscriptView(self.hub)
        self.foot = Foot()
        self.foot.setMaximumWidth(WIDEST)
        low = QWidget()
        row = QHBoxLayout(low)
        row.setContentsMargins(16, 0, 16, 16)
        row.addWidget(self.foot)
        self.body.addWidget(self.view, 1)
        self.body.addWidget(low)
        self.head.follow(self.view)
        self._wire()

    def _wire(self) -> None:
        self._paint = QTimer(self, singleShot=True, interval=EVERY)
        self._paint.timeout.connect(self._show)
        self.hub.go.connect(self.go)
        self.hub.link.connect(self.ask_link)
        self.foot.sent.connect(self._on_sent)
        self.foot.stopped.connect(self.stop)
        self.desk.signals.turn.connect(self._on_turn)
        self.desk.signals.changed.connect(self._on_changed)

    async def open(self, target: Target) -> None:
        if target.section == "new":
            self._enter(await self.desk.engine.do.new_session())
        elif target.session_id:
            self._enter(target.session_id)
            await self._read()

    async def refresh(self) -> None:
        if self.session_id:
            await self._read()

    def _enter(self, session_id: str) -> None:
        if session_id == self.session_id:
            return
        self.drafts.put(self.session_id, self.foot.composer.text())
        self.session_id = self.hub.session_id = session_id
        self.items = []
        self.view.clear()
        self.foot.composer.set_text(self.drafts.get(session_id))
        self.showing.emit(session_id)
        self._show()

    async def _read(self) -> None:
        session_id = self.session_id
        page = await self.desk.engine.ask.transcript(session_id, limit=PAGE)
        if session_id != self.session_id:
            return
        self.items = merge(self.items, page, PAGE)
        self._more_before = len(page) == PAGE
        self._show()

    def _show(self) -> None:
        reply = self.replies.of(self.session_id)
        running = reply is not None and reply.running
        tail = []
        if reply is not None:
            self.view.rename(reply.settled(self.items))
            tail = reply.tail
        rows = pieces(self.items, tail, running=running)
        if reply is not None:
            rows += reply.foot()
        self.view.show_pieces(rows, more_before=self._more_before)
        self.foot.set_running(running)

    def _on_turn(self, event: TurnEvent) -> None:
        _reply, key = self.replies.take(event)
        if event.session_id != self.session_id:
            return
        if key and self.view.append_live(key, event.text):
            return
        if not self._paint.isActive():
            self._paint.start()

    def _on_changed(self, event: Changed) -> None:
        if "transcript" in event.kinds and self.session_id in event.ids:
            self.tasks.latest("read", self._read())

    def _on_sent(self, text: str) -> None:
        self.foot.composer.clear()
        self.tasks.start("send", self._send(self.session_id, text))

    async def _send(self, session_id: str, text: str) -> None:
        await self.desk.engine.do.send(session_id, text)

    def stop(self) -> None:
        if self.session_id:
            self.tasks.latest("stop", self.desk.engine.do.stop(self.session_id))
