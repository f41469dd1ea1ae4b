"""What leaves the window: a session as Markdown, whole, the same text the command line writes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

from tests.helpers.commands import command
from tests.helpers.fake_server import say
from tests.helpers.waiting import quiet
from tests.helpers.whole_window import window_on
from tests.helpers.workspaces import engine_on, without_memory

LONG = "begin\n" + "long " * 10_000 + "```\n\tindented, \x1b[31mred\x1b[0m, the end"


def test_a_long_text_is_exported_whole_and_as_the_command_line_does(
    qloop: asyncio.AbstractEventLoop, qtbot: QtBot, tmp_path: Path, own_places: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    out, folder = tmp_path / "session.md", tmp_path / "ws"
    monkeypatch.setattr(QFileDialog, "open", lambda dialog: dialog.finished.emit(1))
    monkeypatch.setattr(QFileDialog, "selectedFiles", lambda dialog: [str(out)])

    async def main() -> str:
        async with (
            engine_on(folder, say(LONG), config=without_memory()) as desk,
            window_on(qtbot, desk.engine, tmp_path / "window.json") as room,
        ):
            await desk.send("How long?")
            timeline = await room.go("timeline", session_id=desk.session)
            await quiet(lambda: timeline.page.session is not None)
            room.act("timeline.export")
            await room.rest(timeline)
            return desk.session

    session = qloop.run_until_complete(main())
    written = out.read_text("utf-8")
    assert LONG.replace("\x1b[31m", "").replace("\x1b[0m", "") in written
    assert written.index("How long?") < written.index("begin")
    printed = command(tmp_path, "export", str(folder), session).stdout
    assert printed.replace("\x1b[31m", "").replace("\x1b[0m", "") == written
