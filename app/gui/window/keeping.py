"""What panes want to find again, between `window.json` and the desk.

Invariant: what belongs to one workspace is written soon after it changed, into what the file holds
by then: another window's lists stay.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QTimer

from app.gui.widgets.pane import Desk
from app.gui.window.layout_state import LayoutState, load, save

OWN = ("search.recent", "search.saved")  # what belongs to a workspace
SOON = 300  # ms in which several changes are one
MOST = 40  # workspaces whose lists are kept, those written last


class Keeping(QObject):
    """Fills `desk.kept` from `state`, whose file lies at `path`; `desk.keep()` writes the
    workspace's own soon, `all()` everything now."""

    def __init__(self, desk: Desk, state: LayoutState, path: Path, parent: QObject) -> None:
        super().__init__(parent)
        self._desk, self._state, self._path = desk, state, path
        self._timer = QTimer(self, singleShot=True, interval=SOON)
        self._timer.timeout.connect(lambda: self._write(load(path)))
        old = {name: state.kept.pop(name) for name in OWN if name in state.kept}
        found = state.own.get(desk.workspace, old)  # old lists go to the first that opens
        desk.kept.update(state.kept | (found if isinstance(found, dict) else {}))
        desk.keep = self._timer.start
        if old:
            desk.keep()

    def all(self) -> None:
        """The state of the window too, now."""
        self._timer.stop()
        self._state.kept = {k: v for k, v in self._desk.kept.items() if k not in OWN}
        self._state.own = load(self._path).own
        self._write(self._state)

    def _write(self, state: LayoutState) -> None:
        mine: dict[str, Any] = {n: self._desk.kept[n] for n in OWN if n in self._desk.kept}
        others = {path: own for path, own in state.own.items() if path != self._desk.workspace}
        state.own = dict([*others.items(), (self._desk.workspace, mine)][-MOST:])
        for name in OWN:
            state.kept.pop(name, None)
        save(self._path, state)
