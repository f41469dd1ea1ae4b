"""`palimpsest chat` where a turn does not go straight on: asked again, refused, failed."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.fake_server import FakeServer, Reply, Seen, chunk, error, say
from tests.helpers.windowed import surroundings
from tests.helpers.workspaces import engine_on, without_memory

SUMMARY = "SESSION INTENT: talk\nSUMMARY: we talked\nARTIFACTS: None\nNEXT STEPS: None"


async def chat(
    folder: Path, url: str, *more: str, stderr: int = subprocess.PIPE
) -> subprocess.CompletedProcess[str]:
    """One `chat` as a process of a person whose server is at `url`, with a window of 32,000."""
    return await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-m", "app", "chat", str(folder / "ws"), "--no-memory", *more],
        stdout=subprocess.PIPE,
        stderr=stderr,
        encoding="utf-8",
        env={**surroundings(folder, url), "PYTHONUNBUFFERED": ""},
        timeout=60,
    )


async def talked(folder: Path, turns: int, words: int) -> str:
    """A workspace with so many turns; the session's id."""
    async with engine_on(folder / "ws", say("word " * words), config=without_memory()) as desk:
        for n in range(turns):
            assert (await desk.send(f"question {n}")).state == "finished"
        return desk.session


@pytest.mark.parametrize("as_json", [False, True])
def test_an_answer_to_a_cut_prompt_is_followed_by_another_one(
    tmp_path: Path, as_json: bool
) -> None:
    async def main() -> None:
        session = await talked(tmp_path, 8, 1_000)
        asked: list[str] = []

        def model(seen: Seen) -> Reply:
            text = str(seen.body["messages"][-1]["content"])
            if "SESSION INTENT" in text:
                return say(SUMMARY)
            asked.append(text)
            return say("From a part.", prompt=6_000) if len(asked) == 1 else say("From all.")

        async with FakeServer(model) as server:
            more = ("--session", session, "-m", "And now?", *(["--json"] if as_json else []))
            done = await chat(tmp_path, server.base_url, *more)
        assert done.returncode == 0, done.stderr
        assert asked == ["And now?"] * 2
        assert "had read only a part" in done.stderr
        if as_json:
            assert json.loads(done.stdout)["reply"] == "From all."
        else:
            assert done.stdout == "From a part.\nFrom all.\n"

    asyncio.run(main())


def test_in_one_pipe_a_remark_begins_its_own_line(tmp_path: Path) -> None:
    async def main() -> None:
        session = await talked(tmp_path, 8, 1_000)
        answers = iter((say("From a part.", prompt=6_000), say("From all.")))

        def model(seen: Seen) -> Reply:
            asks = "SESSION INTENT" in str(seen.body["messages"][-1]["content"])
            return say(SUMMARY) if asks else next(answers)

        async with FakeServer(model) as server:
            more = ("--session", session, "-m", "And now?")
            done = await chat(tmp_path, server.base_url, *more, stderr=subprocess.STDOUT)
        first, remark, *_ = done.stdout.splitlines()
        assert first == "From a part."
        assert remark.startswith("The server had read only a part")

    asyncio.run(main())


def test_a_session_that_another_program_writes_is_refused(tmp_path: Path) -> None:
    async def main() -> None:
        session = await talked(tmp_path, 1, 10)
        more = ("--session", session, "-m")
        async with FakeServer(Reply(events=[chunk({"content": "Well"}), 60.0])) as server:
            child = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "app", "chat", str(tmp_path / "ws"), *more, "Tell me",
                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                env=surroundings(tmp_path, server.base_url),
            )  # fmt: skip
            assert child.stdout is not None
            assert await child.stdout.readexactly(4) == b"Well"
            done = await chat(tmp_path, server.base_url, *more, "Me, too", "--json")
            child.send_signal(signal.SIGINT)
            await asyncio.wait_for(child.communicate(), 20)
        assert done.returncode == 1, "no model has failed"
        assert "another" in done.stderr.lower()
        assert len(server.requests) == 1
        assert "Traceback" not in done.stderr

    asyncio.run(main())


def test_a_model_that_fails_and_a_message_that_is_too_long(tmp_path: Path) -> None:
    async def main() -> None:
        session = await talked(tmp_path, 1, 10)
        broken = error(401, {"error": {"message": "no such key"}})
        async with FakeServer(broken) as server:
            more = ("--session", session, "-m")
            failed = await chat(tmp_path, server.base_url, *more, "Hi", "--json")
            long = await chat(tmp_path, server.base_url, *more, "a b c d " * 10_000)
        assert (failed.returncode, json.loads(failed.stdout)["reply"]) == (4, "")
        assert long.returncode == 1
        assert "too long for this model" in long.stderr
        assert "input field" not in long.stderr, "there is none here"
        assert len(server.requests) == 1

    asyncio.run(main())
