"""The program with a face: how it begins, shows one workspace after another, and ends.

The window is on screen before loop and engine are imported. Closing is bounded: replies stop, jobs
drain for a moment, the rest is remembered. Nothing here knows what a pane does.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6 import __version_info__ as pyside_version
from PySide6.QtWidgets import QApplication

from app import places
from app.gui.bridge import run
from app.gui.bridge.crash import CrashFile
from app.gui.bridge.single import raise_other
from app.gui.look import icons as look_icons
from app.gui.look import theme as look_theme
from app.gui.look import type as look_type
from app.showing import CLOSE_WITHIN, Showing, crash_folder, demo_folder

if TYPE_CHECKING:
    import asyncio

    from app.gui.bridge.asked import AskedToEnd

APP_ID = "palimpsest"
# Seconds after which nothing is waited for any more: all that was said is on disk by then.
LEAVE_AFTER = 4.2


def refusal(python: tuple[int, ...], pyside: tuple[int, ...]) -> str:
    """Why this pair of versions is not started with; "" when it is fine.

    PySide6 6.12 loses a reference of `None` at every call on Python below 3.12, and the program
    dies after some thousand of them.
    """
    if pyside[:2] >= (6, 12) and python[:2] < (3, 12):
        return (
            f"PySide6 {pyside[0]}.{pyside[1]} crashes on Python {python[0]}.{python[1]}. "
            'Install an older one with: pip install "PySide6-Essentials<6.12", '
            "or use Python 3.12 or newer."
        )
    return ""


def leave_anyway() -> None:
    """A close is bounded: what still hangs after `LEAVE_AFTER` seconds is left behind.

    Every message was written and synced when it was made, so the end loses no more than a kill.
    """
    import threading

    timer = threading.Timer(LEAVE_AFTER, os._exit, (0,))
    timer.daemon = True
    timer.start()


def open_window(arguments: list[str]) -> int:
    """Open the window on a workspace (the demo without one); the exit code."""
    if reason := refusal(sys.version_info[:3], pyside_version[:3]):
        sys.stderr.write(f"{reason}\n")
        return 1
    given = [a for a in arguments if not a.startswith("-")]
    if len(given) != len(arguments):
        sys.stderr.write(f"There is no option {arguments[0]}. Try palimpsest --help.\n")
        return 2
    if len(given) > 1:
        sys.stderr.write(f"There is no command {given[0]}. Try palimpsest --help.\n")
        return 2
    named = given[0] if given else os.environ.get("PALIMPSEST_WORKSPACE")
    folder = Path(named).expanduser().resolve() if named else demo_folder()
    if named and not folder.is_dir():
        sys.stderr.write(_no_folder(named, folder))
        return 3
    app = application()
    if raise_other(str(folder)):
        sys.stderr.write("This workspace is open already; its window is in front now.\n")
        return 0
    crash = CrashFile(crash_folder())
    crash.begin()
    code = run(program(first_paint(folder), leave_anyway))
    app.processEvents()
    look_icons.save()
    crash.end()
    return code


def _no_folder(named: str, folder: Path) -> str:
    """What to do instead; a single word may have been meant for a command."""
    said = f"{folder} is no folder. Make a workspace with: palimpsest init FOLDER\n"
    if Path(named).name != named:
        return said
    from app.cli import COMMANDS

    return f"{said}Nor is {named} a command; these are: {', '.join(COMMANDS)}\n"


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


async def program(showing: Showing, leaving: Callable[[], None] = lambda: None) -> int:
    """Show workspaces until a window is closed without another one being wanted.

    `leaving` is called when the last window closes, before anything is waited for.
    """
    from app.gui.bridge.asked import AskedToEnd

    with AskedToEnd() as asked:
        return await _one_after_another(showing, leaving, asked)


async def _one_after_another(
    showing: Showing, leaving: Callable[[], None], asked: AskedToEnd
) -> int:
    import asyncio
    import shutil

    while True:
        asked.close = showing.window.close
        beginning = asyncio.create_task(showing.begin())
        beginning.add_done_callback(lambda task, s=showing: _told(task, s))
        await showing.ended.wait()
        if showing.wanted is None:
            leaving()
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
