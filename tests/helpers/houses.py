"""A workspace whose parts a test opens, drives and closes, with a clock that the test sets."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from app.engine.events import Activity, Bus
from app.engine.workspace.layout import Layout, ensure


class House:
    """The folder, a bus that is listened to, and the time; `open` makes the parts."""

    def __init__(self, root: Path, now: datetime) -> None:
        self.layout = Layout.at(root)
        ensure(self.layout)
        self.now = now
        self.bus = Bus()
        self.heard: list[Activity] = []
        self.bus.subscribe(lambda e: self.heard.append(e) if isinstance(e, Activity) else None)

    async def open(self) -> None:
        raise NotImplementedError

    async def close(self) -> None:
        raise NotImplementedError


OneHouse = TypeVar("OneHouse", bound=House)


def lived_in(house: OneHouse, scenario: Callable[[OneHouse], Awaitable[None]]) -> OneHouse:
    """The house, after the scenario has been played in it from its opening to its close."""

    async def main() -> None:
        await house.open()
        try:
            await scenario(house)
        finally:
            await house.close()

    asyncio.run(main())
    return house
