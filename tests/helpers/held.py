"""Answers of an engine that are held back, as a slow machine holds them, until a test lets go."""

from __future__ import annotations

import asyncio
from typing import Any


class Held:
    """One call. `begun`: it was made and is answered; `go()` hands the answer over."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self._free = asyncio.Event()

    def go(self) -> None:
        self._free.set()

    async def answer(self, call: Any) -> Any:
        """What `call` gives or raises now, handed over when let go."""
        self.begun.set()
        try:
            return await call
        finally:
            await self._free.wait()


def hold(half: Any, name: str, *, after: int = 0) -> Held:
    """Hold back the next call of that question or command, or the one that comes `after` so many:
    it knows what was so when it was made. All others are answered at once."""
    ask, held, left = getattr(half, name), Held(), [after]

    async def later(*args: Any, **how: Any) -> Any:
        left[0] -= 1
        if left[0] != -1:
            return await ask(*args, **how)
        return await held.answer(ask(*args, **how))

    setattr(half, name, later)
    return held
