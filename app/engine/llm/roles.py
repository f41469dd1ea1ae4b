"""Which model does what: names of the settings resolved to endpoints.

A role (chat, memory, compaction) holds a name: `builtin`, the name of a configured endpoint, or
`provider:model` for another model behind one. An empty memory or compaction role is the chat model.
Endpoints are made on first use and closed together. What is handed out is measured: one gauge
learns from every model's reports (`app.engine.llm.gauge`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from app.engine.config_form import Config, at_least, setting, text_or_none, yes_no
from app.engine.errors import ConfigError
from app.engine.llm.endpoint import Endpoint
from app.engine.llm.gauge import Gauge
from app.engine.llm.measured import MeasuredEndpoint

BUILTIN = "builtin"


def _url(value: Any) -> str:
    good = isinstance(value, str) and value.startswith(("http://", "https://"))
    return "" if good else "must be an address that begins with http:// or https://"


@dataclass(frozen=True)
class EndpointSettings(Config):
    """One server a person entered. `window` 0 asks the server."""

    url: str = setting("http://127.0.0.1:11434/v1", _url, "Address of the server, up to /v1.")
    model: str = setting("", text_or_none, "The model's name as the server knows it.")
    window: int = setting(0, at_least(0), "Context window; 0 asks the server.", "tokens")
    trust_with_memory: bool = setting(False, yes_no, "Let this model write memory proposals.")


@dataclass(frozen=True)
class RoleSettings(Config):
    """Who does what. Empty memory and compaction follow chat."""

    chat: str = setting(BUILTIN, text_or_none, "Answers in the chat.")
    memory: str = setting("", text_or_none, "Extracts facts and proposes changes.")
    compaction: str = setting("", text_or_none, "Summarises long sessions.")


Make = Callable[[str, EndpointSettings], Endpoint]


class Endpoints:
    """Endpoints by name. `make` builds one for a server, `embedded` the built-in model's."""

    def __init__(
        self,
        servers: Mapping[str, EndpointSettings],
        roles: RoleSettings,
        make: Make,
        embedded: Callable[[], Endpoint],
    ) -> None:
        self.servers = dict(servers)
        self.roles = roles
        self._make = make
        self._embedded = embedded
        self.gauge = Gauge()
        self._made: dict[str, MeasuredEndpoint] = {}
        self._given: set[str] = set()
        self._own: dict[int, MeasuredEndpoint] = {}  # of endpoint objects in settings

    @classmethod
    def only(cls, endpoint: Endpoint) -> Endpoints:
        """One ready endpoint for every role: what a program that embeds the engine needs."""

        def none(*_asked: object) -> Endpoint:
            raise ConfigError("Only one model is configured here.")

        made = cls({}, RoleSettings(chat="own"), none, none)
        made.use("own", endpoint)
        return made

    def resolve(self, name: str) -> MeasuredEndpoint:
        """The endpoint of a name. Raises `ConfigError` naming what is configured."""
        if name not in self._made:
            self._made[name] = self._measured(self._build(name))
        return self._made[name]

    def _measured(self, endpoint: Endpoint) -> MeasuredEndpoint:
        if isinstance(endpoint, MeasuredEndpoint):
            return endpoint
        return MeasuredEndpoint(endpoint, self.gauge)

    def _build(self, name: str) -> Endpoint:
        if name == BUILTIN:
            return self._embedded()
        provider, _, model = name.partition(":")
        server = self.servers.get(name) or self.servers.get(provider)
        if server is None:
            known = ", ".join([BUILTIN, *self.servers])
            raise ConfigError(
                f"No model is configured under the name {name!r}.", f"Choose one of: {known}."
            )
        if name not in self.servers and model:
            server = server.replace(model=model)
        return self._make(name, server)

    def role(self, role: str, override: Any = None) -> MeasuredEndpoint:
        """The endpoint of a role; `override` is a name or an endpoint object and wins."""
        if override is not None and not isinstance(override, str):
            known = [one for one in self._made.values() if one.inner is override]
            return known[0] if known else self._given_as(override)
        name = override or getattr(self.roles, role) or self.roles.chat
        return self.resolve(name)

    def _given_as(self, endpoint: Endpoint) -> MeasuredEndpoint:
        return self._own.setdefault(id(endpoint), self._measured(endpoint))

    def use(self, name: str, endpoint: Endpoint) -> None:
        """Put a ready endpoint under a name (an embedding program's own model, a scripted one)."""
        self._made[name] = self._measured(endpoint)
        self._given.add(name)

    def change(
        self, servers: Mapping[str, EndpointSettings], roles: RoleSettings
    ) -> list[MeasuredEndpoint]:
        """Work with other servers and roles from now on.

        Every server's endpoint is made anew at its next use, for its key may have changed, too; the
        built-in model and those put by `use` stay. What was made for servers is returned: close it
        when nothing talks through it any more.
        """
        self.servers = dict(servers)
        self.roles = roles
        stale = [name for name in self._made if name != BUILTIN and name not in self._given]
        return [self._made.pop(name) for name in stale]

    async def close(self) -> None:
        made, self._made = list(self._made.values()), {}
        for endpoint in made:
            await endpoint.close()
