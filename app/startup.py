"""Composition root: the one place that builds the parts and joins them.

`open_engine` serves the command line and the window alike. No Qt here: the window's own life is in
`app.program`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app import places, settings

if TYPE_CHECKING:
    from app.engine.agent.tools import Tool
    from app.engine.config import EngineConfig
    from app.engine.engine import Engine
    from app.engine.llm.keys import Keys
    from app.engine.llm.roles import Endpoints, EndpointSettings


def settings_file() -> Path:
    """Where a person's own settings lie."""
    return places.config_dir() / "settings.toml"


def recent_file() -> Path:
    return places.data_dir() / "recent.json"


def default_config() -> EngineConfig:
    """The defaults of window and command line: a person reviews what enters MEMORY.md and sees what
    is too old before it is put away, thresholds follow the model's window, and a summary never
    fails for want of a model."""
    from app.engine.config import CompactionConfig, EngineConfig, MaintenanceConfig, MemoryConfig

    return EngineConfig(
        compaction=CompactionConfig(trigger_tokens="auto", extractive_fallback=True),
        memory=MemoryConfig(policy="review"),
        maintenance=MaintenanceConfig(retention_allowed=False),
    )


def make_endpoints(chosen: settings.UserSettings, keys: Keys | None = None) -> Endpoints:
    """Endpoints from a person's settings; nothing is contacted before its first use."""
    from app.engine.llm.configured import ConfiguredEndpoint
    from app.engine.llm.embedded import EmbeddedModel
    from app.engine.llm.endpoint import Endpoint
    from app.engine.llm.keys import Keys
    from app.engine.llm.roles import Endpoints

    keys = keys or Keys()

    def make(_name: str, server: EndpointSettings) -> Endpoint:
        return ConfiguredEndpoint(server, keys)

    return Endpoints(chosen.servers, chosen.roles, make, lambda: EmbeddedModel(places.models_dir()))


def overridden(
    chosen: settings.UserSettings, url: str | None, model: str | None
) -> settings.UserSettings:
    """Settings with a server and model named by flags or environment standing over them."""
    from dataclasses import replace

    from app.engine.llm.roles import EndpointSettings

    if url:
        server = EndpointSettings(url=url, model=model or "")
        servers = {**chosen.servers, "flag": server}
        return replace(chosen, servers=servers, roles=chosen.roles.replace(chat="flag"))
    if model:
        return replace(chosen, roles=chosen.roles.replace(chat=model))
    return chosen


async def open_engine(
    folder: Path,
    *,
    url: str | None = None,
    model: str | None = None,
    strategy: str | None = None,
    memory: bool = True,
    config: EngineConfig | None = None,
    endpoints: Endpoints | None = None,
    keys: Keys | None = None,
    clock: Callable[[], datetime] | None = None,
    tools: Iterable[Tool] = (),
    watch: bool = False,
) -> Engine:
    """The engine of a workspace with a person's settings. Raises `UserError`."""
    from app.engine.engine import Engine

    wanted = config or default_config()
    switches = wanted.agent
    if strategy:
        switches = switches.replace(strategy=strategy)
    if not memory:
        switches = switches.replace(memory_hooks=False, memory_tools=False)
    more: dict[str, Any] = {} if clock is None else {"clock": clock}
    chosen = overridden(settings.load(settings_file()), url, model)
    return await Engine.open(
        folder,
        endpoints or make_endpoints(chosen, keys),
        config=wanted.replace(agent=switches),
        tools=tools,
        watch=watch,
        **more,
    )


async def known_models(url: str | None) -> list[dict[str, Any]]:
    """Models of one server, or of the servers that answer on this machine, and the built-in one."""
    from app.engine.llm.catalogue import load
    from app.engine.llm.keys import Keys
    from app.engine.llm.probe import find_servers, probe

    rows: list[dict[str, Any]] = []
    if url:
        key = await Keys().find(url)
        found = [await probe(url, key=key.text)]
    else:
        found = await find_servers()
        rows = [
            {"name": w.name, "window": w.window, "source": "table", "server": "built in"}
            for w in load().weights
        ]
    for server in found:
        for one in server.models:
            rows.append(
                {
                    "name": one.id,
                    "window": one.window or one.trained or 0,
                    "source": "loaded" if one.window else "trained",
                    "server": server.base_url,
                }
            )
    return rows
