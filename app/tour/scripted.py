"""What the tour brings to be able to show tools without a model that calls them.

Only what a model says is scripted; the tool really runs, its result is really put aside.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from app.demo import probe_log
from app.engine.agent.tools import Tool, tool
from app.engine.llm.endpoint import Answer, Delta, Request, TextDelta
from app.engine.records import ToolCall, Window


class Script:
    """A model that says what the tour needs said: a tool call, then an answer."""

    name = "tour script"
    host = ""
    fit_for_memory = False
    supports_tools = True

    def __init__(self, calls: tuple[ToolCall, ...], *texts: str) -> None:
        self._calls = calls
        self._texts = list(texts)
        self._asked = 0

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        self._asked += 1
        if self._asked == 1 and self._calls:
            yield Answer("", calls=self._calls, finish="tool_calls", model=self.name)
            return
        text = self._texts.pop(0) if self._texts else "Good."
        yield TextDelta(text)
        yield Answer(text, model=self.name)

    async def window(self) -> Window:
        return Window(8_192, "setting")

    async def close(self) -> None:
        return None


def probe_tool() -> Tool:
    """A tool of the tour's own, whose result is longer than the limit."""

    async def read_probe(arguments: dict[str, Any]) -> str:
        return probe_log()

    return tool(
        "read_probe", "Read a night of the probe.", read_probe, bed=("integer", "Which bed.")
    )
