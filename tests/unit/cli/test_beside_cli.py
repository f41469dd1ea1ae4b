"""A command beside a program that has the same workspace open: neither shuts the other out."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from tests.helpers.commands import command, told
from tests.helpers.fake_server import say
from tests.helpers.workspaces import engine_on


def test_a_session_is_gone_on_with_in_turns_by_an_open_program_and_a_command(
    tmp_path: Path,
) -> None:
    ws = str(tmp_path / "ws")

    async def main() -> None:
        async with engine_on(tmp_path / "ws", say("Good."), trusted=False) as desk:
            assert (await desk.send("I prefer tea.")).state == "finished"
            await desk.engine.drain()  # its flush wrote to the log, too
            done = await asyncio.to_thread(
                command, tmp_path, "chat", ws, "--session", desk.session, "-m", "My cat is Kim.",
                "--json", "--no-wait", PALIMPSEST_ENDPOINT=desk.server.base_url,
            )  # fmt: skip
            assert told(done)["reply"] == "Good."
            assert (await desk.send("And now?")).state == "finished"
            asked = [m["content"] for m in desk.sent() if m["role"] == "user"]
            assert asked == ["I prefer tea.", "My cat is Kim.", "And now?"]
            rows = [json.loads(line) for line in desk.log().splitlines()]
            assert [row["seq"] for row in rows] == list(range(1, len(rows) + 1))
            assert len({row["id"] for row in rows}) == len(rows)

    asyncio.run(main())


def test_jobs_of_a_command_are_run_by_the_open_program(tmp_path: Path) -> None:
    ws = str(tmp_path / "ws")

    async def main() -> None:
        async with engine_on(tmp_path / "ws", say("Good."), trusted=False) as desk:
            await desk.send("I prefer tea. My deadline is 5 December.")
            await desk.engine.drain()
            lines = (["consolidate", ws], ["maintain", ws], ["index", ws, "--rebuild"])
            for line in lines:
                done = await asyncio.to_thread(command, tmp_path, *line, "--json")
                assert told(done)["state"] in ("done", "skipped", "proposed", "applied")
                assert done.stderr == ""
            done = await asyncio.to_thread(command, tmp_path, "maintain", ws)
            assert "The program that has this workspace open ran it" in done.stdout
            ran = {job.kind: job.state for job in await desk.engine.ask.jobs()}
            assert {"consolidate", "maintain", "reindex"} <= set(ran)
            assert set(ran.values()) <= {"done", "skipped"}
            found = await desk.engine.ask.doctor()
            assert [one for one in found if one.severity != "note"] == []

    asyncio.run(main())
