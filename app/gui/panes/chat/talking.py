"""Sending: what is handed to the engine, what waits for the running reply, what comes back.

Invariant: a text is in exactly one place: the field (or its draft), the queue, or the session.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from app.engine.errors import UserError
from app.engine.events import TurnEvent
from app.engine.records import TurnResult
from app.gui.look.text import preview, tr
from app.gui.panes.chat.turns import ENDS
from app.gui.panes.chat.writing import Drafts
from app.gui.widgets.notices import Act
from app.gui.widgets.pane import Target

if TYPE_CHECKING:
    from app.gui.panes.chat.pane import ChatPane


class Talk:
    """The sending half of the chat pane."""

    def __init__(self, pane: ChatPane) -> None:
        self.pane = pane
        self.drafts = Drafts(pane.desk.kept)
        self.queue: dict[str, str] = {}  # session id: text
        self._handed: set[str] = set()  # sessions with a send that has not returned

    def busy(self, session_id: str) -> bool:
        """Whether a reply is being made, or about to be."""
        return session_id in self._handed or self.pane.replies.running(session_id)

    # ------------------------------------------------------------------ out of the field

    def on_sent(self, text: str) -> None:
        """Enter or Send: hand the text over now, or when the running reply is done."""
        pane = self.pane
        if pane.off():
            return
        pane.foot.composer.clear()
        self.drafts.put(pane.session_id, "")
        if self.busy(pane.session_id):
            before = self.queue.get(pane.session_id, "")
            self.queue[pane.session_id] = f"{before}\n\n{text}" if before else text
            self.show_queue()
            return
        pane.view.show_newest()
        pane.tasks.start("send", self.send(pane.session_id, text))

    async def send(self, session_id: str, text: str) -> None:
        """One turn, to its end; what is queued then goes out."""
        pane = self.pane
        if not session_id:
            session_id = await pane.new_session()
        self._handed.add(session_id)
        pane.fresh = "" if pane.fresh == session_id else pane.fresh
        pane.replies.forget(session_id)
        try:
            result = await pane.desk.engine.do.send(session_id, text, initiator=pane)
        except UserError as error:
            self._give_back(session_id, text)
            pane.fail(error)
            return
        except asyncio.CancelledError:
            self._keep_unsent(session_id)
            raise
        except Exception:
            self._give_back(session_id, text)
            raise
        finally:
            self._handed.discard(session_id)
        self._after(session_id, text, result)

    def _after(self, session_id: str, text: str, result: TurnResult) -> None:
        if result.state == "failed" and not result.kept:
            self._give_back(session_id, text)
        waiting = self.queue.pop(session_id, "")
        self.show_queue()
        if not waiting:
            return
        if result.state == "finished":
            self.pane.tasks.start("send", self.send(session_id, waiting))
        else:
            self._give_back(session_id, waiting)

    # ------------------------------------------------------------------ back into the field

    def _give_back(self, session_id: str, text: str) -> None:
        """Put a text back where it was written, before what was written since."""
        if session_id != self.pane.session_id:
            since = self.drafts.get(session_id)
            self.drafts.put(session_id, f"{text}\n\n{since}" if since else text)
            return
        composer = self.pane.foot.composer
        since = composer.text()
        composer.set_text(f"{text}\n\n{since}" if since.strip() else text)

    def _keep_unsent(self, session_id: str) -> None:
        """The window closes: what was not handed over becomes the draft."""
        waiting = self.queue.pop(session_id, "")
        if waiting:
            self._give_back(session_id, waiting)

    def take_back(self) -> None:
        """The queued text goes back into the field."""
        waiting = self.queue.pop(self.pane.session_id, "")
        if waiting:
            self._give_back(self.pane.session_id, waiting)
        self.show_queue()

    def show_queue(self) -> None:
        self.pane.foot.queued.set_text(self.queue.get(self.pane.session_id, ""))

    # ------------------------------------------------------------------ drafts, again

    def on_edited(self, text: str) -> None:
        if self.pane.session_id:
            self.drafts.put(self.pane.session_id, text)

    def again(self) -> None:
        """Try again: the question of the reply that failed, once more."""
        pane = self.pane
        reply = pane.replies.of(pane.session_id)
        if reply is None or reply.running or self.busy(pane.session_id):
            return
        written = pane.foot.composer.text()
        if written.strip():  # it came back, perhaps mended since
            self.on_sent(written)
        elif reply.question:
            pane.tasks.start("send", self.send(pane.session_id, reply.question))

    # ------------------------------------------------------------------ calls that ask first

    def asks(self) -> list[str]:
        """Ids of calls of the shown session that wait for a person's word."""
        reply = self.pane.replies.of(self.pane.session_id)
        return list(reply.asks) if reply is not None else []

    def approve(self, item_id: str, allow: bool) -> None:
        """Pass a person's word on, once."""
        pane = self.pane
        reply = pane.replies.of(pane.session_id)
        if reply is None or item_id not in reply.asks:
            return
        call_id, _item = reply.asks.pop(item_id)
        answer = pane.desk.engine.do.answer_approval(pane.session_id, call_id, allow)
        pane.tasks.start("answer", answer)
        pane.show_soon()

    def answer_first(self, allow: bool) -> None:
        """The same for the call that waits longest, from the keyboard."""
        for item_id in self.asks()[:1]:
            self.approve(item_id, allow)

    def on_other(self, event: TurnEvent) -> None:
        """A call in a session that is not shown asks for a person's word: say so."""
        pane, key = self.pane, f"asks:{event.session_id}"
        if event.kind == "approval" and event.item is not None:
            there = Target("chat", session_id=event.session_id)
            show = Act(tr("Show"), lambda: pane.go.emit(there), closes=True)
            said = tr("{tool} waits for your word", tool=preview(event.item.tool, 40))
            pane.notice(said, tr("in another session"), acts=(show,), key=key)
        elif event.kind in ENDS:
            pane.notices.drop(key)
