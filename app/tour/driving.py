"""Driving a real window: going to places, running actions, typing, waiting, taking pictures."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QInputMethodEvent, QKeyEvent
from PySide6.QtWidgets import QApplication

from app.engine.engine import Engine
from app.gui.widgets.pane import Target
from app.showing import Showing
from app.tour.scripted import Script

SOON = 20.0  # seconds


class TourFailed(Exception):
    """The tour did not come to where it should; the text says where it stood."""


class Driver:
    """The hands of the tour on one open window; pictures go to `out`."""

    def __init__(self, show: Showing, out: Path) -> None:
        self.show = show
        self.window = show.window
        self.out = out
        self.pictures: list[Path] = []
        self.session = ""

    @property
    def engine(self) -> Engine:
        if self.show.engine is None:
            raise TourFailed("The engine did not open.")
        return self.show.engine

    async def go(self, place: str, **more: str) -> None:
        """Show a place as a click would, and wait until it stands still."""
        self.window.show_target(Target(place, **more))  # type: ignore[arg-type]
        await self.settled()

    def act(self, name: str) -> None:
        """Run an action by its name, as its key or the palette would."""
        self.window.run_action(self.window.catalogue.get(name))

    def type_into(self, widget: Any, text: str) -> None:
        """Commit text as an input method does; the only way that holds for Chinese, too."""
        widget.setFocus()
        event = QInputMethodEvent()
        event.setCommitString(text)
        QApplication.sendEvent(widget, event)

    def press(self, widget: Any, key: str) -> None:
        code = getattr(Qt.Key, f"Key_{key}")
        for kind in (QEvent.Type.KeyPress, QEvent.Type.KeyRelease):
            event = QKeyEvent(kind, code, Qt.KeyboardModifier.NoModifier)
            QApplication.sendEvent(widget, event)

    async def scripted(self, script: Script, text: str) -> None:
        """One turn of the tour's session, answered by a script instead of the model."""
        endpoints = self.engine.endpoints
        real = endpoints.resolve("builtin")
        endpoints.use("builtin", script)
        try:
            result = await self.engine.do.send(self.session, text)
        finally:
            endpoints.use("builtin", real)
        if result.state != "finished":
            raise TourFailed(f"The scripted turn failed: {result.error}")
        await self.jobs_done()

    def spoke(self, kind: str) -> bool:
        """Whether the session's log on disk holds a message of that kind."""
        log = self.show.folder / f"agents/palimpsest/sessions/{self.session}.log.jsonl"
        role = {"user": '"role":"USER"', "assistant": '"role":"ASSISTANT"'}[kind]
        return log.exists() and role in log.read_text(encoding="utf-8")

    # ------------------------------------------------------------------ waiting, pictures

    async def jobs_done(self) -> None:
        await self.engine.drain(60)
        await self.settled()

    async def settled(self) -> None:
        """Let tasks, layouts and pictures come to rest."""
        for _ in range(6):
            await asyncio.sleep(0.06)

    async def until(self, holds: Callable[[], bool], what: str, within: float = SOON) -> None:
        async def ask() -> bool:
            return holds()

        await self.until_async(ask, what, within)

    async def until_async(
        self, holds: Callable[[], Awaitable[bool]], what: str, within: float = SOON
    ) -> None:
        """Wait for something; `TourFailed` names it when it does not come."""
        loop = asyncio.get_running_loop()
        end = loop.time() + within
        while not await holds():
            if loop.time() > end:
                raise TourFailed(f"Waited {within:.0f} s for {what}.")
            await asyncio.sleep(0.05)
        await self.settled()

    async def picture(self, name: str) -> None:
        await self.settled()
        place = self.out / f"{len(self.pictures) + 1:02d}-{name}.png"
        if not self.window.grab().save(str(place)):
            raise TourFailed(f"The picture {place} could not be written.")
        self.pictures.append(place)


def say(line: str) -> None:
    sys.stderr.write(f"  {line}\n")
