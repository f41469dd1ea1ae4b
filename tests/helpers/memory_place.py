"""The memory place on a real engine, on screen, and what its tests ask of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pytestqt.qtbot import QtBot

from app.engine.engine import Engine
from app.gui.bridge import EngineSignals
from app.gui.panes.memory.change_card import ChangeCard
from app.gui.panes.memory.change_rows import ChangeRow
from app.gui.panes.memory.lines_view import LineRow
from app.gui.panes.memory.pane import MemoryPane
from app.gui.widgets.pane import Desk, Pane
from app.startup import open_engine

NOW = datetime(2026, 11, 30, 14, 6, tzinfo=UTC)


@asynccontextmanager
async def shown(
    folder: Path, qtbot: QtBot, size: tuple[int, int] = (1280, 800), *, person: Any = None
) -> AsyncIterator[tuple[MemoryPane, Engine, list[BaseException]]]:
    """The place on that workspace, on screen; what it reported as bugs must stay empty."""
    engine = await open_engine(folder, clock=lambda: NOW)
    try:
        async with on_screen(engine, qtbot, size, person=person) as (pane, faults):
            yield pane, engine, faults
    finally:
        await engine.close(2.0)


@asynccontextmanager
async def on_screen(
    engine: Engine,
    qtbot: QtBot,
    size: tuple[int, int] = (1280, 800),
    *,
    person: Any = None,
    make: Callable[[Desk], Pane] = MemoryPane,
) -> AsyncIterator[tuple[Any, list[BaseException]]]:
    """A place (this one, or that `make` gives) on an engine that is open."""
    signals = EngineSignals(engine.events)
    faults: list[BaseException] = []
    pane = make(Desk(engine, signals, faults.append, now=lambda: NOW, person=person))
    qtbot.addWidget(pane)
    pane.resize(*size)
    pane.show()
    pane.activate()
    if isinstance(pane, MemoryPane):
        await settle(pane)
    try:
        yield pane, faults
        assert faults == []
    finally:
        signals.stop()
        await pane.tasks.end()


async def settle(pane: MemoryPane) -> None:
    """Until nothing runs and nothing is about to (refreshes wait 100 ms for more)."""
    quiet = 0
    for _ in range(1_500):
        await asyncio.sleep(0.01)
        quiet = 0 if pane.busy() else quiet + 1
        if quiet > 2:
            return
    raise AssertionError("the place does not come to rest")


async def reviewing(pane: MemoryPane) -> None:
    pane.show_waiting()
    await settle(pane)
    assert pane.mode == "review"


def run(pane: MemoryPane, name: str) -> object:
    """Do the action of that name as its key would, or say why it cannot be done."""
    action = next(a for a in pane.actions() if a.name == f"memory.{name}")
    reason = action.off()
    if reason:
        return reason
    result = action.run()
    if asyncio.iscoroutine(result):
        return pane.tasks.start("action", result)
    return None


async def did(pane: MemoryPane, name: str) -> None:
    """Do the action of that name, which must be possible, and wait until all is at rest."""
    said = run(pane, name)
    assert not isinstance(said, str), said
    await settle(pane)


def memory(folder: Path) -> str:
    return (folder / "MEMORY.md").read_text("utf-8")


def changes(pane: MemoryPane) -> list[ChangeRow]:
    return [r for r in pane.review.list.rows_model.rows() if isinstance(r, ChangeRow)]


def front(pane: MemoryPane) -> ChangeRow:
    return next(row for row in changes(pane) if row.focused)


def card(pane: MemoryPane) -> ChangeCard:
    """The parts of the change in front that are real widgets."""
    found = pane.review.list.card()
    assert found is not None
    return found


def result(pane: MemoryPane) -> list[LineRow]:
    return [r for r in pane.review.result.rows_model.rows() if isinstance(r, LineRow)]
