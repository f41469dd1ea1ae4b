"""The flush: from talk to bullets in today's log.

Each range of a session's entries is flushed exactly once: the cursor is the last `flush` entry of
the session's own log, written after the bullets are on the disk. The reply never waits: a flush is
a job. Only the flush at the end of a call is gated; before compaction, on overflow, by hand and on
closing it always runs. Whatever fails leaves today's log, MEMORY.md and the cursor as they were.
MEMORY.md is only read here. Specification, section 9.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeVar

from msgspec import structs

from app.engine.config import MemoryConfig
from app.engine.errors import ContextOverflow, ModelError, Unreadable, UserError
from app.engine.events import Activity, Bus
from app.engine.jobs import JobContext, JobQueue, Skipped
from app.engine.memory.answers import Judged
from app.engine.memory.curators import FlushCurator, FlushTask
from app.engine.memory.flush_request import (
    Batch,
    References,
    batches,
    last_entry,
    origin_of,
    remembered,
)
from app.engine.memory.flushed import Flushed, left_out, note_of
from app.engine.memory.gate import Gate
from app.engine.memory.outline import bullets
from app.engine.memory.topics import Topics
from app.engine.records import DailySection, JobInfo
from app.engine.session.session import Session
from app.engine.session.unflushed import Unflushed
from app.engine.workspace.daily_log import append_section, read_day, source_text
from app.engine.workspace.files import read_text
from app.engine.workspace.layout import Layout
from app.resources import read_resource

log = logging.getLogger(__name__)

T = TypeVar("T")
WAIT_BEFORE_COMPACTION = 60.0  # seconds, with `flush_wait`
FIRST_PAUSE = timedelta(minutes=1)
LONGEST_PAUSE = timedelta(hours=24)
SMALLEST_SHARE = 0.1  # of what a window should hold; below it an overflow is an error
KIND = "flush"


class SessionAccess(Protocol):
    """A session that several users share: `work` runs in a thread, one at a time."""

    async def do(self, work: Callable[[Session], T]) -> T: ...

    async def write(self, work: Callable[[Session], T]) -> T: ...


class MemoryFlushManager:
    """The flush of one workspace. Async; disk work runs in threads.

    `open_session` gives access to a session by id; `curator` and `config` are asked anew for each
    flush, so that a changed setting holds at once. `index` brings one workspace path up to date;
    `after` is called when bullets were written (it asks for maintenance). `clock` gives local time
    with its offset.
    """

    def __init__(
        self,
        layout: Layout,
        *,
        bus: Bus,
        jobs: JobQueue,
        gate: Gate,
        open_session: Callable[[str], Awaitable[SessionAccess]],
        curator: Callable[[], FlushCurator],
        config: Callable[[], MemoryConfig],
        enabled: Callable[[], bool] = lambda: True,
        index: Callable[[str], Awaitable[object]] | None = None,
        after: Callable[[], Awaitable[object]] | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now().astimezone(),
    ) -> None:
        self._layout = layout
        self._bus = bus
        self._jobs = jobs
        self._gate = gate
        self._open = open_session
        self._curator = curator
        self._config = config
        self._enabled = enabled
        self._index = index
        self._after = after
        self._clock = clock
        self._locks: dict[str, asyncio.Lock] = {}
        self._pauses: dict[str, tuple[int, datetime]] = {}
        jobs.register(KIND, self.run)

    # ------------------------------------------------------------------ the sites

    async def after_call(self, session_id: str, upto: str = "") -> JobInfo | None:
        """Ask for the flush at the end of a successful call: gated, and it pauses after failures.

        `upto` is the last entry of the call ("" takes all there is when the job runs).
        """
        if not self._enabled():
            return None
        paused = self._pauses.get(session_id)
        if paused is not None and self._clock() < paused[1]:
            return self._skip(session_id, "The last flush failed; the next try waits a while.")
        try:
            admitted = await asyncio.to_thread(self._gate.admits, self._config().flush_trigger)
        except UserError as error:
            return self._skip(session_id, str(error))
        if not admitted:
            return self._skip(session_id, "The flush trigger does not allow one now.")
        job = self.request(session_id, "end of call", upto)
        if job is None and self._config().flush_trigger.mode == "throttled":
            await asyncio.to_thread(self._gate.release, "flush")
        return job

    async def before_compaction(
        self, session_id: str, upto: str = "", *, wait: bool = False
    ) -> JobInfo | None:
        """Ask for the flush of what a compaction is about to cover; never gated.

        The session's log keeps every entry, so the job sees the whole range also afterwards.
        `wait` (the setting `flush_wait`) waits for it, but not longer than a minute.
        """
        job = self.request(session_id, "before compaction", upto)
        if job is not None and wait:
            try:
                async with asyncio.timeout(WAIT_BEFORE_COMPACTION):
                    await self._jobs.ended(job.id)
            except TimeoutError:
                log.warning("the flush before a compaction took too long; it goes on by itself")
        return job

    def request(self, session_id: str, trigger: str, upto: str = "") -> JobInfo | None:
        """Queue a flush whatever the gate says; None when memory is off or the queue is full.

        One that waits already takes in all there is when it runs: it is returned instead.
        """
        if not self._enabled():
            return None
        if not upto and (waiting := self._jobs.find(KIND, session_id)) is not None:
            return waiting
        payload = {"session": session_id, "to": upto}
        return self._jobs.enqueue(KIND, trigger, self.run, session_id=session_id, payload=payload)

    def _skip(self, session_id: str, reason: str) -> None:
        self._bus.publish(Activity("gate", "skipped", session_id, reason=reason))

    # ------------------------------------------------------------------ the job

    async def run(self, job: JobContext) -> str:
        """The runner of flush jobs. Raises `Skipped` when there is nothing to do."""
        if not self._enabled():
            raise Skipped("Memory is switched off.")
        done = await self.flush(job.session_id, job=job, upto=str(job.payload.get("to", "")))
        job.target = done.path
        if not done.batches:
            raise Skipped("Nothing was said since the last flush.")
        return done.said

    async def flush(
        self, session_id: str, *, job: JobContext | None = None, upto: str = ""
    ) -> Flushed:
        """Flush what no flush has seen, at most up to entry `upto`, now. Raises `UserError`s.

        Two flushes of one session run one after the other.
        """
        async with self._locks.setdefault(session_id, asyncio.Lock()):
            run = job.id if job is not None else f"r-{self._clock():%Y%m%d%H%M%S%f}"
            self._say("started", session_id, run)
            try:
                done = await self._flush(session_id, run, job, upto)
            except UserError as error:
                self._paused(session_id)
                self._say("failed", session_id, run, str(error), error.remedy)
                raise
            except asyncio.CancelledError:
                self._say("failed", session_id, run, "It was cut off; nothing is lost.")
                raise
            except Exception as error:
                self._paused(session_id)
                self._say("failed", session_id, run, f"Something went wrong inside: {error}")
                raise
            self._pauses.pop(session_id, None)
            detail = {
                "path": done.path, "bullets": done.bullets, "masked": list(done.masked),
                "left_out": done.left_out,
            }  # fmt: skip
            self._say("finished", session_id, run, left_out(done.left_out), detail=detail)
        if done.path and self._after is not None:
            await self._after()
        return done

    async def _flush(
        self, session_id: str, run: str, job: JobContext | None, upto: str, share: float = 1.0
    ) -> Flushed:
        """Flush in batches of `share` of what the curator takes at most."""
        access = await self._open(session_id)
        found = _until(await self._fresh(access, session_id, run), upto)
        if found is None:
            return Flushed(session_id)
        curator = self._curator()
        budget = int(await curator.budget() * share)
        pieces = await asyncio.to_thread(
            lambda: list(batches(found.messages, budget, curator.size))
        )
        done = Flushed(session_id, batches=len(pieces))
        for number, batch in enumerate(pieces, 1):
            if len(pieces) > 1 and job is not None:
                job.progress(number - 1, len(pieces), "one batch after the other")
            references = await asyncio.to_thread(self._references)
            prompt = self._config().flush_prompt or read_resource("prompts/flush.md")
            try:
                judged = await curator.flush(FlushTask(run, prompt, references, batch))
            except ContextOverflow:
                if share < SMALLEST_SHARE:
                    raise
                # What was flushed is noted in the log already: the rest again, in smaller batches.
                rest = await self._flush(session_id, run, job, upto, share / 2)
                return done.joined(rest)
            judged, dropped = self._allowed(judged)
            first = found.first if number == 1 else batch.first
            last = found.last if number == len(pieces) else batch.last
            section = await self._write(session_id, run, judged, batch, first, last)
            done = structs.replace(done, left_out=done.left_out + dropped)
            if last:
                count = len(bullets(judged.text)) if section is not None else 0
                note = note_of(first, last, section, run, self._layout, count, dropped)
                await access.write(note)
            if section is not None:
                done = done.added(self._path(), judged)
        return done

    def _allowed(self, judged: Judged) -> tuple[Judged, int]:
        """The answer without lines about topics never to be remembered, and how many those were."""
        text, dropped = Topics(self._config().never_remember).without(judged.text)
        if not dropped:
            return judged, 0
        return structs.replace(judged, text=text, nothing=judged.nothing or not text), dropped

    async def _fresh(self, access: SessionAccess, session_id: str, run: str) -> Unflushed | None:
        """What no flush has seen. A section that was written just before the program went away,
        and never noted in the session, is noted now instead of being written twice."""
        found = await access.do(Session.unflushed)
        if found is None:
            return None
        section = await asyncio.to_thread(self._unnoted, session_id, found.first)
        if section is None or not await access.do(lambda s: s.knows(section.last_entry)):
            return found
        count = len(bullets("\n".join(line.text for line in section.lines)))
        first, last = section.first_entry, section.last_entry
        await access.write(note_of(first, last, section, section.run or run, self._layout, count))
        return await access.do(Session.unflushed)

    def _unnoted(self, session_id: str, first: str) -> DailySection | None:
        today = self._clock().date()
        for day in (today, today - timedelta(days=1)):
            path = self._layout.daily(day)
            if not path.is_file():
                continue
            for section in read_day(self._layout, self._layout.relative(path)).sections:
                ours = section.session_id == session_id and section.kind == "flush"
                if ours and section.first_entry == first and section.last_entry:
                    return section
        return None

    async def _write(
        self, session_id: str, run: str, judged: Judged, batch: Batch, first: str, last: str
    ) -> DailySection | None:
        """Append what was found to today's log and bring the index up to date."""
        if judged.problem and judged.problem != "empty":
            raise ModelError(judged.detail, "It is tried again later; another model may do better.")
        if judged.problem == "empty" and "thinking" in judged.detail:
            raise ModelError(judged.detail, "Use a model or a setting that thinks less.")
        if not judged.usable:
            return None
        section = await asyncio.to_thread(
            append_section,
            self._layout,
            kind="flush",
            text=judged.text,
            now=self._clock(),
            run=run,
            session=session_id,
            first=first,
            last=last,  # "" for a piece of a message: it goes on in the next section
            origin=origin_of(judged.text, batch.messages),
        )
        path = self._path()
        self._bus.changed("daily", ids=(path,))
        if self._index is not None:
            try:
                await self._index(path)
            except UserError as error:
                log.warning("today's log is written but not indexed yet: %s", error)
        return section

    def _path(self) -> str:
        return self._layout.relative(self._layout.daily(self._clock().date()))

    def _references(self) -> References:
        """MEMORY.md and today's log as they are now; an unreadable one is not shown."""
        today = self._clock().date()
        daily = self._layout.daily(today)
        return References(
            curated=_shown(self._layout, "MEMORY.md"),
            log=_shown(self._layout, self._layout.relative(daily)),
            log_path=self._layout.relative(daily),
            today=today,
            never=self._config().never_remember,
        )

    # ------------------------------------------------------------------ saying

    def _paused(self, session_id: str) -> None:
        """After a failure the end-of-call flush waits, twice as long each time (B11)."""
        times = self._pauses.get(session_id, (0, self._clock()))[0]
        pause = min(FIRST_PAUSE * 2 ** min(times, 20), LONGEST_PAUSE)
        self._pauses[session_id] = (times + 1, self._clock() + pause)

    def _say(
        self,
        state: Any,
        session_id: str,
        run: str,
        reason: str = "",
        remedy: str = "",
        detail: dict[str, Any] | None = None,
    ) -> None:
        said = Activity("flush", state, session_id, run, reason, remedy, detail=detail or {})
        self._bus.publish(said)


def _until(found: Unflushed | None, upto: str) -> Unflushed | None:
    """The range up to the entry captured when the job was queued, where that is still in it."""
    if found is None:
        return None
    messages = remembered(found.messages)
    for at, message in enumerate(messages):
        if upto and upto in (message.id, last_entry(message)) and at + 1 < len(messages):
            return Unflushed(messages[: at + 1], found.first, upto)
    return structs.replace(found, messages=messages) if messages else None


def _shown(layout: Layout, path: str) -> str:
    try:
        found = read_text(layout.root / path)
    except Unreadable:
        return ""
    return source_text(found.text) if found is not None else ""
