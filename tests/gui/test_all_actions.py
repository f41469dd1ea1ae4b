"""The whole program's actions together: each has a name, an icon and a key, and no two collide."""

from __future__ import annotations

import asyncio
import importlib

from PySide6.QtGui import QKeySequence

from app.gui.widgets.action import Action, overlapping
from app.gui.window.main_window import MainWindow
from app.showing import factories


def every_action(window: MainWindow) -> list[Action]:
    """Those of the window and of every place, which work only in it or wherever one is."""
    for place in factories():
        pane = window.pane(place)
        assert pane is not None
        assert {action.when for action in pane.actions()} - {"window"} == {f"pane:{place}"}
    return window.catalogue.all()


def test_every_action_has_a_name_an_icon_and_a_key(qtbot, qloop, desk, tmp_path) -> None:
    asyncio.set_event_loop(qloop)
    lucide = importlib.import_module("app.gui.look.icons")
    window = MainWindow(desk, factories(), tmp_path / "window.json")
    qtbot.addWidget(window)
    actions = every_action(window)
    assert len(actions) > 120
    for action in actions:
        assert action.title, action.name
        assert action.key, f"{action.name} has no key"
        assert not QKeySequence(action.key).isEmpty(), action.name
        assert lucide.known(action.icon), f"{action.name}: {action.icon}"
    assert overlapping(actions) == []
    qloop.run_until_complete(window.end())
