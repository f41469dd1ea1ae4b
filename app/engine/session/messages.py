"""Messages and entries: how one becomes the other (specification 3.4, "Derivation of one message").

Pure. A message with text is one `message` entry under its own id, each call a `tool_use`
`<msgId>:use:<callId>`, a result a `tool_result` `<msgId>:result:<callId>`, a message without any
text a placeholder. The id of a message that has none follows from its parent, role and content, so
the same history offered again names the same entries.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, cast

import msgspec

from app.engine.records import Message, Role, ToolCall
from app.engine.session.codec import parse_json
from app.engine.session.entries import (
    BadLine,
    Entry,
    MessageEntry,
    Summary,
    SyntheticMessage,
    ToolResult,
    ToolUse,
)
from app.engine.session.state import OpenCall
from app.engine.workspace.files import well_formed

USE = ":use:"
RESULT = ":result:"
TEXT = ("text",)
INTERRUPTED = "Interrupted: this call was stopped before it gave a result."
SUMMARY_NAME = "__compaction_summary__"
_ROLES: dict[str, Role] = {
    "USER": "user", "ASSISTANT": "assistant", "TOOL": "tool", "SYSTEM": "system",
}  # fmt: skip


# ---------------------------------------------------------------------------- message -> entries


def tidy(message: Message) -> Message:
    """The message without lone surrogates, and with an id for each of its calls."""
    calls = tuple(
        ToolCall(
            well_formed(c.id) or f"idx-{n}", well_formed(c.name), well_formed(c.arguments) or "{}"
        )
        for n, c in enumerate(message.calls)
    )
    return msgspec.structs.replace(
        message,
        id=well_formed(message.id),
        content=well_formed(message.content),
        name=well_formed(message.name),
        reasoning=well_formed(message.reasoning),
        call_id=well_formed(message.call_id),
        calls=calls,
    )


def with_call(message: Message, waiting: Sequence[OpenCall]) -> Message:
    """A result that names no call answers the oldest one that waits."""
    if message.role != "tool" or message.call_id:
        return message
    return msgspec.structs.replace(message, call_id=waiting[0].id if waiting else "idx-0")


def derived_id(parent: str, message: Message) -> str:
    """The id of a message that has none: from parent entry, role and content (calls, images)."""
    parts: list[Any] = [parent, message.role, message.content]
    if message.calls:
        parts.append([[c.id, c.name, c.arguments] for c in message.calls])
    if message.images or message.block_types:
        parts.append([message.images, message.block_types])
    return "m-" + hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:20]


def entry_id(message_id: str, message: Message) -> str:
    """The id a message is known by in the context: a result's is that of its entry."""
    if message.role != "tool" or message_id.endswith(RESULT + message.call_id):
        return message_id
    return f"{message_id}{RESULT}{message.call_id}"


def derive(message: Message, *, seconds: float | None = None) -> list[Entry]:
    """The entries of one tidy message that has its id; parent, time and number come later."""
    if message.role == "tool":
        return [_result(message, seconds)]
    entries: list[Entry] = []
    calls_only = message.calls and not (message.content or message.reasoning or message.images)
    if not calls_only:
        entries.append(_text(message))
    entries.extend(
        ToolUse(
            id=f"{message.id}{USE}{c.id}",
            tool_call_id=c.id,
            name=c.name,
            input=arguments_value(c.arguments),
        )
        for c in message.calls
    )
    return entries


def _text(message: Message) -> MessageEntry:
    blocks = message.block_types
    if not blocks and message.images:
        blocks = ("text", "image") if message.content else ("image",)
    return MessageEntry(
        id=message.id,
        role=message.role.upper(),
        content=message.content,
        name=message.name,
        reasoning=message.reasoning,
        images=message.images,
        block_types=blocks,
        origin=message.origin,
    )


def _result(message: Message, seconds: float | None) -> ToolResult:
    return ToolResult(
        id=message.id,
        tool_call_id=message.call_id,
        name=message.name,
        output=message.content,
        output_block_types=message.block_types or (("text", "image") if message.images else TEXT),
        images=message.images,
        is_error=message.is_error,
        seconds=seconds,
    )


