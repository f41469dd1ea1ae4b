"""Paths given by people and models: inside the workspace, regular files, links by stated rule.

The rule: a path is relative, with `/`, without `..`; a link may be followed as long as its target
stays in the allowed areas; what is read is a regular file. A refusal never names a place outside
the workspace (specification, sections 2, 14; cases B82, B84, SES-11).
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from pathlib import Path

from app.engine.errors import PathRefused

MEMORY_AREAS = ("MEMORY.md", "memory/")
MISSING = "There is no such file, or nothing is in it."
MAX_PATH = 4_096
MAX_NAME = 255
_DRIVE = re.compile(r"[A-Za-z]:")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def inside(root: Path, text_path: str, *, areas: Sequence[str] = ()) -> Path:
    """The real path that `text_path` means, links followed; it need not exist.

    `areas` narrows it: a name ending in `/` allows what is in that folder, any other name that
    file alone. Without areas everything but `.palimpsest/` is allowed. Raises `PathRefused`.
    """
    _check_words(text_path)
    home = os.path.realpath(root)
    real = os.path.realpath(os.path.join(home, text_path))
    if real != home and not real.startswith(home.rstrip(os.sep) + os.sep):
        raise PathRefused("That path leaves the workspace.")
    relative = os.path.relpath(real, home).replace(os.sep, "/")
    if not _allowed(relative, areas):
        raise PathRefused("That path is not open to this.", "Use a path from the list.")
    return Path(real)


def readable(root: Path, text_path: str, *, areas: Sequence[str] = ()) -> Path:
    """As `inside`, and there is a regular file. A missing one raises `PathRefused` too."""
    path = inside(root, text_path, areas=areas)
    try:
        mode = path.stat().st_mode
    except OSError:
        raise PathRefused(MISSING, "Check the path.") from None
    if not stat.S_ISREG(mode):
        raise PathRefused("That path is not a regular file.", "Name a file.")
    return path


def same_file(one: Path, other: Path) -> bool:
    """Whether both names are one file: equal, a link, or a hard link (cases B25, B84)."""
    try:
        return os.path.samefile(one, other)
    except OSError:
        return os.path.realpath(one) == os.path.realpath(other)


def write_target(root: Path, path: Path) -> Path:
    """Where a write to the engine's own `path` goes: a link's target, while it is in `root`.

    The link itself stays. Raises `PathRefused` when the target leaves the workspace.
    """
    home = os.path.realpath(root)
    real = os.path.realpath(path)
    if not real.startswith(home.rstrip(os.sep) + os.sep):
        raise PathRefused(
            f"{path.name} is a link that leaves the workspace.",
            "Replace the link by a file, or by a link inside the workspace.",
        )
    if os.path.islink(real):  # realpath gives up on a circle of links
        raise PathRefused(f"{path.name} is a link to itself.", "Replace the link by a file.")
    return Path(real)


def _check_words(text: str) -> None:
    """Refuse what no path of a workspace looks like, before the disk is touched."""
    if not text.strip():
        raise PathRefused("No path was given.", "Name a file.")
    if "\0" in text or len(text) > MAX_PATH:
        raise PathRefused("That is not a path.", "Name a file.")
    try:
        names = [os.fsencode(name) for name in re.split(r"[/\\]", text)]
    except UnicodeEncodeError:
        raise PathRefused("That is not a path.", "Name a file.") from None
    if any(len(name) > MAX_NAME for name in names):
        raise PathRefused("That name is too long.", "Name a file.")
    if text.startswith(("/", "\\")) or _DRIVE.match(text) or _SCHEME.match(text):
        raise PathRefused("Only paths relative to the workspace are used.")
    if any(name.strip() == b".." for name in names):
        raise PathRefused("That path leaves the workspace.")
    if "\\" in text:
        raise PathRefused("Paths are written with /.", "Write the path with / between its parts.")


def _allowed(relative: str, areas: Sequence[str]) -> bool:
    if not areas:
        return relative != ".palimpsest" and not relative.startswith(".palimpsest/")
    return any(
        relative.startswith(area) if area.endswith("/") else relative == area for area in areas
    )
