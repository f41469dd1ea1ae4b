"""The decisions of one review, and how one walks through them. Pure: no Qt, no engine calls.

Changes stand in groups, what both sides changed and what would be lost first (ux.md section 6).
Deciding and walking are one movement: after a yes or no the focus goes to the next change that is
not decided. The same verdict again takes a decision back. Accepting the rest never takes a loss or
a conflict along: each of them needs a word of its own. Of a conflict something is chosen first, and
accepting takes what was chosen.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, islice
from typing import Literal

from app.engine.records import Change, Decision
from app.gui.panes.memory.conflicts import Choice, choice_of, decision_of, pressed

Verdict = Literal["accept", "reject"]

GROUPS = (
    "conflict", "dropped", "apart", "merged", "split", "reworded", "section_renamed", "moved",
    "added", "wording",
)  # fmt: skip


def asked_alone(change: Change) -> bool:
    """Whether accepting the rest leaves it out: it needs a word of its own."""
    return change.conflict or change.kind == "dropped"


def group_of(change: Change) -> str:
    """The group a change stands in. `apart`: parts of a merge or split that was taken apart;
    `wording`: other marks and spaces, the same words."""
    if change.conflict:
        return "conflict"
    if change.group:
        return "apart"
    if change.kind == "reworded" and _same_words(" ".join(change.before), " ".join(change.after)):
        return "wording"
    return change.kind


# What stands between the items of a list.
_BETWEEN = re.compile(r"[,;、，；]|\b(?:and|or|und|oder)\b|和|或")
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")


def _same_words(old: str, new: str) -> bool:
    """Whether only marks, spaces, case, or the order of a list's items differ. The order of other
    words is never taken for wording ("Ines asks Bo"), nor are the marks within numbers (7:00)."""
    if sorted(_NUMBER.findall(old)) != sorted(_NUMBER.findall(new)):
        return False
    return _letters(old) == _letters(new) or _items(old) == _items(new)


def _letters(text: str) -> str:
    return "".join(ch for ch in unicodedata.normalize("NFKC", text).casefold() if ch.isalnum())


def _items(text: str) -> list[str]:
    return sorted(_letters(item) for item in _BETWEEN.split(text.casefold()))


def grouped(changes: Sequence[Change]) -> list[tuple[str, list[Change]]]:
    """The changes by group, in the order they are asked; empty groups fall out."""
    homes: dict[str, list[Change]] = {group: [] for group in GROUPS}
    for change in changes:
        homes[group_of(change)].append(change)
    homes["apart"].sort(key=lambda c: (c.group, c.kind != "dropped"))  # what goes, then what comes
    return [(group, found) for group, found in homes.items() if found]


class Deciding:
    """What was said of each change so far. `focus` is the number of the change in front, 0: none.

    `moves_on`: after a decision the focus goes to the next undecided change.
    """

    def __init__(
        self,
        changes: Sequence[Change],
        decisions: Iterable[Decision] = (),
        *,
        moves_on: bool = True,
    ) -> None:
        self.groups = grouped(changes)
        self.order = [change.n for _, found in self.groups for change in found]
        self._at = {n: at for at, n in enumerate(self.order)}
        self._by_n = {change.n: change for change in changes}
        self._conflicts = [self._by_n[n] for n in self.order if self._by_n[n].conflict]
        self._said = {d.n: d for d in decisions if d.n in self._by_n}
        self.turns = 0  # how often anything was decided or taken back
        self._lately: dict[int, None] = dict.fromkeys(self._said)  # the last one at the end
        self._chosen: dict[int, Choice] = {}
        self._own = {d.n: d.text for d in self._said.values() if d.text is not None}
        self.moves_on = moves_on
        self.focus = self.next_undecided(0) or (self.order[0] if self.order else 0)

    # ------------------------------------------------------------------ looking

    def change(self, n: int) -> Change | None:
        return self._by_n.get(n)

    def decision(self, n: int) -> Decision | None:
        return self._said.get(n)

    def said(self) -> Mapping[int, Decision]:
        """The decisions by the number of their change."""
        return self._said

    def choice(self, n: int) -> Choice:
        """What is chosen for a conflict, taken or not; "" while nothing is."""
        change = self._by_n.get(n)
        decided = choice_of(change, self._said.get(n)) if change is not None else ""
        return self._chosen.get(n, decided)

    def own(self, n: int) -> str:
        """The person's own words for a change, kept also while they are not taken."""
        return self._own.get(n, "")

    def conflicts(self, *, left: bool = False) -> list[Change]:
        """What both sides changed; `left`: that is not decided."""
        return [c for c in self._conflicts if not left or c.n not in self._said]

    def decisions(self) -> tuple[Decision, ...]:
        return tuple(self._said[n] for n in sorted(self._said))

    def decided(self) -> int:
        return len(self._said)

    def count(self) -> int:
        return len(self.order)

    def place_of(self, n: int) -> int:
        """Where change `n` stands in the order, -1 when there is none."""
        return self._at.get(n, -1)

    def count_accepted(self) -> int:
        """How many changes are accepted."""
        return sum(decision.verdict == "accept" for decision in self._said.values())

    def accepted(self) -> list[Change]:
        return self._where("accept")

    def rejected(self) -> list[Change]:
        return self._where("reject")

    def _where(self, verdict: Verdict) -> list[Change]:
        """In the order they are asked; costs what was decided, not all there is to decide."""
        found = [n for n, decision in self._said.items() if decision.verdict == verdict]
        return [self._by_n[n] for n in sorted(found, key=self._at.__getitem__)]

    def left(self) -> list[Change]:
        """What is undecided, in the order it is asked."""
        return [self._by_n[n] for n in self.order if n not in self._said]

    def losses_taken(self) -> list[str]:
        """Lines that go with the accepted changes and stand nowhere after them."""
        return [line for c in self.accepted() if c.kind == "dropped" for line in c.before]

    def _verdict(self, n: int) -> str:
        decision = self._said.get(n)
        return decision.verdict if decision is not None else ""

    # ------------------------------------------------------------------ deciding

    def choose(self, n: int, key: Choice) -> Choice:
        """Choose what a conflict becomes; nothing is decided by it. The choice that holds now."""
        if (change := self._by_n.get(n)) is None or not change.conflict:
            return ""
        self._chosen[n] = pressed(self.choice(n), key)
        return self._chosen[n]

    def decide(self, numbers: Sequence[int], verdict: Verdict, text: str | None = None) -> bool:
        """Say `verdict` of these changes; of those that have it already, take it back.

        A conflict of which nothing is chosen is not accepted. Moves the focus on when something was
        decided; False when it was taken back, or nothing could be said.
        """
        wanted = {n: made for n in numbers if (made := self._meant(n, verdict, text)) is not None}
        known = list(wanted)
        if not known:
            return False
        if text is None and all(self._holds(made) for made in wanted.values()):
            for n in known:
                self._forget(n)
            self.focus = known[-1]
            return False
        self.turns += 1
        for n, made in wanted.items():
            self._said[n] = made
            self._chosen.pop(n, None)
            if text is not None:
                self._own[n] = text
            self._lately.pop(n, None)
            self._lately[n] = None
        self.focus = known[-1]
        if self.moves_on:
            self.focus = self.next_undecided(known[-1]) or known[-1]
        return True

    def _meant(self, n: int, verdict: Verdict, text: str | None) -> Decision | None:
        """What is said by a verdict of change `n`; None when it says nothing."""
        change = self._by_n.get(n)
        if change is None:
            return None
        if change.conflict and text is None and verdict == "accept":
            return decision_of(change, self.choice(n), self.own(n))
        return Decision(n, verdict, text)

    def _holds(self, made: Decision) -> bool:
        """Whether that was said already: of a conflict word for word, else the verdict alone."""
        if self._by_n[made.n].conflict:
            return self._said.get(made.n) == made
        return self._verdict(made.n) == made.verdict

    def take_back(self, numbers: Sequence[int]) -> bool:
        """Take decisions back: of these changes, or else the last one that was made."""
        known = [n for n in numbers if n in self._said] or list(self._lately)[-1:]
        for n in known:
            self._forget(n)
        if known:
            self.focus = known[-1]
        return bool(known)

    def _forget(self, n: int) -> None:
        self.turns += 1
        if (change := self._by_n.get(n)) is not None and change.conflict:
            self._chosen.setdefault(n, choice_of(change, self._said.get(n)))
        self._said.pop(n, None)
        self._lately.pop(n, None)

    def accept_rest(self) -> tuple[int, int]:
        """Accept what is undecided and cannot lose anything: (accepted, left to be asked)."""
        rest = self.left()
        safe = [c for c in rest if not asked_alone(c)]
        self.turns += 1
        for change in safe:
            self._said[change.n] = Decision(change.n, "accept")
            self._lately[change.n] = None
        self.focus = self.next_undecided(0) or self.focus
        return len(safe), len(rest) - len(safe)

    # ------------------------------------------------------------------ walking

    def step(self, by: int, only: Callable[[Change], bool] = lambda _: True) -> int:
        """The next or previous change; at the end the first undecided one, else 0 (to Apply).

        `only`: those that are walked through.
        """
        at = self._at.get(self.focus, -1) + by
        while 0 <= at < len(self.order):
            if only(self._by_n[self.order[at]]):
                self.focus = self.order[at]
                return self.focus
            at += by
        if by < 0:
            return self.focus if self.focus in self._by_n else 0
        if found := self.next_undecided(0):
            self.focus = found
        return found

    def next_undecided(self, after: int) -> int:
        """The next undecided change after `after`, going round; 0 when all are decided."""
        at = self._at.get(after, -1) + 1
        round_ = chain(islice(self.order, at, None), islice(self.order, at))
        return next((n for n in round_ if n not in self._said), 0)
