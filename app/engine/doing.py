"""What all commands need: whether one may write here, a thread to work in, a place in the queue."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from app.engine.errors import WorkspaceBusy, WorkspaceUnusable
from app.engine.jobs import Runner
from app.engine.rooms import Rooms

T = TypeVar("T")


class Doing:
    """Commands on the services of one workspace."""

    def __init__(self, rooms: Rooms) -> None:
        self._rooms = rooms

    def _may_write(self) -> None:
        if self._rooms.read_only:
            raise WorkspaceUnusable("This workspace is open for reading only.")
        if not self._rooms.layout.root.is_dir():  # never make a second one in its old place
            raise WorkspaceUnusable(
                "The workspace's folder is not there any more.",
                "Put it back, or open it where it is now.",
            )

    async def _write(self, work: Callable[[], T]) -> T:
        self._may_write()
        return await asyncio.to_thread(work)

    def _enqueue(self, kind: str, run: Runner, payload: dict[str, object]) -> str:
        self._may_write()
        job = self._rooms.queue.enqueue(kind, "by hand", run, payload=payload)
        if job is None:
            raise WorkspaceBusy("The queue is full.", "Wait until some jobs are done.")
        return job.id
