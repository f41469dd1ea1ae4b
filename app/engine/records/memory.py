"""What is kept: daily logs, MEMORY.md, its versions, proposals and their review."""

from __future__ import annotations

from datetime import date, datetime
from typing import Literal

from msgspec import Struct

# ---------------------------------------------------------------------------- daily logs

LineState = Literal["waiting", "merged", "left_out", "rejected", ""]


class DailyLine(Struct, frozen=True):
    """One line of a daily-log section, with what became of it."""

    line: int
    text: str
    state: LineState = ""
    reason: str = ""
    proposal: str = ""


class DailySection(Struct, frozen=True):
    """One headed block of a daily log. `kind`: flush, save or foreign (no provenance line)."""

    ordinal: int
    kind: str
    line: int
    when: datetime | None
    lines: tuple[DailyLine, ...]
    hash: str
    run: str = ""
    session_id: str = ""
    first_entry: str = ""
    last_entry: str = ""
    origin: str = ""
    heading: str = ""


class DayInfo(Struct, frozen=True):
    """One file of `memory/`. `day` is None for a file whose name is no date."""

    path: str
    day: date | None
    sections: int
    lines: int
    bytes: int
    archived: bool = False
    variant: bool = False


class DayLog(Struct, frozen=True):
    """A daily log, whole. `problem` is a sentence when the file could not be read."""

    path: str
    day: date | None
    sections: tuple[DailySection, ...]
    problem: str = ""


# ---------------------------------------------------------------------------- memory

FileState = Literal["absent", "empty", "present", "unreadable"]


class MemoryView(Struct, frozen=True):
    """MEMORY.md now. `tokens` is an estimate unless `estimated` is False; budget in tokens."""

    text: str
    state: FileState
    sha256: str
    tokens: int
    budget: int
    version: int = 0
    pinned: tuple[int, ...] = ()
    problem: str = ""
    estimated: bool = True


class Version(Struct, frozen=True):
    """One version of MEMORY.md.

    `cause`: consolidation, saved, hand, restored, external, undo, start.
    """

    number: int
    id: str
    when: datetime
    cause: str
    run: str = ""
    model: str = ""
    added: int = 0
    dropped: int = 0
    note: str = ""


class Loss(Struct, frozen=True):
    """A fact that a version of MEMORY.md dropped and the file lacks now.

    `version` is the one that dropped it. `held` is the number of the version before it and `line`
    the fact's 1-based place there: what `engine.do.bring_back(held, line)` takes.
    """

    text: str
    held: int
    line: int
    version: Version
    section: str = ""

    @property
    def run(self) -> str:
        """The run that dropped it; "" for a person's own hand."""
        return self.version.run


class Source(Struct, frozen=True):
    """Where a line came from: a daily log's line, and the session entries behind it."""

    path: str
    line: int
    text: str
    session_id: str = ""
    entry_id: str = ""
    section: str = ""


class Check(Struct, frozen=True):
    """One thing that must hold before a proposal may be applied. `detail` is a sentence."""

    name: str
    ok: bool
    detail: str = ""


ChangeKind = Literal["added", "reworded", "moved", "merged", "split", "dropped", "section_renamed"]


class Change(Struct, frozen=True):
    """One decision of a review. `n` counts from 1 in the order of the file.

    `before` and `after` are whole lines without their newline. `base_line` and `result_line` are
    the 1-based places where they begin in the base and in the candidate. Of a `conflict`, `before`
    is the file now, `after` the proposal and `old` the lines both sides started from; an empty one
    of the first two means that this side dropped them. `group` is shared by the parts of a merge or
    split that was taken apart: the number of the first of them, else 0. `came_from` is the section
    that a moved line stood in.
    """

    n: int
    kind: ChangeKind
    before: tuple[str, ...]
    after: tuple[str, ...]
    section: str = ""
    base_line: int = 0
    result_line: int = 0
    sources: tuple[Source, ...] = ()
    conflict: bool = False
    old: tuple[str, ...] = ()
    group: int = 0
    came_from: str = ""


class Decision(Struct, frozen=True):
    """What a person said of one change. `text` replaces the change's `after` when accepted.

    Of a conflict: reject keeps what the file has, accept takes the proposal's lines; `text` is for
    both (one after the other), for own words, and "" for neither: then nothing is written there.
    """

    n: int
    verdict: Literal["accept", "reject"]
    text: str | None = None


ProposalState = Literal[
    "proposed", "in_review", "applying", "applied", "partly_applied", "rejected",
    "superseded", "failed",
]  # fmt: skip


class ProposalInfo(Struct, frozen=True):
    """One proposal of the queue. `again_of` names the proposal whose run it repeats with another
    model."""

    id: str
    state: ProposalState
    when: datetime
    model: str
    changes: int
    dropped: int
    added: int
    inputs: tuple[str, ...]
    failed_checks: int
    rebuild: bool = False
    again_of: str = ""


class Proposal(Struct, frozen=True):
    """A candidate for MEMORY.md, and everything needed to judge it.

    `started_from` is the number of the version the run began with, 0 when no version holds that
    text. `changed` is the newest version that changed the file since; its number is 0 while the
    edit on the disk is no version yet, and it is None while the file is the same.
    """

    info: ProposalInfo
    base: str
    candidate: str
    checks: tuple[Check, ...]
    changes: tuple[Change, ...]
    decisions: tuple[Decision, ...] = ()
    raw: str = ""
    base_changed: bool = False
    note: str = ""
    started_from: int = 0
    changed: Version | None = None


class Preview(Struct, frozen=True):
    """What apply would write now. `touched` are 1-based lines that differ from the file now."""

    text: str
    touched: tuple[int, ...]
    undecided: int
    accepted: int
    rejected: int


class Applied(Struct, frozen=True):
    """What an apply, save, restore or undo wrote. `version` is the new one."""

    version: int
    proposal: str = ""
    state: str = ""
    added: int = 0
    dropped: int = 0
    left_waiting: int = 0


class Acceptance(Struct, frozen=True):
    """What people decided about the proposals of one model with one prompt.

    Counts of changes; `edited` ones are accepted in other words and stand in `accepted` too. What a
    policy applied and what nobody decided counts only as a proposal.
    """

    model: str
    curator: str
    prompt_hash: str
    proposals: int
    accepted: int
    rejected: int
    edited: int


class Refused(Struct, frozen=True, omit_defaults=True):
    """What a person refused: never proposed again, and told to the next prompt.

    `what` is "claim" for a fact that was not to come in, "loss" for a line that was not to go.
    `key` names it to `do.forget_refusal`; `sources` are hashes of the sections a claim stems from.
    """

    key: str
    text: str
    run: str
    when: datetime
    sources: tuple[str, ...] = ()
    what: Literal["claim", "loss"] = "claim"
    v: int = 1


RemarkKind = Literal["duplicate", "near_duplicate", "stale", "contradiction"]


class Remark(Struct, frozen=True):
    """Something about MEMORY.md that a person may want to mend. `text` is a sentence.

    `lines` are the 1-based places of the facts it is about, in file order; a contradiction is a
    guess and says so.
    """

    kind: RemarkKind
    lines: tuple[int, ...]
    text: str


class Provenance(Struct, frozen=True):
    """Why a line of MEMORY.md is there. `broken` says in a sentence what could not be found."""

    line: int
    text: str
    since: Version | None
    sources: tuple[Source, ...]
    broken: str = ""
