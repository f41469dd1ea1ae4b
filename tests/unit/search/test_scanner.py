"""What changed on disk: walks, differences, the watcher, and an index that follows."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from app.engine.records import Query
from app.engine.search import scanner
from app.engine.search.index import MemoryIndex
from app.engine.search.scanner import Scan, Watcher, differences, glance, newest_first, scan
from tests.helpers.searching import put, with_index
from tests.helpers.waiting import until


def age(root: Path) -> None:
    """Make every file old enough for its time to be trusted."""
    for file in root.rglob("*"):
        os.utime(file, (1_700_000_000, 1_700_000_000))


@asynccontextmanager
async def following(root: Path, index: MemoryIndex, **how: Any) -> AsyncIterator[Watcher]:
    """A watcher that brings up what changes, until the block is left."""

    async def on_change(paths: frozenset[str]) -> None:
        for path in paths:
            await index.update(path)

    watcher = Watcher(root, on_change, **how)
    await watcher.start()
    yield watcher
    await watcher.stop()


def test_only_searched_places_are_walked(tmp_path: Path) -> None:
    for path in (
        "MEMORY.md", "AGENTS.md", "memory/2026-06-01.md", "memory/archive/2025-06-01.md",
        "memory/.consolidation_state", "agents/bot/sessions/s.log.jsonl",
        "agents/bot/sessions/s.jsonl", "agents/bot/sessions/sessions.json",
        "large_tool_results/bot/c1-00", ".palimpsest/index.db", ".palimpsest/memory/x.md",
    ):  # fmt: skip
        put(tmp_path, path, "x")
    (tmp_path / "memory/link.md").symlink_to(tmp_path / "AGENTS.md")
    assert set(scan(tmp_path).marks) == {
        "MEMORY.md", "memory/2026-06-01.md", "memory/archive/2025-06-01.md",
        "agents/bot/sessions/s.log.jsonl", "large_tool_results/bot/c1-00",
    }  # fmt: skip


def test_every_kind_of_change_is_a_difference(tmp_path: Path) -> None:
    for name in "abcde":
        put(tmp_path, f"memory/{name}.md", "one\n")
    age(tmp_path)
    before = scan(tmp_path)
    assert not differences(before, scan(tmp_path))
    with (tmp_path / "memory/a.md").open("a") as file:
        file.write("two\n")
    os.replace(put(tmp_path, "memory/.new", "two\n"), tmp_path / "memory/b.md")
    (tmp_path / "memory/c.md").unlink()
    (tmp_path / "memory/d.md").rename(tmp_path / "memory/f.md")
    os.truncate(tmp_path / "memory/e.md", 1)
    assert differences(before, scan(tmp_path)) == {f"memory/{name}.md" for name in "abcdef"}


def test_a_time_close_to_the_walk_is_not_trusted(tmp_path: Path) -> None:
    put(tmp_path, "MEMORY.md", "one")
    young = scan(tmp_path)
    assert differences(young, scan(tmp_path)) == {"MEMORY.md"}
    assert glance(tmp_path, young)
    old = scan(tmp_path, now_ns=time.time_ns() + 10_000_000_000)
    assert not differences(old, scan(tmp_path))


@pytest.mark.case("B37")
def test_idle_means_idle_and_equal_bytes_are_not_indexed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "MEMORY.md", "- apple\n")
    for n in range(300):
        put(tmp_path, f"memory/note-{n}.md", f"- note {n}\n")
    age(tmp_path)
    walks = 0
    looks: list[bool] = []  # whether they saw something

    def walk(root: Path) -> Scan:
        nonlocal walks
        walks += 1
        return scan(root)

    def look(root: Path, before: Scan) -> bool:
        looks.append(glance(root, before))
        return looks[-1]

    async def looked(times: int) -> None:
        """Until so many looks in a row, begun from now on, saw nothing."""
        first = len(looks) + 1  # one may have begun already
        await until(lambda: len(looks) >= first + times and not any(looks[-times:]))

    monkeypatch.setattr(scanner, "glance", look)

    async def main() -> None:
        nonlocal walks
        index = MemoryIndex(tmp_path)
        await index.open()
        await index.index_all_from_workspace()
        assert (tmp_path / ".palimpsest/index.db").exists(), "the index lies in the watched folder"
        for folder in (tmp_path, tmp_path / "memory"):
            os.utime(folder, (1_700_000_000, 1_700_000_000))
        calls: list[frozenset[str]] = []
        changed: list[bool] = []

        async def on_change(paths: frozenset[str]) -> None:
            calls.append(paths)
            changed.extend([await index.update(path) for path in paths])

        watcher = Watcher(tmp_path, on_change, interval=0.02, walk=walk)
        await watcher.start()
        await looked(2)
        walks = 0
        for _ in range(10):
            await index.search(Query("apple"))
            await index.check()
            await looked(1)
        assert (walks, calls) == (0, []), "searching and asking for the state is no change"
        for _ in range(3):  # in one step, as a half-written file would be a change
            os.replace(put(tmp_path, "memory/.new", "- apple\n"), tmp_path / "MEMORY.md")
            told = len(calls)
            await until(lambda told=told: len(calls) > told)
        assert set().union(*calls) == {"MEMORY.md"}
        assert not any(changed), "equal bytes are not indexed"
        for file in (tmp_path / "MEMORY.md", tmp_path, tmp_path / "memory"):
            os.utime(file, (1_700_000_001, 1_700_000_001))
        await looked(2)
        walks = 0
        await looked(10)
        assert walks == 0, "and then it is idle again"
        await watcher.stop()
        await index.close()

    asyncio.run(main())


def test_what_no_look_can_see_is_found_by_the_sweep(tmp_path: Path) -> None:
    old = put(tmp_path, "memory/note-0.md", "- apple\n")
    for n in range(1, 60):
        put(tmp_path, f"memory/note-{n}.md", f"- note {n}\n")
    age(tmp_path)
    for n, file in enumerate(sorted((tmp_path / "memory").glob("*.md"))):
        os.utime(file, (1_700_000_000 + n, 1_700_000_000 + n))

    async def work(index: MemoryIndex) -> None:
        async with following(tmp_path, index, interval=0.02, sweep=0.2):
            old.write_text("- pears\n", "utf-8")  # in place: its folder does not change
            os.utime(old, (1_700_000_000, 1_700_000_100))
            deadline = time.monotonic() + 20
            while not (await index.search(Query("pears"))).hits:
                assert time.monotonic() < deadline
                await asyncio.sleep(0.02)

    with_index(tmp_path, work)


def test_today_comes_before_the_past(tmp_path: Path) -> None:
    paths = [
        "MEMORY.md", "memory/2026-06-02.md", "memory/2026-06-01.md",
        "agents/bot/sessions/s-2.log.jsonl", "agents/bot/sessions/s-1.log.jsonl",
        "large_tool_results/bot/c-2", "large_tool_results/bot/c-1",
    ]  # fmt: skip
    for n, path in enumerate(reversed(paths)):
        os.utime(put(tmp_path, path, "x"), (1_700_000_000 + n % 3, 1_700_000_000 + n % 3))
    for path in paths[1::2]:
        os.utime(tmp_path / path, (1_700_000_100, 1_700_000_100))
    assert newest_first(scan(tmp_path).marks) == paths


def test_what_grows_in_its_place_is_seen_by_a_look(tmp_path: Path) -> None:
    for n in range(60):
        note = put(tmp_path, f"memory/note-{n:02}.md", f"- note {n}\n")
        os.utime(note, (1_700_000_000 + n, 1_700_000_000 + n))
    log = put(tmp_path, "agents/bot/sessions/s-1.log.jsonl", "{}\n")
    os.utime(log, (1_700_000_100, 1_700_000_100))
    before = scan(tmp_path, now_ns=time.time_ns() + 10_000_000_000)
    assert not glance(tmp_path, before)
    with log.open("a") as file:
        file.write("{}\n")
    assert glance(tmp_path, before)


def test_a_folder_that_was_not_there_is_seen_to_come(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    put(root, "MEMORY.md", "- one\n")
    (root / ".palimpsest").mkdir()
    age(root)
    later = time.time_ns() + 10_000_000_000
    before = scan(root, now_ns=later)
    (root / ".palimpsest" / "proposals").mkdir()
    assert glance(root, before)
    root.rename(tmp_path / "away")  # a disk that is not mounted
    away = scan(root, now_ns=later)
    assert (away.marks, glance(root, away)) == ({}, False)
    (tmp_path / "away").rename(root)
    assert glance(root, away)


def test_an_edit_that_leaves_the_size_is_behind_the_index(tmp_path: Path) -> None:
    note = put(tmp_path, "memory/note.md", "- one\n")
    age(tmp_path)

    async def main() -> None:
        index = MemoryIndex(tmp_path)
        await index.open()
        await index.index_all_from_workspace()
        assert (await index.check()).state == "ready"
        note.write_text("- two\n", "utf-8")
        assert (await index.check()).state == "stale"
        assert await index.update(note)
        assert (await index.check()).state == "ready"
        await index.close()

    asyncio.run(main())


@pytest.mark.case("B39")
def test_a_storm_of_small_writes(tmp_path: Path) -> None:
    for n in range(2_000):
        put(tmp_path, f"memory/note-{n}.md", f"- note {n}\n")
    log = put(tmp_path, "agents/bot/sessions/s-1.log.jsonl", "")
    age(tmp_path)

    async def main() -> None:
        index = MemoryIndex(tmp_path)
        await index.open()
        await index.index_all_from_workspace()
        running = most = calls = 0
        ends: list[float] = []
        gaps: list[float] = []

        async def on_change(paths: frozenset[str]) -> None:
            nonlocal running, most, calls
            if ends:
                gaps.append(time.monotonic() - ends[-1])
            running += 1
            calls += 1
            most = max(most, running)
            for path in paths:
                await index.update(path)
            running -= 1
            ends.append(time.monotonic())

        watcher = Watcher(tmp_path, on_change, interval=0.1)
        await watcher.start()
        for n in range(300):
            entry = {"type": "message", "id": f"m-{n}", "role": "USER", "content": f"apple {n}"}
            with log.open("a") as file:
                file.write(json.dumps(entry) + "\n")
            await asyncio.sleep(0.003)
        deadline = time.monotonic() + 20
        while (await index.search(Query("apple", limit=1))).total < 300:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.05)
        await watcher.stop()
        await index.close()
        assert most == 1
        assert calls < 150
        assert all(gap >= 0.09 for gap in gaps)
        assert {path.name for path in (tmp_path / ".palimpsest").iterdir()} == {"index.db"}

    asyncio.run(main())


def test_a_folder_renamed_away_and_back_does_not_end_the_watch(tmp_path: Path) -> None:
    put(tmp_path, "memory/a.md", "- apple\n")

    async def work(index: MemoryIndex) -> None:
        async with following(tmp_path, index, interval=0.05) as watcher:
            (tmp_path / "memory").rename(tmp_path / "elsewhere")
            assert (await index.check()).state == "stale"
            await watcher.look()
            assert not (await index.search(Query("apple"))).hits
            (tmp_path / "elsewhere").rename(tmp_path / "memory")
            put(tmp_path, "memory/b.md", "- banana\n")
            await watcher.look()
            assert (await index.search(Query("apple"))).hits
            assert (await index.search(Query("banana"))).hits
            assert (await index.check()).state == "ready"

    with_index(tmp_path, work)


def test_a_watcher_whose_listener_fails_says_so_and_goes_on(tmp_path: Path) -> None:
    async def main() -> None:
        seen: list[frozenset[str]] = []

        async def on_change(paths: frozenset[str]) -> None:
            seen.append(paths)
            if len(seen) == 1:
                raise OSError("the disk is gone")

        watcher = Watcher(tmp_path, on_change, interval=0.02)
        await watcher.start()
        put(tmp_path, "MEMORY.md", "x")
        while not watcher.problem:
            await asyncio.sleep(0.01)
        assert "disk is gone" in watcher.problem
        while len(seen) < 2:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        assert not watcher.problem
        await watcher.stop()

    asyncio.run(main())
