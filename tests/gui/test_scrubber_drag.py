"""The scrubber: dragging reads the file as it was, the other handle chooses a pair; what its marks
mean is told where there is room."""

from __future__ import annotations

import asyncio
from pathlib import Path

from PySide6.QtCore import QPoint, Qt
from pytestqt.qtbot import QtBot

from app.gui.panes.memory.scrubber import Scrubber
from app.gui.widgets.marks import KindMark
from tests.helpers.memory_place import (
    did,
    memory,
    settle,
    shown,
)


def test_dragging_shows_each_version_and_two_handles_make_a_pair(
    qloop: asyncio.AbstractEventLoop, demo_folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(demo_folder, qtbot) as (pane, engine, _):
            line = pane.scrubber.line
            before = memory(demo_folder)
            left = Qt.MouseButton.LeftButton

            def at(version: int, y: int) -> QPoint:
                return QPoint(round(line.x_of(version)), y)

            low, high = line.height() - 6, 8
            newest = line.shows
            assert pane.scrubber.pair() == (newest - 1, newest)
            qtbot.mousePress(line, left, pos=at(line.base, high))
            qtbot.mouseMove(line, at(1, high))
            qtbot.mouseRelease(line, left, pos=at(1, high))
            assert pane.scrubber.pair() == (1, newest)
            await did(pane, "compare")
            assert pane.mode == "compare"
            assert pane.leave()
            await settle(pane)
            qtbot.mousePress(line, left, pos=at(newest, low))
            for version in (2, 1):
                qtbot.mouseMove(line, at(version, low))
                assert line.shows == version
                await settle(pane)
                assert pane.mode == "version"
                rows = pane.file.lines.rows_model.rows()
                text = await engine.ask.version_text(version)
                assert [str(r.data) for r in rows] == text.rstrip("\n").split("\n")
            qtbot.mouseRelease(line, left, pos=at(1, low))
            qtbot.mouseMove(line, at(2, low))
            assert line.shows == 1, "let go, it is not dragged any more"
            assert memory(demo_folder) == before, "looking writes nothing"

    qloop.run_until_complete(main())


def test_what_the_marks_mean_cuts_nothing_off(
    qloop: asyncio.AbstractEventLoop, demo_folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(demo_folder, qtbot) as (pane, _, _w):
            versions = await pane.desk.engine.ask.versions()
        strip = Scrubber()
        qtbot.addWidget(strip)
        strip.set_versions(versions, versions[0].when, False)
        told: set[bool] = set()
        strip.show()
        for width in range(500, 1200, 20):
            strip.resize(width, strip.height())
            qtbot.wait(1)
            told.add(any(mark.isVisible() for mark in strip.findChildren(KindMark)))
            assert strip.compare.width() >= strip.compare.sizeHint().width()
        assert told == {True, False}

    qloop.run_until_complete(main())
