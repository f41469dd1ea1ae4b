"""The command line where it is hardest to be polite: pipes, signals, locales, odd answers."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.commands import command, environment
from tests.helpers.fake_server import FakeServer, Reply, chunk, say


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    assert command(tmp_path, "init", str(folder)).returncode == 0
    return folder


def said_to(server: FakeServer, folder: Path, text: str) -> list[str]:
    return [
        "chat", str(folder), "-m", text, "--no-wait",
        "--endpoint", server.base_url, "--model", "fake-model",
    ]  # fmt: skip


@pytest.mark.parametrize("arguments", [["--help"], ["models", "--json"]])
def test_a_reader_that_went_away_is_silence(tmp_path: Path, arguments: list[str]) -> None:
    away, to_it = os.pipe()
    os.close(away)
    done = subprocess.run(
        [sys.executable, "-m", "app", *arguments],
        stdout=to_it,
        stderr=subprocess.PIPE,
        env=environment(tmp_path),
        timeout=60,
    )
    os.close(to_it)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_reply_is_kept_whole_when_its_reader_went_away(workspace: Path) -> None:
    async def main() -> None:
        async with FakeServer(say("Hello ", "Ada", ".")) as server:
            away, to_it = os.pipe()
            os.close(away)
            child = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "app", *said_to(server, workspace, "Hi"),
                stdout=to_it, stderr=subprocess.PIPE, env=environment(workspace.parent),
            )  # fmt: skip
            os.close(to_it)
            _, told = await child.communicate()
        assert (child.returncode, told) == (0, b"")
        session = json.loads(command(workspace.parent, "sessions", str(workspace), "--json").stdout)
        shown = command(workspace.parent, "show", str(workspace), session[0]["id"]).stdout
        assert "Hello Ada." in shown

    asyncio.run(main())


def test_half_a_character_in_a_reply_is_shown_as_a_mark(workspace: Path) -> None:
    async def main() -> None:
        async with FakeServer(say("a \ud83d b")) as server:
            words = said_to(server, workspace, "Hi")
            done = await asyncio.to_thread(command, workspace.parent, *words)
        assert done.returncode == 0
        assert done.stderr == ""
        assert done.stdout.startswith("a ")
        assert done.stdout.rstrip().endswith(" b")

    asyncio.run(main())


def test_chinese_survives_an_ascii_locale(workspace: Path) -> None:
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}

    async def main() -> None:
        async with FakeServer(say("温室很好。")) as server:
            words = said_to(server, workspace, "你好，温室怎么样？")
            done = await asyncio.to_thread(lambda: command(workspace.parent, *words, **plain))
        assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "温室很好。", "")
        assert server.requests[0].body["messages"][-1]["content"] == "你好，温室怎么样？"
        found = command(workspace.parent, "search", str(workspace), "温室", "--json", **plain)
        assert json.loads(found.stdout)["total"] >= 2

    asyncio.run(main())


def test_an_interrupted_turn_ends_with_130_and_keeps_the_question(workspace: Path) -> None:
    async def main() -> None:
        async with FakeServer(Reply(events=[chunk({"content": "Well"}), 30.0])) as server:
            child = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "app", *said_to(server, workspace, "Tell me"),
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(workspace.parent),
            )  # fmt: skip
            assert child.stdout is not None
            assert await child.stdout.readexactly(4) == b"Well"
            child.send_signal(signal.SIGINT)
            _, told = await asyncio.wait_for(child.communicate(), 20)
        assert (child.returncode, told) == (130, b"")
        listed = json.loads(command(workspace.parent, "sessions", str(workspace), "--json").stdout)
        assert listed[0]["title"] == "Tell me"

    asyncio.run(main())


def test_nothing_is_sent_when_there_is_nothing_to_send(workspace: Path) -> None:
    async def main() -> None:
        async with FakeServer(say("ok")) as server:
            words = said_to(server, workspace, " \n ")
            done = await asyncio.to_thread(command, workspace.parent, *words)
        assert done.returncode == 1
        assert "nothing to send" in done.stderr
        assert server.requests == []

    asyncio.run(main())


def test_a_flush_without_news_is_done_and_says_so(workspace: Path) -> None:
    async def main() -> None:
        async with FakeServer(say("Fine.")) as server:
            words = [w for w in said_to(server, workspace, "I prefer tea.") if w != "--no-wait"]
            done = await asyncio.to_thread(command, workspace.parent, *words, "--json")
        session = json.loads(done.stdout)["session"]
        again = await asyncio.to_thread(command, workspace.parent, "flush", str(workspace), session)
        assert again.returncode == 0
        assert again.stdout.strip()

    asyncio.run(main())


def test_export_with_json_is_one_document(workspace: Path) -> None:
    none = command(workspace.parent, "export", str(workspace), "--json")
    assert (none.returncode, json.loads(none.stdout)) == (0, [])

    async def main() -> None:
        async with FakeServer(say("Fine.")) as server:
            await asyncio.to_thread(command, workspace.parent, *said_to(server, workspace, "Hi"))

    asyncio.run(main())
    one = json.loads(command(workspace.parent, "export", str(workspace), "--json").stdout)
    assert [row["format"] for row in one] == ["md"]
    assert "Fine." in one[0]["text"]


def test_models_says_where_nobody_answers_and_fetches_only_what_is_missing(tmp_path: Path) -> None:
    nobody = command(tmp_path, "models", "--endpoint", "http://127.0.0.1:9/v1", "--json")
    assert (nobody.returncode, json.loads(nobody.stdout)) == (4, [])
    assert "http://127.0.0.1:9/v1" in nobody.stderr
    folder = tmp_path / "models"
    folder.mkdir()
    from app.engine.llm.catalogue import BUILTIN, load

    weights = load().get(BUILTIN)
    with (folder / weights.file).open("wb") as out:
        out.truncate(weights.size)
    there = command(tmp_path, "models", "--fetch", "--json", PALIMPSEST_MODELS=str(folder))
    assert there.returncode == 0
    assert json.loads(there.stdout)["path"] == str(folder / weights.file)


def test_why_of_a_line_that_is_not_there_did_not_happen(workspace: Path) -> None:
    done = command(workspace.parent, "why", str(workspace), "9999")
    assert done.returncode == 1
    assert "no such line" in done.stderr
    assert done.stdout == ""
