"""Files as nobody would write them, an index damaged anywhere: all else that there is is found."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from datetime import timedelta, timezone
from pathlib import Path

import pytest

from app.engine.errors import StorageError
from app.engine.records import Query
from app.engine.search import preparing
from app.engine.search.index import MemoryIndex
from tests.helpers.searching import put, said, talk, with_index


async def texts(index: MemoryIndex, text: str) -> list[str]:
    """The texts of the hits, as the index itself knows them."""
    return [hit.text for hit in (await index.search(Query(text, mode="words"))).hits]


def test_one_strange_line_leaves_the_others_where_they_are(tmp_path: Path) -> None:
    log = talk(
        tmp_path, "s-1", said(1, "kayak one"), said(3, "kayak three"),
        said(4, "kayak at the end of time", timestamp="9999-12-31T23:59:59.999999Z"),
        said(5, "kayak without an id", id=""),
    )  # fmt: skip
    strange = (
        f'{{"type":"message","id":"m-6","content":{"[" * 5_000}"kayak"{"]" * 5_000}}}',
        '{"type":"eviction","target":"\\ud800"}',
        '{"type":"mark","targets":["", "\\ud800", "m-1\\nm-3"],"deleted":true}',
    )
    log.write_text("\n".join(strange) + "\n" + log.read_text("utf-8"), "utf-8")
    put(tmp_path, "memory/2026-06-02.md", "- kayak four\n- a \x00 within, kayak five\n")

    async def work(index: MemoryIndex) -> None:
        await index.index_from_string("memory/notes.md", "- kayak \x00 six\n")
        found = await texts(index, "kayak")
        assert sorted(found) == [
            "- a   within, kayak five", "- kayak   six", "- kayak four",
            "kayak at the end of time", "kayak one", "kayak three", "kayak without an id",
        ]  # fmt: skip

    with_index(tmp_path, work)


@pytest.mark.parametrize("hours", [-12, 14])
def test_the_ends_of_the_calendar_are_moments_like_others(tmp_path: Path, hours: int) -> None:
    ends = ("9999-12-31T23:59:59.999999Z", "0001-01-01T00:00:00Z")
    entries = [said(n, f"kayak {n}", timestamp=end) for n, end in enumerate(ends)]
    talk(tmp_path, "s-1", *entries, said(2, "kayak 2", timestamp=253_402_300_799.9))
    note = put(tmp_path, "memory/note.md", "- kayak of a far day\n")
    os.utime(note, (9e11, 9e11))  # some disks keep such a time
    zone = timezone(timedelta(hours=hours))

    async def main() -> None:
        index = MemoryIndex(tmp_path, zone=zone)
        await index.open()
        for _ in ("without an index", "with one"):
            found = await index.search(Query("Which kayak was it in May?", mode="natural"))
            assert len(found.hits) == 4
            assert all(hit.when and hit.when.astimezone(zone) for hit in found.hits)
            await index.index_all_from_workspace()
        await index.close()

    put(tmp_path, ".palimpsest/index.db", "this is no database\n" * 100)
    asyncio.run(main())


@pytest.mark.parametrize("kind", ["a pipe", "a link out of the workspace"])
def test_what_takes_a_files_place_is_not_read(tmp_path: Path, kind: str) -> None:
    root = tmp_path / "ws"
    file = put(root, "memory/2026-06-01.md", "- kayak\n")
    put(root, "MEMORY.md", "- another kayak\n")
    outside = put(tmp_path, "outside.md", "- kayak\n")

    async def work(index: MemoryIndex) -> None:
        file.unlink()
        if kind == "a pipe":
            os.mkfifo(file)
        else:
            file.symlink_to(outside)
        async with asyncio.timeout(20):
            assert await texts(index, "kayak") == ["- another kayak"]
            assert await index.update(file)
            assert (await index.search(Query("kayak"))).total == 1

    with_index(root, work)


@pytest.mark.parametrize(
    "path", ["memory/2026-06-01.md", "large_tool_results/bot/c-0123456789abcdef"]
)
def test_a_line_without_end_is_found_in_parts(tmp_path: Path, path: str) -> None:
    secret = "sk-" + "a1B2" * 12
    filler = "数据 lorem ipsum. " * 2_000
    around = [f"{filler[: len(filler) - 10 - n]} {secret} " for n in range(0, 80, 7)]
    text = f"- begin kayak {filler}{'.'.join(around)} canoe at the end\nnext kayak\n"
    text += "，" * 6_664 + secret + "，" * 4_000 + "\n"
    put(tmp_path, path, text)

    async def work(index: MemoryIndex) -> None:
        for query, line in (("begin kayak", 1), ("canoe", 1), ('"next kayak"', 2)):
            (hit,) = (await index.search(Query(query, mode="words"))).hits
            assert hit.line == line
        hits = (await index.search(Query("lorem", mode="words", limit=1_000), width=None)).hits
        assert max(len(hit.text) for hit in hits) <= 20_000
        everything = (await index.search(Query("-in:memory", limit=1_000), width=None)).hits
        assert sum(hit.text.count("lorem") for hit in everything) == text.count("lorem")
        assert not any("B2a1B2" in hit.text for hit in everything)

    with_index(tmp_path, work)


def test_a_file_that_sets_off_what_nobody_foresaw_keeps_no_other_from_being_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "memory/2026-06-01.md", "- kayak one\n")
    put(tmp_path, "memory/2026-06-02.md", "- kayak two, set off\n")
    put(tmp_path, "memory/2026-06-03.md", "- kayak three\n")
    cut = preparing.index_text

    def strange(text: str) -> tuple[bytes, int]:
        if "set off" in text:
            raise ArithmeticError(text)
        return cut(text)

    async def work(index: MemoryIndex) -> None:
        assert sorted(await texts(index, "kayak")) == ["- kayak one", "- kayak three"]
        nowhere = (await index.search(Query("nowhere"))).reason
        assert "1 file is not indexed" in nowhere
        monkeypatch.setattr(preparing, "index_text", cut)
        await index.update(put(tmp_path, "memory/2026-06-02.md", "- kayak two, mended\n"))
        assert len(await texts(index, "kayak")) == 3

    monkeypatch.setattr(preparing, "index_text", strange)
    with_index(tmp_path, work)


def test_whatever_page_of_the_index_is_damaged_it_opens_and_the_files_answer(
    tmp_path: Path,
) -> None:
    put(tmp_path, "MEMORY.md", "- apple pie\n")
    put(tmp_path, "memory/2026-06-01.md", "- apple tart\n")
    database = tmp_path / ".palimpsest/index.db"

    async def nothing(index: MemoryIndex) -> None:
        assert await index.sound()

    async def work(index: MemoryIndex) -> None:
        assert len(await texts(index, "apple")) == 2
        await index.tools()
        assert (await index.check()).state in ("ready", "unavailable")
        with suppress(StorageError):
            await index.remove("memory/2026-06-02.md")
        with suppress(StorageError):
            await index.update("MEMORY.md")
        assert len(await texts(index, "apple")) == 2
        await index.index_all_from_workspace(rebuild=True)
        assert await index.sound()
        result = await index.search(Query("apple"))
        assert (result.total, result.reason) == (2, "")

    with_index(tmp_path, nothing)
    whole = database.read_bytes()
    for at in range(0, len(whole), 4096):
        database.write_bytes(whole[:at] + b"\xa5" * 4096 + whole[at + 4096 :])
        with_index(tmp_path, work, whole=False)
