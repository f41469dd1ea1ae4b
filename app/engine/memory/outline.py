"""MEMORY.md as blocks: headings, bullets, fences, table rows, lines.

A text is its lines joined by U+000A; the blocks cover every line once and in order, so a text can
be put together again byte for byte from its blocks. What is a block is said by markdown-it, read by
`workspace.blocks`. Bullets keep their continuation lines; headings inside a fence, a
list item or a quote open no section.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from functools import lru_cache

from msgspec import Struct

from app.engine.workspace.blocks import LARGE, BlockKind, blocks

_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+|$)(.*)")
_BULLET = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$)")
_UNDERLINE = re.compile(r"\n[ \t]*(?:=+|-+)[ \t\r]*$")
_SPACE = re.compile(r"\s+")


class Block(Struct, frozen=True):
    """Lines `start` up to `end` (0-based, end excluded) of a text. `section` is its heading, `body`
    the text without heading or bullet marks."""

    kind: BlockKind
    start: int
    end: int
    text: str
    section: str = ""
    body: str = ""


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


def title(heading: str) -> str:
    """The words of a heading, also of one that is underlined."""
    return " ".join(body(_UNDERLINE.sub("", heading)).split())


def level(heading: str) -> int:
    """How deep a heading's section lies, from 1; the sections of deeper ones are parts of it."""
    marked = _HEADING.match(heading)
    return len(marked.group(1)) if marked else 1 if heading.rstrip().endswith("=") else 2


def normal(text: str) -> str:
    """The form in which two bullets count as the same: NFC, one space, no mark, no case."""
    return _SPACE.sub(" ", unicodedata.normalize("NFC", body(text))).strip().casefold()


def bullet_key(text: str) -> str:
    """The content hash by which provenance knows a bullet; spacing and its mark do not matter."""
    return hashlib.sha256(normal(text).encode("utf-8", "replace")).hexdigest()[:16]


def outline(text: str) -> tuple[Block, ...]:
    """The blocks of a text, in order. Those of the texts read last are kept, large ones apart."""
    return read(text) if len(text) <= LARGE else read.__wrapped__(text)


@lru_cache(maxsize=64)
def read(text: str) -> tuple[Block, ...]:
    """The blocks of a text that is worth keeping: a review asks for the same few again."""
    lines = lines_of(text)
    found: list[Block] = []
    section = ""
    for kind, start, end, _level in blocks(lines):
        own = "\n".join(lines[start:end])
        if kind == "heading":
            section = title(own)
        found.append(Block(kind, start, end, own, section, body(own)))
    return tuple(found)


def bullets(text: str) -> tuple[Block, ...]:
    """The facts of a text: its bullets, table rows and loose lines, without headings and blanks."""
    return tuple(b for b in outline(text) if b.kind in ("bullet", "text", "table", "fence"))
