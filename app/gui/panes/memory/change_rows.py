"""What a row of a review says: pure words and pieces, no painting.

Each change becomes one `ChangeRow` under the head of its group: sign and word (look.md 2.3), the
section, the lines with their marks, what the decision does to the file, and where it comes from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from PySide6.QtCore import QDate

from app.engine.records import Change, Decision
from app.gui.look.text import locale, number, plural, preview, tr
from app.gui.panes.memory.conflicts import Choice, Sides, choice_of, spoken
from app.gui.panes.memory.deciding import Deciding
from app.gui.panes.memory.lines import is_heading, plain
from app.gui.panes.memory.pieces import (
    Key,
    Marks,
    Piece,
    conflict_pieces,
    pieces_of,
    will_pieces,
)
from app.gui.widgets.rows import Row

GROUP_WORDS = {
    "conflict": ("Both changed", "the file changed after this proposal was made"),
    "dropped": ("Losses", "asked first, because they cannot be seen in the result"),
    "apart": ("Taken apart", "each line is decided by itself"),
    "merged": ("Merged", ""),
    "split": ("Split", ""),
    "reworded": ("Reworded", ""),
    "section_renamed": ("Sections renamed", ""),
    "moved": ("Moved", ""),
    "added": ("Added", ""),
    "wording": ("Same words, written differently", ""),
}
WORDS = {
    "dropped": "Lost",
    "added": "Added",
    "reworded": "Reworded",
    "moved": "Moved",
    "section_renamed": "Renamed",
}
SECTIONS = {"dropped": "Section lost", "added": "Section added", "moved": "Section moved"}
INKS = {"dropped": "lost", "added": "added"}
NO_SIDES = Sides()


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
    decision: Decision | None = None
    choice: Choice = ""
    will: tuple[Piece, ...] = ()  # of a conflict in front: the lines its choice writes
    answered: bool = False  # by a model, whose whole answer can be looked at


def word_of(change: Change) -> str:
    if change.conflict:
        return _conflict_word(change)
    if change.kind == "merged":
        return tr("Merged from {n}", n=number(len(change.before)))
    if change.kind == "split":
        return tr("Split into {n}", n=number(len(change.after)))
    if change.kind in SECTIONS and _is_section(change):
        return tr(SECTIONS[change.kind])
    return tr(WORDS[change.kind])


def _is_section(change: Change) -> bool:
    """Whether it is about headings alone, which need no source."""
    lines = change.before + change.after
    return bool(lines) and all(is_heading(line) for line in lines)


def _conflict_word(change: Change) -> str:
    if not change.after:
        return tr("Changed here, dropped there")
    if not change.before:
        return tr("Dropped here, changed there")
    many = max(len(change.before), len(change.after), len(change.old))
    return tr("Both changed this line") if many == 1 else tr("Both changed these lines")


CONFLICT_EFFECTS = {
    "now": "Kept as in the file",
    "theirs": "Accepted: the proposal's words",
    "both": "Accepted: both, the file's first",
    "swapped": "Accepted: both, the proposal's first",
    "neither": "Accepted: neither stays",
    "own": "Accepted in your words",
}


def effect_of(change: Change, decision: Decision | None) -> str:
    """What the decision does to the file, in words."""
    if decision is None:
        return ""
    if change.conflict:
        return tr(CONFLICT_EFFECTS[choice_of(change, decision)])
    many = len(change.before)
    if decision.verdict == "accept":
        if decision.text is not None:
            return tr("Accepted in your words")
        if change.kind == "dropped":
            return plural(many, "Accepted: the line goes", "Accepted: {n} lines go")
        return tr("Accepted")
    if change.kind == "added":
        return tr("Rejected: nothing is added")
    return plural(many, "Rejected: the line stays", "Rejected: {n} lines stay")


def source_words(change: Change) -> str:
    """Where a change comes from, as words beside it."""
    if change.sources:
        places = [source_name(s.path, s.line) for s in change.sources[:3]]
        return "; ".join(dict.fromkeys(places))
    if change.group:
        return tr("One line of what was merged or split")
    if change.kind == "added":
        return tr("It goes with its lines") if _is_section(change) else tr("No source in the logs")
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


@lru_cache(maxsize=512)
def _short(section: str) -> str:
    return preview(section, 60, " ").strip()


def _home(change: Change) -> str:
    """The section of a change; of a moved line "from → to" (look.md 2.3)."""
    if change.kind == "section_renamed":
        return ""  # its name is what changed
    there, was = _short(change.section), _short(change.came_from)
    if change.kind != "moved" or was == there:
        return there
    return tr("{old} → {new}", old=was or tr("top"), new=there or tr("top"))


# ---------------------------------------------------------------------------- rows


class ReviewRows:
    """The rows of a difference, in the order they are asked: heads by group, changes under them.

    A row is made when it is looked at and again when what it says changed, so that a review of
    some ten thousand changes costs what is seen of it. `marks` may grow while it is shown.
    """

    def __init__(
        self,
        deciding: Deciding,
        marks: Mapping[Key, Marks],
        *,
        side: bool = False,
        editing: int = 0,
        decidable: bool = True,
        sides: Sides = NO_SIDES,
        answered: bool = False,
    ) -> None:
        self._deciding, self._marks, self._sides = deciding, marks, sides
        self.side, self.editing, self.decidable = side, editing, decidable
        self._answered = answered
        self._made: dict[int, tuple[object, ChangeRow]] = {}
        self._order: list[Row | int] = []  # a head, or the number of a change
        for group, found in deciding.groups:
            self._order.append(self._head(group, len(found)))
            self._order += [change.n for change in found]
        self._places = {(one if isinstance(one, int) else one.id): at
                        for at, one in enumerate(self._order)}  # fmt: skip

    def _head(self, group: str, count: int) -> Row:
        title, why = GROUP_WORDS[group]
        why = why if self.decidable else ""
        detail = f"{number(count)}   {tr(why)}" if why else number(count)
        return Row(f"head-{group}", tr(title), detail, head=True, spoken=tr(title))

    def __len__(self) -> int:
        return len(self._order)

    def __iter__(self) -> Iterator[Row]:
        return (self[at] for at in range(len(self)))

    def __getitem__(self, at: int) -> Row:
        one = self._order[at]
        return self._row(one) if isinstance(one, int) else one

    def place_of(self, row_id: str) -> int:
        """Index of the row with that id, -1 when there is none."""
        key = int(row_id[1:]) if row_id[1:].isdigit() else row_id
        return self._places.get(key, -1)

    def _row(self, n: int) -> ChangeRow:
        deciding, change = self._deciding, self._deciding.change(n)
        assert change is not None
        decision = deciding.decision(n)
        choice = deciding.choice(n) if change.conflict else ""
        focused, editing = n == deciding.focus, n == self.editing
        marked = (n, "") in self._marks or (n, "now") in self._marks
        key = (decision, choice, self.side, focused, editing, self.decidable, marked)
        known = self._made.get(n)
        if known is not None and known[0] == key:
            return known[1]
        row = change_row(
            change, decision, self._marks, side=self.side, focused=focused, editing=editing,
            decidable=self.decidable, sides=self._sides, choice=choice, own=deciding.own(n),
            answered=self._answered,
        )  # fmt: skip
        self._made[n] = (key, row)
        return row


def change_row(
    change: Change,
    decision: Decision | None,
    marks: Mapping[Key, Marks],
    *,
    side: bool = False,
    focused: bool = False,
    editing: bool = False,
    decidable: bool = True,
    sides: Sides = NO_SIDES,
    choice: Choice = "",
    own: str = "",
    answered: bool = False,
) -> ChangeRow:
    text = decision.text if decision is not None else None
    will: tuple[Piece, ...] = ()
    if change.conflict:
        pieces = conflict_pieces(change, marks, sides)
        will = will_pieces(change, choice, own) if focused and decidable else ()
    else:
        pieces = pieces_of(change, marks.get((change.n, "")), side=side, text=text)
    effect = effect_of(change, decision)
    word = word_of(change)
    section = _home(change)
    said = [word]
    if section:
        said.append(tr("in {section}", section=section))
    lines = " / ".join(plain(line)[:300] for line in (change.after or change.before))
    told = f"{', '.join(said)}: {spoken(change) if change.conflict else lines}"
    state = effect or (tr("Not decided") if decidable else "")
    missing = decidable and _is_unfounded(change)
    return ChangeRow(
        f"c{change.n}", word, spoken=f"{told}. {state}." if state else told, n=change.n,
        word=word, ink="warn" if change.conflict else INKS.get(change.kind, "text"),
        section=section, pieces=tuple(pieces), verdict=decision.verdict if decision else "",
        effect=effect, source=source_words(change) if decidable else "",
        source_tone="warn" if missing else "", focused=focused, editing=editing,
        decidable=decidable, decision=decision, choice=choice, will=will, tip=" ", data=change,
        answered=answered,
    )  # fmt: skip


def _is_unfounded(change: Change) -> bool:
    """Whether it adds words of which no source is known."""
    known = change.sources or change.group or _is_section(change)
    return change.kind == "added" and not known


def concerns(check: str, detail: str, changes: Sequence[Change]) -> int:
    """The change a failed check is about, 0 when it cannot be told."""
    for change in changes:
        if check == "loss" and change.kind == "dropped":
            return change.n
        if check == "source_missing" and _is_unfounded(change):
            return change.n
        if check in ("specifics_lost", "instruction_like") and any(
            plain(line)[:40] in detail for line in change.after
        ):
            return change.n
        if check == "pinned_line" and any(plain(line)[:40] in detail for line in change.before):
            return change.n
    return 0
