"""What tests of a place on a small fake engine share: on screen, its acts, its rest, its links."""

from __future__ import annotations

from asyncio import AbstractEventLoop
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QWidget
from pytestqt.qtbot import QtBot

from app.gui.widgets.action import Action
from app.gui.widgets.pane import Desk, Pane, Target

Fake = TypeVar("Fake")
OnePane = TypeVar("OnePane", bound=Pane)
Until = Callable[..., Coroutine[Any, Any, None]]  # the fixture of that name


def in_window(pane: OnePane, qtbot: QtBot, qloop: AbstractEventLoop) -> Iterator[OnePane]:
    """The place in a shown window, for a fixture; its tasks are ended at the end."""
    window = QWidget()
    qtbot.addWidget(window)
    window.resize(1_076, 760)
    pane.setParent(window)
    pane.resize(1_076, 760)
    window.show()
    yield pane
    qloop.run_until_complete(pane.tasks.end())


def on_desk(desk: Desk, engine: Fake) -> Fake:
    """`engine` answers and acts for the desk from now on."""
    desk.engine.ask = desk.engine.do = engine
    return engine


def act(pane: Pane, name: str) -> Action:
    """The action of that name; the place's own name goes before it."""
    return next(a for a in pane.actions() if a.name == f"{pane.place}.{name}")


def run(pane: Pane, name: str, qloop: AbstractEventLoop, until: Until) -> None:
    """Do the action of that name, which must be possible, and wait until all is at rest."""
    action = act(pane, name)
    assert action.off() == ""
    action.run()
    qloop.run_until_complete(settled(pane, until))


async def settled(pane: Pane, until: Until) -> None:
    """Until no task of the place runs."""
    await until(lambda: not pane.tasks._running)


def targets(pane: Pane) -> list[Target]:
    """Where the place asks to go, from now on."""
    out: list[Target] = []
    pane.go.connect(out.append)
    return out


def assert_named(inside: QWidget) -> None:
    """All in sight that takes the focus by Tab has a name or a text, and there is some of it."""
    found = [
        widget
        for widget in inside.findChildren(QWidget)
        if widget.focusPolicy() & Qt.FocusPolicy.TabFocus and widget.isVisible()
    ]
    assert found
    for widget in found:
        text = widget.text() if isinstance(widget, QAbstractButton) else ""
        assert widget.accessibleName() or text, widget
