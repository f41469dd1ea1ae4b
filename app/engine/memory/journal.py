"""The journals of memory work on the disk: `jobs.jsonl` and `runs.jsonl`.

Both are append-only JSONL. `jobs.jsonl` lets unfinished jobs outlive the program; `runs.jsonl`
keeps every model call of the pipeline and every move maintenance made, with time and rule.
Invariant: a line that is not understood is never rewritten; old ended jobs are dropped only from a
file that was understood whole. Everything here blocks: call it in a thread.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from app.engine.records import ModelCall, Move, Usage
from app.engine.workspace.files import (
    Held,
    append_durable,
    lock,
    read_bytes,
    try_lock,
    write_atomic,
)
from app.engine.workspace.layout import Layout

KEEP_JOBS = 500
_TRIM_ABOVE = 1_000_000  # bytes


def read_lines(path: Path) -> Iterator[dict[str, Any] | None]:
    """The records of a JSONL file; None stands for a line that is no record."""
    data = read_bytes(path) or b""
    for line in data.split(b"\n"):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except ValueError:
            yield None
            continue
        yield cast("dict[str, Any]", value) if isinstance(value, dict) else None


def to_line(record: dict[str, Any]) -> bytes:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


class DiskJournal:
    """The job queue's journal in a workspace (`app.engine.jobs.Journal`)."""

    def __init__(self, layout: Layout) -> None:
        self._path = layout.jobs
        self._runner_lock = layout.lock_file("jobs")
        self._file_lock = layout.lock_file("jobs-file")
        self._held: Held | None = None
        self._read: list[dict[str, Any]] = []
        self._seen = (0, 0)  # inode and size of the file when it was read last

    def read(self) -> list[dict[str, Any]]:
        """All records. An unchanged file is not read again."""
        now = _stamp(self._path)
        if now != self._seen:
            self._read = [record for record in read_lines(self._path) if record is not None]
            self._seen = now
        return list(self._read)

    def append(self, record: dict[str, Any]) -> None:
        with lock(self._file_lock):
            append_durable(self._path, to_line(record))

    def claim(self) -> bool:
        """Take the job lock; with it, drop long-ended jobs from a file that grew large."""
        if self._held is None:
            self._held = try_lock(self._runner_lock)
            if self._held is not None:
                self._trim()
        return self._held is not None

    def release(self) -> None:
        if self._held is not None:
            self._held.release()
            self._held = None

    def _trim(self) -> None:
        with lock(self._file_lock):
            if not self._path.exists() or self._path.stat().st_size < _TRIM_ABOVE:
                return
            records = list(read_lines(self._path))
            if None in records:
                return
            kept = newest_jobs([r for r in records if r is not None], KEEP_JOBS)
            write_atomic(self._path, b"".join(to_line(record) for record in kept))


def _stamp(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except FileNotFoundError:
        return (0, 0)
    return (found.st_ino, found.st_size)


def newest_jobs(records: list[dict[str, Any]], keep: int) -> list[dict[str, Any]]:
    """All records of jobs that have not ended, and those of the `keep` that ended last."""
    ended = [record.get("id") for record in records if record.get("event") == "ended"]
    gone = set(ended[:-keep] if keep else ended)
    return [record for record in records if record.get("id") not in gone]


class RunLog:
    """`runs.jsonl` of one workspace: what was asked of models, and what was moved by which rule."""

    def __init__(self, layout: Layout) -> None:
        self._path = layout.runs
        self._lock = layout.lock_file("runs")

    def record_call(self, call: ModelCall) -> None:
        """Keep one model call of the memory pipeline."""
        self._append(
            {
                "v": 1,
                "type": "call",
                "run": call.run,
                "time": call.when.isoformat(),
                "step": call.step,
                "model": call.model,
                "seconds": round(call.seconds, 3),
                "prompt": call.prompt,
                "answer": call.answer,
                "usage": {"prompt": call.usage.prompt, "completion": call.usage.completion},
                "error": call.error,
            }
        )

    def record_move(
        self, run: str, when: datetime, step: str, source: str, target: str, rule: str
    ) -> None:
        """Keep that a file was moved. Paths are relative to the workspace; `rule` is a sentence."""
        self._append(
            {
                "v": 1,
                "type": "move",
                "run": run,
                "time": when.isoformat(),
                "step": step,
                "from": source,
                "to": target,
                "rule": rule,
            }
        )

    def calls(self, run: str) -> list[ModelCall]:
        """The model calls of one run, in order."""
        found: list[ModelCall] = []
        for record in read_lines(self._path):
            if record is None or record.get("type") != "call" or record.get("run") != run:
                continue
            try:
                found.append(_call(record))
            except (KeyError, TypeError, ValueError):
                continue
        return found

    def moves(self) -> list[dict[str, Any]]:
        """All moves, oldest first, as they were recorded."""
        return [r for r in read_lines(self._path) if r is not None and r.get("type") == "move"]

    def moved(self, run: str = "") -> list[Move]:
        """The moves of one run ("": of all), oldest first; what is not understood is left out."""
        found: list[Move] = []
        for record in self.moves():
            if run and record.get("run") != run:
                continue
            try:
                found.append(
                    Move(
                        run=record["run"],
                        when=_time(record),
                        step=record["step"],
                        source=record["from"],
                        target=record["to"],
                        rule=record["rule"],
                    )
                )
            except (KeyError, TypeError, ValueError):
                continue
        return found

    def set_aside(self, before: datetime, aside: Path) -> int:
        """Move the records from before a moment to the file `aside`; how many.

        Nothing is moved from a file that is not understood whole.
        """
        with lock(self._lock):
            records = list(read_lines(self._path))
            try:
                old = [r for r in records if r is not None and _time(r) < before]
            except (KeyError, TypeError, ValueError):
                return 0
            if not old or None in records:
                return 0
            kept = [r for r in records if r is not None and _time(r) >= before]
            write_atomic(aside, b"".join(to_line(record) for record in old))
            write_atomic(self._path, b"".join(to_line(record) for record in kept))
            return len(old)

    def _append(self, record: dict[str, Any]) -> None:
        with lock(self._lock):
            append_durable(self._path, to_line(record))


def _time(record: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(record["time"])


def _call(record: dict[str, Any]) -> ModelCall:
    usage = cast("dict[str, int]", record.get("usage") or {})
    return ModelCall(
        run=record["run"],
        step=record["step"],
        model=record["model"],
        when=datetime.fromisoformat(record["time"]),
        seconds=float(record["seconds"]),
        prompt=record["prompt"],
        answer=record["answer"],
        usage=Usage(usage.get("prompt", 0), usage.get("completion", 0)),
        error=record.get("error", ""),
    )
