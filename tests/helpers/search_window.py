"""The search place in the real window, on the real engine and files, used by keys."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from app.engine.records import Hit
from app.gui.bridge import EngineSignals
from app.gui.widgets.pane import Desk, Target
from app.gui.window.main_window import MainWindow
from app.showing import factories
from tests.helpers import waiting
from tests.helpers.workspaces import EngineDesk, engine_on


async def until(condition: Callable[[], object]) -> None:
    await waiting.until(condition, 25.0)


class Room:
    """The window on a workspace, used by keys."""

    def __init__(self, window: MainWindow, engine: EngineDesk, faults: list[BaseException]) -> None:
        self.window, self.engine, self.faults = window, engine, faults

    @property
    def search(self):
        return self.window.pane("search")

    def key(self, key: Qt.Key, modifier=Qt.KeyboardModifier.NoModifier) -> None:
        """Press a key where the focus is, as a person does."""
        QTest.keyClick(QApplication.focusWidget() or self.window, key, modifier)

    async def find(self, text: str) -> list[Hit]:
        """Type a query anew; the hits that are listed for it."""
        if self.window.place() != "search":
            self.window.show_target(Target("search"))
        pane = self.search
        pane.field.setFocus()
        pane.field.set_query(text)
        await until(lambda: pane.results.answer and pane.results.answer.asked.text == text
                    and not pane.tasks.running("search"))  # fmt: skip
        return self.hits()

    def hits(self) -> list[Hit]:
        """Those that are listed."""
        return [e for e in self.search.list.hits.entries() if isinstance(e, Hit)]

    async def choose(self, wanted: Hit) -> None:
        """Walk to a hit and wait for its place beside the list."""
        pane = self.search
        rows = pane.list.hits.entries()
        pane.list.choose(rows.index(wanted))
        await until(lambda: not pane.tasks.running("preview"))

    async def open(self) -> QWidget:
        """Enter; the place that came to the front, settled."""
        self.search.list.setFocus()
        self.key(Qt.Key.Key_Return)
        await until(lambda: self.window.place() != "search")
        pane = self.window.pane(self.window.place())
        assert pane is not None
        await until(lambda: not any(pane.tasks.running(n) for n in ("open", "refresh", "find")))
        return pane

    async def back(self) -> None:
        self.key(Qt.Key.Key_Backspace)
        await until(lambda: self.window.place() == "search")


@asynccontextmanager
async def room(qtbot, folder: Path) -> AsyncIterator[Room]:
    async with engine_on(folder) as engine:
        await engine.engine.index_ready()
        faults: list[BaseException] = []
        signals = EngineSignals(engine.engine.events)
        window = MainWindow(
            Desk(engine.engine, signals, faults.append), factories(), folder.parent / "window.json"
        )
        qtbot.addWidget(window)
        window.resize(1280, 800)
        window.show()
        window.activateWindow()
        window.start(Target("search"))
        await until(lambda: window.place() == "search")
        try:
            yield Room(window, engine, faults)
        finally:
            await window.end()
        assert faults == []


def day(folder: Path, name: str, *lines: str) -> Path:
    path = folder / "memory" / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"# {name}\n\n" + "".join(f"- {line}\n" for line in lines), "utf-8")
    return path


def session(folder: Path, name: str, *texts: str) -> Path:
    path = folder / "agents" / "palimpsest" / "sessions" / f"{name}.log.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        {
            "v": 1, "seq": n, "type": "message", "id": f"{name}-{n}", "content": text,
            "role": "USER" if n % 2 else "ASSISTANT",
            "timestamp": f"2026-06-02T01:{n // 60:02}:{n % 60:02}+00:00",
        }
        for n, text in enumerate(texts, 1)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path
