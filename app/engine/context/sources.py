"""Reading what is injected: AGENTS.md, MEMORY.md, knowledge, further files.

Read anew for each request, so that an edit made between two requests is seen (INJ-9), and always in
a thread (INJ-6). Invariant: a file that cannot be read becomes a problem to tell, never an empty
text that looks like a blank file. Specification, section 11.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

from app.engine.context.injection import Sources
from app.engine.errors import PathRefused, Unreadable
from app.engine.workspace.confine import readable
from app.engine.workspace.files import read_text
from app.engine.workspace.layout import Layout
from app.engine.workspace.memory_file import MemoryWriter

KNOWLEDGE_PATHS = 1_000
NO_AGENTS = "There is no AGENTS.md in this workspace."  # section 2: a missing one only warns


def remedy_for(problem: str) -> str:
    """What a person can do about one of the problems of `Sources`."""
    if problem == NO_AGENTS:
        return "The agent works without it; write one in the settings to say who it is."
    return Unreadable.remedy


async def load_sources(
    layout: Layout, writer: MemoryWriter, additional: Sequence[str] = ()
) -> Sources:
    """The files as they are now, read off the caller's thread. Never raises for a bad file."""
    return await asyncio.to_thread(read_sources, layout, writer, additional)


def read_sources(layout: Layout, writer: MemoryWriter, additional: Sequence[str] = ()) -> Sources:
    """As `load_sources`, on this thread."""
    problems: list[str] = []
    memory = writer.read()
    pinned: tuple[int, ...] = ()
    if memory.state == "unreadable":
        problems.append(memory.problem)
    else:
        try:
            pinned = writer.pinned_lines(memory.text)
        except Unreadable as error:
            problems.append(str(error))
    agents = _text(layout, "AGENTS.md", problems)
    if agents is None:
        problems.append(NO_AGENTS)
    extras = [(path, _text(layout, path, problems)) for path in additional]
    return Sources(
        agents=agents or "",
        memory=memory.text,
        pinned=pinned,
        knowledge=_text(layout, "knowledge/KNOWLEDGE.md", problems) or "",
        knowledge_paths=tuple(_knowledge_paths(layout)),
        extras=tuple((path, text) for path, text in extras if text),
        problems=tuple(problems),
    )


def _text(layout: Layout, name: str, problems: list[str]) -> str | None:
    if not os.path.lexists(layout.root / name):
        return None
    try:
        file = read_text(readable(layout.root, name))
    except (Unreadable, PathRefused) as error:
        problems.append(f"{name} is not used: {error}")
        return ""
    return file.text if file is not None else None


def _knowledge_paths(layout: Layout) -> list[str]:
    """The other files of `knowledge/`, as the workspace names them, in order."""
    found: list[str] = []
    for folder, folders, names in os.walk(layout.knowledge_dir):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(folder) / name
            if name.startswith(".") or path == layout.knowledge:
                continue
            found.append(path.relative_to(layout.root).as_posix())
            if len(found) >= KNOWLEDGE_PATHS:
                return found
    return found
