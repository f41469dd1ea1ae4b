"""Replies that are being made, one per session, also of sessions that are not shown.

It gathers what the bus says of each (`TurnEvent`), so that coming back to a session shows its reply
as it stands. Invariant: a reply's text is here until the item that keeps it has been read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from app.engine.events import TurnEvent
from app.engine.records import TranscriptItem
from app.gui.panes.chat.model import ANSWERS, Piece, Stretch, settle

ENDS = ("finished", "stopped", "failed")


@dataclass
class Reply:
    """One reply. `error` and `remedy` are set when it failed; `asks` are calls that wait for a
    person: item id to (call id, item)."""

    number: int
    question: str = ""
    running: bool = True
    waiting: str = ""
    thought: list[str] = field(default_factory=list)
    tail: list[Stretch] = field(default_factory=list)
    asks: dict[str, tuple[str, TranscriptItem]] = field(default_factory=dict)
    ended: str = ""
    error: str = ""
    remedy: str = ""
    made: int = 0

    def take(self, event: TurnEvent) -> str:
        """Follow one event; the key of the stretch whose text grew, else ""."""
        match event.kind:
            case "text":
                self.waiting, self.thought = "", []
                stretch = self._open()
                stretch.text.append(event.text)
                return stretch.key
            case "waiting":
                self.waiting = event.text
            case "again":
                self.thought = []
                if self.tail and not self.tail[-1].closed:
                    self.tail.pop()
            case "reasoning":
                self.thought.append(event.text)
            case "item" if event.item is not None:
                self._close()
                self.asks.pop(event.item.id, None)
                self.tail.append(Stretch(event.item.id, item=event.item, closed=True))
            case "approval" if event.item is not None:
                self.asks[event.item.id] = (event.text, event.item)
            case "finished" | "stopped" | "failed":
                self._end(event)
            case _:
                pass
        return ""

    def _open(self) -> Stretch:
        if not self.tail or self.tail[-1].closed:
            self.made += 1
            self.tail.append(Stretch(f"live:{self.number}:{self.made}"))
        return self.tail[-1]

    def _close(self) -> None:
        self.thought, self.waiting = [], ""
        if self.tail:
            self.tail[-1].closed = True

    def _end(self, event: TurnEvent) -> None:
        self._close()
        self.running = False
        self.ended = event.kind
        self.asks.clear()
        if event.kind == "failed":
            self.error, self.remedy = event.text, event.remedy

    def settled(self, items: list[TranscriptItem]) -> dict[str, str]:
        """Forget what `items` keep; which streamed texts became which items."""
        became = settle(items, self.tail)
        known = {item.id for item in items}
        self.tail = [
            s
            for s in self.tail
            if s.key not in became and not (s.item is not None and s.item.id in known)
        ]
        for item_id in list(self.asks):
            found = next((i for i in items if i.id == item_id), None)
            if found is not None and found.result is not None:
                self.asks.pop(item_id)
        return became

    def foot(self, rows: Sequence[Piece] = ()) -> list[Piece]:
        """Rows below `rows`: what the model is busy with, or how it failed."""
        if self.running and not self.asks and not (self.tail and not self.tail[-1].closed):
            thought = "".join(self.thought)
            item = TranscriptItem("waiting", 0, "assistant", text=self.waiting, reasoning=thought)
            lead = not rows or rows[-1].kind not in ANSWERS
            return [Piece("waiting", "waiting", item, lead=lead)]
        if self.ended == "failed":
            item = TranscriptItem("failed", 0, "failure", text=self.error, reasoning=self.remedy)
            return [Piece("failed", "failed", item)]
        return []


class Replies:
    """The newest reply of each session."""

    def __init__(self) -> None:
        self._replies: dict[str, Reply] = {}
        self._count = 0

    def take(self, event: TurnEvent) -> tuple[Reply | None, str]:
        """Follow an event: the reply it belongs to, and the key of the text that grew."""
        if event.kind == "started":
            self._count += 1
            self._replies[event.session_id] = Reply(self._count, event.text)
            return self._replies[event.session_id], ""
        reply = self._replies.get(event.session_id)
        if reply is None:
            if event.kind in ENDS:
                return None, ""
            self._count += 1
            reply = self._replies[event.session_id] = Reply(self._count)
        return reply, reply.take(event)

    def of(self, session_id: str) -> Reply | None:
        return self._replies.get(session_id)

    def running(self, session_id: str) -> bool:
        reply = self._replies.get(session_id)
        return reply is not None and reply.running

    def forget(self, session_id: str) -> None:
        """Take away what is left of an ended reply (its failure was dealt with)."""
        reply = self._replies.get(session_id)
        if reply is not None and not reply.running:
            del self._replies[session_id]
