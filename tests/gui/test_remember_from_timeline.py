"""A sentence marked in the timeline is remembered by a real engine, with where it came from."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pytestqt.qtbot import QtBot

from app.gui.widgets.uneven import Marked
from tests.helpers.fake_server import say
from tests.helpers.waiting import until
from tests.helpers.whole_window import window_on
from tests.helpers.workspaces import engine_on, fixed, without_memory

NOW = fixed(2026, 11, 30)
SAID = "By the way: the blue pump stands in the shed."


def test_what_was_marked_is_kept_with_its_session_and_message_and_can_be_undone(
    qloop: asyncio.AbstractEventLoop, tmp_path: Path, own_places: None, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with (
            engine_on(tmp_path / "ws", say("Noted."), config=without_memory(), clock=NOW) as desk,
            window_on(qtbot, desk.engine, tmp_path / "window.json", now=NOW) as room,
        ):
            await desk.send(SAID)
            ask = desk.engine.ask
            entry = next(i for i in await ask.transcript(desk.session) if i.text == SAID)
            before = (await ask.memory()).text
            pane = await room.go("timeline", session_id=desk.session, entry_id=entry.id)
            sheet = pane.page.sheet
            start = SAID.index("the blue")
            sheet.marked = Marked(entry.id, 0, start, len(SAID) - 1)
            assert sheet.marked_text() == "the blue pump stands in the shed"
            room.act("timeline.remember")
            await until(lambda: "Remembered" in pane.deeds.bar.accessibleName())

            log = await ask.day("memory/2026-11-30.md")
            (section,) = log.sections
            assert section.kind == "save"
            assert section.session_id == desk.session
            assert section.first_entry == entry.id
            assert "the blue pump stands in the shed" in section.lines[0].text
            view = await ask.memory()
            line = next(n for n, text in enumerate(view.text.split("\n"), 1) if "blue pump" in text)
            why = await ask.why(line)
            (source,) = why.sources
            assert (source.session_id, source.entry_id) == (desk.session, entry.id), source
            assert source.path == "memory/2026-11-30.md"
            assert why.broken == ""

            pane.deeds.bar.acts[-1].run()  # Undo
            await room.rest(pane)
            assert (await ask.memory()).text == before
            assert pane.notices.causes() == []

    qloop.run_until_complete(main())
