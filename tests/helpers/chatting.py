"""The chat place at work: on a whole engine, or in a session of ten thousand items."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

from pytestqt.qtbot import QtBot

from app.engine.errors import UserError
from app.engine.records import SessionInfo, TranscriptItem
from app.gui.bridge import EngineSignals
from app.gui.panes.chat.pane import ChatPane
from app.gui.panes.chat.rows import AnswerRow
from app.gui.widgets.pane import Desk, Target
from tests.gui.conftest import NOW
from tests.helpers.fake_server import Reply, Script, say
from tests.helpers.waiting import until
from tests.helpers.workspaces import EngineDesk, engine_on, without_memory


class Room:
    """A chat pane at work, and what it said to the window."""

    def __init__(self, pane: ChatPane, desk: EngineDesk, faults: list[BaseException]) -> None:
        self.pane, self.desk, self.faults = pane, desk, faults
        self.went: list[Target] = []
        self.measures: list[tuple[int, int]] = []
        pane.go.connect(self.went.append)
        pane.measured.connect(lambda *both: self.measures.append(both))

    def say(self, text: str) -> None:
        self.pane.foot.composer.set_text(text)
        self.pane.foot.composer.send()

    async def said(self, text: str) -> None:
        """Send, and wait for the end of the reply and for its rows."""
        self.say(text)
        await until(lambda: self.pane.talk.busy(self.pane.session_id))
        await self.idle()

    async def idle(self) -> None:
        pane = self.pane
        await until(lambda: not pane.talk.busy(pane.session_id))
        await until(lambda: not pane.tasks.running("read") and not pane._paint.isActive())
        await until(lambda: not pane.view.filling())

    def kinds(self) -> list[str]:
        return [row.piece.kind for row in self.pane.view.rows()]

    def answers(self) -> list[str]:
        rows = self.pane.view.rows()
        return [row.view.toPlainText() for row in rows if isinstance(row, AnswerRow)]


@asynccontextmanager
async def room(qtbot, folder: Path, *scripts: Script, tools=(), **more) -> AsyncIterator[Room]:
    config = more.pop("config", without_memory())
    async with engine_on(folder, *scripts, tools=tools, config=config, **more) as desk:
        faults: list[BaseException] = []
        signals = EngineSignals(desk.engine.events)
        pane = ChatPane(Desk(desk.engine, signals, faults.append, now=lambda: NOW))
        qtbot.addWidget(pane)
        qtbot.addWidget(pane.panel)
        pane.resize(760, 700)
        pane.show()
        pane.activate()
        await until(lambda: bool(pane.session_id) and not pane.tasks.running("refresh"))
        await until(lambda: pane.reading.session_id == pane.session_id)
        try:
            yield Room(pane, desk, faults)
        finally:
            signals.stop()
            await pane.tasks.end()
        assert faults == []


def slow(*texts: str, pause: float = 0.2) -> Reply:
    return say(*texts, pause=pause)


def run_action(room: Room, name: str) -> Awaitable[None] | None:
    """Do the action of that name, which must be possible; what there is to wait for."""
    action = next(a for a in room.pane.actions() if a.name == name)
    assert action.off() == ""
    return action.run()  # type: ignore[return-value]


LONG = 10_000


def long_desk(desk: Desk) -> None:
    """Give the fake engine a session of ten thousand items."""
    items = [
        TranscriptItem(
            f"i{n}", n + 1, "user" if n % 2 == 0 else "assistant", NOW, text=f"Message {n}\n好"
        )
        for n in range(LONG)
    ]

    async def transcript(
        _id: str, *, before: int | None = None, around: str = "", limit: int = 2_000
    ):
        end = LONG if before is None else min(before - 1, LONG)
        if around:
            at = next((n for n, item in enumerate(items) if item.id == around), -limit)
            end = max(at + limit // 2, 0)
        return items[max(0, end - limit) : end]

    async def sessions(**_: object) -> list[SessionInfo]:
        when = datetime(2026, 11, 30, tzinfo=UTC)
        return [SessionInfo("s", "Long", when, when, LONG, LONG, 1)]

    async def unknown(*_: object, **__: object) -> None:
        raise UserError("Not here.")

    desk.engine.ask = SimpleNamespace(
        transcript=transcript, sessions=sessions, context=unknown, compaction_preview=unknown
    )


@asynccontextmanager
async def long_pane(desk: Desk, qtbot: QtBot) -> AsyncIterator[ChatPane]:
    """A chat pane on screen, at the end of that session."""
    long_desk(desk)
    pane = ChatPane(desk)
    qtbot.addWidget(pane)
    qtbot.addWidget(pane.panel)
    pane.resize(760, 700)
    pane.show()
    await pane.open(Target("chat", session_id="s"))
    await until(lambda: bool(pane.view.rows()) and not pane.view.filling())
    yield pane
    await pane.tasks.end()
