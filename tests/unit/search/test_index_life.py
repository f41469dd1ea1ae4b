"""The life of an index: it follows its files, is built anew, and what harms it harms no answer."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest

from app.engine.records import Query
from app.engine.search.index import MemoryIndex
from tests.helpers.searching import put, said, sliced, talk, texts, with_index


@pytest.mark.case("IDX-3")
def test_one_path_indexed_again_and_one_removed(tmp_path: Path) -> None:
    put(tmp_path, "memory/2026-06-01.md", "- apple pear\n")
    other = put(tmp_path, "memory/2026-06-02.md", "- apple plum\n")

    async def work(index: MemoryIndex) -> None:
        put(tmp_path, "memory/2026-06-01.md", "- apple cherry\n")
        assert await index.update("memory/2026-06-01.md")
        assert not await index.update("memory/2026-06-01.md")
        assert sorted(await texts(index, "apple")) == ["- apple cherry", "- apple plum"]
        assert not await texts(index, "pear")
        other.unlink()
        assert await index.update(other)
        assert await texts(index, "apple") == ["- apple cherry"]
        assert await index.remove("memory/2026-06-01.md")
        assert not (await index.search(Query("apple", mode="words"))).hits

    with_index(tmp_path, work)


@pytest.mark.case("IDX-5")
def test_without_an_index_the_files_answer(tmp_path: Path) -> None:
    put(tmp_path, "MEMORY.md", "- apple pie\n- 项目评审会议\n")
    put(tmp_path, ".palimpsest/index.db", "this is no database, whatever its name says\n" * 50)

    async def work(index: MemoryIndex) -> None:
        assert index.state.state == "unavailable"
        for query, found in (("apple", "apple"), ("评审", "评审"), ("what about apples?", "apple")):
            result = await index.search(Query(query))
            assert sliced(result) == [[found]]
            assert "files were read instead" in result.reason
        assert not await index.update("MEMORY.md")

    with_index(tmp_path, work, whole=False)


@pytest.mark.case("B33")
def test_no_phantoms_after_a_restart(tmp_path: Path) -> None:
    for n in range(10):
        put(tmp_path, f"memory/2026-06-{n + 1:02}.md", f"- apple number {n}\n")

    async def nothing(index: MemoryIndex) -> None:
        assert len(await texts(index, "apple")) == 10

    async def before(index: MemoryIndex) -> None:
        result = await index.search(Query("apple"))
        assert len(result.hits) == 6
        assert all((tmp_path / hit.path).exists() for hit in result.hits)
        gone = await index.search(Query('"number 1"', mode="words"))
        assert "gone from the files" in gone.reason
        assert gone.causes == {"gone"}
        assert (await index.check()).state == "stale"
        await index.index_all_from_workspace()
        result = await index.search(Query("apple"))
        assert result.total == 7
        for hit in result.hits:
            line = (tmp_path / hit.path).read_text("utf-8").split("\n")[hit.line - 1]
            assert line == hit.text
        assert (await index.check()).state == "ready"

    with_index(tmp_path, nothing)
    for n in (1, 4, 7):
        (tmp_path / f"memory/2026-06-{n + 1:02}.md").unlink()
    (tmp_path / "memory/2026-06-10.md").rename(tmp_path / "memory/2026-07-10.md")
    with_index(tmp_path, before, whole=False)


@pytest.mark.case("B34")
@pytest.mark.parametrize("kind", ["killed in a rebuild", "older schema", "empty meta"])
def test_a_half_built_index_locks_nothing_out(tmp_path: Path, kind: str) -> None:
    put(tmp_path, "MEMORY.md", "- apple pie\n")

    async def nothing(index: MemoryIndex) -> None:
        assert await texts(index, "apple")

    async def work(index: MemoryIndex) -> None:
        result = await index.search(Query("apple"))
        assert len(result.hits) == 1
        if kind == "killed in a rebuild":
            assert not result.reason
            assert not list((tmp_path / ".palimpsest").glob("*.building*"))
            return
        assert "built anew" in result.reason
        seen: list[str] = []
        await index.index_all_from_workspace(lambda *_: seen.append(index.state.state))
        assert seen[0] == "building"
        assert index.state.state == "ready"
        assert not (await index.search(Query("apple"))).reason
        assert not list((tmp_path / ".palimpsest").glob("*.building*"))

    with_index(tmp_path, nothing)
    database = tmp_path / ".palimpsest/index.db"
    if kind == "killed in a rebuild":
        for suffix in ("", "-wal", "-shm"):
            put(tmp_path, f".palimpsest/index.db.building{suffix}", "half")
    else:
        connection = sqlite3.connect(database)
        change = "UPDATE meta SET value='0'" if kind == "older schema" else "DELETE FROM meta"
        connection.execute(change)
        connection.commit()
        connection.close()
    with_index(tmp_path, work, whole=False)


def test_a_rebuild_goes_on_beside_the_index_in_use(tmp_path: Path) -> None:
    for n in range(30):
        put(tmp_path, f"memory/2026-06-{n + 1:02}.md", f"- apple {n}\n")

    async def work(index: MemoryIndex) -> None:
        building = asyncio.ensure_future(index.index_all_from_workspace(rebuild=True))
        counts: list[int] = []
        while not building.done():
            counts.append((await index.search(Query("apple", limit=50))).total)
        assert set(counts) == {30}
        assert (await building).rebuilt
        assert (await index.search(Query("apple", limit=50))).total == 30

    with_index(tmp_path, work)


def test_a_log_replaced_cut_or_edited_is_seen(tmp_path: Path) -> None:
    path = talk(tmp_path, "s-1", said(1, "apple"), said(2, "pear"))

    async def work(index: MemoryIndex) -> None:
        talk(tmp_path, "s-1", said(1, "apple"))
        await index.update(path)
        assert not await texts(index, "pear")
        talk(tmp_path, "s-1", said(1, "grape"), said(2, "cherry"), said(3, "plum"))
        await index.update(path)
        assert not await texts(index, "apple")
        assert await texts(index, "plum", mode="words") == ["plum"]
        assert await texts(index, "grape", mode="words") == ["grape"]
        before = path.stat()
        talk(tmp_path, "s-1", said(1, "grape"), said(2, "cherry"), said(3, "kiwi"))
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert path.stat().st_size == before.st_size
        await index.update(path)
        assert await texts(index, "kiwi", mode="words") == ["kiwi"]

    with_index(tmp_path, work)


def test_an_index_damaged_while_in_use_is_built_anew(tmp_path: Path) -> None:
    put(tmp_path, "MEMORY.md", "- apple pie\n")
    talk(tmp_path, "s-1", *(said(n, f"apple {n} {'word ' * 30}") for n in range(200)))
    database = tmp_path / ".palimpsest/index.db"

    async def nothing(index: MemoryIndex) -> None:
        assert await index.sound()

    async def work(index: MemoryIndex) -> None:
        result = await index.search(Query("apple in:memory"))
        assert [hit.text for hit in result.hits] == ["- apple pie"]
        await index.index_all_from_workspace(rebuild=True)
        assert index.state.state == "ready"
        assert await index.sound()
        result = await index.search(Query("apple", limit=500))
        assert (result.total, result.reason) == (201, "")

    with_index(tmp_path, nothing)
    data = bytearray(database.read_bytes())
    data[4096 * 4 :] = b"\xa5" * (len(data) - 4096 * 4)
    database.write_bytes(data)
    with_index(tmp_path, work, whole=False)


def harmed(database: Path, harm: str) -> None:
    """Do to a file what another program may, while this one has it open."""
    if harm == "junk":
        with database.open("r+b") as file:
            file.write(b"\xa5" * database.stat().st_size)
    else:
        os.truncate(database, 4096 if harm == "cut short" else 0)


@pytest.mark.parametrize("harm", ["junk", "cut short", "emptied"])
def test_an_index_harmed_under_an_open_program_ends_nothing_and_is_told(
    tmp_path: Path, harm: str
) -> None:
    put(tmp_path, "MEMORY.md", "- apple pie\n")
    talk(tmp_path, "s-1", *(said(n, f"apple {n} {'word ' * 30}") for n in range(200)))
    database = tmp_path / ".palimpsest/index.db"

    async def nothing(index: MemoryIndex) -> None:
        assert await index.sound()

    async def work(index: MemoryIndex) -> None:
        whole = await index.search(Query("apple pie"))
        assert whole.reason == ""
        harmed(database, harm)
        assert not await index.tools()
        found = await index.search(Query("apple pie"))
        assert [hit.text for hit in found.hits] == ["- apple pie"]
        assert "files were read instead" in found.reason
        assert (await index.check()).state == "unavailable"
        assert (await index.index_all_from_workspace()).rebuilt
        assert await index.sound()
        assert (await index.search(Query("apple pie"))).reason == ""

    with_index(tmp_path, nothing)
    with_index(tmp_path, work)


@pytest.mark.parametrize("harm", ["junk", "cut short", "emptied"])
def test_that_the_index_is_harmed_is_told_by_who_reads_it_first(tmp_path: Path, harm: str) -> None:
    put(tmp_path, "MEMORY.md", "- apple pie\n")
    database = tmp_path / ".palimpsest/index.db"

    async def nothing(index: MemoryIndex) -> None:
        assert await index.sound()

    async def work(index: MemoryIndex) -> None:
        harmed(database, harm)
        found = await index.search(Query("apple pie"))
        assert [hit.text for hit in found.hits] == ["- apple pie"]
        assert "files were read instead" in found.reason
        assert (await index.check()).state == "unavailable"

    with_index(tmp_path, nothing)
    with_index(tmp_path, work)


def test_an_index_that_cannot_even_be_read_is_built_anew(tmp_path: Path) -> None:
    put(tmp_path, "MEMORY.md", "- apple pie\n")
    database = tmp_path / ".palimpsest/index.db"

    async def work(index: MemoryIndex) -> None:
        other = sqlite3.connect(database)  # what was read before it wrote is read again
        other.execute("UPDATE files SET seen_ns=seen_ns+1")
        other.commit()
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        other.close()
        harmed(database, "junk")
        assert (await index.check()).state == "unavailable"
        assert (await index.index_all_from_workspace(rebuild=True)).rebuilt
        assert (await index.check()).state == "ready"
        assert (await index.search(Query("apple"))).reason == ""

    with_index(tmp_path, work)


def halting(
    monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, what: str
) -> tuple[threading.Event, threading.Event]:
    """Make `owner.name` of a path that ends in `what` wait: it is there; let it go on."""
    there, on = threading.Event(), threading.Event()
    real = getattr(owner, name)

    def held(path: Any, *more: Any, **named: Any) -> Any:
        if str(path).endswith(what) and not on.is_set():
            there.set()
            on.wait()
        return real(path, *more, **named)

    monkeypatch.setattr(owner, name, held)
    return there, on


def test_a_rebuild_given_up_as_it_begins_hinders_no_later_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "MEMORY.md", "- apple pie\n")

    async def work(index: MemoryIndex) -> None:
        there, on = halting(monkeypatch, os, "open", ".lock")
        building = asyncio.ensure_future(index.index_all_from_workspace(rebuild=True))
        await asyncio.to_thread(there.wait)
        building.cancel()
        await asyncio.sleep(0)
        on.set()
        await asyncio.wait({building})
        await index.update("MEMORY.md")  # behind what the writing thread still does
        assert not list((tmp_path / ".palimpsest").glob("*.building*"))
        assert (await index.index_all_from_workspace(rebuild=True)).rebuilt
        assert await texts(index, "apple") == ["- apple pie"]

    with_index(tmp_path, work)


def test_a_rebuild_given_up_while_it_takes_its_place_lets_no_search_in_between(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "MEMORY.md", "- apple pie\n")

    async def work(index: MemoryIndex) -> None:
        there, on = halting(monkeypatch, os, "replace", ".building")
        building = asyncio.ensure_future(index.index_all_from_workspace(rebuild=True))
        await asyncio.to_thread(there.wait)
        building.cancel()
        searching = asyncio.ensure_future(index.search(Query("apple")))
        early, _ = await asyncio.wait({searching}, timeout=0.5)  # nothing can be waited for
        on.set()
        assert not early
        await asyncio.wait({building})
        assert building.cancelled()
        assert len((await searching).hits) == 1

    with_index(tmp_path, work)


def test_a_look_at_the_state_given_up_forgets_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "MEMORY.md", "- apple pie\n")

    async def work(index: MemoryIndex) -> None:
        (tmp_path / ".palimpsest/index.db").unlink()
        there, on = halting(monkeypatch, Path, "exists", "index.db")
        looking = asyncio.ensure_future(index.check())
        await asyncio.to_thread(there.wait)
        looking.cancel()
        await asyncio.sleep(0)
        on.set()
        await asyncio.wait({looking})
        assert (await index.check()).state == "unavailable"

    with_index(tmp_path, work)


def test_who_asks_for_the_state_while_the_index_closes_gets_an_answer(tmp_path: Path) -> None:
    put(tmp_path, "MEMORY.md", "- apple pie\n")

    async def work(index: MemoryIndex) -> None:
        (tmp_path / ".palimpsest/index.db").unlink()
        looking = asyncio.ensure_future(index.check())
        await asyncio.sleep(0)
        await index.close()
        assert (await looking).state == "ready"

    with_index(tmp_path, work)
