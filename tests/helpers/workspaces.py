"""A whole engine on a folder, talking to a fake server over loopback.

async with engine_on(tmp_path, say("Hello")) as desk:
    result = await desk.send("Hi")
    assert result.reply == "Hello"
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import wraps
from pathlib import Path
from typing import Any

from app.engine.agent.filters import RequestFilter
from app.engine.agent.tools import Tool
from app.engine.config import EngineConfig
from app.engine.engine import Engine
from app.engine.events import Event, TurnEvent
from app.engine.llm.configured import ConfiguredEndpoint
from app.engine.llm.endpoint import Endpoint, Request
from app.engine.llm.keys import Keys
from app.engine.llm.roles import Endpoints, EndpointSettings, RoleSettings
from app.engine.records import TurnResult
from tests.helpers.fake_server import FakeServer, Script


@dataclass
class EngineDesk:
    """An open engine, its server, and everything its bus said."""

    engine: Engine
    server: FakeServer
    folder: Path
    events: list[Event] = field(default_factory=list)
    session: str = ""

    async def send(self, text: str) -> TurnResult:
        """One turn in the desk's own session."""
        if not self.session:
            self.session = await self.engine.do.new_session()
        return await self.engine.do.send(self.session, text)

    def said(self, kind: str) -> list[str]:
        """Texts of the turn events of one kind."""
        return [e.text for e in self.events if isinstance(e, TurnEvent) and e.kind == kind]

    def log(self, session: str = "") -> str:
        """The session's log as text."""
        name = f"{session or self.session}.log.jsonl"
        return next(self.folder.glob(f"agents/*/sessions/{name}")).read_text(encoding="utf-8")

    def sent(self, number: int = -1) -> list[dict[str, Any]]:
        """The messages of one request the server saw."""
        return self.server.requests[number].body["messages"]


def to_the_end(test: Callable[[Path], Coroutine[Any, Any, None]]) -> Callable[[Path], None]:
    """An async test on a folder as a plain one, run on a loop of its own."""

    @wraps(test)
    def run(tmp_path: Path) -> None:
        asyncio.run(test(tmp_path))

    return run


@asynccontextmanager
async def engine_on(
    folder: Path,
    *scripts: Script,
    config: EngineConfig | None = None,
    tools: Iterable[Tool] = (),
    request_filters: Iterable[RequestFilter] = (),
    clock: Any = None,
    window: int = 32_000,
    trusted: bool = True,
    watch: bool = False,
    embedded: Endpoint | None = None,
    estimate: Callable[[Request], int] | None = None,
) -> AsyncIterator[EngineDesk]:
    """Open `folder` (made when missing) on a fake server; closed at the end of the block."""
    folder.mkdir(parents=True, exist_ok=True)
    async with FakeServer(*scripts) as server:
        settings = EndpointSettings(
            url=server.base_url, model="fake-model", window=window, trust_with_memory=trusted
        )
        endpoints = Endpoints(
            {"fake": settings},
            RoleSettings(chat="fake"),
            lambda _name, one: ConfiguredEndpoint(one, Keys({})),
            lambda: embedded or ConfiguredEndpoint(settings, Keys({})),
        )
        more = {} if clock is None else {"clock": clock}
        engine = await Engine.open(
            folder,
            endpoints,
            config=config,
            tools=tools,
            request_filters=request_filters,
            watch=watch,
            **more,
        )
        if estimate is not None:
            endpoints.gauge.count = estimate
        desk = EngineDesk(engine, server, folder)
        engine.events.subscribe(desk.events.append)
        try:
            yield desk
        finally:
            await engine.close()


def fixed(year: int, month: int, day: int, hour: int = 12) -> Any:
    """A clock that stands still, in the local zone."""
    moment = datetime(year, month, day, hour).astimezone()
    return lambda: moment


def without_memory(config: EngineConfig | None = None) -> EngineConfig:
    """A configuration in which nothing is extracted, so that each request is the turn's own."""
    config = config or EngineConfig()
    return replace(config, agent=config.agent.replace(memory_hooks=False))
