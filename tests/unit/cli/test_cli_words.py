"""What every command owes: its keys in `--help`, a reason on stderr, the right exit code."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from app.cli import COMMANDS, run
from app.cli.command import find, parser_for
from tests.helpers.commands import command, told
from tests.helpers.consolidating import Desk
from tests.helpers.fake_server import say
from tests.helpers.workspaces import engine_on, without_memory

BASE = "# Memory\n\n- Bo lives in Porto\n- Ines likes green tea\n"
NOW = datetime.now(UTC)


def lived_in(folder: Path) -> tuple[str, str]:
    """A workspace with a session, a version and a proposal that waits; both ids."""
    desk = Desk(folder, BASE + "- Kim plays chess", prepare=BASE, policy="review")
    desk.writer.notice_external(when=NOW - timedelta(hours=1))
    desk.flush("- Kim plays chess", at=NOW - timedelta(minutes=30))
    run = asyncio.run(desk.run(NOW)).run

    async def talk() -> str:
        async with engine_on(folder, say("Hello."), config=without_memory()) as desk:
            assert (await desk.send("Hi")).state == "finished"
            return desk.session

    return asyncio.run(talk()), run


def keys(value: Any) -> set[str]:
    """The keys of a document, of the rows of a list, and of the rows under a key."""
    if isinstance(value, list):
        return set[str]().union(*map(keys, value))
    if not isinstance(value, dict):
        return set()
    return set(value) | set[str]().union(*(keys(v) for v in value.values() if isinstance(v, list)))


def test_help_names_the_keys_that_json_gives(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DATA", "CONFIG"):
        monkeypatch.setenv(f"PALIMPSEST_{name}", str(tmp_path / name))
    for name in ("WORKSPACE", "ENDPOINT", "MODEL"):
        monkeypatch.delenv(f"PALIMPSEST_{name}", raising=False)
    ws = str(tmp_path / "ws")
    session, proposal = lived_in(tmp_path / "ws")
    lines = [
        ["init", ws], ["sessions", ws], ["context", ws, session], ["export", ws],
        ["compact", ws, session, "--dry-run"], ["flush", ws, session], ["proposals", ws],
        ["review", ws, proposal], ["proposals", ws, "--statistics"], ["diff", ws, "1"],
        ["review", ws, proposal, "--accept", "all"], ["consolidate", ws], ["history", ws],
        ["restore", ws, "1"], ["history", ws, "--losses"], ["why", ws, "3"],
        ["search", ws, "tea"], ["index", ws], ["evicted", ws], ["doctor", ws],
        ["maintain", ws], ["maintain", ws, "--dry-run"],
    ]  # fmt: skip
    for line in lines:
        assert run([*line, "--json"]) == 0, line
        said = keys(json.loads(capsys.readouterr().out))
        spelled = parser_for(find(line[0])).format_help()
        assert {key for key in said if key not in spelled} == set(), line
    assert {line[0] for line in lines} == set(COMMANDS) - {
        "chat",
        "show",
        "models",
        "import",
        "tour",
    }


def test_a_workspace_named_by_the_environment_is_left_out(tmp_path: Path) -> None:
    session, _ = lived_in(tmp_path / "ws")
    known = {"PALIMPSEST_WORKSPACE": str(tmp_path / "ws")}
    (row,) = told(command(tmp_path, "export", session, "--json", **known))
    assert row["session"] == session
    assert told(command(tmp_path, "diff", "1", "--json", **known)) == []
    assert command(tmp_path, "diff", "7", "8", **known).returncode == 1
    elsewhere = command(tmp_path, "sessions", str(tmp_path / "nowhere"), **known)
    assert elsewhere.returncode == 3, "what is named on the line is never replaced"
    assert command(tmp_path, "init", str(tmp_path / "new"), **known).returncode == 0
    assert (tmp_path / "new" / "AGENTS.md").is_file()


def test_what_did_not_happen_says_so_on_stderr(tmp_path: Path) -> None:
    session, proposal = lived_in(tmp_path / "ws")
    ws = str(tmp_path / "ws")
    for line, code, word in (
        (["compact", ws, session], 1, "Nothing was summarised"),
        (["why", ws, "99"], 1, "no such line"),
        (["review", ws, proposal, "--accept", "9"], 1, "no change 9"),
        (["review", ws, proposal, "--accept", "one"], 2, "no list of numbers"),
        (["review", ws, proposal, "--edit", "1"], 2, "N=TEXT"),
        (["review", ws, proposal, "--accept", "1", "--reject", "1"], 2, "both"),
        (["serach", ws, "tea"], 2, "no command serach"),
        (["sessions", ws, "tea"], 2, "unrecognized"),
    ):
        done = command(tmp_path, *line)
        assert (done.returncode, done.stdout) == (code, ""), line
        assert word in done.stderr
        assert "Traceback" not in done.stderr


def test_a_memory_file_that_cannot_be_read_is_no_model_failure_and_no_loss(tmp_path: Path) -> None:
    lived_in(tmp_path / "ws")
    ws, file = str(tmp_path / "ws"), tmp_path / "ws" / "MEMORY.md"
    raw = BASE.encode("utf-16")
    file.write_bytes(raw)
    for line in (["diff", ws], ["why", ws, "3"], ["consolidate", ws], ["doctor", ws]):
        done = command(tmp_path, *line)
        assert done.returncode == 1, line
        assert "UTF-16" in done.stdout + done.stderr
        assert "dropped" not in done.stdout
    assert file.read_bytes() == raw


def test_a_workspace_of_a_newer_version_is_read_and_never_written(tmp_path: Path) -> None:
    session, proposal = lived_in(tmp_path / "ws")
    ws, own = str(tmp_path / "ws"), tmp_path / "ws" / ".palimpsest" / "format"
    own.write_text("99\n")
    kept = {path: path.read_bytes() for path in (tmp_path / "ws").rglob("*.jsonl")}
    for line in (["sessions", ws], ["show", ws, session], ["history", ws], ["export", ws]):
        done = command(tmp_path, *line)
        assert (done.returncode, bool(done.stdout)) == (0, True)
        assert "newer version" in done.stderr
    for line in (
        ["init", ws], ["chat", ws, "-m", "Hi"], ["consolidate", ws], ["restore", ws, "1"],
        ["maintain", ws], ["review", ws, proposal, "--accept", "all"],
    ):  # fmt: skip
        done = command(tmp_path, *line)
        assert (done.returncode, done.stdout) == (3, ""), line
        assert "newer version" in done.stderr
        assert "Open a copy" in done.stderr
    assert own.read_text() == "99\n"
    assert {path: path.read_bytes() for path in kept} == kept
