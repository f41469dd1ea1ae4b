"""A session in use: one writer at a time, its work done in threads, its running turn.

Invariant: `do` never lets two threads touch one session, also when the caller is cancelled while
the disk is still busy.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from app.engine.events import Bus
from app.engine.memory.base import BaseMemory
from app.engine.records import ToolCall, TurnResult
from app.engine.session.session import Session

T = TypeVar("T")


class LiveSession:
    """One open session of the engine.

    `strategy` is the one chosen for this session, "" for the engine's. `memory` is a memory of a
    person's own that was given to it; its strategy is then what counts.
    """

    def __init__(
        self, session: Session, bus: Bus, *, strategy: str = "", memory: BaseMemory | None = None
    ) -> None:
        self.session = session
        self.strategy = memory.strategy if memory is not None else strategy
        self.memory = memory
        self.turn: asyncio.Task[TurnResult] | None = None
        self.unsent: str = ""
        self._bus = bus
        self._lock = asyncio.Lock()
        self._approvals: dict[str, asyncio.Future[bool]] = {}
        if memory is not None:
            memory.attach(session, self.write)

    @property
    def id(self) -> str:
        return self.session.id

    @property
    def busy(self) -> bool:
        return self.turn is not None and not self.turn.done()

    async def do(self, work: Callable[[Session], T]) -> T:
        """`work(session)` in a thread, after whatever is still running on this session."""
        async with self._lock:
            running = asyncio.ensure_future(asyncio.to_thread(work, self.session))
            try:
                return await asyncio.shield(running)
            except asyncio.CancelledError:
                await asyncio.wait([running])
                raise

    async def write(self, work: Callable[[Session], T]) -> T:
        """Like `do`, and says that the transcript changed."""
        result = await self.do(work)
        self._bus.changed("transcript", "sessions", ids=(self.id,))
        if not self.busy:
            await self.let_go()
        return result

    async def let_go(self) -> None:
        """Between turns another program may write this session: the lock is taken anew by the next
        write here, which first reads what came meanwhile."""
        await self.do(lambda session: None if self.busy else session.close())

    # ------------------------------------------------------------------ approvals

    async def approval(self, call: ToolCall) -> bool:
        """Wait for a person's word on a call that writes; cancelled with the turn."""
        waiting: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._approvals[call.id] = waiting
        try:
            return await waiting
        finally:
            self._approvals.pop(call.id, None)

    def answer(self, call_id: str, allow: bool) -> bool:
        """Pass a person's word on; False when nobody is waiting for it."""
        waiting = self._approvals.get(call_id)
        if waiting is None or waiting.done():
            return False
        waiting.set_result(allow)
        return True
