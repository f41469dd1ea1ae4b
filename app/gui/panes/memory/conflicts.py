"""What a person can say where the file and a proposal changed the same lines. Pure.

Nothing wins unasked (ux.md section 6): a choice is made first, is shown as "will be written", and
is taken by a word of its own. Each choice is one `Decision`, so that window and command line write
the same file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from app.engine.records import Change, Decision, Proposal
from app.gui.look.text import clock, moment, number, tr
from app.gui.panes.memory.causes import cause_words, maker
from app.gui.panes.memory.lines import plain

Choice = Literal["", "now", "theirs", "both", "swapped", "neither", "own"]


@dataclass(frozen=True)
class Sides:
    """Who stands behind each text, in words: "version 31", "by hand, 09:31", "qwen3-8b, 09:12"."""

    before: str = ""
    now: str = ""
    theirs: str = ""


def sides_of(proposal: Proposal, now: datetime) -> Sides:
    """The words beside the three texts of a proposal's conflicts."""
    before = tr("version {n}", n=number(proposal.started_from)) if proposal.started_from else ""
    file = ""
    if (changed := proposal.changed) is not None:
        who = cause_words(changed, short=True)
        file = tr("{who}, {when}", who=who, when=moment(changed.when, now))
    theirs = tr(
        "{who}, {when}", who=maker(proposal.info.model), when=moment(proposal.info.when, now)
    )
    return Sides(before, file, theirs)


def kept_words(proposal: Proposal) -> str:
    """That the edit which met the proposal is not at stake: the version that keeps it."""
    changed = proposal.changed
    if changed is None:
        return ""
    edit = tr("Your edit") if changed.cause == "hand" else tr("The change")
    time = clock(changed.when)
    if not changed.number:
        return tr("{edit} of {time} becomes a version of its own before anything is written.",
                  edit=edit, time=time)  # fmt: skip
    return tr("{edit} of {time} is kept as version {n}, whatever you choose here.",
              edit=edit, time=time, n=number(changed.number))  # fmt: skip


def choices(change: Change) -> list[tuple[str, str]]:
    """(choice, its words); where one side dropped the lines there is nothing to have both of."""
    found = [("now", tr("File now")), ("theirs", tr("Proposal"))]
    if change.before and change.after:
        found += [("both", tr("Both")), ("neither", tr("Neither"))]
    return [*found, ("own", tr("My own words"))]


def pressed(choice: Choice, key: Choice) -> Choice:
    """The choice after `key` was pressed: "both" again turns the order round."""
    return "swapped" if key == "both" and choice == "both" else key


def written(change: Change, choice: Choice, own: str = "") -> tuple[str, ...]:
    """The lines that stand in the file when `choice` is taken."""
    lines: dict[Choice, Sequence[str]] = {
        "now": change.before,
        "theirs": change.after,
        "both": (*change.before, *change.after),
        "swapped": (*change.after, *change.before),
        "own": own.split("\n") if own else (),
    }
    return tuple(lines.get(choice, ()))


def decision_of(change: Change, choice: Choice, own: str = "") -> Decision | None:
    """The decision a choice stands for; None while nothing is chosen."""
    if not choice:
        return None
    if choice == "now":
        return Decision(change.n, "reject")
    if choice == "theirs":
        return Decision(change.n, "accept")
    return Decision(change.n, "accept", "\n".join(written(change, choice, own)))


def choice_of(change: Change, decision: Decision | None) -> Choice:
    """Which choice a decision stands for."""
    if decision is None:
        return ""
    if decision.verdict == "reject":
        return "now"
    if decision.text is None:
        return "theirs"
    for choice in ("neither", "both", "swapped"):
        if decision.text == "\n".join(written(change, choice)):
            return choice
    return "own"


def spoken(change: Change) -> str:
    """The three texts in one sentence, for assistive tools."""

    def said(lines: Sequence[str]) -> str:
        return " / ".join(plain(line)[:300] for line in lines) or tr("nothing")

    return tr(
        "before: {before}; file now: {now}; proposal: {theirs}",
        before=said(change.old), now=said(change.before), theirs=said(change.after),
    )  # fmt: skip
