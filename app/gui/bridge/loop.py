"""The Qt loop as asyncio's loop: start and a clean end.

The only place that imports qasync. A program is one coroutine: when it returns, the loop ends and
its value is the exit code. Nothing is awaited after Qt's own `aboutToQuit`, no nested loop is ever
opened (see the facts about qasync: both end in errors).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from PySide6.QtWidgets import QApplication

if TYPE_CHECKING:
    import asyncio

END_WITHIN = 4.0  # seconds that cancelled tasks get before the loop goes without them
# Seconds after which a worker hands the interpreter back to the window. With Python's 5 ms a paint
# of a hundred calls into Qt, each of which lets go of it, waits half a second for a busy worker.
HAND_BACK = 0.0005


def run(main: Coroutine[Any, Any, int]) -> int:
    """Run `main` on the loop of the existing `QApplication`; its value is the exit code."""
    import asyncio

    loop = new_loop()
    try:
        asyncio.set_event_loop(loop)
        code = loop.run_until_complete(main)
        loop.run_until_complete(_end_others())
        return code
    finally:
        loop.close()
        asyncio.set_event_loop(None)


def new_loop() -> asyncio.AbstractEventLoop:
    """A loop on the running `QApplication` that does not quit with the last window.

    While it lives, garbage is collected on this thread only (see `collecting`).
    """
    os.environ.setdefault("QT_API", "pyside6")
    import qasync

    from app.gui.bridge.collecting import Collector

    collector = Collector()

    class Loop(qasync.QEventLoop):  # type: ignore[misc, name-defined]
        def close(self) -> None:
            super().close()
            collector.stop()

        def _add_callback(self, handle: asyncio.Handle, delay: int = 0) -> asyncio.Handle:
            """What a worker sent before its end may arrive after ours: it goes nowhere."""
            if self.is_closed():
                handle.cancel()
                return handle
            return super()._add_callback(handle, delay)

    app = QApplication.instance()
    if not isinstance(app, QApplication):
        raise RuntimeError("a QApplication must exist before its loop")
    app.setQuitOnLastWindowClosed(False)
    collector.start()
    sys.setswitchinterval(HAND_BACK)
    return Loop(app, already_running=False)


async def _end_others() -> None:
    """Cancel what is still running; a task that does not end in time is left behind."""
    import asyncio

    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for task in rest:
        task.cancel()
    if rest:
        _, left = await asyncio.wait(rest, timeout=END_WITHIN)
        for task in left:
            print(f"left behind: {task!r}", file=sys.stderr)  # noqa: T201
