"""What became of each section of the daily logs: `sections.jsonl` and the watermark.

Idea: states are an append-only log folded into a table; the last word on a section counts, and a
section nobody spoke of is `waiting`. A section is known by file name, ordinal and content hash, so
a move to the archive changes nothing and an edited section is a new one. The watermark is read
once, to begin the table (specification, section 3.3), and kept for other programs.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from app.engine.errors import PathRefused, StorageError, Unreadable
from app.engine.records import DailySection, DayLog
from app.engine.workspace.confine import write_target
from app.engine.workspace.daily_log import day_paths, read_day
from app.engine.workspace.files import append_durable, lock, read_bytes, write_atomic
from app.engine.workspace.layout import Layout

log = logging.getLogger(__name__)

State = Literal["waiting", "merged", "left_out", "rejected"]
EPOCH = datetime.fromtimestamp(0, UTC)


# ---------------------------------------------------------------------------- watermark


class Watermark(Struct, frozen=True):
    """The instant of the last consolidation; the epoch when there is none. `warning`: corrupt."""

    instant: datetime
    warning: str = ""


def read_watermark(layout: Layout) -> Watermark:
    """`memory/.consolidation_state`; absent, blank or corrupt means the epoch (CON-1, CON-3)."""
    try:
        data = read_bytes(layout.consolidation_state) or b""
        text = data.decode().strip()
        if not text:
            return Watermark(EPOCH)
        instant = datetime.fromisoformat(text)
        if instant.tzinfo is None:
            raise ValueError("an instant needs its zone")
        return Watermark(instant)
    except (Unreadable, ValueError):
        warning = "The consolidation state is not understood; all daily logs count as new."
        log.warning(warning)
        return Watermark(EPOCH, warning)


def write_watermark(layout: Layout, instant: datetime) -> None:
    """Store one aware instant as ISO-8601 in UTC, without a newline. Raises `StorageError`."""
    if instant.tzinfo is None:
        raise ValueError("an instant needs its zone")
    path = write_target(layout.root, layout.consolidation_state)
    write_atomic(path, instant.astimezone(UTC).isoformat().encode())


# ---------------------------------------------------------------------------- states


class SectionKey(Struct, frozen=True):
    """A section for good: file name (not its folder), ordinal in the file, content hash."""

    file: str
    ordinal: int
    hash: str


class SectionState(Struct, frozen=True):
    """What became of a section, by which run, and why in a sentence."""

    state: State = "waiting"
    run: str = ""
    reason: str = ""


class WaitingSection(Struct, frozen=True):
    """A section and the workspace path of the file it is in now."""

    path: str
    section: DailySection

    @property
    def key(self) -> SectionKey:
        return key_of(self.path, self.section)


class _Record(Struct, frozen=True, omit_defaults=True):
    file: str
    ordinal: int
    hash: str
    state: State
    run: str = ""
    reason: str = ""
    when: str = ""


class _Moved(Struct, frozen=True):
    moved: str
    to: str


_decode_record = msgspec.json.Decoder(_Record).decode
_decode_moved = msgspec.json.Decoder(_Moved).decode


def key_of(path: str, section: DailySection) -> SectionKey:
    """The key of a section found in the file at `path`."""
    return SectionKey(Path(path).name, section.ordinal, section.hash)


def record_move(layout: Layout, old_path: str, new_path: str) -> None:
    """A file is about to get another name: its states go with it. Raises `StorageError`."""
    old, new = Path(old_path).name, Path(new_path).name
    if old != new and layout.sections.exists():
        append_durable(layout.sections, msgspec.json.encode(_Moved(old, new)) + b"\n")


class SectionStates:
    """The states of one workspace. Synchronous; reads what other processes added before answering.

    Opening one initialises `sections.jsonl` from the watermark when there is none.
    """

    def __init__(self, layout: Layout, *, when: datetime) -> None:
        self._layout = layout
        self._path = layout.sections
        self._states: dict[SectionKey, SectionState] = {}
        self._offset = 0
        self.skipped = 0  # lines of the file that were not understood
        if not self._path.exists():
            self._initialise(when)

    def _initialise(self, when: datetime) -> None:
        """Files changed strictly after the watermark wait; the others were merged before us."""
        mark = read_watermark(self._layout).instant
        merged = SectionState("merged", "", "before this log")
        try:
            with lock(self._layout.lock_file("sections")):
                if self._path.exists():
                    return
                old = [_record(key, merged, when) for key in self._until(mark)]
                head = msgspec.json.encode({"v": 1, "watermark": mark.isoformat()}) + b"\n"
                write_atomic(self._path, head + b"".join(old))
        except StorageError:
            # A disk that takes nothing can still be read: the states are known, not kept.
            self._states = dict.fromkeys(self._until(mark), merged)

    def _until(self, mark: datetime) -> list[SectionKey]:
        """The sections of files that were last changed at `mark` or before."""
        return [
            key_of(path, section)
            for path, day in self._days()
            if datetime.fromtimestamp((self._layout.root / path).stat().st_mtime, UTC) <= mark
            for section in day.sections
        ]

    # ------------------------------------------------------------------ reading

    def state(self, path: str, section: DailySection) -> SectionState:
        """The recorded state of a section as it was found in the file at `path`."""
        self._refresh()
        return self._states.get(key_of(path, section), SectionState())

    def waiting(self) -> list[WaitingSection]:
        """What no run has dealt with: archived files included, in file-name then file order."""
        return self._where(lambda state: state == "waiting")

    def known(self, *states: State) -> list[WaitingSection]:
        """Sections on the disk that are in one of `states`; all of them without an argument."""
        return self._where(lambda state: not states or state in states)

    def overlay(self, day: DayLog) -> DayLog:
        """`day` with the state, reason and run of each section on its lines."""
        self._refresh()
        found = self._match(day.path, day.sections)
        sections = tuple(
            msgspec.structs.replace(
                section,
                lines=tuple(
                    msgspec.structs.replace(
                        line, state=state.state, reason=state.reason, proposal=state.run
                    )
                    for line in section.lines
                ),
            )
            for section, state in zip(day.sections, found, strict=True)
        )
        return msgspec.structs.replace(day, sections=sections)

    # ------------------------------------------------------------------ writing

    def set(
        self,
        keys: Iterable[SectionKey],
        state: State,
        *,
        when: datetime,
        run: str = "",
        reason: str = "",
    ) -> None:
        """Record what became of these sections, in one durable append. Raises `StorageError`."""
        new = SectionState(state, run, reason)
        data = b"".join(_record(key, new, when) for key in keys)
        if data:
            append_durable(self._path, data)

    def moved(self, old_path: str, new_path: str) -> None:
        """As `record_move`; harmless after `archive`, which has done it already."""
        record_move(self._layout, old_path, new_path)

    # ------------------------------------------------------------------ inside

    def _days(self) -> list[tuple[str, DayLog]]:
        days: list[tuple[str, DayLog]] = []
        for path in day_paths(self._layout):
            with contextlib.suppress(PathRefused):  # archived or removed a moment ago
                days.append((path, read_day(self._layout, path)))
        return days

    def _where(self, wanted: Callable[[State], bool]) -> list[WaitingSection]:
        self._refresh()
        return [
            WaitingSection(path, section)
            for path, day in self._days()
            for section, state in zip(day.sections, self._match(path, day.sections), strict=True)
            if wanted(state.state)
        ]

    def _match(self, path: str, sections: Sequence[DailySection]) -> list[SectionState]:
        """States by key; text put in front of a file shifts ordinals, so then by hash in order."""
        keys = [key_of(path, section) for section in sections]
        here = set(keys)
        spare: dict[str, list[SectionKey]] = {}
        if any(key not in self._states for key in keys):
            name = Path(path).name
            for key in sorted(
                (k for k in self._states if k.file == name and k not in here),
                key=lambda k: k.ordinal,
            ):
                spare.setdefault(key.hash, []).append(key)
        found: list[SectionState] = []
        for key in keys:
            state = self._states.get(key)
            if state is None and spare.get(key.hash):
                state = self._states[spare[key.hash].pop(0)]
            found.append(state or SectionState())
        return found

    def _refresh(self) -> None:
        """Fold what was appended since the last look; a torn or foreign line is skipped."""
        data = read_bytes(self._path) or b""
        if len(data) < self._offset:  # replaced (forget): begin again
            self._states, self._offset, self.skipped = {}, 0, 0
        whole = data.rfind(b"\n") + 1
        for line in data[self._offset : whole].split(b"\n"):
            self._fold(line)
        self._offset = max(self._offset, whole)

    def _fold(self, line: bytes) -> None:
        if not line.strip() or line.startswith(b'{"v":'):
            return
        try:
            if line.startswith(b'{"moved"'):
                self._copy(_decode_moved(line))
                return
            record = _decode_record(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            self.skipped += 1
            return
        key = SectionKey(record.file, record.ordinal, record.hash)
        self._states[key] = SectionState(record.state, record.run, record.reason)

    def _copy(self, move: _Moved) -> None:
        # A copy: a file of the old name may lie in the archive already, and keeps its states.
        for key in [k for k in self._states if k.file == move.moved]:
            self._states[SectionKey(move.to, key.ordinal, key.hash)] = self._states[key]


def _record(key: SectionKey, state: SectionState, when: datetime) -> bytes:
    fields = (state.state, state.run, state.reason, when.isoformat())
    return msgspec.json.encode(_Record(key.file, key.ordinal, key.hash, *fields)) + b"\n"
