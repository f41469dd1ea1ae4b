"""The tools this engine gives a model itself, over the services of one workspace."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from app.engine.agent.file_tools import FileTools, file_tools
from app.engine.agent.memory_tools import memory_tools
from app.engine.agent.session_tools import session_tools
from app.engine.agent.tools import Tool
from app.engine.config import EngineConfig
from app.engine.errors import UserError
from app.engine.memory.saving import Saved
from app.engine.records import Query, SearchResult, SessionInfo, TranscriptItem
from app.engine.session.evicted import bring_back
from app.engine.session.store import SessionStore
from app.engine.workspace.evictions import Evictions
from app.engine.workspace.layout import Layout


class Services(Protocol):
    """What the tools need of a workspace's services (`Rooms` has it)."""

    layout: Layout
    config: EngineConfig
    store: SessionStore
    evictions: Evictions

    async def search(self, query: Query) -> SearchResult: ...
    async def save(self, content: str, *, by_person: bool) -> Saved: ...
    async def list_sessions(self, agent: str) -> list[SessionInfo]: ...
    async def newest_items(
        self, session_id: str, limit: int, agent: str
    ) -> list[TranscriptItem]: ...
    def reindex_now(self, path: str) -> None: ...


def own_tools(rooms: Services) -> list[Tool]:
    """Memory, session and file tools, as far as the configuration switches them on."""

    async def save(content: str) -> str:
        saved = await rooms.save(content, by_person=False)
        noun = "fact" if saved.count == 1 else "facts"
        if saved.version is not None:
            return f"Saved {saved.count} {noun} to MEMORY.md and today's log."
        return (
            f"Saved {saved.count} {noun} to today's log; "
            "a proposal for MEMORY.md waits for the person's review."
        )

    def written(path: Path) -> None:
        rooms.reindex_now(rooms.layout.relative(path))

    def missing(path: str) -> bool:
        """A result that was put aside and is gone: written anew from the log. Blocks."""
        try:
            if rooms.evictions.path_of(path).exists():
                return False
            return bring_back(rooms.store, rooms.evictions, path)
        except (UserError, OSError):
            return False  # no result of ours, or it cannot be written: the tool says it is missing

    switches = rooms.config.agent
    made: list[Tool] = []
    if switches.memory_tools:
        made += memory_tools(rooms.layout, rooms.search, save)
        made += session_tools(rooms.search, rooms.list_sessions, rooms.newest_items)
    if switches.file_tools:
        limit = rooms.config.eviction.max_result_chars
        page = max(1_000, min(40_000, limit - 1_000))
        made += file_tools(FileTools(rooms.layout, page, written, missing))
    return made
