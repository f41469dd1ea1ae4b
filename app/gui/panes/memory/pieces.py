"""The lines of a change as they are shown: signs, marks inside words, grounds. Pure.

Reworded text stands once, what goes before what comes in its place. Each side of a conflict is told
against the lines both started from, never against the other side (ux.md section 6).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from app.engine.records import Change, Span
from app.gui.look.text import tr
from app.gui.panes.memory.conflicts import Choice, Sides, written
from app.gui.panes.memory.lines import LIMIT, Run, cut, plain

Marks = tuple[tuple[Span, ...], tuple[Span, ...]]
Key = tuple[int, str]  # number of a change, and of a conflict "now" or "theirs"


@dataclass(frozen=True)
class Piece:
    """One line of a change: its sign, its shown text, its runs and its ground.

    `column` 0 takes the whole width; 1 and 2 stand side by side. One with a `label` names the text
    below it: the label, `text` beside it in soft ink, and `sign` as the key that chooses it. `soft`
    is a remark in place of a line.
    """

    sign: str
    text: str
    ground: str = ""
    runs: tuple[Run, ...] = ()
    column: int = 0
    label: str = ""
    soft: bool = False


def pairs(changes: Sequence[Change]) -> list[tuple[Key, str, str]]:
    """(key, before, after) of the texts that need marks inside their words.

    Both sides of a conflict are marked against the lines they started from.
    """
    found: list[tuple[Key, str, str]] = []
    for c in changes:
        if c.conflict:
            old = _joined(c.old)
            sides = (("now", c.before), ("theirs", c.after))
            found += [((c.n, side), old, _joined(new)) for side, new in sides if old and new]
        elif c.before and c.after and c.kind in ("reworded", "section_renamed"):
            found.append(((c.n, ""), _joined(c.before), _joined(c.after)))
    return found


def _joined(lines: Sequence[str]) -> str:
    return "\n".join(plain(line)[:LIMIT] for line in lines)


def pieces_of(change: Change, marks: Marks | None, *, side: bool, text: str | None) -> list[Piece]:
    """The lines of a change. `text`: the person's own words in place of the proposal's."""
    after = text.split("\n") if text is not None else list(change.after)
    old, new = _joined(change.before), _joined(after)
    if text is not None:
        marks = None
    kind = change.kind
    if kind in ("reworded", "section_renamed") and marks is not None and not side:
        shown, runs = inline(old, new, marks)
        return [Piece("~", cut(shown), "", runs)]
    if side and change.before and after and kind != "moved":
        if kind == "reworded" and marks is not None:
            left = Piece("−", cut(old), "", _runs(marks, 0), 1)
            return [left, Piece("+", cut(new), "", _runs(marks, 1), 2)]
        return _columns(change.before, after)
    if kind == "moved":
        return [Piece("↕", cut(plain(line))) for line in after]
    return _whole(change.before, after)


def _columns(before: Sequence[str], after: Sequence[str]) -> list[Piece]:
    """What goes at the left, what comes at the right, each line with its own sign."""
    pieces: list[Piece] = []
    for gone, come in zip_longest(before, after):
        for sign, line, ground, column in (
            ("−", gone, "lost_bg", 1), ("+", come, "added_bg", 2),
        ):  # fmt: skip
            piece = Piece("", "", column=column)
            if line is not None:
                piece = Piece(sign, cut(plain(line)), ground, column=column)
            pieces.append(piece)
    return pieces


def _whole(before: Sequence[str], after: Sequence[str]) -> list[Piece]:
    gone = [Piece("−", cut(plain(line)), "lost_bg") for line in before]
    return gone + [Piece("+", cut(plain(line)), "added_bg") for line in after]


def conflict_pieces(change: Change, marks: Mapping[Key, Marks], sides: Sides) -> list[Piece]:
    """Two small differences, each against the lines both sides started from."""
    now = Piece("1", sides.now, label=tr("File now"))
    theirs = Piece("2", sides.theirs, label=tr("Proposal"))
    return [
        now, *side_pieces(change, "now", marks),
        theirs, *side_pieces(change, "theirs", marks),
    ]  # fmt: skip


def side_pieces(change: Change, side: str, marks: Mapping[Key, Marks]) -> list[Piece]:
    """One side of a conflict against the old lines: reworded, or gone, or new."""
    lines = change.before if side == "now" else change.after
    found = marks.get((change.n, side))
    if found is None or not lines or not change.old:
        return _whole(change.old, lines)
    if change.old == lines:
        return [Piece("", cut(_joined(lines)))]
    shown, runs = inline(_joined(change.old), _joined(lines), found)
    return [Piece("~", cut(shown), "", runs)]


def will_pieces(change: Change, choice: Choice, own: str) -> tuple[Piece, ...]:
    """The lines that the choice of a conflict writes, or what is missing."""
    if not choice:
        return (Piece("", tr("Nothing is chosen yet."), soft=True),)
    lines = written(change, choice, own)
    made = [Piece("=", cut(plain(line))) for line in lines if line or len(lines) > 1]
    return tuple(made) or (Piece("", tr("Nothing: the lines go."), soft=True),)


def _runs(marks: Marks | None, which: int) -> tuple[Run, ...]:
    look = ("lost", "added")[which]
    return tuple(Run(s.start, s.end, look) for s in marks[which]) if marks else ()


def inline(old: str, new: str, marks: Marks) -> tuple[str, tuple[Run, ...]]:
    """Old and new words in one text: what goes stands before what comes in its place."""
    lost, gained = list(marks[0]), list(marks[1])
    out: list[str] = []
    runs: list[Run] = []
    i = j = length = 0

    def put(text: str, look: str) -> None:
        nonlocal length
        if look and text:
            runs.append(Run(length, length + len(text), look))
        out.append(text)
        length += len(text)

    while i < len(old) or j < len(new):
        if lost and lost[0].start == i:
            span = lost.pop(0)
            put(old[span.start : span.end], "lost")
            i = span.end
            if gained and gained[0].start == j:
                put(" " if not old[span.start : span.end].endswith(" ") else "", "")
        elif gained and gained[0].start == j:
            span = gained.pop(0)
            put(new[span.start : span.end], "added")
            j = span.end
        else:
            end_old = lost[0].start if lost else len(old)
            end_new = gained[0].start if gained else len(new)
            step = max(min(end_old - i, end_new - j), 1)
            put(old[i : i + step], "")
            i, j = i + step, j + step
    return "".join(out), tuple(runs)
