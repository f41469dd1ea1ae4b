"""An endpoint whose answers are measured: every model, whoever made it, teaches the gauge.

`Endpoints` wraps what it hands out, so that chat, flush, consolidation and summaries share what is
known of a model: how it counts, how much its server takes, and whether a prompt was cut.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from msgspec.structs import replace

from app.engine.errors import ContextOverflow
from app.engine.llm.endpoint import Answer, Delta, Endpoint, Request
from app.engine.llm.gauge import Gauge
from app.engine.llm.truncation import TruncationWatch, half_of
from app.engine.records import Usage, Window


class MeasuredEndpoint:
    """`inner` with a gauge beside it; otherwise exactly `inner`."""

    def __init__(self, inner: Endpoint, gauge: Gauge) -> None:
        self.inner = inner
        self._gauge = gauge
        self._watch = TruncationWatch()
        self._window: Window | None = None

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def host(self) -> str:
        return self.inner.host

    @property
    def fit_for_memory(self) -> bool:
        return self.inner.fit_for_memory

    @property
    def supports_tools(self) -> bool:
        return self.inner.supports_tools

    @property
    def key_source(self) -> str:
        """Where the key comes from, "" when the endpoint needs none."""
        return getattr(self.inner, "key_source", "")

    async def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        """As the protocol says; the answer is marked when the server seems to have cut the
        prompt."""
        if self._window is None:
            await self.window()
        stream = self.inner.stream(request)
        try:
            async for delta in stream:
                if isinstance(delta, Answer) and delta.usage is not None:
                    delta = await asyncio.to_thread(self._measured, request, delta, delta.usage)
                yield delta
        except ContextOverflow as error:
            await asyncio.to_thread(self._overflowed, request, error)
            raise
        finally:
            if (close := getattr(stream, "aclose", None)) is not None:
                await close()

    async def window(self) -> Window:
        """The window that counts: the endpoint's own, unless something better was learned."""
        told = await self.inner.window()
        self._window = self._gauge.window(self._server, told)
        return self._window

    async def close(self) -> None:
        await self.inner.close()

    # ------------------------------------------------------------------ what is learned

    @property
    def _server(self) -> str:
        return f"{self.inner.host} {self.inner.name}"

    def _counted(self, request: Request) -> int:
        """Our own count, of what was sent: a server that takes no tools got none."""
        sent = request if self.inner.supports_tools else replace(request, tools=())
        return self._gauge.count(sent)

    def _measured(self, request: Request, answer: Answer, usage: Usage) -> Answer:
        """Counting a long request takes a while, and what is learned is written: for a thread."""
        counted = self._counted(request)
        window = self._window.tokens if self._window is not None else 0
        expected = counted * self._gauge.least(self.name)
        # The built-in model's server refuses what is too long; it never cuts.
        watched = counted > 0 and bool(self.host)
        why = self._watch.seen(counted, expected, usage, window) if watched else ""
        if not why:
            if not any(message.images for message in request.messages):
                self._gauge.learn(self.name, counted, usage.prompt)
            return answer
        if not half_of(usage.prompt, window):
            # What was read is all that is certain of the window now.
            self._gauge.suspect_window(self._server, usage.prompt + usage.completion)
        return replace(answer, truncated=why)

    def _overflowed(self, request: Request, error: ContextOverflow) -> None:
        if error.window and self.host:  # the built-in model's window is ours to say
            self._gauge.learn_window(self._server, error.window)
        if error.requested:
            self._gauge.learn(self.name, self._counted(request), error.requested)
