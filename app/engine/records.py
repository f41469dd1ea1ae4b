"""Frozen values that cross the facade.

They know neither storage nor Qt. Instants are aware datetimes in UTC unless a name says `day` (a
local calendar day). Line numbers are 1-based, as in the file; offsets and lengths are code points.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import Any, Literal

from msgspec import Struct

Role = Literal["system", "user", "assistant", "tool"]


# ---------------------------------------------------------------------------- the model's view


class ToolCall(Struct, frozen=True, gc=False):
    """One call a model asked for. `arguments` is the JSON text of an object."""

    id: str
    name: str
    arguments: str = "{}"


class Message(Struct, frozen=True, gc=False):
    """One message of a context, as the model sees it.

    `origin` is "" for what people, models and tools said; else `summary`, `continuation`, `recall`,
    `session_context` or `interrupted`. `reasoning` is kept but never sent. `call_id` belongs to a
    tool message. `evicted` marks a result that was put aside to a file.
    """

    id: str
    role: Role
    content: str = ""
    name: str = ""
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    reasoning: str = ""
    images: tuple[str, ...] = ()
    block_types: tuple[str, ...] = ()
    origin: str = ""
    is_error: bool = False
    evicted: bool = False


class Window(Struct, frozen=True):
    """A model's context window in tokens, and where that number came from.

    `source` is one of: setting, loaded, reported, learned, table, default.
    """

    tokens: int
    source: str = "default"


class Usage(Struct, frozen=True):
    """Tokens a server reported for one request; 0 where it said nothing."""

    prompt: int = 0
    completion: int = 0


# ---------------------------------------------------------------------------- sessions


class SessionInfo(Struct, frozen=True, gc=False):
    """One session of the list. `title` is the person's name for it, else its first user line."""

    id: str
    title: str
    first: datetime | None
    last: datetime | None
    entries: int
    messages: int
    bytes: int
    compactions: int = 0
    flushes: int = 0
    evictions: int = 0
    parent: str = ""
    trashed: bool = False
    failed: bool = False


ItemKind = Literal[
    "user", "assistant", "tool", "compaction", "flush", "eviction", "consolidation", "recall",
    "overflow", "interrupted", "reset", "fork", "system", "failure", "gap", "note",
]  # fmt: skip


class TranscriptItem(Struct, frozen=True, gc=False):
    """One thing on the timeline of a session, ready to be shown.

    A tool item pairs the call with its result (`result` is None while it runs). `covered_by` is the
    id of the compaction that took the item out of the model's view, else "". `target` is the path
    of an evicted file (eviction, tool), the daily log (flush) or the proposal id (consolidation).
    `detail` holds the entry's own fields for whoever wants more. Long texts are cut at
    `TEXT_LIMIT` characters and `cut` then says how many there are in all.
    """

    id: str
    seq: int
    kind: ItemKind
    when: datetime | None = None
    text: str = ""
    reasoning: str = ""
    tool: str = ""
    arguments: str = ""
    result: str | None = None
    is_error: bool = False
    seconds: float | None = None
    covered_by: str = ""
    target: str = ""
    cut: int = 0
    detail: dict[str, Any] = {}


TEXT_LIMIT = 40_000


class ContextPart(Struct, frozen=True):
    """One ordered block of a request.

    `kind`: rules, memory, knowledge, summary, history, tools, user.
    """

    kind: str
    role: str
    text: str
    tokens: int
    note: str = ""


class ContextView(Struct, frozen=True):
    """What would be sent next; `thresholds` in tokens: `flush`, `compact`, `limit` (0 = off)."""

    parts: tuple[ContextPart, ...]
    total: int
    window: Window
    thresholds: dict[str, int]
    estimated: bool = True
    truncated_lines: int = 0


class CompactionReport(Struct, frozen=True):
    """What a compaction did, or would do when `dry_run`. Counts of messages and of tokens."""

    covered: int
    kept: int
    before: int
    after: int
    summary: str = ""
    unflushed: int = 0
    dry_run: bool = False
    reason: str = ""


class TurnResult(Struct, frozen=True):
    """How a turn ended. `state`: finished, stopped, failed.

    `failure` says what failed: the model or its server; the question, which is too long by itself
    and is no part of the session; or the workspace (its disk, its settings, another program).
    `kept` is False when the session does not hold the question: it is to be given back.
    """

    session_id: str
    state: str
    reply: str = ""
    calls: tuple[ToolCall, ...] = ()
    usage: Usage = Usage()
    error: str = ""
    remedy: str = ""
    failure: Literal["", "model", "question", "workspace"] = ""
    kept: bool = True


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


# ---------------------------------------------------------------------------- search

Layer = Literal["memory", "history", "daily", "sessions", "evicted"]
LAYERS: tuple[Layer, ...] = ("memory", "history", "daily", "sessions", "evicted")
SearchMode = Literal["auto", "words", "natural", "literal"]


