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

from msgspec import Struct, structs

from app.engine.config import MemoryConfig
from app.engine.errors import ModelError, Unreadable, UserError
from app.engine.events import Activity, Bus
from app.engine.jobs import JobContext, JobQueue, Skipped
from app.engine.memory.answers import Judged
from app.engine.memory.curators import FlushCurator, FlushTask
from app.engine.memory.flush_request import Batch, References, batches, last_entry, remembered
from app.engine.memory.gate import Gate
from app.engine.memory.likeness import contained, words
from app.engine.memory.outline import bullets
from app.engine.records import DailySection, JobInfo, Message
from app.engine.session.entries import Flush
from app.engine.session.session import Session
from app.engine.session.unflushed import Unflushed
from app.engine.workspace.daily_log import append_section, source_text
from app.engine.workspace.files import read_text
from app.engine.workspace.layout import Layout
from app.engine.workspace.secrets import mask
from app.resources import read_resource

log = logging.getLogger(__name__)

T = TypeVar("T")
WAIT_BEFORE_COMPACTION = 60.0  # seconds, with `flush_wait`
FIRST_PAUSE = timedelta(minutes=1)
LONGEST_PAUSE = timedelta(hours=24)
KIND = "flush"


class SessionAccess(Protocol):
    """A session that several users share: `work` runs in a thread, one at a time."""

    async def do(self, work: Callable[[Session], T]) -> T: ...

    async def write(self, work: Callable[[Session], T]) -> T: ...


class Flushed(Struct, frozen=True):
    """What a flush did. `path` is the daily log written, "" when there was nothing to keep."""

    session_id: str
    bullets: int = 0
    path: str = ""
    masked: tuple[str, ...] = ()
    batches: int = 0


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
        return self.request(session_id, "end of call", upto)

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

    def on_overflow(self, session_id: str, upto: str = "") -> JobInfo | None:
        """Ask for a flush because a request did not fit; never gated."""
        return self.request(session_id, "overflow", upto)

    def request(self, session_id: str, trigger: str, upto: str = "") -> JobInfo | None:
        """Queue a flush whatever the gate says; None when memory is off or the queue is full."""
        if not self._enabled():
            return None
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
        if not done.path:
            return "Nothing was worth keeping."
        return f"{done.bullets} {'line' if done.bullets == 1 else 'lines'} in {done.path}"

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
            except BaseException:
                self._say("failed", session_id, run, "It was cut off; nothing was lost.")
                raise
            self._pauses.pop(session_id, None)
            detail = {"path": done.path, "bullets": done.bullets, "masked": list(done.masked)}
            self._say("finished", session_id, run, detail=detail)
        if done.path and self._after is not None:
            await self._after()
        return done

    async def _flush(self, session_id: str, run: str, job: JobContext | None, upto: str) -> Flushed:
        access = await self._open(session_id)
        found = _until(await access.do(Session.unflushed), upto)
        if found is None:
            return Flushed(session_id)
        curator = self._curator()
        pieces = list(batches(found.messages, await curator.budget()))
        done = Flushed(session_id, batches=len(pieces))
        first = found.first
        for number, batch in enumerate(pieces, 1):
            if len(pieces) > 1 and job is not None:
                job.progress(number - 1, len(pieces), "one batch after the other")
            references = await asyncio.to_thread(self._references)
            prompt = self._config().flush_prompt or read_resource("prompts/flush.md")
            judged = await curator.flush(FlushTask(run, prompt, references, batch))
            last = found.last if number == len(pieces) else batch.last
            section = await self._write(session_id, run, judged, batch, first, last)
            if last:
                await access.write(_note(first, last, section, run, self._layout, judged))
                first = last
            if section is not None:
                done = _added(done, section, self._path(), judged)
        return done

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
            last=last or last_entry(batch.messages[-1]),
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


def origin_of(text: str, messages: tuple[Message, ...]) -> str:
    """Who said what these bullets say: user, model, tool, or mixed.

    Each bullet counts for the role of the message that holds most of its words; a person's message
    wins a tie with a model's, and a tool's wins over both only by holding more. Bullets that match
    nothing count as mixed.
    """
    roles = {"user": "user", "assistant": "model", "tool": "tool"}
    spoken = [(roles[m.role], words(m.content)) for m in messages if m.role in roles]
    found: set[str] = set()
    for bullet in bullets(text):
        told = words(bullet.text)
        best = max(
            spoken, key=lambda one: (contained(told, one[1]), one[0] == "user"), default=None
        )
        found.add(best[0] if best is not None and contained(told, best[1]) > 0 else "mixed")
    return found.pop() if len(found) == 1 else "mixed"


def _until(found: Unflushed | None, upto: str) -> Unflushed | None:
    """The range up to the entry captured when the job was queued, where that is still in it."""
    if found is None:
        return None
    messages = remembered(found.messages)
    for at, message in enumerate(messages):
        if upto and upto in (message.id, last_entry(message)) and at + 1 < len(messages):
            return Unflushed(messages[: at + 1], found.first, upto)
    return structs.replace(found, messages=messages) if messages else None


def _note(
    first: str, last: str, section: DailySection | None, run: str, layout: Layout, judged: Judged
) -> Callable[[Session], object]:
    count = len(bullets(judged.text)) if section is not None else 0
    path = layout.relative(layout.daily(section.when.date())) if section and section.when else ""
    reason = "" if section is not None else "Nothing was worth keeping."
    entry = Flush(from_=first, to=last, path=path, run=run, bullets=count, reason=reason)
    return lambda session: session.append(entry)


def _added(done: Flushed, section: DailySection, path: str, judged: Judged) -> Flushed:
    return structs.replace(
        done,
        bullets=done.bullets + len(bullets(judged.text)),
        path=path,
        masked=(*done.masked, *mask(judged.text).kinds),
    )


def _shown(layout: Layout, path: str) -> str:
    try:
        found = read_text(layout.root / path)
    except Unreadable:
        return ""
    return source_text(found.text) if found is not None else ""
