"""Ctrl+C in the terminal, and a polite request to end, close the window as its button does.

Without this Python would raise `KeyboardInterrupt` in whatever override of ours Qt happens to call
next, where it is lost. A second request ends the program at once. Signal handlers run when Python
gets its turn; the collector's timer sees to it that this is soon.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any, Self

from PySide6.QtCore import QTimer

NAMES = ("SIGINT", "SIGTERM", "SIGHUP")


class AskedToEnd:
    """While the `with` block runs, the first signal calls `close`; who shows a window sets it."""

    def __init__(self) -> None:
        self.close: Callable[[], object] = lambda: None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        numbers = [getattr(signal, name) for name in NAMES if hasattr(signal, name)]
        self._before = {one: signal.signal(one, self._asked) for one in numbers}
        return self

    def __exit__(self, *exc: object) -> None:
        for one, handler in self._before.items():
            signal.signal(one, handler)

    def _asked(self, number: int, frame: object) -> None:
        for one in self._before:
            signal.signal(one, signal.SIG_DFL)
        QTimer.singleShot(0, self.close)
