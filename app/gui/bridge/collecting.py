"""Garbage is collected on the window's thread only.

Python's collector runs in whichever thread happens to allocate. When that is a worker (an import,
a search), it may free a cycle that holds a `QObject`, and Qt then dies or warns that "timers cannot
be stopped from another thread". So the automatic collector rests while the loop lives, and a timer
of the window's thread does its work, by Python's own thresholds. A pass costs what was made since
the one before and lives, which is a lot while a worker reads a large file: so passes are frequent.

A full pass over what a running program has imported takes longer than a frame, so the first time
one is due, all there is by then (modules, mostly) is set aside; later passes see only the rest, and
what made one of them long (a large file that is shown) is set aside in its turn.
"""

from __future__ import annotations

import gc
import time

from PySide6.QtCore import QObject, QTimer

EVERY = 50  # ms
YOUNG = 3  # passes over what is new before one over what they left
LONG = 0.02  # seconds of a full pass after which what lives is set aside
FULL_EVERY = 30.0  # seconds between passes over all objects


class Collector(QObject):
    """Collects by a timer between `start` and `stop`; made on the window's thread."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._was = False
        self._full = 0.0
        self._set_aside = False
        self._timer = QTimer(self, interval=EVERY)
        self._timer.timeout.connect(self.look)

    def start(self) -> None:
        self._was = gc.isenabled()
        self._full = time.monotonic()
        gc.disable()
        self._timer.start()

    def stop(self) -> None:
        """Python collects as before, and everything."""
        self._timer.stop()
        if self._set_aside:
            gc.unfreeze()
        if self._was:
            gc.enable()

    def look(self) -> None:
        """Collect the oldest generation that is due."""
        counts, limits = gc.get_count(), gc.get_threshold()
        if counts[2] > limits[2] and time.monotonic() - self._full > FULL_EVERY:
            self._full = time.monotonic()
            gc.collect(2 if self._set_aside else 1)
            if not self._set_aside or time.monotonic() - self._full > LONG:
                gc.freeze()
                self._set_aside = True
        elif counts[1] > YOUNG:
            gc.collect(1)
        elif counts[0] > limits[0]:
            gc.collect(0)
