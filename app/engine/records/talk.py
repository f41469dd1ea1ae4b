"""What is said: the model's view, sessions, turns."""

from __future__ import annotations

from datetime import datetime
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
