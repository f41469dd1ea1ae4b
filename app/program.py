"""The program with a face: its window, its engine, and how both begin and end.

The window is on screen before the engine is imported; the engine opens behind it. One workspace is
shown at a time; another one gets a window of its own in the first one's place. Closing is bounded:
replies stop, jobs drain for a moment, the rest is remembered. Nothing here knows what a pane does.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Coroutine, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QApplication

from app import places
from app.engine.errors import UserError
from app.gui.bridge import EngineSignals, run
from app.gui.bridge.faults import Faults
from app.gui.bridge.single import Doorbell, raise_other
from app.gui.look import icons as look_icons
from app.gui.look import theme as look_theme
from app.gui.look import type as look_type
from app.gui.look.text import tr
from app.gui.widgets.notices import Act
from app.gui.widgets.pane import Desk, Pane
from app.gui.window.main_window import MainWindow
from app.personal import Personal, run_keys

if TYPE_CHECKING:
    import asyncio

    from app.engine.engine import Engine

OpenEngine = Callable[[Path], "Coroutine[object, object, Engine]"]

APP_ID = "palimpsest"
CLOSE_WITHIN = 2.0  # seconds for jobs; with what surrounds them the program ends within five


# ---------------------------------------------------------------------------- panes


def factories() -> Mapping[str, Callable[[Desk], Pane]]:
    """Who makes the pane of each place; its module is imported at the first visit."""

    def made_by(module: str, name: str) -> Callable[[Desk], Pane]:
        def make(desk: Desk) -> Pane:
            return getattr(importlib.import_module(f"app.gui.panes.{module}.pane"), name)(desk)

        return make

    return {
        "chat": made_by("chat", "ChatPane"),
        "timeline": made_by("timeline", "TimelinePane"),
        "daily": made_by("daily", "DailyPane"),
        "memory": made_by("memory", "MemoryPane"),
        "search": made_by("search", "SearchPane"),
        "evicted": made_by("evicted", "EvictedPane"),
        "activity": made_by("activity", "ActivityPane"),
        "settings": made_by("settings", "SettingsPane"),
    }


# ---------------------------------------------------------------------------- one workspace


class Showing:
    """One workspace in one window, from the first paint to the last byte on disk.

    `ended` is set when the window closes or another workspace is wanted (`wanted`).
    """

    def __init__(self, folder: Path, *, demo: bool, open_engine: OpenEngine | None = None) -> None:
        self.folder = folder
        self.demo = demo
        self.engine: Engine | None = None
        self.wanted: Path | None = None
        self.reset = False
        self.signals = EngineSignals()
        self.faults = Faults(self._on_fault)
        self.desk = Desk(engine=None, signals=self.signals, report=self.faults.report)
        self.desk.person = Personal()
        state = places.data_dir() / "window.json"
        self.window = MainWindow(self.desk, factories(), state)
        self._open_engine = open_engine or _open
        self._doorbell: Doorbell | None = None
        self.window.closing.connect(lambda: self.ended.set())
        self.window.workspace_wanted.connect(self._on_workspace_wanted)
        self.window.demo_reset_wanted.connect(self._on_demo_reset)

    @cached_property
    def ended(self) -> asyncio.Event:
        import asyncio

        return asyncio.Event()

    @cached_property
    def opened(self) -> asyncio.Event:
        """Set when the engine is there."""
        import asyncio

        return asyncio.Event()

    def show(self) -> None:
        """Put the window on screen with what a glance at the disk gives."""
        from app.glance import recent_names, session_titles

        self.window.set_workspace(
            self.folder.name, str(self.folder), recent_names(self.folder), demo=self.demo
        )
        self.window.sidebar.set_sessions(session_titles(self.folder))
        self.window.show()

    async def begin(self) -> None:
        """Open the engine behind the window; failures become a notice, never an end."""
        import asyncio

        self.faults.install(asyncio.get_running_loop())
        self._doorbell = Doorbell(str(self.folder), self.window)
        self._doorbell.rang.connect(self.window.raise_window)
        try:
            if self.demo and not (self.folder / ".palimpsest").is_dir():
                await self._build_demo()
            self.engine = await self._open_engine(self.folder)
        except UserError as error:
            self._say(str(error), error.remedy)
            return
        self.desk.engine = self.engine
        self.signals.listen(self.engine.events)
        self.window.start()
        if self.engine.problem:
            self._say(self.engine.problem, tr("It is open for reading only."))
        self.opened.set()

    async def _build_demo(self) -> None:
        import asyncio
        import shutil
        from datetime import datetime

        demo = await asyncio.to_thread(importlib.import_module, "app.demo")
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        await demo.build(self.folder, datetime.now().astimezone())

    async def end(self) -> None:
        """Stop everything in the order that loses nothing."""
        await self.window.end()
        if self.engine is not None:
            await self.engine.close(CLOSE_WITHIN)
        if self._doorbell is not None:
            self._doorbell.close()
        self.faults.remove()
        self.window.hide()
        self.window.deleteLater()

    # ------------------------------------------------------------------ what the window asks for

    def _say(self, cause: str, remedy: str) -> None:
        act = Act(tr("Open another workspace"), lambda: self._on_workspace_wanted(""))
        self.window.say(cause, remedy, acts=(act,))

    def _on_fault(self, sentence: str, text: str) -> None:
        self.window.show_fault(sentence, text)

    def _on_workspace_wanted(self, path: str) -> None:
        if path:
            self._leave_for(Path(path))
            return
        from PySide6.QtWidgets import QFileDialog

        dialog = QFileDialog(self.window, tr("Open a workspace"))
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly, True)
        dialog.fileSelected.connect(lambda chosen: self._leave_for(Path(chosen)))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _leave_for(self, folder: Path) -> None:
        if folder.resolve() != self.folder.resolve():
            self.wanted = folder
            self.ended.set()

    def _on_demo_reset(self) -> None:
        self.window.tasks.latest("reset", self._reset_demo())

    async def _reset_demo(self) -> None:
        from app.gui.widgets.dialogs import ask

        answer = await ask(
            self.window,
            tr("Make the demo new?"),
            tr("What was said and kept in the demo goes. Your own workspaces are not touched."),
            [("", tr("Keep it"), "plain"), ("reset", tr("Make it new"), "danger")],
        )
        if answer == "reset":
            self.reset = True
            self.wanted = self.folder
            self.ended.set()


async def _open(folder: Path) -> Engine:
    import asyncio

    startup = await asyncio.to_thread(importlib.import_module, "app.startup")
    await asyncio.to_thread(importlib.import_module, "app.engine.engine")
    engine = await startup.open_engine(folder, watch=True, keys=run_keys())
    if folder != demo_folder():
        settings = importlib.import_module("app.settings")
        await asyncio.to_thread(settings.remember_workspace, startup.recent_file(), folder)
    return engine


# ---------------------------------------------------------------------------- the program


def demo_folder() -> Path:
    """Where the person's copy of the demo lies."""
    return places.data_dir() / "demo" / "Greenhouse"


