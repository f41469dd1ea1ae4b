"""The derived `<id>.jsonl`: the compacted context as other programs read it (specification 2).

Written from the fold, never read by us, deletable at any time. A context that only grew is only
appended to, so that a turn costs the same in a long session as in a short one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from app.engine.errors import StorageError
from app.engine.records import Message
from app.engine.session.codec import encode
from app.engine.session.fold import Fold
from app.engine.session.messages import derive
from app.engine.workspace.files import append_durable, write_atomic

log = logging.getLogger(__name__)

Stamps = Callable[[Iterable[str]], Mapping[str, str | int | float | None]]


class ViewFile:
    """The view of one session. `stamps` gives the times of messages by their ids."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._written = -1  # messages in the file; -1: not written by us yet
        self._lines = 0
        self._tail: str | None = None

    def write(self, fold: Fold, stamps: Stamps) -> None:
        """Bring the file up to the fold; one that cannot be written is made anew the next time, for
        nothing is lost with it. Blocks."""
        try:
            self._bring_up(fold, stamps)
            self._written = len(fold)
        except StorageError as error:
            self._written = -1
            log.warning("the view of a session is not up to date: %s", error)

    def _bring_up(self, fold: Fold, stamps: Stamps) -> None:
        changed = fold.take_changes()
        if self._written < 0 or changed < self._written or not self.path.exists():
            self._lines, self._tail = 0, None
            write_atomic(self.path, self._encoded(fold.messages(), stamps))
        elif changed < len(fold):
            fresh = fold.messages(self._written)
            append_durable(self.path, self._encoded(fresh, stamps), sync=False)

    def _encoded(self, messages: Sequence[Message], stamps: Stamps) -> bytes:
        times = stamps(message.id for message in messages)
        lines: list[bytes] = []
        for message in messages:
            for entry in derive(message):
                self._lines += 1
                made = msgspec.structs.replace(
                    entry, parent_id=self._tail, seq=self._lines, timestamp=times.get(message.id)
                )
                self._tail = made.id
                lines.append(encode(made))
        return b"".join(lines)
