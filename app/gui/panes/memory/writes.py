"""What the memory place writes: decisions, apply, reject, undo, restore, hand edits, pins.

Each act is a coroutine; failures are `UserError`s that become notices, and nothing that a person
decided or typed is lost by one. A small mixin of `MemoryPane`, so that both stay readable.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from app.engine.errors import BaseChanged
from app.engine.records import Applied, Decision
from app.gui.look.text import number, plural, sentence, tr
from app.gui.panes.memory.editor import Editor
from app.gui.panes.memory.lines import plain
from app.gui.widgets.dialogs import ask, ask_text
from app.gui.widgets.notices import Act

if TYPE_CHECKING:
    from app.gui.panes.memory.pane import MemoryPane

MANY = 0.1  # share of the file's lines whose loss asks again
LEAST_MANY = 3
PAINT = 0.03  # seconds in which a decision is painted before workers take their share


class Keeper:
    """Stores decisions behind the review, one write at a time, always the newest."""

    def __init__(self, pane: MemoryPane) -> None:
        self._pane = pane
        self._wanted: tuple[str, tuple[Decision, ...]] | None = None
        self._one = asyncio.Lock()

    def keep(self, proposal_id: str, decisions: tuple[Decision, ...]) -> None:
        self._wanted = (proposal_id, decisions)
        if not self._pane.tasks.running("keep"):
            self._pane.tasks.start("keep", self._soon())

    async def _soon(self) -> None:
        await asyncio.sleep(PAINT)
        await self._write()

    async def settled(self) -> None:
        """Everything that was decided is stored."""
        await self._write()

    async def _write(self) -> None:
        async with self._one:  # who waits here waits for a write that is under way, too
            while self._wanted is not None:
                proposal_id, decisions = self._wanted
                self._wanted = None
                await self._pane.desk.engine.do.keep_decisions(proposal_id, decisions)


class Writes:
    """The writing half of a `MemoryPane`."""

    # ------------------------------------------------------------------ a review

    def why_not_apply(self: Any) -> str:
        """Why Apply cannot be done now; "" when it can."""
        deciding = self.review.deciding
        conflicts = deciding.conflicts(left=True)
        if self.applying:
            return tr("It is being written.")
        if conflicts:
            return plural(len(conflicts), "{n} conflict left", "{n} conflicts left")
        if not deciding.decided():
            return tr("Nothing is decided yet.")
        if not deciding.count_accepted() and deciding.decided() < deciding.count():
            return tr("No change is accepted yet.")
        return ""

    async def apply(self: Any) -> None:
        """Write what was decided, as one version; a big loss is asked about once more."""
        proposal = self.review.proposal
        reason = self.why_not_apply()
        if proposal is None or reason:
            return
        deciding = self.review.deciding
        if not await self._losses_meant(proposal):
            return
        if self.review.deciding is not deciding:
            said = tr("The review changed while you were asked; look at it again")
            self.undo_bar.show_act(said, tone="info")
            return
        decisions = deciding.decisions()
        self.applying = True
        self.settle_head()
        try:
            await self.keeper.settled()
            done = await self.desk.engine.do.apply(proposal.info.id, decisions, initiator=self)
        except BaseChanged as error:
            self.fail(error)
            if self.wanted == proposal.info.id:
                await self.load_review(proposal.info.id)
            return
        finally:
            self.applying = False
            self.settle_head()
        self.notices.drop(BaseChanged.__name__)
        self._close_review(proposal.info.id)
        await self.refresh()
        self.tell(written_words(done), undo=done.version)

    def _close_review(self: Any, proposal_id: str) -> None:
        """It is decided: back to the file, unless somebody went elsewhere meanwhile."""
        shown = self.review.proposal
        if shown is not None and shown.info.id == proposal_id:
            self.review.clear()
        if self.mode == "review" and self.wanted == proposal_id:
            self.show_mode("file")

    async def _losses_meant(self: Any, proposal: Any) -> bool:
        lost = self.review.deciding.losses_taken()
        whole = sum(1 for line in proposal.base.split("\n") if line.strip().startswith("-"))
        limit = max(LEAST_MANY, round(whole * MANY))
        over = any(c.name == "loss" and not c.ok for c in proposal.checks)
        if not lost or (len(lost) < limit and not over):
            return True
        said = await ask(
            self.window(),
            plural(len(lost), "Let {n} line go?", "Let {n} lines go?"),
            tr("They stand nowhere in the result. The version before this one keeps them."),
            (
                ("go", plural(len(lost), "Let {n} line go", "Let {n} lines go"), "danger"),
                ("", tr("Look again"), "primary"),
            ),
            code="\n".join(plain(line)[:300] for line in lost[:200]),
        )
        return said == "go"

    async def reject_all(self: Any) -> None:
        """Refuse the whole proposal, with a reason if one is given."""
        proposal = self.review.proposal
        if proposal is None:
            return
        count = len(proposal.changes)
        reason = await ask_text(
            self.window(),
            plural(count, "Reject {n} change?", "Reject all {n} changes?"),
            tr("Reason (may stay empty)"),
            text=tr("MEMORY.md stays as it is. What was refused is remembered and not proposed "
                    "again; the next run is told the reason."),
            act=plural(count, "Reject {n} change", "Reject {n} changes"),
        )  # fmt: skip
        if reason is None:
            return
        await self.keeper.settled()
        await self.desk.engine.do.reject(proposal.info.id, reason.strip(), initiator=self)
        self._close_review(proposal.info.id)
        await self.refresh()
        self.tell(tr("The proposal is rejected, MEMORY.md stays as it is"), undo=0)

    async def turn_apart(self: Any) -> None:
        """Take the merge or split in front apart, or put its parts together again."""
        proposal, change = self.review.proposal, self.review.in_front()
        if proposal is None or change is None:
            return
        do = self.desk.engine.do
        if change.group:
            turned = do.put_together
        elif change.kind in ("merged", "split") and not change.conflict:
            turned = do.take_apart
        else:
            said = tr("Only what was merged or split can be taken apart")
            self.undo_bar.show_act(said, tone="info")
            return
        await self.keeper.settled()
        await turned(proposal.info.id, change.n, initiator=self)
        if self.wanted == proposal.info.id and await self.load_review(proposal.info.id):
            self.review.go_to(change.group or change.n)

    # ------------------------------------------------------------------ the file

    async def save_edit(self: Any) -> None:
        """Save the hand edit; when the file moved meanwhile, say so and keep the text."""
        editor: Editor = self.editor
        if not editor.touched():
            self.show_mode("file")
            return
        text, base = editor.text(), editor.base
        try:
            done = await self.desk.engine.do.write_memory(text, base, initiator=self)
        except BaseChanged:
            self.notice(
                tr("MEMORY.md changed while you were editing."),
                tr("Your text is kept here and nothing was written."),
                acts=(
                    Act(tr("See the file now"), self.show_now),
                    Act(tr("Save mine as a new version"), self.save_over, closes=True),
                ),
                key="edit",
            )
            return
        self.notices.drop("edit")
        if editor.text() == text:  # else somebody typed on, and saves again
            if self.mode == "edit":
                self.show_mode("file")
            self.edit_open = False
        await self.refresh()
        if self.memory.text == text:
            editor.rest_on(text, self.memory.sha256)
        self.tell(written_words(done), undo=done.version)

    def save_over(self: Any) -> None:
        self.tasks.latest("save", self._save_over())

    async def _save_over(self: Any) -> None:
        """Save on top of the file as it is now; that one stays in the versions."""
        memory = await self.desk.engine.ask.memory()
        self.editor.base = memory.sha256
        await self.save_edit()

    async def restore(self: Any) -> None:
        """Write the version that is shown back, as a new version."""
        wanted = self.file.version
        if not wanted:
            return
        done = await self.desk.engine.do.restore_version(wanted, initiator=self)
        if self.file.version == wanted:  # else somebody stepped on meanwhile
            self.leave_version()
        await self.refresh()
        said = tr("Version {old} is back, as version {n}", old=number(wanted),
                  n=number(done.version))  # fmt: skip
        self.tell(said, undo=done.version)

    async def pin(self: Any) -> None:
        """Pin the chosen line, or take its pin off."""
        line = self.file.chosen_line()
        if not line or self.file.version:
            return
        on = line not in self.memory.pinned
        await self.desk.engine.do.pin(self.file.raw_line(line), on, initiator=self)
        await self.refresh()
        said = tr("Line {n} is pinned: no proposal may touch it", n=number(line))
        self.undo_bar.show_act(said if on else tr("Line {n} is no longer pinned", n=number(line)))

    async def undo(self: Any) -> None:
        """Take the newest version back, by a new one."""
        done = await self.desk.engine.do.undo(initiator=self)
        await self.refresh()
        self.tell(tr("Undone: version {n} written", n=number(done.version)), undo=0)

    async def consolidate(self: Any) -> None:
        """Queue a run; its progress stands in the main button."""
        await self.desk.engine.do.consolidate(initiator=self)
        await self.look_at_jobs()

    def tell(self: Any, words: str, *, undo: int) -> None:
        """The bar after an act. `undo`: the version it wrote and can take back, 0 for none."""
        acts = (
            Act(tr("Show"), self.show_newest),
            Act(tr("Undo"), self.start_undo, key="Ctrl+Z"),
        )
        self._offered = undo
        self.undo_bar.show_act(words, acts if undo else ())

    def drop_stale_undo(self: Any) -> None:
        """Undo takes the newest version back: when another came, it is not offered any more."""
        newest = self.versions[0].number if self.versions else 0
        if self._offered and newest > self._offered:
            self._offered = 0
            if self.undo_bar.acts:
                self.undo_bar.close_bar()

    def start_undo(self: Any) -> None:
        self.tasks.latest("undo", self.undo())


def written_words(done: Applied) -> str:
    """What an act wrote: "Version 4 written: 3 lines added, 1 line gone"."""
    if not done.version:
        return tr("Nothing was written: every change is rejected")
    parts = [
        plural(done.added, "{n} line added", "{n} lines added") if done.added else "",
        plural(done.dropped, "{n} line gone", "{n} lines gone") if done.dropped else "",
        plural(
            done.left_waiting,
            "{n} undecided change stays waiting",
            "{n} undecided changes stay waiting",
        )
        if done.left_waiting
        else "",
    ]
    said = sentence(parts)
    head = tr("Version {n} written", n=number(done.version))
    return f"{head}: {said}" if said else head
