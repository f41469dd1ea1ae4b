"""Entry kinds: one line of a session log each (specification 3.4).

A superset of AgentScope's kinds. Whatever a line holds that this version does not know (a kind, a
field) is kept: unknown fields travel in `Entry.extra`, unknown kinds are `RawEntry`. A line that
is no entry is a `BadLine`, never an exception. Lines are read and written in `codec.py`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import msgspec
from msgspec import Struct, field

MILLISECONDS_FROM = 1e11  # an epoch number above this (year 5138 in seconds) counts milliseconds
Seq = Annotated[int, msgspec.Meta(ge=0, le=2**53)]  # whatever else a line claims is no number of it


if TYPE_CHECKING:
    from collections.abc import Mapping

    Extra = Mapping[str, Any]
else:

    class Extra:
        """No value of a line is one: a line with a field of that name is for the careful reader."""


class Entry(
    Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", omit_defaults=True,
    forbid_unknown_fields=True, gc=False,
):  # fmt: skip
    """What every line has. `timestamp` stays as written: ISO text or epoch number.

    `seq` counts from 1 without gaps; 0 means not numbered yet. `extra` holds unknown fields; a
    caller may add its own details there, they end up at the top level of the line. Unknown fields,
    one that is named `extra` and nulls in place of contents are refused by the strict decoder, so
    that the codec notices and looks closer.
    """

    id: str = ""
    parent_id: str | None = None
    timestamp: str | int | float | None = None
    v: int = 1
    seq: Seq = 0
    extra: Extra = MappingProxyType[str, Any]({})

    kind: ClassVar[str] = ""

    @property
    def when(self) -> datetime | None:
        """The instant in UTC; None when the line has none that can be read."""
        return parse_time(self.timestamp)


# -------------------------------------------------------------- conversation entries


class MessageEntry(Entry, frozen=True, kw_only=True, tag="message"):
    """Text (of a placeholder none) of one message. `role` is upper case on disk."""

    role: str
    content: str
    name: str = ""
    reasoning: str = ""
    images: tuple[str, ...] = ()
    block_types: tuple[str, ...] = ()
    origin: str = ""
    tool_call_id: str = ""  # AgentScope writes results as messages, too


class ToolUse(Entry, frozen=True, kw_only=True, tag="tool_use"):
    """One call. `input` is the object of arguments, or their text when that is no object."""

    tool_call_id: str
    name: str = ""
    input: dict[str, Any] | str | list[Any] | int | float | bool | msgspec.UnsetType = msgspec.UNSET
    truncated: bool = False
    original_size: int | None = None


class ToolResult(Entry, frozen=True, kw_only=True, tag="tool_result"):
    """What a call gave. `seconds` is how long it took, where known."""

    tool_call_id: str
    output: str
    name: str = ""
    output_block_types: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    truncated: bool = False
    original_size: int | None = None
    is_error: bool = False
    seconds: float | None = None


class SyntheticMessage(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A message made by the engine, whole, inside a `summary` or `fork` entry."""

    id: str
    role: str
    content: str = ""
    name: str = ""
    origin: str = ""
    reasoning: str = ""
    images: tuple[str, ...] = ()
    block_types: tuple[str, ...] = ()
    call_id: str = ""
    calls: tuple[tuple[str, str, str], ...] = ()  # id, name, arguments
    is_error: bool = False
    evicted: bool = False


class Summary(Entry, frozen=True, kw_only=True, tag="summary"):
    """The text of a summary; alone it changes nothing (a `compaction` entry puts it in place)."""

    summary: str
    format: str = ""
    message: SyntheticMessage | None = None


class Compaction(Entry, frozen=True, kw_only=True, tag="compaction"):
    """These message ids left the model's view; the summary's message stands in their place.

    `pending` is the id of a user message that the summary's message embeds. `before` and `after`
    are tokens, `kept` counts messages. Without `covered` (other writers) all messages before
    `first_kept_entry_id` are covered.
    """

    summary_entry_id: str
    first_kept_entry_id: str | None = None
    number: int = 0
    reason: str = ""
    covered: tuple[str, ...] | None = None
    kept: int = 0
    pending: str = ""
    before: int = 0
    after: int = 0


# -------------------------------------------------------------- engine entries


class SessionOpen(Entry, frozen=True, kw_only=True, tag="session_open"):
    """First line of a log; written again when strategy or configuration change."""

    session_id: str = ""
    strategy: str = ""
    config: dict[str, Any] = {}
    system_prompt: str | None = None
    model: str = ""
    parent: str = ""


class SystemPrompt(Entry, frozen=True, kw_only=True, tag="system_prompt"):
    system_prompt: str = ""


class ModelChange(Entry, frozen=True, kw_only=True, tag="model_change"):
    model: str = ""


class InContext(Entry, frozen=True, kw_only=True):
    """Another form of some messages or calls in the model's view; the log keeps the originals.

    One `target` with one text, or `targets` with a list of texts of the same length. A target is a
    message, result or `…:use:…` entry id; for a call the text is the JSON of its arguments.
    """

    target: str = ""
    targets: tuple[str, ...] = ()
    in_context: str | tuple[str, ...] = ()

    def forms(self) -> list[tuple[str, str]]:
        """Pairs of target id and the text that stands in the context."""
        targets = self.targets or ((self.target,) if self.target else ())
        texts = (self.in_context,) if isinstance(self.in_context, str) else self.in_context
        return list(zip(targets, texts, strict=False))


