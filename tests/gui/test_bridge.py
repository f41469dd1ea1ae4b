"""Between Qt and asyncio: owned tasks, events as signals, unhandled errors, a clean end."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest

from app.engine.events import Activity, Bus, Changed, TurnEvent
from app.gui.bridge import EngineSignals, Faults, Tasks
from app.gui.bridge.faults import text_of
from tests.helpers.waiting import until


def test_latest_cancels_the_older_one(qloop):
    ended: list[str] = []

    async def work(name: str) -> None:
        try:
            await asyncio.sleep(0.05)
            ended.append(name)
        except asyncio.CancelledError:
            ended.append(f"{name} cancelled")
            raise

    async def main() -> None:
        tasks = Tasks()
        tasks.start("other", work("other"))
        tasks.latest("search", work("old"))
        await asyncio.sleep(0.01)
        tasks.latest("search", work("new"))
        assert tasks.running("search")
        await until(lambda: not (tasks.running("search") or tasks.running("other")))

    qloop.run_until_complete(main())
    assert sorted(ended) == ["new", "old cancelled", "other"]


def test_an_error_goes_to_the_owner_once_and_cancellation_is_silent(qloop):
    failures: list[tuple[str, str]] = []

    async def fails() -> None:
        raise ValueError("no")

    async def main() -> None:
        tasks = Tasks(lambda name, error: failures.append((name, str(error))))
        tasks.start("x", fails())
        tasks.start("y", asyncio.sleep(10))
        await asyncio.sleep(0.02)
        await tasks.end()

    qloop.run_until_complete(main())
    assert failures == [("x", "no")]


def test_events_become_signals_until_stopped(qapp):
    bus = Bus()
    signals = EngineSignals(bus)
    heard: list[object] = []
    for signal in (signals.changed, signals.activity, signals.turn):
        signal.connect(heard.append)
    events = [Changed(frozenset({"jobs"})), Activity("flush", "started"), TurnEvent("s", "text")]
    for event in events:
        bus.publish(event)
    assert heard == events
    signals.stop()
    bus.publish(events[0])
    assert len(heard) == 3


def test_a_fault_is_told_once_with_a_text_to_copy(qloop, monkeypatch):
    told: list[tuple[str, str]] = []
    faults = Faults(lambda sentence, text: told.append((sentence, text)))
    faults.install(qloop)
    try:
        for _ in range(2):
            qloop.call_soon(_raise)
            qloop.run_until_complete(asyncio.sleep(0.02))
    finally:
        faults.remove()
    assert len(told) == 1
    assert told[0][0].startswith("ZeroDivisionError: ")
    assert "Traceback" in told[0][1]


def _raise() -> None:
    _ = 1 // 0


def test_the_home_folder_is_not_in_the_text(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    try:
        raise OSError(f"cannot read {tmp_path}/secret")
    except OSError as error:
        text = text_of(error)
    assert str(tmp_path) not in text
    assert "~/secret" in text


@pytest.mark.parametrize("code", [0, 3])
def test_the_loop_ends_cleanly_with_work_left(code):
    script = f"""
import asyncio
from PySide6.QtWidgets import QApplication, QWidget
app = QApplication([])
from app.gui.bridge import run
async def main():
    asyncio.ensure_future(asyncio.sleep(60))
    window = QWidget(); window.show()
    await asyncio.sleep(0.05)
    window.close()
    await asyncio.sleep(0.05)
    return {code}
raise SystemExit(run(main()))
"""
    env = {"QT_QPA_PLATFORM": "offscreen", "PYTHONWARNINGS": "error"}
    import os

    done = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, **env}, capture_output=True,
        text=True, timeout=60,
    )  # fmt: skip
    errors = [line for line in done.stderr.splitlines() if "propagateSizeHints" not in line]
    assert (done.returncode, errors) == (code, [])
