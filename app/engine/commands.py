"""`engine.do`: what can be changed.

Each command announces `Changed(kinds, ids, initiator)` when it is done; `initiator` is whatever the
caller passes, so that a view can tell its own changes from others'. Failures are `UserError`s.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

from app.engine.config import EngineConfig
from app.engine.errors import (
    BaseChanged,
    ConfigError,
    StorageError,
    UserError,
    WorkspaceBusy,
    WorkspaceUnusable,
)
from app.engine.interop.arrival import bring_motus
from app.engine.interop.motus import Imported
from app.engine.jobs import Runner
from app.engine.llm.roles import EndpointSettings, RoleSettings
from app.engine.memory.base import BaseMemory
from app.engine.memory.gathering import open_again
from app.engine.memory.losses import bring_back
from app.engine.memory.retention import Retention
from app.engine.policy_file import write_policy
from app.engine.records import Applied, CompactionReport, Decision, TurnResult
from app.engine.rooms import STRATEGIES, Rooms
from app.engine.session.evicted import evicted_of
from app.engine.workspace.documents import rewrite

T = TypeVar("T")


class Commands:
    """The doing half of an engine."""

    def __init__(self, rooms: Rooms) -> None:
        self._rooms = rooms

    def _may_write(self) -> None:
        if self._rooms.read_only:
            raise WorkspaceUnusable("This workspace is open for reading only.")
        if not self._rooms.layout.root.is_dir():  # never make a second one in its old place
            raise WorkspaceUnusable(
                "The workspace's folder is not there any more.",
                "Put it back, or open it where it is now.",
            )

    async def _write(self, work: Callable[[], T]) -> T:
        self._may_write()
        return await asyncio.to_thread(work)

    # ------------------------------------------------------------------ sessions

    async def new_session(
        self,
        *,
        memory_type: str = "",
        memory: BaseMemory | None = None,
        initiator: object | None = None,
    ) -> str:
        """A new session's id. It appears in the list with its first message.

        `memory_type` (basic, compact, background) is the session's own strategy, "" follows the
        engine's. `memory` is a memory of one's own that decides what the model sees: what it holds
        becomes the beginning of the session, and from then on it works on the session's log. One
        with a log of its own keeps that log and its session's id.
        """
        self._may_write()
        if memory_type not in ("", *STRATEGIES):
            raise ConfigError(f"There is no memory of the type {memory_type!r}.")
        live = await asyncio.to_thread(self._rooms.begin, memory_type, memory)
        return live.id

    async def send(
        self, session_id: str, text: str, *, initiator: object | None = None
    ) -> TurnResult:
        """One turn: returns when the reply is complete, stopped or failed; never raises for those.

        Progress comes as `TurnEvent`s on the bus. Flush and what follows are jobs that the reply
        never waits for. A second send to a session that is still answering raises `WorkspaceBusy`.
        """
        self._may_write()
        if not text.strip():
            raise UserError("There is nothing to send.", "Type a message first.")
        live = await self._rooms.session(session_id)
        if live.busy:
            raise WorkspaceBusy("A reply is still being made.", "Stop it, or wait until it ends.")
        turn = asyncio.create_task(self._rooms.agent(live).turn(text))
        live.turn = turn
        try:
            return await asyncio.shield(turn)
        except asyncio.CancelledError:
            turn.cancel()
            await asyncio.wait([turn])
            raise
        finally:
            await live.let_go()

    async def stop(self, session_id: str) -> None:
        """End the running reply; open calls get "interrupted" results."""
        live = self._rooms.live.get(session_id)
        if live is not None and live.turn is not None and not live.turn.done():
            live.turn.cancel()
            await asyncio.wait([live.turn])

    async def answer_approval(self, session_id: str, call_id: str, allow: bool) -> None:
        """Allow or refuse a tool call that asked (`TurnEvent.kind == "approval"`)."""
        live = self._rooms.live.get(session_id)
        if live is None or not live.answer(call_id, allow):
            raise WorkspaceBusy("That call is no longer waiting.", "Look at the transcript.")

    async def rename_session(
        self, session_id: str, title: str, *, initiator: object | None = None
    ) -> None:
        """Give a session a name of the person's own; "" takes it back."""
        self._may_write()
        live = await self._rooms.session(session_id)
        await live.do(lambda session: session.rename(title.strip()))
        await live.let_go()
        self._rooms.bus.changed("sessions", ids=(session_id,), initiator=initiator)

    async def trash_session(self, session_id: str, *, initiator: object | None = None) -> None:
        """Move a session and its evicted results to the trash."""
        self._may_write()
        rooms = self._rooms
        await self.stop(session_id)
        if (live := rooms.live.pop(session_id, None)) is not None:
            await live.do(lambda session: session.close())
        rooms.agents.pop(session_id, None)

        def work() -> None:
            rooms.store.trash(session_id, more=evicted_of(rooms.store.log(session_id)))

        await asyncio.to_thread(work)
        await rooms.index.remove(rooms.layout.session_log(session_id))
        rooms.bus.changed("sessions", "evicted", "index", ids=(session_id,), initiator=initiator)

    async def restore_session(self, session_id: str, *, initiator: object | None = None) -> None:
        """Bring a session back from the trash."""
        for path in await self._write(lambda: self._rooms.store.restore(session_id)):
            await self._rooms.index.update(path)
        kinds = ("sessions", "evicted", "index")
        self._rooms.bus.changed(*kinds, ids=(session_id,), initiator=initiator)

    async def compact(
        self, session_id: str, *, initiator: object | None = None
    ) -> CompactionReport:
        """Compact now, whatever the gain."""
        self._may_write()
        live = await self._rooms.session(session_id)
        if live.busy:
            raise WorkspaceBusy("A reply is still being made.", "Stop it, or wait until it ends.")
        return await self._rooms.agent(live).keeper.compact(self._rooms.parts.chat())

    async def flush(self, session_id: str, *, initiator: object | None = None) -> str:
        """Queue a flush of what is not flushed yet; the job's id."""
        self._may_write()
        await self._rooms.session(session_id)
        job = self._rooms.flusher.request(session_id, "by hand")
        if job is None:
            raise StorageError("The flush was not queued.", "Switch memory on in Settings.")
        return job.id

    # ------------------------------------------------------------------ memory

    async def consolidate(self, *, initiator: object | None = None) -> str:
        """Queue a consolidation; the job's id."""
        return self._enqueue("consolidate", self._rooms.run_consolidation, {"manual": True})

    async def consolidate_again(
        self, proposal_id: str, model: str, *, initiator: object | None = None
    ) -> str:
        """Queue the run behind a proposal once more with another model; the job's id.

        `model` is a name as the settings take one, or "extractive". The same file and sections make
        a second proposal whose `again_of` is the first; no policy applies it, and applying one of
        the two withdraws the other. Raises `ConfigError`, `ProposalNotFound`, `ProposalClosed`.
        """
        rooms = self._rooms
        rooms.upkeep.named(model)
        await self._write(lambda: open_again(rooms.proposals.load(proposal_id)))
        payload: dict[str, object] = {"again_of": proposal_id, "model": model}
        return self._enqueue("consolidate", rooms.run_consolidation, payload)

    async def forget_refusal(self, key: str, *, initiator: object | None = None) -> None:
        """Take a claim off the list of refused ones (`ask.refused`): it may be proposed again."""
        await self._write(lambda: self._rooms.refused.remove(key))
        self._rooms.bus.changed("proposals", initiator=initiator)

    async def keep_decisions(self, proposal_id: str, decisions: Sequence[Decision]) -> None:
        """Store decisions that are not applied yet; the proposal is `in_review` from then on."""
        await self._write(lambda: self._rooms.review.keep(proposal_id, decisions))

    async def take_apart(
        self, proposal_id: str, n: int, *, initiator: object | None = None
    ) -> None:
        """Make each line of merge or split `n` a change of its own, to be decided alone.

        Decisions on other changes stay. Raises `UserError` when `n` is neither.
        """
        await self._write(lambda: self._rooms.review.take_apart(proposal_id, n))
        self._rooms.bus.changed("proposals", ids=(proposal_id,), initiator=initiator)

    async def put_together(
        self, proposal_id: str, n: int, *, initiator: object | None = None
    ) -> None:
        """Make the group that change `n` is a part of one change again; it is then undecided."""
        await self._write(lambda: self._rooms.review.put_together(proposal_id, n))
        self._rooms.bus.changed("proposals", ids=(proposal_id,), initiator=initiator)

    async def apply(
        self, proposal_id: str, decisions: Sequence[Decision], *, initiator: object | None = None
    ) -> Applied:
        """Write what the decisions say, as one version. Undecided changes stay waiting."""
        rooms = self._rooms
        applied = await self._write(
            lambda: rooms.review.apply(proposal_id, decisions, when=rooms.clock())
        )
        self._memory_changed(proposal_id, initiator)
        return applied

    async def reject(
        self, proposal_id: str, reason: str = "", *, initiator: object | None = None
    ) -> None:
        """Refuse the whole proposal."""
        rooms = self._rooms
        await self._write(lambda: rooms.review.reject(proposal_id, reason, when=rooms.clock()))
        rooms.bus.changed("proposals", "daily", ids=(proposal_id,), initiator=initiator)

    async def undo(self, *, initiator: object | None = None) -> Applied:
        """Take the newest version of MEMORY.md back, by a new version."""
        applied = await self._write(lambda: self._rooms.review.undo(when=self._rooms.clock()))
        self._memory_changed("", initiator)
        return applied

    async def restore_version(self, number: int, *, initiator: object | None = None) -> Applied:
        """Write an earlier version back, as a new version."""
        rooms = self._rooms
        applied = await self._write(lambda: rooms.review.restore(number, when=rooms.clock()))
        self._memory_changed("", initiator)
        return applied

    async def bring_back(
        self, version: int, line: int, *, initiator: object | None = None
    ) -> Applied:
        """Write the fact at a line of an earlier version into the file, as a version of its own.

        It stands under its old section (made again when gone), beside the neighbours that still
        stand. Raises `NothingToBringBack` when that line holds no fact or the file has it.
        """
        rooms = self._rooms
        written = await self._write(lambda: bring_back(rooms.writer, version, line, rooms.clock()))
        await rooms.index.update("MEMORY.md")
        self._memory_changed("", initiator)
        return Applied(written.number, added=written.added, dropped=written.dropped)

    async def write_memory(
        self, text: str, base_sha256: str, *, initiator: object | None = None
    ) -> Applied:
        """Save a hand edit. Raises `BaseChanged` when the file is no longer what it was."""
        rooms = self._rooms
        version = await self._write(
            lambda: rooms.writer.write(
                text, base_sha256=base_sha256, cause="hand", when=rooms.clock()
            )
        )
        await rooms.index.update("MEMORY.md")
        self._memory_changed("", initiator)
        return Applied(version.number, added=version.added, dropped=version.dropped)

    async def pin(self, line: str, on: bool, *, initiator: object | None = None) -> None:
        """Pin a line of MEMORY.md (given verbatim), or take its pin off.

        A pinned line survives every rewrite; a heading pins its section, which then no proposal may
        add to either. Raises `Pinned` when the line's pin is its section's, `Unreadable` when the
        pins' file is not understood; it is then left as it is.
        """
        await self._write(lambda: self._rooms.writer.pin(line, on))
        self._rooms.bus.changed("memory", initiator=initiator)

    async def remember(
        self,
        text: str,
        *,
        session_id: str = "",
        entry_id: str = "",
        initiator: object | None = None,
    ) -> Applied:
        """Save one fact at a person's wish: to MEMORY.md's saved block and today's log."""
        self._may_write()
        saved = await self._rooms.save(
            text, by_person=True, session_id=session_id, entry_id=entry_id
        )
        if saved.version is None:
            raise BaseChanged("The fact is in today's log, but not in MEMORY.md.")
        return Applied(saved.version.number, added=saved.count)

    def _memory_changed(self, proposal_id: str, initiator: object | None) -> None:
        ids = (proposal_id,) if proposal_id else ()
        self._rooms.bus.changed(
            "memory", "versions", "proposals", "daily", "index", ids=ids, initiator=initiator
        )

    # ------------------------------------------------------------------ from other programs

    async def import_motus(
        self, path: Path, *, initiator: object | None = None
    ) -> tuple[Imported, ...]:
        """Copy Motus conversation logs (a file, or a folder of them) into sessions of ours.

        What cannot be taken over says why in its `problem`; a session that is there already is
        left as it is. Raises `Unreadable` when there is no such path.
        """
        rooms = self._rooms
        done = await self._write(lambda: bring_motus(rooms.store, path, rooms.counter))
        for one in done:
            if not one.problem:
                await rooms.index.update(rooms.layout.session_log(one.session_id))
        ids = tuple(one.session_id for one in done if not one.problem)
        rooms.bus.changed("sessions", "index", ids=ids, initiator=initiator)
        return done

    # ------------------------------------------------------------------ the rest

    async def write_agents_md(self, text: str, *, initiator: object | None = None) -> None:
        """Replace AGENTS.md."""
        layout = self._rooms.layout
        await self._write(lambda: rewrite(layout, layout.agents_md, text))
        self._rooms.bus.changed("settings", "context", initiator=initiator)

    async def maintain(self, *, initiator: object | None = None) -> str:
        """Queue archive, consolidate, prune, re-index; the job's id."""
        self._may_write()
        job = self._rooms.scheduler.enqueue("by hand")
        if job is None:
            raise WorkspaceBusy("The queue is full.", "Wait until some jobs are done.")
        return job.id

    async def move_day(self, path: str, *, archived: bool, initiator: object | None = None) -> str:
        """Put one daily log into the archive, or bring it back from there; its new path.

        What is brought back stays: no round archives it again. Raises `PathRefused`.
        """
        rooms = self._rooms
        retention = Retention(rooms.layout, rooms.runs)
        now = rooms.clock()
        new = await self._write(lambda: retention.move_day(path, now, archived=archived))
        for moved in (path, new):
            await rooms.index.update(moved)
        rooms.bus.changed("daily", "index", ids=(path, new), initiator=initiator)
        return new

    async def allow_retention(self, *, initiator: object | None = None) -> None:
        """Say that a person has seen `ask.retention_preview`: rounds may put away what is due.

        Until then a round archives, prunes and deletes nothing, and says what waits. It is a
        setting of the workspace (`maintenance.retention_allowed`).
        """
        config = self._rooms.config
        if not config.maintenance.retention_allowed:
            allowed = config.maintenance.replace(retention_allowed=True)
            await self.configure(config.replace(maintenance=allowed), initiator=initiator)

    async def reindex(self, *, rebuild: bool = False, initiator: object | None = None) -> str:
        """Queue a pass over the workspace; with `rebuild` a new index beside the old one."""
        return self._enqueue("reindex", self._rooms.upkeep.reindex, {"rebuild": rebuild})

    def _enqueue(self, kind: str, run: Runner, payload: dict[str, object]) -> str:
        self._may_write()
        job = self._rooms.queue.enqueue(kind, "by hand", run, payload=payload)
        if job is None:
            raise WorkspaceBusy("The queue is full.", "Wait until some jobs are done.")
        return job.id

    async def cancel_job(self, job_id: str) -> None:
        """Cancel a waiting or running job; one that has ended stays as it is."""
        self._rooms.queue.cancel(job_id)

    async def clean_evicted(self, paths: Sequence[str], *, initiator: object | None = None) -> int:
        """Move evicted files to the trash; how many."""
        rooms = self._rooms

        def work() -> int:
            run = f"evicted-{uuid4().hex[:12]}"
            return len(rooms.trash.move(run, paths, rule="cleaned up by hand", when=rooms.clock()))

        moved = await self._write(work)
        for path in paths:
            await rooms.index.remove(path)
        rooms.bus.changed("evicted", "index", initiator=initiator)
        return moved

    async def use_models(
        self,
        servers: Mapping[str, EndpointSettings],
        roles: RoleSettings,
        *,
        initiator: object | None = None,
    ) -> None:
        """Work with other servers and roles at once.

        Replies and jobs that run keep the connection they have; it is closed when they are done.
        Nothing is stored: servers and roles are the person's, not the workspace's.
        """
        rooms = self._rooms
        rooms.retire(rooms.endpoints.change(servers, roles))
        rooms.bus.changed("settings", "context", initiator=initiator)

    async def configure(self, config: EngineConfig, *, initiator: object | None = None) -> None:
        """Use and store another configuration of this workspace (policy only; never a key)."""
        rooms = self._rooms
        before = rooms.config
        await self._write(lambda: write_policy(rooms.layout.config_file, before, config))
        rooms.use(config)
        rooms.bus.changed("settings", "context", initiator=initiator)
