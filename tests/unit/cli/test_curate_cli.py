"""Curation from the command line, as processes: versions, losses, a run again, what is put away."""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from app.engine.memory.review import accept_all
from tests.helpers.commands import command, told
from tests.helpers.consolidating import Desk
from tests.helpers.fake_server import FakeServer, say

BASE = "# Memory\n\n## People\n- Bo lives in Porto\n- Ines likes green tea\n"
NOW = datetime.now(UTC)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "ws"


def cli(
    folder: Path, name: str, *arguments: str, typed: str = "", **more: str
) -> CompletedProcess[str]:
    return command(folder.parent, name, str(folder), *arguments, typed=typed, **more)


def dropped(folder: Path) -> str:
    """A workspace whose second version, applied from a run, dropped a line; the run."""
    desk = Desk(folder, BASE.replace("- Bo lives in Porto\n", "").strip(), prepare=BASE)
    desk.writer.notice_external(when=NOW - timedelta(hours=3))
    desk.flush("- Ines likes green tea", at=NOW - timedelta(hours=2))
    run = asyncio.run(desk.run(NOW - timedelta(hours=1), manual=True)).run
    desk.review.apply(run, accept_all(desk.review.show(run).changes), when=NOW)
    return run


def test_a_loss_is_listed_compared_and_brought_back(folder: Path) -> None:
    run = dropped(folder)
    (loss,) = told(cli(folder, "history", "--losses", "--json"))
    assert loss["text"] == "- Bo lives in Porto"
    assert (loss["section"], loss["version"], loss["line"]) == ("People", 1, 4)
    assert (loss["dropped_by"]["version"], loss["dropped_by"]["run"]) == (2, run)
    (change,) = told(cli(folder, "diff", "1", "2", "--json"))
    assert (change["n"], change["kind"], change["before"], change["after"], change["sources"]) == (
        1, "dropped", ["- Bo lives in Porto"], [], [],
    )  # fmt: skip
    shown = cli(folder, "history", "--losses").stdout
    assert "version 1, line 4: - Bo lives in Porto\n      gone since" in shown
    assert told(cli(folder, "restore", "1", "--line", "4", "--json")) == {"version": 3}
    assert (folder / "MEMORY.md").read_text(encoding="utf-8") == BASE
    assert "Nothing was lost." in cli(folder, "history", "--losses").stdout
    again = cli(folder, "restore", "1", "--line", "4")
    assert again.returncode == 1
    assert "holds that line" in again.stderr
    keys = {"version", "when", "cause", "run", "model", "added", "dropped"}
    versions = told(cli(folder, "history", "--json"))
    assert [(v["version"], v["cause"]) for v in versions] == [
        (3, "restored"), (2, "consolidation"), (1, "start"),
    ]  # fmt: skip
    assert all(set(v) == keys and datetime.fromisoformat(v["when"]).tzinfo for v in versions)


def test_why_names_log_session_run_and_model(folder: Path) -> None:
    desk = Desk(folder, BASE + "- Kim plays chess on Fridays", prepare=BASE)
    desk.flush("- Kim plays chess on Fridays", at=NOW - timedelta(hours=1))
    run = asyncio.run(desk.run(NOW)).run
    if desk.store.load(run).state == "proposed":
        desk.review.apply(run, accept_all(desk.review.show(run).changes), when=NOW)
    line = desk.memory.split("\n").index("- Kim plays chess on Fridays") + 1
    why = told(cli(folder, "why", str(line), "--json"))
    assert (why["line"], why["text"]) == (line, "- Kim plays chess on Fridays")
    assert (why["run"], why["model"], why["since"]["run"]) == (run, "scripted", run)
    (source,) = why["sources"]
    assert (source["session_id"], source["entry_id"]) == ("s-1", "u-1")
    assert source["text"] == "- Kim plays chess on Fridays"
    assert (folder / source["path"]).read_text().split("\n")[source["line"] - 1] == source["text"]


