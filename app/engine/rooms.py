"""Every service of one workspace, built once and joined: what the facade's two halves hand over to.

Nothing here is clever: it knows who needs whom. Services that read the disk while they are made are
made by `open`, in a thread.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from uuid import uuid4

import msgspec

from app.engine.agent.agent import Agent
from app.engine.agent.filters import RequestFilter
from app.engine.agent.live import LiveSession
from app.engine.agent.parts import AgentParts
from app.engine.agent.tools import Tool, Toolbox
from app.engine.config import EngineConfig
from app.engine.context.tokenizer import Tiktoken
from app.engine.context.tokens import Counter
from app.engine.errors import UserError
from app.engine.events import Bus
from app.engine.jobs import JobContext, JobQueue
from app.engine.llm.endpoint import Endpoint
from app.engine.llm.retired import Retired
from app.engine.llm.roles import Endpoints
from app.engine.memory.apply import Review
from app.engine.memory.base import BaseMemory
from app.engine.memory.consolidation import MemoryConsolidator
from app.engine.memory.curators import extractive_consolidation
from app.engine.memory.flush import MemoryFlushManager
from app.engine.memory.gate import Gate
from app.engine.memory.journal import DiskJournal, RunLog
from app.engine.memory.maintenance import MemoryMaintenanceScheduler
from app.engine.memory.proposals import ProposalStore, RefusedClaims
from app.engine.memory.provenance import Entry
from app.engine.memory.saving import MemorySaver, Saved, Wish
from app.engine.own_tools import own_tools
from app.engine.records import IndexState, Query, SearchResult, SessionInfo, TranscriptItem
from app.engine.search.index import MemoryIndex
from app.engine.session.store import SessionStore
from app.engine.upkeep import Upkeep
from app.engine.workspace.evictions import Evictions
from app.engine.workspace.history import History
from app.engine.workspace.layout import Layout, safe_name
from app.engine.workspace.memory_file import MemoryWriter
from app.engine.workspace.sections import SectionStates
from app.engine.workspace.trash import Trash

log = logging.getLogger(__name__)

Clock = Callable[[], datetime]
INDEX_WAIT = 10.0  # seconds
STRATEGIES = ("basic", "compact", "background")
MEMORY_TYPE = "memory_type"  # in the stored configuration of a session with its own strategy
TURN_WAIT = 3.0


class Rooms:
    """The services of one open workspace. `clock` gives aware local time."""

    def __init__(
        self,
        layout: Layout,
        config: EngineConfig,
        endpoints: Endpoints,
        bus: Bus,
        clock: Clock,
        *,
        read_only: bool = False,
        tools: Iterable[Tool] = (),
        request_filters: Iterable[RequestFilter] = (),
    ) -> None:
        self.layout = layout
        self.config = config
        self.endpoints = endpoints
        self.bus = bus
        self.clock = clock
        self.read_only = read_only
        self.loop = asyncio.get_running_loop()
        self.live: dict[str, LiveSession] = {}
        self.agents: dict[str, Agent] = {}
        self.problems: list[str] = []
        self._index_seen = "ready"
        self._tasks: set[asyncio.Task[object]] = set()
        self.retired = Retired()

        self.history = History(layout)
        # A thread of its own: its repository stays warm, and no long read stands before a tick.
        self.ticks = ThreadPoolExecutor(1, thread_name_prefix="history")
        self.writer = MemoryWriter(layout, self.history)
        self.evictions = Evictions(layout, config.eviction.eviction_path)
        self.trash = Trash(layout)
        self.store = SessionStore(layout, fsync=config.agent.fsync, read_only=read_only)
        self.index = MemoryIndex(layout.root, layout.index(config.index_path))
        self.index.evicted_in(self.evictions.folder)
        self.runs = RunLog(layout)
        self.proposals = ProposalStore(layout)
        self.refused = RefusedClaims(layout)
        self.tokenizer = Tiktoken()
        self.counter = Counter(self.tokenizer)
        endpoints.gauge.attach(
            lambda one: self.counter.request(one.system, one.messages, one.tools),
            lambda: self.counter.tokenizer,
        )
        self.queue = JobQueue(bus, DiskJournal(layout), limit=config.maintenance.queue_limit)
        self.gate = Gate(layout, clock=clock)
        self._more_tools = tuple(tools)
        self._request_filters = tuple(request_filters)
        self.upkeep = Upkeep(
            lambda: self.config, endpoints, self.counter, self.runs, self.index, bus, clock
        )
        self.parts = self._parts()
        self.flusher = self._flusher()

    def read_disk(self) -> None:
        """The services that look at the disk while they are made. Blocks; called once, by open."""
        windows, guard = self.layout.windows, self.layout.lock_file("windows")
        self.endpoints.gauge.keep_in(windows, guard, read_only=self.read_only)
        self.states = SectionStates(self.layout, when=self.clock())
        self.review = Review(
            self.layout,
            self.writer,
            self.states,
            self.proposals,
            self.refused,
            reindex=self.reindex_now,
        )
        self.saver = MemorySaver(self.layout, self.writer, self.states, self.proposals)
        self.consolidator = MemoryConsolidator(
            layout=self.layout,
            writer=self.writer,
            states=self.states,
            review=self.review,
            config=self.config.memory,
            extract=extractive_consolidation,
            record=self.runs.record_call,
            entries=self.entries_between,
            count=self.upkeep.count,
            bus=self.bus,
        )

        self.scheduler = MemoryMaintenanceScheduler(
            self.layout,
            bus=self.bus,
            jobs=self.queue,
            gate=self.gate,
            states=self.states,
            config=lambda: self.config,
            consolidate=self.run_consolidation,
            reindex=self.upkeep.reindex,
            index=self.index.update,
            sessions_changed=self.store.list,
            opened=lambda: frozenset(self.live),
            clock=self.clock,
        )

    def use(self, config: EngineConfig) -> None:
        """Work with another configuration from now on; running work keeps its own."""
        self.config = config
        self.parts.config = config
        self.parts.toolbox = Toolbox([*own_tools(self), *self._more_tools])
        self.evictions = Evictions(self.layout, config.eviction.eviction_path)
        self.parts.evictions = self.evictions
        self.index.evicted_in(self.evictions.folder)

    # ------------------------------------------------------------------ building

    def _parts(self) -> AgentParts:
        parts = AgentParts(
            layout=self.layout,
            config=self.config,
            bus=self.bus,
            counter=self.counter,
            endpoints=self.endpoints,
            writer=self.writer,
            evictions=self.evictions,
            toolbox=Toolbox(),
            search=self.search,
            flush=self._flush_at_site,
            flush_now=self._flush_and_wait,
            clock=self.clock,
            new_id=lambda prefix: f"{prefix}-{uuid4().hex[:12]}",
            request_filters=self._request_filters,
        )
        parts.toolbox = Toolbox([*own_tools(self), *self._more_tools])
        return parts

    def _flusher(self) -> MemoryFlushManager:
        return MemoryFlushManager(
            self.layout,
            bus=self.bus,
            jobs=self.queue,
            gate=self.gate,
            open_session=self.session,
            curator=self.upkeep.curator,
            config=lambda: self.config.memory,
            enabled=self.remembers,
            index=self.index.update,
            after=self._after_flush,
            clock=self.clock,
        )

    # ------------------------------------------------------------------ memory's switches

    def remembers(self) -> bool:
        """Whether facts are extracted at all."""
        switches = self.config.agent
        return switches.memory_hooks and switches.strategy == "background" and not self.read_only

    async def _after_flush(self) -> None:
        await self.scheduler.request_consolidation()

    async def run_consolidation(self, job: JobContext) -> str:
        """The runner of consolidation jobs."""
        return await self.upkeep.consolidate(self.consolidator, job)

    # ------------------------------------------------------------------ flush sites

    def _flush_at_site(self, live: LiveSession, site: str) -> object:
        return self.flusher.request(live.id, site)

    async def _flush_and_wait(self, live: LiveSession, site: str) -> None:
        await self.flusher.before_compaction(live.id, wait=True)

    async def save(
        self, content: str, *, by_person: bool, session_id: str = "", entry_id: str = ""
    ) -> Saved:
        """Keep a fact, index what was written, and say so."""
        wish = Wish(content, by_person, self.clock(), session_id, entry_id)
        saved = await asyncio.to_thread(self.saver.save, wish, self.config.memory)
        await self.index.update(saved.path)
        await self.index.update("MEMORY.md")
        self.bus.changed("daily", "memory", "versions", "proposals", ids=(saved.path,))
        return saved

    # ------------------------------------------------------------------ sessions

    def begin(self, strategy: str, memory: BaseMemory | None) -> LiveSession:
        """A new session, with a memory of its own when one is given. Blocks.

        A strategy that was chosen for it is stored with it, and holds when it is opened again.
        """
        chosen = {MEMORY_TYPE: memory.strategy if memory is not None else strategy}
        session_id = f"s-{uuid4().hex[:10]}"
        if memory is None:
            session = self.store.create(
                session_id,
                strategy=strategy or self.config.agent.strategy,
                config=self.config.compaction.plain() | (chosen if strategy else {}),
                model=self.endpoints.roles.chat,
            )
        elif memory.keeps_log:
            session = memory.session
        elif memory.messages:
            state = memory.get_session_state()
            state = msgspec.structs.replace(state, config=state.config | chosen)
            session = self.store.begin(session_id, state)
        else:
            session = self.store.create(
                session_id,
                system_prompt=memory.system_prompt,
                strategy=memory.strategy,
                config=memory.stored_config() | chosen,
                model=self.endpoints.roles.chat,
            )
        live = LiveSession(session, self.bus, strategy=strategy, memory=memory)
        self.live[live.id] = live
        return live

    async def session(self, session_id: str) -> LiveSession:
        """The open session of that id, opened now if it was not. Raises `SessionNotFound`."""
        if (found := self.live.get(session_id)) is not None:
            return found
        opened = await asyncio.to_thread(self.store.open, session_id)
        chosen = opened.fold.config.get(MEMORY_TYPE)
        strategy = chosen if chosen in STRATEGIES else ""
        return self.live.setdefault(session_id, LiveSession(opened, self.bus, strategy=strategy))

    def agent(self, live: LiveSession) -> Agent:
        """The agent of a session."""
        if live.id not in self.agents:
            self.agents[live.id] = Agent(self.parts, live, self.after_turn)
        return self.agents[live.id]

    def after_turn(self, live: LiveSession) -> None:
        """A reply is complete: what follows is a job, and the search finds it at once."""
        self.start(self._follow(live))

    async def _follow(self, live: LiveSession) -> None:
        await self.index.update(self.layout.session_log(live.id))
        self.bus.changed("index", "context", ids=(live.id,))
        if live.strategy in ("", "background"):
            await self.flusher.after_call(live.id)

    def _store_of(self, agent: str) -> SessionStore:
        """Where the sessions of an agent are: ours, of "" and our name, or another's to read."""
        if not agent or safe_name(agent) == self.layout.agent:
            return self.store
        return SessionStore(Layout.at(self.layout.root, agent), read_only=True)

    async def list_sessions(self, agent: str) -> list[SessionInfo]:
        return await asyncio.to_thread(self._store_of(agent).list)

    async def newest_items(self, session_id: str, limit: int, agent: str) -> list[TranscriptItem]:
        store = self._store_of(agent)
        return await asyncio.to_thread(lambda: store.pages.page(store.log(session_id), limit=limit))

    def entries_between(self, session_id: str, first: str, last: str) -> Sequence[Entry]:
        """Messages of a range of a session's log, for matching. Blocks; [] when it is gone."""
        try:
            found = self.store.pages.page(self.store.log(session_id), limit=100_000)
        except (UserError, OSError):
            return []
        ids = [item.id for item in found]
        begin = ids.index(first) if first in ids else 0
        end = ids.index(last) + 1 if last in ids else len(ids)
        said = [item for item in found[begin:end] if item.kind in ("user", "assistant", "tool")]
        return [Entry(item.id, item.kind, item.result or item.text) for item in said]

    # ------------------------------------------------------------------ search, tasks

    async def search(self, query: Query) -> SearchResult:
        return await self.index.search(query)

    async def index_state(self) -> IndexState:
        """The index compared with the disk; who else shows its state is told when it has caught up,
        and when it cannot be used."""
        before, now = self._index_seen, await self.index.check()
        self._index_seen = now.state
        if now.state not in (before, "stale"):
            self.bus.changed("index")
        return now

    def start(self, work: Coroutine[object, object, object]) -> None:
        """Run a coroutine that belongs to the engine; its failure is logged, not lost."""
        task = self.loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[object]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("background work failed", exc_info=error)

    def retire(self, endpoints: Sequence[Endpoint]) -> None:
        """Close endpoints that nobody asks any more, once what runs now has ended."""
        if endpoints:
            turns = [one.turn for one in self.live.values() if one.turn and not one.turn.done()]
            jobs = [self.queue.ended(job.id) for job in self.queue.running()]
            self.retired.close_after([*turns, *jobs], endpoints)

    async def settled(self) -> None:
        """Wait for what follows finished turns (it queues jobs)."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def stop_turns(self) -> None:
        """End every running reply; what was said stays, open calls are closed."""
        turns = [live.turn for live in self.live.values() if live.turn and not live.turn.done()]
        for turn in turns:
            turn.cancel()
        if turns:
            await asyncio.wait(turns, timeout=TURN_WAIT)

    async def close_sessions(self) -> None:
        """Let the writers' locks go."""
        for live in list(self.live.values()):
            await live.do(lambda session: session.close())
        self.live.clear()
        self.agents.clear()

    async def end_tasks(self) -> None:
        """Cancel what the engine started and wait for it."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def reindex_now(self, path: str) -> None:
        """Bring one path up to date, from a thread, and wait: new text is found before old goes."""
        done = asyncio.run_coroutine_threadsafe(self.index.update(path), self.loop)
        try:
            done.result(timeout=INDEX_WAIT)
        except TimeoutError:
            log.warning("the index was too busy to take %s at once", path)
