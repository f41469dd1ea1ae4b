"""One workspace in one window, from the first paint to the last byte on disk.

The window is shown with what a glance at the disk gives; the engine opens behind it. What goes
wrong is told in the window and never ends it: a failure with a remedy as a notice, a bug as a
dialog with text to copy.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Coroutine, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer

from app import places
from app.engine.errors import UserError
from app.gui.bridge import EngineSignals
from app.gui.bridge.crash import take_last
from app.gui.bridge.faults import Faults
from app.gui.bridge.single import Doorbell, raise_other
from app.gui.look.text import tr
from app.gui.widgets.notices import Act
from app.gui.widgets.pane import Desk, Pane
from app.gui.window.appearing import appear
from app.gui.window.main_window import MainWindow

if TYPE_CHECKING:
    import asyncio

    from app.engine.engine import Engine
    from app.engine.events import Activity
    from app.gui.window.person_look import PersonLook

OpenEngine = Callable[[Path], "Coroutine[object, object, Engine]"]

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
        self.desk = Desk(
            engine=None, signals=self.signals, report=self.faults.report, workspace=str(folder)
        )
        state = places.data_dir() / "window.json"
        self.window = MainWindow(self.desk, factories(), state)
        self._open_engine = open_engine or _open
        self._look: PersonLook | None = None
        self._doorbell: Doorbell | None = None
        self._waiting: list[tuple[str, str]] = []  # faults to show
        self._told: set[str] = set()  # troubles, by their sentence
        self.window.closing.connect(lambda: self.ended.set())
        self.window.workspace_wanted.connect(self._on_workspace_wanted)
        self.window.demo_reset_wanted.connect(self._on_demo_reset)
        self.signals.activity.connect(self._on_activity)

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
        appear(self.window, maximized=self.window.state.maximized)

    async def begin(self) -> None:
        """Open the engine behind the window; failures become a notice, never an end."""
        import asyncio

        from app.gui.window.person_look import PersonLook
        from app.personal import Personal

        self.faults.install(asyncio.get_running_loop())
        self.desk.person = Personal()
        self._doorbell = Doorbell(str(self.folder), self.window)
        self._doorbell.rang.connect(self.window.raise_window)
        if self._doorbell.second:  # another start was faster; its window is in front now
            self.ended.set()
            return
        self._look = PersonLook(self.desk, self.window)
        await self._look.use()
        await self._tell_of_crash()
        await self.open()

    async def open(self) -> None:
        """Open the engine; a failure is told with what to do, and can be tried again."""
        try:
            if self.demo and not (self.folder / ".palimpsest").is_dir():
                await self._build_demo()
            self.engine = await self._open_engine(self.folder)
        except UserError as error:
            self._say(str(error), error.remedy, again=True)
            return
        if self.ended.is_set():
            return  # closed meanwhile; `end` closes the engine
        self.desk.engine = self.engine
        self.signals.listen(self.engine.events)
        self.window.start()
        if self.engine.problem:
            self._say(self.engine.problem, self._standing())
        self.opened.set()

    def _standing(self) -> str:
        """What a problem of the workspace means for it."""
        if self.engine is not None and self.engine.read_only:
            return tr("It is open for reading only; nothing in it is changed.")
        return tr("The workspace works with the defaults until the file is corrected.")

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
        if self._look is not None:
            await self._look.end()
        if self.wanted is not None:  # nobody closes the window: another one takes its place
            self.window.keep()
        await self.window.end()
        if self.engine is not None:
            await self.engine.close(CLOSE_WITHIN)
        if self._doorbell is not None:
            self._doorbell.close()
        self.faults.remove()
        self.window.hide()
        self.window.deleteLater()

    # ------------------------------------------------------------------ what people are told

    def _say(self, cause: str, remedy: str, *, again: bool = False) -> None:
        acts = [Act(tr("Open another workspace"), lambda: self._on_workspace_wanted(""))]
        if again:
            acts.insert(0, Act(tr("Try again"), self._open_again, closes=True))
        self.window.say(cause, remedy, acts=tuple(acts))

    def _open_again(self) -> None:
        self.window.tasks.latest("open", self.open())

    def _on_activity(self, event: Activity) -> None:
        """A trouble the engine went on from: told once per cause."""
        if event.step != "error" or event.state != "failed" or event.reason in self._told:
            return
        self._told.add(event.reason)
        self.window.notices.show_notice(event.reason, event.remedy)

    async def _tell_of_crash(self) -> None:
        import asyncio

        text = await asyncio.to_thread(take_last, crash_folder())
        if not text:
            return
        sentence = tr("Palimpsest ended without warning the last time.")
        show = Act(tr("Show the text"), lambda: self._on_fault(sentence, text), closes=True)
        self.window.notices.show_notice(sentence, tr("What was said is kept."), acts=(show,))

    def _on_fault(self, sentence: str, text: str) -> None:
        """One dialog at a time, never from inside a paint or another call of Qt's."""
        self._waiting.append((sentence, text))
        if len(self._waiting) == 1:
            QTimer.singleShot(0, self.window, self._show_fault)

    def _show_fault(self) -> None:
        if not self._waiting:
            return
        from app.gui.widgets.dialogs import show_fault

        sentence, text = self._waiting[0]
        show_fault(self.window, sentence, text).closed.connect(self._on_fault_closed)

    def _on_fault_closed(self) -> None:
        """What came while the dialog was open follows as one text."""
        rest = self._waiting[1:]
        self._waiting = []
        if rest:
            self._on_fault(rest[0][0], "\n\n".join(text for _, text in rest))

    # ------------------------------------------------------------------ what the window asks for

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
        folder = folder.resolve()
        if folder == self.folder.resolve():
            return
        if not folder.is_dir():
            cause = tr("{name} is no folder.", name=folder.name)
            self.window.say(cause, tr("Choose another one; this workspace stays open."))
        elif raise_other(str(folder)):
            cause = tr("{name} is open in another window.", name=folder.name)
            self.window.notices.show_notice(cause, tr("That window is in front now."), tone="info")
        else:
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

    from app.personal import run_keys

    startup = await asyncio.to_thread(importlib.import_module, "app.startup")
    await asyncio.to_thread(importlib.import_module, "app.engine.engine")
    engine = await startup.open_engine(folder, watch=True, keys=run_keys())
    if folder != demo_folder():
        settings = importlib.import_module("app.settings")
        await asyncio.to_thread(settings.remember_workspace, startup.recent_file(), folder)
    return engine


# ---------------------------------------------------------------------------- folders


def demo_folder() -> Path:
    """Where the person's copy of the demo lies."""
    return places.data_dir() / "demo" / "Greenhouse"


def crash_folder() -> Path:
    """Where the text of a crash waits for the next start."""
    return places.data_dir() / "crashes"
