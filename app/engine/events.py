"""What the engine says of itself: a small typed bus.

`Changed` says that something on disk or in a session is different now; views decide whether to look
again. `Activity` follows one long step. `TurnEvent` follows one reply. Listeners run on the loop's
thread, in the order they subscribed; one that raises does not stop the others.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Literal

from msgspec import Struct

from app.engine.records import TranscriptItem

log = logging.getLogger(__name__)

Kind = Literal[
    "sessions", "transcript", "context", "daily", "memory", "versions", "proposals", "evicted",
    "jobs", "index", "settings", "workspace",
]  # fmt: skip


class Changed(Struct, frozen=True):
    """Things of these kinds changed. `ids` narrows it (session ids, paths, proposal ids)."""

    kinds: frozenset[Kind]
    ids: frozenset[str] = frozenset()
    initiator: object | None = None


class Activity(Struct, frozen=True):
    """One step of something long.

    `step` is the step's name from the specification (turn, request, compaction, flush, …);
    `state` is started, progress, finished, failed or skipped; `reason` is a sentence.
    """

    step: str
    state: Literal["started", "progress", "finished", "failed", "skipped"]
    session_id: str = ""
    job_id: str = ""
    reason: str = ""
    remedy: str = ""
    done: int = 0
    total: int = 0
    detail: dict[str, Any] = {}


TurnKind = Literal[
    "started", "waiting", "text", "reasoning", "item", "approval", "again", "finished", "stopped",
    "failed",
]  # fmt: skip


class TurnEvent(Struct, frozen=True):
    """One thing that happened while a reply is made.

    `text` and `reasoning` carry a fragment; `tool_started` and `item` carry the transcript item
    as it now stands (an item with a known id replaces the earlier one); `waiting` says in `text`
    what the model is busy with (loading, reading n tokens); `again` voids the fragments of the
    answer so far, another one comes in its place; `finished`, `stopped` and `failed`
    end the turn, `failed` with a sentence and a remedy.
    """

    session_id: str
    kind: TurnKind
    text: str = ""
    item: TranscriptItem | None = None
    remedy: str = ""


Event = Changed | Activity | TurnEvent
Listener = Callable[[Event], None]


class Bus:
    """Listeners of one engine."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` with each event from now on; the returned function ends that."""
        self._listeners.append(listener)

        def end() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return end

    def publish(self, event: Event) -> None:
        for listener in tuple(self._listeners):
            try:
                listener(event)
            except Exception:
                log.exception("a listener failed on %r", event)

    def changed(
        self, *kinds: Kind, ids: tuple[str, ...] = (), initiator: object | None = None
    ) -> None:
        """Publish a `Changed` event."""
        self.publish(Changed(frozenset(kinds), frozenset(ids), initiator))
