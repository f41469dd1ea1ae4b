"""How the memory place reads reviews: proposals, marks, previews, sources, and the run under way.

The reading half of a review in `MemoryPane`. A preview that was asked for before another decision
is dropped when it comes: what stands at the right is always what Apply would write now.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from app.engine.errors import Unreadable, UserError
from app.engine.records import Change, JobInfo, Preview, Proposal, ProposalInfo, Source
from app.gui.look.text import number, plural, tr
from app.gui.panes.memory.conflicts import Choice, sides_of
from app.gui.panes.memory.deciding import Deciding, Verdict
from app.gui.panes.memory.list_rows import is_open
from app.gui.panes.memory.pieces import Key, Marks, pairs
from app.gui.panes.memory.result import accepted, result_of
from app.gui.panes.memory.writes import PAINT
from app.gui.widgets.dialogs import ask
from app.gui.widgets.notices import Act
from app.gui.widgets.pane import Target

WORK = (
    "refresh", "review", "preview", "keep", "apply", "why", "version", "compare", "save", "restore",
    "undo", "reject", "consolidate", "open", "action", "apart", "list", "marks",
)  # fmt: skip
AT_FIRST = 200  # changes whose words are compared before a review is shown
ENDED = ("failed", "skipped", "cancelled")


class Reviews:
    """Mixed into `MemoryPane`."""

    def busy(self: Any) -> bool:
        """Whether something is being asked, written, or about to be looked at again."""
        return self._soon.isActive() or any(self.tasks.running(name) for name in WORK)

    def waiting(self: Any) -> list[ProposalInfo]:
        """Proposals that a person can still decide, the newest first."""
        return [info for info in self.infos if is_open(info)]

    def main_act(self: Any) -> None:
        """The primary button: the waiting review, else a run."""
        if self.waiting():
            self.show_waiting()
        else:
            self.consolidate_or_say()

    def show_waiting(self: Any) -> None:
        waiting = self.waiting()
        if waiting:
            self.start_review(waiting[0].id)
        else:
            self.undo_bar.show_act(tr("No review is waiting"), tone="info")

    def start_review(self: Any, proposal_id: str) -> None:
        self.give_up()
        self.tasks.start("review", self.load_review(proposal_id))

    async def load_review(self: Any, proposal_id: str) -> bool:
        """Show a proposal, with the decisions kept so far; False when another page was wanted."""
        if self.mode == "version":
            self.leave_version()
        self.wanted = proposal_id
        proposal: Proposal = await self.desk.engine.ask.proposal(proposal_id)
        if not self.versions:
            await self.refresh()
        lines = self.memory.text.split("\n")
        pinned = frozenset(lines[n - 1] for n in self.memory.pinned if n <= len(lines))
        if not await self._show_proposal(proposal, pinned):
            return False
        self._say_note(proposal)
        self._say_moved(proposal)
        self.tell_rival()
        self._ask_preview()
        return True

    async def _show_proposal(self: Any, proposal: Proposal, pinned: frozenset[str]) -> bool:
        moves_on = await self._moves_on()
        deciding = await asyncio.to_thread(
            Deciding, proposal.changes, proposal.decisions, moves_on=moves_on
        )
        asked = [c for n in deciding.order if (c := deciding.change(n)) is not None]
        marks = await self.marks_of(asked[:AT_FIRST])
        if proposal.info.id != self.wanted:
            return False  # another one was opened meanwhile, or this one was left
        opened = is_open(proposal.info)
        self.review.reading_only = not opened
        self.show_mode("review" if opened else "closed")  # first: rows are laid out for a width
        await asyncio.sleep(0)  # the place turns, then its rows come
        sides = sides_of(proposal, self.desk.now())
        self.review.show_proposal(proposal, deciding, marks, pinned, sides=sides)
        self.settle_head()
        self.tasks.latest("marks", self._more_marks(asked[AT_FIRST:], marks))
        return True

    async def _more_marks(self: Any, rest: Sequence[Change], marks: dict[Key, Marks]) -> None:
        """The marks inside words of what is asked later, some hundred changes at a time."""
        for at in range(0, len(rest), AT_FIRST):
            marks |= await self.marks_of(rest[at : at + AT_FIRST])
            self.review.marks_came()

    async def _moves_on(self: Any) -> bool:
        """Whether deciding walks on to the next open change: a setting of the person's."""
        if self.desk.person is None:
            return True
        try:
            look = (await self.desk.person.load()).look
        except UserError:  # a settings file that is not understood is told by the settings
            return True
        return bool(getattr(look, "follow_review", True))

    async def _follow_review(self: Any, proposal_id: str) -> None:
        """The proposal that is shown may have changed under it: by the file, or by another hand.

        It is asked anew: the list at hand may be older than a proposal that was just opened.
        """
        proposal = await self._still_there(proposal_id)
        shown = self.review.proposal
        if shown is None or not shown.info.id == proposal_id == self.wanted:
            return  # another one was opened meanwhile
        if proposal is None or not is_open(proposal.info):
            self.review.clear()
            self.show_mode("file")
            said = tr("The proposal is no longer waiting; it is among all proposals")
            self.undo_bar.show_act(said, tone="info")
            return
        if (proposal.base, proposal.changes) == (shown.base, shown.changes):
            return
        if await self._show_proposal(proposal, self.review.pinned):
            self._say_moved(proposal)
            self._ask_preview()

    async def _still_there(self: Any, proposal_id: str) -> Proposal | None:
        try:
            return await self.desk.engine.ask.proposal(proposal_id)
        except UserError:  # it was put away, or cannot be read any more
            return None

    def _say_note(self: Any, proposal: Proposal) -> None:
        """What the run has to tell of itself, such as that the file was rebuilt."""
        if proposal.note:
            self.notice(proposal.note, tone="info", key="note")
        else:
            self.notices.drop("note")

    def _say_moved(self: Any, proposal: Proposal) -> None:
        conflicts = [c for c in proposal.changes if c.conflict]
        if not proposal.base_changed or not is_open(proposal.info):
            self.notices.drop("moved")
            return
        fits = len(proposal.changes) - len(conflicts)
        if not fits:
            self.notices.drop("moved")
            return
        cause = plural(fits, "{n} change fits by itself", "{n} changes fit by themselves")
        words = tr("they touch lines that nobody else changed")
        shows = (Act(tr("Show"), self.show_fitting),) if conflicts else ()
        self.notice(cause, words, tone="ok", acts=shows, key="moved")

    def show_fitting(self: Any) -> None:
        """The first change that nobody else's edit touches."""
        fitting = [c for c in self.review.deciding.left() if not c.conflict]
        if fitting:
            self.review.go_to(fitting[0].n)

    async def marks_of(self: Any, changes: Sequence[Change]) -> dict[Key, Marks]:
        wanted = pairs(changes)
        if not wanted:
            return {}
        found = await self.desk.engine.ask.marks([(old, new) for _, old, new in wanted])
        return {key: mark for (key, _, _), mark in zip(wanted, found, strict=True)}

    # ------------------------------------------------------------------ deciding

    def decide(self: Any, verdict: Verdict) -> None:
        if self.mode == "review" and not self.review.decide(verdict):
            said = tr("Choose what is written first: 1, 2, 3, 4, or your own words by E")
            self.undo_bar.show_act(said, tone="info")

    def choose(self: Any, key: Choice) -> None:
        """1 to 4: what the conflict in front becomes."""
        if self.mode == "review" and (reason := self.review.choose(key)):
            self.undo_bar.show_act(reason, tone="info")

    def reject_or_restore(self: Any) -> object:
        """R: reject the change in front; of an earlier version, write it back."""
        if self.mode == "version":
            return self.restore()
        self.decide("reject")
        return None

    def take_back(self: Any) -> None:
        self.review.take_back()

    def accept_rest(self: Any) -> None:
        done, left = self.review.accept_rest()
        if not left:
            return  # the circles say it all
        words = plural(done, "{n} change accepted", "{n} changes accepted")
        ask_each = plural(
            left,
            "{n} loss or conflict is asked by itself",
            "{n} losses or conflicts are asked one by one",
        )
        words = f"{words}, {ask_each}"
        self.undo_bar.show_act(words, tone="info")

    def turn(self: Any) -> None:
        self.review.turn()

    def turn_columns(self: Any) -> None:
        """C: the conflicts in three columns, or all changes in their list."""
        if not self.review.show_columns(not self.review.in_columns()):
            said = tr("There is no conflict: nobody else changed these lines")
            self.undo_bar.show_act(said, tone="info")

    def step(self: Any, by: int) -> None:
        """J and K: the next change; at the end of a review, Apply; elsewhere the next line."""
        if self.mode == "review":
            if not self.review.step(by):
                self.acts.apply.setFocus()
        elif self.mode == "closed":
            self.review.step(by)
        elif self.mode == "compare":
            self.compare.step(by)
        elif self.mode == "lists":
            self.lists.list.step(by)
        elif self.mode in ("file", "version"):
            self.file.lines.step(by)

    def _on_decided(self: Any) -> None:
        proposal = self.review.proposal
        if proposal is None or self.mode != "review":
            return
        self.keeper.keep(proposal.info.id, self.review.deciding.decisions())
        self.settle_head()
        self._ask_preview()

    def _ask_preview(self: Any) -> None:
        """One at a time, and after it the newest: a large file costs each of them a while."""
        self._preview_wanted = True
        if not self.tasks.running("preview"):
            self.tasks.start("preview", self._preview())

    async def _preview(self: Any) -> None:
        while self._preview_wanted:
            await asyncio.sleep(PAINT)
            self._preview_wanted = False
            review, proposal = self.review, self.review.proposal
            if proposal is None:
                return
            deciding, turns = review.deciding, review.deciding.turns
            found: Preview = await self.desk.engine.ask.preview(
                proposal.info.id, deciding.decisions()
            )
            shown = review.right.result.rows if review.right.result is not None else None
            result = await asyncio.to_thread(
                result_of, proposal.base, found, accepted(deciding), review.pinned, shown
            )
            if review.deciding is not deciding or turns != deciding.turns:
                self._preview_wanted = True
                continue
            memory = self.memory
            share = memory.tokens / max(len(memory.text), 1) or 0.25
            review.show_result(result, round(share * len(found.text)), memory.budget)

    async def show_raw(self: Any) -> None:
        """The model's untouched answer."""
        proposal = self.review.proposal
        if proposal is None:
            return
        text = proposal.raw or tr("The answer was not kept.")
        shut = (("", tr("Close"), "primary"),)
        await ask(self.window(), tr("The model's answer"), "", shut, code=text[:40_000], width=720)

    # ------------------------------------------------------------------ where things come from

    def open_source(self: Any, source: Source) -> None:
        self.go.emit(Target("daily", path=source.path, line=source.line))

    def open_message(self: Any, source: Source) -> None:
        if not source.session_id:
            raise Unreadable(tr("No message is on record behind this line."), "")
        self.go.emit(Target("timeline", session_id=source.session_id, entry_id=source.entry_id))

    async def messages_of(self: Any, sources: Sequence[Source]) -> dict[tuple[str, str], str]:
        """What was said in the session entries behind these sources; "" for what is gone."""
        found: dict[tuple[str, str], str] = {}
        for source in sources:
            place = (source.session_id, source.entry_id)
            if not source.session_id or place in found:
                continue
            found[place] = ""
            with suppress(UserError):  # a session that is gone: the step says so
                ask = self.desk.engine.ask
                items = await ask.transcript(place[0], around=place[1], limit=1)
                found[place] = items[0].text if items else ""
        return found

    def _source(self: Any) -> Source | None:
        if self.mode == "review":
            return self.review.first_source()
        return self.file.why.first_source() if self.file.why.isVisibleTo(self) else None

    def go_source(self: Any) -> None:
        """G, P: up to the daily log."""
        source = self._source()
        if source is None:
            self.undo_bar.show_act(tr("No source is on record for it"), tone="info")
        else:
            self.open_source(source)

    def go_message(self: Any) -> None:
        """G, M: up to the message."""
        source = self._source()
        if source is None or not source.session_id:
            self.undo_bar.show_act(tr("No message is on record behind it"), tone="info")
        else:
            self.open_message(source)

    def _on_change_wanted(self: Any, n: int) -> None:
        self.give_up()
        self.tasks.start("review", self._review_at(n))

    async def _review_at(self: Any, n: int) -> None:
        waiting = self.waiting()
        if waiting and await self.load_review(waiting[0].id):
            self.review.go_to(n)

    # ------------------------------------------------------------------ the run under way

    def consolidate_or_say(self: Any) -> None:
        if self.job is not None and self.job.state in ("running", "waiting"):
            self.undo_bar.show_act(tr("A consolidation is under way"), tone="info")
            return
        self.notices.drop("run")
        self.tasks.latest("consolidate", self.consolidate())

    def _settle_main(self: Any) -> None:
        main = self.acts.primary
        waiting = self.waiting()
        running = self.job is not None and self.job.state in ("running", "waiting")
        main.set_running(running and not waiting)
        main.set_icon("git-pull-request-arrow" if waiting else "wand-sparkles")
        main.set_key("")
        if waiting:
            words = plural(waiting[0].changes, "Review {n} change", "Review {n} changes")
            reason = ""
        elif running:
            words, reason = self._job_words(), tr("A consolidation is under way.")
        else:
            words, reason = tr("Consolidate now"), ""
        if self.memory.state == "unreadable" and not waiting:
            reason = tr("MEMORY.md cannot be read, so nothing is written to it.")
        main.setText(words)
        main.set_off(reason)

    def _job_words(self: Any) -> str:
        job = self.job
        if job is not None and job.total > 1:
            n, whole = number(job.done), number(job.total)
            return tr("Consolidating, {n} of {all}", n=n, all=whole)
        return tr("Consolidating")

    async def look_at_jobs(self: Any) -> None:
        """The newest consolidation: its progress, and why it failed."""
        self._jobs_asked += 1
        asked = self._jobs_asked
        jobs = await self.desk.engine.ask.jobs(30)
        if asked < self._jobs_told:
            return  # a later look was answered first
        self._jobs_told = asked
        before = self.job
        self.job = next((job for job in jobs if job.kind == "consolidate"), None)
        now = self.job
        if before is not None and now is not None and before.id == now.id:
            self._say_job(before, now)
        self._settle_main()

    def _say_job(self: Any, before: JobInfo, now: JobInfo) -> None:
        if now.state != before.state:
            if now.state in ENDED:
                tone = "lost" if now.state == "failed" else "info"
                said = now.reason or tr("The consolidation made no proposal.")
                look = Act(tr("Look at the job"), lambda: self.go.emit(Target("activity")))
                self.notice(said, now.remedy, tone=tone, acts=(look,), key="run")
            elif now.state == "done" and not self.waiting():
                said = now.result or now.reason or tr("Nothing new was found in the daily logs")
                self.undo_bar.show_act(said, tone="info")
