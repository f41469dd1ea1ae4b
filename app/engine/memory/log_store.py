"""Where the logs of Motus-shaped memories lie: one session log each, the engine's own format.

A store only hands out logs; what is in them is the session's business. Pointed at the sessions
folder of a workspace, it holds the same sessions as the workspace does. Everything here blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from app.engine.errors import PathRefused
from app.engine.session.entries import BadLine, Entry
from app.engine.session.log import Log, MemoryLog, SessionLog
from app.engine.workspace.layout import valid_session_id

SUFFIX = ".log.jsonl"


class ConversationLogStore(Protocol):
    """Logs by session id. Every method raises `PathRefused` for an id that could leave it."""

    def exists(self, session_id: str) -> bool:
        """Whether something was ever written for that session."""
        ...

    def log(self, session_id: str) -> Log:
        """The log of a session; nothing is made before its first entry."""
        ...

    def sessions(self) -> list[str]:
        """The ids of all sessions, sorted."""
        ...


class LocalConversationLogStore:
    """A folder with one `<session id>.log.jsonl` each. `fsync` is that of the logs."""

    def __init__(self, base: Path | str, *, fsync: str = "always") -> None:
        self.base = Path(base)
        self._fsync = fsync

    def path(self, session_id: str) -> Path:
        """Where the log of a session lies. Raises `PathRefused`."""
        return self.base / f"{_checked(session_id)}{SUFFIX}"

    def exists(self, session_id: str) -> bool:
        return self.path(session_id).exists()

    def log(self, session_id: str) -> SessionLog:
        return SessionLog(self.path(session_id), fsync=self._fsync)

    def sessions(self) -> list[str]:
        if not self.base.is_dir():
            return []
        names = (p.name.removesuffix(SUFFIX) for p in self.base.glob(f"*{SUFFIX}"))
        return sorted(name for name in names if valid_session_id(name))

    def entries(self, session_id: str) -> Iterator[Entry | BadLine]:
        """The entries of a session's log, in order; none when there is no file."""
        return (line.entry for line in self.log(session_id).read())


class InMemoryConversationLogStore:
    """Logs that live as long as the program."""

    def __init__(self) -> None:
        self._logs: dict[str, MemoryLog] = {}

    def exists(self, session_id: str) -> bool:
        return self.log(session_id).size() > 0

    def log(self, session_id: str) -> MemoryLog:
        return self._logs.setdefault(_checked(session_id), MemoryLog())

    def sessions(self) -> list[str]:
        return sorted(name for name, log in self._logs.items() if log.size())


def _checked(session_id: str) -> str:
    if not valid_session_id(session_id):
        raise PathRefused(
            "A session id may hold only letters, digits, dot, underscore and hyphen.",
            "Use another id.",
        )
    return session_id
