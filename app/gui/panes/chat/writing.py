"""The foot of the chat: what the person writes, what is sent when the reply is done, Send and Stop.

Invariant: the person's text is never lost. A draft is kept per session; a text leaves the field
only when it was handed over, and comes back when it was not stored.
"""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from app.gui.look.text import preview, tr
from app.gui.widgets.buttons import Button, IconButton
from app.gui.widgets.composer import Composer
from app.gui.widgets.labels import IconLabel, T

DRAFTS = "chat.drafts"  # session id: text
MOST_DRAFTS = 50
DRAFT_LIMIT = 200_000  # characters kept of one draft
NARROW = 460  # px below which key hints vanish


class Drafts:
    """Drafts per session in the window's kept values; the newest 50."""

    def __init__(self, kept: dict[str, Any]) -> None:
        self._kept = kept

    def _all(self) -> dict[str, str]:
        found = self._kept.get(DRAFTS)
        return dict(found) if isinstance(found, dict) else {}

    def get(self, session_id: str) -> str:
        text = self._all().get(session_id, "")
        return text if isinstance(text, str) else ""

    def put(self, session_id: str, text: str) -> None:
        drafts = self._all()
        drafts.pop(session_id, None)
        if text.strip():
            drafts[session_id] = text[:DRAFT_LIMIT]
        self._kept[DRAFTS] = dict(list(drafts.items())[-MOST_DRAFTS:])


class QueuedLine(QWidget):
    """What will be sent when the reply is done, with a way to take it back."""

    taken_back = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.words = T("", "small", "text_soft", elide="right")
        back = IconButton("x", tr("Take it back into the field"), size=14, side=24)
        back.clicked.connect(self.taken_back)
        row = QHBoxLayout(self)
        row.setContentsMargins(16, 0, 8, 6)
        row.setSpacing(8)
        row.addWidget(IconLabel("clock", 14, "text_soft"))
        row.addWidget(self.words, 1)
        row.addWidget(back)
        self.hide()

    def set_text(self, text: str) -> None:
        self.words.setText(tr("Sent when this reply is done: {words}", words=preview(text, 200)))
        self.setVisible(bool(text))


class Foot(QWidget):
    """Composer with its buttons. `sent(str)`, `stopped()`, `edited(str)`."""

    sent = Signal(str)
    stopped = Signal()
    edited = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.composer = Composer(tr("Message"))
        self.queued = QueuedLine()
        self.hints = [
            T(tr("Enter sends"), "small", "text_faint"),
            T(tr("Shift+Enter new line"), "small", "text_faint"),
        ]
        self.send = Button(tr("Send"), icon="arrow-up", key="Enter")
        self.stop = Button(tr("Stop"), icon="square", key="Esc")
        foot = self.composer.foot
        foot.addStretch(1)
        foot.setSpacing(12)
        for widget in (*self.hints, self.send, self.stop):
            foot.addWidget(widget)
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(0)
        box.addWidget(self.queued)
        box.addWidget(self.composer)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFocusProxy(self.composer)
        self.composer.sent.connect(self.sent)
        self.composer.edited.connect(self._on_edited)
        self.send.clicked.connect(self.composer.send)
        self.stop.clicked.connect(self.stopped)
        self._off = ""
        self.set_running(False)
        self._on_edited("")

    def set_running(self, on: bool) -> None:
        """Stop stands where Send was, while a reply runs."""
        self._running = on
        self.stop.setVisible(on)
        self.send.setVisible(not on)
        self._words()

    def set_off(self, reason: str) -> None:
        """Why nothing can be sent (a workspace open for reading only); "" when it can."""
        self._off = reason
        self._words()
        self._on_edited(self.composer.text())

    def _words(self) -> None:
        words = tr("Write a message")
        if self._running:
            words = tr("Write the next message; it is sent when this reply is done")
        self.composer.set_placeholder(self._off or words)

    def _on_edited(self, text: str) -> None:
        self.send.set_off(self._off or ("" if text.strip() else tr("There is nothing to send.")))
        self.edited.emit(text)

    def resizeEvent(self, event: object) -> None:
        super().resizeEvent(event)  # type: ignore[arg-type]
        for hint in self.hints:
            hint.setVisible(self.width() >= NARROW)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self._running:
            self.stopped.emit()
            return
        super().keyPressEvent(event)
