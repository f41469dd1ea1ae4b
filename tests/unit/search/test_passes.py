"""Passes over a workspace beside everything else: other passes, other programs, an early end."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Awaitable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import apsw
import pytest

from app.engine.errors import StorageError
from app.engine.records import Query
from app.engine.search.index import MemoryIndex
from app.engine.search.store import Store
from app.engine.workspace.history import History
from app.engine.workspace.layout import Layout
from tests.helpers.searching import NOW, put, said, talk, with_index

ENTRIES = 1_200
"""Entries of a log that is longer than one piece."""


def conversations(root: Path, end: int = ENTRIES) -> list[Path]:
    """Two logs with entries so numbered."""
    filler = "lorem ipsum dolor sit amet " * 33
    entries = [said(n, f"kayak {n} {filler}") for n in range(end)]
    return [talk(root, f"s-{one}", *entries) for one in range(2)]


async def found(index: MemoryIndex) -> int:
    """How many entries the index itself holds."""
    return (await index.search(Query("kayak", mode="words", limit=1))).total


async def stopped(index: MemoryIndex, *, rebuild: bool = False) -> None:
    """A pass that is cancelled when some of it is done."""

    def progress(done: int, _total: int) -> None:
        if done:
            going.cancel()

    going = asyncio.ensure_future(index.index_all_from_workspace(progress, rebuild=rebuild))
    with pytest.raises(asyncio.CancelledError):
        await going


def test_two_passes_at_once_take_each_entry_once(tmp_path: Path) -> None:
    conversations(tmp_path)

    async def work(index: MemoryIndex) -> None:
        await asyncio.gather(*(index.index_all_from_workspace() for _ in range(2)))
        assert await found(index) == 2 * ENTRIES
        assert await index.sound()

    with_index(tmp_path, work, whole=False)


def test_a_log_brought_up_while_a_pass_goes_on_is_taken_once(tmp_path: Path) -> None:
    conversations(tmp_path, 100)

    async def work(index: MemoryIndex) -> None:
        logs = conversations(tmp_path, 160)
        brought: list[Awaitable[bool]] = []

        def progress(_done: int, _total: int) -> None:
            if not brought:
                brought.extend(asyncio.ensure_future(index.update(log)) for log in logs)

        await index.index_all_from_workspace(progress)
        await asyncio.gather(*brought)
        assert await found(index) == 2 * 160
        assert (await index.check()).state == "ready"

    with_index(tmp_path, work)


def test_what_a_pass_read_does_not_replace_what_was_read_later(tmp_path: Path) -> None:
    put(tmp_path, "memory/2026-06-01.md", "- kayak\n")
    put(tmp_path, "memory/2026-06-02.md", "- kayak\n")

    async def work(index: MemoryIndex) -> None:
        put(tmp_path, "memory/2026-06-01.md", "- kayak one\n")
        brought: list[Awaitable[bool]] = []

        def progress(_done: int, _total: int) -> None:
            if not brought:
                brought.append(asyncio.ensure_future(index.remove("memory/2026-06-02.md")))

        await index.index_all_from_workspace(progress)
        await asyncio.gather(*brought)
        assert await found(index) == 2, "what is on disk, not what somebody said of it"

    with_index(tmp_path, work)


def test_a_rebuild_that_is_stopped_leaves_the_index_in_use_as_it_was(tmp_path: Path) -> None:
    conversations(tmp_path)

    async def work(index: MemoryIndex) -> None:
        await stopped(index, rebuild=True)
        assert (await index.check()).state == "ready"
        result = await index.search(Query("kayak", limit=1))
        assert (result.total, result.reason) == (2 * ENTRIES, "")
        assert not list((tmp_path / ".palimpsest").glob("*.building*"))

    with_index(tmp_path, work)


def test_a_first_pass_that_is_stopped_goes_on_later(tmp_path: Path) -> None:
    conversations(tmp_path)

    async def work(index: MemoryIndex) -> None:
        await stopped(index)
        assert (await index.check()).state == "stale"
        await index.index_all_from_workspace()
        assert await found(index) == 2 * ENTRIES
        assert (await index.check()).state == "ready"

    with_index(tmp_path, work, whole=False)


def test_what_changes_while_an_index_is_built_anew_is_in_it(tmp_path: Path) -> None:
    conversations(tmp_path)
    put(tmp_path, "memory/2026-06-01.md", "- canoe\n")

    async def work(index: MemoryIndex) -> None:
        def progress(done: int, _total: int) -> None:
            if done:  # the logs of days are read first
                put(tmp_path, "memory/2026-06-01.md", "- a schooner\n")

        await index.index_all_from_workspace(progress, rebuild=True)
        (hit,) = (await index.search(Query("schooner", mode="words"))).hits
        assert hit.path == "memory/2026-06-01.md"

    with_index(tmp_path, work)


def test_an_index_closed_in_the_middle_of_a_rebuild_leaves_nothing_half_built(
    tmp_path: Path,
) -> None:
    conversations(tmp_path)

    async def work(index: MemoryIndex) -> None:
        begun = asyncio.Event()
        rebuild = asyncio.ensure_future(
            index.index_all_from_workspace(lambda *_: begun.set(), rebuild=True)
        )
        await begun.wait()
        await index.close()
        with suppress(asyncio.CancelledError):  # or it was just ready
            await rebuild
        assert not list((tmp_path / ".palimpsest").glob("*.building*"))

    with_index(tmp_path, work)


# ---------------------------------------------------------------------------- other programs


def test_who_opens_the_index_leaves_alone_what_another_one_builds(tmp_path: Path) -> None:
    conversations(tmp_path)

    async def work(index: MemoryIndex) -> None:
        looking: list[asyncio.Future[int]] = []

        async def look() -> int:
            other = MemoryIndex(tmp_path)
            await other.open()
            count = await found(other)
            await other.close()
            return count

        def progress(done: int, _total: int) -> None:
            if done and not looking:
                looking.append(asyncio.ensure_future(look()))

        assert (await index.index_all_from_workspace(progress, rebuild=True)).rebuilt
        assert await looking[0] == 2 * ENTRIES
        assert await found(index) == 2 * ENTRIES
        assert (await index.check()).state == "ready"

    with_index(tmp_path, work)


KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from app.engine.search.index import MemoryIndex

def progress(done, total):
    if done:
        os.kill(os.getpid(), signal.SIGKILL)

async def main():
    index = MemoryIndex(Path(sys.argv[1]))
    await index.open()
    await index.index_all_from_workspace(progress, rebuild=True)

asyncio.run(main())
"""


