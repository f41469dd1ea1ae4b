"""Objects of Qt are freed on the window's thread, wherever memory is wanted."""

from __future__ import annotations

import asyncio
import gc
import threading
from typing import ClassVar

from PySide6.QtCore import QObject, QTimer

from app.gui.bridge import new_loop
from app.gui.bridge.collecting import Collector


class Cycle(QObject):
    """Something only the collector can free; it notes where that happened."""

    freed: ClassVar[list[bool]] = []

    def __init__(self) -> None:
        super().__init__()
        self.me = self
        self.timer = QTimer(self)
        self.timer.start(10_000)

    def __del__(self) -> None:
        self.freed.append(threading.current_thread() is threading.main_thread())


def churn() -> None:
    """Make enough objects for a collection to be due many times."""
    kept = []
    for _ in range(200_000):
        kept.append([])
    del kept


def test_a_cycle_with_a_timer_is_freed_on_the_windows_thread(qapp) -> None:
    Cycle.freed.clear()

    async def main() -> None:
        for _ in range(3):
            for _ in range(20):
                Cycle()
            await asyncio.to_thread(churn)
        end = asyncio.get_running_loop().time() + 10
        while not Cycle.freed and asyncio.get_running_loop().time() < end:
            churn()
            await asyncio.sleep(0.05)

    loop = new_loop()
    try:
        loop.run_until_complete(main())
    finally:
        loop.close()
    gc.collect()
    assert len(Cycle.freed) == 60
    assert all(Cycle.freed)


def test_a_closed_loop_gives_the_collector_back(qapp) -> None:
    before = gc.isenabled()
    loop = new_loop()
    assert not gc.isenabled()
    loop.close()
    assert gc.isenabled() is before


def test_what_a_worker_sends_to_a_closed_loop_goes_nowhere(qapp, qtbot) -> None:
    loop = new_loop()
    heard: list[str] = []

    async def main() -> None:
        asyncio.get_running_loop().call_later(0.0, lambda: None)

    loop.run_until_complete(main())
    sender = threading.Thread(target=lambda: loop.call_soon_threadsafe(heard.append, "late"))
    sender.start()
    sender.join()
    loop.close()
    with qtbot.capture_exceptions() as caught:
        qapp.processEvents()
    assert (caught, heard) == ([], [])


def test_a_full_pass_sets_aside_what_there_is_and_then_sees_the_rest(qapp, monkeypatch) -> None:
    monkeypatch.setattr("app.gui.bridge.collecting.FULL_EVERY", -1.0)
    monkeypatch.setattr(gc, "get_count", lambda: (0, 0, 99))
    before = gc.get_freeze_count()
    collector = Collector()
    collector.start()
    try:
        collector.look()
        assert gc.get_freeze_count() > before + 1_000
        Cycle.freed.clear()
        Cycle()
        collector.look()
        assert Cycle.freed == [True]
    finally:
        collector.stop()
    assert gc.get_freeze_count() == 0
