"""From decisions to the file: one transaction that survives a kill at any point.

Order (specification, section 10): state `applying` with base and result hash is durable first; then
the writer replaces MEMORY.md and adds a version with provenance; then the index; then section
states and watermark; last the final state. What a crash left in between is finished or taken back
by `resume_applying`. When the file changed under the review, untouched changes merge alone and the
rest ask again: a hand edit is never overwritten. Everything here blocks: call it in a thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime

from app.engine.errors import BaseChanged, UserError
from app.engine.memory.finishing import Finish, Reindex, texts_of
from app.engine.memory.headings import with_headings
from app.engine.memory.proposals import (
    OPEN,
    Input,
    ProposalStore,
    RefusedClaims,
    Stored,
    counted,
    info_of,
)
from app.engine.memory.review import accept_all, resolved
from app.engine.memory.review import preview as preview_of
from app.engine.memory.settling import Settling, bullets_in, traced, with_edits
from app.engine.memory.versions import pins_hold, told_of, undone_at
from app.engine.memory.views import (
    View,
    Views,
    apart,
    base_changed,
    begun_anew,
    difference_of,
    sourced,
    together,
)
from app.engine.records import (
    Applied,
    Decision,
    Preview,
    Proposal,
    Version,
)
from app.engine.workspace.files import digest, encode, lock, well_formed
from app.engine.workspace.layout import Layout
from app.engine.workspace.memory_file import MemoryWriter
from app.engine.workspace.secrets import mask
from app.engine.workspace.sections import SectionStates

_TRIES = 5


class Review:
    """The decisions on the proposals of one workspace. Synchronous."""

    def __init__(
        self,
        layout: Layout,
        writer: MemoryWriter,
        states: SectionStates,
        store: ProposalStore,
        refused: RefusedClaims,
        reindex: Reindex | None = None,
    ) -> None:
        self._layout = layout
        self._writer = writer
        self.store = store
        self.refused = refused
        self._settling = Settling(layout, states)
        self._views = Views(layout, writer)
        self._finish = Finish(store, refused, self._settling, self._views, reindex)

    # ------------------------------------------------------------------ looking

    def show(self, proposal_id: str) -> Proposal:
        """One proposal on top of the file as it is now; writes nothing."""
        view = self._views.look(self.store.load(proposal_id))
        self._views.seen(view)
        stored = view.stored
        return Proposal(
            info=info_of(stored),
            base=stored.base,
            candidate=stored.candidate,
            checks=stored.checks,
            changes=tuple(sourced(stored, c) for c in view.diff.changes),
            decisions=stored.decisions,
            raw=stored.raw,
            base_changed=base_changed(stored),
            note=stored.note or stored.error,
            started_from=self._views.began(stored),
            changed=self._views.changed(stored),
        )

    def preview(self, proposal_id: str, decisions: Sequence[Decision]) -> Preview:
        """What applying these decisions would write now; they are on the changes last shown."""
        stored = self.store.load(proposal_id)
        view, taken = self._views.translated(stored, decisions)
        return preview_of(view.diff, with_headings(view.diff, taken))

    # ------------------------------------------------------------------ deciding

    def keep(self, proposal_id: str, decisions: Sequence[Decision]) -> None:
        """Store decisions that are not applied yet; the proposal is `in_review` from then on."""
        with self._locked():
            stored = self._open(proposal_id)
            view, taken = self._views.translated(stored, decisions)
            self._keep(stored, view, taken)

    def take_apart(self, proposal_id: str, n: int) -> None:
        """Make each line of merge or split `n` a decision of its own. Raises `UserError`."""
        self._regroup(proposal_id, n, apart)

    def put_together(self, proposal_id: str, n: int) -> None:
        """Make the group that part `n` was taken from one decision again. Raises `UserError`."""
        self._regroup(proposal_id, n, together)

    def _regroup(self, proposal_id: str, n: int, change: Callable[[View, int], View]) -> None:
        with self._locked():
            stored = self._open(proposal_id)
            seen, _ = self._views.translated(stored, ())
            view = change(seen, n)
            self._keep(stored, view, view.stored.decisions)

    def _keep(self, stored: Stored, view: View, taken: Sequence[Decision]) -> View:
        kept = self.store.update(
            stored,
            state="in_review",
            decisions=tuple(taken),
            counts=counted(view.diff.changes),
            **texts_of(view),
        )
        view = View(kept, view.diff)
        self._views.seen(view)
        return view

    def reject(self, proposal_id: str, reason: str, *, when: datetime) -> None:
        """Refuse the whole proposal: its sections are rejected, its claims are remembered."""
        with self._locked():
            stored = self._open(proposal_id)
            self._reject(stored, self._views.look(stored), reason, when)

    def _reject(self, stored: Stored, view: View, reason: str, when: datetime) -> None:
        if stored.state == "proposed":
            stored = self.store.update(stored, state="in_review")
        self._finish.refuse(stored, view.diff.changes, when)
        said = well_formed(reason).strip() or "The whole proposal was refused."
        self._settling.reject(stored.id, stored.inputs, said, when)
        self._settling.mark(stored.when)
        self.store.update(stored, state="rejected", note=said)

    def _open(self, proposal_id: str) -> Stored:
        stored = self.store.load(proposal_id)
        if stored.state not in OPEN:
            raise stored.closed()
        return stored

    # ------------------------------------------------------------------ applying

    def apply(
        self,
        proposal_id: str,
        decisions: Sequence[Decision],
        *,
        when: datetime,
        automatic: bool = False,
    ) -> Applied:
        """Write what the decisions say, as one version; what is undecided stays waiting.

        Raises `BaseChanged` when an accepted change now meets a hand edit (the decisions are kept),
        `ProposalClosed`, `StorageError`, `Unreadable`; the file is then unchanged.
        """
        with self._locked():
            stored = self._open(proposal_id)
            for left in reversed(range(_TRIES)):
                view, taken = self._views.translated(stored, decisions)
                self._agreed(stored, view, decisions, taken)
                said = bool(taken)
                taken = with_headings(view.diff, taken)
                if said and not taken:
                    raise UserError(
                        "A heading is not written without a line under it.",
                        "Accept one of its lines, too, or reject the heading.",
                    )
                if taken and len(taken) == len(view.diff.changes) and not _accepted(taken):
                    self._reject(stored, view, "", when)
                    return self._nothing_written(stored)
                try:
                    return self._write(stored, view, taken, when, automatic=automatic)
                except BaseChanged:
                    stored = self.store.load(proposal_id)
                    if not left:
                        raise
            raise AssertionError("unreachable")

    def apply_all(self, proposal_id: str, *, when: datetime) -> Applied:
        """Apply everything by policy. Raises `BaseChanged` when a hand edit is in the way."""
        view = self._views.look(self.store.load(proposal_id))
        if any(c.conflict for c in view.diff.changes):
            raise BaseChanged("MEMORY.md was changed where this proposal changes it too.")
        self._views.seen(view)
        return self.apply(proposal_id, accept_all(view.diff.changes), when=when, automatic=True)

    def _agreed(
        self, stored: Stored, view: View, wanted: Sequence[Decision], taken: Sequence[Decision]
    ) -> None:
        """Every yes must still mean what the person saw; nothing decided is nothing to apply."""
        if _accepted(wanted) > _accepted(taken):
            conflicts = any(c.conflict for c in view.diff.changes)
            self._keep(stored, view, taken)
            if conflicts:
                raise BaseChanged("MEMORY.md was changed where this proposal changes it too.")
        if not wanted:
            raise UserError("Nothing is decided yet.", "Accept or reject a change first.")

    def _write(
        self,
        stored: Stored,
        view: View,
        taken: Sequence[Decision],
        when: datetime,
        *,
        automatic: bool,
    ) -> Applied:
        base = view.stored
        text = _written(view, taken)
        pins_hold(self._writer.pins(), base.base, text)
        now = self._writer.readable()
        if now.sha256 != base.base_sha256:
            raise BaseChanged("MEMORY.md was changed while this was being prepared.")
        applying = self.store.update(
            stored,
            state="applying",
            **texts_of(view),
            decisions=tuple(taken),
            origins=with_edits(stored.origins, view.diff.changes, taken),
            automatic=automatic,
            result_sha256=digest(encode(text, newline=now.newline, bom=now.bom)),
        )
        try:
            version = self._commit(applying, view, text, when)
        except Exception:
            self.store.update(applying, state="in_review", result_sha256="")
            raise
        return self._finish.after_write(applying, view, text, version, when)

    def _nothing_written(self, stored: Stored) -> Applied:
        latest = self._writer.history.latest()
        return Applied(latest.number if latest else 0, stored.id, "rejected")

    def _commit(self, stored: Stored, view: View, text: str, when: datetime) -> Version | None:
        if text == view.stored.base:
            return self._writer.history.latest()
        return self._writer.write(
            text,
            base_sha256=stored.base_sha256,
            **told_of(stored, text, self._writer.history, when),
        )

    def settle_unchanged(
        self, run: str, inputs: Sequence[Input], text: str, *, when: datetime
    ) -> None:
        """A run that changed nothing: its sections are merged already, or left out."""
        with self._locked():
            self._settling.settle(run, inputs, text, when=when)
            self._settling.mark(when)

    # ------------------------------------------------------------------ after a crash, and back

    def resume_applying(self, *, when: datetime) -> list[str]:
        """Finish or take back what was being applied when the program went away.

        Call it at open, before `MemoryWriter.notice_external`. The ids that were touched.
        """
        with self._locked():
            touched: list[str] = []
            for stored in self.store.all():
                if stored.state == "applying":
                    self._resume(stored, when)
                    touched.append(stored.id)
            return touched

    def _resume(self, stored: Stored, when: datetime) -> None:
        now = self._writer.read()
        view = View(stored, difference_of(stored))
        if now.sha256 == stored.result_sha256:
            version = self._commit_late(stored, now.text, when)
            self._finish.after_write(stored, view, now.text, version, when)
            return
        text = _written(view, stored.decisions)
        done = next((v for v, its in self._writer.history.walk(50)
                     if v.run == stored.id and its == text), None)  # fmt: skip
        if done is not None and now.sha256 != stored.base_sha256:
            self._finish.after_write(stored, view, text, done, when)
            return
        self.store.update(stored, state="in_review", result_sha256="")

    def _commit_late(self, stored: Stored, text: str, when: datetime) -> Version | None:
        history = self._writer.history
        if history.latest_text() == text:
            return history.latest()
        with lock(self._layout.lock_file("memory")):
            return history.commit(text, **told_of(stored, text, self._writer.history, when))

    def undo(self, *, when: datetime) -> Applied:
        """Take the newest version back by a new one.

        What a taken-back run had merged waits again: to be decided in its proposal while that is
        open, else to be proposed anew. Taking the undo back makes it merged again.
        """
        with self._locked():
            version = self._writer.undo(when=when)
            self._finish.index()
            history = self._writer.history
            taken, times = undone_at(history, version.number)
            text = history.text(version.number)
            stored = self._known(taken.run)
            if stored is not None and stored.state == "in_review":
                self._follow(stored, history.text(version.number - 1), text)
            if times % 2:
                kept = traced(stored, bullets_in(text)) if stored else frozenset[str]()
                self._settling.take_back(taken.run, text, kept, when)
            else:
                self._settling.bring_back(taken.run, when)
            return _applied(version, taken.run)

    def taken_back(self, inputs: Sequence[Input]) -> bool:
        """Did an undo take any of these sections out of memory, undecided since?"""
        return self._settling.taken_back(inputs)

    def _known(self, run: str) -> Stored | None:
        try:
            return self.store.load(run) if run else None
        except UserError:  # a saved fact has none, and a damaged one is left alone
            return None

    def _follow(self, stored: Stored, before: str, after: str) -> None:
        """An undo made `before` into `after`: what it undid of an open proposal waits again.

        A file that was changed since the apply is one that the proposal is joined with, as ever.
        """
        if stored.base != before:
            return
        view = begun_anew(stored, after, self._writer.readable().sha256)
        if view is not None:
            self._keep(stored, view, view.stored.decisions)

    def restore(self, number: int, *, when: datetime) -> Applied:
        """Write an earlier version back as a new one."""
        with self._locked():
            version = self._writer.restore(number, when=when)
            self._finish.index()
            return _applied(version, "")

    def _locked(self) -> AbstractContextManager[None]:
        return lock(self._layout.lock_file("review"))


def _written(view: View, decisions: Sequence[Decision]) -> str:
    return mask(resolved(view.diff, decisions)).text


def _accepted(decisions: Sequence[Decision]) -> int:
    return sum(1 for d in decisions if d.verdict == "accept")


def _applied(version: Version, proposal: str) -> Applied:
    return Applied(
        version=version.number, proposal=proposal, state=version.cause,
        added=version.added, dropped=version.dropped,
    )  # fmt: skip
