"""What can be shown before the engine is there: session titles and recent workspaces.

Read with nothing but the standard library, so that the first paint does not wait for imports. A
file that cannot be read gives an empty list; the engine tells more a moment later.
"""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from app import places
from app.engine.records import SessionInfo

SHOWN = 30


def session_titles(folder: Path) -> list[SessionInfo]:
    """The sessions of the stored index, newest first."""
    found: list[SessionInfo] = []
    for index in sorted(folder.glob("agents/*/sessions/sessions.json")):
        try:
            data = cast("dict[str, Any]", json.loads(index.read_text(encoding="utf-8")))
            rows = cast("dict[str, dict[str, Any]]", data["sessions"])
            found += [_info(key, row) for key, row in rows.items()]
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue
    found.sort(key=lambda one: one.last.timestamp() if one.last else 0.0, reverse=True)
    return found[:SHOWN]


def _info(session_id: str, row: dict[str, Any]) -> SessionInfo:
    when = datetime.fromisoformat(row["updatedAt"]) if row.get("updatedAt") else None
    title = str(row.get("summary") or session_id)
    return SessionInfo(session_id, title, when, when, 0, 0, 0)


def recent_names(current: Path) -> list[tuple[str, str]]:
    """(name, path) of workspaces opened before, without the current one."""
    try:
        names: object = json.loads((places.data_dir() / "recent.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    known = cast("list[Any]", names) if isinstance(names, list) else []
    paths = [Path(n) for n in known if isinstance(n, str)]
    return [(p.name, str(p)) for p in paths if p != current and p.is_dir()]
