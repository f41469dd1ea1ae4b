"""The journals of memory work: what is dropped from them, and what is never touched."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from app.engine.memory.journal import KEEP_JOBS, DiskJournal, RunLog
from app.engine.workspace.layout import Layout, ensure

OLD, NEW = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 6, 2, tzinfo=UTC)
STRANGE = b'{"type":"call","time":"half a li\n'


def workspace(folder: Path) -> Layout:
    layout = Layout.at(folder)
    ensure(layout)
    return layout


def test_old_runs_are_set_aside_and_new_ones_stay(tmp_path: Path) -> None:
    layout = workspace(tmp_path)
    runs = RunLog(layout)
    for run, when in (("r-1", OLD), ("r-2", NEW)):
        runs.record_move(run, when, "archive", "memory/a.md", "memory/archive/a.md", "It is old.")
    assert runs.set_aside(NEW, tmp_path / "aside.jsonl") == 1
    assert [move.run for move in runs.moved()] == ["r-2"]
    assert b'"r-1"' in (tmp_path / "aside.jsonl").read_bytes()


@pytest.mark.parametrize("strange", [STRANGE, b'{"type":"call"}\n', b"[1]\n"])
def test_a_run_log_that_is_not_understood_whole_is_left_as_it_is(
    tmp_path: Path, strange: bytes
) -> None:
    layout = workspace(tmp_path)
    runs = RunLog(layout)
    runs.record_move("r-1", OLD, "archive", "memory/a.md", "memory/archive/a.md", "It is old.")
    with layout.runs.open("ab") as file:
        file.write(strange)
    before = layout.runs.read_bytes()
    assert runs.set_aside(NEW, tmp_path / "aside.jsonl") == 0
    assert layout.runs.read_bytes() == before
    assert not (tmp_path / "aside.jsonl").exists()


def long_jobs(layout: Layout) -> bytes:
    """More ended jobs than are kept, in a file large enough to be looked at."""
    lines: list[bytes] = []
    for n in range(KEEP_JOBS + 10):
        lines.append(b'{"id":"j-%d","event":"added","text":"%s"}\n' % (n, b"x" * 2_000))
        if n != 3:  # one that never ended
            lines.append(b'{"id":"j-%d","event":"ended"}\n' % n)
    layout.jobs.parent.mkdir(parents=True, exist_ok=True)
    return b"".join(lines)


def test_long_ended_jobs_are_dropped_and_waiting_ones_never(tmp_path: Path) -> None:
    layout = workspace(tmp_path)
    layout.jobs.write_bytes(long_jobs(layout))
    journal = DiskJournal(layout)
    assert journal.claim()
    kept = {str(record["id"]) for record in journal.read()}
    journal.release()
    assert "j-3" in kept
    assert len(kept) == KEEP_JOBS + 1
    assert {"j-0", "j-8"}.isdisjoint(kept)
    assert f"j-{KEEP_JOBS + 9}" in kept


def test_jobs_that_are_not_understood_whole_are_left_as_they_are(tmp_path: Path) -> None:
    layout = workspace(tmp_path)
    layout.jobs.write_bytes(before := long_jobs(layout) + STRANGE)
    journal = DiskJournal(layout)
    assert journal.claim()
    journal.release()
    assert layout.jobs.read_bytes() == before
