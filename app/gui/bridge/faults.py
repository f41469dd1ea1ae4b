"""Bugs: whatever nobody caught becomes one call with a text that can be copied.

The program goes on. The text names version, system and traceback; the home folder is shortened and
nothing of a conversation is in it.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio

log = logging.getLogger(__name__)

Told = Callable[[str, str], None]


class Faults:
    """Catches unhandled errors of the main thread, other threads, finalizers and the loop.

    `told(sentence, text)` is called on the loop's thread. The same error is told once.
    """

    def __init__(self, told: Told) -> None:
        self._told = told
        self._seen: set[str] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._old: tuple[Any, Any, Any] | None = None

    def install(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self._old = (sys.excepthook, threading.excepthook, sys.unraisablehook)
        sys.excepthook = self._on_error
        threading.excepthook = lambda args: self._from_thread(args.exc_value)
        sys.unraisablehook = lambda args: self._from_thread(args.exc_value)
        if loop is not None:
            self._loop = loop
            loop.set_exception_handler(self._on_loop)

    def remove(self) -> None:
        if self._old is not None:
            sys.excepthook, threading.excepthook, sys.unraisablehook = self._old
            self._old = None
        if self._loop is not None:
            self._loop.set_exception_handler(None)
            self._loop = None

    def report(self, error: BaseException) -> None:
        """Tell of one error that somebody caught at the outermost edge."""
        text = text_of(error)
        if text in self._seen:
            return
        self._seen.add(text)
        log.error("unhandled error\n%s", text)
        self._told(f"{type(error).__name__}: {error}".split("\n")[0][:200], text)

    def _on_error(self, kind: type[BaseException], error: BaseException, trace: Any) -> None:
        if issubclass(kind, KeyboardInterrupt):
            sys.__excepthook__(kind, error, trace)
            return
        self.report(error.with_traceback(trace))

    def _from_thread(self, error: BaseException | None) -> None:
        if error is None or isinstance(error, SystemExit):
            return
        if self._loop is not None and self._loop.is_running():
            self._loop.call_soon_threadsafe(self.report, error)
        else:
            log.error("unhandled error in a thread\n%s", text_of(error))

    def _on_loop(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        from asyncio import CancelledError

        error = context.get("exception")
        if isinstance(error, CancelledError):
            return
        if isinstance(error, BaseException):
            self.report(error)
        else:
            log.error("event loop: %s", context.get("message", context))


def text_of(error: BaseException) -> str:
    """What a person can send: program, system, traceback; the home folder is `~`."""
    import platform
    import traceback

    trace = "".join(traceback.format_exception(error))
    head = f"Palimpsest, Python {platform.python_version()}, {platform.platform()}\n\n"
    home = str(Path.home())
    return head + (trace.replace(home, "~") if len(home) > 1 else trace)
