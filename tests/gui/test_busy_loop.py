"""The loop with much going on: a question while a reply streams; lists that change under one."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.gui.panes.chat.rows import AnswerRow
from app.gui.widgets.dialogs import Question, ask
from tests.helpers.fake_server import say
from tests.helpers.waiting import until
from tests.helpers.whole_window import Room, window_on
from tests.helpers.workspaces import engine_on, without_memory

# ---------------------------------------------------------------------------- B89


@pytest.mark.case("B89")
def test_a_question_from_a_task_stops_neither_reply_nor_timers(
    qloop: asyncio.AbstractEventLoop, qtbot: QtBot, tmp_path: Path, own_places: None
) -> None:
    """The reply streams on under the question, tasks and timers wake, no word of the loop's."""
    said: list[dict] = []
    qloop.set_exception_handler(lambda _, context: said.append(context))
    words = [f"word {n} " for n in range(120)]

    async def main() -> None:
        async with (
            engine_on(tmp_path / "work", say(*words, pause=0.05), config=without_memory()) as desk,
            window_on(qtbot, desk.engine, tmp_path / "window.json") as room,
        ):
            chat = await room.go("chat", section="new")
            chat.foot.composer.set_text("Tell me")
            chat.foot.composer.send()
            await until(lambda: answered(chat) and "word 3" in answered(chat))
            ticks: list[str] = []
            timer = QTimer(room.window, interval=100)
            timer.timeout.connect(lambda: ticks.append("timer"))
            timer.timeout.connect(lambda: room.window.tasks.start("wakes", tick(ticks)))
            timer.start()
            asked = room.window.tasks.start("action", question(room))
            await until(lambda: room.window.findChildren(Question))
            before = len(answered(chat))
            assert chat.talk.busy(chat.session_id)
            # Nothing waits for the answer: the reply goes on, timers fire and tasks wake.
            await until(lambda: len(answered(chat)) > before + 100)
            await until(lambda: min(ticks.count("timer"), ticks.count("task")) > 20)
            room.window.findChildren(Question)[0].answer("yes")
            assert await asked == "yes"
            await until(lambda: not chat.talk.busy(chat.session_id))
            await until(lambda: answered(chat).endswith("word 119"))
            timer.stop()
            assert QApplication.activeModalWidget() is None
            await asyncio.sleep(0)
        assert said == []

    qloop.run_until_complete(main())


async def question(room: Room) -> str:
    return await ask(
        room.window, "Delete it?", "", [("no", "Keep it", "plain"), ("yes", "Go", "danger")]
    )


async def tick(ticks: list[str]) -> None:
    await asyncio.sleep(0.01)
    ticks.append("task")


def answered(chat: object) -> str:
    """What the newest reply shows."""
    rows = [r for r in chat.view.rows() if isinstance(r, AnswerRow)]  # type: ignore[attr-defined]
    return rows[-1].view.toPlainText() if rows else ""
