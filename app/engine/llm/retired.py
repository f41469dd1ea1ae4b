"""Endpoints that nobody asks any more: closed when what still talks through them has ended.

Invariant: each one handed over is closed exactly once, at the latest by `close`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Sequence

from app.engine.llm.endpoint import Endpoint


class Retired:
    """The retired endpoints of one workspace."""

    def __init__(self) -> None:
        self._open: list[Endpoint] = []
        self._waiting: set[asyncio.Task[None]] = set()

    def close_after(self, work: Iterable[Awaitable[object]], endpoints: Sequence[Endpoint]) -> None:
        """Close `endpoints` when all of `work` is over, however it ended; returns at once."""
        self._open += endpoints
        task = asyncio.create_task(self._close_after(list(work), list(endpoints)))
        self._waiting.add(task)
        task.add_done_callback(self._waiting.discard)

    async def _close_after(self, work: list[Awaitable[object]], endpoints: list[Endpoint]) -> None:
        if work:
            await asyncio.wait([asyncio.ensure_future(one) for one in work])
        for endpoint in endpoints:
            await self._close(endpoint)

    async def _close(self, endpoint: Endpoint) -> None:
        if endpoint in self._open:
            self._open.remove(endpoint)
            await endpoint.close()

    async def close(self) -> None:
        """Close what is still open now."""
        waiting = list(self._waiting)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        for endpoint in list(self._open):
            await self._close(endpoint)
