"""Which lines of MEMORY.md are shown when not all of them fit.

Invariant: only whole lines, in the order of the file; pinned lines go first into the budget, then
the saved block with its newest line first, then the rest from the head. Specification, section 11.
"""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct

from app.engine.context.tokens import CJK
from app.engine.workspace.memory_file import SAVED_END, SAVED_START


class Chosen(Struct, frozen=True):
    """The text that fits, and how many lines with something in them do not."""

    text: str
    left_out: int = 0


def choose_lines(text: str, budget: int, pinned: Collection[int] = ()) -> Chosen:
    """The lines of `text` that fit `budget` tokens (÷ 4, CJK 1 each).

    `pinned` are 1-based line numbers in `text`. Comments of the program itself are never shown.
    """
    lines = text.split("\n")
    shown = [n for n in range(len(lines)) if not _is_mark(lines[n])]
    room = float(max(0, budget))
    if sum(_weight(lines[n]) for n in shown) <= room:
        return Chosen("\n".join(lines[n] for n in shown).strip("\n"))
    first = [n for n in shown if n + 1 in pinned]
    saved = [n for n in reversed(_saved(lines)) if n in set(shown)]
    taken: set[int] = set()
    for n in (*first, *saved):
        weight = _weight(lines[n])
        if n not in taken and weight <= room:
            taken.add(n)
            room -= weight
    whole = float(max(0, budget))
    for n in shown:
        weight = _weight(lines[n])
        if n in taken or weight > whole:  # a line no budget could hold does not hide the others
            continue
        if weight > room:
            break
        taken.add(n)
        room -= weight
    left = sum(1 for n in shown if n not in taken and lines[n].strip())
    return Chosen("\n".join(lines[n] for n in sorted(taken)).strip("\n"), left)


def _weight(line: str) -> float:
    cjk = 0 if line.isascii() else len(CJK.findall(line))
    return cjk + (len(line) + 3 - cjk) / 4  # with its indentation and newline


def _saved(lines: list[str]) -> list[int]:
    """Places of the lines in the saved block, oldest first."""
    found: list[int] = []
    within = False
    for n, line in enumerate(lines):
        mark = line.strip()
        if mark == SAVED_START:
            within = True
        elif mark == SAVED_END:
            within = False
        elif within and mark:
            found.append(n)
    return found


def _is_mark(line: str) -> bool:
    stripped = line.strip()
    return stripped.startswith(("<!-- palimpsest:", "<!-- /palimpsest:")) and stripped.endswith(
        "-->"
    )