def arguments_value(text: str) -> Any:
    """Arguments as they are stored: the object, or their text when that is no JSON object."""
    value = parse_json(text.encode("utf-8", "replace"))
    if isinstance(value, BadLine) or not isinstance(value, dict):
        return text
    return cast("dict[str, Any]", value)


# ---------------------------------------------------------------------------- entry -> message


def role_of(text: str) -> Role:
    """The role of an entry; one that nobody knows is treated as the user's."""
    return _ROLES.get(text.upper(), "user")


def text_message(entry: MessageEntry) -> Message:
    return Message(  # by position: a log of a hundred thousand lines goes through here
        entry.id,
        _ROLES.get(entry.role) or role_of(entry.role),
        entry.content or "",
        entry.name,
        (),
        entry.tool_call_id,
        entry.reasoning,
        entry.images,
        entry.block_types,
        entry.origin,
    )


def result_message(entry: ToolResult) -> Message:
    return Message(
        id=entry.id,
        role="tool",
        content=entry.output,
        name=entry.name,
        call_id=entry.tool_call_id,
        images=entry.images,
        block_types=() if entry.output_block_types == TEXT else entry.output_block_types,
        is_error=entry.is_error,
    )


def call_of(entry: ToolUse) -> ToolCall:
    value = entry.input
    if value is msgspec.UNSET:
        text = "{}"
    elif isinstance(value, str):
        text = value
    else:
        text = msgspec.json.encode(value).decode()
    return ToolCall(entry.tool_call_id, entry.name, text)


def owner(entry_id: str) -> str:
    """The message an entry belongs to: a `tool_use` belongs to the message before its `:use:`."""
    head, found, _ = entry_id.rpartition(USE)
    return head if found else entry_id


def pack(message: Message) -> SyntheticMessage:
    """A whole message as a value inside an entry."""
    return SyntheticMessage(
        id=message.id,
        role=message.role.upper(),
        content=message.content,
        name=message.name,
        origin=message.origin,
        reasoning=message.reasoning,
        images=message.images,
        block_types=message.block_types,
        call_id=message.call_id,
        calls=tuple((c.id, c.name, c.arguments) for c in message.calls),
        is_error=message.is_error,
        evicted=message.evicted,
    )


def unpack(packed: SyntheticMessage) -> Message:
    return Message(
        id=packed.id,
        role=role_of(packed.role),
        content=packed.content,
        name=packed.name,
        calls=tuple(ToolCall(*c) for c in packed.calls),
        call_id=packed.call_id,
        reasoning=packed.reasoning,
        images=packed.images,
        block_types=packed.block_types,
        origin=packed.origin,
        is_error=packed.is_error,
        evicted=packed.evicted,
    )


def first_entry(message: Message) -> str:
    """The id of the first entry of a message."""
    calls_only = message.calls and not (message.content or message.reasoning or message.images)
    return f"{message.id}{USE}{message.calls[0].id}" if calls_only else message.id


def last_entry(message: Message) -> str:
    """The id of the last entry of a message."""
    return f"{message.id}{USE}{message.calls[-1].id}" if message.calls else message.id


def same(known: Message, offered: Message) -> bool:
    """Whether an offered message without id says what a known one says."""
    return (
        known.role == offered.role
        and known.content == offered.content
        and [(c.id, c.name) for c in known.calls] == [(c.id, c.name) for c in offered.calls]
        and (not offered.call_id or known.call_id == offered.call_id)
    )


def interrupted_result(call_id: str, name: str, by: str) -> Message:
    """What stands in place of a result that will never come."""
    return Message(
        id=f"{by}:interrupted:{call_id}",
        role="tool",
        content=INTERRUPTED,
        name=name,
        call_id=call_id,
        origin="interrupted",
        is_error=True,
    )


def summary_message(entry: Summary) -> Message:
    """The message a summary stands for; other writers give the text alone."""
    if entry.message is not None:
        return unpack(entry.message)
    return Message(
        id=entry.id, role="user", content=entry.summary, name=SUMMARY_NAME, origin="summary"
    )
