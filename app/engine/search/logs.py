"""What of a session log can be found: its messages, calls and results.

Idea: a line is an entry, an entry with a text is a document. What later entries say of earlier ones
(a result was put aside, a message is not to be remembered) is known of what is read from one look
ahead, and told for what was read before. An eviction speaks of what stands before it; what is
hidden stays so for the calls and results that follow. A log is read as specification, section 3.4
describes it; reasoning, and what the engine put into the context itself, is not searched.

Invariant: reading a log in parts tells the same as reading it at once, or says `Shown`, upon which
it has to be read from its beginning.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, BinaryIO, cast

import msgspec
from msgspec import Struct

from app.engine.search.rows import (
    ERROR,
    EVICTED,
    QUESTION,
    Cursor,
    Document,
    Hidden,
    Marked,
    Shown,
    Told,
    moment,
)
from app.engine.search.terms import asks
from app.engine.workspace.secrets import mask

LONGEST_TEXT = 200_000
"""Characters of one entry that are indexed; of a longer one, the beginning."""
LONGEST_SECRET = 4_000
"""Characters behind those, so that a secret which stands across the end is known as one."""
LONGEST_LINE = 64_000_000
"""Bytes of one line that are read at all."""


class _Entry(Struct):
    type: str = ""
    id: str = ""
    timestamp: str | float | int | None = None
    role: str = ""
    origin: str = ""
    name: str | None = None
    content: Any = None
    input: Any = None
    output: Any = None
    target: Any = None
    targets: Any = None
    do_not_remember: bool | None = None
    deleted: bool | None = None
    isError: bool = False  # noqa: N815 - the format's own name


_DECODER = msgspec.json.Decoder(_Entry)
_INJECTED = frozenset({"recall", "session_context", "summary", "continuation", "interrupted"})
_ROLES = {"USER": "user", "ASSISTANT": "assistant", "TOOL": "tool", "SYSTEM": "system"}
_MARK, _EVICTION = b'"mark"', b'"eviction"'
_WANTED = re.compile(rb'"(?:message|tool_use|tool_result|eviction|mark)"')


def entries(file: BinaryIO, cursor: Cursor) -> Iterator[Told]:
    """What the log tells from `cursor` on; an unfinished last line is left for the next time, and
    what came since one looked ahead."""
    ahead, fresh = _look_ahead(file, cursor.offset), cursor.offset == 0
    if fresh:
        cursor.hidden = frozenset(ahead.hidden)
    file.seek(cursor.offset)
    while True:
        raw = file.readline(LONGEST_LINE)
        if not raw.endswith(b"\n"):
            if len(raw) < LONGEST_LINE:
                return
            if not _skip_line(file, raw, cursor):
                return
            continue
        if cursor.offset + len(raw) > ahead.end:
            return
        offset = cursor.past(raw)
        entry = _decode(raw)
        if entry is None:
            continue
        when = moment(entry.timestamp)
        if when is not None:
            cursor.when = when.timestamp()
        if entry.type == "eviction":
            yield from (Marked(one) for one in _targets(entry.target))
        elif entry.type == "mark":
            if not fresh:
                told = list(_told(entry))
                cursor.hidden |= {one.entry for one in told if isinstance(one, Hidden)}
                yield from told
        elif text := _text(entry):
            if not cursor.hidden or _owner(entry.id) not in cursor.hidden:
                evicted = ahead.evicted.get(entry.id, -1) > offset
                yield _document(entry, text, cursor, offset, len(raw), evicted=evicted)
            cursor.order += 1


class _Ahead(Struct):
    """What the lines up to offset `end` say of others: the messages that are to be forgotten, and
    for an entry whose result was put aside where that is told last."""

    end: int
    hidden: set[str] = set()
    evicted: dict[str, int] = {}


def _look_ahead(file: BinaryIO, begin: int) -> _Ahead:
    file.seek(begin)
    end, tail, any_told = begin, b"", False
    while part := file.read(1 << 20):
        any_told = any_told or _tells(tail + part)
        tail = part[-len(_EVICTION) :]
        end += len(part)
    ahead, offset = _Ahead(end), begin
    if not any_told:
        return ahead
    file.seek(begin)
    for raw in iter(lambda: file.readline(LONGEST_LINE), b""):
        if offset + len(raw) > end:
            break
        entry = _decode(raw) if _tells(raw) and raw.endswith(b"\n") else None
        if entry is not None and entry.type == "eviction":
            ahead.evicted |= dict.fromkeys(_targets(entry.target), offset)
        elif entry is not None and entry.type == "mark":
            for told in _told(entry):
                change = ahead.hidden.add if isinstance(told, Hidden) else ahead.hidden.discard
                change(told.entry)
        offset += len(raw)
    return ahead


def _tells(raw: bytes) -> bool:
    return _MARK in raw or _EVICTION in raw


def _told(entry: _Entry) -> Iterator[Hidden | Shown]:
    """What a mark says about whether its messages may be found."""
    ids = dict.fromkeys(_owner(one) for one in _targets(entry.targets or entry.target))
    if entry.do_not_remember or entry.deleted:
        yield from (Hidden(one) for one in ids)
    elif entry.do_not_remember is False or entry.deleted is False:
        yield from (Shown(one) for one in ids)


def _owner(entry_id: str) -> str:
    """The message an entry belongs to: calls and results bear its id in front of their own."""
    for joint in (":use:", ":result:"):
        head, found, _ = entry_id.rpartition(joint)
        if found:
            return head
    return entry_id


def _skip_line(file: BinaryIO, begun: bytes, cursor: Cursor) -> bool:
    """Move past a line too long to read; False when it has no end yet."""
    size, crc = len(begun), zlib.crc32(begun, cursor.crc)
    while part := file.readline(1 << 20):
        size, crc = size + len(part), zlib.crc32(part, crc)
        if part.endswith(b"\n"):
            cursor.offset, cursor.crc, cursor.line = cursor.offset + size, crc, cursor.line + 1
            return True
    return False


def _document(
    entry: _Entry, text: str, cursor: Cursor, offset: int, length: int, *, evicted: bool
) -> Document:
    role, tool = _ROLES.get(entry.role.upper(), "user"), ""
    if entry.type == "tool_use":
        role, tool = "assistant", entry.name or ""
    elif entry.type == "tool_result":
        role, tool = "tool", entry.name or ""
    when = None if cursor.when is None else datetime.fromtimestamp(cursor.when, UTC)
    flags = (ERROR if entry.isError else 0) | (EVICTED if evicted else 0)
    if asks(text):
        flags |= QUESTION
    return Document(
        cursor.order, cursor.line, offset, length, text, when,
        entry.id, role, tool, flags,
    )  # fmt: skip


def _decode(raw: bytes) -> _Entry | None:
    """One line as an entry; None for what is no entry with a text."""
    if not _WANTED.search(raw):
        return None
    try:
        return _DECODER.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:  # half a surrogate pair, a BOM, NaN: valid for a lax reader only
        told = json.dumps(json.loads(raw), ensure_ascii=False)
        return msgspec.convert(json.loads(_sound(told)), _Entry)
    except (ValueError, RecursionError):
        return None


def _text(entry: _Entry) -> str:
    if entry.type == "message":
        text = "" if entry.origin in _INJECTED else _flat(entry.content)
    elif entry.type == "tool_use":
        text = f"{entry.name or ''} {_arguments(entry.input)}".strip()
    elif entry.type == "tool_result":
        text = _flat(entry.output)
    else:
        return ""
    # A secret that stands across the end is masked, not cut.
    return mask(text[: LONGEST_TEXT + LONGEST_SECRET]).text[:LONGEST_TEXT]


def _arguments(value: Any) -> str:
    if isinstance(value, str) and value[:1] in "{[":
        try:
            return _sound(_flat(json.loads(value)))
        except (ValueError, RecursionError):
            return value
    return _flat(value)


def _flat(value: Any, depth: int = 0) -> str:
    """The text in a value of any shape; images and reasoning are left out."""
    if isinstance(value, str):
        return value
    if value is None or depth > 8:
        return ""
    if isinstance(value, list):
        parts = (_flat(item, depth + 1) for item in cast("list[Any]", value))
        return "\n".join(part for part in parts if part)
    if isinstance(value, dict):
        known = cast("dict[str, Any]", value)
        kind = known.get("type")
        if isinstance(kind, str) and (kind in ("reasoning", "thinking") or "image" in kind):
            return ""
        if kind == "text" and isinstance(known.get("text"), str):
            return known["text"]
        parts = ((key, _flat(item, depth + 1)) for key, item in known.items())
        return "\n".join(f"{key}: {part}" for key, part in parts if part)
    return str(value)


def _targets(value: Any) -> Iterable[str]:
    """The ids in a value. What is empty or breaks a line is none: entries without an id are not
    meant, and `FileRow.hidden` has one a line."""
    items = cast("list[Any]", value) if isinstance(value, list) else [value]
    return (one for one in items if isinstance(one, str) and one and "\n" not in one)


def _sound(text: str) -> str:
    """`text` with half surrogate pairs replaced: SQLite and files refuse them."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def text_of(raw: bytes) -> str | None:
    """The text of the document that this line is; None when it is none."""
    entry = _decode(raw) if raw.endswith(b"\n") else None
    return (_text(entry) or None) if entry else None
