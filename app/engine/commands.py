"""`engine.do`: what can be changed.

Each command announces `Changed(kinds, ids, initiator)` when it is done; `initiator` is whatever the
caller passes, so that a view can tell its own changes from others'. Failures are `UserError`s.
"""

from __future__ import annotations

from collections.abc import Sequence

from app.engine.config import EngineConfig
from app.engine.records import Applied, CompactionReport, Decision, TurnResult


class Commands:
    """The doing half of an engine."""

    # ------------------------------------------------------------------ sessions

    async def new_session(self, *, initiator: object | None = None) -> str:
        """A new session's id. It appears in the list with its first message."""
        raise NotImplementedError

    async def send(
        self, session_id: str, text: str, *, initiator: object | None = None
    ) -> TurnResult:
        """One turn: returns when the reply is complete, stopped or failed; never raises for those.

        Progress comes as `TurnEvent`s on the bus. Flush and what follows are jobs that the reply
        never waits for. A second send to a session that is still answering raises `WorkspaceBusy`.
        """
        raise NotImplementedError

    async def stop(self, session_id: str) -> None:
        """End the running reply; open calls get "interrupted" results."""
        raise NotImplementedError

    async def answer_approval(self, session_id: str, call_id: str, allow: bool) -> None:
        """Allow or refuse a tool call that asked (`TurnEvent.kind == "approval"`)."""
        raise NotImplementedError

    async def rename_session(
        self, session_id: str, title: str, *, initiator: object | None = None
    ) -> None:
        raise NotImplementedError

    async def trash_session(self, session_id: str, *, initiator: object | None = None) -> None:
        """Move a session and its evicted results to the trash."""
        raise NotImplementedError

    async def restore_session(self, session_id: str, *, initiator: object | None = None) -> None:
        """Bring a session back from the trash."""
        raise NotImplementedError

    async def compact(
        self, session_id: str, *, initiator: object | None = None
    ) -> CompactionReport:
        """Compact now, whatever the gain."""
        raise NotImplementedError

    async def flush(self, session_id: str, *, initiator: object | None = None) -> str:
        """Queue a flush of what is not flushed yet; the job's id."""
        raise NotImplementedError

    # ------------------------------------------------------------------ memory

    async def consolidate(self, *, initiator: object | None = None) -> str:
        """Queue a consolidation; the job's id."""
        raise NotImplementedError

    async def keep_decisions(self, proposal_id: str, decisions: Sequence[Decision]) -> None:
        """Store decisions that are not applied yet; the proposal is `in_review` from then on."""
        raise NotImplementedError

    async def apply(
        self, proposal_id: str, decisions: Sequence[Decision], *, initiator: object | None = None
    ) -> Applied:
        """Write what the decisions say, as one version. Undecided changes stay waiting."""
        raise NotImplementedError

    async def reject(
        self, proposal_id: str, reason: str = "", *, initiator: object | None = None
    ) -> None:
        """Refuse the whole proposal."""
        raise NotImplementedError

    async def undo(self, *, initiator: object | None = None) -> Applied:
        """Take the newest version of MEMORY.md back, by a new version."""
        raise NotImplementedError

    async def restore_version(self, number: int, *, initiator: object | None = None) -> Applied:
        """Write an earlier version back, as a new version."""
        raise NotImplementedError

    async def write_memory(
        self, text: str, base_sha256: str, *, initiator: object | None = None
    ) -> Applied:
        """Save a hand edit. Raises `BaseChanged` when the file is no longer what it was."""
        raise NotImplementedError

    async def remember(
        self,
        text: str,
        *,
        session_id: str = "",
        entry_id: str = "",
        initiator: object | None = None,
    ) -> Applied:
        """Save one fact at a person's wish: to MEMORY.md's saved block and today's log."""
        raise NotImplementedError

    # ------------------------------------------------------------------ the rest

    async def write_agents_md(self, text: str, *, initiator: object | None = None) -> None:
        raise NotImplementedError

    async def maintain(self, *, initiator: object | None = None) -> str:
        """Queue archive, consolidate, prune, re-index; the job's id."""
        raise NotImplementedError

    async def reindex(self, *, rebuild: bool = False, initiator: object | None = None) -> str:
        raise NotImplementedError

    async def cancel_job(self, job_id: str) -> None:
        raise NotImplementedError

    async def clean_evicted(self, paths: Sequence[str], *, initiator: object | None = None) -> int:
        """Move evicted files to the trash; how many."""
        raise NotImplementedError

    async def configure(self, config: EngineConfig, *, initiator: object | None = None) -> None:
        """Use and store another configuration of this workspace (policy only; never a key)."""
        raise NotImplementedError
