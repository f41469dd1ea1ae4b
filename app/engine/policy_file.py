"""`.palimpsest/config.toml`: the policy of one workspace, as a person may also write it by hand.

Only what differs from the defaults is stored; comments and the order of a person's own file stay.
It never holds a server or a key (specification, section 2).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from app.engine.config import EngineConfig
from app.engine.errors import Unreadable
from app.engine.workspace.files import read_text, write_atomic


def write_policy(path: Path, before: EngineConfig, after: EngineConfig) -> None:
    """Store what changed from `before` to `after`. A file not understood raises `Unreadable`."""
    import tomlkit
    from tomlkit.exceptions import ParseError

    found = read_text(path)
    try:
        document = tomlkit.parse(found.text) if found else tomlkit.document()
    except ParseError as error:
        raise Unreadable(
            f"config.toml is not understood, so it stays as it is: {error}.", "Mend the file."
        ) from error
    _merge(document, changed(before, after))
    write_atomic(path, tomlkit.dumps(document).encode())


def changed(before: EngineConfig, after: EngineConfig) -> dict[str, Any]:
    """The values in which two configurations differ, by part, as a file holds them.

    None stands for a value that is unset now.
    """
    old, new = before.plain(defaults=True), after.plain(defaults=True)
    return _difference(old, new)


def _difference(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {key: None for key in old if key not in new}
    for key, value in new.items():
        known = old.get(key)
        if isinstance(value, dict) and isinstance(known, dict):
            inner = _difference(cast("dict[str, Any]", known), cast("dict[str, Any]", value))
            if inner:
                out[key] = inner
        elif known != value:
            out[key] = value
    return out


def _merge(document: Any, values: Mapping[str, Any]) -> None:
    import tomlkit

    for key, value in values.items():
        if isinstance(value, Mapping):
            if key not in document:
                document[key] = tomlkit.table()
            _merge(document[key], cast("Mapping[str, Any]", value))
        elif value is None:
            document.pop(key, None)
        else:
            document[key] = value
