"""What the session tests share: a counting clock, counting ids, sessions in a folder."""

from __future__ import annotations

import itertools
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from app.engine.records import Message, ToolCall
from app.engine.session.log import SessionLog
from app.engine.session.recorder import Kit
from app.engine.session.session import Session

START = datetime(2026, 6, 2, 8, 0, tzinfo=UTC)


def kit(view: Path | None = None) -> Kit:
    moments = (START + timedelta(seconds=n) for n in itertools.count())
    ids = (f"x-{n}" for n in itertools.count())
    return Kit(view=view, now=lambda: next(moments), new_id=lambda: next(ids))


def log_path(folder: Path, session_id: str = "s-1") -> Path:
    return folder / f"{session_id}.log.jsonl"


def new(folder: Path, session_id: str = "s-1", **values: Any) -> Session:
    log = SessionLog(log_path(folder, session_id), fsync="never")
    return Session.create(session_id, log, kit(folder / f"{session_id}.jsonl"), **values)


def load(folder: Path, session_id: str = "s-1", **values: Any) -> Session:
    log = SessionLog(log_path(folder, session_id), fsync="never")
    return Session.load(session_id, log, kit(folder / f"{session_id}.jsonl"), **values)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line.strip()]


def of_type(path: Path, kind: str) -> list[dict[str, Any]]:
    return [entry for entry in lines(path) if entry["type"] == kind]


def user(text: str, id: str = "") -> Message:
    return Message(id=id, role="user", content=text)


def bot(text: str, id: str = "", *calls: str) -> Message:
    return Message(
        id=id, role="assistant", content=text, calls=tuple(ToolCall(c, "look", "{}") for c in calls)
    )


def result(call_id: str, text: str, id: str = "") -> Message:
    return Message(id=id, role="tool", content=text, call_id=call_id, name="look")


def summary(text: str = "what was said") -> Message:
    return Message(
        id=f"__compaction_summary__:{text}",
        role="user",
        content=text,
        name="__compaction_summary__",
        origin="summary",
    )


def said(session: Session) -> list[str]:
    return [m.content for m in session.context]


def ids(session: Session, count: int) -> list[str]:
    """The ids of the first messages of the context."""
    return [m.id for m in session.context[:count]]


def message_line(n: int, **more: object) -> bytes:
    """A message of a log as its line, other fields as given."""
    entry = {"type": "message", "id": f"m{n}", "role": "USER", "content": f"text {n}", **more}
    return json.dumps(entry, ensure_ascii=False).encode() + b"\n"


def valid_log(folder: Path, count: int = 3) -> Path:
    """A log of `count` messages, closed."""
    session = new(folder)
    for n in range(count):
        session.add(user(f"text {n}", f"m{n}"))
    session.close()
    return log_path(folder)
