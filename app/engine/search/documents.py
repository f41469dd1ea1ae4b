"""What of a file can be found: lines, session entries, pieces of evicted results.

Idea: a file is cut into documents, each with the place it came from (line, byte offset and length)
and its searchable text. Only the place is stored; to show a hit the bytes are read again and cut by
the same rules. Invariant: `text_at` gives exactly the text that `documents` gave for that place,
as long as the bytes are the same.

Lines end at the byte 0x0A only. A session log is read as specification section 3.4 describes it;
reasoning, and what the engine put into the context itself, is not searched.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, time, tzinfo
from pathlib import Path
from typing import Any, BinaryIO, cast

import msgspec
from msgspec import Struct

from app.engine.records import Layer
from app.engine.workspace.secrets import mask

LONGEST_TEXT = 200_000
"""Characters of one entry that are indexed; of a longer one, the beginning."""
CHUNK = 2_000
"""Characters of one document of an evicted result."""
LONGEST_LINE = 64_000_000
"""Bytes of one line that are read at all."""

EVICTED, ERROR, QUESTION = 1, 2, 4


class Document(Struct, frozen=True):
    """One thing that can be found.

    `order` counts the documents of a file from 0; `line` counts lines from 1; `offset` and
    `length` are bytes. `when` is in UTC. `flags` holds EVICTED, ERROR and QUESTION.
    """

    order: int
    line: int
    offset: int
    length: int
    text: str
    when: datetime | None = None
    entry: str = ""
    role: str = ""
    tool: str = ""
    flags: int = 0


class Marked(Struct, frozen=True):
    """A later entry says that an earlier one's result was put aside."""

    entry: str


class Cursor(Struct):
    """Where reading a file may go on; `crc` sums up everything that was read before."""

    offset: int = 0
    line: int = 0
    order: int = 0
    when: float | None = None
    crc: int = 0

    def past(self, raw: bytes) -> int:
        """Move past one whole line; the offset where it began."""
        begin = self.offset
        self.offset += len(raw)
        self.line += 1
        self.crc = zlib.crc32(raw, self.crc)
        return begin


class Encoding(Exception):
    """The file is no UTF-8 text; `str()` names what it looks like."""


def layer_of(path: str) -> Layer | None:
    """The layer of a path relative to the workspace, with slashes; None when it is not searched."""
    parts = path.split("/")
    if path == "MEMORY.md":
        return "memory"
    if parts[0] == "memory" and len(parts) > 1 and path.endswith(".md"):
        return "daily"
    if parts[0] == "agents" and len(parts) == 4 and parts[2] == "sessions":
        return "sessions" if path.endswith(".log.jsonl") else None
    if parts[0] == "large_tool_results" and len(parts) > 1:
        return "evicted"
    return None


def session_of(path: str) -> str:
    """The session id in the name of a session log, else ""."""
    return path.rsplit("/", 1)[-1].removesuffix(".log.jsonl") if path.endswith(".jsonl") else ""


def documents(
    file: BinaryIO, layer: Layer, path: str, cursor: Cursor, zone: tzinfo = UTC
) -> Iterator[Document | Marked]:
    """The documents of `file` from `cursor` on; `cursor` moves past each finished line.

    In a session log an unfinished last line is left for the next time; elsewhere it counts.
    Raises `Encoding` for Markdown that is not UTF-8.
    """
    file.seek(cursor.offset)
    if layer == "sessions":
        return _entries(file, cursor)
    if layer == "evicted":
        return _chunks(file, cursor)
    return _lines(file, path, cursor, zone)


# ---------------------------------------------------------------------------- Markdown

_OURS = re.compile(r"\s*<!-- /?palimpsest:[^>]*-->\s*")
_HEADING = re.compile(r"## Memory (?:Flush|Save) (?:—|-) (\S+)\s*")


def _lines(file: BinaryIO, path: str, cursor: Cursor, zone: tzinfo) -> Iterator[Document]:
    when = _day_of(path, zone)
    daily = path.startswith("memory/")
    for raw in file:
        offset = cursor.past(raw)
        text = _markdown_line(raw, first=cursor.line == 1)
        heading = _HEADING.fullmatch(text) if daily else None
        if heading:
            when = moment(heading[1]) or when
        if not text.strip() or heading or _OURS.fullmatch(text):
            continue
        yield Document(cursor.order, cursor.line, offset, len(raw), _plain_line(text), when)
        cursor.order += 1


def _plain_line(text: str) -> str:
    """A line as a person wrote it: without our escape, and without secrets."""
    if text.startswith(("\\## Memory ", "\\<!-- palimpsest:")):
        text = text[1:]
    return mask(text).text


def _markdown_line(raw: bytes, *, first: bool) -> str:
    if first and raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise Encoding("UTF-16")
    if b"\x00" in raw:
        raise Encoding("UTF-16 or binary data")
    try:
        text = raw.decode("utf-8-sig" if first else "utf-8")
    except UnicodeDecodeError:
        raise Encoding(_guess(raw)) from None
    return text.rstrip("\r\n")


def _guess(raw: bytes) -> str:
    try:
        raw.decode("gb18030")
    except UnicodeDecodeError:
        return "an encoding that is not UTF-8"
    return "GBK or another encoding that is not UTF-8"


def _day_of(path: str, zone: tzinfo) -> datetime | None:
    match = re.match(r"\d{4}-\d\d-\d\d", path.rsplit("/", 1)[-1], re.ASCII)
    if match is None:
        return None
    try:
        day = datetime.strptime(match.group(), "%Y-%m-%d").date()
    except ValueError:
        return None
    return datetime.combine(day, time(), zone).astimezone(UTC)


# ---------------------------------------------------------------------------- evicted results


