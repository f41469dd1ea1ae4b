"""Waiting for a server: said out loud while it lasts, and tidied up when it is no longer wanted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from app.engine.llm.endpoint import WaitingDelta


async def waiting(task: asyncio.Future[Any]) -> AsyncGenerator[WaitingDelta, None]:
    """Say each second that nothing came yet, until the task is done."""
    seconds = 0
    while not task.done():
        await asyncio.wait({task}, timeout=1.0)
        if not task.done():
            seconds += 1
            yield WaitingDelta(f"waiting for the model · {seconds} s")


async def ended(task: asyncio.Future[Any]) -> None:
    """Cancel a task that is no longer wanted and see it off."""
    if not task.done():
        task.cancel()
        await asyncio.wait({task})
    if task.done() and not task.cancelled():
        task.exception()  # seen; whoever wanted the result has it