def open_window(arguments: list[str]) -> int:
    """Open the window on a workspace (the demo without one); the exit code."""
    given = [a for a in arguments if not a.startswith("-")]
    if len(given) != len(arguments):
        sys.stderr.write(f"There is no option {arguments[0]}. Try palimpsest --help.\n")
        return 2
    named = given[0] if given else os.environ.get("PALIMPSEST_WORKSPACE")
    folder = Path(named).expanduser().resolve() if named else demo_folder()
    if named and not folder.is_dir():
        sys.stderr.write(f"{folder} is no folder. Make a workspace with: palimpsest init FOLDER\n")
        return 3
    app = application()
    if raise_other(str(folder)):
        sys.stderr.write("This workspace is open already; its window is in front now.\n")
        return 0
    code = run(program(first_paint(folder)))
    app.processEvents()
    return code


def application() -> QApplication:
    """The one application, dressed."""
    app = QApplication.instance()
    if not isinstance(app, QApplication):
        app = QApplication(sys.argv[:1])
    app.setApplicationName("Palimpsest")
    app.setDesktopFileName(APP_ID)
    look_icons.use_cache(places.data_dir())
    look_type.install(app)
    look_theme.install(app)
    return app


def first_paint(folder: Path) -> Showing:
    """Window and list of sessions on screen, before loop and engine: what start-up is measured by.

    Whoever calls it has made the `application()`.
    """
    showing = Showing(folder, demo=folder == demo_folder())
    showing.show()
    QApplication.processEvents()
    look_icons.save()  # only after a first start is there anything new to keep
    return showing


async def program(showing: Showing) -> int:
    """Show workspaces until a window is closed without another one being wanted."""
    import asyncio
    import shutil

    while True:
        beginning = asyncio.create_task(showing.begin())
        beginning.add_done_callback(lambda task, s=showing: _told(task, s))
        await showing.ended.wait()
        await asyncio.wait([beginning], timeout=CLOSE_WITHIN)
        beginning.cancel()
        await showing.end()
        if showing.wanted is None:
            return 0
        if showing.reset:
            await asyncio.to_thread(shutil.rmtree, showing.folder, ignore_errors=True)
        folder = showing.wanted
        showing = Showing(folder, demo=folder == demo_folder())
        showing.show()


def _told(task: asyncio.Task[None], showing: Showing) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        showing.faults.report(error)
