"""A proposal seen on top of MEMORY.md as it is now.

Decisions are numbers on a difference, and the difference changes when the file does. So what was
shown last is remembered: decisions on it are carried to the difference of now by what they are
about, and a yes to something that has become a conflict is never carried. Nothing here writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache

import msgspec
from msgspec import Struct

from app.engine.errors import UserError
from app.engine.memory.apart import Group, group_of, taken_apart
from app.engine.memory.diff import Difference, difference
from app.engine.memory.outline import bullet_key
from app.engine.memory.proposals import OPEN, Stored
from app.engine.memory.provenance import source_of
from app.engine.memory.review import accept_all, carried, resolved
from app.engine.memory.settling import facts_of
from app.engine.memory.threeway import joined
from app.engine.records import Change, Decision, Version
from app.engine.workspace.files import well_formed
from app.engine.workspace.layout import Layout
from app.engine.workspace.memory_file import MemoryFile, MemoryWriter
from app.engine.workspace.secrets import mask


class View(Struct, frozen=True):
    """A proposal on top of the file as it is, and the decisions that lie between."""

    stored: Stored
    diff: Difference


class Views:
    """The views of one workspace's proposals. Reads the file: call it in a thread."""

    def __init__(self, layout: Layout, writer: MemoryWriter) -> None:
        self._layout = layout
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
        same = now.sha256 == stored.base_sha256
        if same or stored.state not in OPEN or now.state == "unreadable":
            return View(stored, difference_of(stored))
        return _moved(stored, now)

    def translated(
        self, stored: Stored, decisions: Sequence[Decision]
    ) -> tuple[View, tuple[Decision, ...]]:
        """The view now, and decisions on what was shown last as decisions on it.

        Of two decisions on a change the later one counts. Raises `UserError` for one on a change
        that was not shown.
        """
        seen = self._seen.get(stored.id) or View(stored, difference_of(stored))
        wanted = tuple({d.n: _sound(d) for d in decisions}.values())
        for decision in wanted:
            _change(seen, decision.n)
        view = self.look(stored)
        if _same_changes(view.stored, seen.stored):
            return view, wanted
        return view, carried(wanted, seen.diff.changes, view.diff.changes)

    def began(self, stored: Stored) -> int:
        """The number of the version the run began with; 0 when no version holds that text."""
        if stored.began:
            return stored.began
        start, _ = stored.first
        newest_first = self._writer.history.walk()
        return next((v.number for v, text in newest_first if text == start), 0)

    def changed(self, stored: Stored) -> Version | None:
        """What changed the file since the run began; None while it is the same.

        The newest version, or one of number 0 for an edit on the disk that is no version yet.
        """
        if not base_changed(stored):
            return None
        latest = self._writer.history.latest()
        if latest is not None and self._writer.history.latest_text() == stored.base:
            return latest
        try:
            stamp = self._layout.memory_md.stat().st_mtime
        except OSError:
            stamp = stored.when.timestamp()
        return Version(0, "", datetime.fromtimestamp(stamp, UTC), "external")


def base_changed(stored: Stored) -> bool:
    """Is the file another than the one the run began with?"""
    return stored.base != stored.first[0]


def difference_of(stored: Stored) -> Difference:
    """The decisions of a stored proposal: what it proposes, on its base, with the conflicts."""
    return _difference(*stored.first, stored.apart, stored.base)


@lru_cache(maxsize=3)  # each decision of a review asks for the same one twice
def _difference(started: str, wanted: str, groups: tuple[Group, ...], base: str) -> Difference:
    return joined(taken_apart(difference(started, wanted), groups), base)


def _moved(stored: Stored, now: MemoryFile) -> View:
    started, wanted = stored.first
    moved = msgspec.structs.replace(
        stored, base=now.text, base_sha256=now.sha256, started=started, wanted=wanted
    )
    return _carried(stored, moved)


def _carried(before: Stored, after: Stored) -> View:
    """`after` with its candidate and what still holds of the decisions kept in `before`."""
    diff = difference_of(after)
    kept = carried(before.decisions, difference_of(before).changes, diff.changes)
    candidate = "\n".join(diff.result)
    return View(msgspec.structs.replace(after, candidate=candidate, decisions=kept), diff)


def remaining(view: View, undecided: Sequence[Change], began: int) -> View:
    """What is left of a proposal whose decisions were just written as the view's base.

    What was decided is part of both its texts from then on; a conflict that is left still compares
    with the lines both sides started from.
    """
    stored = view.stored
    taken = [d for d in stored.decisions if d.verdict == "accept"]
    wanted = [*taken, *(Decision(c.n, "accept") for c in undecided)]
    back = (Decision(c.n, "accept", "\n".join(c.old)) for c in undecided if c.conflict)
    rest = msgspec.structs.replace(
        stored,
        started=mask(resolved(view.diff, [*taken, *back])).text,
        wanted=mask(resolved(view.diff, wanted)).text,
        began=began,
    )
    return View(rest, difference_of(rest))


def begun_anew(stored: Stored, text: str, sha256: str) -> View | None:
    """An open proposal after the file went from its base to `text`, of that hash, by an undo.

    Its start goes the same way while what it wants stays, so what the undo took out is proposed
    again. None when a conflict of the proposal lies where the undo was.
    """
    started, wanted = stored.first
    way = joined(difference(stored.base, text), started)
    if any(c.conflict for c in way.changes):
        return None
    moved = msgspec.structs.replace(
        stored,
        base=text,
        base_sha256=sha256,
        started=resolved(way, accept_all(way.changes)),
        wanted=wanted,
        began=0,
    )
    return _carried(stored, moved)


def _sound(decision: Decision) -> Decision:
    """A decision whose own words can be written: a half of a character cannot."""
    if decision.text is None:
        return decision
    text = well_formed(decision.text).replace("\r\n", "\n")
    return msgspec.structs.replace(decision, text=text)


def _same_changes(one: Stored, other: Stored) -> bool:
    return (one.base_sha256, one.apart) == (other.base_sha256, other.apart)


# ---------------------------------------------------------------------------- taking apart


def apart(view: View, n: int) -> View:
    """The view with merge or split `n` as its dropped and added lines. Raises `UserError`."""
    change = _change(view, n)
    if change.kind not in ("merged", "split") or not change.before or not change.after:
        raise UserError(
            f"Change {n} is no merge and no split.", "Choose one that joins or parts lines."
        )
    group = (change.old or change.before, change.after)
    stored = view.stored
    return _carried(stored, msgspec.structs.replace(stored, apart=(*stored.apart, group)))


def together(view: View, n: int) -> View:
    """The view with the group of part `n` as one change again. Raises `UserError`."""
    stored = view.stored
    part = _change(view, n)
    group = group_of(part, stored.apart) if part.group else None
    if group is None:
        raise UserError(f"Change {n} is no part of a group.", "Choose one that was taken apart.")
    rest = tuple(g for g in stored.apart if g != group)
    return _carried(stored, msgspec.structs.replace(stored, apart=rest))


def _change(view: View, n: int) -> Change:
    found = next((c for c in view.diff.changes if c.n == n), None)
    if found is None:
        raise UserError(f"There is no change {n}.", "Look at the proposal again.")
    return found


def sourced(stored: Stored, change: Change) -> Change:
    """A change with the daily-log lines it stems from."""
    sources = tuple(
        source_of(origin)
        for fact in facts_of([change])
        for origin in stored.origins.get(bullet_key(fact), ())
    )
    return msgspec.structs.replace(change, sources=sources) if sources else change
