"""What the window looks like at the next start: ids and sizes, never pixels of content.

A state file beside the caches: it may be deleted, and what cannot be read or no longer exists is
ignored. Another version is ignored as a whole.
"""

from __future__ import annotations

import json
import logging
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

log = logging.getLogger(__name__)
VERSION = 1


@dataclass
class LayoutState:
    """`kept` belongs to the panes, `own` too, of each workspace by its path; `theme` is the wish
    light, dark or system."""

    width: int = 1280
    height: int = 800
    maximized: bool = False
    place: str = "chat"
    session_id: str = ""
    sidebar: bool = True
    inspector: bool = True
    inspector_width: int = 332
    theme: str = "system"
    contrast: bool = False
    zoom: float = 1.0
    used: list[str] = field(default_factory=list)
    kept: dict[str, Any] = field(default_factory=dict)
    own: dict[str, Any] = field(default_factory=dict)


def load(path: Path) -> LayoutState:
    """What was saved, or the defaults; odd values fall back one by one."""
    state = LayoutState()
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return state
    if not isinstance(found, dict) or found.get("version") != VERSION:
        return state
    for name, default in asdict(state).items():
        value = found.get(name, default)
        fits = type(value) is type(default) or (
            isinstance(default, float) and isinstance(value, int | float)
        )
        if fits:
            setattr(state, name, value)
    state.zoom = min(max(float(state.zoom), 0.8), 2.0)
    return state


def save(path: Path, state: LayoutState) -> None:
    """Write it; a window that cannot remember its size is no failure for a person."""
    part = path.with_suffix(f".{os.getpid()}.part")  # another window may write, too
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(json.dumps({"version": VERSION, **asdict(state)}, indent=1), "utf-8")
        os.replace(part, path)
    except (OSError, TypeError, ValueError):
        log.warning("the layout could not be saved", exc_info=True)
