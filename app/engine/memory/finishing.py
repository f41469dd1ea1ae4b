"""What follows the write of an apply: index, refused claims, section states, the proposal's end.

Done in this order, and again after a crash: each step taken twice is as good as once. Blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

from msgspec import structs

from app.engine.memory.acceptance import tallied
from app.engine.memory.outline import normal
from app.engine.memory.proposals import ProposalStore, RefusedClaims, Stored, counted
from app.engine.memory.settling import Settling, bullets_in, facts_of, traced
from app.engine.memory.views import View, Views, remaining
from app.engine.records import Applied, Change, ProposalState, Version

Reindex = Callable[[str], None]
"""Brings one file of the workspace up to date in the search index; blocks."""


class Finish:
    """Brings everything beside MEMORY.md up to what was written."""

    def __init__(
        self,
        store: ProposalStore,
        refused: RefusedClaims,
        settling: Settling,
        views: Views,
        reindex: Reindex | None,
    ) -> None:
        self._store = store
        self._refused = refused
        self._settling = settling
        self._views = views
        self._reindex = reindex

    def after_write(
        self, stored: Stored, view: View, text: str, version: Version | None, when: datetime
    ) -> Applied:
        """All that follows the write; done again after a crash it does no harm."""
        self.index()
        verdicts = {d.n: d.verdict for d in stored.decisions}
        changes = view.diff.changes
        refused = [c for c in changes if verdicts.get(c.n) == "reject"]
        undecided = [c for c in changes if c.n not in verdicts]
        self.refuse(stored, refused, when)
        self._settling.settle(
            stored.id,
            stored.inputs,
            text,
            kept=traced(stored, bullets_in(text)),
            undecided=traced(stored, facts_of(undecided)),
            refused=traced(stored, facts_of(refused)),
            when=when,
        )
        self._settling.mark(stored.when)
        self._store.withdraw_rivals(stored)
        final: ProposalState = "partly_applied" if refused else "applied"
        if undecided and not stored.automatic:
            final = "in_review"
            self._leave_open(stored, view, text, version.number if version else 0, undecided)
        else:
            self._store.update(stored, state=final)
        ours = version is not None and version.run == stored.id
        return Applied(
            version=version.number if version else 0,
            proposal=stored.id,
            state=final,
            added=version.added if version and ours else 0,
            dropped=version.dropped if version and ours else 0,
            left_waiting=len(undecided),
        )

    def _leave_open(
        self, stored: Stored, view: View, text: str, number: int, undecided: Sequence[Change]
    ) -> None:
        """What is undecided stays waiting: the proposal goes on, on top of version `number`."""
        # Of the bytes we wrote, not of the file: after a crash it may hold a hand edit by now.
        wrote = stored.base_sha256 if text == stored.base else stored.result_sha256
        written = structs.replace(stored, base=text, base_sha256=wrote)
        began = self._views.began(stored) if any(c.conflict for c in undecided) else number
        rest = remaining(View(written, view.diff), undecided, began)
        self._store.update(
            stored,
            state="in_review",
            decisions=(),
            tally=tallied(stored),
            result_sha256="",
            counts=counted(rest.diff.changes),
            **texts_of(rest),
        )
        self._views.forget(stored.id)

    def refuse(self, stored: Stored, refused: Iterable[Change], when: datetime) -> None:
        """Remember what refused changes would have brought or lost, so that it is not proposed
        again."""
        for change in refused:
            if change.kind == "dropped":
                self._refused.add(change.before, run=stored.id, when=when, what="loss")
            if change.kind in ("added", "reworded", "merged", "split"):
                old = {normal(line) for line in change.before}
                new = [line for line in change.after if normal(line) not in old]
                sources = sorted(traced(stored, facts_of([change])))
                self._refused.add(new, run=stored.id, when=when, sources=sources)

    def index(self) -> None:
        """New text is found before old text goes."""
        if self._reindex is not None:
            self._reindex("MEMORY.md")


def texts_of(view: View) -> dict[str, Any]:
    """What is kept of a view: the texts, and what decisions on it are numbers of."""
    stored = view.stored
    return {
        "base": stored.base,
        "base_sha256": stored.base_sha256,
        "candidate": "\n".join(view.diff.result),
        "started": stored.started,
        "wanted": stored.wanted,
        "began": stored.began,
        "apart": stored.apart,
    }
