"""The settings on screen over an engine that keeps in memory what they change."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.engine.config import EngineConfig
from app.engine.events import Bus
from app.engine.records import MemoryView
from app.gui.panes.settings.pane import SettingsPane
from app.gui.widgets.labels import T
from app.gui.widgets.pane import Desk
from app.personal import Personal


class Engine:
    """An engine that keeps a configuration, AGENTS.md and the models it was told to use."""

    def __init__(self, bus: Bus) -> None:
        self.config = EngineConfig()
        self.agents = "# Who you are\n"
        self.error: Exception | None = None
        self.used: list[tuple[Any, Any]] = []
        self.events = bus
        self.ask = Ask(self)
        self.do = Do(self)


class Ask:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def config(self) -> EngineConfig:
        return self._engine.config

    async def agents_md(self) -> str:
        return self._engine.agents

    async def sessions(self) -> list[Any]:
        return []

    async def memory(self) -> Any:
        return MemoryView("", "absent", "", 0, 4_000)


class Do:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def configure(self, config: EngineConfig, *, initiator: object = None) -> None:
        if self._engine.error is not None:
            raise self._engine.error
        self._engine.config = config

    async def write_agents_md(self, text: str, *, initiator: object = None) -> None:
        self._engine.agents = text

    async def use_models(self, servers: Any, roles: Any, *, initiator: object = None) -> None:
        self._engine.used.append((dict(servers), roles))


def engine_of(desk: Desk, bus: Bus, person: Personal) -> Engine:
    """The desk's engine, with that person's settings."""
    made = Engine(bus)
    made.config = person.defaults
    desk.engine = made
    desk.person = person
    return made


def shown_settings(
    desk: Desk, qtbot: QtBot, qloop: asyncio.AbstractEventLoop
) -> Iterator[SettingsPane]:
    """The place on screen, for a fixture; its tasks are ended at the end."""

    async def make() -> SettingsPane:
        made = SettingsPane(desk)
        await made.refresh()
        return made

    one = qloop.run_until_complete(make())
    qtbot.addWidget(one)
    one.resize(1_060, 760)
    one.show()
    yield one
    qloop.run_until_complete(one.tasks.end())


def section(pane: SettingsPane, qloop: asyncio.AbstractEventLoop, name: str) -> Any:
    """Bring a section to the front; its page, up to date."""

    async def show() -> None:
        pane.show_section(name)
        await pane.refresh()

    qloop.run_until_complete(show())
    return pane.pages[name]


def words(widget: QWidget) -> str:
    """What the labels in a widget say, a line each."""
    return "\n".join(label.text() for label in widget.findChildren(T))
