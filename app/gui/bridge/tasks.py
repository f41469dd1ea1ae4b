"""Owned tasks: no coroutine runs without somebody who ends it.

Each pane, the window and each dialog own one `Tasks`. An error in a task goes to the owner's
`failed` callback, once; cancellation is silent.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio

log = logging.getLogger(__name__)

Failed = Callable[[str, BaseException], None]


def _of_no_use(name: str, error: BaseException) -> None:
    log.debug("task %r of a deleted owner: %r", name, error)


class Tasks:
    """Named tasks of one owner. `failed(name, error)` is called for what they raise."""

    def __init__(self, failed: Failed | None = None) -> None:
        self._failed = failed
        self._running: dict[asyncio.Task[Any], str] = {}
        self._ending = False

    def start(self, name: str, coro: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run `coro` beside whatever else goes by that name."""
        import asyncio

        task = asyncio.ensure_future(coro)
        if self._ending:  # a timer that fires late must not reach an engine that is closing
            task.cancel()
        self._running[task] = name
        task.add_done_callback(self._ended)
        return task

    def latest(self, name: str, coro: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run `coro`; an older task of that name is cancelled first."""
        self.cancel(name)
        return self.start(name, coro)

    def running(self, name: str) -> bool:
        return any(n == name and not t.done() for t, n in self._running.items())

    def cancel(self, name: str) -> None:
        for task, known in list(self._running.items()):
            if known == name:
                task.cancel()

    def cancel_all(self) -> None:
        for task in list(self._running):
            task.cancel()

    def abandon(self) -> None:
        """The owner's widgets are deleted: what its tasks still run into there is no bug."""
        self._ending = True
        self._failed = _of_no_use
        with suppress(RuntimeError):  # the loop may be closed by then
            self.cancel_all()

    async def end(self, within: float = 2.0) -> None:
        """Cancel all, wait until they are gone (or `within` seconds are); nothing starts after."""
        self._ending = True
        import asyncio

        self.cancel_all()
        if self._running:
            await asyncio.wait(list(self._running), timeout=within)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        name = self._running.pop(task, "")
        if task.cancelled():
            return
        error = task.exception()
        if error is None:
            return
        if self._failed is None:
            log.error("task %r failed", name, exc_info=error)
        else:
            self._failed(name, error)
