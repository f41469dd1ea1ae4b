"""What the files answer without an index is what the index answers."""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from app.engine.records import Hit, Query, SearchResult
from app.engine.search.index import MemoryIndex
from tests.helpers.searching import NOW, put, said, talk

FLUSH = (
    "\n## Memory Flush — 2026-06-03T03:15:09+02:00\n"
    "<!-- palimpsest:flush run=r-1 session=s-1 from=u-1 to=a-1 origin=user -->\n"
)
ESCAPED = "\\<!-- palimpsest: a boat -->\n\\## Memory Flush — of boats\n"
NOTHING = ["nowhere", "oar after:2026-06-08", "oar before:2026-06-07"]
QUERIES = [
    "lamp", "LAMP", "lam*", '"old lamp"', "lamp -old", "lamp not:old", "lamp OR 灯塔", "灯", "l*",
    "lamp -o*", "C++ lamp", "C++", "lamp in:daily", "lamp -in:daily", "lamp in:memory,sessions",
    "lamp role:user", "lamp -role:user", "lamp tool:grep", "lamp -tool:grep", "has:tool lamp",
    "has:error lamp", "has:evicted lamp", "lamp session:b[1]*", "lamp session:b", "session:ab lamp",
    "lamp day:2026-06-02", "lamp before:2026-06-03", "lamp after:2026-06-03", "lamp day:2026-05",
    "lamp after:2026-06-02 before:2026-06-04", "in:daily", "role:tool", "day:2026-05 in:memory",
    "before:2026-06-01 -in:sessions", "has:evicted", "lamp in:evicted", "oar day:2026-06-07",
    "oar before:2026-06-08", "boat OR boats", *NOTHING,
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bit of everything."""
    root = tmp_path_factory.mktemp("both")
    call: dict[str, Any] = {"type": "tool_use", "name": "grep", "input": {"pattern": "lamp"}}
    result: dict[str, Any] = {"type": "tool_result", "name": "grep", "output": "the old lamp"}
    failed: dict[str, Any] = result | {"isError": True}
    talk(
        root, "ab", said(1, "an old lamp"), said(2, "a lamp", role="ASSISTANT"),
        said(3, "", **call), said(4, "", **result), said(5, "", **failed),
        said(6, "", **result | {"name": "Read"}), said(7, "a lamp in C++", day="2026-06-03"),
        {"type": "eviction", "target": "m-4", "timestamp": "2026-06-03T02:00:00Z"},
    )  # fmt: skip
    talk(root, "b[1]*", said(1, "a lamp", day="2026-06-05"), said(2, "灯塔 lamp"))
    talk(root, "b1x", said(1, "C# lamp"), said(2, "the lamps"))
    midnight = "2026-06-07T23:59:59.999+00:00"
    talk(root, "c", *(said(n, f"oar {n}", timestamp=midnight) for n in range(40)))
    put(root, "memory/2026-06-02.md", "- the old lamp\n- nothing\n")
    put(root, "memory/2026-06-03.md", f"- the boat\n{FLUSH}{ESCAPED}")
    put(root, "memory/2026-06-04.md", "- 灯塔\n- old\n- lamp\n")
    memory = put(root, "MEMORY.md", "# Lamp\n- the lamp is old, ladder\n")
    piece = put(root, "large_tool_results/bot/c-0123456789abcdef", "an old lamp\nand more\n")
    for file in (memory, piece):
        os.utime(file, (1_777_636_800, 1_777_636_800))  # 2026-05-01
    return root


def answers(root: Path, index: Path, *, whole: bool) -> dict[str, SearchResult]:
    async def main() -> dict[str, SearchResult]:
        one = MemoryIndex(root, index, zone=UTC, clock=lambda: NOW)
        await one.open()
        try:
            if whole:
                await one.index_all_from_workspace()
            return {text: await one.search(Query(text, limit=100)) for text in QUERIES}
        finally:
            await one.close()

    return asyncio.run(main())


def test_each_query_has_the_same_hits_with_and_without_an_index(
    folder: Path, tmp_path: Path
) -> None:
    broken = put(tmp_path, "broken.db", "no database at all\n" * 100)
    with_one = answers(folder, tmp_path / "index.db", whole=True)
    without = answers(folder, broken, whole=False)
    for text in QUERIES:
        found, read = with_one[text], without[text]
        assert "files were read instead" in read.reason
        places = sorted(map(place, found.hits))
        assert sorted(map(place, read.hits)) == places, text
        assert (read.total, read.mode) == (found.total, found.mode), text
        assert bool(places) == (text not in NOTHING), text


def test_the_lines_of_a_flush_have_its_time(folder: Path, tmp_path: Path) -> None:
    hits = answers(folder, tmp_path / "index.db", whole=True)["boat OR boats"].hits
    told = datetime(2026, 6, 3, 1, 15, 9, tzinfo=UTC)
    assert {hit.line: (hit.when, hit.text) for hit in hits} == {
        1: (datetime(2026, 6, 3, tzinfo=UTC), "- the boat"),
        5: (told, "<!-- palimpsest: a boat -->"), 6: (told, "## Memory Flush — of boats"),
    }  # fmt: skip


def place(hit: Hit) -> tuple[object, ...]:
    return hit.path, hit.line, hit.when, hit.spans
