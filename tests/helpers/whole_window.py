"""The whole window on an engine that is open, with all its places.

async with window_on(qtbot, desk.engine, tmp_path / "window.json") as room:
    await room.go("memory")
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from pytestqt.qtbot import QtBot

from app.engine.engine import Engine
from app.gui.bridge import EngineSignals
from app.gui.widgets.pane import Desk, Target
from app.gui.window.main_window import MainWindow
from app.showing import factories
from tests.helpers.waiting import quiet, until


class Room:
    """The window, and the bugs that were reported to it (an error if any is left at the end)."""

    def __init__(self, window: MainWindow, faults: list[BaseException]) -> None:
        self.window, self.faults = window, faults
        self.seen: set[str] = set()  # tooltips that were shown already

    async def go(self, place: str, **target: Any) -> Any:
        """Bring a place to the front; its pane, at rest."""
        self.window.show_target(Target(place, **target))
        pane = self.window.pane(place)
        assert pane is not None
        await self.rest(pane)
        return pane

    async def rest(self, pane: Any) -> None:
        """Until nothing runs in a pane for a while (refreshes wait for more, 100 ms)."""
        await quiet(lambda: not pane.tasks._running)

    def act(self, name: str) -> None:
        """Run the action of that name, as its key does."""
        action = self.window.catalogue.get(name)
        assert action is not None, name
        assert not action.off(), action.off()
        self.window.run_action(action)


@asynccontextmanager
async def window_on(
    qtbot: QtBot, engine: Engine, state: Path, *, now: Callable[[], datetime] | None = None
) -> AsyncIterator[Room]:
    """Show the window on `engine`; ended when the block is left, and no bug was reported."""
    faults: list[BaseException] = []
    signals = EngineSignals(engine.events)
    desk = Desk(engine, signals, faults.append)
    if now is not None:
        desk.now = now
    window = MainWindow(desk, factories(), state)
    qtbot.addWidget(window)
    window.resize(1280, 800)
    window.set_workspace(engine.folder.name, str(engine.folder))
    window.show()
    window.start()
    await until(lambda: window.place() != "")
    try:
        yield Room(window, faults)
    finally:
        await window.end()
    assert faults == [], [repr(fault) for fault in faults]
