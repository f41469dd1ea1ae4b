"""What the tests of the Motus-shaped face share: messages, and a memory that compacts."""

from __future__ import annotations

from typing import Any, TypeVar

from app.engine.context.tokens import Counter
from app.engine.memory.base import BaseMemory
from app.engine.memory.compaction_memory import CompactionMemory
from app.engine.memory.motus_settings import CompactionMemoryConfig
from app.engine.records import Message, ToolCall

__all__ = ["bot", "calling", "compacting", "config", "filled", "result", "said", "user"]

OneMemory = TypeVar("OneMemory", bound=BaseMemory)


def user(text: str) -> Message:
    return Message(id="", role="user", content=text)


def bot(text: str) -> Message:
    return Message(id="", role="assistant", content=text)


def calling(*ids: str, tool: str = "look", text: str = "") -> Message:
    made = tuple(ToolCall(one, tool, "{}") for one in ids)
    return Message(id="", role="assistant", content=text, calls=made)


def result(call_id: str, text: str = "found", tool: str = "look") -> Message:
    return Message(id="", role="tool", content=text, call_id=call_id, name=tool)


def said(memory: Any) -> list[tuple[str, str]]:
    return [(m.role, m.content) for m in memory.messages]


async def filled(memory: OneMemory, *messages: Message) -> OneMemory:
    """The memory, these messages added."""
    for message in messages:
        await memory.add_message(message)
    return memory


def config(**values: Any) -> CompactionMemoryConfig:
    return CompactionMemoryConfig(**values)


def compacting(**values: Any) -> CompactionMemory:
    """A memory whose summary is the number of messages it saw; counts are the heuristic's."""
    values.setdefault("compact_fn", lambda messages, _prompt: f"{len(messages)} messages")
    return CompactionMemory(values.pop("config", None), counter=Counter(), **values)
