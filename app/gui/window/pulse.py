"""What the frame itself shows of the engine: sessions, status, which replies run.

Looks again when the engine says that something changed, at most every 60 ms, and never before
`start()`: the window is up earlier than the engine. While the index is behind the files it asks
again by itself, less and less often: nobody says when it has caught up with what the engine wrote.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from app.gui.bridge import Tasks
from app.gui.widgets.pane import Desk

if TYPE_CHECKING:
    from app.engine.events import Activity, Changed, TurnEvent

STATUS_KINDS = {"jobs", "index", "settings", "workspace", "proposals", "context", "evicted"}
EVERY = 60  # ms
BEHIND, LONGEST = 500, 30_000  # ms
ENDS = ("finished", "stopped", "failed")


class Pulse(QObject):
    """`sessions(list)`, `status(Status)`, `running(frozenset of session ids)`."""

    sessions = Signal(object)
    status = Signal(object)
    running = Signal(object)

    def __init__(
        self, desk: Desk, failed: Callable[[str, BaseException], None], parent: QObject
    ) -> None:
        super().__init__(parent)
        self._desk = desk
        self.tasks = Tasks(failed)
        self._started = False
        self._stale: set[str] = set()
        self._replies: set[str] = set()
        self._later = QTimer(self, singleShot=True, interval=EVERY)
        self._later.timeout.connect(self._look)
        self._behind = QTimer(self, singleShot=True)
        self._behind.timeout.connect(lambda: self.tasks.latest("index", self._compare()))
        desk.signals.changed.connect(self._on_changed)
        desk.signals.activity.connect(self._on_activity)
        desk.signals.turn.connect(self._on_turn)

    def start(self) -> None:
        """The engine is open: look at once, and follow from now on."""
        self._started = True
        self._stale |= {"sessions", "status"}
        self._look()

    def _on_changed(self, event: Changed) -> None:
        if "sessions" in event.kinds:
            self._stale.add("sessions")
        if event.kinds & STATUS_KINDS:
            self._stale.add("status")
        self._look_soon()

    def _on_activity(self, _event: Activity) -> None:
        self._stale.add("status")
        self._look_soon()

    def _on_turn(self, event: TurnEvent) -> None:
        before = len(self._replies)
        if event.kind in ENDS:
            self._replies.discard(event.session_id)
        elif event.kind == "started":
            self._replies.add(event.session_id)
        if len(self._replies) != before:
            self.running.emit(frozenset(self._replies))

    def _look_soon(self) -> None:
        if self._started and self._stale and not self._later.isActive():
            self._later.start()

    def _look(self) -> None:
        stale, self._stale = self._stale, set()
        if "sessions" in stale:
            self.tasks.latest("sessions", self._read_sessions())
        if "status" in stale:
            self.tasks.latest("status", self._read_status())

    async def _read_sessions(self) -> None:
        self.sessions.emit(await self._desk.engine.ask.sessions())

    async def _read_status(self) -> None:
        status = await self._desk.engine.ask.status()
        self.status.emit(status)
        if status.index.state == "stale" and not self._behind.isActive():
            self._behind.start(BEHIND)

    async def _compare(self) -> None:
        """That the index has caught up, the engine tells when it is asked for it."""
        if (await self._desk.engine.ask.index()).state == "stale":
            self._behind.start(min(2 * self._behind.interval(), LONGEST))
