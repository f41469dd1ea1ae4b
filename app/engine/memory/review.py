"""Decisions turned into text, and two edits of one file joined.

`resolve`: accepting everything gives the candidate and rejecting everything the base, byte for
byte; any mixture holds every accepted and no rejected change and every untouched byte. What is not
decided is not written. `merge`: what somebody else changed meanwhile stays, whatever a proposal
says; where both touched the same lines the change is marked as a conflict and nothing wins unasked
(specification, section 10). Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec import Struct

from app.engine.memory.diff import Difference, Slot, difference
from app.engine.memory.outline import lines_of
from app.engine.records import Change, Decision, Preview


def resolve(
    base: str, candidate: str, changes: Sequence[Change], decisions: Iterable[Decision]
) -> str:
    """The text these decisions make. `changes` are those of `diff.changes(base, candidate)`."""
    del changes  # they follow from the two texts; named so that a caller cannot mix reviews up
    return resolved(difference(base, candidate), decisions)


def resolved(diff: Difference, decisions: Iterable[Decision]) -> str:
    """As `resolve`, for a difference that is at hand."""
    taken = {d.n: d for d in decisions if d.verdict == "accept"}
    written: set[int] = set()
    lines: list[str] = []
    for slot in diff.slots:
        lines += _written(diff, slot, taken, written)
    return "\n".join(lines)


def _written(
    diff: Difference, slot: Slot, taken: Mapping[int, Decision], written: set[int]
) -> Sequence[str]:
    decision = taken.get(slot.n)
    if decision is None:
        return diff.base[slice(*slot.old)]
    text = decision.text
    if text is None or slot.rider or slot.n == 0:
        return diff.result[slice(*slot.new)]
    if slot.n in written or (slot.new[0] == slot.new[1] and diff.changes[slot.n - 1].after):
        return ()  # the person's own words stand once, where the change would have put its first
    written.add(slot.n)
    return lines_of(text)


def preview(now: str, diff: Difference, decisions: Sequence[Decision]) -> Preview:
    """What applying these decisions would write, and which of its lines the file now lacks."""
    text = resolved(diff, decisions)
    verdicts = {d.n: d.verdict for d in decisions}
    known = [verdicts.get(c.n) for c in diff.changes]
    touched = {
        line + 1
        for slot in difference(now, text).slots
        if slot.n
        for line in range(*slot.new)
    }  # fmt: skip
    return Preview(
        text=text,
        touched=tuple(sorted(touched)),
        undecided=known.count(None),
        accepted=known.count("accept"),
        rejected=known.count("reject"),
    )


def accept_all(changes: Iterable[Change]) -> tuple[Decision, ...]:
    """A yes to every change."""
    return tuple(Decision(c.n, "accept") for c in changes)


# ---------------------------------------------------------------------------- three texts


class Merged(Struct, frozen=True):
    """A candidate moved onto the file as it is now.

    `text` is the new candidate: their changes on top of what stands now. `ours` and `result` are
    0-based lines, of the file now and of `text`, where both sides changed the same thing.
    """

    text: str
    ours: frozenset[int] = frozenset()
    result: frozenset[int] = frozenset()


class _Edit(Struct, frozen=True):
    """One side's lines for base lines `old`."""

    old: tuple[int, int]
    lines: tuple[str, ...]
    at: int  # the first of these lines in that side's own text
    pair: bool = False  # one block became another


def merge(base: str, candidate: str, now: str) -> Merged:
    """Put the changes of `candidate` on the file as it stands `now`.

    Both changed the same block: the candidate's form is in `text` and the place is in `ours` and
    `result`, so that a review shows it as a conflict. Both added at one place: both stay.
    """
    if now == base:
        return Merged(candidate)
    if now == candidate:
        return Merged(now)
    lines: list[str] = []
    ours: set[int] = set()
    result: set[int] = set()
    base_lines = lines_of(base)
    at = 0
    for theirs, mine in _clusters(_edits(base, candidate), _edits(base, now)):
        start = min(e.old[0] for e in (*theirs, *mine))
        end = max(e.old[1] for e in (*theirs, *mine))
        lines += base_lines[at:start]
        at = end
        wanted = _applied(theirs, base_lines, start, end)
        kept = _applied(mine, base_lines, start, end)
        if not mine or wanted == kept:
            lines += wanted
        elif not theirs:
            lines += kept
        elif start == end:
            lines += kept + [line for line in wanted if line not in kept or not line.strip()]
        else:
            result.update(range(len(lines), len(lines) + len(wanted)))
            ours.update(k for e in mine for k in range(e.at, e.at + max(1, len(e.lines))))
            lines += wanted
    lines += base_lines[at:]
    return Merged("\n".join(lines), frozenset(ours), frozenset(result))


