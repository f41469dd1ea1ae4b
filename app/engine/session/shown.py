"""What the model is shown of a session: messages in order, found by id, and the calls that wait.

Changing it costs what changed and no more; `version` grows with each change. `Fold` is the only one
that changes it, entry by entry.
"""

from __future__ import annotations

from app.engine.records import Message
from app.engine.session.state import OpenCall


class Shown:
    """The context of one session. Not thread-safe: one owner at a time."""

    def __init__(self) -> None:
        self.version: int = 0
        self._messages: list[Message] = []
        self._where: dict[str, int] = {}
        self._open: dict[str, OpenCall] = {}
        self._shown: tuple[Message, ...] | None = ()
        self._changed_from: int = 0

    # ------------------------------------------------------------------ what can be read

    @property
    def context(self) -> tuple[Message, ...]:
        """The messages in the model's view (without the system prompt); cached until it changes."""
        if self._shown is None:
            self._shown = tuple(self._messages)
        return self._shown

    def __len__(self) -> int:
        return len(self._messages)

    def messages(self, start: int = 0, end: int | None = None) -> list[Message]:
        """A stretch of the context."""
        return self._messages[start:end]

    @property
    def last(self) -> Message | None:
        return self._messages[-1] if self._messages else None

    def message(self, message_id: str) -> Message | None:
        """The message of that id in the context, in its present form."""
        at = self._where.get(message_id)
        return None if at is None else self._messages[at]

    def position(self, message_id: str) -> int | None:
        """Its index in the context."""
        return self._where.get(message_id)

    @property
    def open_calls(self) -> tuple[OpenCall, ...]:
        return tuple(self._open.values())

    def at_boundary(self) -> bool:
        """Whether a turn unit is complete: a message is there and no call waits for its result."""
        return bool(self._messages) and not self._open

    @property
    def lead(self) -> int:
        """How many system messages stand before everything else."""
        for n, message in enumerate(self._messages):
            if message.role != "system":
                return n
        return len(self._messages)

    def take_changes(self) -> int:
        """The first place of the context that changed since this was last asked (by the view)."""
        first, self._changed_from = self._changed_from, len(self._messages)
        return first

    # ------------------------------------------------------------------ changing it

    def _changed(self, at: int) -> None:
        self.version += 1
        self._shown = None
        if at < self._changed_from:
            self._changed_from = at

    def _append(self, message: Message) -> None:
        self._where[message.id] = at = len(self._messages)
        self._messages.append(message)
        self._changed(at)

    def _put(self, at: int, message: Message) -> None:
        self._messages[at] = message
        self._changed(at)

    def _set(self, messages: list[Message]) -> None:
        self._messages = messages
        self._where = {m.id: n for n, m in enumerate(messages)}
        here = {c.id: m.id for m in messages for c in m.calls}
        self._open = {k: c for k, c in self._open.items() if k in here}
        self._changed(0)
