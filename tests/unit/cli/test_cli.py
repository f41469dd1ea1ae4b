"""The engine from the command line, as a process: output, JSON, exit codes, no Qt."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest

from tests.helpers.commands import command
from tests.helpers.fake_server import FakeServer, error, say


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "ws"


def cli(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """One command as a process."""
    return command(folder.parent, *arguments)


async def cli_async(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return await asyncio.to_thread(cli, folder, *arguments)


async def told(folder: Path, *arguments: str) -> str:
    """What a command that must succeed says; its own words when it does not."""
    done = await cli_async(folder, *arguments)
    assert done.returncode == 0, (arguments, done.stdout, done.stderr)
    return done.stdout


def test_init_makes_a_workspace_and_refuses_a_full_folder(folder: Path) -> None:
    made = cli(folder, "init", str(folder), "--json")
    assert made.returncode == 0
    assert "AGENTS.md" in json.loads(made.stdout)["paths"]
    full = folder.parent / "full"
    full.mkdir()
    (full / "letter.txt").write_text("Dear", encoding="utf-8")
    refused = cli(folder, "init", str(full))
    assert refused.returncode == 1
    assert "--here" in refused.stderr
    assert cli(folder, "init", str(full), "--here").returncode == 0
    assert (full / "letter.txt").read_text(encoding="utf-8") == "Dear"


def test_a_turn_its_log_and_what_was_found(folder: Path) -> None:
    async def main() -> None:
        async with FakeServer(say("Hello ", "Ada.")) as server:
            await cli_async(folder, "init", str(folder))
            fact = "My name is Ada and I prefer tea."
            done = await cli_async(
                folder, "chat", str(folder), "-m", fact, "--endpoint", server.base_url,
                "--model", "fake-model", "--json",
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
            turn = json.loads(done.stdout)
            assert turn["reply"] == "Hello Ada."
            kept = [job["result"] for job in turn["jobs"] if job["kind"] == "flush"]
            assert kept
            assert done.stderr.splitlines() == [f"flush done: {result}" for result in kept]
            assert {job["state"] for job in turn["jobs"]} <= {"done", "skipped"}
            listed = json.loads((await cli_async(folder, "sessions", str(folder), "--json")).stdout)
            assert [(s["id"], s["title"]) for s in listed] == [(turn["session"], fact)]
            shown = await cli_async(folder, "show", str(folder), turn["session"], "--json")
            rows = [json.loads(line) for line in shown.stdout.splitlines()]
            said = [(r["role"], r["content"]) for r in rows if r["type"] == "message"]
            assert said == [("USER", fact), ("ASSISTANT", "Hello Ada.")]
            assert datetime.fromisoformat(listed[0]["last"]).tzinfo
            found = json.loads(
                (await cli_async(folder, "search", str(folder), "tea", "--json")).stdout
            )
            assert {h["layer"] for h in found["hits"]} >= {"sessions", "daily"}
            part = found["hits"][0]
            start, end = part["spans"][0]
            assert part["text"][start:end].lower() == "tea"

    asyncio.run(main())


def test_review_from_the_command_line(folder: Path) -> None:
    async def main() -> None:
        async with FakeServer(say("Hello.")) as server:
            await told(folder, "init", str(folder))
            text = "I prefer tea over coffee. My deadline is 5 December."
            await told(
                folder, "chat", str(folder), "-m", text, "--endpoint", server.base_url,
                "--model", "fake-model",
            )  # fmt: skip
        listed = json.loads(await told(folder, "proposals", str(folder), "--json"))
        proposal = listed[0]["id"]
        shown = await told(folder, "review", str(folder), proposal, "--json")
        changes = json.loads(shown)["changes"]
        tea = next(c["n"] for c in changes if "tea" in str(c["after"]))
        rest = ",".join(str(c["n"]) for c in changes if c["n"] != tea)
        done = await told(
            folder, "review", str(folder), proposal, "--accept", str(tea), "--reject", rest,
            "--json",
        )  # fmt: skip
        assert json.loads(done) == {"version": 1, "rest": 0, "state": "partly_applied"}
        memory = (folder / "MEMORY.md").read_text(encoding="utf-8")
        assert "tea" in memory
        assert "deadline" not in memory
        history = json.loads(await told(folder, "history", str(folder), "--json"))
        assert [(v["version"], v["cause"]) for v in history] == [(1, "consolidation")]
        again = await cli_async(folder, "review", str(folder), proposal, "--accept", "all")
        assert again.returncode == 1
        assert "Traceback" not in again.stderr

    asyncio.run(main())


def test_failures_are_sentences_with_their_exit_code(folder: Path) -> None:
    async def main() -> None:
        nothing = await cli_async(folder, "sessions", str(folder))
        assert nothing.returncode == 3
        assert "palimpsest init" in nothing.stderr
        await cli_async(folder, "init", str(folder))
        unknown = await cli_async(folder, "flush", str(folder), "s-none")
        assert unknown.returncode == 1
        wrong = await cli_async(folder, "chat", str(folder))
        assert wrong.returncode == 2
        async with FakeServer(error(401, {"error": {"message": "no such key"}})) as server:
            failed = await cli_async(
                folder, "chat", str(folder), "-m", "Hi", "--endpoint", server.base_url,
                "--model", "fake-model",
            )  # fmt: skip
        assert failed.returncode == 4
        for one in (nothing, unknown, failed):
            assert "Traceback" not in one.stderr
            assert one.stderr.strip()

    asyncio.run(main())


def test_help_names_every_command_and_loads_no_qt(folder: Path) -> None:
    overview = cli(folder, "--help").stdout
    for name in ("chat", "review", "search", "tour"):
        assert f"  {name}" in overview
    code = "import sys, app.cli.command as c; c.overview(); import app.engine.engine;"
    code += "print([m for m in sys.modules if m.startswith(('PySide6', 'qasync'))])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert out.stdout.strip() == "[]", out.stderr