class Query(Struct, frozen=True):
    """What a person or a model asked for. `text` may hold filters; `layers` empty means all.

    `start` is the `next` of the page before, for the hits after it. `context` is how many entries
    before and after a session's hit are to come with it. `fold` makes one hit, with its `places`,
    of the same line found in MEMORY.md, logs and history (natural mode does it with all hits).
    What `skip_tools` were asked and answered is as if it were not there. `quick` wants the newest
    hits at once, whatever it costs to know more: nothing is ranked, only the hits given are
    counted, and none of them needs no reason.
    """

    text: str
    mode: SearchMode = "auto"
    layers: frozenset[Layer] = frozenset()
    limit: int = 200
    newest_first: bool = False
    start: int = 0
    context: int = 0
    fold: bool = False
    skip_tools: frozenset[str] = frozenset()
    quick: bool = False


class Span(Struct, frozen=True, gc=False):
    """A marked stretch of a hit's text, in code points."""

    start: int
    end: int


class HitPlace(Struct, frozen=True, gc=False):
    """Another place where a hit's line stands word for word."""

    layer: Layer
    path: str
    line: int
    when: datetime | None = None
    session_id: str = ""
    entry_id: str = ""
    role: str = ""


class Hit(Struct, frozen=True, gc=False):
    """One found line or session entry. `score`: larger is better.

    `places`: where else the same line stands (log, file, history), best first; those are no hits
    of their own on the page. `before` and `after`: the neighbouring entries' texts in log order,
    when the query asked for `context`.

    In the layer `history` the path names no file: `history:12` is version 12 of MEMORY.md (`role`
    `added` or `dropped`; `line` is that of the version, of a dropped line that of the one before),
    `proposal:<id>` a proposal (`role` `proposed`, `line` in its text).
    """

    layer: Layer
    path: str
    line: int
    text: str
    spans: tuple[Span, ...]
    score: float
    when: datetime | None = None
    session_id: str = ""
    entry_id: str = ""
    role: str = ""
    tool: str = ""
    places: tuple[HitPlace, ...] = ()
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


class SearchResult(Struct, frozen=True):
    """Hits, how many there are in all per layer, the mode that answered, and why there are none.

    `next` is what `Query.start` has to be for the following page, 0 when this one is the last.
    `total` and `counts` count every place, also those folded into `Hit.places`. `nearest`: of a
    query without hits, words of the index that are spelled like those asked for, nearest first.
    """

    hits: tuple[Hit, ...]
    total: int
    counts: dict[str, int]
    mode: SearchMode
    reason: str = ""
    seconds: float = 0.0
    complete: bool = True
    next: int = 0
    nearest: tuple[str, ...] = ()


class IndexState(Struct, frozen=True):
    """`state`: building, ready, stale, unavailable. `done` of `total` files while building.

    `terms`: how many words it holds, each counted where it stands.
    """

    state: str
    done: int = 0
    total: int = 0
    note: str = ""
    terms: int = 0


# ---------------------------------------------------------------------------- evicted results


class EvictedInfo(Struct, frozen=True):
    """One result put aside. `state`: present, missing, orphan."""

    path: str
    tool: str
    session_id: str
    session_title: str
    entry_id: str
    chars: int
    bytes: int
    when: datetime | None
    state: str = "present"


class TextPage(Struct, frozen=True):
    """Characters `start` to `end` of a text of `total` characters. Pages join to the original."""

    text: str
    start: int
    end: int
    total: int


# ---------------------------------------------------------------------------- jobs, status


class JobInfo(Struct, frozen=True):
    """One piece of detached work. `kind`: flush, consolidate, archive, prune, reindex, compact.

    `state`: waiting, running, done, failed, skipped, cancelled. `trigger` says in words what
    asked for it. `reason` is a sentence for everything that is not done.
    """

    id: str
    kind: str
    trigger: str
    state: str
    queued: datetime
    started: datetime | None = None
    ended: datetime | None = None
    session_id: str = ""
    reason: str = ""
    remedy: str = ""
    done: int = 0
    total: int = 0
    result: str = ""
    target: str = ""


class Due(Struct, frozen=True):
    """Something that comes by itself. `when` is None when it waits for something else to happen;
    `reason` says in words what it waits for or what it is about."""

    kind: str
    when: datetime | None
    reason: str = ""


class Move(Struct, frozen=True):
    """One file that maintenance moved. Paths are relative to the workspace; `rule` a sentence."""

    run: str
    when: datetime
    step: str
    source: str
    target: str
    rule: str


class ModelCall(Struct, frozen=True):
    """One model call of the memory pipeline, as `runs.jsonl` keeps it."""

    run: str
    step: str
    model: str
    when: datetime
    seconds: float
    prompt: str
    answer: str
    usage: Usage = Usage()
    error: str = ""


class ModelStatus(Struct, frozen=True):
    """The chat model. `state`: unset, loading, ready, failed. `host` is "" for the built-in one."""

    name: str
    state: str
    window: Window
    host: str = ""
    fit_for_memory: bool = False
    note: str = ""
    key_source: str = ""


class Status(Struct, frozen=True):
    """What the status line shows."""

    workspace: str
    name: str
    model: ModelStatus
    running: tuple[JobInfo, ...]
    waiting: int
    reviews: int
    index: IndexState
    read_only: bool = False
    curator: str = "llm"


class Finding(Struct, frozen=True):
    """One thing `doctor` found. `severity`: error, warning, note."""

    severity: str
    where: str
    what: str
    remedy: str = ""
