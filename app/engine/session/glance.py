"""What the list of sessions says of one log, and how it is kept current by reading only the new.

Pure but for `look`, which reads a log from where the last look ended. Invariant: looking on from an
earlier glance gives what looking at the whole log gives.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
from msgspec import Struct

from app.engine.errors import Unreadable
from app.engine.records import SessionInfo
from app.engine.session import entries as e
from app.engine.session.log import SessionLog
from app.engine.session.messages import owner, role_of
from app.engine.session.text import cut_text

TITLE_LIMIT = 80

Time = str | int | float | None


class Glance(Struct, frozen=True, rename="camel"):
    """Counts over the first `read` bytes of a log; `size` and `mtime` (ns) of the file then."""

    read: int = 0
    size: int = 0
    mtime: int = 0
    seq: int = 0
    title: str = ""
    first_line: str = ""
    first: Time = None
    last: Time = None
    entries: int = 0
    bad: int = 0
    messages: int = 0
    compactions: int = 0
    flushes: int = 0
    evictions: int = 0
    parent: str = ""
    last_message: str = ""
    failed: bool = False


def look(path: Path, known: Glance | None = None, stat: os.stat_result | None = None) -> Glance:
    """A glance at a log, going on from `known` when the log only grew since. Blocks.

    `stat` is that of the file, where the caller has it already.
    """
    stat = stat or path.stat()
    size, mtime = stat.st_size, stat.st_mtime_ns
    if known is not None and not known.failed and (known.size, known.mtime) == (size, mtime):
        return known
    glance = known if known is not None and known.read <= size and not known.failed else Glance()
    try:
        for line in SessionLog(path).read(glance.read, glance.seq):
            if isinstance(line.entry, e.BadLine) and line.entry.torn:
                break
            glance = msgspec.structs.replace(
                _with(glance, line.entry), read=line.end, seq=line.entry.seq
            )
    except Unreadable:
        return Glance(failed=True)
    return msgspec.structs.replace(glance, size=size, mtime=mtime)


def _with(glance: Glance, entry: e.Entry | e.BadLine) -> Glance:
    if isinstance(entry, e.BadLine):
        return msgspec.structs.replace(glance, bad=glance.bad + 1)
    changes: dict[str, int | str | Time] = {"entries": glance.entries + 1}
    if entry.when is not None:
        changes["last"] = entry.timestamp
        if glance.first is None:
            changes["first"] = entry.timestamp
    if isinstance(entry, e.MessageEntry | e.ToolUse):
        changes |= _spoken(glance, entry)
    elif isinstance(entry, e.Mark) and entry.title is not None:
        changes["title"] = entry.title
    elif isinstance(entry, e.SessionOpen) and entry.parent:
        changes["parent"] = entry.parent
    elif isinstance(entry, e.Fork) and entry.parent_session:
        changes["parent"] = entry.parent_session
    elif isinstance(entry, e.Compaction):
        changes["compactions"] = glance.compactions + 1
    elif isinstance(entry, e.Flush):
        changes["flushes"] = glance.flushes + 1
    elif isinstance(entry, e.Eviction):
        changes["evictions"] = glance.evictions + 1
    return msgspec.structs.replace(glance, **changes)


def _spoken(glance: Glance, entry: e.MessageEntry | e.ToolUse) -> dict[str, int | str | Time]:
    message_id = owner(entry.id)
    changes: dict[str, int | str | Time] = {"last_message": message_id}
    role = role_of(entry.role) if isinstance(entry, e.MessageEntry) else "assistant"
    if message_id != glance.last_message and role != "tool":
        changes["messages"] = glance.messages + 1
    if (
        isinstance(entry, e.MessageEntry)
        and role == "user"
        and not entry.origin
        and not glance.first_line
    ):
        changes["first_line"] = short_title(entry.content or "")
    return changes


def short_title(text: str) -> str:
    """The first line with something in it, its white space made single, at most 80 characters."""
    for line in text.splitlines():
        words = " ".join(line.split())
        if words:
            kept, cut = cut_text(words, TITLE_LIMIT)
            return f"{cut_text(words, TITLE_LIMIT - 1)[0].rstrip()}…" if cut else kept
    return ""


def title_of(session_id: str, glance: Glance) -> str:
    """The person's name for a session, else its first line, else one made of its id."""
    return short_title(glance.title) or glance.first_line or f"Session {session_id}"


def info_of(session_id: str, glance: Glance, *, trashed: bool = False) -> SessionInfo:
    return SessionInfo(
        id=session_id,
        title=title_of(session_id, glance),
        first=e.parse_time(glance.first),
        last=e.parse_time(glance.last),
        entries=glance.entries,
        messages=glance.messages,
        bytes=glance.size,
        compactions=glance.compactions,
        flushes=glance.flushes,
        evictions=glance.evictions,
        parent=glance.parent,
        trashed=trashed,
        failed=glance.failed,
    )
