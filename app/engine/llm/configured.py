"""A server from the settings as an endpoint; its key is looked up at the first request.

Looking a key up may ask the system's keyring, which is slow and may show a dialog, so nothing of it
happens while the window opens.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from app.engine.llm.catalogue import load
from app.engine.llm.endpoint import Delta, Request
from app.engine.llm.keys import Keys
from app.engine.llm.openai_endpoint import OpenAIEndpoint, Options
from app.engine.llm.probe import host_of
from app.engine.llm.roles import EndpointSettings
from app.engine.records import Window


class ConfiguredEndpoint:
    """One server a person entered."""

    def __init__(self, settings: EndpointSettings, keys: Keys) -> None:
        known = load().lookup(settings.model)
        self.host = host_of(settings.url)
        self.key_source = ""
        self._settings = settings
        self._known_window = known.window if known else 0
        self._keys = keys
        self._inner: OpenAIEndpoint | None = None
        self._making = asyncio.Lock()

    @property
    def name(self) -> str:
        """The model's name: the person's, else the one the server turned out to have."""
        found = self._inner.name if self._inner is not None else ""
        return self._settings.model or found or "the server's model"

    @property
    def supports_tools(self) -> bool:
        """True until the server refuses tools."""
        return self._inner is None or self._inner.supports_tools

    @property
    def fit_for_memory(self) -> bool:
        """Whether a person trusts the server with memory, or the catalogue trusts its model."""
        known = load().lookup(self.name)
        return self._settings.trust_with_memory or bool(known and known.fit_for_memory)

    async def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        """As the protocol says."""
        inner = await self._ready()
        async with aclosing(inner.stream(request)) as deltas:
            async for delta in deltas:
                yield delta

    async def window(self) -> Window:
        return await (await self._ready()).window()

    async def close(self) -> None:
        if self._inner is not None:
            await self._inner.close()

    async def _ready(self) -> OpenAIEndpoint:
        async with self._making:
            if self._inner is None:
                key = await self._keys.find(self._settings.url)
                self.key_source = key.source
                self._inner = OpenAIEndpoint(
                    self._settings.url,
                    self._settings.model,
                    key=key.text,
                    options=Options(
                        window=self._settings.window,
                        known_window=self._known_window,
                        fit_for_memory=self.fit_for_memory,
                    ),
                )
            return self._inner
