"""`ToolResultEvictor`: long tool results become files with a short note in their place.

It decides and composes; the file is written by the function it is given, in a thread. Invariant: a
message changes only after its file is safely on disk, and every other message stays the same
object. Whether a result was evicted is known by its flag alone, never by its text, so that output
which merely looks like a placeholder is treated like any other. Specification, section 13.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Sequence
from typing import Literal, Protocol

from msgspec import Struct, structs

from app.engine.config import ToolResultEvictionConfig
from app.engine.errors import UserError
from app.engine.events import Activity
from app.engine.records import Message

log = logging.getLogger(__name__)


class Written(Protocol):
    """What the writer gives back: the file's path as the workspace names it, and the text's."""

    @property
    def path(self) -> str: ...
    @property
    def chars(self) -> int: ...
    @property
    def sha256(self) -> str: ...


Write = Callable[[str, str], Written]  # (call id, whole text); blocks; raises UserError or OSError
Emit = Callable[[Activity], None]


class Eviction(Struct, frozen=True):
    """One result that was put aside: what an `eviction` entry needs, and the new message."""

    target: str  # the message's id
    message: Message
    path: str
    chars: int
    sha256: str


class Evicted(Struct, frozen=True):
    """A context after an eviction pass, and what was put aside in it."""

    context: tuple[Message, ...]
    evictions: tuple[Eviction, ...] = ()


class ToolResultEvictor:
    """Applies one `ToolResultEvictionConfig`. `write` is `workspace.evictions.Evictions.write`."""

    def __init__(
        self,
        config: ToolResultEvictionConfig,
        write: Write,
        *,
        emit: Emit | None = None,
        session_id: str = "",
    ) -> None:
        self._config = config
        self._write = write
        self._emit_to = emit
        self._session_id = session_id

    def wants(self, message: Message) -> bool:
        """Whether this message is a result that has to go: longer than the limit, not excluded."""
        return self.may(message) and len(message.content) > self._config.max_result_chars

    def may(self, message: Message) -> bool:
        """Whether it could go at all, whatever its length."""
        return (
            message.role == "tool"
            and not message.evicted
            and message.name not in self._config.excluded_tool_names
        )

    async def evict(self, message: Message) -> Eviction | None:
        """Put one result aside if it has to go; None when it stays, also when the write fails."""
        return await self._put_aside(message) if self.wants(message) else None

    async def apply(self, context: Sequence[Message], *, also: Collection[str] = ()) -> Evicted:
        """One pass over a context. `also` names results that go though they are not too long.

        The context comes back as the same tuple of the same objects where nothing went.
        """
        evictions: list[Eviction] = []
        out: list[Message] = []
        for message in context:
            goes = self.wants(message) or (message.id in also and self.may(message))
            eviction = await self._put_aside(message) if goes else None
            if eviction is not None:
                evictions.append(eviction)
            out.append(message if eviction is None else eviction.message)
        return Evicted(tuple(out), tuple(evictions))

    async def _put_aside(self, message: Message) -> Eviction | None:
        text = message.content
        self._emit("started", message)
        try:
            written = await asyncio.to_thread(self._write, message.call_id or message.id, text)
        except (UserError, OSError) as error:
            log.warning("a tool result could not be put aside: %s", error)
            remedy = error.remedy if isinstance(error, UserError) else ""
            self._emit("failed", message, f"A long result could not be put aside: {error}", remedy)
            return None
        placed = structs.replace(
            message,
            content=placeholder(text, written.path, self._config.preview_chars),
            evicted=True,
        )
        self._emit("finished", message)
        return Eviction(message.id, placed, written.path, written.chars, written.sha256)

    def _emit(
        self,
        state: Literal["started", "finished", "failed"],
        message: Message,
        reason: str = "",
        remedy: str = "",
    ) -> None:
        if self._emit_to is None:
            return
        detail = {"message": message.id, "tool": message.name, "chars": len(message.content)}
        self._emit_to(
            Activity("eviction", state, self._session_id, "", reason, remedy, detail=detail)
        )


def placeholder(text: str, path: str, preview_chars: int) -> str:
    """What stands in place of a result: size, path, both ends, and how to read the rest."""
    size = min(preview_chars, len(text) // 2)
    head, tail = text[:size], text[len(text) - size :] if size else ""
    left = len(text) - 2 * size
    return (
        f"[This result has {len(text)} characters and was put aside to {path}. "
        f"The first and last {size} characters are shown. To read on, call read_file with "
        f'path "{path}", charOffset {size} and charLimit {max(1, min(left, 20_000))}, '
        f"and raise charOffset page by page; grep_files finds words in it.]\n"
        f"{head}\n[… {left} characters left out …]\n{tail}"
    )


def merge_view(
    view: Sequence[Message], context: Sequence[Message], longest: int
) -> tuple[Message, ...]:
    """An outgoing view that went through filters, and what `context` knows of results put aside.

    A result that a filter removed is not brought back (EVI-3). One it wrote anew keeps what it was
    given, status and names included, and is flagged (EVI-4); only a text of more than `longest`
    characters, which would undo the eviction, gives way to the short form again.
    """
    placed = {message.id: message.content for message in context if message.evicted}

    def merged(message: Message) -> Message:
        if message.role != "tool" or message.id not in placed:
            return message
        fits = len(message.content) <= longest
        if message.evicted and fits:
            return message
        content = message.content if fits else placed[message.id]
        return structs.replace(message, content=content, evicted=True)

    return tuple(map(merged, view))