def _edits(base: str, other: str) -> list[_Edit]:
    """One side's edits. Lines that went and lines that came in their place are one edit."""
    diff = difference(base, other)
    edits: list[_Edit] = []
    for slot in diff.slots:
        if not slot.n:
            continue
        edit = _Edit(slot.old, tuple(diff.result[slice(*slot.new)]), slot.new[0])
        last = edits[-1] if edits else None
        if last is not None and last.pair is False and last.old[1] == slot.old[0]:
            came = slot.old[0] == slot.old[1]
            if came and last.old[0] < last.old[1]:
                first = last.at if last.lines else edit.at
                edits[-1] = _Edit(last.old, last.lines + edit.lines, first)
                continue
        pair = slot.old[0] < slot.old[1] and slot.new[0] < slot.new[1]
        edits.append(msgspec.structs.replace(edit, pair=pair))
    return edits


def _clusters(theirs: list[_Edit], mine: list[_Edit]) -> Iterable[tuple[list[_Edit], list[_Edit]]]:
    """Edits of both sides, in order; those that touch the same base lines together."""
    tagged = sorted(
        [(e.old, 1, e) for e in theirs] + [(e.old, 0, e) for e in mine],
        key=lambda t: (t[0][0], t[0][1], t[1]),
    )
    group: tuple[list[_Edit], list[_Edit]] = ([], [])
    reach: tuple[int, int] | None = None
    for old, side, edit in tagged:
        if reach is not None and not _touch(reach, old):
            yield group
            group, reach = ([], []), None
        group[0 if side else 1].append(edit)
        reach = old if reach is None else (min(reach[0], old[0]), max(reach[1], old[1]))
    if reach is not None:
        yield group


def _touch(reach: tuple[int, int], old: tuple[int, int]) -> bool:
    """Do two stretches share a line, or are both insertions at one place?"""
    if reach == old:
        return True
    return reach[0] < old[1] and old[0] < reach[1]


def _applied(edits: list[_Edit], base: list[str], start: int, end: int) -> list[str]:
    lines: list[str] = []
    at = start
    for edit in edits:
        lines += base[at : edit.old[0]]
        lines += edit.lines
        at = max(at, edit.old[1])
    return lines + base[at:end]


def marked(diff: Difference, merged: Merged) -> Difference:
    """Mark as conflicts the changes that lie where both sides wrote.

    A drop and an addition that meet in a conflict are its two sides, hence one decision, however
    unlike the lines are.
    """
    hit: dict[int, None] = {}
    for slot in diff.slots:
        if slot.n and not (
            merged.ours.isdisjoint(range(*slot.old)) and merged.result.isdisjoint(range(*slot.new))
        ):
            hit[slot.n] = None
    if not hit:
        return diff
    twins = _twins([diff.changes[n - 1] for n in hit], diff.slots)
    numbers = {
        old: new
        for new, old in enumerate((c.n for c in diff.changes if c.n not in twins), 1)
    }  # fmt: skip
    renumbered = {n: numbers[twins.get(n, n)] for n in (c.n for c in diff.changes)} | {0: 0}
    joined = {kept: diff.changes[gone - 1] for gone, kept in twins.items()}
    made = [
        _joined(c, joined.get(c.n), n=numbers[c.n], conflict=c.n in hit)
        for c in diff.changes
        if c.n not in twins
    ]
    slots = tuple(msgspec.structs.replace(s, n=renumbered[s.n]) for s in diff.slots)
    return msgspec.structs.replace(diff, changes=tuple(made), slots=slots)


def _twins(hit: Sequence[Change], slots: Sequence[Slot]) -> dict[int, int]:
    """Change that is swallowed -> change that swallows it: drop and addition side by side."""
    kinds = {c.n: c.kind for c in hit}
    twins: dict[int, int] = {}
    last = 0
    for n in (s.n for s in slots if not s.rider):
        pair = {kinds.get(n), kinds.get(last)} == {"dropped", "added"}
        if pair and n > last and n not in twins and last not in twins:
            twins[n] = last
            last = 0
        else:
            last = n
    return twins


def _joined(change: Change, twin: Change | None, *, n: int, conflict: bool) -> Change:
    change = msgspec.structs.replace(change, n=n, conflict=conflict)
    if twin is None:
        return change
    return msgspec.structs.replace(
        change,
        kind="reworded",
        before=change.before + twin.before,
        after=change.after + twin.after,
        base_line=change.base_line or twin.base_line,
        result_line=change.result_line or twin.result_line,
    )


def carried(
    decisions: Iterable[Decision], before: Sequence[Change], after: Sequence[Change]
) -> tuple[Decision, ...]:
    """Decisions on the changes of an earlier difference, on those that are the same in a new one.

    A decision on what is now a conflict is not carried: nobody has seen the conflict yet.
    """
    places = {(c.before, c.after): c.n for c in after if not c.conflict}
    old = {c.n: (c.before, c.after) for c in before}
    return tuple(
        msgspec.structs.replace(d, n=places[old[d.n]])
        for d in decisions
        if d.n in old and old[d.n] in places
    )
