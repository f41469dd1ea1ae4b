"""Maintenance: archive, consolidate, prune, re-index, in this order, in the background.

A round is one job. It begins on a timer (first one interval after start), on request after a flush,
or by hand; the first two pass the maintenance gate, so that a workspace pays at most once per gap.
A step that fails says so and the next one runs. Invariant: only this module and the person's own
commands move files to the archive or the trash, each move with time and rule in `runs.jsonl`.
Specification, section 12.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable
from datetime import datetime, timedelta
from itertools import groupby
from typing import Literal

from app.engine.config import EngineConfig
from app.engine.errors import UserError
from app.engine.events import Activity, Bus
from app.engine.jobs import JobContext, JobQueue, Runner, Skipped
from app.engine.memory.gate import Gate
from app.engine.memory.journal import RunLog
from app.engine.memory.retention import Retention, RetentionItem
from app.engine.records import Due, JobInfo
from app.engine.workspace.layout import Layout
from app.engine.workspace.sections import SectionStates

log = logging.getLogger(__name__)

KIND = "maintain"
_HELD = "Nothing is put away until you have seen the list of what would be."
_State = Literal["started", "finished", "failed", "skipped"]
Step = Callable[[JobContext], Awaitable[str]]


class MemoryMaintenanceScheduler:
    """The scheduler of one workspace. Async; disk work runs in threads.

    `consolidate` and `reindex` are steps of others: they return what they did in a sentence, raise
    `Skipped` when there was nothing to do and `UserError` when they failed; None leaves a step out
    (no model: no consolidation). `index` brings one path up to date, also one that vanished;
    `sessions_changed` (called in a thread) lets the session index follow. `opened` names the
    sessions in use. Until the settings say `retention_allowed` nothing is archived, pruned or
    deleted: the person has not seen the preview yet, and the round says what waits for that.
    """

    def __init__(
        self,
        layout: Layout,
        *,
        bus: Bus,
        jobs: JobQueue,
        gate: Gate,
        states: SectionStates,
        config: Callable[[], EngineConfig],
        consolidate: Step | None = None,
        reindex: Step | None = None,
        index: Callable[[str], Awaitable[object]] | None = None,
        sessions_changed: Callable[[], object] | None = None,
        opened: Callable[[], Collection[str]] = lambda: (),
        clock: Callable[[], datetime] = lambda: datetime.now().astimezone(),
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._layout = layout
        self._bus = bus
        self._jobs = jobs
        self._gate = gate
        self._states = states
        self._config = config
        self._consolidate = consolidate
        self._reindex = reindex
        self._index = index
        self._sessions_changed = sessions_changed
        self._opened = opened
        self._clock = clock
        self._sleep = sleep
        self._retention = Retention(layout, RunLog(layout))
        self._timer: asyncio.Task[None] | None = None
        self._next: datetime | None = None
        self._stopped = False
        self._held = 0  # files the last round left where they are, as nobody has seen the list
        jobs.register(KIND, self.run)

    # ------------------------------------------------------------------ when

    def start(self) -> None:
        """Start the timer: the first round comes one interval from now. An interval of 0: none."""
        if self._timer is None and self._config().maintenance.interval > timedelta(0):
            self._timer = asyncio.create_task(self._tick())

    async def stop(self) -> None:
        """Stop the timer; requests are refused from now on."""
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()
            await asyncio.gather(self._timer, return_exceptions=True)
            self._timer = None

    async def _tick(self) -> None:
        while True:
            interval = self._config().maintenance.interval
            self._next = self._clock() + interval
            await self._sleep(interval.total_seconds())
            await self._gated("timer")

    async def request_consolidation(self) -> JobInfo | None:
        """Ask for a round after a flush; None when the gap is not over, or after `stop`."""
        return await self._gated("after a flush")

    def enqueue(self, trigger: str = "asked for") -> JobInfo | None:
        """Queue a round whatever the gate says (a person asked)."""
        return self._jobs.enqueue(KIND, trigger, self.run)

    async def _gated(self, trigger: str) -> JobInfo | None:
        if self._stopped:
            return None
        try:
            passed = await asyncio.to_thread(self._gate.claim, "maintenance", self._gap())
        except UserError as error:
            log.warning("maintenance was not asked for: %s", error)
            return None
        if not passed:
            reason = "The least time between two rounds is not over."
            self._bus.publish(Activity("gate", "skipped", reason=reason))
            return None
        job = None if self._stopped else self.enqueue(trigger)
        if job is None:
            await asyncio.to_thread(self._gate.release, "maintenance")
        return job

    def _gap(self) -> timedelta:
        """The least time between two rounds that nobody asked for."""
        settings = self._config()
        gap = settings.maintenance.opportunistic_gap
        return settings.memory.consolidation_min_gap if gap is None else gap

    # ------------------------------------------------------------------ what

    def upcoming(self) -> list[Due]:
        """What comes by itself: the waiting lines' consolidation and the next round. Blocks."""
        settings, gap = self._config(), self._gap()
        out: list[Due] = []
        lines = sum(len(one.section.lines) for one in self._states.known("waiting"))
        if lines:
            last = self._gate.last("maintenance")
            after = last + gap if last is not None and last + gap > self._clock() else None
            said = f"after the next flush, {_count(lines, 'line')} waiting"
            out.append(Due("consolidate", after, said))
        if self._next is not None and not self._stopped:
            held = self._held and not settings.maintenance.retention_allowed
            said = f"{_count(self._held, 'file')} waiting until you have seen the list"
            out.append(Due(KIND, self._next, said if held else ""))
        return out

    async def preview(self) -> list[RetentionItem]:
        """Each file the next round would move or delete, with rule and age. Touches nothing."""
        settings = self._config()
        return await asyncio.to_thread(
            self._retention.preview,
            settings.memory,
            settings.maintenance.trash_days,
            self._clock(),
            self._opened(),
        )

    async def run(self, job: JobContext) -> str:
        """The runner of a round. Raises the first failure after all steps have had their turn."""
        steps: list[tuple[str, Runner | None]] = [
            ("archive", self._archive),
            ("consolidation", self._consolidate),
            ("prune", self._prune),
            ("reindex", self._reindex),
        ]
        said = [await self._held_words()]
        failures: list[UserError] = []
        for number, (name, step) in enumerate(steps):
            job.progress(number, len(steps), name)
            if step is None:
                self._say(name, "skipped", job, "There is nothing that could do it now.")
                continue
            try:
                said.append(await step(job))
            except Skipped as skipped:
                self._say(name, "skipped", job, str(skipped))
            except UserError as error:
                failures.append(error)
                self._say(name, "failed", job, str(error), error.remedy)
            except Exception as error:
                log.exception("the %s step of maintenance failed", name)
                reason = f"The step {name} failed: {type(error).__name__}: {error}"
                failures.append(UserError(reason, "The other steps ran. Please report this."))
                self._say(name, "failed", job, reason)
        if failures:
            raise UserError(str(failures[0]), failures[0].remedy)
        return " ".join(text for text in said if text) or "Everything was in order."

    async def _archive(self, job: JobContext) -> str:
        self._refuse_while_held()
        self._say("archive", "started", job)
        now = self._clock()
        due = await asyncio.to_thread(self._retention.due_days, self._config().memory, now)
        for item in due:
            new = await asyncio.to_thread(self._put_away, item, job.id, now)
            await self._follow((item.path, new))
            self._bus.changed("daily", ids=(item.path, new))
        self._say("archive", "finished", job)
        return f"Archived {_count(len(due), 'daily log')}." if due else ""

    def _put_away(self, item: RetentionItem, run: str, now: datetime) -> str:
        new = self._retention.archive(item, run, now)
        self._states.moved(item.path, new)
        return new

    async def _prune(self, job: JobContext) -> str:
        self._refuse_while_held()
        self._say("prune", "started", job)
        now, settings = self._clock(), self._config()
        gone = await self._prune_sessions(job, now)
        emptied = await asyncio.to_thread(
            self._retention.empty_trash, settings.maintenance.trash_days, now
        )
        self._say("prune", "finished", job)
        said = [f"Moved {_count(len(gone), 'file')} to the trash."] if gone else []
        said += [f"Deleted {_count(emptied, 'file')} from the trash."] if emptied else []
        return " ".join(said)

    async def _prune_sessions(self, job: JobContext, now: datetime) -> list[str]:
        memory = self._config().memory
        due = await asyncio.to_thread(self._retention.due_sessions, memory, now, self._opened())
        due += await asyncio.to_thread(self._retention.due_proposals, memory, now)
        gone: list[str] = []
        for session_id, items in groupby(due, key=lambda item: item.session_id):
            if session_id and session_id in self._opened():  # opened meanwhile
                continue
            moved = await asyncio.to_thread(self._retention.prune, list(items), job.id, now)
            await self._follow(moved)
            gone += moved
        await asyncio.to_thread(self._retention.prune_runs, memory, job.id, now)
        if gone:
            if self._sessions_changed is not None:
                await asyncio.to_thread(self._sessions_changed)
            self._bus.changed("sessions", "evicted", "proposals", ids=tuple(gone))
        return gone

    def _refuse_while_held(self) -> None:
        if not self._config().maintenance.retention_allowed:
            raise Skipped(_HELD)

    async def _held_words(self) -> str:
        """What stays where it is because nobody has seen the list yet; "" when nothing does."""
        if self._config().maintenance.retention_allowed:
            return ""
        due = self._held = len(await self.preview())
        return f"{_count(due, 'file')} {'is' if due == 1 else 'are'} due. {_HELD}" if due else ""

    async def _follow(self, paths: Iterable[str]) -> None:
        """Let the search index follow a move at once; what fails is mended by the re-index."""
        if self._index is None:
            return
        for path in paths:
            try:
                await self._index(path)
            except UserError as error:
                log.warning("%s is not indexed yet: %s", path, error)

    def _say(
        self, step: str, state: _State, job: JobContext, reason: str = "", remedy: str = ""
    ) -> None:
        self._bus.publish(Activity(step, state, "", job.id, reason, remedy))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
