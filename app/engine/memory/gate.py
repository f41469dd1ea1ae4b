"""The gate: how often a workspace may spend on memory.

One slot per (workspace, purpose). A claim that passes opens a window of one gap from its own
moment; within it further claims are refused. Slots are kept in `.palimpsest/gates.json` and taken
under a lock file, so instances and processes share them and of two that claim at once one wins.
Without a record a claim passes. A recorded moment in the future (a clock that was wrong) is ignored
with a warning. Specification, section 5 ("Gate"). All methods block for a few file operations:
call them in a thread.
"""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, cast

from app.engine.config import FlushTrigger
from app.engine.errors import StorageError, Unreadable
from app.engine.workspace.files import lock, read_text, write_atomic
from app.engine.workspace.layout import Layout

log = logging.getLogger(__name__)

Purpose = Literal["flush", "maintenance"]


class Gate:
    """The gate of one workspace. Instances on the same workspace share its slots."""

    def __init__(
        self, layout: Layout, *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._path = layout.gates
        self._lock = layout.lock_file("gates")
        self._clock = clock

    def claim(self, purpose: Purpose, gap: timedelta) -> bool:
        """Take the slot for `gap` from now; False while an earlier claim's window is open.

        A gap of zero always passes and still records the moment. Raises `StorageError` when the
        slot cannot be written, and `Unreadable` when the file is not text: nothing is claimed then.
        """
        with lock(self._lock):
            slots = self._read()
            now = self._clock()
            last = _moment(slots.get(purpose))
            if last is not None and last > now:
                log.warning(
                    "the %s gate was last claimed in the future (%s): ignored", purpose, last
                )
                last = None
            if last is not None and now - last < gap:
                return False
            slots[purpose] = now.isoformat()
            self._write(slots)
            return True

    def admits(self, trigger: FlushTrigger) -> bool:
        """Whether the flush at the end of a call may run now; claims the slot when throttled."""
        if trigger.mode == "never":
            return False
        return trigger.mode == "always" or self.claim("flush", trigger.gap)

    def last(self, purpose: Purpose) -> datetime | None:
        """When the slot was last taken; None when never (or never believably)."""
        moment = _moment(self._read().get(purpose))
        return moment if moment is not None and moment <= self._clock() else None

    def release(self, purpose: Purpose) -> None:
        """Give the slot back, for a claim whose work never began."""
        with lock(self._lock):
            slots = self._read()
            if slots.pop(purpose, None) is not None:
                self._write(slots)

    def purge(self, age: timedelta) -> int:
        """Drop slots last taken more than `age` ago; how many went."""
        with lock(self._lock):
            slots = self._read()
            oldest = self._clock() - age
            kept = {k: v for k, v in slots.items() if (m := _moment(v)) is None or m >= oldest}
            if len(kept) != len(slots):
                self._write(kept)
            return len(slots) - len(kept)

    def _read(self) -> dict[str, Any]:
        """The slots; a damaged file counts as no record, for the gate only saves work.

        It is not ours to overwrite: it is put aside first.
        """
        try:
            found = read_text(self._path)
            value: Any = json.loads(found.text) if found and not found.blank else {}
        except (ValueError, Unreadable) as error:
            log.warning("gates.json is not understood and counts as empty: %s", error)
            with contextlib.suppress(OSError):
                self._path.replace(self._path.with_name("gates.json.damaged"))
            return {}
        return dict(cast("dict[str, Any]", value)) if isinstance(value, dict) else {}

    def _write(self, slots: dict[str, Any]) -> None:
        try:
            write_atomic(self._path, json.dumps(slots, indent=1).encode() + b"\n")
        except StorageError as error:
            raise StorageError("The time of this memory work could not be noted.") from error


def _moment(value: Any) -> datetime | None:
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
