"""`engine.do`: what can be changed.

Each command announces `Changed(kinds, ids, initiator)` when it is done; `initiator` is whatever the
caller passes, so that a view can tell its own changes from others'. Failures are `UserError`s.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from uuid import uuid4

from app.engine.config import EngineConfig
from app.engine.errors import (
    ConfigError,
    StorageError,
    UserError,
    WorkspaceBusy,
)
from app.engine.interop.arrival import bring_motus
from app.engine.interop.motus import Imported
from app.engine.llm.roles import EndpointSettings, RoleSettings
from app.engine.memory.base import BaseMemory
from app.engine.memory.retention import Retention
from app.engine.memory_commands import MemoryCommands
from app.engine.policy_file import write_policy
from app.engine.records import CompactionReport, TurnResult
from app.engine.rooms import STRATEGIES
from app.engine.session.evicted import evicted_of
from app.engine.workspace.documents import rewrite


class Commands(MemoryCommands):
    """The doing half of an engine."""

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
