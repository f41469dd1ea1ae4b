"""Lines of a session log: bytes to entries and back.

Reading never raises: what is no entry is a `BadLine` with a sentence. Unknown fields and kinds come
back out exactly as they went in. No text passes with half a surrogate pair in it: U+FFFD stands in
its place, so that neither SQLite, nor a model, nor a file is ever handed one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Union, cast

import msgspec

from app.engine.session.entries import (
    BY_TYPE,
    KINDS,
    BadLine,
    Entry,
    MessageEntry,
    RawEntry,
    type_of,
)
from app.engine.workspace.files import well_formed

RAW_KEPT = 2_000  # how much of a bad line is carried along to be shown

_FIELDS: dict[type[Entry], frozenset[str]] = {
    kind: frozenset(kind.__struct_encode_fields__) - {"extra", "typeName"}
    for kind in (*KINDS, RawEntry)
}
_HEAD = ("v", "seq", "type", "id", "parentId", "timestamp")
_KNOWN = msgspec.json.Decoder(Union[KINDS])  # noqa: UP007 - a union of a table


def decode(line: bytes) -> Entry | BadLine:
    """One line as an entry. Never raises; the reason of a `BadLine` is for people."""
    try:
        return _KNOWN.decode(line)
    except (msgspec.DecodeError, RecursionError):  # unknown kinds and fields, nulls, …
        return _decode_slowly(line)


def decode_all(lines: Sequence[bytes]) -> list[Entry | BadLine]:
    """As `decode`, of many lines at once: long logs are read by the block."""
    try:
        return list(map(_KNOWN.decode, lines))
    except (msgspec.DecodeError, RecursionError):
        return list(map(decode, lines))


def _decode_slowly(line: bytes) -> Entry | BadLine:
    data = parse_json(line)
    if isinstance(data, BadLine):
        return data
    if not isinstance(data, dict):
        return _bad("The line is JSON, but not an object.", line)
    plain = cast("dict[str, Any]", data)
    kind = plain.get("type")
    if not isinstance(kind, str) or not kind:
        return _bad("The line does not say what kind of entry it is.", line)
    return _shaped(plain, kind, line)


def parse_json(line: bytes) -> Any:
    """The JSON value of a line (or of arguments), lone surrogates replaced; else a `BadLine`."""
    try:
        return msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        pass
    try:  # the lenient reader: lone surrogate escapes, NaN
        return clean(json.loads(line.decode("utf-8")))
    except UnicodeDecodeError:
        return _bad("The line is not UTF-8 text.", line)
    except RecursionError:
        return _bad("The line is nested too deeply.", line)
    except ValueError:
        return _bad("The line is not valid JSON.", line)


def _shaped(plain: dict[str, Any], kind: str, line: bytes) -> Entry | BadLine:
    made = BY_TYPE.get(kind, RawEntry)
    known = _FIELDS[made] | {"type"}
    fields: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    for key, value in plain.items():
        if key not in known:
            extra[key] = value
        elif value is not None:  # other writers say null where we say nothing
            fields[key] = value
    if made is RawEntry:
        fields |= {"type": "?", "typeName": kind}
    if made is MessageEntry and "content" not in fields:
        if not any(fields.get(key) for key in ("blockTypes", "images", "reasoning")):
            return _bad("A message entry has no content.", line)
        fields["content"] = ""  # a placeholder
    try:
        entry = msgspec.convert(fields, made)
    except (msgspec.ValidationError, RecursionError) as error:
        return _bad(f"A {kind} entry has the wrong shape: {error}.", line)
    return msgspec.structs.replace(entry, extra=extra) if extra else entry


def _bad(reason: str, line: bytes) -> BadLine:
    return BadLine(reason, line[:RAW_KEPT].decode("utf-8", "replace").rstrip("\r\n"))


def encode(entry: Entry) -> bytes:
    """The entry as one line of UTF-8 with its newline."""
    try:
        body = cast("dict[str, Any]", msgspec.to_builtins(entry))
        return _line(entry, body)
    except UnicodeEncodeError:
        return _line(entry, cast("dict[str, Any]", clean(msgspec.to_builtins(entry))))


def _line(entry: Entry, body: dict[str, Any]) -> bytes:
    extra = body.pop("extra", {})
    body.pop("typeName", None)
    head = {"v": entry.v, "seq": entry.seq, "type": type_of(entry), "id": body.get("id", "")}
    head["parentId"] = body.get("parentId")
    if "timestamp" in body:
        head["timestamp"] = body["timestamp"]
    rest = {k: v for k, v in body.items() if k not in _HEAD}
    return msgspec.json.encode({**head, **rest, **extra}) + b"\n"


def as_object(entry: Entry | BadLine) -> dict[str, Any]:
    """What stands on the line of an entry; a line that is none, as one of type `unreadable`."""
    if isinstance(entry, BadLine):
        return {"type": "unreadable", **msgspec.to_builtins(entry)}
    return msgspec.json.decode(encode(entry))


def clean(value: Any) -> Any:
    """The value with every lone surrogate in its texts replaced by U+FFFD; pairs are joined."""
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, dict):
        return {clean(k): clean(v) for k, v in cast("dict[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [clean(v) for v in cast("list[Any]", value)]
    return value
