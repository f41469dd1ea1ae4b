"""What could not be injected is told to people, once per cause, and the turn goes on."""

from __future__ import annotations

import asyncio
from pathlib import Path

from app.engine.events import Activity
from tests.helpers.fake_server import say
from tests.helpers.workspaces import EngineDesk, engine_on, without_memory


def troubles(desk: EngineDesk) -> list[tuple[str, str]]:
    return [
        (e.reason, e.remedy)
        for e in desk.events
        if isinstance(e, Activity) and e.step == "error" and e.state == "failed"
    ]


def test_an_unreadable_memory_is_told_once_and_stays_as_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "ws"
    folder.mkdir()
    (folder / "AGENTS.md").write_text("You are kind.")
    foreign = "- 我的船叫塞尔基\n".encode("utf-16-be")
    (folder / "MEMORY.md").write_bytes(foreign)

    async def main() -> None:
        async with engine_on(folder, say("Hello"), config=without_memory()) as desk:
            for _ in range(2):
                result = await desk.send("Hi")
                assert result.reply == "Hello"
            told = troubles(desk)
            assert len(told) == 1
            assert "MEMORY.md" in told[0][0]
            assert "UTF-8" in told[0][1]

            (folder / "MEMORY.md").write_text("- The boat is called Selkie.\n")
            await desk.send("And now?")
            assert "Selkie" in str(desk.sent()[0])
            assert len(troubles(desk)) == 1

    asyncio.run(main())
    assert (folder / "MEMORY.md").read_text() == "- The boat is called Selkie.\n"


def test_a_missing_agents_file_only_warns(tmp_path: Path) -> None:
    async def main() -> None:
        async with engine_on(tmp_path / "ws", say("Hello"), config=without_memory()) as desk:
            result = await desk.send("Hi")
            assert result.state == "finished"
            assert [reason for reason, _ in troubles(desk)] == [
                "There is no AGENTS.md in this workspace."
            ]

    asyncio.run(main())
