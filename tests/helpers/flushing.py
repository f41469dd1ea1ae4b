"""A workspace with everything a flush needs, and the talk that is flushed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from app.engine.config import MemoryConfig
from app.engine.jobs import JobQueue, MemoryJournal
from app.engine.llm.endpoint import Delta, Request
from app.engine.memory.curators import ExtractiveCurator, LlmCurator
from app.engine.memory.flush import MemoryFlushManager
from app.engine.memory.gate import Gate
from app.engine.records import DailySection, JobInfo, Message, Window
from app.engine.session.entries import Flush
from app.engine.session.session import Session
from app.engine.session.store import SessionStore
from app.engine.workspace.daily_log import read_day
from tests.helpers.houses import House, lived_in
from tests.helpers.models import Reply, ScriptedModel

ZONE = timezone(timedelta(hours=2))
START = datetime(2026, 6, 2, 3, 15, 9, tzinfo=ZONE)


class HeldModel(ScriptedModel):
    """Answers once `hold` is set, when there is one; counts how many ask at once."""

    def __init__(self, *replies: Reply, window: Window) -> None:
        super().__init__(*replies, window=window)
        self.hold: asyncio.Event | None = None
        self.active = self.most_active = 0

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        self.active += 1
        self.most_active = max(self.active, self.most_active)
        try:
            await asyncio.sleep(0)
            if self.hold is not None:
                await self.hold.wait()
            async for delta in super().stream(request):
                yield delta
        finally:
            self.active -= 1


class Access:
    """One session, its work in threads, as the agent's live session does it."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._lock = asyncio.Lock()

    async def do(self, work: Callable[[Session], Any]) -> Any:
        async with self._lock:
            return await asyncio.to_thread(work, self.session)

    write = do


class FlushHouse(House):
    """A flush manager with its queue; what it indexes and asks for afterwards is counted."""

    def __init__(
        self, root: Path, *answers: Reply, window: int = 32_000, enabled: bool = True,
        extractive: bool = False, journal: MemoryJournal | None = None, **memory: Any,
    ) -> None:  # fmt: skip
        super().__init__(root, START)
        self.model = HeldModel(*answers, window=Window(window))
        self.store = SessionStore(self.layout)
        self.live: dict[str, Access] = {}
        self.config = MemoryConfig(**memory)
        self.enabled = enabled
        self.extractive = extractive
        self.journal = journal or MemoryJournal()
        self.indexed: list[str] = []
        self.index_error: Exception | None = None
        self.asked = 0

    async def open(self) -> None:
        self.jobs = JobQueue(self.bus, self.journal, look_every=0)

        async def session(session_id: str) -> Access:
            if session_id not in self.live:
                self.live[session_id] = Access(self.store.open(session_id))
            return self.live[session_id]

        async def index(path: str) -> None:
            if self.index_error is not None:
                raise self.index_error
            self.indexed.append(path)

        async def after() -> None:
            self.asked += 1

        self.flush = MemoryFlushManager(
            self.layout,
            bus=self.bus,
            jobs=self.jobs,
            gate=Gate(self.layout, clock=lambda: self.now),
            open_session=session,
            curator=lambda: ExtractiveCurator() if self.extractive else LlmCurator(self.model),
            config=lambda: self.config,
            enabled=lambda: self.enabled,
            index=index,
            after=after,
            clock=lambda: self.now,
        )
        await self.jobs.start()

    def session(self, *messages: Message, id: str = "s-1") -> Session:
        session = self.store.create(id)
        for message in messages:
            session.add(message)
        self.live[id] = Access(session)
        return session

    async def run(self, session_id: str = "s-1") -> JobInfo:
        """Ask by hand and wait; the job as it ended."""
        job = self.flush.request(session_id, "asked for")
        assert job is not None
        ended = await self.jobs.ended(job.id)
        assert ended is not None
        return ended

    def today(self) -> Path:
        return self.layout.daily(self.now.date())

    def sections(self) -> tuple[DailySection, ...]:
        return read_day(self.layout, self.layout.relative(self.today())).sections

    def conversations(self) -> list[str]:
        """What was sent of the talk, one text for each request."""
        return [r.messages[0].content.split("## The conversation")[1] for r in self.model.requests]

    async def close(self) -> None:
        await self.jobs.close(timeout=0.05)
        for access in self.live.values():
            access.session.close()


def drive(
    root: Path, scenario: Callable[[FlushHouse], Awaitable[None]], *answers: Reply, **options: Any
) -> FlushHouse:
    """The house of these answers and options, after the scenario was played in it."""
    return lived_in(FlushHouse(root, *answers, **options), scenario)


def turn(n: int, said: str = "", answer: str = "") -> tuple[Message, Message]:
    return (
        Message(f"u-{n}", "user", said or f"Question {n}"),
        Message(f"a-{n}", "assistant", answer or f"Answer {n}"),
    )


def flushes(session: Session) -> list[Flush]:
    return [e for e in session.entries() if isinstance(e, Flush)]
