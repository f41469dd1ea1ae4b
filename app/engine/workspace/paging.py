"""Reading files piece by piece, for tools and panes.

Idea: a page is an exact stretch of the file, found by lines or by characters, never longer than a
cap; pages put together are the original. Files are streamed, so a huge one costs time but no
memory. Invariant: a character is never cut. Specification, sections 13 and 14; cases B71, TOL-1.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from app.engine.errors import PathRefused, Unreadable, UserError
from app.engine.records import TextPage
from app.engine.workspace.confine import MEMORY_AREAS, MISSING, readable
from app.engine.workspace.files import decode, read_text
from app.engine.workspace.layout import Layout

READ_CAP = 40_000  # characters of one tool answer; half of the default eviction limit
DEFAULT_LINES = 2_000
_CONTINUATION = bytes(range(0x80, 0xC0))  # bytes that begin no character in UTF-8
_CHUNK = 1 << 20


class NoSuchLines(UserError, ValueError):
    """The first line asked for lies beyond the end of the file."""

    remedy = "Ask for lines that the file has."


# ---------------------------------------------------------------------------- memory_get


def memory_lines(
    layout: Layout,
    path: str,
    start_line: int | None = None,
    end_line: int | None = None,
    *,
    cap: int = READ_CAP,
) -> str:
    """Lines `N|text` of MEMORY.md or a file below `memory/`, for the tool `memory_get`.

    Both ends count from 1 and are clamped; `end_line` before `start_line` gives "". Beyond `cap`
    characters the rest is named, not given. Raises `PathRefused` (blank, outside, not a file),
    `NoSuchLines` (start beyond the end), `Unreadable`.
    """
    if not path.strip():
        raise PathRefused(MISSING, "Check the path.")
    file = readable(layout.root, path, areas=MEMORY_AREAS)
    found = read_text(file)
    if found is None or found.blank:
        raise PathRefused(MISSING, "Check the path.")
    lines = found.text.split("\n")
    first = max(1, start_line if start_line is not None else 1)
    last = min(len(lines), end_line if end_line is not None else len(lines))
    if first > len(lines):
        raise NoSuchLines(f"Line {first} was asked for; the file has {len(lines)} lines.")
    return _capped(lines, first, last, cap)


def _capped(lines: list[str], first: int, last: int, cap: int) -> str:
    out: list[str] = []
    size = 0
    for n in range(first, last + 1):
        line = f"{n}|{lines[n - 1]}"
        if size + len(line) > cap:
            if not out:
                out.append(line[:cap])
                out.append(f"(line {n} is cut; it has {len(lines[n - 1])} characters)")
                n += 1
            if n <= last:
                out.append(f"(lines {n} to {last} are left out; ask for them by startLine)")
            break
        out.append(line)
        size += len(line) + 1
    return "\n".join(out)


# ---------------------------------------------------------------------------- read_file


class FilePage(Struct, frozen=True):
    """An exact stretch of a file and, when there is more, the sentence that says how to go on.

    `start` and `end` are character offsets; `end` is where the next page begins.
    """

    text: str
    start: int
    end: int
    total: int
    hint: str = ""


def read_page(
    file: Path,
    *,
    offset: int | None = None,
    limit: int | None = None,
    char_offset: int | None = None,
    char_limit: int | None = None,
    cap: int = READ_CAP,
) -> FilePage:
    """One page of a UTF-8 file: lines from `offset` (1-based), or characters from `char_offset`.

    Characters rule when one of their two is given. Never more than `cap` characters. Raises
    `Unreadable` (missing, not UTF-8, not text), `NoSuchLines` when `offset` is beyond the end.
    """
    cap = max(1, cap)
    if char_offset is not None or char_limit is not None:
        length = min(cap, char_limit if char_limit and char_limit > 0 else cap)
        page = page_of(file, char_offset or 0, length, strict=True)
        return _page(page.text, page.start, page.total)
    with _open(file) as stream:
        place = _find_line(stream, max(1, offset or 1))
        if place.lines < max(1, offset or 1):
            raise NoSuchLines(f"Line {offset} was asked for; the file has {place.lines} lines.")
        stream.seek(place.byte)
        data = stream.read(cap * 4 + 4)
    text = _text(data, file.name)[:cap]
    count = limit if limit is not None and limit > 0 else DEFAULT_LINES
    return _page(_first_lines(text, count), place.char, place.total, first=place.line)


def page_of(file: Path, start: int, length: int, *, strict: bool = False) -> TextPage:
    """Characters `start` to `start + length` of a UTF-8 file, clamped to what there is.

    Bytes that are no UTF-8 show as U+FFFD, or raise `Unreadable` when `strict`.
    """
    start, wanted = max(0, start), max(0, length)
    total, pieces = 0, list[str]()
    with _open(file) as stream:
        for data in _whole_characters(stream):
            count = _characters(data)
            if wanted and total + count > start:
                text = _text(data, file.name) if strict else data.decode(errors="replace")
                piece = text[max(0, start - total) :][:wanted]
                pieces.append(piece)
                wanted -= len(piece)
            total += count
    text = "".join(pieces)
    start = min(start, total)
    return TextPage(text, start, start + len(text), total)


def _page(text: str, start: int, total: int, first: int = 0) -> FilePage:
    end = start + len(text)
    if end >= total:
        return FilePage(text, start, end, total)
    where = f"Characters {start} to {end} of {total}."
    if first and text.endswith("\n"):
        next_line = first + text.count("\n")
        how = f"Continue with offset={next_line}, or charOffset={end}."
    else:
        how = f"Continue with charOffset={end}."
    return FilePage(text, start, end, total, f"{where} {how}")


def _first_lines(text: str, count: int) -> str:
    at = 0
    for _ in range(count):
        found = text.find("\n", at)
        if found < 0:
            return text
        at = found + 1
    return text[:at]


# ---------------------------------------------------------------------------- streams


class _Place(Struct, frozen=True):
    line: int
    byte: int
    char: int
    total: int
    lines: int


def _find_line(stream: BinaryIO, line: int) -> _Place:
    """Where a 1-based line begins, in bytes and characters, and how much there is in all."""
    ends, byte, char = 0, 0, 0
    found_byte, found_char = (0, 0) if line == 1 else (-1, 0)
    for data in _whole_characters(stream):
        here = data.count(b"\n")
        if found_byte < 0 and ends + here >= line - 1:
            at = 0
            for _ in range(line - 1 - ends):
                at = data.index(b"\n", at) + 1
            found_byte, found_char = byte + at, char + _characters(data[:at])
        ends += here
        byte += len(data)
        char += _characters(data)
    return _Place(line, max(0, found_byte), found_char, char, ends + 1)


def _whole_characters(stream: BinaryIO) -> Iterator[bytes]:
    """The stream in chunks that end between characters."""
    rest = b""
    while chunk := stream.read(_CHUNK):
        data = rest + chunk
        cut = _last_start(data)
        rest = data[cut:]
        if cut:
            yield data[:cut]
    if rest:
        yield rest


def _last_start(data: bytes) -> int:
    """Where the last character of `data` begins: what follows may not be whole yet."""
    at = len(data) - 1
    while at > 0 and 0x80 <= data[at] < 0xC0:
        at -= 1
    return at


def _characters(data: bytes) -> int:
    return len(data.translate(None, _CONTINUATION))


def _text(data: bytes, name: str) -> str:
    """Strict text of a stretch whose end may be cut inside a character."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data" and error.end == len(data):
            return data[: error.start].decode()
        decode(data, name)  # says what it looks like
        raise Unreadable(f"{name} is not UTF-8 text.") from None


def _open(file: Path) -> BinaryIO:
    try:
        fd = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except OSError as error:
        raise Unreadable(f"{file.name} cannot be read.", "Check the path.") from error
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise Unreadable(f"{file.name} is not a regular file.", "Name a file.")
    return open(fd, "rb")
