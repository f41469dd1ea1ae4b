"""A person's own settings as the window uses them (`app.gui.bridge.person.PersonalSettings`).

Joins the settings file, the keys of this run and the questions put to servers. Nothing is read or
asked before somebody wants it; disk work runs in threads, heavy imports happen inside. No Qt here.
"""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from app import places
from app.gui.bridge.person import ModelSeen, PersonValues, ServerSeen

if TYPE_CHECKING:
    from app.engine.config import EngineConfig
    from app.engine.config_form import Config
    from app.engine.llm.keys import Keys
    from app.engine.llm.probe import ServerFacts


@functools.cache
def run_keys() -> Keys:
    """The keys of this run: the window and every engine it opens share them."""
    from app.engine.llm.keys import Keys

    return Keys()


class Personal:
    """Settings in `file` (default: the user's config folder) and the keys of this run."""

    def __init__(self, file: Path | None = None, keys: Keys | None = None) -> None:
        self._file = file or places.config_dir() / "settings.toml"
        self._keys = keys
        self._saving = asyncio.Lock()

    @property
    def path(self) -> str:
        return str(self._file)

    @property
    def keys(self) -> Keys:
        if self._keys is None:
            self._keys = run_keys()
        return self._keys

    @property
    def defaults(self) -> EngineConfig:
        """What a workspace's settings are when nobody changed them."""
        from app.startup import default_config

        return default_config()

    @property
    def builtin(self) -> ModelSeen:
        """The model that the program brings along."""
        from app.engine.llm.catalogue import BUILTIN, load

        one = load().get(BUILTIN)
        return ModelSeen(one.name, one.window, one.window, one.fit_for_memory)

    # ------------------------------------------------------------------ the file

    async def load(self) -> PersonValues:
        """The settings now. Raises `ConfigError` for a file that is not understood."""
        from app import settings

        found = await asyncio.to_thread(settings.load, self._file)
        return PersonValues(found.servers, found.roles, found.look)

    async def save(self, values: PersonValues) -> None:
        """Write them; comments and unknown tables of the file stay."""
        from app import settings

        whole = settings.UserSettings(
            servers=cast("Any", values.servers),
            roles=cast("Any", values.roles),
            look=cast("Any", values.look),
        )
        async with self._saving:
            await asyncio.to_thread(settings.save, self._file, whole)

    def server(self, **values: object) -> Config:
        """A checked server. Raises `ConfigError`."""
        from app.engine.llm.probe import base_of
        from app.engine.llm.roles import EndpointSettings

        url = values.get("url")
        if isinstance(url, str) and url.strip().startswith(("http://", "https://")):
            values["url"] = base_of(url)
        return EndpointSettings(**cast("dict[str, Any]", values))

    # ------------------------------------------------------------------ models, addresses

    def fits(self, model: str) -> bool | None:
        from app.engine.llm.catalogue import load

        known = load().lookup(model)
        return known.fit_for_memory if known else None

    def host(self, url: str) -> str:
        from app.engine.llm.probe import host_of

        return host_of(url)

    def stays_here(self, url: str) -> bool:
        from app.engine.llm.probe import is_loopback

        return is_loopback(url)

    # ------------------------------------------------------------------ keys

    async def key_source(self, url: str) -> str:
        from app.engine.llm.keys import NO_KEY

        source = (await self.keys.find(url)).source
        return "" if source == NO_KEY else source

    async def store_key(self, url: str, text: str) -> str:
        """Keep a key; what is found for the address afterwards (the environment comes first)."""
        await self.keys.store(url, text.strip())
        return await self.key_source(url)

    # ------------------------------------------------------------------ asking servers

    async def probe(self, url: str, model: str = "", key: str = "") -> ServerSeen:
        from app.engine.llm.probe import base_of, probe

        base = base_of(url)
        used = key.strip() or (await self.keys.find(base)).text
        began = time.monotonic()
        found = await probe(base, model, used)
        return self._seen(found, time.monotonic() - began)

    async def find_servers(self) -> Sequence[ServerSeen]:
        from app.engine.llm.probe import find_servers

        return [self._seen(one, 0.0) for one in await find_servers()]

    def _seen(self, found: ServerFacts, seconds: float) -> ServerSeen:
        reported = found.kind in ("vLLM", "unknown")
        return ServerSeen(
            url=found.base_url,
            kind=found.kind,
            models=tuple(
                ModelSeen(one.id, one.window or 0, one.trained or 0, self.fits(one.id), one.loaded)
                for one in found.models
            ),
            window_source="reported" if reported else "loaded",
            needs_key=found.needs_key,
            seconds=seconds,
        )
