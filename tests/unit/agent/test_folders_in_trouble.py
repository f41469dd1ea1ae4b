"""A workspace whose folder cannot be written, or is gone while it is open."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from app.engine.errors import StorageError, UserError
from tests.helpers.fake_server import say
from tests.helpers.workspaces import engine_on, without_memory


def test_a_folder_that_takes_no_lock_can_still_be_read(tmp_path: Path) -> None:
    folder = tmp_path / "ws"
    (folder / "memory").mkdir(parents=True)
    (folder / ".palimpsest").mkdir()
    (folder / ".palimpsest" / "locks").write_text("in the way", encoding="utf-8")
    (folder / "MEMORY.md").write_text("- Tea.\n", encoding="utf-8")
    (folder / "memory" / "2026-01-02.md").write_text("- Rain.\n", encoding="utf-8")

    async def main() -> None:
        async with engine_on(folder, say("Hello")) as desk:
            assert desk.engine.read_only
            assert desk.engine.problem
            assert (await desk.engine.ask.memory()).text == "- Tea.\n"
            day = await desk.engine.ask.day("memory/2026-01-02.md")
            assert "Rain" in str(day)
            with pytest.raises(StorageError):
                await desk.engine.do.new_session()

    asyncio.run(main())
    assert not (folder / ".palimpsest" / "sections.jsonl").exists()


def test_a_folder_that_was_moved_away_is_not_made_anew(tmp_path: Path) -> None:
    folder = tmp_path / "ws"

    async def main() -> None:
        async with engine_on(folder, say("Hello"), config=without_memory()) as desk:
            await desk.send("First")
            folder.rename(tmp_path / "elsewhere")
            with pytest.raises(StorageError, match="not there any more") as caught:
                await desk.send("Second")
            assert caught.value.remedy
            assert not folder.exists()
            (tmp_path / "elsewhere").rename(folder)
            assert (await desk.send("Third")).state == "finished"
            assert "First" in desk.log()
            assert "Third" in desk.log()

    asyncio.run(main())


def test_nothing_is_sent_without_words(tmp_path: Path) -> None:
    async def main() -> None:
        async with engine_on(tmp_path / "ws", say("Hello"), config=without_memory()) as desk:
            with pytest.raises(UserError, match="nothing to send"):
                await desk.send("\n \t")
            assert desk.server.requests == []

    asyncio.run(main())
