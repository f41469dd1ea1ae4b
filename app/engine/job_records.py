"""Jobs as the records of a journal: queued, started, ended.

A journal outlives the program; what was queued and never ended is found again by reading it back.
Invariant: records are only added; one that is not understood is passed over, never rewritten.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Protocol

import msgspec

from app.engine.records import JobInfo

ENDED = frozenset({"done", "failed", "skipped", "cancelled"})


class Journal(Protocol):
    """Where jobs survive the program. All methods block; the queue calls them off the loop."""

    def read(self) -> list[dict[str, Any]]:
        """All records, oldest first; lines that are no records are left out."""
        ...

    def append(self, record: dict[str, Any]) -> None:
        """Durably add one record."""
        ...

    def claim(self) -> bool:
        """Become the one process that runs jobs; False while another one is."""
        ...

    def release(self) -> None: ...


class MemoryJournal:
    """A journal that lives as long as the object: for programs that keep nothing, and tests."""

    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = []

    def read(self) -> list[dict[str, Any]]:
        return list(self.records)

    def append(self, record: dict[str, Any]) -> None:
        self.records.append(record)

    def claim(self) -> bool:
        return True

    def release(self) -> None:
        return None


class Found(msgspec.Struct, frozen=True):
    """A job as the journal tells of it. `starts`: how often it was begun."""

    info: JobInfo
    payload: dict[str, Any]
    starts: int = 0


def queued(info: JobInfo, payload: dict[str, Any]) -> dict[str, Any]:
    """The record of a job that begins to wait."""
    record = _record("queued", info.id, info.queued)
    record |= {"kind": info.kind, "trigger": info.trigger, "session": info.session_id}
    return record | {"payload": payload}


def started(info: JobInfo, when: datetime) -> dict[str, Any]:
    """The record of a job that is begun."""
    return _record("started", info.id, when)


def put_back(info: JobInfo, when: datetime) -> dict[str, Any]:
    """The record of a job that closing cut off: it waits again, and that start does not count."""
    return _record("put_back", info.id, when)


def ended(info: JobInfo, when: datetime) -> dict[str, Any]:
    """The record of a job that has ended, however it did."""
    record = _record("ended", info.id, when)
    record |= {"state": info.state, "reason": info.reason, "remedy": info.remedy}
    record |= {"result": info.result, "target": info.target}
    return record | {"started": info.started.isoformat() if info.started else ""}


def _record(event: str, id: str, when: datetime) -> dict[str, Any]:
    return {"v": 1, "event": event, "id": id, "time": when.isoformat()}


def read_back(records: list[dict[str, Any]]) -> list[Found]:
    """The jobs a journal tells of, in the order they were queued."""
    found: dict[str, Found] = {}
    for record in records:
        try:
            _take(found, record)
        except (KeyError, TypeError, ValueError):
            continue  # a record of another version or a damaged one: not ours to judge
    return list(found.values())


def _take(found: dict[str, Found], record: dict[str, Any]) -> None:
    event, id = record["event"], str(record["id"])
    when = datetime.fromisoformat(record["time"])
    if event == "queued":
        trigger, session = str(record.get("trigger", "")), str(record.get("session", ""))
        info = JobInfo(id, str(record["kind"]), trigger, "waiting", when, session_id=session)
        found[id] = Found(info, dict(record.get("payload") or {}))
        return
    if (job := found.get(id)) is None:
        return
    if event == "started":
        found[id] = msgspec.structs.replace(job, starts=job.starts + 1)
    elif event == "put_back":
        found[id] = msgspec.structs.replace(job, starts=max(0, job.starts - 1))
    elif event == "ended":
        found[id] = msgspec.structs.replace(job, info=_with_end(job.info, record, when))


def _with_end(info: JobInfo, record: dict[str, Any], when: datetime) -> JobInfo:
    begun = record.get("started")
    return msgspec.structs.replace(
        info,
        state=str(record["state"]),
        started=datetime.fromisoformat(begun) if begun else None,
        ended=when,
        reason=str(record.get("reason", "")),
        remedy=str(record.get("remedy", "")),
        result=str(record.get("result", "")),
        target=str(record.get("target", "")),
    )
