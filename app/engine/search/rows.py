"""What the index tells of a document, a term and a file, and in which columns it keeps them."""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec import Struct

from app.engine.records import Layer
from app.engine.search.conditions import SLOTS


class Row(Struct, frozen=True):
    """One document that may match, and its rank (bm25: lower is better; 0.0 without terms)."""

    id: int
    file: int
    path: str
    layer: Layer
    session: str
    order: int
    line: int
    offset: int
    length: int
    entry: str
    role: str
    tool: str
    rank: float

    @property
    def when(self) -> datetime:
        """The moment in its row id, in UTC, to the millisecond."""
        return datetime.fromtimestamp((self.id >> SLOTS) / 1000, UTC)


class Posting(Struct, frozen=True):
    """Where a term stands: a document's place in its file, its flags and bm25."""

    file: int
    order: int
    flags: int
    rank: float


class FileRow(Struct):
    """What is known of one indexed file. `text` holds what came from a string, not from a file."""

    path: str
    layer: Layer
    session: str = ""
    size: int = 0
    mtime_ns: int = 0
    inode: int = 0
    seen_ns: int = 0
    crc: int = 0
    offset: int = 0
    line: int = 0
    docs: int = 0
    last: float | None = None
    text: str | None = None
    problem: str = ""


FILE_COLUMNS = (
    "path, layer, session, size, mtime_ns, inode, seen_ns, crc, offset, line, docs, last, text, "
    "problem"
)
ROW_COLUMNS = (
    "d.id, f.id, f.path, f.layer, f.session, d.ord, d.line, d.offset, d.length, d.entry, d.role, "
    "d.tool"
)
