"""A heading that a proposal adds goes with the lines it would stand over.

Nobody wants an empty section, nor a new fact under the heading before: where only the lines were
decided, the heading follows them, and a yes to it alone writes nothing. A no to it is kept. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.engine.memory.diff import Difference
from app.engine.memory.outline import level, outline
from app.engine.records import Decision
from app.engine.workspace.memory_file import SAVED_START


def with_headings(diff: Difference, decisions: Sequence[Decision]) -> tuple[Decision, ...]:
    """`decisions` with those on added headings that follow from the ones on their lines.

    A yes to one of the lines is a yes to an undecided heading; when all are refused it is, too.
    While none is accepted and some are undecided, so is the heading.
    """
    taken = {d.n: d for d in decisions}
    for n, lines in reversed(list(_headings(diff))):  # a heading under another one comes first
        said = {taken[one].verdict if one in taken else "" for one in lines}
        if "accept" in said:
            taken.setdefault(n, Decision(n, "accept"))
        elif said == {"reject"}:
            taken[n] = Decision(n, "reject")
        elif n in taken and taken[n].verdict == "accept":
            del taken[n]
    return tuple(taken.values())


def _headings(diff: Difference) -> Iterator[tuple[int, frozenset[int]]]:
    """Each added heading with the changes that bring all there is under it, in file order."""
    added = {
        c.result_line - 1: c
        for c in diff.changes
        if c.kind == "added" and not c.conflict and c.result_line
    }
    if not any(c.after[0].lstrip().startswith("#") for c in added.values() if c.after):
        return
    owners = [0] * len(diff.result)
    for slot in diff.slots:
        owners[slice(*slot.new)] = [slot.n] * (slot.new[1] - slot.new[0])
    blocks = [b for b in outline("\n".join(diff.result)) if b.kind == "heading"]
    for at, block in enumerate(blocks):
        change = added.get(block.start)
        if change is None or len(change.after) != block.end - block.start:
            continue
        deep = level(block.text)
        end = next((b.start for b in blocks[at + 1 :] if level(b.text) <= deep), len(diff.result))
        under = {owners[i] for i in _lines(diff.result, block.end, end)}
        if under and 0 not in under:
            yield change.n, frozenset(under)


def _lines(result: Sequence[str], start: int, end: int) -> Iterator[int]:
    """The places of what a section says: no blank lines, and nothing from the saved lines on, which
    are a section of their own."""
    for i in range(start, end):
        if result[i].strip() == SAVED_START:
            return
        if result[i].strip():
            yield i
