"""Values no line should have, and writes that fail beside the log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from app.engine.records import Message
from app.engine.session import entries as e
from app.engine.session.glance import look
from app.engine.session.log import Log, MemoryLog, SessionLog
from app.engine.session.pages import Pages
from app.engine.session.session import Session
from tests.helpers.session_parts import bot, kit, lines, load, log_path, new, said, user

GOOD = {"v": 1, "type": "message", "role": "USER", "content": "hi", "timestamp": 1.5}
ODD: dict[str, list[Any]] = {
    "seq": [-1, 2**64, 2**200, 1.5, "3", True, 1e400],
    "timestamp": [1e400, float("nan"), -1e30, 10**30, True, "", "99999-01-01T00:00:00Z", {"a": 1}],
    "id": ["", 5, "x" * 100_000, "a\x00b", "gap-2"],
    "v": [-1, "1", 2**70],
    "role": ["BANANA", "", 5],
    "content": ["\x00" * 9, 5, ["a"], {"a": 1}],
    "images": ["x", [None], [{"url": "x"}]],
    "extra": [{"a": 1}],
}


@pytest.mark.parametrize(
    ("name", "value"),
    [(name, value) for name, values in ODD.items() for value in values],
    ids=lambda value: str(value)[:20],
)
def test_a_line_with_an_odd_value_holds_up_no_session(
    tmp_path: Path, name: str, value: Any
) -> None:
    around = [GOOD | {"id": "m1", "seq": 1}, GOOD | {"id": "m2", name: value}, GOOD | {"id": "m3"}]
    body = b"".join(json.dumps(line).encode() + b"\n" for line in around)
    path = log_path(tmp_path)
    path.write_bytes(body)
    session = load(tmp_path)
    assert {"m1", "m3"} <= {m.id for m in session.context}
    log, pages = SessionLog(path), Pages()
    assert pages.page(log)
    assert pages.page(log, before=3)
    assert pages.page(log, around="m3")
    assert look(path).messages >= 2
    session.add(bot("goes on", "m4"))
    session.close()
    assert load(tmp_path).state == session.state
    assert path.read_bytes().startswith(body)
    assert [m.id for m in session.context][-1] == "m4"


@pytest.mark.parametrize("kind", ["file", "memory"])
def test_an_entry_that_could_not_be_read_back_is_not_written(tmp_path: Path, kind: str) -> None:
    log: Log = SessionLog(log_path(tmp_path)) if kind == "file" else MemoryLog()
    session = Session.create("s-1", log, kit())
    session.add(user("one", "m1"))
    size, state = log.size(), session.state
    with pytest.raises(ValueError, match="wrong shape"):
        session.append(e.UsageEntry(message_id="m1", prompt=1.5))  # pyright: ignore[reportArgumentType]
    assert (log.size(), session.state) == (size, state)
    session.add(user("two", "m2"))
    assert said(session) == ["one", "two"]


def test_a_view_that_cannot_be_written_costs_no_message(tmp_path: Path) -> None:
    session = new(tmp_path)
    view = tmp_path / "s-1.jsonl"
    view.mkdir()
    for n in range(3):
        kept = session.add(Message(f"m{n}", "assistant", f"text {n}"))
        assert kept.content == f"text {n}"
    session.sync()
    assert load(tmp_path).state == session.state
    view.rmdir()
    session.add(bot("text 3", "m3"))
    assert [line["content"] for line in lines(view)] == [f"text {n}" for n in range(4)]