class Eviction(InContext, frozen=True, kw_only=True, tag="eviction"):
    """A result was put aside to `file` (workspace-relative); `chars` of the original."""

    file: str = ""
    chars: int = 0
    sha256: str = ""


class ToolTruncation(InContext, frozen=True, kw_only=True, tag="tool_truncation"):
    """A result was cut for the context (Motus' `max_tool_result_tokens`)."""


class ArgsTruncation(InContext, frozen=True, kw_only=True, tag="args_truncation"):
    """Arguments of old calls were cut."""


class Prune(InContext, frozen=True, kw_only=True, tag="prune"):
    """Old tool output was shortened."""


class Interrupted(Entry, frozen=True, kw_only=True, tag="interrupted"):
    """These calls will have no result."""

    tool_call_ids: tuple[str, ...] = ()
    reason: str = ""


class Reset(Entry, frozen=True, kw_only=True, tag="reset"):
    """The context was cleared; `messages` counts what left."""

    messages: int = 0
    compactions: int = 0


class Fork(Entry, frozen=True, kw_only=True, tag="fork"):
    """This session starts from another's fold, carried along so that it needs no other file.

    `compactions`, `summaries` are set only when a snapshot is restored, not by a fork.
    """

    parent_session: str = ""
    parent_entry: str | None = None
    messages: tuple[SyntheticMessage, ...] = ()
    compactions: int = 0
    summaries: tuple[str, ...] = ()


class Request(Entry, frozen=True, kw_only=True, tag="request"):
    """The ordered parts of one request; their texts are blobs."""

    parts: tuple[dict[str, Any], ...] = ()
    memory_version: int = 0


class Mark(Entry, frozen=True, kw_only=True, tag="mark"):
    """What a person said of a session (`title`) or of some of its messages."""

    target: str = ""
    targets: tuple[str, ...] = ()
    do_not_remember: bool | None = field(default=None, name="do_not_remember")
    deleted: bool | None = None
    edited: str | None = None
    title: str | None = None

    def ids(self) -> tuple[str, ...]:
        return self.targets or ((self.target,) if self.target else ())


class Flush(Entry, frozen=True, kw_only=True, tag="flush"):
    """Everything up to entry `to` went through a flush; `path` is the daily log written, or ""."""

    from_: str = field(default="", name="from")
    to: str = ""
    path: str = ""
    run: str = ""
    bullets: int = 0
    reason: str = ""


class Consolidation(Entry, frozen=True, kw_only=True, tag="consolidation"):
    proposal: str = ""
    run: str = ""
    reason: str = ""


class Recall(Entry, frozen=True, kw_only=True, tag="recall"):
    text: str = ""
    query: str = ""


class Overflow(Entry, frozen=True, kw_only=True, tag="overflow"):
    requested: int | None = None
    window: int | None = None
    reason: str = ""


class UsageEntry(Entry, frozen=True, kw_only=True, tag="usage"):
    """Tokens one reply cost. Several for one `message_id`: the last one counts."""

    message_id: str = ""
    prompt: int = 0
    completion: int = 0
    model: str = ""


class CompactionFailed(Entry, frozen=True, kw_only=True, tag="compaction_failed"):
    reason: str = ""
    raw: str = ""


class SnapshotTaken(Entry, frozen=True, kw_only=True, tag="snapshot"):
    reason: str = ""


class Restored(Entry, frozen=True, kw_only=True, tag="restore"):
    reason: str = ""


class Recovery(Entry, frozen=True, kw_only=True, tag="recovery"):
    """A torn last line of `bytes` was moved to the side file `file`."""

    file: str = ""
    bytes: int = 0
    reason: str = ""


class SessionClose(Entry, frozen=True, kw_only=True, tag="session_close"):
    reason: str = ""


class RawEntry(Entry, frozen=True, kw_only=True, tag="?"):
    """A kind this version does not know; its own fields are in `extra`."""

    type_name: str


class BadLine(Struct, frozen=True):
    """A line that is no entry. `reason` is a sentence; `raw` its beginning; `seq` its place."""

    reason: str
    raw: str = ""
    seq: int = 0
    torn: bool = False


# -------------------------------------------------------------- the tables

Conversation = MessageEntry | ToolUse | ToolResult | Summary | Compaction
CONVERSATION = (MessageEntry, ToolUse, ToolResult, Summary, Compaction)
SPOKEN = (MessageEntry, ToolUse, ToolResult)

KINDS: tuple[type[Entry], ...] = (
    MessageEntry, ToolUse, ToolResult, Summary, Compaction, SessionOpen, SystemPrompt, ModelChange,
    Eviction, ToolTruncation, ArgsTruncation, Prune, Interrupted, Reset, Fork, Request, Mark, Flush,
    Consolidation, Recall, Overflow, UsageEntry, CompactionFailed, SnapshotTaken, Restored,
    Recovery, SessionClose,
)  # fmt: skip
BY_TYPE: dict[str, type[Entry]] = {str(k.__struct_config__.tag): k for k in KINDS}


def type_of(entry: Entry) -> str:
    """The entry's `type` as on disk."""
    return entry.type_name if isinstance(entry, RawEntry) else str(entry.__struct_config__.tag)


def parse_time(value: str | int | float | None) -> datetime | None:
    """ISO text or an epoch number (seconds, or milliseconds when huge) as an instant in UTC."""
    try:
        if isinstance(value, int | float):
            seconds = value / 1000 if abs(value) >= MILLISECONDS_FROM else value
            return datetime.fromtimestamp(seconds, UTC)
        if isinstance(value, str):
            found = datetime.fromisoformat(value)
            return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None
