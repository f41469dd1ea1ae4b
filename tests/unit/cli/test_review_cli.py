"""Reviewing from the command line, as processes: parts of a merge, and a file changed meanwhile."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

from tests.helpers.commands import command
from tests.helpers.consolidating import Desk

ONE, TWO = "- Bo lives in Porto", "- Bo works at Acme"
BOTH = "- Bo lives in Porto and works at Acme"
BASE = f"# Memory\n\n{ONE}\n- tea is green\n{TWO}\n"
WANTED = f"# Memory\n\n{BOTH}\n- tea is green and hot\n"


def proposed(folder: Path) -> str:
    """A workspace whose proposal merges two lines and rewords a third."""
    desk = Desk(folder, WANTED, prepare=BASE, policy="review")
    desk.flush("- tea is green and hot")
    return asyncio.run(desk.run(datetime.now(UTC))).run


def cli(folder: Path, *arguments: str) -> CompletedProcess[str]:
    return command(folder.parent, "review", str(folder), *arguments)


def changes(done: CompletedProcess[str]) -> list[dict[str, Any]]:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["changes"]


def test_one_half_of_a_merge_is_taken(tmp_path: Path) -> None:
    folder = tmp_path / "ws"
    run = proposed(folder)
    parts = changes(cli(folder, run, "--apart", "1", "--json"))
    assert [(c["kind"], c["group"]) for c in parts] == [
        ("dropped", 1), ("added", 1), ("reworded", 0), ("dropped", 1),
    ]  # fmt: skip
    whole = changes(cli(folder, run, "--together", "4", "--json"))
    assert [c["kind"] for c in whole] == ["merged", "reworded"]
    shown = cli(folder, run, "--apart", "1").stdout
    assert "4 dropped, part of 1" in shown
    done = cli(folder, run, "--accept", "2,3", "--reject", "1,4", "--json")
    assert json.loads(done.stdout)["state"] == "partly_applied"
    memory = (folder / "MEMORY.md").read_text(encoding="utf-8")
    assert memory.split("\n")[2:] == [ONE, BOTH, "- tea is green and hot", TWO, ""]


def test_what_is_no_merge_stays_whole_and_the_reason_is_said(tmp_path: Path) -> None:
    run = proposed(tmp_path / "ws")
    done = cli(tmp_path / "ws", run, "--apart", "2")
    assert done.returncode == 1
    assert "no merge" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_line_that_changed_meanwhile_is_shown_against_the_old_one(tmp_path: Path) -> None:
    folder = tmp_path / "ws"
    run = proposed(folder)
    file = folder / "MEMORY.md"
    file.write_text(BASE.replace("tea is green", "tea is black"), encoding="utf-8")
    tea = changes(cli(folder, run, "--json"))[1]
    assert (tea["conflict"], tea["old"]) == (True, ["- tea is green"])
    assert (tea["before"], tea["after"]) == (["- tea is black"], ["- tea is green and hot"])
    shown = cli(folder, run).stdout
    assert "reworded, changed here too" in shown
    assert "      = - tea is green\n      - - tea is black\n      + - tea is green and hot" in shown
    done = cli(folder, run, "--reject", "2", "--accept", "1", "--json")
    assert done.returncode == 0, done.stderr
    assert file.read_text(encoding="utf-8") == f"# Memory\n\n{BOTH}\n- tea is black\n"
