"""`engine.ask`: what can be read.

Nothing here changes anything, everything can be cancelled, and nothing blocks the caller's loop:
disk, git and SQLite work runs in the engine's threads. Each method hands over to the room that
knows.
"""

from __future__ import annotations

from collections.abc import Sequence

from app.engine.records import (
    CompactionReport,
    ContextView,
    DayInfo,
    DayLog,
    Decision,
    EvictedInfo,
    Finding,
    JobInfo,
    MemoryView,
    ModelCall,
    Preview,
    Proposal,
    ProposalInfo,
    Provenance,
    Query,
    SearchResult,
    SessionInfo,
    Status,
    TextPage,
    TranscriptItem,
    Version,
)


class Questions:
    """The asking half of an engine."""

    async def status(self) -> Status:
        """What the status line shows, in one value."""
        raise NotImplementedError

    # ------------------------------------------------------------------ sessions

    async def sessions(self, *, trashed: bool = False) -> list[SessionInfo]:
        """All sessions, newest activity first; with `trashed`, those in the trash instead."""
        raise NotImplementedError

    async def transcript(
        self, session_id: str, *, before: int | None = None, limit: int = 2_000
    ) -> list[TranscriptItem]:
        """The newest `limit` items with `seq < before` (or the newest of all), oldest first."""
        raise NotImplementedError

    async def full_text(self, session_id: str, item_id: str) -> str:
        """The whole text of one item whose `cut` is not 0."""
        raise NotImplementedError

    async def context(self, session_id: str, draft: str = "") -> ContextView:
        """What would be sent next, with `draft` as the person's next message."""
        raise NotImplementedError

    async def compaction_preview(self, session_id: str) -> CompactionReport:
        """What a compaction would do now (`dry_run` is set)."""
        raise NotImplementedError

    # ------------------------------------------------------------------ daily logs

    async def days(self) -> list[DayInfo]:
        """The files of `memory/` and its archive, newest day first, undated ones last."""
        raise NotImplementedError

    async def day(self, path: str) -> DayLog:
        """One of them, whole, with the state of each line."""
        raise NotImplementedError

    # ------------------------------------------------------------------ memory

    async def memory(self) -> MemoryView:
        """MEMORY.md as it is now."""
        raise NotImplementedError

    async def versions(self, limit: int = 200) -> list[Version]:
        """Versions of MEMORY.md, newest first."""
        raise NotImplementedError

    async def version_text(self, number: int) -> str:
        """The whole text of one version."""
        raise NotImplementedError

    async def proposals(self, *, waiting: bool = False) -> list[ProposalInfo]:
        """Proposals, newest first; with `waiting`, only those a person can still decide."""
        raise NotImplementedError

    async def proposal(self, proposal_id: str) -> Proposal:
        """One proposal with its checks, changes and the decisions kept so far."""
        raise NotImplementedError

    async def preview(self, proposal_id: str, decisions: Sequence[Decision]) -> Preview:
        """What applying these decisions would write now."""
        raise NotImplementedError

    async def why(self, line: int) -> Provenance:
        """Where a line of MEMORY.md came from."""
        raise NotImplementedError

    # ------------------------------------------------------------------ search, evicted, jobs

    async def search(self, query: Query) -> SearchResult:
        """Hits over all layers. A newer search interrupts an older one (`CancelledError`)."""
        raise NotImplementedError

    async def evicted(self) -> list[EvictedInfo]:
        """Results that were put aside, newest first."""
        raise NotImplementedError

    async def evicted_page(self, path: str, start: int = 0, length: int = 40_000) -> TextPage:
        """Characters of one of them. Raises `Unreadable` when it is missing."""
        raise NotImplementedError

    async def jobs(self, limit: int = 200) -> list[JobInfo]:
        """Running, waiting and past jobs, newest first."""
        raise NotImplementedError

    async def model_calls(self, run: str) -> list[ModelCall]:
        """The model calls of one run of the memory pipeline."""
        raise NotImplementedError

    # ------------------------------------------------------------------ files, health

    async def agents_md(self) -> str:
        """AGENTS.md; "" when there is none."""
        raise NotImplementedError

    async def doctor(self) -> list[Finding]:
        """What is wrong with files, index, history and model, with a remedy each."""
        raise NotImplementedError
