"""What a row of a review says: pure words and pieces, no painting.

Each change becomes one `ChangeRow` under the head of its group: sign and word (look.md 2.3), the
section, the lines with their marks, what the decision does to the file, and where it comes from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from PySide6.QtCore import QDate

from app.engine.records import Change, Decision, Span
from app.gui.look.text import locale, number, plural, preview, tr
from app.gui.panes.memory.deciding import Deciding, group_of
from app.gui.panes.memory.lines import LIMIT, Run, cut, plain
from app.gui.widgets.rows import Row

Marks = tuple[tuple[Span, ...], tuple[Span, ...]]

GROUP_WORDS = {
    "conflict": ("Both changed", "the file changed after this proposal was made"),
    "dropped": ("Losses", "asked first, because they cannot be seen in the result"),
    "merged": ("Merged", ""),
    "split": ("Split", ""),
    "reworded": ("Reworded", ""),
    "section_renamed": ("Sections renamed", ""),
    "moved": ("Moved", ""),
    "added": ("Added", ""),
    "wording": ("Other spelling, same words", ""),
}
WORDS = {
    "dropped": "Lost",
    "added": "Added",
    "reworded": "Reworded",
    "moved": "Moved",
    "section_renamed": "Renamed",
}
INKS = {"dropped": "lost", "added": "added"}


@dataclass(frozen=True)
class Piece:
    """One line of a change: its sign, its shown text, its runs and its ground.

    `column` 0 takes the whole width; 1 and 2 stand side by side.
    """

    sign: str
    text: str
    ground: str = ""
    runs: tuple[Run, ...] = ()
    column: int = 0
    label: str = ""


@dataclass(frozen=True)
class ChangeRow(Row):
    """One change. `verdict`: "", accept, reject; `effect` says it in words."""

    n: int = 0
    word: str = ""
    ink: str = "text"
    section: str = ""
    pieces: tuple[Piece, ...] = ()
    verdict: str = ""
    effect: str = ""
    source: str = ""
    source_tone: str = ""
    focused: bool = False
    editing: bool = False
    decidable: bool = True


def pairs(changes: Sequence[Change]) -> list[tuple[int, str, str]]:
    """(n, before, after) of the changes that need marks inside their words."""
    return [
        (c.n, _joined(c.before), _joined(c.after))
        for c in changes
        if c.before and c.after and (c.kind in ("reworded", "section_renamed") or c.conflict)
    ]


def _joined(lines: Sequence[str]) -> str:
    return "\n".join(plain(line)[:LIMIT] for line in lines)


def word_of(change: Change) -> str:
    if change.conflict:
        return tr("Both changed this line")
    if change.kind == "merged":
        return tr("Merged from {n}", n=number(len(change.before)))
    if change.kind == "split":
        return tr("Split into {n}", n=number(len(change.after)))
    return tr(WORDS[change.kind])


def effect_of(change: Change, decision: Decision | None) -> str:
    """What the decision does to the file, in words."""
    if decision is None:
        return ""
    many = len(change.before)
    if decision.verdict == "accept":
        if decision.text is not None:
            return tr("Accepted in your words")
        if change.conflict:
            return tr("Accepted: the proposal's words")
        if change.kind == "dropped":
            return plural(many, "Accepted: the line goes", "Accepted: {n} lines go")
        return tr("Accepted")
    if change.conflict:
        return tr("Kept as in the file")
    if change.kind == "added":
        return tr("Rejected: nothing is added")
    return plural(many, "Rejected: the line stays", "Rejected: {n} lines stay")


def source_words(change: Change, known: bool = True) -> str:
    """Where a change comes from, as words beside it."""
    if change.sources:
        places = [source_name(s.path, s.line) for s in change.sources[:3]]
        return "; ".join(dict.fromkeys(places))
    if change.kind in ("added",):
        return tr("No source in the logs")
    if change.kind == "dropped":
        return tr("No source in the days that were read")
    return ""


def source_name(path: str, line: int) -> str:
    """A place in a daily log: "27 Nov, line 4"; a file whose name is no date by its name."""
    name = path.rsplit("/", 1)[-1].removesuffix(".md")
    try:
        day = date.fromisoformat(name)
        pattern = "d MMM" if day.year == date.today().year else "d MMM yyyy"
        name = locale().toString(QDate(day.year, day.month, day.day), pattern)
    except ValueError:
        pass
    return tr("{name}, line {n}", name=preview(name, 40), n=number(line)) if line else name


# ---------------------------------------------------------------------------- pieces


def pieces_of(change: Change, marks: Marks | None, *, side: bool, text: str | None) -> list[Piece]:
    """The lines of a change. `text`: the person's own words in place of the proposal's."""
    after = text.split("\n") if text is not None else list(change.after)
    old, new = _joined(change.before), _joined(after)
    if text is not None:
        marks = None
    if change.conflict:
        return _conflict(old, new, marks)
    kind = change.kind
    if kind in ("reworded", "section_renamed") and marks is not None and not side:
        shown, runs = inline(old, new, marks)
        return [Piece("~", cut(shown), "", runs)]
    if side and change.before and after and kind != "moved":
        left = Piece("−", cut(old), "lost_bg" if kind != "reworded" else "", _runs(marks, 0), 1)
        right = Piece("+", cut(new), "added_bg" if kind != "reworded" else "", _runs(marks, 1), 2)
        return [left, right]
    if kind == "moved":
        return [Piece("↕", cut(plain(line))) for line in after]
    gone = [Piece("−", cut(plain(line)), "lost_bg") for line in change.before]
    come = [Piece("+", cut(plain(line)), "added_bg") for line in after]
    return gone + come


def _conflict(old: str, new: str, marks: Marks | None) -> list[Piece]:
    lost = _runs(marks, 0)
    gained = _runs(marks, 1)
    mine = Piece("·", cut(old) or tr("The line was taken out"), "", lost, label=tr("File now"))
    theirs = Piece("~", cut(new) or tr("The line goes"), "", gained, label=tr("Proposal"))
    return [mine, theirs]


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


# ---------------------------------------------------------------------------- rows


def change_rows(
    deciding: Deciding,
    marks: Mapping[int, Marks],
    *,
    side: bool = False,
    editing: int = 0,
    decidable: bool = True,
    known: dict[object, ChangeRow] | None = None,
) -> list[Row]:
    """Heads and changes, in the order they are asked.

    Rows that say what they said before are taken from `known`, so that a step through some
    thousand changes makes two new ones.
    """
    rows: list[Row] = []
    known = {} if known is None else known

    def made(change: Change) -> ChangeRow:
        decision = deciding.decision(change.n)
        focused = change.n == deciding.focus
        key = (change.n, decision, side, focused, change.n == editing, decidable)
        row = known.get(key)
        if row is None or row.data is not change:
            row = known[key] = change_row(
                change, decision, marks.get(change.n), side=side, focused=focused,
                editing=change.n == editing, decidable=decidable,
            )  # fmt: skip
        return row

    for group, found in deciding.groups:
        title, why = GROUP_WORDS[group]
        why = why if decidable else ""
        if group == "conflict" or group == "dropped":
            detail = f"{number(len(found))}   {tr(why)}" if why else number(len(found))
        else:
            detail = number(len(found))
        rows.append(Row(f"head-{group}", tr(title), detail, head=True, spoken=tr(title)))
        rows += [made(change) for change in found]
    return rows


def change_row(
    change: Change,
    decision: Decision | None,
    marks: Marks | None,
    *,
    side: bool = False,
    focused: bool = False,
    editing: bool = False,
    decidable: bool = True,
) -> ChangeRow:
    text = decision.text if decision is not None else None
    pieces = pieces_of(change, marks, side=side, text=text)
    effect = effect_of(change, decision)
    word = word_of(change)
    section = preview(change.section, 60, " ") if change.section else ""
    said = [word]
    if section.strip():
        said.append(tr("in {section}", section=section))
    lines = [plain(line)[:300] for line in (change.after or change.before)]
    spoken = f"{', '.join(said)}: {' / '.join(lines)}"
    state = effect or (tr("Not decided") if decidable else "")
    missing = decidable and not change.sources and change.kind == "added"
    return ChangeRow(
        f"c{change.n}", word, spoken=f"{spoken}. {state}." if state else spoken, n=change.n,
        word=word, ink="warn" if change.conflict else INKS.get(change.kind, "text"),
        section=section, pieces=tuple(pieces), verdict=decision.verdict if decision else "",
        effect=effect, source=source_words(change) if decidable else "",
        source_tone="warn" if missing else "", focused=focused, editing=editing,
        decidable=decidable, tip=" ", data=change,
    )  # fmt: skip


def concerns(check: str, detail: str, changes: Sequence[Change]) -> int:
    """The change a failed check is about, 0 when it cannot be told."""
    for change in changes:
        if check == "loss" and change.kind == "dropped":
            return change.n
        if check == "source_missing" and change.kind == "added" and not change.sources:
            return change.n
        if check in ("specifics_lost", "instruction_like") and any(
            plain(line)[:40] in detail for line in change.after
        ):
            return change.n
        if check == "pinned_line" and any(plain(line)[:40] in detail for line in change.before):
            return change.n
    return 0


__all__ = ["ChangeRow", "Piece", "change_rows", "concerns", "group_of", "inline", "pairs"]
