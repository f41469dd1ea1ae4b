"""A proposal seen on top of MEMORY.md as it is now.

Decisions are numbers on a difference, and the difference changes when the file does. So what was
shown last is remembered: decisions on it are carried to the difference of now by what they are
about, and a yes to something that has become a conflict is never carried. Nothing here writes.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from app.engine.memory.diff import Difference, difference
from app.engine.memory.outline import bullet_key
from app.engine.memory.proposals import OPEN, Stored
from app.engine.memory.provenance import source_of
from app.engine.memory.review import Merged, carried, marked, merge
from app.engine.memory.settling import facts_of
from app.engine.records import Change, Decision
from app.engine.workspace.memory_file import MemoryFile, MemoryWriter


class View(Struct, frozen=True):
    """A proposal on top of the file as it is, and the decisions that lie between."""

    stored: Stored
    diff: Difference


class Views:
    """The views of one workspace's proposals. Reads the file: call it in a thread."""

    def __init__(self, writer: MemoryWriter) -> None:
        self._writer = writer
        self._seen: dict[str, View] = {}

    def seen(self, view: View) -> None:
        """Remember what was shown last of this proposal."""
        self._seen[view.stored.id] = view

    def forget(self, proposal_id: str) -> None:
        """What was shown last of this proposal counts no more: its base is a new one."""
        self._seen.pop(proposal_id, None)

    def look(self, stored: Stored) -> View:
        """`stored` moved onto the file now; a closed one as it was."""
        now = self._writer.read()
        if stored.state not in OPEN or now.state == "unreadable":
            return View(stored, difference(stored.base, stored.candidate))
        if now.sha256 == stored.base_sha256:
            return View(stored, marked_difference(stored))
        return _moved(stored, now)

    def translated(
        self, stored: Stored, decisions: Sequence[Decision]
    ) -> tuple[View, tuple[Decision, ...]]:
        """The view now, and decisions on what was shown last as decisions on it."""
        seen = self._seen.get(stored.id) or View(stored, marked_difference(stored))
        view = self.look(stored)
        if view.stored.base_sha256 == seen.stored.base_sha256:
            return view, tuple(decisions)
        return view, carried(decisions, seen.diff.changes, view.diff.changes)


def marked_difference(stored: Stored) -> Difference:
    """The difference of a stored proposal, with its conflicts."""
    merged = Merged(stored.candidate, frozenset(stored.ours), frozenset(stored.result))
    return marked(difference(stored.base, stored.candidate), merged)


def _moved(stored: Stored, now: MemoryFile) -> View:
    merged = merge(stored.base, stored.candidate, now.text)
    moved = msgspec.structs.replace(
        stored,
        base=now.text,
        base_sha256=now.sha256,
        candidate=merged.text,
        ours=tuple(sorted(merged.ours)),
        result=tuple(sorted(merged.result)),
        rebased=True,
    )
    diff = marked_difference(moved)
    kept = carried(stored.decisions, marked_difference(stored).changes, diff.changes)
    return View(msgspec.structs.replace(moved, decisions=kept), diff)


def sourced(stored: Stored, change: Change) -> Change:
    """A change with the daily-log lines it stems from."""
    sources = tuple(
        source_of(origin)
        for fact in facts_of([change])
        for origin in stored.origins.get(bullet_key(fact), ())
    )
    return msgspec.structs.replace(change, sources=sources) if sources else change
