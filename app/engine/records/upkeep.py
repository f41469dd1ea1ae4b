"""What goes on behind: evicted results, jobs, the state of things."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from app.engine.records.search import IndexState
from app.engine.records.talk import Usage, Window

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
