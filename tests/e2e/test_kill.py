"""Kill the program after a turn, start it again: the conversation goes on where it was."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.helpers.fake_server import FakeServer, say
from tests.helpers.workspaces import engine_on, without_memory

CHILD = """
import asyncio, sys
from pathlib import Path
from app.startup import open_engine

async def main():
    engine = await open_engine(Path(sys.argv[1]), url=sys.argv[2], model="fake-model")
    session = await engine.do.new_session()
    for text in ("My boat is called Selkie.", "她停在第三码头。"):
        await engine.do.send(session, text)
    view = await engine.ask.context(session)
    print(session, view.total, len(view.parts), flush=True)
    await asyncio.sleep(60)

asyncio.run(main())
"""


def test_a_killed_program_goes_on_where_it_was(tmp_path: Path) -> None:
    async def main() -> None:
        async with FakeServer(say("Noted."), say("记下了。"), say("NO_REPLY")) as server:
            session, total, parts = await asyncio.to_thread(killed, tmp_path, server.base_url)
            sent = server.requests[1].body["messages"]
        quiet = without_memory()
        async with engine_on(tmp_path / "ws", say("Still here."), config=quiet) as desk:
            desk.session = session
            view = await desk.engine.ask.context(session)
            spoken = [p.text for p in view.parts if p.kind == "history"]
            assert spoken == ["My boat is called Selkie.", "Noted.", "她停在第三码头。", "记下了。"]
            await desk.send("And now?")
            before = [m for m in sent if m["role"] != "system"]
            assert [m for m in desk.sent() if m["role"] != "system"][: len(before)] == before
            assert (view.total > 0, parts) == (total > 0, len(view.parts))
            assert [f.severity for f in await desk.engine.ask.doctor()].count("error") == 0

    asyncio.run(asyncio.wait_for(main(), 60))


def killed(folder: Path, url: str) -> tuple[str, int, int]:
    """Run the child until it has had its turns, and kill it; what it said of its context."""
    environment = {
        **os.environ,
        "PALIMPSEST_CONFIG": str(folder / "config"),
        "PALIMPSEST_DATA": str(folder / "data"),
    }
    workspace = folder / "ws"
    workspace.mkdir()
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(workspace), url],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert child.stdout is not None
    line = child.stdout.readline().split()
    child.send_signal(signal.SIGKILL)
    child.wait(10)
    child.stdout.close()
    return line[0], int(line[1]), int(line[2])
