"""What is past, and what is to be forgotten: versions, proposals, marks; each through the index."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

from app.engine.records import Hit, Query
from app.engine.search.index import MemoryIndex
from app.engine.workspace.history import History
from app.engine.workspace.layout import Layout

FIRST = datetime(2026, 6, 1, 9, tzinfo=UTC)
SECOND = datetime(2026, 6, 2, 9, tzinfo=UTC)


def run(root: Path, work: Callable[[MemoryIndex], Awaitable[None]]) -> None:
    async def main() -> None:
        index = MemoryIndex(root, zone=UTC)
        await index.open()
        try:
            await index.index_all_from_workspace()
            await work(index)
        finally:
            await index.close()

    asyncio.run(main())


async def hits(index: MemoryIndex, text: str) -> list[Hit]:
    return list((await index.search(Query(text, mode="words"))).hits)


def log(root: Path, *entries: dict[str, object], mode: str = "w") -> Path:
    file = root / "agents/bot/sessions/s.log.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open(mode, encoding="utf-8") as out:
        out.writelines(json.dumps(entry) + "\n" for entry in entries)
    return file


def said(name: str, text: str, **more: object) -> dict[str, object]:
    return {"type": "message", "id": name, "role": "USER", "content": text} | more


# ---------------------------------------------------------------------------- versions, proposals


def test_each_line_of_the_history_is_found_where_it_came_and_where_it_went(tmp_path: Path) -> None:
    history = History(Layout.at(tmp_path))
    history.commit("# Memory\n- tea at four\n- red bicycle\n", cause="start", when=FIRST)
    history.commit("# Memory\n- tea at four\n- 蓝色自行车\n", cause="hand", when=SECOND)

    async def work(index: MemoryIndex) -> None:
        found = [(h.path, h.role, h.line, h.when) for h in await hits(index, "bicycle")]
        assert found == [("history:2", "dropped", 3, SECOND), ("history:1", "added", 3, FIRST)]
        assert [(h.path, h.role) for h in await hits(index, "tea")] == [("history:1", "added")]
        (chinese,) = await hits(index, "自行车 in:history")
        assert [chinese.text[s.start : s.end] for s in chinese.spans] == ["自行车"]
        history.commit("# Memory\n- tea at five\n", cause="hand", when=SECOND)
        assert await index.update("history:")
        assert not await index.update("history:"), "what did not change is not indexed again"
        assert {h.path for h in await hits(index, "five")} == {"history:3"}
        assert (await index.check()).state == "ready"

    run(tmp_path, work)


def test_what_memory_lost_is_found_as_soon_as_memory_is_brought_up(tmp_path: Path) -> None:
    history, memory = History(Layout.at(tmp_path)), tmp_path / "MEMORY.md"
    memory.write_text("- red bicycle\n", "utf-8")
    history.commit("- red bicycle\n", cause="start", when=FIRST)

    async def work(index: MemoryIndex) -> None:
        memory.write_text("- blue kayak\n", "utf-8")
        history.commit("- blue kayak\n", cause="hand", when=SECOND)
        assert await index.update("MEMORY.md")
        assert [(h.path, h.role) for h in await hits(index, "bicycle")] == [
            ("history:2", "dropped"), ("history:1", "added"),
        ]  # fmt: skip
        assert {h.path for h in await hits(index, "kayak")} == {"MEMORY.md", "history:2"}

    run(tmp_path, work)


def test_no_secret_of_the_past_is_found_or_shown(tmp_path: Path) -> None:
    key = "sk-" + "a1B2" * 12
    block = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq\n-----END PRIVATE KEY-----\n"
    text = f"- the kayak key is {key} now\n{block}- a kayak behind it\n"
    History(Layout.at(tmp_path)).commit(text, cause="start", when=FIRST)

    async def work(index: MemoryIndex) -> None:
        for text in (key, "a1B2a1B2*", "MIIEvQIBADANBgkq"):
            assert not (await index.search(Query(text))).hits
        shown = [hit.text for hit in await hits(index, "kayak")]
        assert len(shown) == 2
        assert not any("a1B2" in text for text in shown)
        for file in tmp_path.glob(".palimpsest/index.db*"):
            assert b"a1B2a1B2" not in file.read_bytes()

    run(tmp_path, work)


def test_a_history_written_anew_is_searched_as_it_is_now(tmp_path: Path) -> None:
    history = History(Layout.at(tmp_path))
    history.commit("- the code is 4711\n- tea\n", cause="start", when=FIRST)
    history.commit("- the code is 4711\n- tea\n- coffee\n", cause="hand", when=SECOND)

    async def work(index: MemoryIndex) -> None:
        assert await hits(index, "4711")
        history.rewrite(lambda text: text.replace("- the code is 4711\n", ""), lambda kept: kept)
        await index.update("history:")
        assert not await hits(index, "4711")
        assert {h.path for h in await hits(index, "coffee")} == {"history:2"}

    run(tmp_path, work)
    assert b"the code is" not in (tmp_path / ".palimpsest/index.db").read_bytes()


def test_while_a_history_is_being_rewritten_what_is_known_of_it_stays(tmp_path: Path) -> None:
    history = History(Layout.at(tmp_path))
    history.commit("- the code is 4711\n- tea\n", cause="start", when=FIRST)
    History(Layout.at(tmp_path / "anew")).commit("- coffee\n", cause="start", when=FIRST)
    dot = tmp_path / ".palimpsest"
    place, old = dot / "history.git", dot / "history-old.git"

    async def work(index: MemoryIndex) -> None:
        for look in (lambda: index.update("history:"), index.index_all_from_workspace):
            place.rename(old)  # the first step of two: at this moment there is none
            await look()
            assert {h.path for h in await hits(index, "4711")} == {"history:1"}
            old.rename(place)
        place.rename(old)
        (tmp_path / "anew/.palimpsest/history.git").rename(place)
        long_ago = FIRST.timestamp()
        os.utime(place / "refs/heads/main", (long_ago, long_ago))  # so that its time is trusted
        assert not await index.update("history:")
        shutil.rmtree(old)
        assert await index.update("history:"), "what was passed over is not taken for known"
        assert not await hits(index, "4711")
        assert {h.path for h in await hits(index, "coffee")} == {"history:1"}

    run(tmp_path, work)


def test_what_a_proposal_offers_is_found_until_the_proposal_goes(tmp_path: Path) -> None:
    file = tmp_path / ".palimpsest/proposals/p-1.json"
    file.parent.mkdir(parents=True)
    kept = {
        "id": "p-1", "state": "open", "when": "2026-06-02T09:00:00Z", "model": "m",
        "curator": "llm", "base": "- tea\n", "base_sha256": "",
        "candidate": "- tea\n- cycles on Sundays\n",
    }  # fmt: skip
    file.write_text(json.dumps(kept), "utf-8")

    async def work(index: MemoryIndex) -> None:
        (hit,) = await hits(index, "Sundays")
        assert (hit.layer, hit.path, hit.role, hit.line) == (
            "history",
            "proposal:p-1",
            "proposed",
            2,
        )
        assert hit.when == SECOND
        assert not await hits(index, "tea"), "what the proposal only keeps is not its own"
        file.write_text("{not json", "utf-8")
        await index.update("proposal:p-1")
        assert not await hits(index, "Sundays")
        file.unlink()
        await index.update("proposal:p-1")
        assert (await index.check()).state == "ready"

    run(tmp_path, work)


def test_a_proposal_applied_in_part_is_still_found_by_all_that_it_offered(tmp_path: Path) -> None:
    file = tmp_path / ".palimpsest/proposals/p-1.json"
    file.parent.mkdir(parents=True)
    kept = {
        "when": "2026-06-02T09:00:00Z", "started": "- tea\n",
        "base": "- tea\n- cycles on Sundays\n",
        "wanted": "- tea\n- cycles on Sundays\n- swims on Mondays\n",
        "candidate": "- tea\n- cycles on Sundays\n",
    }  # fmt: skip
    file.write_text(json.dumps(kept), "utf-8")

    async def work(index: MemoryIndex) -> None:
        for word in ("Sundays", "Mondays"):
            assert [hit.path for hit in await hits(index, word)] == ["proposal:p-1"]
        assert not await hits(index, "tea")

    run(tmp_path, work)


# ---------------------------------------------------------------------------- marks

TURN = (
    said("u-1", "the apple is secret"),
    said("a-1", "the apple is noted", role="ASSISTANT"),
    {"type": "tool_use", "id": "a-1:use:c1", "name": "grep", "input": {"pattern": "apple"}},
    said("u-10", "another apple"),
)


async def apples(index: MemoryIndex) -> set[str]:
    return {hit.entry_id for hit in await hits(index, "apple")}


def test_what_is_marked_is_not_found_whenever_the_mark_is_read(tmp_path: Path) -> None:
    file = log(tmp_path, *TURN)

    async def work(index: MemoryIndex) -> None:
        assert await apples(index) == {"u-1", "a-1", "a-1:use:c1", "u-10"}
        log(tmp_path, {"type": "mark", "targets": ["u-1"], "do_not_remember": True}, mode="a")
        log(tmp_path, {"type": "mark", "target": "a-1", "deleted": True}, mode="a")
        await index.update(file)
        assert await apples(index) == {"u-10"}
        await index.index_all_from_workspace(rebuild=True)
        assert await apples(index) == {"u-10"}
        log(tmp_path, {"type": "mark", "targets": ["u-1"], "do_not_remember": False}, mode="a")
        await index.update(file)
        assert await apples(index) == {"u-1", "u-10"}, "who takes the mark back finds it again"

    run(tmp_path, work)


def test_without_an_index_the_files_hide_the_same(tmp_path: Path) -> None:
    log(tmp_path, *TURN, {"type": "mark", "targets": ["a-1", "u-1"], "deleted": True})

    async def main() -> None:
        index = MemoryIndex(tmp_path, tmp_path, zone=UTC)  # a folder is no database
        assert (await index.open()).state == "unavailable"
        assert await apples(index) == {"u-10"}
        await index.close()

    asyncio.run(main())
