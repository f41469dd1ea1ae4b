"""A flush whose model call is pending as the window closes or another workspace is opened.

The notes are not lost: what could not be done is done at the next start, in the right workspace.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.helpers.fake_server import FakeServer, Reply, Seen, say
from tests.helpers.windowed import Run, windowed

FACT = "- The boat is called Selkie"

PENDING = """
await asyncio.wait_for(show.opened.wait(), 30)
session = await show.engine.do.new_session()
show.window.open_session(session)
await show.engine.do.send(session, "Remember: the boat is called Selkie.")
await show.engine.do.flush(session)
queue = show.engine._rooms.queue
await until(lambda: any(job.kind == "flush" for job in queue.running()))
await asyncio.sleep(0.5)  # the model was asked and says nothing
"""
CLOSED = """
print("CLOSING", time.time(), flush=True)
show.window.close()
"""
SWITCHED = """
made, plain = [], program.Showing
program.Showing = lambda *a, **k: made.append(plain(*a, **k)) or made[-1]
show.window.workspace_wanted.emit(str(show.folder.parent / "other"))
await until(lambda: made and made[0].opened.is_set())
print("ELSEWHERE", made[0].folder.name, flush=True)
await asyncio.sleep(1.0)
print("CLOSING", time.time(), flush=True)
made[0].window.close()
"""

AGAIN = """
await asyncio.wait_for(show.opened.wait(), 30)
days = show.folder / "memory"
await until(lambda: any("Selkie" in p.read_text("utf-8") for p in days.glob("*.md")))
await until(lambda: not show.engine._rooms.queue.running())
print("CLOSING", time.time(), flush=True)
show.window.close()
"""


def logged(folder: Path) -> str:
    return "\n".join(p.read_text("utf-8") for p in sorted((folder / "memory").glob("*.md")))


def ended_well(run: Run) -> None:
    assert "DRIVE FAILED" not in run.out, run.out
    assert run.complaints() == []
    assert run.code == 0
    assert run.seconds < 5.0


@pytest.mark.case("B22")
@pytest.mark.timeout(180)
@pytest.mark.parametrize("then", [CLOSED, SWITCHED], ids=["closed", "switched"])
def test_a_flush_that_closing_cut_off_is_done_at_the_next_start(tmp_path: Path, then: str) -> None:
    (tmp_path / "other").mkdir()

    def silent(seen: Seen) -> Reply:
        """Answers the person; a request to extract facts waits until the client is gone."""
        asked = str(seen.body["messages"][-1]["content"])
        return say("Noted.") if asked.startswith("Remember:") else say("never", pause=60.0)

    async def main() -> None:
        async with FakeServer(silent) as server:  # type: ignore[arg-type]
            first = await windowed(tmp_path, server.base_url, PENDING + then)
            assert len(server.requests) >= 2, "the flush had asked the model"
        ended_well(first)
        assert ("ELSEWHERE other" in first.out) is (then is SWITCHED)
        assert FACT not in logged(tmp_path / "ws")
        async with FakeServer(say(FACT)) as server:
            ended_well(await windowed(tmp_path, server.base_url, AGAIN))
        assert logged(tmp_path / "ws").count("Selkie") == 1
        assert "Selkie" not in logged(tmp_path / "other")

    asyncio.run(main())
