"""An answer in pages: `next` of one is `start` of the following."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from app.engine.records import Hit, Query
from app.engine.search.finding import COUNTED, FEW, RANKED
from app.engine.search.index import MemoryIndex

ENTRIES = 500
BEGUN = datetime(2026, 6, 2, tzinfo=UTC)


def write(root: Path, entries: int = ENTRIES, *, answers: int = 0) -> None:
    """A session of `entries` messages, of which the first `answers` are the agent's."""
    path = root / "agents" / "bot" / "sessions" / "s-1.log.jsonl"
    path.parent.mkdir(parents=True)
    lines = [
        {
            "v": 1, "seq": n, "type": "message", "id": f"m-{n}",
            "role": "USER" if n > answers else "ASSISTANT",
            "timestamp": (BEGUN + timedelta(minutes=n)).isoformat(),
            "content": f"{n}: the C++ upload of batch {n * 7 % 100}" + " twice" * (n % 5),
        }
        for n in range(1, entries + 1)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")


async def paged(index: MemoryIndex, text: str, size: int, **more: Any) -> list[Hit]:
    hits: list[Hit] = []
    start = 0
    while True:
        page = await index.search(Query(text, limit=size, start=start, **more))
        assert len(page.hits) <= size
        hits += page.hits
        if not page.next:
            return hits
        assert page.next > start
        assert len(page.hits) == size, "only the last page may be shorter"
        start = page.next


@pytest.mark.parametrize("newest", [False, True])
@pytest.mark.parametrize(
    ("text", "mode"),
    [("upload", "auto"), ("uplo", "auto"), ("batch uploading", "natural"), ("C++", "words"),
     ("C++ upload", "literal")],
)  # fmt: skip
def test_pages_together_are_the_whole_answer(
    tmp_path: Path, text: str, mode: str, newest: bool
) -> None:
    write(tmp_path)

    async def main() -> None:
        index = MemoryIndex(tmp_path, zone=UTC)
        await index.open()
        await index.index_all_from_workspace()
        try:
            whole = await index.search(
                Query(text, mode=mode, limit=10_000, newest_first=newest)  # type: ignore[arg-type]
            )
            assert not whole.next
            pages = await paged(index, text, 70, mode=mode, newest_first=newest)
        finally:
            await index.close()
        assert len(whole.hits) == ENTRIES
        assert [hit.entry_id for hit in pages] == [hit.entry_id for hit in whole.hits]

    asyncio.run(main())


def test_lines_that_went_meanwhile_cost_no_hit_of_the_next_page(tmp_path: Path) -> None:
    write(tmp_path)
    path = next(tmp_path.rglob("*.log.jsonl"))

    async def main() -> None:
        index = MemoryIndex(tmp_path, zone=UTC)
        await index.open()
        await index.index_all_from_workspace()
        text = path.read_text("utf-8")
        path.write_text(text.replace("upload of batch 7", "parcel of batch 7"), "utf-8")
        try:
            found = await paged(index, "upload", 70, newest_first=True)
        finally:
            await index.close()
        left = [n for n in range(ENTRIES, 0, -1) if not str(n * 7 % 100).startswith("7")]
        assert [int(hit.entry_id[2:]) for hit in found] == left

    asyncio.run(main())


def test_pages_by_relevance_go_on_behind_what_was_put_in_order(tmp_path: Path) -> None:
    write(tmp_path, 2 * RANKED + 300, answers=RANKED)

    async def main() -> None:
        index = MemoryIndex(tmp_path, zone=UTC)
        await index.open()
        await index.index_all_from_workspace()
        try:
            for asked, first in (("upload", 1), ("upload role:user", RANKED + 1)):
                found = [int(hit.entry_id[2:]) for hit in await paged(index, asked, 170)]
                assert sorted(found) == list(range(first, 2 * RANKED + 301))
                assert min(found[:RANKED]) == RANKED + 301, "the newest are those put in order"
                assert found[:RANKED] != sorted(found[:RANKED], reverse=True)
                assert found[RANKED:] == sorted(found[RANKED:], reverse=True)
        finally:
            await index.close()

    asyncio.run(main())


def test_filters_of_a_word_of_every_line(tmp_path: Path) -> None:
    write(tmp_path, COUNTED + 400, answers=FEW + 100)

    async def main() -> None:
        index = MemoryIndex(tmp_path, zone=UTC)
        await index.open()
        await index.index_all_from_workspace()
        try:
            many = await index.search(Query("upload role:user"))
            assert (many.total, many.complete) == (COUNTED, False), "the newest ones are enough"
            old = await index.search(Query("upload role:assistant", limit=30))
            assert (old.total, old.complete) == (FEW + 100, True), "all of them are looked at"
            assert len(old.hits) == 30
            before = await index.search(Query("upload before:2026-06-03"))
            assert (before.total, before.complete) == (24 * 60 - 1, True)
        finally:
            await index.close()

    asyncio.run(main())


def test_filters_that_only_older_documents_pass(tmp_path: Path) -> None:
    write(tmp_path, COUNTED + RANKED + 100, answers=RANKED + 50)

    async def main() -> None:
        index = MemoryIndex(tmp_path, zone=UTC)
        await index.open()
        await index.index_all_from_workspace()
        try:
            old = await index.search(Query("upload role:assistant", limit=30))
            assert (old.total, old.complete) == (RANKED, False), "the newest of them are enough"
            found = await paged(index, "upload role:assistant", 170)
        finally:
            await index.close()
        assert sorted(int(hit.entry_id[2:]) for hit in found) == list(range(1, RANKED + 51))

    asyncio.run(main())
