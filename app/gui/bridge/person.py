"""What a pane may know of a person's own settings: servers, roles, looks, keys.

They live in the user's config folder and are no part of an engine, so the program's root hands this
in through `Desk.person`; a pane never imports where they come from. Every settings object here is
one of the engine's `Config` classes: checked, frozen, with a sentence for each field. A key's text
goes in and never comes out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from app.engine.config import EngineConfig
from app.engine.config_form import Config


@dataclass(frozen=True)
class PersonValues:
    """All of it. `servers` by the name a person gave them (fields url, model, window,
    trust_with_memory), `roles` (chat, memory, compaction), `look`."""

    servers: Mapping[str, Config]
    roles: Config
    look: Config


@dataclass(frozen=True)
class ModelSeen:
    """One model of a server. `window` and `trained` in tokens, 0 when not told; `fit` says whether
    the catalogue trusts it with memory, None when it is not in it."""

    name: str
    window: int = 0
    trained: int = 0
    fit: bool | None = None
    loaded: bool | None = None


@dataclass(frozen=True)
class ServerSeen:
    """What a server told. `kind` as in the engine's probe ("unreachable" when nothing answered);
    `window_source` says where a model's window comes from; `seconds` is how long it took."""

    url: str
    kind: str
    models: tuple[ModelSeen, ...] = ()
    window_source: str = ""
    needs_key: bool = False
    seconds: float = 0.0

    @property
    def answers(self) -> bool:
        return self.kind != "unreachable"


class PersonalSettings(Protocol):
    """A person's settings and keys. Async methods never block; `load` and `save` raise
    `UserError` (a file that is not understood stays as it is)."""

    @property
    def path(self) -> str: ...
    @property
    def defaults(self) -> EngineConfig: ...
    @property
    def builtin(self) -> ModelSeen: ...

    async def load(self) -> PersonValues: ...
    async def save(self, values: PersonValues) -> None: ...

    def server(self, **values: object) -> Config:
        """A checked server. Raises `ConfigError` naming the field and its rule."""
        ...

    def fits(self, model: str) -> bool | None:
        """Whether the catalogue trusts this model with memory; None when it does not know it."""
        ...

    def host(self, url: str) -> str:
        """Host and port of an address, for showing."""
        ...

    def stays_here(self, url: str) -> bool:
        """Whether an address is this machine."""
        ...

    async def key_source(self, url: str) -> str:
        """Where the key for this server's origin comes from, in words; "" when there is none."""
        ...

    async def store_key(self, url: str, text: str) -> str:
        """Keep a key ("" removes it); where it is kept, in words, "" when there is none now."""
        ...

    async def probe(self, url: str, model: str = "", key: str = "") -> ServerSeen:
        """Ask a server who it is; with `key` instead of the one that is kept."""
        ...

    async def find_servers(self) -> Sequence[ServerSeen]:
        """Servers at the usual ports of this machine."""
        ...
