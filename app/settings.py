"""A person's own settings: servers, model roles, looks. TOML, validated, comments kept.

They live in the user's config folder, never in a workspace: a workspace must not be able to name a
server or a key (specification, section 2). API keys are not here at all (`app.engine.llm.keys`).
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from app.engine.config_form import Config, one_of, setting, yes_no
from app.engine.errors import ConfigError, StorageError
from app.engine.llm.roles import EndpointSettings, RoleSettings

RECENT_LIMIT = 8


@dataclass(frozen=True)
class LookSettings(Config):
    """How the window looks."""

    scheme: str = setting(
        "system",
        one_of("system", "light", "dark"),
        "Light, dark, or as the system wants.",
        choices=("system", "light", "dark"),
    )
    text_percent: int = setting(
        100,
        lambda v: "" if isinstance(v, int) and 80 <= v <= 200 else "must be from 80 to 200",
        "Size of all text.",
        "%",
    )
    high_contrast: bool = setting(False, yes_no, "Stronger lines and text.")
    reduce_motion: bool = setting(False, yes_no, "No fades and no turning ring.")
    follow_review: bool = setting(True, yes_no, "After a decision, go to the next open change.")


@dataclass(frozen=True)
class UserSettings:
    """All of it, as read from `settings.toml`."""

    servers: Mapping[str, EndpointSettings] = field(default_factory=dict[str, EndpointSettings])
    roles: RoleSettings = field(default_factory=RoleSettings)
    look: LookSettings = field(default_factory=LookSettings)


def parse(text: str) -> UserSettings:
    """Settings from TOML text. Raises `ConfigError` naming what is wrong."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"settings.toml is not valid TOML: {error}.") from error
    servers = cast("dict[str, dict[str, Any]]", data.get("endpoints", {}))
    return UserSettings(
        servers={name: EndpointSettings.load(one) for name, one in servers.items()},
        roles=RoleSettings.load(data.get("models", {})),
        look=LookSettings.load(data.get("look", {})),
    )


def load(path: Path) -> UserSettings:
    """The settings of a file; defaults when there is none."""
    try:
        return parse(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        return UserSettings()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"The settings file could not be read: {error}.") from error


def save(path: Path, settings: UserSettings) -> None:
    """Write changed values into the file; comments and unknown tables stay as they are."""
    import tomlkit

    try:
        document = tomlkit.parse(path.read_text(encoding="utf-8-sig")) if path.exists() else None
    except (OSError, ValueError) as error:
        raise StorageError(f"The settings file is not understood, so it stays: {error}.") from error
    document = document if document is not None else tomlkit.document()
    endpoints = {name: {"url": s.url, **s.plain()} for name, s in settings.servers.items()}
    tables = {
        "endpoints": endpoints,
        "models": settings.roles.plain(),
        "look": settings.look.plain(),
    }
    for name, values in tables.items():
        merge(document, name, values)
    path.parent.mkdir(parents=True, exist_ok=True)
    from app.engine.workspace.files import write_atomic

    write_atomic(path, tomlkit.dumps(document).encode())


def merge(document: Any, name: str, values: Mapping[str, Any]) -> None:
    """Make one table of a TOML document hold exactly these values, keeping its comments."""
    import tomlkit

    if not values:
        document.pop(name, None)
        return
    if name not in document:
        document[name] = tomlkit.table()
    table = document[name]
    for key in [k for k in table if k not in values]:
        del table[key]
    for key, value in values.items():
        if isinstance(value, Mapping):
            merge(table, key, cast("Mapping[str, Any]", value))
        elif key not in table or table[key] != value:
            table[key] = value


# ---------------------------------------------------------------------------- recent workspaces


def recent_workspaces(path: Path) -> list[Path]:
    """Workspaces opened before, newest first; folders that are gone are left out."""
    try:
        names: object = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    known = cast("list[Any]", names) if isinstance(names, list) else []
    return [p for p in (Path(n) for n in known if isinstance(n, str)) if p.is_dir()]


def remember_workspace(path: Path, workspace: Path) -> None:
    """Put a workspace first in the list."""
    from app.engine.workspace.files import write_atomic

    others = [p for p in recent_workspaces(path) if p != workspace]
    names = [str(p) for p in [workspace, *others][:RECENT_LIMIT]]
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, json.dumps(names, ensure_ascii=False, indent=1).encode())
