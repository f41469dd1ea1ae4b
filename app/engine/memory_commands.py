"""What can be done with long-term memory: proposals and reviews, versions, hand edits, pins."""

from __future__ import annotations

from collections.abc import Sequence

from app.engine.doing import Doing
from app.engine.errors import BaseChanged
from app.engine.memory.gathering import open_again
from app.engine.memory.losses import bring_back
from app.engine.records import Applied, Decision


class MemoryCommands(Doing):
    """The commands about memory; announced and refused as all of `engine.do` is."""

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
