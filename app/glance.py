"""What can be shown before the engine is there: session titles and recent workspaces.

Read with nothing but the standard library, so that the first paint does not wait for imports. A
file that cannot be read gives an empty list; the engine tells more a moment later.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple, cast

from app import places

SHOWN = 30


class Title(NamedTuple):
    """One session as the sidebar's list needs it."""

    id: str
    title: str


def session_titles(folder: Path) -> list[Title]:
    """The sessions of the stored index, newest first."""
    found: list[tuple[float, Title]] = []
    for index in sorted(folder.glob("agents/*/sessions/sessions.json")):
        try:
            data = cast("dict[str, Any]", json.loads(index.read_text(encoding="utf-8")))
            rows = cast("dict[str, dict[str, Any]]", data["sessions"])
            found += [_info(key, row) for key, row in rows.items()]
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue
    found.sort(key=lambda one: one[0], reverse=True)
    return [title for _, title in found[:SHOWN]]


def _info(session_id: str, row: dict[str, Any]) -> tuple[float, Title]:
    """When it was last written (seconds, 0 when not told), and what to show."""
    from datetime import datetime

    when = datetime.fromisoformat(row["updatedAt"]).timestamp() if row.get("updatedAt") else 0.0
    return when, Title(session_id, str(row.get("summary") or session_id))


def recent_names(current: Path) -> list[tuple[str, str]]:
    """(name, path) of workspaces opened before, without the current one."""
    try:
        names: object = json.loads((places.data_dir() / "recent.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    known = cast("list[Any]", names) if isinstance(names, list) else []
    paths = [Path(n) for n in known if isinstance(n, str)]
    return [(p.name, str(p)) for p in paths if p != current and p.is_dir()]
