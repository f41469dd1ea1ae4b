"""What the index tells of a document, a term and a file, and in which columns it keeps them."""

from __future__ import annotations

import zlib
from datetime import UTC, datetime

from msgspec import Struct

from app.engine.records import Layer

EVICTED, ERROR, QUESTION = 1, 2, 4
FIRST, LAST = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)
"""The first and the last instant of a document."""
YOUNG_NS = 2_000_000_000
"""A file's time this close to a look may hide a second write with the same time."""


class Document(Struct, frozen=True, gc=False):
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
    """Where reading a file may go on; `crc` sums up everything that was read before.

    `when` is the moment of what comes next until a line tells another, seconds since the epoch.
    `hidden` are the messages that the log so far wants to be forgotten.
    """

    offset: int = 0
    line: int = 0
    order: int = 0
    when: float | None = None
    crc: int = 0
    hidden: frozenset[str] = frozenset()

    def past(self, raw: bytes) -> int:
        """Move past one whole line; the offset where it began."""
        begin = self.offset
        self.offset += len(raw)
        self.line += 1
        self.crc = zlib.crc32(raw, self.crc)
        return begin


class Hidden(Struct, frozen=True):
    """A later entry wants a message, its calls and their results to be found no more."""

    entry: str


class Shown(Struct, frozen=True):
    """A later entry takes that back: only a reading from the beginning knows the texts again."""

    entry: str


Told = Document | Marked | Hidden | Shown
"""What reading a file tells, in the order of the file."""


class Row(Struct, frozen=True, gc=False):
    """One document that may match.

    `path` of the layer `history` names no file: `history:12` is version 12 of MEMORY.md,
    `proposal:<id>` a proposal. `ms` is the document's moment, milliseconds since the epoch;
    `held` says that the index itself holds the text of `path`.
    """

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
    ms: int
    held: bool

    @property
    def when(self) -> datetime:
        """The document's moment in UTC, to the millisecond."""
        return moment(self.ms / 1000) or LAST


class LineHit(Struct, frozen=True):
    """A hit in the seed's shape: 1-based line, the whole line, and bm25 (lower is better)."""

    path: str
    line_number: int
    content: str
    rank: float


class Posting(Struct, frozen=True, gc=False):
    """Where a term stands: a document's place in its file, and its flags."""

    file: int
    order: int
    flags: int


class FileRow(Struct):
    """What is known of one indexed file. `text` holds what came from a string, not from a file;
    `hidden`, one a line, the messages that a log wants to be forgotten."""

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
    terms: int = 0
    last: float | None = None
    text: str | None = None
    hidden: str = ""
    problem: str = ""


FILE_COLUMNS = (
    "path, layer, session, size, mtime_ns, inode, seen_ns, crc, offset, line, docs, terms, last, "
    "text, hidden, problem"
)
ROW_COLUMNS = (
    "d.id, f.id, f.path, f.layer, f.session, d.ord, d.line, d.offset, d.length, d.entry, "
    "(SELECT name FROM names WHERE id=d.role), (SELECT name FROM names WHERE id=d.tool), "
    "d.id*1000+d.part, f.text IS NOT NULL"
)


def moment(value: str | float | int | None) -> datetime | None:
    """An instant in UTC from ISO-8601 text or epoch seconds; None when it is neither. One at the
    very ends of the calendar is moved away from them, so that every zone can show it."""
    try:
        if isinstance(value, str):
            when = datetime.fromisoformat(value)
            when = (when if when.tzinfo else when.replace(tzinfo=UTC)).astimezone(UTC)
        elif value is None:
            return None
        else:
            when = datetime.fromtimestamp(value, UTC)
        return max(FIRST, min(when, LAST))
    except (ValueError, OverflowError, OSError):
        return None
