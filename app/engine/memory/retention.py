"""What has grown too old, and how it is put away: archive and trash, never deletion.

Daily logs named by a day strictly before today minus retention go to `memory/archive/`; sessions
whose last record is older than retention go to the trash with view, side files and evicted results,
and with them old runs and closed proposals. Age is that of the content, never of the file, except
where a log holds no time at all (case B94). `preview` says what would happen and touches nothing.
A retention of "never" keeps everything. What a person brought back from the archive stays as long
as the trail of moves tells of it. Every move is written to `runs.jsonl` with its rule.
Specification, section 12. Synchronous: call it in a thread.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct

from app.engine.config import MemoryConfig
from app.engine.errors import Unreadable
from app.engine.memory.journal import RunLog
from app.engine.session.entries import BadLine, Eviction
from app.engine.session.lines import decode_line, raw_lines, raw_lines_backwards
from app.engine.workspace.archive import archive, bring_back, expired
from app.engine.workspace.files import read_bytes, try_lock
from app.engine.workspace.layout import Layout, local_day, valid_session_id
from app.engine.workspace.trash import Trash

_LOG = ".log.jsonl"
_BACK = "bring back"
_TAIL = 20  # records looked at for the newest time: clocks may have run backwards
_CLOSED = frozenset({"applied", "partly_applied", "rejected", "superseded", "failed"})


class RetentionItem(Struct, frozen=True):
    """One file that is due. `step` is archive, prune or trash; `age` in whole days.

    `rule` is a sentence; `session_id` names the session a pruned file belongs to.
    """

    step: str
    path: str
    rule: str
    age: int
    session_id: str = ""


class Retention:
    """The retention of one workspace. `now` is always given, aware."""

    def __init__(self, layout: Layout, runs: RunLog) -> None:
        self._layout = layout
        self._runs = runs
        self._trash = Trash(layout)

    # ------------------------------------------------------------------ what is due

    def preview(
        self, memory: MemoryConfig, trash_days: float, now: datetime, opened: Collection[str] = ()
    ) -> list[RetentionItem]:
        """All that the next run would move or delete, with rule and age; nothing is touched."""
        items = self.due_days(memory, now)
        items += self.due_sessions(memory, now, opened)
        items += self.due_proposals(memory, now)
        for item in self._trash.list():
            age = now - item.when
            if age >= timedelta(days=trash_days):
                rule = f"It has been in the trash for {trash_days:g} days or longer."
                items.append(RetentionItem("trash", item.path, rule, age.days))
        return items

    def due_days(self, memory: MemoryConfig, now: datetime) -> list[RetentionItem]:
        """Daily logs to be archived, oldest first."""
        kept = _days(memory.daily_file_retention_days)
        if kept is None:
            return []
        today = local_day(now, now.tzinfo)
        if kept >= (today - date.min).days:
            return []  # so long ago that nothing can be older
        rule = f"Daily logs older than {kept:g} days go to the archive."
        old = expired(self._layout, today=today, retention_days=int(kept))
        wanted = self._brought_back() if old else frozenset[str]()
        return [
            RetentionItem("archive", info.path, rule, (today - info.day).days)
            for info in old
            if info.day is not None and info.path not in wanted
        ]

    def _brought_back(self) -> frozenset[str]:
        """Daily logs that a person took out of the archive and has not put there again."""
        last = {
            move.target if move.step == _BACK else move.source: move.step
            for move in self._runs.moved()
            if move.step in (_BACK, "archive")
        }
        return frozenset(path for path, step in last.items() if step == _BACK)

    def due_sessions(
        self, memory: MemoryConfig, now: datetime, opened: Collection[str]
    ) -> list[RetentionItem]:
        """Files of sessions to be pruned: log, view, side files, evicted results. Never of an open
        session, nor of a log that is a link."""
        kept = _days(memory.session_retention_days)
        if kept is None:
            return []
        rule = f"Sessions whose last record is older than {kept:g} days go to the trash."
        due = {
            session_id: (log, age)
            for session_id, log in _session_logs(self._layout.sessions_dir)
            if session_id not in opened and _exceeds(age := now - last_record(log), kept)
        }
        results = self._results(frozenset(due))
        return [
            RetentionItem("prune", path, rule, age.days, session_id)
            for session_id, (log, age) in due.items()
            for path in [*self._files_of(session_id, log), *results.get(session_id, ())]
        ]

    def due_proposals(self, memory: MemoryConfig, now: datetime) -> list[RetentionItem]:
        """Closed proposals as old as a session that is pruned; open ones always stay."""
        kept = _days(memory.session_retention_days)
        if kept is None:
            return []
        rule = f"Closed proposals older than {kept:g} days go to the trash."
        items: list[RetentionItem] = []
        with contextlib.suppress(FileNotFoundError):
            for path in sorted(self._layout.proposals_dir.iterdir()):
                when = _closed_when(path)
                if when is not None and _exceeds(now - when, kept):
                    name = self._layout.relative(path)
                    items.append(RetentionItem("prune", name, rule, (now - when).days))
        return items

    # ------------------------------------------------------------------ doing it

    def archive(self, item: RetentionItem, run: str, now: datetime) -> str:
        """Move one daily log to the archive; its new path. An existing name gets a number.

        Raises `StorageError`, `PathRefused`; the file is then where it was.
        """
        new = archive(self._layout, item.path)
        self._runs.record_move(run, now, "archive", item.path, new, item.rule)
        return new

    def move_day(self, path: str, now: datetime, *, archived: bool) -> str:
        """Move one daily log into the archive or out of it, because a person says so; as `archive`.

        What was brought back is not archived again by itself.
        """
        if archived:
            return self.archive(RetentionItem("archive", path, "Put away by hand.", 0), "", now)
        new = bring_back(self._layout, path)
        self._runs.record_move("", now, _BACK, path, new, "Brought back by hand.")
        return new

    def prune(self, items: list[RetentionItem], run: str, now: datetime) -> list[str]:
        """Move one session's files (or other due files) to the trash; the paths moved.

        Nothing, when another process has the session open. Raises `StorageError`.
        """
        session_id = items[0].session_id
        held = try_lock(self._layout.lock_file(f"session-{session_id}")) if session_id else None
        if session_id and held is None:
            return []
        try:
            paths = [item.path for item in items]
            for item in items:
                place = self._layout.relative(self._layout.trash_run(run))
                self._runs.record_move(run, now, "prune", item.path, place, item.rule)
            return [t.path for t in self._trash.move(run, paths, rule=items[0].rule, when=now)]
        finally:
            if held is not None:
                held.release()

    def prune_runs(self, memory: MemoryConfig, run: str, now: datetime) -> int:
        """Take old records out of `runs.jsonl`, into a file in the trash; how many."""
        kept = _days(memory.session_retention_days)
        before = _before(now, kept)
        if kept is None or before is None:
            return 0
        aside = self._layout.dot / f"runs-{run}.jsonl"
        count = self._runs.set_aside(before, aside)
        if count:
            rule = f"Runs older than {kept:g} days go to the trash."
            self._trash.move(run, [self._layout.relative(aside)], rule=rule, when=now)
        return count

    def empty_trash(self, trash_days: float, now: datetime) -> int:
        """Delete what has lain in the trash long enough; how many files."""
        return self._trash.purge(now=now, days=trash_days)

    # ------------------------------------------------------------------ inside

    def _files_of(self, session_id: str, log: Path) -> list[str]:
        """The log first; then view and side files."""
        files = [log, self._layout.session_view(session_id)]
        files += sorted(self._layout.sessions_dir.glob(f"{session_id}.log.torn-*"))
        return [self._layout.relative(path) for path in files if path.exists()]

    def _results(self, due: Collection[str]) -> dict[str, list[str]]:
        """Evicted results of these sessions that no session which stays names, by session."""
        owner: dict[str, str] = {}
        for session_id in sorted(due):
            for path in _evicted(self._layout.session_log(session_id)):
                if (self._layout.root / path).is_file():
                    owner.setdefault(path, session_id)
        folders = {path.rpartition("/")[0].encode() for path in owner}
        for session_id, log in _session_logs(self._layout.sessions_dir) if owner else ():
            if session_id in due:
                continue
            for _, raw, _ in raw_lines(log):
                if any(folder in raw for folder in folders):
                    owner = {p: s for p, s in owner.items() if p.encode() not in raw}
        found: dict[str, list[str]] = {}
        for path, session_id in owner.items():
            found.setdefault(session_id, []).append(path)
        return found


def last_record(log: Path) -> datetime:
    """The newest time among a log's last records; the file's own time when none has one."""
    times: list[datetime] = []
    with contextlib.suppress(Unreadable, OSError):
        for count, (_, raw, whole) in enumerate(raw_lines_backwards(log)):
            if times and count >= _TAIL:
                break
            entry = decode_line(raw, whole)
            if not isinstance(entry, BadLine) and entry.when is not None:
                times.append(entry.when)
    return max(times) if times else datetime.fromtimestamp(log.stat().st_mtime, UTC)


def _session_logs(folder: Path) -> Iterator[tuple[str, Path]]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    for name in names:
        session_id = name.removesuffix(_LOG)
        path = folder / name
        if name.endswith(_LOG) and valid_session_id(session_id) and not path.is_symlink():
            yield session_id, path


def _evicted(log: Path) -> list[str]:
    found: dict[str, None] = {}
    with contextlib.suppress(Unreadable):
        for _, raw, whole in raw_lines(log):
            if b'"eviction"' in raw:
                entry = decode_line(raw, whole)
                if isinstance(entry, Eviction) and _is_inside(entry.file):
                    found.setdefault(entry.file)
    return list(found)


def _is_inside(path: str) -> bool:
    """Only workspace paths are moved along: a log is data and may name any place."""
    parts = Path(path).parts
    own = parts[:1] not in (("memory",), (".palimpsest",), ("agents",), ("knowledge",))
    return len(parts) > 1 and own and not Path(path).is_absolute() and ".." not in parts


def _closed_when(path: Path) -> datetime | None:
    """When a proposal that can no longer be decided was made; None for all else."""
    if path.suffix != ".json" or path.is_symlink():
        return None
    try:
        value: Any = msgspec.json.decode(read_bytes(path) or b"")
        stored = cast("dict[str, Any]", value)
        when = datetime.fromisoformat(stored["when"])
        closed = stored["state"] in _CLOSED
    except (msgspec.DecodeError, Unreadable, KeyError, TypeError, ValueError):
        return None
    return when if closed and when.tzinfo is not None else None


def _days(value: int | str) -> float | None:
    return None if isinstance(value, str) else float(value)


def _exceeds(age: timedelta, days: float) -> bool:
    return age.total_seconds() > days * 86_400


def _before(now: datetime, days: float | None) -> datetime | None:
    try:
        return None if days is None else now - timedelta(days=days)
    except OverflowError:
        return None  # so long ago that nothing can be older