@pytest.mark.case("B34")
def test_a_program_killed_while_it_builds_locks_nobody_out(tmp_path: Path) -> None:
    conversations(tmp_path)

    async def nothing(index: MemoryIndex) -> None:
        assert await found(index) == 2 * ENTRIES

    async def after(index: MemoryIndex) -> None:
        result = await index.search(Query("kayak", mode="words", limit=1))
        assert (result.total, result.reason) == (2 * ENTRIES, "")
        assert not list(database.parent.glob("*.building*"))
        states: list[str] = []

        def progress(_done: int, _total: int) -> None:
            states.append(index.state.state)

        again = await index.index_all_from_workspace(progress, rebuild=True)
        assert again.rebuilt, "the lock of the dead is no lock"
        assert set(states) == {"building"}
        assert await found(index) == 2 * ENTRIES

    with_index(tmp_path, nothing)
    database = tmp_path / ".palimpsest/index.db"
    child = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False, timeout=60)
    assert child.returncode == -signal.SIGKILL
    assert list(database.parent.glob("*.building")), "it was in the middle of it"
    with_index(tmp_path, after, whole=False)


def test_of_two_programs_that_would_build_one_does(tmp_path: Path) -> None:
    conversations(tmp_path)

    async def work(index: MemoryIndex) -> None:
        other = MemoryIndex(tmp_path)
        await other.open()
        came = await asyncio.gather(
            index.index_all_from_workspace(rebuild=True),
            other.index_all_from_workspace(rebuild=True),
            return_exceptions=True,
        )
        (refused,) = (one for one in came if isinstance(one, BaseException))
        assert isinstance(refused, StorageError)
        assert "Another program" in str(refused)
        for each in (index, other):
            assert await found(each) == 2 * ENTRIES
            assert (await each.check()).state == "ready"
        await other.close()

    with_index(tmp_path, work)


def test_an_index_that_cannot_be_made_one_file_takes_no_place(tmp_path: Path) -> None:
    conversations(tmp_path, 100)

    async def work(index: MemoryIndex) -> None:
        held: list[apsw.Connection] = []

        def progress(done: int, _total: int) -> None:
            if done and not held:  # somebody reads it, so its log cannot be folded in
                built = str(tmp_path / ".palimpsest/index.db.building")
                held.append(apsw.Connection(built, flags=apsw.SQLITE_OPEN_READONLY))
                held[0].execute("BEGIN; SELECT * FROM meta").fetchall()

        with pytest.raises(StorageError):
            await index.index_all_from_workspace(progress, rebuild=True)
        held[0].close()
        assert await found(index) == 200

    with_index(tmp_path, work)


