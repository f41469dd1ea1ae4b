"""Detached work: one bounded serial queue per workspace.

A job is enqueued and the caller goes on; nothing waits for it and it raises nowhere: a failure is a
record with a sentence and a remedy. Every job is written to the journal when it is queued, started
and ended, so what had not ended when the program went away is run at the next start by the runner
registered for its kind. Invariants: one job runs at a time; only the process that holds the
journal's claim runs jobs, the others only queue them; a job that is cut off by closing is not
"ended". Specification, section 5 ("Order of work").

All methods belong to the loop's thread; the journal is written on a thread of its own, in order.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import msgspec

from app.engine.errors import Interrupted, UserError
from app.engine.events import Activity, Bus
from app.engine.job_records import (
    ENDED,
    Journal,
    MemoryJournal,
    ended,
    put_back,
    queued,
    read_back,
    started,
)
from app.engine.records import JobInfo

log = logging.getLogger(__name__)

MAX_STARTS = 3  # begun so often and never ended: it takes the program down, and is given up
HISTORY = 500


class Skipped(Exception):
    """Raised by a runner that found nothing to do; its text is the reason, a sentence."""


@dataclass
class JobContext:
    """What a running job knows and can say. `payload` is what was captured when it was queued."""

    id: str
    kind: str
    trigger: str
    session_id: str
    payload: dict[str, Any]
    _say: Callable[[int, int, str], None]
    target: str = ""  # a path or proposal id the job produced; shown as a link

    def progress(self, done: int, total: int, reason: str = "") -> None:
        """Say how far the job is, in steps or bytes."""
        self._say(done, total, reason)


Runner = Callable[[JobContext], Awaitable[str]]


@dataclass
class _Job:
    info: JobInfo
    payload: dict[str, Any]
    run: Runner | None
    ended: asyncio.Event = field(default_factory=asyncio.Event)


class JobQueue:
    """The jobs of one workspace. `start` once, `close` once; `enqueue` in between never blocks."""

    def __init__(
        self,
        bus: Bus,
        journal: Journal | None = None,
        *,
        limit: int = 32,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        new_id: Callable[[], str] = lambda: f"j-{uuid4().hex[:12]}",
        look_every: float = 1.0,
    ) -> None:
        self._bus = bus
        self._journal: Journal = journal or MemoryJournal()
        self._limit = limit
        self._clock = clock
        self._new_id = new_id
        self._look_every = look_every
        self._runners: dict[str, Runner] = {}
        self._waiting: deque[_Job] = deque()
        self._running: _Job | None = None
        self._task: asyncio.Task[str] | None = None
        self._worker: asyncio.Task[None] | None = None
        self._watcher: asyncio.Task[None] | None = None
        self._past: deque[JobInfo] = deque(maxlen=HISTORY)
        self._known: set[str] = set()
        self._records_seen = -1
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="jobs")
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._mine = False
        self._closing = False  # still takes and runs jobs, for a moment
        self._cutting = False  # what runs is cut off
        self._closed = False

    # ------------------------------------------------------------------ life

    def register(self, kind: str, run: Runner) -> None:
        """The runner for jobs of this kind that come from the journal. Before `start`."""
        self._runners[kind] = run

    async def start(self) -> None:
        """Claim the journal, take up what had not ended, and begin to work."""
        self._worker = asyncio.create_task(self._work())
        await self.look()
        if self._look_every > 0:
            self._watcher = asyncio.create_task(self._watch())

    async def look(self) -> None:
        """Look at the journal: jobs other processes queued, and whether the claim is free now."""
        mine = self._mine or await self._off(self._journal.claim) is True
        records: list[dict[str, Any]] = await self._off(self._journal.read) or []
        if mine != self._mine or len(records) != self._records_seen:
            self._records_seen = len(records)
            self._take_up(records, mine)
        self._mine = mine  # only now: another process may have run what waits here
        self._settle()
        self._wake.set()

    async def drain(self, timeout: float) -> bool:  # noqa: ASYNC109 - asyncio.timeout inside
        """Wait until nothing runs or waits, at most `timeout` seconds; whether that came."""
        try:
            async with asyncio.timeout(timeout):
                await self._idle.wait()
                await self._off(lambda: None)  # what was queued is on the disk, too
        except TimeoutError:
            return False
        return True

    async def close(self, timeout: float = 2.0) -> None:  # noqa: ASYNC109
        """End within about `timeout` seconds. What is not done is taken up at the next start."""
        if self._closing:
            return
        self._closing = True
        if self._mine:
            await self.drain(timeout)
        self._cutting = True
        tasks = [task for task in (self._watcher, self._worker, self._task) if task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=1.0)
        self._closed = True
        await self._off(self._journal.release)
        await asyncio.to_thread(self._thread.shutdown)

    # ------------------------------------------------------------------ asking and doing

    def enqueue(
        self,
        kind: str,
        trigger: str,
        run: Runner | None = None,
        *,
        session_id: str = "",
        payload: dict[str, Any] | None = None,
    ) -> JobInfo | None:
        """Queue a job and return at once; None when the queue is full or closed (said on the bus).

        `run` is what does it now; without it, and after a restart, the kind's registered runner.
        `payload` must be plain JSON values: everything the job needs to know.
        """
        if self._closed:
            log.warning("a %s job came after closing and was not queued", kind)
            return None
        if len(self._waiting) >= self._limit:
            reason = f"{self._limit} jobs are waiting already; this {kind} was not queued."
            log.warning("%s", reason)
            said = Activity("job", "skipped", session_id, reason=reason, detail={"kind": kind})
            self._bus.publish(said)
            return None
        id, now = self._new_id(), self._clock()
        info = JobInfo(id, kind, trigger, "waiting", now, session_id=session_id)
        job = _Job(info, dict(payload or {}), run or self._runners.get(kind))
        self._known.add(info.id)
        self._write(queued(info, job.payload))
        self._add(job)
        return info

    def cancel(self, job_id: str) -> bool:
        """Cancel a waiting or running job; False when there is no such job any more."""
        if self._running is not None and self._running.info.id == job_id and self._task:
            self._task.cancel()
            return True
        for job in self._waiting:
            if job.info.id == job_id:
                self._waiting.remove(job)
                self._end(job, "cancelled", reason="It was cancelled before it began.")
                self._settle()
                return True
        return False

    def jobs(self, limit: int = 200) -> list[JobInfo]:
        """Running, waiting and past jobs, newest first."""
        now = [self._running.info] if self._running else []
        waiting = [job.info for job in reversed(self._waiting)]
        return [*waiting, *now, *reversed(self._past)][:limit]

    def running(self) -> tuple[JobInfo, ...]:
        """The job that runs now, if any."""
        return (self._running.info,) if self._running else ()

    def waiting(self) -> int:
        """How many jobs wait."""
        return len(self._waiting)

    def find(self, kind: str, session_id: str = "") -> JobInfo | None:
        """The first waiting job of this kind for this session."""
        infos = (job.info for job in self._waiting)
        return next((i for i in infos if (i.kind, i.session_id) == (kind, session_id)), None)

    async def ended(self, job_id: str) -> JobInfo | None:
        """Wait for one job's end; None when no such job is known."""
        for job in (*self._waiting, *filter(None, [self._running])):
            if job.info.id == job_id:
                await job.ended.wait()
                return job.info
        return next((info for info in self._past if info.id == job_id), None)

    # ------------------------------------------------------------------ working

    def _add(self, job: _Job) -> None:
        self._waiting.append(job)
        self._idle.clear()
        self._wake.set()
        self._bus.changed("jobs", ids=(job.info.id,))

    async def _work(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._mine and (job := self._next()) is not None:
                await self._run(job)
            self._settle()

    def _next(self) -> _Job | None:
        """The oldest waiting job that somebody knows how to run."""
        job = next((job for job in self._waiting if job.run is not None), None)
        if job is not None:
            self._waiting.remove(job)
        return job

    def _settle(self) -> None:
        runnable = self._mine and any(job.run for job in self._waiting)
        busy = self._running is not None or runnable
        (self._idle.clear if busy else self._idle.set)()

    async def _run(self, job: _Job) -> None:
        assert job.run is not None
        info = job.info
        context = JobContext(
            info.id, info.kind, info.trigger, info.session_id, job.payload,
            lambda done, total, reason: self._progress(job, done, total, reason),
        )  # fmt: skip
        self._running = job
        self._update(job, state="running", started=self._clock())
        self._say(job, "started")
        self._task = asyncio.create_task(self._begin(job, job.run, context))
        try:
            result = await asyncio.shield(self._task)
            self._finish(job, context, "done", result=result)
        except Skipped as skipped:
            self._finish(job, context, "skipped", reason=str(skipped))
        except asyncio.CancelledError:
            worker = asyncio.current_task()
            if self._cutting or (worker is not None and worker.cancelling()):
                self._write(put_back(job.info, self._clock()))
                raise  # no end is written: the next start takes it up
            self._finish(job, context, "cancelled", reason="It was cancelled.")
        except Interrupted:
            self._finish(job, context, "cancelled", reason="It was interrupted.")
        except UserError as error:
            self._finish(job, context, "failed", reason=str(error), remedy=error.remedy)
        except Exception as error:
            log.exception("a %s job failed", job.info.kind)
            reason = f"Something went wrong inside: {type(error).__name__}: {error}"
            remedy = "Nothing that was stored is lost. Please report this with the log."
            self._finish(job, context, "failed", reason=reason, remedy=remedy)
        finally:
            self._task = None

    async def _begin(self, job: _Job, run: Runner, context: JobContext) -> str:
        await self._off(self._journal.append, started(job.info, self._clock()))
        return await run(context)

    def _progress(self, job: _Job, done: int, total: int, reason: str) -> None:
        self._update(job, done=done, total=total)
        self._say(job, "progress", reason)

    def _finish(self, job: _Job, context: JobContext, state: str, **fields: str) -> None:
        self._running = None
        self._end(job, state, target=context.target, **fields)

    def _end(
        self,
        job: _Job,
        state: str,
        *,
        reason: str = "",
        remedy: str = "",
        result: str = "",
        target: str = "",
    ) -> None:
        self._update(
            job, state=state, ended=self._clock(), reason=reason, remedy=remedy,
            result=result, target=target,
        )  # fmt: skip
        self._past.append(job.info)
        self._write(ended(job.info, self._clock()))
        said = "finished" if state == "done" else "failed" if state == "failed" else "skipped"
        self._say(job, said, reason, remedy)
        job.ended.set()

    def _update(self, job: _Job, **changes: Any) -> None:
        job.info = msgspec.structs.replace(job.info, **changes)
        self._bus.changed("jobs", ids=(job.info.id,))

    def _say(self, job: _Job, state: Any, reason: str = "", remedy: str = "") -> None:
        info = job.info
        detail = {"kind": info.kind, "trigger": info.trigger, "state": info.state}
        ids = (info.session_id, info.id)
        said = Activity("job", state, *ids, reason, remedy, info.done, info.total, detail)
        self._bus.publish(said)

    # ------------------------------------------------------------------ the journal

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(self._look_every)
            await self.look()

    def _write(self, record: dict[str, Any]) -> None:
        """Append on the journal's thread, in order, without waiting."""
        self._thread.submit(self._journal.append, record).add_done_callback(_log_failure)

    async def _off(self, call: Callable[..., Any], *args: Any) -> Any:
        """Call on the journal's thread; a disk that refuses is logged, the work goes on."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, call, *args)
        except (OSError, UserError):
            log.exception("the job journal could not be used")
            return None

    def _take_up(self, records: list[dict[str, Any]], mine: bool) -> None:
        """Queue what the journal holds and nobody ended; remember what ended."""
        waiting = {job.info.id: job for job in self._waiting}
        for found in read_back(records):
            info = found.info
            if info.id in self._known:
                if info.state in ENDED and (here := waiting.get(info.id)):
                    self._ended_elsewhere(here, info)
                continue
            self._known.add(info.id)
            if info.state in ENDED:
                self._past.append(info)
                continue
            job = _Job(info, found.payload, self._runners.get(info.kind))
            if found.starts >= MAX_STARTS and mine:
                reason = f"It was begun {found.starts} times and never came to an end."
                remedy = "Start it again by hand when the cause is mended."
                self._end(job, "failed", reason=reason, remedy=remedy)
                continue
            self._add(job)

    def _ended_elsewhere(self, job: _Job, info: JobInfo) -> None:
        self._waiting.remove(job)
        job.info = info
        self._past.append(info)
        job.ended.set()
        self._bus.changed("jobs", ids=(info.id,))


def _log_failure(done: Any) -> None:
    error = done.exception()
    if error is not None:
        log.error("a job record could not be written: %s", error)