def _chunks(file: BinaryIO, cursor: Cursor) -> Iterator[Document]:
    for raw in file:
        start = cursor.past(raw)
        for begin, length, text in _pieces(raw):
            if text.strip():
                yield Document(cursor.order, cursor.line, start + begin, length, text)
                cursor.order += 1


def _chunk_text(raw: bytes) -> str:
    return mask(raw.decode("utf-8", "replace").rstrip("\r\n")).text


def _pieces(raw: bytes) -> Iterator[tuple[int, int, str]]:
    """(byte offset, byte length, text) of the pieces of one line, at most CHUNK characters each."""
    text = raw.decode("utf-8", "replace")
    if len(text) <= CHUNK:
        yield 0, len(raw), _chunk_text(raw)
        return
    begin = 0
    while begin < len(raw):
        end = min(len(raw), begin + CHUNK * (len(raw) // len(text) + 1))
        while end < len(raw) and raw[end] & 0xC0 == 0x80:
            end -= 1
        part = raw[begin:end].decode("utf-8", "replace")
        if len(part) > CHUNK:
            part = part[:CHUNK]
            end = begin + len(part.encode("utf-8", "replace"))
        end = max(end, begin + 1)
        yield begin, end - begin, _chunk_text(raw[begin:end])
        begin = end


# ---------------------------------------------------------------------------- session logs


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
    isError: bool = False  # noqa: N815 - the format's own name


_DECODER = msgspec.json.Decoder(_Entry)
_INJECTED = frozenset({"recall", "session_context", "summary", "continuation", "interrupted"})
_ROLES = {"USER": "user", "ASSISTANT": "assistant", "TOOL": "tool", "SYSTEM": "system"}
_WANTED = (b'"message"', b'"tool_use"', b'"tool_result"', b'"eviction"')


def _entries(file: BinaryIO, cursor: Cursor) -> Iterator[Document | Marked]:
    while True:
        raw = file.readline(LONGEST_LINE)
        if not raw.endswith(b"\n"):
            if len(raw) < LONGEST_LINE:
                return
            if not _skip_line(file, raw, cursor):
                return
            continue
        offset = cursor.past(raw)
        entry = _decode(raw)
        if entry is None:
            continue
        when = moment(entry.timestamp)
        if when is not None:
            cursor.when = when.timestamp()
        if entry.type == "eviction":
            yield from (Marked(one) for one in _targets(entry.target))
            continue
        text = _text(entry)
        if text:
            yield _document(entry, text, cursor, offset, len(raw))
            cursor.order += 1


def _skip_line(file: BinaryIO, begun: bytes, cursor: Cursor) -> bool:
    """Move past a line too long to read; False when it has no end yet."""
    size, crc = len(begun), zlib.crc32(begun, cursor.crc)
    while part := file.readline(1 << 20):
        size, crc = size + len(part), zlib.crc32(part, crc)
        if part.endswith(b"\n"):
            cursor.offset, cursor.crc, cursor.line = cursor.offset + size, crc, cursor.line + 1
            return True
    return False


def _document(entry: _Entry, text: str, cursor: Cursor, offset: int, length: int) -> Document:
    role, tool = _ROLES.get(entry.role.upper(), "user"), ""
    if entry.type == "tool_use":
        role, tool = "assistant", entry.name or ""
    elif entry.type == "tool_result":
        role, tool = "tool", entry.name or ""
    when = None if cursor.when is None else datetime.fromtimestamp(cursor.when, UTC)
    flags = ERROR if entry.isError else 0
    if text.rstrip().endswith(("?", "？")):
        flags |= QUESTION
    return Document(
        cursor.order, cursor.line, offset, length, text, when,
        _sound(entry.id), role, _sound(tool), flags,
    )  # fmt: skip


def _decode(raw: bytes) -> _Entry | None:
    """One line as an entry; None for what is no entry with a text."""
    if not any(kind in raw for kind in _WANTED):
        return None
    if raw.startswith(b"\xef\xbb\xbf"):
        raw = raw[3:]
    try:
        return _DECODER.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    try:  # half a surrogate pair: valid for a lax reader only
        return msgspec.convert(json.loads(raw), _Entry)
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
    return mask(_sound(text[:LONGEST_TEXT])).text


def _arguments(value: Any) -> str:
    if isinstance(value, str) and value[:1] in "{[":
        try:
            return _flat(json.loads(value))
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
    items = cast("list[Any]", value) if isinstance(value, list) else [value]
    return (item for item in items if isinstance(item, str))


def _sound(text: str) -> str:
    """`text` with half surrogate pairs replaced: SQLite and files refuse them."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def moment(value: str | float | int | None) -> datetime | None:
    """An instant in UTC from ISO-8601 text or epoch seconds; None when it is neither."""
    try:
        if isinstance(value, str):
            when = datetime.fromisoformat(value)
            return (when if when.tzinfo else when.replace(tzinfo=UTC)).astimezone(UTC)
        return None if value is None else datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError):
        return None


# ---------------------------------------------------------------------------- reading back

Place = tuple[int, int, int]  # line, offset, length


def text_at(file: BinaryIO, layer: Layer, place: Place) -> str | None:
    """The text of the document at `place`, None when there is none any more."""
    line, offset, length = place
    file.seek(offset)
    raw = file.read(length)
    if len(raw) != length:
        return None
    if layer == "sessions":
        entry = _decode(raw) if raw.endswith(b"\n") else None
        return (_text(entry) or None) if entry else None
    if layer == "evicted":
        return _chunk_text(raw)
    try:
        text = _markdown_line(raw, first=line == 1)
    except Encoding:
        return None
    return _plain_line(text)


def open_for_reading(path: Path) -> BinaryIO:
    """Open a file for `documents` and `text_at`."""
    return path.open("rb", buffering=1 << 16)
