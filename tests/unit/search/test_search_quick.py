"""The first answer while one types: the newest hits, and nothing that would take longer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import UTC
from pathlib import Path

from app.engine.records import Query
from app.engine.search.index import MemoryIndex
from tests.helpers.searching import put, with_index

ENTRIES = 300


def write(root: Path) -> None:
    path = root / "agents" / "bot" / "sessions" / "s-1.log.jsonl"
    path.parent.mkdir(parents=True)
    lines = [
        {
            "v": 1, "seq": n, "type": "message", "id": f"m-{n}", "role": "USER",
            "timestamp": f"2026-06-02T{n // 60:02}:{n % 60:02}:00+00:00",
            "content": f"{n}: the C++ upload" + " upload" * (n == 3) + " and a bill" * (n % 2),
        }
        for n in range(1, ENTRIES + 1)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")


def asking(root: Path, main: Callable[[MemoryIndex], Awaitable[None]]) -> None:
    async def run() -> None:
        index = MemoryIndex(root, zone=UTC)
        await index.open()
        await index.index_all_from_workspace()
        try:
            await main(index)
        finally:
            await index.close()

    write(root)
    asyncio.run(run())


def test_the_newest_hits_come_with_the_ways_of_the_whole_answer(tmp_path: Path) -> None:
    async def main(index: MemoryIndex) -> None:
        for text in ("upload", "uplo", "uploading", "C++", "upload bill", '"a bill"'):
            quick = await index.search(Query(text, limit=20, quick=True))
            whole = await index.search(Query(text, limit=20, newest_first=True))
            assert quick.hits == whole.hits, text
            assert quick.mode == whole.mode
            assert quick.next == whole.next
            assert (quick.total, quick.counts) == (20, {"sessions": 20})
            assert not quick.complete
            assert whole.total > 100

    asking(tmp_path, main)


def test_what_fits_into_the_first_answer_is_counted(tmp_path: Path) -> None:
    async def main(index: MemoryIndex) -> None:
        quick = await index.search(Query("upload after:2026-06-02 session:s-1", quick=True))
        assert (quick.total, quick.complete) == (200, False)
        quick = await index.search(Query("7", mode="words", quick=True))
        assert (quick.total, quick.complete, quick.next) == (1, True, 0)

    asking(tmp_path, main)


def test_a_first_answer_never_reads_the_files_to_find_nothing(tmp_path: Path) -> None:
    async def main(index: MemoryIndex) -> None:
        path = next(tmp_path.rglob("*.log.jsonl"))
        with path.open("a", encoding="utf-8") as log:  # not indexed: only reading would find it
            log.write(json.dumps({
                "v": 1, "type": "message", "id": "m-x", "role": "USER", "content": "a zebra",
                "timestamp": "2026-06-02T23:00:00+00:00",
            }) + "\n")  # fmt: skip
        quick = await index.search(Query("zebra", quick=True))
        assert (quick.hits, quick.reason, quick.nearest, quick.complete) == ((), "", (), False)
        assert not (await index.search(Query("upload", mode="literal", quick=True))).hits
        assert (await index.search(Query("zebra"))).total == 1

    asking(tmp_path, main)


def test_a_single_letter_begins_words_of_the_newest_texts(tmp_path: Path) -> None:
    async def main(index: MemoryIndex) -> None:
        for text, count in (("u*", 300), ("b* u*", 150), ('"and a b"*', 150), ("u* -b*", 150)):
            for quick in (False, True):
                found = await index.search(Query(text, limit=400, quick=quick))
                assert (found.total, found.mode) == (count, "words"), text
        first = (await index.search(Query("b*", limit=1))).hits[0]
        assert [first.text[s.start : s.end] for s in first.spans] == ["bill"]
        assert "leave out" not in (await index.search(Query("q* role:tool"))).reason

    asking(tmp_path, main)


def test_of_several_words_the_last_is_a_beginning_before_any_of_them_will_do(
    tmp_path: Path,
) -> None:
    put(tmp_path, "MEMORY.md", "- the red bicycle\n- a red door\n- a bicycled road\n- bicycles\n")

    async def work(index: MemoryIndex) -> None:
        typed = await index.search(Query("red bicy"))
        assert (typed.mode, [hit.line for hit in typed.hits]) == ("words", [1])
        one = await index.search(Query("bicycles"))
        assert (one.mode, [hit.line for hit in one.hits]) == ("words", [4])
        form = await index.search(Query("doors"))
        assert (form.mode, [hit.line for hit in form.hits]) == ("natural", [2])

    with_index(tmp_path, work)
