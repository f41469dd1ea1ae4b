"""Flush and consolidation by hand: queued, followed until they end, told in words."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from app.engine.errors import SessionNotFound
from app.engine.records import JobInfo
from app.gui.look.text import preview, tr
from app.gui.widgets.notices import Act, UndoBar
from app.gui.widgets.pane import Target

if TYPE_CHECKING:
    from app.gui.panes.daily.pane import DailyPane

OPEN = ("waiting", "running")
LOOK = 0.3  # seconds between two looks at a job


class Jobs:
    """Jobs that a person began here. `running(kind)` says whether one has not ended."""

    def __init__(self, pane: DailyPane, changed: Callable[[], None]) -> None:
        self._pane = pane
        self._changed = changed
        self._open: set[str] = set()
        self.bar = UndoBar(pane)

    def running(self, kind: str) -> bool:
        return kind in self._open

    async def flush(self) -> None:
        """Flush the session with the newest activity."""
        desk = self._pane.desk
        sessions = await desk.engine.ask.sessions()
        if not sessions:
            raise SessionNotFound(
                tr("There is no session to flush."), tr("Start one in Chat first.")
            )
        newest = sessions[0]
        job = await desk.engine.do.flush(newest.id, initiator=self._pane)
        await self._follow("flush", job, preview(newest.title, 40))

    async def consolidate(self) -> None:
        """Make a proposal for MEMORY.md from what waits."""
        job = await self._pane.desk.engine.do.consolidate(initiator=self._pane)
        await self._follow("consolidate", job, "")

    async def _follow(self, kind: str, job_id: str, title: str) -> None:
        self._open.add(kind)
        self._changed()
        try:
            job = await self._ended(job_id)
        finally:
            self._open.discard(kind)
            self._changed()
        if job is not None:
            self._tell(kind, job, title)

    async def _ended(self, job_id: str) -> JobInfo | None:
        while True:
            jobs = await self._pane.desk.engine.ask.jobs()
            job = next((j for j in jobs if j.id == job_id), None)
            if job is None or job.state not in OPEN:
                return job
            await asyncio.sleep(LOOK)

    def _tell(self, kind: str, job: JobInfo, title: str) -> None:
        pane = self._pane
        show = Act(tr("Show"), lambda: pane.go.emit(Target("activity")))
        if job.state == "failed":
            pane.notice(job.reason or tr("The job failed."), job.remedy, tone="lost", acts=(show,),
                        key=kind)  # fmt: skip
            return
        pane.notices.drop(kind)
        if job.state == "done" and kind == "flush":
            said = tr("Flushed “{title}”", title=title)
            acts = (Act(tr("Go to today"), pane.show_today),)
        elif job.state == "done":
            said = tr("A proposal for MEMORY.md waits")
            target = Target("memory", proposal=job.target)
            acts = (Act(tr("Review it"), lambda: pane.go.emit(target)),)
        else:
            said = job.reason or tr("Nothing was done: {state}", state=job.state)
            acts = (show,)
        self.bar.show_act(said, acts)
