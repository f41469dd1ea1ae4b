"""Decisions turned into text, and carried from one difference to the next.

Accepting everything gives the candidate and rejecting everything the base, byte for byte; any
mixture holds every accepted and no rejected change and every untouched byte. What is not decided is
not written (specification, section 10). Pure.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from app.engine.memory.diff import Difference, Slot
from app.engine.memory.outline import lines_of
from app.engine.records import Change, Decision, Preview


def resolved(diff: Difference, decisions: Iterable[Decision]) -> str:
    """The text these decisions make. An accept with `text` writes that text; "" writes nothing."""
    return "\n".join(line for lines, _ in _pieces(diff, decisions) for line in lines)


def _pieces(
    diff: Difference, decisions: Iterable[Decision]
) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    """The lines that are written, slot by slot, and the base's lines that stood there."""
    taken = {d.n: d for d in decisions if d.verdict == "accept"}
    written: set[int] = set()
    for slot in diff.slots:
        yield _written(diff, slot, taken, written), diff.base[slice(*slot.old)]


def _written(
    diff: Difference, slot: Slot, taken: Mapping[int, Decision], written: set[int]
) -> Sequence[str]:
    decision = taken.get(slot.n) if slot.n else None
    if decision is None:
        return diff.base[slice(*slot.old)]
    text, change = decision.text, diff.changes[slot.n - 1]
    blanks_alone = not change.before and not change.after
    if text is None or (slot.rider and not blanks_alone):
        return diff.result[slice(*slot.new)]
    if slot.n in written or (slot.new[0] == slot.new[1] and change.after):
        return ()  # the person's own words stand once, where the change would have put its first
    written.add(slot.n)
    return lines_of(text) if text else ()


def preview(diff: Difference, decisions: Sequence[Decision]) -> Preview:
    """What applying these decisions would write, and which of its lines the base lacks there."""
    verdicts = {d.n: d.verdict for d in decisions}
    known = [verdicts.get(c.n) for c in diff.changes]
    text: list[str] = []
    touched: list[int] = []
    for lines, stood in _pieces(diff, decisions):
        if lines != stood:
            here = Counter(stood)
            for at, line in enumerate(lines, len(text) + 1):
                if here[line]:
                    here[line] -= 1
                else:
                    touched.append(at)
        text += lines
    return Preview(
        text="\n".join(text),
        touched=tuple(touched),
        undecided=known.count(None),
        accepted=known.count("accept"),
        rejected=known.count("reject"),
    )


def accept_all(changes: Iterable[Change]) -> tuple[Decision, ...]:
    """A yes to every change."""
    return tuple(Decision(c.n, "accept") for c in changes)


def carried(
    decisions: Iterable[Decision], before: Sequence[Change], after: Sequence[Change]
) -> tuple[Decision, ...]:
    """Decisions on the changes of an earlier difference, on those that are the same in a new one.

    Of a line that was changed meanwhile `before` is another one: a decision on it is not carried,
    for nobody has seen the conflict yet.
    """
    places: dict[tuple[tuple[str, ...], tuple[str, ...]], deque[int]] = defaultdict(deque)
    for change in after:
        places[change.before, change.after].append(change.n)
    wanted = {d.n: d for d in decisions}
    kept: list[Decision] = []
    for change in before:
        waiting = places.get((change.before, change.after))
        if waiting:  # of changes that are alike each takes its own place
            n = waiting.popleft()
            if change.n in wanted:
                kept.append(msgspec.structs.replace(wanted[change.n], n=n))
    return tuple(kept)
