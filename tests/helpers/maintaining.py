"""A workspace with a maintenance scheduler, its old days and its old sessions."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from app.engine.config import EngineConfig, MemoryConfig
from app.engine.jobs import JobContext, JobQueue
from app.engine.memory.gate import Gate
from app.engine.memory.maintenance import MemoryMaintenanceScheduler, Step
from app.engine.records import JobInfo, Message
from app.engine.search.index import MemoryIndex
from app.engine.session.recorder import Kit
from app.engine.session.store import SessionStore
from app.engine.workspace.daily_log import append_section
from app.engine.workspace.sections import SectionStates
from tests.helpers.houses import House, lived_in
from tests.helpers.waiting import until

ZONE = timezone(timedelta(hours=2))
NOW = datetime(2026, 11, 30, 9, 0, tzinfo=ZONE)


class Sleeper:
    """A clock's sleep that returns only when the test says that the time has passed."""

    def __init__(self) -> None:
        self.asked: list[float] = []
        self._pass = asyncio.Event()

    async def __call__(self, seconds: float) -> None:
        self.asked.append(seconds)
        await self._pass.wait()
        self._pass.clear()

    async def tick(self) -> None:
        """Let the time pass, until the sleeper has done its work and sleeps again."""
        await until(lambda: self.asked)
        before = len(self.asked)
        self._pass.set()
        await until(lambda: len(self.asked) > before)


class MaintenanceHouse(House):
    """A scheduler with its queue; the steps of others are recorded."""

    def __init__(
        self, root: Path, *, model: bool = True, queue_limit: int = 32, **memory: Any
    ) -> None:
        super().__init__(root, NOW)
        self.config = EngineConfig(memory=MemoryConfig(**memory))
        self.states = SectionStates(self.layout, when=NOW)
        self.ran: list[str] = []
        self.fail: dict[str, Exception] = {}
        self.opened: set[str] = set()
        self.index: MemoryIndex | None = None
        self.model = model
        self.queue_limit = queue_limit
        self.steps: dict[str, Step] = {}  # what a test puts in a step's place

    def allow(self, on: bool) -> None:
        """Whether a person has seen the list of what is due."""
        allowed = self.config.maintenance.replace(retention_allowed=on)
        self.config = self.config.replace(maintenance=allowed)

    async def open(self) -> None:
        self.sleep = Sleeper()
        self.jobs = JobQueue(self.bus, look_every=0, limit=self.queue_limit)

        def step(name: str) -> Step:
            async def run(job: JobContext) -> str:
                self.ran.append(name)
                if name in self.steps:
                    return await self.steps[name](job)
                if name in self.fail:
                    raise self.fail[name]
                return f"{name} done."

            return run

        async def index(path: str) -> None:
            if self.index is not None:
                await self.index.update(path)

        self.scheduler = MemoryMaintenanceScheduler(
            self.layout,
            bus=self.bus,
            jobs=self.jobs,
            gate=Gate(self.layout, clock=lambda: self.now),
            states=self.states,
            config=lambda: self.config,
            consolidate=step("consolidation") if self.model else None,
            reindex=step("reindex"),
            index=index,
            sessions_changed=lambda: SessionStore(self.layout).list(),
            opened=lambda: self.opened,
            clock=lambda: self.now,
            sleep=self.sleep,
        )
        await self.jobs.start()

    async def round(self) -> JobInfo:
        """One round, asked for by hand; the job as it ended."""
        job = self.scheduler.enqueue()
        assert job is not None
        ended = await self.jobs.ended(job.id)
        assert ended is not None
        return ended

    def day(self, day: date, text: str = "- a fact") -> Path:
        when = datetime(day.year, day.month, day.day, 12, tzinfo=ZONE)
        append_section(self.layout, kind="flush", text=text, now=when)
        return self.layout.daily(day)

    def session(self, id: str, last: datetime, mtime: datetime | None = None, *texts: str) -> Path:
        """A closed session whose last record is from `last`; the file's time may differ."""
        store = SessionStore(self.layout, kit=Kit(now=lambda: last))
        session = store.create(id)
        for n, text in enumerate(texts or ("hello",)):
            session.add(Message(f"u-{id}-{n}", "user", text))
            session.add(Message(f"a-{id}-{n}", "assistant", "hi"))
        session.close()
        path = self.layout.session_log(id)
        for file in (path, self.layout.session_view(id)):
            if mtime is not None and file.exists():
                os.utime(file, (mtime.timestamp(), mtime.timestamp()))
        return path

    async def close(self) -> None:
        await self.scheduler.stop()
        await self.jobs.close(timeout=0.05)


def drive(
    root: Path, scenario: Callable[[MaintenanceHouse], Awaitable[None]], **options: Any
) -> MaintenanceHouse:
    """The house of these options, after the scenario was played in it."""
    return lived_in(MaintenanceHouse(root, **options), scenario)


def ago(days: float) -> datetime:
    return NOW - timedelta(days=days)


def tree(root: Path) -> dict[str, bytes]:
    """Every file below the folder: its path in it, and its bytes."""
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in root.rglob("*") if p.is_file()}
