"""Waiting for the thing itself, however slow the machine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

Given = TypeVar("Given")
PATIENCE = 60.0  # s; first uses import much, and a test machine may do four things at once


def run(work: Coroutine[Any, Any, Given]) -> Given:
    """What a test's own coroutine gives, on a loop of its own, within 90 s."""
    return asyncio.run(asyncio.wait_for(work, 90))


async def until(condition: Callable[[], object], seconds: float = PATIENCE) -> None:
    """Wait while the loop runs, until the condition holds; AssertionError when it never does."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while not condition():
        if loop.time() > end:
            raise AssertionError(f"still not so after {seconds} s: {condition}")
        await asyncio.sleep(0.01)


async def quiet(condition: Callable[[], object], seconds: float = PATIENCE) -> None:
    """Wait until something holds for a fifth of a second."""
    loop = asyncio.get_running_loop()
    end, since = loop.time() + seconds, loop.time()
    while loop.time() - since < 0.2:
        assert loop.time() < end, f"no rest within {seconds} s"
        await asyncio.sleep(0.01)
        if not condition():
            since = loop.time()
