"""All sessions of a workspace: list, open, create, trash (specification 3.5).

`sessions.json` is derived: what it says of a session is used while the log's size and time are as
they were; what was appended since is read on from there; a corrupt or missing file is rebuilt from
the logs, which hold all of it. Sessions and fields other writers put there are kept. Everything
here blocks: call it in a thread, from one owner at a time.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path
from typing import Any, cast

import msgspec

from app.engine.errors import SessionNotFound, StorageError, Unreadable, WorkspaceBusy
from app.engine.records import SessionInfo
from app.engine.session.entries import Entry
from app.engine.session.glance import Glance, info_of, look, title_of
from app.engine.session.log import SessionLog
from app.engine.session.pages import Pages
from app.engine.session.recorder import Kit
from app.engine.session.session import Session
from app.engine.session.snapshot import CompactionSessionState
from app.engine.workspace.files import lock, read_bytes, try_lock, write_atomic
from app.engine.workspace.layout import Layout, valid_session_id
from app.engine.workspace.trash import Trash, Trashed

LOG_SUFFIX = ".log.jsonl"
TRASH_RULE = "a session moved to the trash"
OURS = "palimpsest"  # our own part of an entry of sessions.json
LONG_AGO = datetime.min.replace(tzinfo=UTC)


class SessionStore:
    """The sessions of one layout. `fsync` is that of the logs it opens."""

    def __init__(
        self,
        layout: Layout,
        *,
        fsync: str = "always",
        read_only: bool = False,
        kit: Kit | None = None,
    ) -> None:
        self._layout = layout
        self._fsync = fsync
        self._read_only = read_only
        self._kit = kit or Kit()
        self._glances: dict[str, Glance] | None = None
        self.pages = Pages()

    # ------------------------------------------------------------------ the list

    def list(self, *, trashed: bool = False) -> list[SessionInfo]:
        """All sessions, newest activity first; with `trashed` those in the trash instead.

        Logs that did not change since they were last looked at are not read.
        """
        if trashed:
            return self._trashed_list()
        infos = [info_of(i, g) for i, g in self._refresh().items()]
        infos.sort(key=attrgetter("id"), reverse=True)
        infos.sort(key=lambda i: i.last or LONG_AGO, reverse=True)
        return infos

    def info(self, session_id: str) -> SessionInfo:
        """One session of the list. Raises `SessionNotFound`."""
        path = self._layout.session_log(session_id)
        try:
            return info_of(session_id, look(path, (self._glances or {}).get(session_id)))
        except FileNotFoundError:
            raise SessionNotFound(f"There is no session {session_id!r}.") from None

    def _refresh(self) -> dict[str, Glance]:
        stored = self._stored_glances() if self._glances is None else self._glances
        known, intact = ({}, False) if stored is None else (stored, True)
        found: dict[str, Glance] = {}
        for session_id, path, stat in self._logs():
            glance = known.get(session_id)
            if glance and (glance.size, glance.mtime) == (stat.st_size, stat.st_mtime_ns):
                found[session_id] = glance
                continue
            with contextlib.suppress(FileNotFoundError):  # moved away meanwhile
                found[session_id] = look(Path(path), glance, stat)
        changed = not intact or found != known
        self._glances = found
        if changed and not self._read_only:
            with contextlib.suppress(StorageError, WorkspaceBusy):  # it can be made again
                self._save(found, gone=known.keys() - found.keys())
        return found

    def _logs(self) -> Iterator[tuple[str, str, os.stat_result]]:
        end = len(LOG_SUFFIX)
        try:
            with os.scandir(self._layout.sessions_dir) as entries:
                for entry in entries:
                    name = entry.name
                    if name.endswith(LOG_SUFFIX) and valid_session_id(name[:-end]):
                        try:
                            yield name[:-end], entry.path, entry.stat()
                        except FileNotFoundError:
                            continue
        except OSError:
            return

    # ------------------------------------------------------------------ sessions.json

    def _stored_glances(self) -> dict[str, Glance] | None:
        stored = _bytes_of(self._layout.sessions_index)
        with contextlib.suppress(msgspec.DecodeError, RecursionError):  # all is well, as a rule
            rows = _INDEX.decode(stored or b"").sessions
            return {key: row.palimpsest for key, row in rows.items() if row.palimpsest}
        index = _sessions_of(stored)
        if index is None:
            return None
        glances: dict[str, Glance] = {}
        for session_id, entry in index.items():
            with contextlib.suppress(msgspec.ValidationError):
                if OURS in entry:
                    glances[session_id] = msgspec.convert(entry[OURS], Glance)
        return glances

    def _save(self, found: dict[str, Glance], gone: set[str]) -> None:
        with lock(self._layout.lock_file("sessions")):
            index = _sessions_of(_bytes_of(self._layout.sessions_index)) or {}
            for session_id in gone:
                index.pop(session_id, None)
            for session_id, glance in found.items():
                when = info_of(session_id, glance).last
                index[session_id] = {
                    **index.get(session_id, {}),
                    "summary": title_of(session_id, glance),
                    "updatedAt": when.isoformat() if when else None,
                    OURS: glance,
                }
            data = msgspec.json.encode({"version": 1, "sessions": index})
            write_atomic(self._layout.sessions_index, data)

    # ------------------------------------------------------------------ one session

    def exists(self, session_id: str) -> bool:
        """Whether there is a log of that id. Raises `PathRefused` for an id that is none."""
        return self._layout.session_log(session_id).exists()

    def log(self, session_id: str) -> SessionLog:
        """The log of a session, for reading pages of it. Raises `PathRefused`."""
        held = self._layout.locks_dir / f"session-{session_id}.lock"
        return SessionLog(self._layout.session_log(session_id), held, self._fsync)

    def open(
        self,
        session_id: str,
        *,
        system_prompt: str | None = None,
        strategy: str | None = None,
        config: dict[str, Any] | None = None,
        model: str | None = None,
    ) -> Session:
        """A session from its log; see `Session.load`. Raises `SessionNotFound`, `PathRefused`."""
        return Session.load(
            session_id,
            self.log(session_id),
            self._kit_of(session_id),
            system_prompt=system_prompt,
            strategy=strategy,
            config=config,
            model=model,
        )

    def create(
        self,
        session_id: str = "",
        *,
        system_prompt: str = "",
        strategy: str = "",
        config: dict[str, Any] | None = None,
        model: str = "",
    ) -> Session:
        """A new session; no file exists before its first entry. Raises `PathRefused` for an id
        that is none, `StorageError` for one that is taken."""
        session_id = session_id or self._kit.new_id()
        if self.exists(session_id):
            raise StorageError(f"There is a session {session_id!r} already.", "Use another id.")
        return Session.create(
            session_id,
            self.log(session_id),
            self._kit_of(session_id),
            system_prompt=system_prompt,
            strategy=strategy,
            config=config,
            model=model,
        )

    def begin(self, session_id: str, state: CompactionSessionState) -> Session:
        """A new session that begins as a snapshot was; its first entry is written at once."""
        if self.exists(session_id):
            raise StorageError(f"There is a session {session_id!r} already.", "Use another id.")
        return Session.restore(state, session_id, self.log(session_id), self._kit_of(session_id))

    def bring(self, session_id: str, entries: Sequence[Entry]) -> None:
        """Write a whole session that came from elsewhere, all of it or nothing, and close it.

        Raises `StorageError` for an id that is taken, `PathRefused` for one that is none.
        """
        if self.exists(session_id):
            raise StorageError(f"There is a session {session_id!r} already.", "Use another id.")
        session = Session(session_id, self.log(session_id), self._kit_of(session_id))
        session.extend(entries)
        session.close()

    def fork(self, parent: Session, session_id: str = "", *, at: str = "") -> Session:
        """A new session that goes on from `parent` (from just after its entry `at`)."""
        session_id = session_id or self._kit.new_id()
        if self.exists(session_id):
            raise StorageError(f"There is a session {session_id!r} already.", "Use another id.")
        return parent.fork(session_id, self.log(session_id), self._kit_of(session_id), at=at)

    def _kit_of(self, session_id: str) -> Kit:
        return msgspec.structs.replace(self._kit, view=self._layout.session_view(session_id))

    # ------------------------------------------------------------------ trash

    def trash(self, session_id: str, *, more: Sequence[str] = ()) -> list[Trashed]:
        """Move log, view, side files and `more` (workspace paths: evicted results) to the trash.

        The session must be closed here. Raises `SessionNotFound`, `WorkspaceBusy`, `StorageError`.
        """
        if not self.exists(session_id):
            raise SessionNotFound(f"There is no session {session_id!r}.")
        held = try_lock(self._layout.locks_dir / f"session-{session_id}.lock")
        if held is None:
            raise WorkspaceBusy("This session is open elsewhere.", "Close it there first.")
        try:
            paths = [self._layout.relative(p) for p in self._files(session_id)]
            return Trash(self._layout).move(
                f"session-{self._kit.new_id()}", [*paths, *more], rule=TRASH_RULE,
                when=self._kit.now(),
            )  # fmt: skip
        finally:
            held.release()

    def _files(self, session_id: str) -> list[Path]:
        log = self._layout.session_log(session_id)
        torn = sorted(log.parent.glob(f"{session_id}.log.torn-*"))
        return [log, self._layout.session_view(session_id), *torn]

    def restore(self, session_id: str) -> list[str]:
        """Bring back everything that went to the trash with a session; the paths restored.

        Raises `SessionNotFound` when it is not there, `StorageError` when its place is taken.
        """
        path = self._layout.relative(self._layout.session_log(session_id))
        there = Trash(self._layout)
        items = there.list()
        newest = next((i for i in items if i.path == path), None)
        if newest is None:
            raise SessionNotFound(f"There is no session {session_id!r} in the trash.")
        sessions = [i for i in items if i.run == newest.run]
        if newest.rule != TRASH_RULE:  # a pruning moves several sessions in one run
            stem = path.removesuffix(LOG_SUFFIX)
            sessions = [i for i in sessions if i.path.startswith((f"{stem}.",))]
        return there.restore(sessions)

    def _trashed_list(self) -> list[SessionInfo]:
        infos: list[SessionInfo] = []
        folder = self._layout.relative(self._layout.sessions_dir)
        for item in Trash(self._layout).list():
            parent, _, name = item.path.rpartition("/")
            if parent != folder or not name.endswith(LOG_SUFFIX):
                continue
            stored = self._layout.trash_run(item.run) / item.stored
            with contextlib.suppress(FileNotFoundError):
                infos.append(info_of(name.removesuffix(LOG_SUFFIX), look(stored), trashed=True))
        return infos


# ---------------------------------------------------------------------------- sessions.json


class _Row(msgspec.Struct, frozen=True, gc=False):
    palimpsest: Glance | None = None


class _Index(msgspec.Struct, frozen=True):
    sessions: dict[str, _Row]


_INDEX = msgspec.json.Decoder(_Index)


def _bytes_of(path: Path) -> bytes | None:
    try:
        return read_bytes(path)
    except Unreadable:
        return None


def _sessions_of(data: bytes | None) -> dict[str, dict[str, Any]] | None:
    """The `sessions` map; None when the file is missing or not understood."""
    try:
        plain = msgspec.json.decode(data or b"")
    except (msgspec.DecodeError, RecursionError):
        return None
    sessions = cast("dict[str, Any]", plain).get("sessions") if isinstance(plain, dict) else None
    if not isinstance(sessions, dict):
        return None
    pairs = cast("dict[str, Any]", sessions).items()
    return {k: v for k, v in pairs if isinstance(v, dict)}
