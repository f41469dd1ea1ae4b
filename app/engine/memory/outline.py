"""MEMORY.md as blocks: headings, bullets, fences, tables rows, lines.

A text is its lines joined by U+000A; the blocks cover every line once and in order, so a text can
be put together again byte for byte from its blocks. Bullets keep their continuation lines. A fence
is one block when it is closed; an unclosed one is a single line, so that it cannot hide the rest
of the file (B86). Headings inside a fence open no section.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from typing import Literal

from msgspec import Struct

BlockKind = Literal["heading", "bullet", "fence", "table", "comment", "text", "blank"]

_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+|$)(.*)")
_BULLET = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_SPACE = re.compile(r"\s+")


class Block(Struct, frozen=True):
    """Lines `start` up to `end` (0-based, end excluded) of a text. `section` is its heading."""

    kind: BlockKind
    start: int
    end: int
    text: str
    section: str = ""

    @property
    def body(self) -> str:
        """The text without heading or bullet marks."""
        return body(self.text)


def lines_of(text: str) -> list[str]:
    """The lines of a text, split at U+000A alone; a final newline makes one more empty line."""
    return text.split("\n")


def body(line: str) -> str:
    """A line without its bullet or heading mark and outer space."""
    mark = _BULLET.match(line)
    if mark is not None:
        return line[mark.end() :].strip()
    heading = _HEADING.match(line)
    if heading is not None:
        return heading.group(2).strip().rstrip("#").strip()
    return line.strip()


def normal(text: str) -> str:
    """The form in which two bullets count as the same: NFC, one space, no mark, no case."""
    return _SPACE.sub(" ", unicodedata.normalize("NFC", body(text))).strip().casefold()


def bullet_key(text: str) -> str:
    """The content hash by which provenance knows a bullet; spacing and its mark do not matter."""
    return hashlib.sha256(normal(text).encode("utf-8", "replace")).hexdigest()[:16]


def outline(text: str) -> tuple[Block, ...]:
    """The blocks of a text, in order."""
    return tuple(_scan(lines_of(text)))


def bullets(text: str) -> tuple[Block, ...]:
    """The facts of a text: its bullets, table rows and loose lines, without headings and blanks."""
    return tuple(b for b in outline(text) if b.kind in ("bullet", "text", "table", "fence"))


def _scan(lines: list[str]) -> list[Block]:
    found: list[Block] = []
    closers = _fence_ends(lines)
    section = ""
    at = 0
    while at < len(lines):
        line = lines[at].rstrip("\r")
        kind, end = _kind_at(line, at, lines, closers)
        if kind == "heading":
            section = body(line)
        found.append(Block(kind, at, end, "\n".join(lines[at:end]), section))
        at = end
    return found


def _kind_at(
    line: str, at: int, lines: list[str], closers: dict[int, int]
) -> tuple[BlockKind, int]:
    if not line.strip():
        return "blank", at + 1
    if at in closers:
        return "fence", closers[at] + 1
    if _HEADING.match(line):
        return "heading", at + 1
    if _BULLET.match(line):
        return "bullet", _bullet_end(lines, at + 1)
    bare = line.lstrip()
    if bare.startswith("<!--"):
        return "comment", at + 1
    return ("table" if bare.startswith("|") else "text"), at + 1


def _bullet_end(lines: list[str], at: int) -> int:
    """Where the continuation lines of a bullet end: blank lines and any new block end it."""
    while at < len(lines):
        line = lines[at].rstrip("\r")
        bare = line.lstrip()
        if not bare or _BULLET.match(line) or _HEADING.match(line) or _FENCE.match(line):
            break
        if bare.startswith(("<!--", "|")):
            break
        at += 1
    return at


def _fence_ends(lines: list[str]) -> dict[int, int]:
    """Opening line -> closing line, of the fences that are closed. One pass."""
    marks = [
        (i, m.group(1), line.strip() == m.group(1))
        for i, line in enumerate(lines)
        if (m := _FENCE.match(line))
    ]
    ends: dict[int, int] = {}
    open_for_good: dict[str, int] = {}  # a length for which no closer comes any more
    at = 0
    while at < len(marks):
        line, mark, _bare = marks[at]
        if len(mark) >= open_for_good.get(mark[0], len(mark) + 1):
            at += 1
            continue
        close = next(
            (
                k
                for k in range(at + 1, len(marks))
                if marks[k][2] and marks[k][1][0] == mark[0] and len(marks[k][1]) >= len(mark)
            ),
            None,
        )
        if close is None:
            open_for_good[mark[0]] = len(mark)
            at += 1
            continue
        ends[line] = marks[close][0]
        at = close + 1
    return ends
