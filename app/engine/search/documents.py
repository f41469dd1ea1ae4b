"""What of a file can be found: lines, session entries, pieces of evicted results.

Idea: a file is cut into documents, each with the place it came from (line, byte offset and length)
and its searchable text. Only the place is stored; to show a hit the bytes are read again and cut by
the same rules. Invariant: `text_at` gives exactly the text that `documents` gave for that place,
as long as the bytes are the same.

Lines end at the byte 0x0A only. Session logs are cut in `logs.py`.
"""

from __future__ import annotations

import errno
import os
import re
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, time, tzinfo
from pathlib import Path
from stat import S_ISREG
from typing import BinaryIO

from app.engine.records import Layer
from app.engine.search import logs
from app.engine.search.logs import LONGEST_SECRET
from app.engine.search.rows import FIRST, LAST, Cursor, Document, Told, moment
from app.engine.workspace.secrets import KeyBlocks, mask, spans

CHUNK = 2_000
"""Characters of one document of an evicted result."""
LONGEST_WORD = 100
"""Characters before the end of a piece in which a gap is looked for."""
BLOCK = 20_000
"""Bytes of a line that are one document, or cut into documents together: memory stays flat, and
showing a hit costs little, however long a line is."""


_RESULT = re.compile(r".*-[0-9a-f]{16}", re.DOTALL)
"""What evicted results are called: in a folder that somebody chose, other files are not ours."""


class Encoding(Exception):
    """The file is no UTF-8 text; `str()` names what it looks like."""


def layer_of(path: str, beside: str = "") -> Layer | None:
    """The layer of a path relative to the workspace, with slashes; None when it is not searched.

    `beside` is a folder of evicted results in a place of its own, as the workspace names it.
    (Paths that name no file, see `past.py`, have none either.)
    """
    parts = path.split("/")
    if beside and path.rpartition("/")[0] == beside:
        return "evicted" if _RESULT.fullmatch(parts[-1]) else None
    if path == "MEMORY.md":
        return "memory"
    if parts[0] == "memory" and len(parts) > 1 and path.endswith(".md"):
        return "daily"
    if parts[0] == "agents" and len(parts) == 4 and parts[2] == "sessions":
        return "sessions" if path.endswith(".log.jsonl") else None
    if parts[0] == "large_tool_results" and len(parts) > 1:
        return "evicted"
    return None


def place_of(root: Path, path: str) -> Path:
    """The file behind a path. MEMORY.md may be a link within the workspace, as its writer keeps
    one; no other link is followed."""
    file = root / path
    if path == "MEMORY.md" and file.is_symlink():
        with suppress(OSError, RuntimeError):
            target = file.resolve()
            if target.is_relative_to(root.resolve()):
                return target
    return file


def session_of(path: str) -> str:
    """The session id in the name of a session log, else ""."""
    return path.rsplit("/", 1)[-1].removesuffix(".log.jsonl") if path.endswith(".jsonl") else ""


def documents(
    file: BinaryIO, layer: Layer, path: str, cursor: Cursor, zone: tzinfo = UTC
) -> Iterator[Told]:
    """The documents of `file` from `cursor` on; `cursor` moves past each finished line.

    In a session log an unfinished last line is left for the next time; elsewhere it counts. Where
    `cursor.when` is None behind a file that is no session log, only a reading from its beginning
    can tell what comes next.
    Raises `Encoding` for Markdown that is not UTF-8.
    """
    if layer == "sessions":
        return logs.entries(file, cursor)
    file.seek(cursor.offset)
    if layer == "evicted":
        return _chunks(file, cursor)
    return _lines(file, path, cursor, zone)


# ---------------------------------------------------------------------------- long lines


def _blocks(file: BinaryIO, cursor: Cursor) -> Iterator[tuple[int, bytes]]:
    """(byte offset, bytes) of each line, of a long one block by block; `cursor` moves past each."""
    ahead, ended = b"", True
    while raw := ahead + file.readline(BLOCK + LONGEST_SECRET - len(ahead)):
        ahead = b""
        if len(raw) > BLOCK and not raw.endswith(b"\n"):
            end = _block_end(raw)
            raw, ahead = raw[:end], raw[end:]
        if not ended:
            cursor.line -= 1  # it is the same line still
        yield cursor.past(raw), raw
        ended = raw.endswith(b"\n")


