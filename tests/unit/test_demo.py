"""The demo's days stand before today, in the files themselves, too."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

from app import demo
from app.engine.records import Query
from app.engine.search.index import MemoryIndex

NOW = datetime(2026, 11, 30, 9, tzinfo=UTC)


def test_an_evicted_result_is_as_old_as_its_eviction(tmp_path: Path) -> None:
    folder = tmp_path / "Greenhouse"

    async def work() -> None:
        await demo.build(folder, NOW)
        index = MemoryIndex(folder, zone=UTC, clock=lambda: NOW)
        await index.open()
        try:
            await index.index_all_from_workspace()
            put_aside = (await index.search(Query("drift in:evicted"))).hits
            (told, *_) = (await index.search(Query("has:evicted in:sessions"))).hits
        finally:
            await index.close()
        assert told.when is not None
        for hit in put_aside:
            assert hit.when is not None
            assert abs(hit.when - told.when) < timedelta(minutes=1)
        assert put_aside
        assert told.when < NOW - timedelta(days=1)

    asyncio.run(work())
