"""Saving settings, one at a time, each with a way back.

Every change is made on the newest state, so that two quick ones never lose each other. What holds
is only ever what was stored: a save that fails changes nothing here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from app.engine.config import EngineConfig
from app.gui.bridge.person import PersonalSettings, PersonValues

UNDO_LIMIT = 100


@dataclass(frozen=True)
class Step:
    """One thing that can be taken back. `words` name it."""

    words: str
    back: Callable[[], Awaitable[None]]


class Keeper:
    """The workspace's configuration and the person's settings, as stored last.

    `engine` gives the engine now (None while no workspace is open); `told` is called after each
    save. `initiator` marks our own changes.
    """

    def __init__(
        self,
        engine: Callable[[], Any],
        person: PersonalSettings | None,
        told: Callable[[], None],
        initiator: object,
    ) -> None:
        self._engine = engine
        self._person = person
        self._told = told
        self._initiator = initiator
        self._one = asyncio.Lock()
        self.config = EngineConfig()
        self.values: PersonValues | None = None
        self.steps: list[Step] = []

    @property
    def defaults(self) -> EngineConfig:
        return self._person.defaults if self._person is not None else EngineConfig()

    async def look(self) -> None:
        """Read both again."""
        async with self._one:
            if self._engine() is not None:
                self.config = await self._engine().ask.config()
            if self._person is not None:
                self.values = await self._person.load()

    async def configure(self, words: str, change: Callable[[EngineConfig], EngineConfig]) -> None:
        """Change the workspace's policy and store it. Raises `UserError`; then nothing changed."""
        async with self._one:
            before = await self._engine().ask.config()
            after = change(before)
            if after == before:
                return
            await self._engine().do.configure(after, initiator=self._initiator)
            self.config = after

            async def back() -> None:
                async with self._one:
                    await self._engine().do.configure(before, initiator=self._initiator)
                    self.config = before

            self._keep(Step(words, back))

    async def personal(
        self, words: str, change: Callable[[PersonValues], PersonValues], *, models: bool = False
    ) -> None:
        """Change the person's settings and store them; with `models` the engine uses them now."""
        assert self._person is not None
        person = self._person
        async with self._one:
            before = await person.load()
            after = change(before)
            if after == before:
                return
            await self._store(person, after, models)

            async def back() -> None:
                async with self._one:
                    await self._store(person, before, models)

            self._keep(Step(words, back))

    async def _store(self, person: PersonalSettings, values: PersonValues, models: bool) -> None:
        await person.save(values)
        self.values = values
        if models:
            await self.use_models()

    async def use_models(self) -> None:
        """Let the engine work with the servers and roles as they are now."""
        if self._engine() is not None and self.values is not None:
            await self._engine().do.use_models(
                self.values.servers, self.values.roles, initiator=self._initiator
            )

    def keep(self, words: str, back: Callable[[], Awaitable[None]]) -> None:
        """Remember a change made elsewhere, with its way back."""
        self._keep(Step(words, back))

    def _keep(self, step: Step) -> None:
        self.steps = [*self.steps, step][-UNDO_LIMIT:]
        self._told()

    async def undo(self) -> str:
        """Take the newest change back; its words, "" when there is none."""
        if not self.steps:
            return ""
        step = self.steps.pop()
        try:
            await step.back()
        except BaseException:
            self.steps.append(step)
            raise
        self._told()
        return step.words
