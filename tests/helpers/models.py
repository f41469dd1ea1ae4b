"""A model that answers by script."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

from app.engine.llm.endpoint import Answer, Delta, Request
from app.engine.records import Window

Reply = str | Answer | Exception | Callable[[Request], Any]


class ScriptedModel:
    """Answers with the replies in turn, the last one for ever; keeps what it was asked.

    An exception is raised; a function is given the request, and may be a coroutine function.
    """

    name = "scripted"
    host = ""
    fit_for_memory = True
    supports_tools = False

    def __init__(self, *replies: Reply, window: Window | None = None) -> None:
        self.replies: list[Reply] = list(replies) or ["- a fact"]
        self.requests: list[Request] = []
        self.size = window or Window(128_000, "setting")

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        reply: Any = self.replies[min(len(self.requests), len(self.replies) - 1)]
        self.requests.append(request)
        if callable(reply) and not isinstance(reply, Answer):
            reply = reply(request)
            if hasattr(reply, "__await__"):
                reply = await reply
        if isinstance(reply, Exception):
            raise reply
        yield reply if isinstance(reply, Answer) else Answer(str(reply), model=self.name)

    async def window(self) -> Window:
        return self.size

    async def close(self) -> None:
        pass

    @property
    def asked(self) -> str:
        """The newest user message."""
        return self.requests[-1].messages[0].content
