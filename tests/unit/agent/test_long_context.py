"""A turn in a session with a long context: the loop goes on, and work is done once."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from app.engine.context.tokens import Counter, Heuristic
from app.engine.records import Message
from app.engine.session.log import SessionLog
from app.engine.session.messages import derive
from app.engine.session.store import SessionStore
from app.engine.workspace.layout import Layout, ensure
from tests.helpers.fake_server import say
from tests.helpers.workspaces import engine_on, to_the_end, without_memory

SUMMARY = "SESSION INTENT: talk\nSUMMARY: we talked\nARTIFACTS: None\nNEXT STEPS: None"
WORDS = "The ferry to the island leaves at six from the third pier. " * 3
LENGTH = 3_000


def long_session(folder: Path) -> None:
    """A session of two days that was never compacted, as an import leaves it."""
    folder.mkdir()
    layout = Layout.at(folder)
    ensure(layout)
    made = SessionStore(layout, fsync="never").create("long")
    said = (
        Message(id=f"m-{n}", role="assistant" if n % 2 else "user", content=f"{n}: {WORDS}")
        for n in range(LENGTH)
    )
    made.extend([entry for message in said for entry in derive(message)])
    made.close()


@to_the_end
async def test_messages_are_counted_beside_the_loop(tmp_path: Path) -> None:
    """What is shown, what a compaction would do, and a turn that compacts: no count in the loop."""
    long_session(tmp_path / "work")
    here = threading.get_ident()
    counted: list[int] = []
    one = Counter.message

    def noted(self: Counter, message: Message) -> int:
        counted.append(threading.get_ident())
        return one(self, message)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Counter, "message", noted)
        async with engine_on(
            tmp_path / "work", *[say(SUMMARY)] * 9, config=without_memory(), window=64_000
        ) as desk:
            view = await desk.engine.ask.context("long", "A draft")
            assert len([p for p in view.parts if p.kind == "history"]) == LENGTH
            report = await desk.engine.ask.compaction_preview("long")
            assert report.covered > LENGTH - 100
            done = await desk.engine.do.send("long", "And now?")
            assert done.state == "finished", done.error
            assert '"type":"compaction"' in desk.log("long")
    assert len(counted) > LENGTH
    assert counted.count(here) < 100, "a compacted context is short"


def test_a_long_context_is_counted_once() -> None:
    """Looking again costs no counting, however many messages there are."""
    texts: list[str] = []

    class Noted(Heuristic):
        def text(self, text: str) -> int:
            texts.append(text)
            return super().text(text)

    counter = Counter(Noted())
    many = [Message(id=f"m{n}", role="user", content=f"{n}") for n in range(100_000)]
    total = counter.messages(many)
    assert len(texts) >= len(many)
    texts.clear()
    assert counter.messages(many) == total
    assert texts == []


def test_the_view_of_a_long_session_reads_its_log_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The times of its messages are not looked up one by one."""
    long_session(tmp_path / "work")
    session = SessionStore(Layout.at(tmp_path / "work"), fsync="never").open("long")
    begun: list[int] = []
    read = SessionLog.stretches

    def noted(self: SessionLog, start: int = 0, after: int = 0):  # type: ignore[no-untyped-def]
        begun.append(start)
        return read(self, start, after)

    monkeypatch.setattr(SessionLog, "stretches", noted)
    session.add(Message(id="q", role="user", content="And now?"))
    session.add(Message(id="a", role="assistant", content="Now it is late."))
    assert len(begun) < 20
    layout = Layout.at(tmp_path / "work")
    lines = layout.session_view("long").read_text(encoding="utf-8").splitlines()
    assert len(lines) == LENGTH + 2
    assert all('"timestamp":"20' in line for line in lines)
