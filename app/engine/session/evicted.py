"""Which evicted results belong to which session: the two-way links between placeholder and file.

Read from the session logs, which are the truth; files nobody names are orphans, and names without
a file are missing. Everything here blocks.
"""

from __future__ import annotations

from msgspec import Struct

from app.engine.records import EvictedInfo, SessionInfo
from app.engine.session import entries as e
from app.engine.session.log import SessionLog
from app.engine.session.store import SessionStore
from app.engine.workspace.evictions import EvictedFile, Evictions


class Put(Struct, frozen=True):
    """One eviction as its session's log tells it."""

    entry: e.Eviction
    tool: str


def evictions_in(log: SessionLog) -> list[Put]:
    """The evictions of one session, in order."""
    tools: dict[str, str] = {}
    found: list[Put] = []
    for line in log.read():
        entry = line.entry
        if isinstance(entry, e.ToolResult):
            tools[entry.id] = entry.name
        elif isinstance(entry, e.Eviction):
            found.append(Put(entry, tools.get(entry.target, "")))
    return found


def evicted_of(log: SessionLog) -> list[str]:
    """The paths of the files one session put aside."""
    return list(dict.fromkeys(put.entry.file for put in evictions_in(log)))


def bring_back(store: SessionStore, evictions: Evictions, path: str) -> bool:
    """Write a missing file anew from the log that tells of it, when its text is what it held."""
    for info in store.list():
        if not info.evictions:
            continue
        log = store.log(info.id)
        for put in evictions_in(log):
            if put.entry.file == path:
                text = _output(log, put.entry.target)
                return text is not None and evictions.restore(path, text, put.entry.sha256)
    return False


def _output(log: SessionLog, result_id: str) -> str | None:
    for line in log.read():
        if isinstance(line.entry, e.ToolResult) and line.entry.id == result_id:
            return line.entry.output
    return None


def evicted_results(store: SessionStore, evictions: Evictions) -> list[EvictedInfo]:
    """All of them, newest first; only sessions whose list entry counts evictions are read."""
    files = {file.path: file for file in evictions.list()}
    rows: dict[str, EvictedInfo] = {}
    for info in store.list():
        if info.evictions:
            for put in evictions_in(store.log(info.id)):
                rows[put.entry.file] = _row(put, info, files.get(put.entry.file))
    rows |= {path: _orphan(file) for path, file in files.items() if path not in rows}
    return sorted(rows.values(), key=lambda row: (row.when is not None, row.when), reverse=True)


def _row(put: Put, info: SessionInfo, file: EvictedFile | None) -> EvictedInfo:
    return EvictedInfo(
        path=put.entry.file,
        tool=put.tool,
        session_id=info.id,
        session_title=info.title,
        entry_id=put.entry.target,
        chars=put.entry.chars,
        bytes=file.bytes if file else 0,
        when=put.entry.when,
        state="present" if file else "missing",
    )


def _orphan(file: EvictedFile) -> EvictedInfo:
    return EvictedInfo(
        path=file.path,
        tool="",
        session_id="",
        session_title="",
        entry_id="",
        chars=0,
        bytes=file.bytes,
        when=file.when,
        state="orphan",
    )