def test_two_programs_that_follow_one_log_take_each_entry_once(tmp_path: Path) -> None:
    log = talk(tmp_path, "s-1", said(0, "kayak 0"))

    async def work(index: MemoryIndex) -> None:
        other = MemoryIndex(tmp_path)
        await other.open()
        for number in range(1, 150):
            with log.open("a", encoding="utf-8") as file:
                file.write(json.dumps(said(number, f"kayak {number}")) + "\n")
            await asyncio.gather(index.update(log), other.update(log))
        await other.close()
        assert await found(index) == 150

    with_index(tmp_path, work)


def test_an_index_file_that_was_deleted_is_missed_and_built_anew(tmp_path: Path) -> None:
    put(tmp_path, "MEMORY.md", "- a kayak\n")

    async def work(index: MemoryIndex) -> None:
        assert await found(index) == 1
        for file in (tmp_path / ".palimpsest").glob("index.db*"):
            file.unlink()
        state = await index.check()
        assert (state.state, state.note) == ("unavailable", "The index file is gone.")
        answer = await index.search(Query("kayak"))
        assert answer.total == 1
        assert answer.reason.startswith("The index file is gone. The files were read instead.")
        assert not await index.update("MEMORY.md")
        assert (await index.index_all_from_workspace()).rebuilt
        assert (await index.check()).state == "ready"
        assert (await index.search(Query("kayak"))).reason == ""

    with_index(tmp_path, work)


def test_an_index_that_another_program_built_anew_is_the_one_in_use(tmp_path: Path) -> None:
    put(tmp_path, "MEMORY.md", "- a kayak\n")

    async def work(index: MemoryIndex) -> None:
        other = MemoryIndex(tmp_path)
        await other.open()
        put(tmp_path, "memory/2026-06-02.md", "- another kayak\n")
        await other.index_all_from_workspace(rebuild=True)
        assert (await index.check()).state == "ready"
        assert await found(index) == 2
        put(tmp_path, "memory/2026-06-03.md", "- a third kayak\n")
        assert await index.update("memory/2026-06-03.md")
        assert await found(other) == 3, "both have the same file"
        await other.close()

    with_index(tmp_path, work)


@pytest.mark.parametrize("indexed", [0, 1, 5])
def test_of_all_files_those_are_done_that_are_not_newer(tmp_path: Path, indexed: int) -> None:
    history = History(Layout.at(tmp_path))
    for number in range(indexed):
        put(tmp_path, f"memory/2026-06-{number + 1:02}.md", "- a kayak\n")
    put(tmp_path, "MEMORY.md", "- a kayak\n")
    history.commit("- a kayak\n", cause="hand", when=NOW)

    async def work(index: MemoryIndex) -> None:
        state = await index.check()
        assert (state.state, state.done, state.total) == ("ready", indexed + 1, indexed + 1)
        await index.index_from_string("memory/of-nowhere.md", "- a kayak\n")
        for number in range(3):
            put(tmp_path, f"memory/2026-07-{number + 1:02}.md", "- a kayak\n")
        (tmp_path / "MEMORY.md").unlink()
        history.commit("", cause="hand", when=NOW)
        state = await index.check()
        assert (state.state, state.note) == ("stale", "4 files are newer than the index.")
        assert (state.done, state.total) == (indexed + 1, indexed + 5)
        await index.index_all_from_workspace()
        history.commit("- two\n", cause="hand", when=NOW)
        state = await index.check()
        assert state.note == "The history of MEMORY.md is newer than the index."
        assert (state.state, state.done, state.total) == ("stale", indexed + 3, indexed + 3)

    with_index(tmp_path, work)


def test_two_programs_that_open_a_new_index_at_once_both_have_it(tmp_path: Path) -> None:
    for turn in range(10):
        path, here = tmp_path / f"index-{turn}.db", threading.Barrier(4)

        def first(_: int, path: Path = path, here: threading.Barrier = here) -> bool:
            here.wait()
            store = Store(path, "here")
            sound = store.check()
            store.close()
            return sound

        with ThreadPoolExecutor(4) as programs:
            assert list(programs.map(first, range(4))) == [True] * 4
