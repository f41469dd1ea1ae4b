"""Where the program's own read-only files lie: prompts, vocabulary, icons, help.

The invariant: a name is a path below `resources/`, with forward slashes, and never leaves it. In a
frozen program the folder sits beside the code that was unpacked; otherwise beside the package.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from pathlib import Path


def _root() -> Path:
    unpacked = getattr(sys, "_MEIPASS", None)
    base = Path(unpacked) if unpacked else Path(__file__).resolve().parent.parent
    return base / "resources"


def resource(name: str) -> Path:
    """The place of one resource, `prompts/x.md` for example. It need not exist."""
    parts = name.split("/")
    if ".." in parts or name.startswith("/"):
        raise ValueError(f"{name!r} is not the name of a resource")
    return _root().joinpath(*parts)


@lru_cache(maxsize=128)
def read_resource(name: str) -> str:
    """The text of one resource, read once. Raises `FileNotFoundError` when there is none."""
    return resource(name).read_text(encoding="utf-8")
