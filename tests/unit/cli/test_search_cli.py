"""`search` on the command line: a line's other places, and words to try instead."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.helpers.searching import put


def cli(root: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    known = {k: v for k, v in os.environ.items() if not k.startswith(("PALIMPSEST_", "OPENAI_"))}
    own = {"PALIMPSEST_DATA": str(root / "d"), "PALIMPSEST_CONFIG": str(root / "c")}
    return subprocess.run(
        [sys.executable, "-m", "app", *arguments],
        capture_output=True, text=True, env=known | own | more, timeout=60, check=False,
    )  # fmt: skip


def test_places_and_nearest_words_are_told(tmp_path: Path) -> None:
    folder = tmp_path / "ws"
    assert cli(tmp_path, "init", str(folder)).returncode == 0
    put(folder, "MEMORY.md", "- The pump runs 4 minutes\n")
    put(folder, "memory/2026-06-02.md", "- The pump runs 4 minutes\n")

    def asked(*arguments: str) -> dict[str, Any]:
        return json.loads(cli(tmp_path, "search", str(folder), *arguments, "--json").stdout)

    found = asked("When does the pump run?", "--natural")
    (hit,) = found["hits"]
    assert hit["path"] == "MEMORY.md"
    assert ["memory/2026-06-02.md", 1] in hit["places"]
    assert found["total"] == 1 + len(hit["places"])
    nothing = asked("pmup")
    assert nothing["hits"] == []
    assert nothing["reason"]
    assert nothing["nearest"] == ["pump"]
    told = cli(tmp_path, "search", str(folder), "pmup").stdout
    assert "Near: pump" in told


def test_layers_and_limits_are_kept_and_wrong_ones_refused(tmp_path: Path) -> None:
    folder = tmp_path / "ws"
    assert cli(tmp_path, "init", str(folder)).returncode == 0
    put(folder, "MEMORY.md", "- The pump is red\n")
    put(folder, "memory/2026-06-02.md", "- The pump is new\n- The pump is loud\n")

    def asked(*arguments: str) -> dict[str, Any]:
        done = cli(tmp_path, "search", str(folder), *arguments, "--json")
        assert (done.returncode, done.stderr) == (0, "")
        return json.loads(done.stdout)

    found = asked("pump", "--in", "daily", "--limit", "1")
    (hit,) = found["hits"]
    assert (hit["layer"], hit["path"], found["total"], found["mode"]) == (
        "daily", "memory/2026-06-02.md", 2, "words",
    )  # fmt: skip
    ((start, end),) = hit["spans"]
    assert hit["text"][start:end] == "pump"
    assert {"line", "session", "entry", "when", "score"} <= hit.keys()
    assert asked("pump", "--in", "sessions")["reason"].startswith("The filters leave out")
    assert cli(tmp_path, "search", str(folder), "pump", "--in", "nowhere").returncode == 2
    assert cli(tmp_path, "search", str(tmp_path / "none"), "pump").returncode == 3


def test_words_that_begin_with_a_minus_are_words_of_the_query(tmp_path: Path) -> None:
    folder = tmp_path / "ws"
    assert cli(tmp_path, "init", str(folder)).returncode == 0
    put(folder, "MEMORY.md", "- The pump is red\n- The pump at home\n- A pear -> an apple\n")

    def found(*arguments: str) -> list[int]:
        done = cli(tmp_path, "search", str(folder), "in:memory", *arguments)
        assert (done.returncode, done.stderr) == (0, ""), arguments
        return [int(line.split("#")[1].split(":")[0]) for line in done.stdout.splitlines()[:-1]]

    assert found("pump", "-home") == [1]
    assert found("-home", "pump", "--limit", "5") == [1]
    assert found("--in", "memory", "-home pump") == [1]
    assert sorted(found("-pump", "--in", "memory")) == [3]
    assert found("the", "pump", "red") == [1]
    env = {"PALIMPSEST_WORKSPACE": str(folder)}
    done = cli(tmp_path, "search", "the", "in:memory", "--limit", "5", "red", "-home", **env)
    assert done.stdout.startswith("MEMORY.md#1")
    wrong = cli(tmp_path, "search", str(folder), "pump", "--naturally")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "--naturally" in wrong.stderr
    assert "-word" in cli(tmp_path, "search", "-h").stdout


def test_files_that_are_not_indexed_are_named_with_the_reason(tmp_path: Path) -> None:
    folder = tmp_path / "ws"
    assert cli(tmp_path, "init", str(folder)).returncode == 0
    put(folder, "memory/2026-06-01.md", "- The pump is new\n")
    put(folder, "memory/2026-06-02.md", "").write_bytes("- 港口\n".encode("gbk"))
    put(folder, "memory/archive/2025-06-02.md", "").write_bytes("- The pump\n".encode("utf-16"))
    told = json.loads(cli(tmp_path, "index", str(folder), "--json").stdout)["left_out"]
    assert [(one["path"], "UTF-16" in one["why"]) for one in told] == [
        ("memory/2026-06-02.md", False), ("memory/archive/2025-06-02.md", True),
    ]  # fmt: skip
    said = cli(tmp_path, "index", str(folder)).stdout.splitlines()
    assert said[1:] == [f"Not indexed: {one['path']} {one['why']}." for one in told]
    found = json.loads(cli(tmp_path, "doctor", str(folder), "--json").stdout)["findings"]
    paths = [one["where"] for one in found]
    assert all(paths.count(one["path"]) == 1 for one in told), "each is told once"


def test_the_index_says_what_it_holds_and_why_it_cannot_be_built(tmp_path: Path) -> None:
    folder = tmp_path / "ws"
    assert cli(tmp_path, "init", str(folder)).returncode == 0
    put(folder, "MEMORY.md", "- The pump is red\n")
    for more in ([], ["--rebuild"]):
        done = cli(tmp_path, "index", str(folder), *more, "--json")
        told = json.loads(done.stdout)
        assert (done.returncode, done.stderr, told["state"]) == (0, "", "done")
        assert told["files"] >= 1
        assert told["terms"] >= 4
        assert told["seconds"] >= 0
    database = folder / ".palimpsest/index.db"
    database.unlink()
    put(folder, ".palimpsest/index.db/in-the-way", "")
    done = cli(tmp_path, "index", str(folder), "--rebuild")
    assert (done.returncode, done.stdout) == (1, "")
    assert "index" in done.stderr
    assert "Traceback" not in done.stderr
    done = cli(tmp_path, "search", str(folder), "pump")
    assert "MEMORY.md#1: - The pump is red" in done.stdout


def test_how_many_hits_are_listed_and_what_was_no_filter_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "ws"
    assert cli(tmp_path, "init", str(folder)).returncode == 0
    put(folder, "memory/2026-06-02.md", "- The pump is red\n- The pump is new\n- A lamp\n")

    def said(*arguments: str) -> tuple[str, str]:
        done = cli(tmp_path, "search", str(folder), *arguments)
        assert done.returncode == 0
        return done.stdout.splitlines()[-1], done.stderr.strip()

    assert said("lamp") == ("1 hit (words)", "")
    assert said("pump") == ("2 hits (words)", "")
    assert said("pump", "--limit", "1") == ("1 of 2 hits (words)", "")
    last, told = said("pump", "day:2025-13")
    assert last.startswith("2 hits")
    assert told.startswith("“2025-13” is no day: year, year-month or year-month-day.")
    assert said("drum", "role:tol")[1].startswith("“tol” is no role")
    assert said("role:system", "pump")[0] == "The filters leave out 2 matches."


def test_a_word_that_is_no_folder_and_no_command_names_the_commands(tmp_path: Path) -> None:
    done = cli(tmp_path, "nonsense", QT_QPA_PLATFORM="offscreen")
    assert done.returncode == 3
    assert "is no folder" in done.stderr
    assert "Nor is nonsense a command; these are: init, chat," in done.stderr
    done = cli(tmp_path, str(tmp_path / "nowhere"), QT_QPA_PLATFORM="offscreen")
    assert done.returncode == 3
    assert "command" not in done.stderr
