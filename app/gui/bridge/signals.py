"""Engine events as Qt signals, so that views connect and are disconnected as they die."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from PySide6.QtCore import QObject, Signal

if TYPE_CHECKING:
    from app.engine.events import Event, Listener


class Subscribable(Protocol):
    """An engine's bus."""

    def subscribe(self, listener: Listener) -> Callable[[], None]: ...


class EngineSignals(QObject):
    """`changed(Changed)`, `activity(Activity)`, `turn(TurnEvent)`, on the loop's thread."""

    changed = Signal(object)
    activity = Signal(object)
    turn = Signal(object)

    def __init__(self, bus: Subscribable | None = None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._end: Callable[[], None] | None = None
        if bus is not None:
            self.listen(bus)

    def listen(self, bus: Subscribable) -> None:
        """Follow `bus` from now on, and no other."""
        self.stop()
        self._end = bus.subscribe(self._on_event)

    def stop(self) -> None:
        """Follow nothing; called before the engine is closed."""
        if self._end is not None:
            self._end()
            self._end = None

    def _on_event(self, event: Event) -> None:
        from app.engine.events import Activity, Changed, TurnEvent

        if isinstance(event, Changed):
            self.changed.emit(event)
        elif isinstance(event, Activity):
            self.activity.emit(event)
        elif isinstance(event, TurnEvent):
            self.turn.emit(event)