def test_a_run_again_by_another_model_is_compared(folder: Path) -> None:
    desk = Desk(folder, BASE + "- Kim plays chess", prepare=BASE, policy="review")
    desk.flush("- Kim plays chess on Fridays", at=NOW - timedelta(hours=1))
    first = asyncio.run(desk.run(NOW)).run
    assert cli(folder, "consolidate", "--again", first).returncode == 2

    async def main() -> CompletedProcess[str]:
        async with FakeServer(say(BASE + "- Kim plays chess on Fridays")) as server:
            done = await asyncio.to_thread(
                cli, folder, "consolidate", "--again", first, "--model", "flag:other", "--json",
                PALIMPSEST_ENDPOINT=server.base_url, PALIMPSEST_MODEL="small",
            )  # fmt: skip
            assert server.requests[0].body["model"] == "other"
            return done

    made = told(asyncio.run(main()))
    assert (made["again_of"], made["state"], made["applied"]) == (first, "proposed", None)
    assert [c["kind"] for c in made["changes"]] == ["added"]
    assert [(c["kind"], c["before"], c["after"]) for c in made["compared"]] == [
        ("reworded", ["- Kim plays chess"], ["- Kim plays chess on Fridays"])
    ]
    listed = told(cli(folder, "proposals", "--json"))
    assert [(p["id"], p["again_of"]) for p in listed] == [(made["proposal"], first), (first, "")]
    unknown = cli(folder, "consolidate", "--again", first, "--model", "nobody")
    assert unknown.returncode == 1
    assert "Traceback" not in unknown.stderr


def test_statistics_of_what_was_accepted(folder: Path) -> None:
    run = dropped(folder)
    (row,) = told(cli(folder, "proposals", "--statistics", "--json"))
    assert (row["model"], row["curator"], row["proposals"]) == ("scripted", "llm", 1)
    assert (row["accepted"], row["rejected"], row["edited"]) == (1, 0, 0)
    assert " 100% accepted  1 yes" in cli(folder, "proposals", "--statistics").stdout
    assert f"{run}  applied" in cli(folder, "proposals").stdout


def test_consolidate_apply_says_what_was_written(folder: Path) -> None:
    desk = Desk(folder, prepare=BASE)
    desk.flush("- Kim plays chess on Fridays", at=NOW - timedelta(hours=1))
    done = told(cli(folder, "consolidate", "--apply", "--json"))
    assert (done["state"], done["applied"]["version"]) == ("applied", 2)
    assert all(set(check) == {"name", "ok", "detail"} for check in done["checks"])
    assert "Kim plays chess" in (folder / "MEMORY.md").read_text(encoding="utf-8")
    nothing = told(cli(folder, "consolidate", "--json"))
    assert (nothing["proposal"], nothing["changes"], nothing["applied"]) == (None, [], None)


def evicted_files(folder: Path, count: int) -> list[Path]:
    """Files that nobody names any more, one older than the other by ten days."""
    cli(folder, "init")
    made: list[Path] = []
    for n in range(count):
        path = folder / "large_tool_results" / "palimpsest" / f"call{n}-{n:016x}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x" * 100)
        old = (NOW - timedelta(days=10 * n, hours=1)).timestamp()
        os.utime(path, (old, old))
        made.append(path)
    return made


def test_evicted_results_are_cleaned_only_after_a_yes(folder: Path) -> None:
    new, middle, old = evicted_files(folder, 3)
    rows = told(cli(folder, "evicted", "--orphans", "--json"))
    assert {row["state"] for row in rows} == {"orphan"}
    assert cli(folder, "evicted", "--clean").returncode == 2
    asked = cli(folder, "evicted", "--clean", "--older-than", "5", typed="y\n")
    assert asked.returncode == 1  # nobody sits at a pipe
    assert str(old.name) in asked.stdout
    assert "--yes" in asked.stderr
    assert old.exists()
    done = told(cli(folder, "evicted", "--clean", "--older-than", "5", "--yes", "--json"))
    assert (done["moved"], done["bytes"]) == (2, 200)
    assert [p.exists() for p in (new, middle, old)] == [True, False, False]
    assert len(list((folder / ".palimpsest" / "trash").glob("*/*call*"))) == 2
    none = told(cli(folder, "evicted", "--clean", "--older-than", "5", "--json"))
    assert none == {"moved": 0, "bytes": 0, "files": []}


def test_what_is_too_old_moves_only_after_its_list_was_shown(folder: Path) -> None:
    desk = Desk(folder)
    old = datetime.now().astimezone() - timedelta(days=200)
    desk.flush("- an old fact", at=old)
    day = desk.layout.daily(old.date())
    held = told(cli(folder, "maintain", "--json"))
    assert (held["state"], held["held"], held["moves"]) == ("done", True, [])
    assert "1 file is due. Nothing is put away until you have seen the list" in held["result"]
    assert day.exists()
    shown = cli(folder, "maintain", "--dry-run", "--json")
    would = told(shown)
    assert [(m["step"], m["path"]) for m in would["moves"]] == [("archive", f"memory/{day.name}")]
    assert would["held"] is True
    assert "You have seen the list" in shown.stderr
    assert day.exists()
    moved = told(cli(folder, "maintain", "--json"))
    assert [m["step"] for m in moved["moves"]] == ["archive"]
    assert not day.exists()
    assert (desk.layout.archive_dir / day.name).exists()
