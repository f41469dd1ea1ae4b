"""A workspace written by hand, and its index opened for a test."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from app.engine.records import Query, SearchResult
from app.engine.search.index import MemoryIndex

NOW = datetime(2026, 9, 16, 12, tzinfo=UTC)


def put(root: Path, path: str, text: str) -> Path:
    """One file of the workspace."""
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8", newline="")
    return file


def said(number: int, text: str, day: str = "2026-06-02", **more: Any) -> dict[str, Any]:
    """A user's message as an entry of a session log; entry `number` is said at second `number`."""
    return {
        "v": 1, "seq": number, "type": "message", "id": f"m-{number}", "role": "USER",
        "timestamp": f"{day}T01:{number // 60:02}:{number % 60:02}+00:00", "content": text,
    } | more  # fmt: skip


def talk(root: Path, session: str, *entries: dict[str, Any] | str) -> Path:
    """A session log of these entries; of a text, as a line that it is."""
    lines = (e if isinstance(e, str) else json.dumps(e, ensure_ascii=False) for e in entries)
    log = "".join(f"{line}\n" for line in lines)
    return put(root, f"agents/bot/sessions/{session}.log.jsonl", log)


def with_index(
    root: Path,
    work: Callable[[MemoryIndex], Awaitable[None]],
    *,
    whole: bool = True,
    clock: Callable[[], datetime] = lambda: NOW,
) -> None:
    """Do `work` with the index of `root`, brought up to date unless `whole` is False."""

    async def main() -> None:
        index = MemoryIndex(root, zone=UTC, clock=clock)
        await index.open()
        try:
            if whole:
                await index.index_all_from_workspace()
            await work(index)
        finally:
            await index.close()

    asyncio.run(asyncio.wait_for(main(), 60))


async def texts(index: MemoryIndex, text: str, **more: Any) -> list[str]:
    """The texts of the hits; `more` goes into the query."""
    return [hit.text for hit in (await index.search(Query(text, **more))).hits]


def sliced(result: SearchResult) -> list[list[str]]:
    """What is marked in each hit."""
    return [[hit.text[span.start : span.end] for span in hit.spans] for hit in result.hits]