def _block_end(raw: bytes) -> int:
    """Where to cut a line at `BLOCK` bytes at most: within no character, and within no secret;
    within no word when there is a gap."""
    begin = BLOCK - LONGEST_SECRET
    end = raw.rfind(b" ", BLOCK - LONGEST_WORD, BLOCK) + 1 or BLOCK
    while raw[end] & 0xC0 == 0x80 and end > BLOCK - 4:
        end -= 1
    before = raw[begin:end].decode("utf-8", "surrogateescape")
    both = before + raw[end:].decode("utf-8", "surrogateescape")
    for first, last in spans(both):
        if 0 < first < len(before) < last:
            return begin + len(both[:first].encode("utf-8", "surrogateescape"))
    return end


# ---------------------------------------------------------------------------- Markdown

_OURS = re.compile(r"\s*<!-- /?palimpsest:[^>]*-->\s*")
_HEADING = re.compile(r"## Memory (?:Flush|Save) (?:—|-) (\S+)\s*")


def _lines(file: BinaryIO, path: str, cursor: Cursor, zone: tzinfo) -> Iterator[Document]:
    day = _day_of(path, zone)
    when = moment(cursor.when) or day
    daily = path.startswith("memory/")
    blocks = KeyBlocks()
    raw = b""
    for offset, raw in _blocks(file, cursor):
        text = _markdown_line(raw, first=cursor.line == 1)
        heading = _HEADING.fullmatch(text) if daily else None
        if heading:
            when = moment(heading[1]) or when
        if blocks.covers(text) or not text.strip() or heading or _OURS.fullmatch(text):
            continue
        yield Document(cursor.order, cursor.line, offset, len(raw), plain_line(text), when)
        cursor.order += 1
    # Without a day a line's moment is the file's, which changes for all of them; a line that is
    # not finished may become another, and within a key only its beginning shows what it is.
    goes_on = day is not None and not blocks.open and raw.endswith(b"\n")
    cursor.when = when.timestamp() if goes_on and when else None


def plain_line(text: str) -> str:
    """A line as a person wrote it: without our escape, and without secrets."""
    if text.startswith(("\\## Memory ", "\\<!-- palimpsest:")):
        text = text[1:]
    return mask(text).text


def _markdown_line(raw: bytes, *, first: bool) -> str:
    if first and raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise Encoding("UTF-16")
    if raw.count(0) * 3 > len(raw):  # ASCII in UTF-16 has a NUL beside each letter
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
        return max(FIRST, min(datetime.combine(day, time(), zone).astimezone(UTC), LAST))
    except (ValueError, OverflowError):
        return None


# ---------------------------------------------------------------------------- evicted results


def _chunks(file: BinaryIO, cursor: Cursor) -> Iterator[Document]:
    blocks = KeyBlocks()
    for start, raw in _blocks(file, cursor):
        if blocks.covers(raw[:CHUNK].decode("utf-8", "replace")):
            continue
        for begin, length, text in _pieces(raw):
            if text.strip():
                yield Document(cursor.order, cursor.line, start + begin, length, text)
                cursor.order += 1


def _chunk_text(raw: bytes) -> str:
    return mask(raw.decode("utf-8", "replace").rstrip("\r\n")).text


def _pieces(raw: bytes) -> Iterator[tuple[int, int, str]]:
    """(byte offset, byte length, text) of the pieces of one line, at most CHUNK characters each.

    No secret is cut in two, for its halves would not be known as one; one that is longer than a
    piece is left out.
    """
    text = raw.decode("utf-8", "surrogateescape")
    secrets = spans(text)
    begin = offset = 0
    while begin < len(text):
        end = begin + CHUNK
        if end < len(text):  # a word cut in two would not be found
            end = text.rfind(" ", end - LONGEST_WORD, end) + 1 or end
        end = min(end, len(text))
        at = bisect_left(secrets, (end,)) - 1  # the last one that begins before the end
        if at >= 0 and end < secrets[at][1]:
            first, last = secrets[at]
            end = first if first > begin else last
        part = text[begin:end].encode("utf-8", "surrogateescape")
        if end - begin <= CHUNK:
            yield offset, len(part), _chunk_text(part)
        begin, offset = end, offset + len(part)


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
        return logs.text_of(raw)
    if layer == "evicted":
        return _chunk_text(raw)
    try:
        text = _markdown_line(raw, first=line == 1)
    except Encoding:
        return None
    return plain_line(text)


def open_for_reading(path: Path, buffering: int = 1 << 16) -> BinaryIO:
    """Open a file for `documents` and `text_at`. Raises `OSError`, also for what is no regular
    file: a pipe put in its place would keep us waiting, a link might lead anywhere."""
    return open(path, "rb", buffering=buffering, opener=_regular)


def _regular(name: str, flags: int) -> int:
    fd = os.open(name, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))
    if not S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "it is not a regular file")
    return fd
