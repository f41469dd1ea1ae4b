"""`engine.ask`: what can be read.

Nothing here changes anything, everything can be cancelled, and nothing blocks the caller's loop:
disk, git and SQLite work runs in the engine's threads. Each method hands over to the room that
knows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC
from typing import Any, Literal

from app.engine.agent.assembly import surroundings, view, with_history
from app.engine.config import EngineConfig
from app.engine.doctor import examine
from app.engine.errors import ConfigError, SessionNotFound, StorageError, Unreadable
from app.engine.llm.roles import BUILTIN
from app.engine.memory.acceptance import acceptance
from app.engine.memory.diff import changes, word_marks
from app.engine.memory.gathering import answer_of
from app.engine.memory.losses import Losses
from app.engine.memory.provenance import explain
from app.engine.memory.quality import remarks
from app.engine.memory.retention import RetentionItem
from app.engine.records import (
    Acceptance,
    Change,
    CompactionReport,
    ContextView,
    DayInfo,
    DayLog,
    Decision,
    Due,
    EvictedInfo,
    Finding,
    IndexState,
    JobInfo,
    LeftOut,
    Loss,
    MemoryView,
    ModelCall,
    ModelStatus,
    Move,
    Preview,
    Proposal,
    ProposalInfo,
    Provenance,
    Query,
    Refused,
    Remark,
    SearchResult,
    SessionInfo,
    Span,
    Status,
    TextPage,
    TranscriptItem,
    Version,
    Window,
)
from app.engine.rooms import Rooms
from app.engine.search.describe import describe
from app.engine.search.query import parse
from app.engine.session.codec import as_object
from app.engine.session.evicted import evicted_results
from app.engine.session.export import Told, as_html, as_markdown
from app.engine.session.log import SessionLog
from app.engine.session.outgoing import outgoing
from app.engine.session.transcript import full_text, items
from app.engine.workspace.daily_log import list_days, read_day
from app.engine.workspace.files import read_text

DocumentForm = Literal["md", "html"]
TRYING_OUT = (
    "The built-in model is good for trying things out. For real work choose a larger local model."
)


class Questions:
    """The asking half of an engine."""

    def __init__(self, rooms: Rooms) -> None:
        self._rooms = rooms
        self._losses = Losses(rooms.writer)

    async def status(self) -> Status:
        """What the status line shows, in one value."""
        rooms = self._rooms
        reviews = await asyncio.to_thread(rooms.proposals.infos, waiting=True)
        return Status(
            workspace=str(rooms.layout.root),
            name=rooms.layout.root.name,
            model=await self.model(),
            running=rooms.queue.running(),
            waiting=rooms.queue.waiting(),
            reviews=len(reviews),
            index=rooms.index.state,
            read_only=rooms.read_only,
            curator="llm" if rooms.upkeep.curates_with_model() else "extractive",
        )

    async def model(self) -> ModelStatus:
        """The chat model and its real window. Asks the server; never raises."""
        name = self._rooms.endpoints.roles.chat
        try:
            endpoint = self._rooms.endpoints.role("chat")
            window = await endpoint.window()
        except ConfigError as error:
            return ModelStatus(name, "failed", Window(0), note=f"{error} {error.remedy}")
        return ModelStatus(
            name=endpoint.name,
            state="ready",
            window=window,
            host=endpoint.host,
            fit_for_memory=endpoint.fit_for_memory,
            note=TRYING_OUT if name == BUILTIN else "",
            key_source=getattr(endpoint, "key_source", ""),
        )

    # ------------------------------------------------------------------ sessions

    async def sessions(self, *, trashed: bool = False) -> list[SessionInfo]:
        """All sessions, newest activity first; with `trashed`, those in the trash instead."""
        return await asyncio.to_thread(self._rooms.store.list, trashed=trashed)

    async def transcript(
        self, session_id: str, *, before: int | None = None, around: str = "", limit: int = 2_000
    ) -> list[TranscriptItem]:
        """`limit` items, oldest first: the newest ones, the newest with `seq < before`, or those
        around the item of an entry or message id (none when the log does not have it).

        A session that was made and has no message yet has none. The first page of a session that
        is not its newest costs one reading of its log, a later one what it shows.
        """

        def read() -> list[TranscriptItem]:
            log = self._log(session_id)
            pages = self._rooms.store.pages
            return [] if log is None else pages.page(log, before=before, around=around, limit=limit)

        return await asyncio.to_thread(read)

    async def document(self, session_ids: Sequence[str], form: DocumentForm = "md") -> str:
        """Sessions whole, as one text that leaves the program: Markdown or a page of HTML."""

        def told(session_id: str) -> Told:
            log = self._log(session_id)
            if log is None:
                return session_id, ()
            entries = (line.entry for line in log.read())
            return self._rooms.store.info(session_id).title, items(entries, 0)

        write = as_markdown if form == "md" else as_html
        return await asyncio.to_thread(lambda: write(map(told, session_ids)))

    async def entries(
        self, session_id: str, first: int = 1, last: int | None = None
    ) -> list[dict[str, Any]]:
        """Lines `first` to `last` of a session's log as the objects they are on disk, in order.

        A line that is no entry comes as type `unreadable`, with the reason and its beginning.
        """

        def read() -> list[dict[str, Any]]:
            log = self._log(session_id)
            found = () if log is None else (line.entry for line in log.read())
            end = float("inf") if last is None else last
            return [as_object(one) for one in found if first <= one.seq <= end]

        return await asyncio.to_thread(read)

    def _log(self, session_id: str) -> SessionLog | None:
        """The log of a session; None of one that has no message yet. Raises `SessionNotFound`."""
        if self._rooms.store.exists(session_id):
            return self._rooms.store.log(session_id)
        if session_id in self._rooms.live:
            return None
        raise SessionNotFound(f"There is no session {session_id!r}.")

    async def full_text(self, session_id: str, item_id: str) -> str:
        """The whole text of one item whose `cut` is not 0."""
        live = await self._rooms.session(session_id)
        try:
            return await live.do(lambda session: full_text(session.entries(), item_id))
        except KeyError:
            raise Unreadable("That entry is no longer in the log.", "Look again.") from None

    async def context(self, session_id: str, draft: str = "") -> ContextView:
        """What would be sent next, with `draft` as the person's next message."""
        rooms = self._rooms
        live = await rooms.session(session_id)
        around = await surroundings(rooms.parts, live, rooms.parts.chat())
        history = await asyncio.to_thread(outgoing, live.session.context)
        made = await with_history(rooms.parts, live, around, history)
        return await asyncio.to_thread(view, made, draft)

    async def compaction_preview(self, session_id: str) -> CompactionReport:
        """What a compaction would do now (`dry_run` is set)."""
        live = await self._rooms.session(session_id)
        return await self._rooms.agent(live).keeper.preview(self._rooms.parts.chat())

    # ------------------------------------------------------------------ daily logs

    async def days(self) -> list[DayInfo]:
        """The files of `memory/` and its archive, newest day first, undated ones last."""
        return await asyncio.to_thread(list_days, self._rooms.layout)

    async def day(self, path: str) -> DayLog:
        """One of them, whole, with the state of each line."""
        rooms = self._rooms
        return await asyncio.to_thread(lambda: rooms.states.overlay(read_day(rooms.layout, path)))

    # ------------------------------------------------------------------ memory

    async def memory(self) -> MemoryView:
        """MEMORY.md as it is now."""
        return await asyncio.to_thread(self._memory)

    def _memory(self) -> MemoryView:
        rooms = self._rooms
        file = rooms.writer.read()
        problem = file.problem
        pinned: tuple[int, ...] = ()
        try:
            pinned = rooms.writer.pinned_lines(file.text)
        except Unreadable as error:
            problem = problem or str(error)
        others = [s for s in rooms.writer.other_spellings() if not s.same]
        if others and not problem:
            problem = f"{others[0].name} lies beside MEMORY.md and is not used."
        latest = None
        try:
            latest = rooms.history.latest()
        except StorageError as error:  # the file is the truth, and can be read without its past
            problem = problem or f"{error} {error.remedy}"
        return MemoryView(
            text=file.text,
            state=file.state,
            sha256=file.sha256,
            tokens=rooms.counter.text(file.text),
            budget=rooms.config.memory.consolidation_max_tokens,
            version=latest.number if latest else 0,
            pinned=pinned,
            problem=problem,
            estimated=rooms.counter.estimated,
        )

    async def versions(self, limit: int = 200) -> list[Version]:
        """Versions of MEMORY.md, newest first."""
        return await asyncio.to_thread(self._rooms.history.versions, limit)

    async def version_text(self, number: int) -> str:
        """The whole text of one version."""
        rooms = self._rooms
        return await rooms.loop.run_in_executor(rooms.ticks, rooms.history.text, number)

    async def compare(self, old: int | None = None, new: int | None = None) -> list[Change]:
        """Typed changes between two versions; by default from the last one to the file now."""
        rooms = self._rooms

        def work() -> list[Change]:
            latest = rooms.history.latest()
            first = old if old is not None else (latest.number if latest else 0)
            before = rooms.history.text(first) if first else ""
            after = rooms.writer.readable().text if new is None else rooms.history.text(new)
            return list(changes(before, after))

        return await asyncio.to_thread(work)

    async def losses(self, limit: int = 1_000) -> list[Loss]:
        """Facts that one of the newest `limit` versions dropped and MEMORY.md lacks now, newest
        first; `do.bring_back(loss.held, loss.line)` writes one of them in again."""
        return await asyncio.to_thread(self._losses.find, limit)

    async def proposals(self, *, waiting: bool = False) -> list[ProposalInfo]:
        """Proposals, newest first; with `waiting`, only those a person can still decide."""
        return await asyncio.to_thread(self._rooms.proposals.infos, waiting=waiting)

    async def proposal(self, proposal_id: str) -> Proposal:
        """One proposal with its checks, changes and the decisions kept so far."""
        return await asyncio.to_thread(self._rooms.review.show, proposal_id)

    async def compare_proposals(self, one: str, other: str) -> list[Change]:
        """Typed changes from what the first proposal's curator answered to the second's answer."""
        load = self._rooms.proposals.load
        return await asyncio.to_thread(
            lambda: list(changes(answer_of(load(one)), answer_of(load(other))))
        )

    async def acceptance(self) -> list[Acceptance]:
        """What people decided, per model, curator and prompt; those decided most first."""
        return await asyncio.to_thread(lambda: acceptance(self._rooms.proposals.all()))

    async def refused(self) -> list[Refused]:
        """Claims a person refused, newest first; `do.forget_refusal` takes one off the list."""
        return await asyncio.to_thread(lambda: self._rooms.refused.all()[::-1])

    async def memory_quality(self) -> list[Remark]:
        """Lines of MEMORY.md that repeat another, are out of date, or may contradict another."""
        rooms = self._rooms
        today = rooms.clock().date()
        return await asyncio.to_thread(lambda: remarks(rooms.writer.read().text, today))

    async def preview(self, proposal_id: str, decisions: Sequence[Decision]) -> Preview:
        """What applying these decisions would write now."""
        return await asyncio.to_thread(self._rooms.review.preview, proposal_id, decisions)

    async def why(self, line: int) -> Provenance:
        """Where a line of MEMORY.md came from."""
        rooms = self._rooms
        return await asyncio.to_thread(explain, rooms.writer, rooms.states, line)

    async def origins(self) -> list[Version | None]:
        """For each line of MEMORY.md the version since which it has stood there unbroken.

        None for a line that no version holds yet, and for blank lines.
        """
        rooms = self._rooms

        def work() -> list[Version | None]:
            lines = rooms.writer.read().text.split("\n")
            found = rooms.history.blame(lines)
            return [v if line.strip() else None for line, v in zip(lines, found, strict=True)]

        return await asyncio.to_thread(work)

    async def marks(
        self, pairs: Sequence[tuple[str, str]]
    ) -> list[tuple[tuple[Span, ...], tuple[Span, ...]]]:
        """For each (before, after) the stretches that the other text lacks, word by word."""
        return await asyncio.to_thread(lambda: [word_marks(old, new) for old, new in pairs])

    # ------------------------------------------------------------------ search, evicted, jobs

    async def search(self, query: Query) -> SearchResult:
        """Hits over all layers. A newer search interrupts an older one (`CancelledError`)."""
        return await self._rooms.index.search(query, supersede=True)

    async def index(self) -> IndexState:
        """What the index is doing now, compared with the disk; cheap while it is built."""
        return await self._rooms.index_state()

    async def left_out(self) -> list[LeftOut]:
        """The files that search cannot find, as their text cannot be read, by path."""
        return await self._rooms.index.left_out()

    async def tools(self) -> list[str]:
        """Names of the tools whose calls and results can be found, for `tool:` filters."""
        return await self._rooms.index.tools()

    async def search_meaning(self, text: str) -> str:
        """What `text` searches for, as a sentence: its words, phrases and filters."""
        now = self._rooms.clock().astimezone()
        zone = now.tzinfo or UTC
        return describe(parse(text, today=now.date(), zone=zone), zone)

    async def evicted(self) -> list[EvictedInfo]:
        """Results that were put aside, newest first."""
        return await asyncio.to_thread(evicted_results, self._rooms.store, self._rooms.evictions)

    async def evicted_page(self, path: str, start: int = 0, length: int = 40_000) -> TextPage:
        """Characters of one of them. Raises `Unreadable` when it is missing."""
        return await asyncio.to_thread(self._rooms.evictions.page, path, start, length)

    async def jobs(self, limit: int = 200) -> list[JobInfo]:
        """Running, waiting and past jobs, newest first."""
        return self._rooms.queue.jobs(limit)

    async def model_calls(self, run: str) -> list[ModelCall]:
        """The model calls of one run of the memory pipeline."""
        return await asyncio.to_thread(self._rooms.runs.calls, run)

    async def moves(self, run: str = "") -> list[Move]:
        """Files that maintenance moved, oldest first: of one run, or all there are."""
        return await asyncio.to_thread(self._rooms.runs.moved, run)

    async def upcoming(self) -> list[Due]:
        """What memory work comes by itself, and when."""
        return await asyncio.to_thread(self._rooms.scheduler.upcoming)

    async def retention_preview(self) -> list[RetentionItem]:
        """What maintenance would move now, with rule and age."""
        return await self._rooms.scheduler.preview()

    # ------------------------------------------------------------------ files, health

    async def config(self) -> EngineConfig:
        """The configuration in force."""
        return self._rooms.config

    async def agents_md(self) -> str:
        """AGENTS.md; "" when there is none."""
        found = await asyncio.to_thread(read_text, self._rooms.layout.agents_md)
        return found.text if found else ""

    async def doctor(self) -> list[Finding]:
        """What is wrong with files, index, history and model, with a remedy each."""
        return await examine(self._rooms)
