"""What the list of sessions says of one log, and how it is kept current by reading only the new.

Pure but for `look`, which reads a log from where the last look ended. Invariant: looking on from an
earlier glance gives what looking at the whole log gives.
"""

from __future__ import annotations

import os
import unicodedata
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from app.engine.errors import Unreadable
from app.engine.records import SessionInfo
from app.engine.session import entries as e
from app.engine.session.log import SessionLog
from app.engine.session.messages import owner, role_of
from app.engine.session.text import cut_text

TITLE_LIMIT = 80


class Glance(Struct, frozen=True, array_like=True, gc=False):
    """Counts over the first `read` bytes of a log; `size` and `mtime` (ns) of the file then.

    `title` is the person's name for the session. A list of ten thousand is read at once: it is
    stored as an array, in the very types the list needs.
    """

    read: int = 0
    size: int = 0
    mtime: int = 0
    seq: int = 0
    title: str = ""
    first_line: str = ""
    first: datetime | None = None
    last: datetime | None = None
    entries: int = 0
    bad: int = 0
    messages: int = 0
    compactions: int = 0
    flushes: int = 0
    evictions: int = 0
    parent: str = ""
    last_message: str = ""
    failed: bool = False
    inode: int = 0  # 0: not known


def look(path: Path, known: Glance | None = None, stat: os.stat_result | None = None) -> Glance:
    """A glance at a log, going on from `known` when the log only grew since. Blocks.

    `stat` is that of the file, where the caller has it already.
    """
    stat = stat or path.stat()
    size, mtime = stat.st_size, stat.st_mtime_ns
    if known is not None and not known.failed and (known.size, known.mtime) == (size, mtime):
        return known
    if known is None or known.failed or known.inode not in (0, stat.st_ino) or known.read > size:
        known = Glance()  # not looked at yet, or replaced since
    tally = _Tally(known)
    try:
        for line in SessionLog(path).read(tally.read, tally.seq):
            if isinstance(line.entry, e.BadLine) and line.entry.torn:
                break
            tally.take(line.entry)
            tally.read, tally.seq = line.end, line.entry.seq
    except Unreadable:
        return Glance(failed=True)
    return tally.glance(stat)


class _Tally:
    """A glance while its log is being read."""

    def __init__(self, known: Glance) -> None:
        self.read = known.read
        self.seq = known.seq
        self.fields: dict[str, Any] = msgspec.structs.asdict(known)

    def glance(self, stat: os.stat_result) -> Glance:
        self.fields |= {"read": self.read, "seq": self.seq}
        self.fields |= {"size": stat.st_size, "mtime": stat.st_mtime_ns, "inode": stat.st_ino}
        return Glance(**self.fields)

    def _count(self, name: str) -> None:
        self.fields[name] += 1

    def take(self, entry: e.Entry | e.BadLine) -> None:
        if isinstance(entry, e.BadLine):
            self._count("bad")
            return
        self._count("entries")
        when = entry.when
        if when is not None:
            self.fields["last"] = when
            self.fields["first"] = self.fields["first"] or when
        if isinstance(entry, e.MessageEntry | e.ToolUse):
            self._spoken(entry)
        elif isinstance(entry, e.Mark):
            if entry.title is not None:
                self.fields["title"] = short_title(entry.title)
        elif isinstance(entry, e.SessionOpen):
            self.fields["parent"] = entry.parent or self.fields["parent"]
        elif isinstance(entry, e.Fork):
            self.fields["parent"] = entry.parent_session or self.fields["parent"]
        elif isinstance(entry, e.Compaction):
            self._count("compactions")
        elif isinstance(entry, e.Flush):
            self._count("flushes")
        elif isinstance(entry, e.Eviction):
            self._count("evictions")

    def _spoken(self, entry: e.MessageEntry | e.ToolUse) -> None:
        message_id = owner(entry.id)
        role = role_of(entry.role) if isinstance(entry, e.MessageEntry) else "assistant"
        if message_id != self.fields["last_message"] and role != "tool":
            self._count("messages")
        self.fields["last_message"] = message_id
        if not isinstance(entry, e.MessageEntry) or entry.origin or role != "user":
            return
        if not self.fields["first_line"]:
            self.fields["first_line"] = short_title(entry.content or "")


def short_title(text: str) -> str:
    """The first line with something to see, its white space made single, at most 80 characters."""
    for line in text.splitlines():
        words = " ".join(line.split())
        if any(unicodedata.category(letter)[0] in "LNPS" for letter in words):
            kept, cut = cut_text(words, TITLE_LIMIT)
            return f"{cut_text(words, TITLE_LIMIT - 1)[0].rstrip()}…" if cut else kept
    return ""


def title_of(session_id: str, glance: Glance) -> str:
    """The person's name for a session, else its first line, else one made of its id."""
    return glance.title or glance.first_line or f"Session {session_id}"


def info_of(session_id: str, glance: Glance, *, trashed: bool = False) -> SessionInfo:
    return SessionInfo(
        session_id,
        title_of(session_id, glance),
        glance.first,
        glance.last,
        glance.entries,
        glance.messages,
        glance.size,
        glance.compactions,
        glance.flushes,
        glance.evictions,
        glance.parent,
        trashed,
        glance.failed,
    )
