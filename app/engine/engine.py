"""`Engine`: one open workspace, as seen from outside.

`engine.ask` reads, `engine.do` changes, `engine.events` tells. Opening is quick: what takes time
(index, pending jobs, the model) goes on behind it. Closing is bounded; what is not done is taken up
at the next start. Specification, section 5 ("Order of work").
"""

from __future__ import annotations

import asyncio
import logging
import tomllib
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path

from app.engine.agent.filters import RequestFilter
from app.engine.agent.tools import Tool
from app.engine.commands import Commands
from app.engine.config import EngineConfig
from app.engine.errors import ConfigError, StorageError, UserError, WorkspaceUnusable
from app.engine.events import Bus
from app.engine.llm.roles import Endpoints
from app.engine.questions import Questions
from app.engine.rooms import Rooms
from app.engine.search.scanner import Watcher
from app.engine.workspace.files import write_atomic
from app.engine.workspace.layout import Layout, ensure

log = logging.getLogger(__name__)

AGENTS_MD = """# Who you are

You are a helpful agent with a memory. Answer in the language you were asked in.
"""


def _now() -> datetime:
    return datetime.now().astimezone()


class Engine:
    """One workspace. Make one with `await Engine.open(...)`; end it with `await close()`."""

    def __init__(self, rooms: Rooms, problem: str = "") -> None:
        self._rooms = rooms
        self._watcher: Watcher | None = None
        self._background: asyncio.Task[None] | None = None
        self._indexed = asyncio.Event()
        self.problem = problem
        self.events: Bus = rooms.bus
        self.ask = Questions(rooms)
        self.do = Commands(rooms)

    @property
    def endpoints(self) -> Endpoints:
        """The models this engine works with."""
        return self._rooms.endpoints

    @property
    def folder(self) -> Path:
        """The workspace's folder."""
        return self._rooms.layout.root

    @property
    def read_only(self) -> bool:
        """Whether nothing of the workspace may be changed (`problem` says why)."""
        return self._rooms.read_only

    # ------------------------------------------------------------------ life

    @staticmethod
    async def make(folder: Path, *, here: bool = False) -> list[str]:
        """Make a workspace; the paths made. Refuses a folder with files unless `here`."""

        def work() -> list[str]:
            layout = Layout.at(folder)
            filled = layout.root.is_dir() and any(layout.root.iterdir())
            if filled and not here and not layout.dot.is_dir():
                raise StorageError(
                    f"{folder} holds files and is no workspace.", "Add --here to make it one."
                )
            opened = ensure(layout)
            if opened.read_only:
                raise WorkspaceUnusable(opened.problem)
            made = [layout.relative(layout.dot), layout.relative(layout.memory_dir)]
            if not layout.agents_md.exists():
                write_atomic(layout.agents_md, AGENTS_MD.encode())
                made.append("AGENTS.md")
            return made

        return await asyncio.to_thread(work)

    @classmethod
    async def open(
        cls,
        folder: Path,
        endpoints: Endpoints,
        *,
        config: EngineConfig | None = None,
        bus: Bus | None = None,
        clock: Callable[[], datetime] = _now,
        agent: str = "palimpsest",
        tools: Iterable[Tool] = (),
        request_filters: Iterable[RequestFilter] = (),
        watch: bool = True,
    ) -> Engine:
        """Open a workspace. `config` gives the defaults that the workspace's own file overrides.

        `request_filters` take and give back the messages of each request of a conversation, just
        before it is sent.

        Raises `UserError` when the folder cannot be used. A workspace of a newer format, or on a
        disk that cannot be written, opens read-only (`problem` says so).
        """
        layout = Layout.at(folder, agent)
        opened = await asyncio.to_thread(ensure, layout)
        stored, problem = await asyncio.to_thread(stored_config, layout, config or EngineConfig())
        rooms = Rooms(
            layout,
            stored,
            endpoints,
            bus or Bus(),
            clock,
            read_only=opened.read_only,
            tools=tools,
            request_filters=request_filters,
        )
        await asyncio.to_thread(rooms.read_disk)
        engine = cls(rooms, opened.problem or problem)
        await engine._start(watch)
        return engine

    async def _start(self, watch: bool) -> None:
        rooms = self._rooms
        if not rooms.read_only:
            await asyncio.to_thread(self._settle_disk)
        await rooms.index.open()
        if not rooms.read_only:
            rooms.queue.register("consolidate", rooms.run_consolidation)
            rooms.queue.register("reindex", rooms.upkeep.reindex)
            await rooms.queue.start()
            rooms.scheduler.start()
        self._background = asyncio.create_task(self._catch_up(watch))

    def _settle_disk(self) -> None:
        """What a crash or another program left: finish an apply, note an edit from outside."""
        try:
            self._rooms.review.resume_applying(when=self._rooms.clock())
            self._rooms.writer.notice_external(when=self._rooms.clock())
        except (UserError, OSError) as error:
            self._rooms.problems.append(str(error))

    async def _catch_up(self, watch: bool) -> None:
        """Behind the open window: bring the index up to date, then follow the disk."""
        rooms = self._rooms
        # What changes during the pass may come too late for it: the watch counts from before.
        before = await asyncio.to_thread(rooms.index.walk) if watch else None
        try:
            await rooms.index.index_all_from_workspace(lambda _d, _t: rooms.bus.changed("index"))
        except (UserError, OSError) as error:
            rooms.problems.append(str(error))
        finally:
            self._indexed.set()
        rooms.bus.changed("index")
        rooms.tokenizer.start()
        if watch:
            self._watcher = Watcher(
                rooms.layout.root, self._on_disk_changed, walk=lambda _: rooms.index.walk()
            )
            await self._watcher.start(before)

    async def _on_disk_changed(self, paths: frozenset[str]) -> None:
        rooms = self._rooms
        changed: list[str] = []
        for path in sorted(paths):
            # Our own writes were indexed when they were made; without an index nobody can tell.
            if await rooms.index.update(path) or rooms.index.state.state == "unavailable":
                changed.append(path)
        if not changed:
            return
        if "MEMORY.md" in changed and not rooms.read_only:
            await asyncio.to_thread(rooms.writer.notice_external, when=rooms.clock())
            rooms.bus.changed("memory", "versions", "proposals", ids=("MEMORY.md",))
        if any(path.startswith("memory/") for path in changed):
            rooms.bus.changed("daily", ids=tuple(changed))
        sessions = [p for p in changed if p.startswith("agents/")]
        if sessions:
            ids = tuple(Path(p).name.removesuffix(".log.jsonl") for p in sessions)
            rooms.bus.changed("sessions", "transcript", ids=ids)
        rooms.bus.changed("index")

    async def index_ready(self) -> None:
        """Wait until the first pass over the workspace is done."""
        await self._indexed.wait()

    async def drain(self, timeout: float = 600.0) -> bool:  # noqa: ASYNC109 - the queue's own
        """Wait until no turn and no job is left; whether that came in time."""
        await self._rooms.settled()
        return await self._rooms.queue.drain(timeout)

    async def close(self, timeout: float | None = None) -> None:  # noqa: ASYNC109 - likewise
        """Stop turns, end jobs within `timeout` seconds (the setting's), close everything."""
        rooms = self._rooms
        wait = rooms.config.maintenance.drain_timeout if timeout is None else timeout
        await rooms.stop_turns()
        if self._background is not None:
            self._background.cancel()
            await asyncio.gather(self._background, return_exceptions=True)
        if self._watcher is not None:
            await self._watcher.stop()
        if not rooms.read_only:
            await rooms.scheduler.stop()
            await rooms.settled()
            await rooms.queue.close(wait)
        await rooms.close_sessions()
        await rooms.end_tasks()
        rooms.ticks.shutdown(wait=False)
        await rooms.index.close()
        await rooms.retired.close()
        await rooms.endpoints.close()


def stored_config(layout: Layout, defaults: EngineConfig) -> tuple[EngineConfig, str]:
    """The workspace's own policy over `defaults`, and a sentence when its file is unusable."""
    try:
        data = tomllib.loads(layout.config_file.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        return defaults, ""
    except (OSError, ValueError) as error:
        return defaults, f"This workspace's config.toml is not understood and not used: {error}."
    try:
        return defaults.overlaid(data), ""
    except ConfigError as error:
        return defaults, f"This workspace's config.toml is not used: {error}"
