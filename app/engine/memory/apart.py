"""A merge or a split taken apart: each of its lines a decision of its own.

A person who wants one half of a merge needs its lines one by one: those that would go as drops,
those that would come as additions (specification of the windows, section 6). Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from app.engine.memory.diff import Difference, Slot
from app.engine.records import Change

Group = tuple[tuple[str, ...], tuple[str, ...]]
"""A change's lines before and after, by which it is known in every later difference."""


def taken_apart(diff: Difference, groups: Sequence[Group]) -> Difference:
    """`diff` with the changes that `groups` name in their parts; `Change.group` tells them."""
    whole = {c.n: c for c in diff.changes}
    broken = {c.n for c in diff.changes if _is_broken(c, groups)}
    if not broken:
        return diff
    made: list[Change] = []
    slots: list[Slot] = []
    numbers: dict[int, int] = {0: 0}  # a whole change, or the first part of a broken one
    last: dict[int, int] = {}  # the newest part of a broken change, for the blank lines beside it
    for slot in diff.slots:
        if slot.n not in broken or slot.rider:
            if slot.n not in numbers and slot.n not in broken:
                numbers[slot.n] = len(made) + 1
                made.append(msgspec.structs.replace(whole[slot.n], n=len(made) + 1))
            owner = last.get(slot.n) or numbers.get(slot.n) or -slot.n
            slots.append(msgspec.structs.replace(slot, n=owner))
            continue
        for part in _parts(slot):
            n = last[slot.n] = len(made) + 1
            group = numbers.setdefault(slot.n, n)
            made.append(_piece(diff, whole[slot.n], part, n, group))
            slots.append(msgspec.structs.replace(part, n=n))
    slots = [msgspec.structs.replace(s, n=numbers[-s.n]) if s.n < 0 else s for s in slots]
    return Difference(diff.base, diff.result, tuple(made), tuple(slots))


_KINDS = ("merged", "split", "reworded")  # what is left of a broken group may be one to one


def _is_broken(change: Change, groups: Sequence[Group]) -> bool:
    both = change.kind in _KINDS and change.before and change.after  # blank lines alone have none
    return bool(both) and group_of(change, groups) is not None


def group_of(change: Change, groups: Sequence[Group]) -> Group | None:
    """The group that holds all lines of a change."""
    before, after = set(change.old or change.before), set(change.after)
    return next((g for g in groups if before.issubset(g[0]) and after.issubset(g[1])), None)


def _parts(slot: Slot) -> tuple[Slot, ...]:
    """What goes, and behind it what comes."""
    if slot.old[0] == slot.old[1] or slot.new[0] == slot.new[1]:
        return (slot,)
    gone = Slot(slot.n, slot.old, (slot.new[0], slot.new[0]))
    return gone, Slot(slot.n, (slot.old[1], slot.old[1]), slot.new)


def _piece(diff: Difference, change: Change, slot: Slot, n: int, group: int) -> Change:
    gone = slot.old[0] < slot.old[1]
    return msgspec.structs.replace(
        change,
        n=n,
        kind="dropped" if gone else "added",
        before=diff.base[slice(*slot.old)],
        after=diff.result[slice(*slot.new)],
        base_line=slot.old[0] + 1 if gone else 0,
        result_line=0 if gone else slot.new[0] + 1,
        group=group,
    )
