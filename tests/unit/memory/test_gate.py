"""How often a workspace may spend on memory: one slot per purpose, shared by all who use it."""

from __future__ import annotations

import json
import multiprocessing
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from app.engine.config import FlushTrigger
from app.engine.memory.gate import Gate
from app.engine.workspace.layout import Layout

HOUR = timedelta(hours=1)


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 6, 2, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout.at(tmp_path)


@pytest.mark.case("GATE-2")
def test_one_claim_in_each_window(layout: Layout):
    gate = Gate(layout, clock=Clock())
    trigger = FlushTrigger.throttled(HOUR)
    assert [gate.admits(trigger) for _ in range(3)] == [True, False, False]


@pytest.mark.case("GATE-3")
def test_the_window_passes_in_real_time(layout: Layout):
    gate = Gate(layout)
    short, long = FlushTrigger.throttled(0.05), FlushTrigger.throttled(HOUR)
    passes = [gate.admits(short), gate.admits(long)]
    time.sleep(0.06)
    passes += [gate.admits(short), gate.admits(long)]
    assert passes == [True, False, True, False]


def test_always_and_never_need_no_slot(layout: Layout):
    gate = Gate(layout)
    assert all(gate.admits(FlushTrigger.always()) for _ in range(5))
    assert not any(gate.admits(FlushTrigger.never()) for _ in range(5))
    assert not layout.gates.exists()


def test_the_window_runs_from_the_claim_that_passed(layout: Layout):
    clock = Clock()
    gate = Gate(layout, clock=clock)
    assert gate.claim("flush", HOUR)
    clock.now += timedelta(minutes=59)
    assert not gate.claim("flush", HOUR)  # a refused claim opens nothing
    clock.now += timedelta(minutes=1)
    assert gate.claim("flush", HOUR)


@pytest.mark.case("GATE-10")
def test_purposes_never_share_a_slot(layout: Layout):
    clock = Clock()
    gate = Gate(layout, clock=clock)
    short = timedelta(seconds=1)
    for _ in range(120):  # flushes all the time
        assert gate.claim("flush", short)
        clock.now += short
    assert gate.claim("maintenance", HOUR)
    assert not gate.claim("maintenance", HOUR)
    assert gate.claim("flush", short)
    clock.now += HOUR
    assert gate.claim("maintenance", HOUR)


def _claim(root: str, go: object, won: object) -> None:
    go.wait()  # type: ignore[attr-defined]
    if Gate(Layout.at(root)).claim("flush", HOUR):
        won.put(1)  # type: ignore[attr-defined]


@pytest.mark.case("GATE-7")
def test_instances_share_the_window_in_one_process_and_in_two(tmp_path: Path):
    one, other = Layout.at(tmp_path / "one"), Layout.at(tmp_path / "other")
    assert Gate(one).claim("flush", HOUR)
    assert not Gate(one).claim("flush", HOUR)
    context = multiprocessing.get_context("spawn")
    go, won = context.Event(), context.Queue()
    go.set()
    for layout in (one, other):
        process = context.Process(target=_claim, args=(str(layout.root), go, won))
        process.start()
        process.join(60)
        assert process.exitcode == 0
    assert won.get(timeout=10) == 1  # the other workspace is independent …
    assert won.empty()
    assert not Gate(other).claim("flush", HOUR)  # … and shares its window the same way


@pytest.mark.case("GATE-9")
def test_of_two_that_claim_at_once_one_wins(layout: Layout):
    for _ in range(10):
        layout.gates.unlink(missing_ok=True)
        barrier = threading.Barrier(4)
        won: list[bool] = []

        def claim(barrier: threading.Barrier = barrier, won: list[bool] = won) -> None:
            gate = Gate(layout)
            barrier.wait()
            won.append(gate.claim("flush", HOUR))

        threads = [threading.Thread(target=claim) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(won) == [False, False, False, True]


@pytest.mark.case("GATE-8")
def test_old_entries_are_purged_and_recent_ones_stay(layout: Layout):
    clock = Clock()
    gate = Gate(layout, clock=clock)
    gate.claim("flush", HOUR)
    clock.now += timedelta(days=3)
    gate.claim("maintenance", HOUR)
    assert gate.purge(timedelta(days=1)) == 1
    assert gate.last("flush") is None
    assert gate.last("maintenance") == clock.now
    assert not gate.claim("maintenance", HOUR)
    assert gate.purge(timedelta(days=1)) == 0


@pytest.mark.case("B24")
def test_a_time_in_the_future_is_ignored_with_a_warning(
    layout: Layout, caplog: pytest.LogCaptureFixture
):
    """Without a record a claim passes (the stated behaviour of a first run); a clock that once ran
    a year ahead does not switch memory work off for a year."""
    clock = Clock()
    gate = Gate(layout, clock=clock)
    gap = timedelta(hours=6)
    assert gate.claim("maintenance", gap)  # first run
    assert not gate.claim("maintenance", gap)
    ahead = clock.now + timedelta(days=365)
    layout.gates.write_text(json.dumps({"maintenance": ahead.isoformat()}), "utf-8")
    assert gate.last("maintenance") is None
    assert gate.claim("maintenance", gap)
    assert "future" in caplog.text
    assert gate.last("maintenance") == clock.now
    assert not gate.claim("maintenance", gap)


def test_a_damaged_file_is_put_aside_and_counts_as_no_record(
    layout: Layout, caplog: pytest.LogCaptureFixture
):
    layout.dot.mkdir()
    layout.gates.write_text("{not json", "utf-8")
    gate = Gate(layout)
    assert gate.claim("flush", HOUR)
    assert not gate.claim("flush", HOUR)
    assert (layout.dot / "gates.json.damaged").read_text("utf-8") == "{not json"
    assert "gates.json" in caplog.text


def test_a_claim_can_be_given_back(layout: Layout):
    gate = Gate(layout, clock=Clock())
    assert gate.claim("flush", HOUR)
    gate.release("flush")
    assert gate.claim("flush", HOUR)
