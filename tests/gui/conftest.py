"""What GUI tests share: a dressed application, a loop, a way to wait, and clean deletion."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable, Coroutine, Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QApplication

from app.engine.events import Bus
from app.engine.llm.keys import Keys
from app.gui.bridge import EngineSignals, new_loop
from app.gui.look import theme as look_theme
from app.gui.look import type as look_type
from app.gui.widgets.pane import Desk
from app.personal import Personal
from tests.helpers.waiting import until as wait_until

NOW = datetime(2026, 11, 30, 14, 6, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _dressed(qapp: QApplication) -> Iterator[None]:
    """Light, no motion, and nothing left to delete when a test is over."""
    if not qapp.property("dressed"):
        look_type.install(qapp)
        look_theme.install(qapp, "light")
        qapp.setProperty("dressed", True)
    look_theme.theme().choose("light", contrast=False, still=True, zoom=1.0)
    yield
    flush_deleted()


def flush_deleted() -> None:
    """Deliver DeferredDelete: `deleteLater` alone is not delivered when a test ends."""
    for _ in range(3):
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        QCoreApplication.processEvents()


@pytest.fixture
def qloop(qapp: QApplication) -> Iterator[asyncio.AbstractEventLoop]:
    """An asyncio loop on Qt's; what is still running at the end is cancelled."""
    loop = new_loop()
    asyncio.set_event_loop(loop)
    yield loop
    rest = asyncio.all_tasks(loop)
    for task in rest:
        task.cancel()
    if rest:
        loop.run_until_complete(asyncio.gather(*rest, return_exceptions=True))
    loop.close()
    # Closing leaves timers running (of time limits, of sleeps). Their owner must go here and now:
    # left to the collector, a worker thread may destroy it, and Qt then calls into freed memory.
    loop._timer.deleteLater()  # type: ignore[attr-defined]
    asyncio.set_event_loop(None)


@pytest.fixture
def runs(qloop: asyncio.AbstractEventLoop) -> Callable[[Coroutine[Any, Any, None]], None]:
    """`runs(main())`: a test's own coroutine to its end, within 90 s."""
    return lambda main: qloop.run_until_complete(asyncio.wait_for(main, 90))


@pytest.fixture
def until() -> Callable[..., object]:
    """`await until(lambda: …)`: wait while the loop runs (qtbot.waitUntil would stop tasks)."""
    return wait_until


@pytest.fixture
def bus() -> Bus:
    """The event bus of the fake engine in `desk`."""
    return Bus()


@pytest.fixture
def desk(bus: Bus) -> Iterator[Desk]:
    """A desk whose engine has empty `ask` and `do`: a test puts its own coroutines there.

    Reported bugs are in `desk.engine.faults`.
    """
    engine = SimpleNamespace(ask=SimpleNamespace(), do=SimpleNamespace(), events=bus, faults=[])
    signals = EngineSignals(bus)
    yield Desk(engine=engine, signals=signals, report=engine.faults.append, now=lambda: NOW)
    signals.stop()


@pytest.fixture(scope="session")
def demo_built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo workspace, built once; tests copy it (`demo_folder`)."""
    from app import demo

    folder = tmp_path_factory.mktemp("demo") / "demo"
    folder.mkdir()
    asyncio.run(demo.build(folder, NOW))
    return folder


@pytest.fixture
def own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Data, settings and models of this test alone."""
    for name in ("DATA", "CONFIG", "MODELS"):
        monkeypatch.setenv(f"PALIMPSEST_{name}", str(tmp_path / name.lower()))


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Personal:
    """A person without settings or keys; the keyring of whoever runs the test is not touched."""
    monkeypatch.setattr("app.engine.llm.keys._from_keyring", lambda _origin: "")
    monkeypatch.setattr("app.engine.llm.keys._to_keyring", lambda _origin, _text: False)
    monkeypatch.setattr("app.engine.llm.keys._forget", lambda _origin: None)
    return Personal(tmp_path / "settings.toml", Keys({}))


@pytest.fixture
def demo_folder(demo_built: Path, tmp_path: Path, own_places: None) -> Path:
    """A copy of the demo workspace."""
    return Path(shutil.copytree(demo_built, tmp_path / "work"))
