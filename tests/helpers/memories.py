"""What the tests of the Motus-shaped face share: messages, a model that answers from a script."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from typing import Any

from app.engine.context.tokens import Counter
from app.engine.errors import ModelError
from app.engine.llm.endpoint import Answer, Delta, Request
from app.engine.memory.compaction_memory import CompactionMemory
from app.engine.memory.motus_settings import CompactionMemoryConfig
from app.engine.records import Message, ToolCall, Window

__all__ = ["Model", "bot", "calling", "compacting", "config", "result", "run", "said", "user"]


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(asyncio.wait_for(work, 30))


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


def config(**values: Any) -> CompactionMemoryConfig:
    return CompactionMemoryConfig(**values)


def compacting(**values: Any) -> CompactionMemory:
    """A memory whose summary is the number of messages it saw; counts are the heuristic's."""
    values.setdefault("compact_fn", lambda messages, _prompt: f"{len(messages)} messages")
    return CompactionMemory(values.pop("config", None), counter=Counter(), **values)


class Model:
    """An endpoint that answers in turn: a text, an `Answer`, or an error; the last one repeats."""

    host = ""
    fit_for_memory = True
    supports_tools = True

    def __init__(
        self, *answers: str | Answer | ModelError | Exception, window: Window | None = None,
        name: str = "scripted",
    ) -> None:  # fmt: skip
        self.name = name
        self.answers = answers or ("A summary.",)
        self.requests: list[Request] = []
        self.size = window or Window(128_000, "reported")

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        self.requests.append(request)
        given = self.answers[min(len(self.requests), len(self.answers)) - 1]
        if isinstance(given, Exception):
            raise given
        yield Answer(given) if isinstance(given, str) else given

    async def window(self) -> Window:
        return self.size

    async def close(self) -> None:
        return
