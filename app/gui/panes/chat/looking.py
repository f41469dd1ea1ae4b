"""Looking at what would be sent next: after turns, after changes, and while a person types.

Invariant: what comes late never shows; a session left meanwhile takes nothing from an older look.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer

from app.engine.errors import UserError
from app.engine.records import ContextView
from app.gui.look.text import tr
from app.gui.widgets.notices import Act
from app.gui.widgets.pane import Target

if TYPE_CHECKING:
    from app.gui.panes.chat.pane import ChatPane

PAUSE = 400  # ms of quiet before the context is looked at again
KINDS = {"transcript", "context", "memory", "settings"}


class ContextWatch(QObject):
    """Keeps the inspector and the status line's meter true."""

    def __init__(self, pane: ChatPane) -> None:
        super().__init__(pane)
        self.pane = pane
        self._sent: dict[str, ContextView] = {}  # session id: its last request
        self._shown = ""  # the session whose request is shown
        self._soon = QTimer(self, singleShot=True, interval=PAUSE)
        self._soon.timeout.connect(self.now)

    def soon(self) -> None:
        """After a pause; asking again makes the pause begin anew."""
        self._soon.start()

    def now(self) -> None:
        pane = self.pane
        if pane.session_id and pane.desk.engine is not None:
            pane.tasks.latest("context", self._read())

    def sent(self, session_id: str) -> None:
        """A reply of that session ended: its request is what the next one is compared with."""
        if self.pane.panel.view is not None and session_id == self._shown:
            self._sent[session_id] = self.pane.panel.view

    async def _read(self) -> None:
        pane, session_id = self.pane, self.pane.session_id
        ask = pane.desk.engine.ask
        try:
            view = await ask.context(session_id, pane.foot.composer.text())
            if session_id != pane.session_id:
                return
            self._shown = session_id
            pane.panel.show_view(view, self._sent.get(session_id))
            pane.measured.emit(view.total, view.window.tokens)
            if pane.panel.isVisible():
                report = await ask.compaction_preview(session_id)
                if session_id == pane.session_id:
                    pane.panel.show_report(report)
        except UserError as error:
            if session_id == pane.session_id:
                pane.panel.show_problem(error)

    def model(self) -> None:
        if self.pane.desk.engine is not None:
            self.pane.tasks.latest("model", self._read_model())

    async def _read_model(self) -> None:
        pane = self.pane
        model = await pane.desk.engine.ask.model()
        pane.panel.show_model(model)
        if model.state == "failed":
            settings = Target("settings", section="models")
            act = Act(tr("Settings, Models"), lambda: pane.go.emit(settings))
            pane.notice(tr("No model answers"), model.note, acts=(act,), key="model")
        else:
            pane.notices.drop("model")
