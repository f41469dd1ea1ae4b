"""Between Qt and asyncio: the loop, owned tasks, engine events as signals, unhandled errors."""

from app.gui.bridge.faults import Faults
from app.gui.bridge.loop import new_loop, run
from app.gui.bridge.signals import EngineSignals
from app.gui.bridge.tasks import Tasks

__all__ = ["EngineSignals", "Faults", "Tasks", "new_loop", "run"]
