"""The index of an open workspace follows the disk, and its state is what the disk says."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import threading
from datetime import UTC
from pathlib import Path

import pytest

from app.engine.events import Changed, Event
from app.engine.records import Query
from app.engine.search import helper
from app.engine.search import index as indexing
from app.engine.search.index import MemoryIndex
from app.engine.workspace.layout import Layout
from tests.helpers.workspaces import EngineDesk, engine_on, to_the_end

DEADLINE = 20.0


async def found(desk: EngineDesk, text: str) -> list[str]:
    """Paths of what the index itself knows."""
    result = await desk.engine.ask.search(Query(text, mode="words"))
    return [hit.path for hit in result.hits]


@pytest.mark.case("B38")
@to_the_end
async def test_a_swapped_folder_is_told_at_once_and_caught_up_with(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory/2026-06-01.md").write_text("- a red bicycle\n", "utf-8")
    async with engine_on(tmp_path, watch=True) as desk:
        await desk.engine.index_ready()
        assert (await desk.engine.ask.index()).state == "ready"
        (tmp_path / "memory").rename(tmp_path / "elsewhere")
        (tmp_path / "elsewhere").rename(tmp_path / "memory")
        (tmp_path / "memory/2026-06-02.md").write_text("- a blue kayak\n", "utf-8")
        state = await desk.engine.ask.index()
        assert (state.state, state.note) == ("stale", "1 file is newer than the index.")
        async with asyncio.timeout(DEADLINE):
            while not await found(desk, "kayak"):
                await asyncio.sleep(0.05)
        state = await desk.engine.ask.index()
        assert (state.state, state.done, state.total) == ("ready", 2, 2)


@to_the_end
async def test_what_changes_during_the_first_pass_is_seen_when_it_has_ended(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    for n in range(900):  # more than one batch
        (tmp_path / f"memory/note-{n}.md").write_text("- a red bicycle\n", "utf-8")
    late = tmp_path / "memory/2026-06-01.md"
    async with engine_on(tmp_path, watch=True) as desk:

        def copy_a_file_in(event: Event) -> None:
            if isinstance(event, Changed) and "index" in event.kinds and not late.exists():
                late.write_text("- a blue kayak\n", "utf-8")
                os.utime(late, (1_700_000_000, 1_700_000_000))

        desk.engine.events.subscribe(copy_a_file_in)
        await desk.engine.index_ready()
        assert late.exists()
        async with asyncio.timeout(DEADLINE):
            while not await found(desk, "kayak"):
                await asyncio.sleep(0.05)


@to_the_end
async def test_a_memory_file_that_is_a_link_within_the_workspace_is_searched(
    tmp_path: Path,
) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/mine.md").write_text("- a red bicycle\n", "utf-8")
    (tmp_path / "MEMORY.md").symlink_to("notes/mine.md")
    async with engine_on(tmp_path, watch=True) as desk:
        await desk.engine.index_ready()
        assert "MEMORY.md" in await found(desk, "bicycle -in:history")
        await desk.engine.do.remember("a blue kayak")
        assert "MEMORY.md" in await found(desk, "kayak -in:history")
        assert (await desk.engine.ask.index()).state == "ready"


@to_the_end
async def test_without_an_index_one_is_still_told_of_what_others_write(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_text("- a red bicycle\n", "utf-8")
    async with engine_on(tmp_path, watch=True) as desk:
        await desk.engine.index_ready()
        before = len(await desk.engine.ask.versions())
        (tmp_path / ".palimpsest/index.db").unlink()
        assert (await desk.engine.ask.index()).state == "unavailable"
        told: set[str] = set()
        desk.engine.events.subscribe(
            lambda event: told.update(event.kinds) if isinstance(event, Changed) else None
        )
        (tmp_path / "memory/2026-06-02.md").write_text("- a blue kayak\n", "utf-8")
        (tmp_path / "MEMORY.md").write_text("- a green bicycle\n", "utf-8")
        async with asyncio.timeout(DEADLINE):
            while not told >= {"daily", "memory", "versions"}:
                await asyncio.sleep(0.05)
        assert len(await desk.engine.ask.versions()) == before + 1


@to_the_end
async def test_nobody_watching_the_state_still_compares_with_the_disk(tmp_path: Path) -> None:
    async with engine_on(tmp_path) as desk:
        await desk.engine.index_ready()
        (tmp_path / "memory/2026-06-02.md").write_text("- a blue kayak\n", "utf-8")
        assert (await desk.engine.ask.index()).state == "stale"
        await desk.engine.do.reindex()
        await desk.engine.drain()
        assert await found(desk, "kayak") == ["memory/2026-06-02.md"]
        assert (await desk.engine.ask.index()).state == "ready"


@to_the_end
async def test_who_shows_the_state_is_told_when_somebody_else_found_it_mended_or_broken(
    tmp_path: Path,
) -> None:
    async with engine_on(tmp_path) as desk:
        await desk.engine.index_ready()
        await desk.engine.ask.index()
        told: list[Event] = []
        desk.engine.events.subscribe(
            lambda event: told.append(event) if isinstance(event, Changed) else None
        )
        log = tmp_path / "memory/2026-06-02.md"

        async def state(times: int = 1) -> str:
            told.clear()
            states = {(await desk.engine.ask.index()).state for _ in range(times)}
            assert states == {(await desk.engine.ask.status()).index.state}
            return states.pop()

        log.write_text("- a blue kayak\n", "utf-8")
        assert (await state(), len(told)) == ("stale", 0)
        log.unlink()
        assert (await state(2), len(told)) == ("ready", 1)
        Layout.at(tmp_path).index().unlink()
        assert (await state(2), len(told)) == ("unavailable", 1)


@to_the_end
async def test_other_content_under_the_same_size_and_time_is_seen(tmp_path: Path) -> None:
    long_ago = 1_780_000_000_000_000_000
    log = tmp_path / "memory/2026-06-02.md"
    log.parent.mkdir()
    log.write_text("- a blue kayak\n", "utf-8")
    os.utime(log, ns=(long_ago, long_ago))
    async with engine_on(tmp_path) as desk:
        await desk.engine.index_ready()
        log.write_text("- a grey camel\n", "utf-8")
        os.utime(log, ns=(long_ago, long_ago))
        await desk.engine.do.reindex()
        await desk.engine.drain()
        assert await found(desk, "camel") == ["memory/2026-06-02.md"]
        assert await found(desk, "kayak") == []


@to_the_end
async def test_other_encodings_and_line_ends_are_read_or_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    sessions = tmp_path / "agents/palimpsest/sessions"
    sessions.mkdir(parents=True)
    entry = b'{"type":"message","id":"u-1","role":"USER","content":"kayak in the log"}'
    files = {
        "MEMORY.md": b"\xef\xbb\xbf# Kayak heading\r\n- second line\r\n",
        "memory/2026-06-01.md": b"- kayak one\r\n- kayak two\r- still two\n- kayak three\n",
        "memory/2026-06-02.md": "- kayak\n".encode("utf-16"),
        "memory/2026-06-03.md": "- 皮划艇 kayak\n".encode("gbk"),
        "agents/palimpsest/sessions/s.log.jsonl": b"\xef\xbb\xbf" + entry + b"\n",
    }
    for path, data in files.items():
        (tmp_path / path).write_bytes(data)
    async with engine_on(tmp_path) as desk:
        await desk.engine.index_ready()
        hits = (await desk.engine.ask.search(Query("kayak -in:history", mode="words"))).hits
        places = sorted((hit.path, hit.line) for hit in hits)
        assert places == [
            ("MEMORY.md", 1),
            ("agents/palimpsest/sessions/s.log.jsonl", 1),
            ("memory/2026-06-01.md", 1),
            ("memory/2026-06-01.md", 2),
            ("memory/2026-06-01.md", 3),
        ]
        for hit in hits:
            assert {hit.text[s.start : s.end].lower() for s in hit.spans} == {"kayak"}
    for path, data in files.items():
        if path.startswith("memory/"):
            assert (tmp_path / path).read_bytes() == data, "searching rewrites nothing"


# ---------------------------------------------------------------------------- a large pass


def fill(root: Path) -> None:
    for n in range(6):
        lines = [
            {
                "type": "message",
                "id": f"m-{n}-{k}",
                "role": "USER",
                "content": f"kayak {n} {k} 皮划艇",
            }
            for k in range(200)
        ]
        file = root / f"agents/bot/sessions/s-{n}.log.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(json.dumps(one) + "\n" for one in lines), "utf-8")


async def contents(root: Path, path: Path) -> list[tuple[object, ...]]:
    index = MemoryIndex(root, path, zone=UTC)
    await index.open()
    await index.index_all_from_workspace()
    hits = (await index.search(Query("皮划艇", limit=10_000))).hits
    assert await index.sound()
    await index.close()
    return sorted((h.path, h.line, h.text, h.entry_id, h.when) for h in hits)


@pytest.mark.parametrize("end", ["in peace", "at once", "in the middle"])
def test_what_a_process_of_its_own_prepares_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    fill(tmp_path)
    for file in tmp_path.rglob("*.jsonl"):
        os.utime(file, (1_700_000_000, 1_700_000_000))
    here = asyncio.run(contents(tmp_path, tmp_path / "here.db"))
    begun: list[subprocess.Popen[bytes]] = []
    begin, receive = helper.begin, helper.receive

    def begin_and_end(request: tuple[object, ...]) -> subprocess.Popen[bytes] | None:
        process = begin(request)
        assert process is not None
        begun.append(process)
        if end == "at once":
            process.send_signal(signal.SIGTERM)
        return process

    def receive_some(process: subprocess.Popen[bytes]) -> object:
        batch = receive(process)
        if end == "in the middle":
            process.kill()
        return batch

    monkeypatch.setattr(helper, "begin", begin_and_end)
    monkeypatch.setattr(helper, "receive", receive_some)
    monkeypatch.setattr(indexing, "WORTH", 0)
    apart = asyncio.run(contents(tmp_path, tmp_path / "apart.db"))
    assert apart == here
    assert len(apart) == 1_200
    assert [process.poll() is not None for process in begun] == [True]


def test_a_pass_that_is_cancelled_leaves_no_process_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path)
    begun: list[subprocess.Popen[bytes]] = []
    begin, receive = helper.begin, helper.receive
    receiving, go_on = threading.Event(), threading.Event()

    def begin_noted(request: tuple[object, ...]) -> subprocess.Popen[bytes] | None:
        process = begin(request)
        assert process is not None
        begun.append(process)
        return process

    def receive_late(process: subprocess.Popen[bytes]) -> object:
        receiving.set()
        go_on.wait(10)
        return receive(process)

    monkeypatch.setattr(helper, "begin", begin_noted)
    monkeypatch.setattr(helper, "receive", receive_late)
    monkeypatch.setattr(indexing, "WORTH", 0)

    async def main() -> None:
        index = MemoryIndex(tmp_path, tmp_path / "one.db")
        await index.open()
        work = asyncio.ensure_future(index.index_all_from_workspace())
        await asyncio.to_thread(receiving.wait, 10)
        work.cancel()
        await asyncio.sleep(0.05)
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await work
        assert [process.returncode is not None for process in begun] == [True]
        await index.close()

    asyncio.run(main())
