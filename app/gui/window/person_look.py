"""The person's look: taken from their settings at the start, kept there when it changes.

Whoever changes the theme (the settings, a key, the palette) need not know where that is stored:
what differs from the file a moment later is written. Settings that cannot be read are left alone.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from PySide6.QtCore import QObject, QTimer

from app.engine.errors import UserError
from app.gui.bridge import Tasks
from app.gui.widgets.pane import Desk

SOON = 400  # ms: a held zoom key is one change


class PersonLook(QObject):
    """`use()` once, when there is a loop; from then on changes are kept."""

    def __init__(self, desk: Desk, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._desk = desk
        self._in_use = False
        self.tasks = Tasks(lambda _name, error: desk.report(error))
        self._later = QTimer(self, singleShot=True, interval=SOON)
        self._later.timeout.connect(lambda: self.tasks.latest("keep", self.keep()))
        desk.theme.changed.connect(self._on_theme)

    async def use(self) -> None:
        """Dress the window as the settings say."""
        if self._desk.person is None:
            return
        try:
            look: Any = (await self._desk.person.load()).look
        except UserError:
            return  # who opens the workspace tells of it
        if self._now(look) != look:
            self._desk.theme.choose(
                look.scheme, contrast=look.high_contrast, still=look.reduce_motion,
                zoom=look.text_percent / 100,
            )  # fmt: skip
        self._in_use = True

    async def keep(self) -> None:
        """Write the look of now, if it is not what the file says."""
        person = self._desk.person
        if person is None or not self._in_use:
            return
        try:
            values = await person.load()
            look = self._now(values.look)
            if look != values.look:
                await person.save(dataclasses.replace(values, look=look))
        except UserError:
            return

    def _now(self, look: Any) -> Any:
        theme = self._desk.theme
        return look.replace(
            scheme=theme.wish, high_contrast=theme.contrast, reduce_motion=theme.still,
            text_percent=min(max(round(theme.zoom * 100), 80), 200),
        )  # fmt: skip

    def _on_theme(self) -> None:
        if self._in_use:
            self._later.start()

    async def end(self) -> None:
        """Keep what was not kept yet, and stop."""
        if self._later.isActive():
            self._later.stop()
            await self.keep()
        self._in_use = False  # a theme that changes later is nobody's wish any more
        await self.tasks.end()
