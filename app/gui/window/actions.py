"""The action catalogue: what the window itself can do, and the views on all actions.

Actions are data (see `widgets/action.py`). This file lists those that hold everywhere and turns
them, with those of the panes, into Qt actions. A key, a menu entry or a word in the palette is
found here or in the pane it belongs to.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QWidget

from app.gui.look.icons import icon
from app.gui.look.text import tr
from app.gui.widgets.action import Action
from app.gui.widgets.pane import PLACES, Target

if TYPE_CHECKING:
    from app.gui.window.main_window import MainWindow

# place: (title, icon)
PLACE_LOOK = {
    "chat": ("Chat", "message-square"),
    "timeline": ("Timeline", "chart-gantt"),
    "daily": ("Daily logs", "calendar-days"),
    "memory": ("Memory", "book-bookmark"),
    "search": ("Search", "search"),
    "evicted": ("Evicted", "archive"),
    "activity": ("Activity", "activity"),
    "settings": ("Settings", "settings-2"),
}


def place_title(place: str) -> str:
    return tr(PLACE_LOOK[place][0])


def place_key(place: str) -> str:
    return f"Ctrl+{PLACES.index(place) + 1}"


def frame_actions(window: MainWindow) -> list[Action]:
    """What holds wherever one is."""
    places = [
        Action(
            f"go.{place}",
            tr("Go to {place}", place=place_title(place)),
            PLACE_LOOK[place][1],
            lambda place=place: window.show_target(Target(place)),
            key=place_key(place),
            also=("Ctrl+,",) if place == "settings" else (),
            menu="Go",
        )
        for place in PLACES
    ]
    return [
        *places,
        Action(
            "go.back",
            tr("Back"),
            "arrow-left",
            window.back,
            "Alt+Left",
            menu="Go",
            off=lambda: "" if window.places.can_back() else tr("There is nothing to go back to."),
        ),
        Action(
            "go.forward",
            tr("Forward"),
            "arrow-right",
            window.forward,
            "Alt+Right",
            menu="Go",
            off=lambda: "" if window.places.can_forward() else tr("This is the newest place."),
        ),
        Action(
            "palette",
            tr("Find an action"),
            "command",
            window.show_palette,
            "Ctrl+K",
            also=("Ctrl+Shift+P",),
            menu="Help",
        ),
        Action(
            "find", tr("Find in this place"), "text-search", window.find_here, "Ctrl+F", menu="Go"
        ),
        Action(
            "find.everywhere",
            tr("Search everywhere"),
            "search",
            window.find_everywhere,
            "Ctrl+Shift+F",
            menu="Go",
        ),
        Action(
            "session.new",
            tr("New session"),
            "message-square-plus",
            window.new_session,
            "Ctrl+N",
            menu="File",
        ),
        Action(
            "workspace.open",
            tr("Open a workspace"),
            "folder-open",
            lambda: window.workspace_wanted.emit(""),
            "Ctrl+O",
            menu="File",
        ),
        Action(
            "demo.reset",
            tr("Reset the demo workspace"),
            "rotate-ccw",
            window.demo_reset_wanted.emit,
            key="Ctrl+Alt+R",
            menu="File",
            off=lambda: "" if window.is_demo else tr("This is not the demo workspace."),
        ),
        Action(
            "memory.undo",
            tr("Undo the last memory change"),
            "undo-2",
            window.undo_memory,
            "Ctrl+Z",
            menu="Memory",
        ),
        Action(
            "view.inspector",
            tr("Show or hide the inspector"),
            "panel-right",
            window.toggle_inspector,
            "Ctrl+I",
            menu="View",
        ),
        Action(
            "view.sidebar",
            tr("Fold or unfold the sidebar"),
            "panel-left",
            window.toggle_sidebar,
            "Ctrl+B",
            menu="View",
        ),
        Action(
            "view.dark",
            tr("Dark colours"),
            "moon",
            lambda: window.appearance.choose_theme("dark"),
            key="Ctrl+Alt+D",
            menu="View",
        ),
        Action(
            "view.light",
            tr("Light colours"),
            "sun",
            lambda: window.appearance.choose_theme("light"),
            key="Ctrl+Alt+L",
            menu="View",
        ),
        Action(
            "view.system",
            tr("Colours as the system has them"),
            "sun-moon",
            lambda: window.appearance.choose_theme("system"),
            key="Ctrl+Alt+S",
            menu="View",
        ),
        Action(
            "view.contrast",
            tr("High contrast"),
            "contrast",
            window.appearance.toggle_contrast,
            key="Ctrl+Alt+H",
            menu="View",
        ),
        Action(
            "view.larger",
            tr("Larger text"),
            "zoom-in",
            lambda: window.appearance.zoom(0.1),
            "Ctrl++",
            also=("Ctrl+=",),
            menu="View",
        ),
        Action(
            "view.smaller",
            tr("Smaller text"),
            "zoom-out",
            lambda: window.appearance.zoom(-0.1),
            "Ctrl+-",
            menu="View",
        ),
        Action(
            "view.normal",
            tr("Text size of the system"),
            "type",
            lambda: window.appearance.zoom(0.0),
            "Ctrl+0",
            menu="View",
        ),
        Action(
            "next.part",
            tr("Next part of the window"),
            "square-split-horizontal",
            window.next_part,
            "F6",
            menu="Go",
        ),
        Action(
            "previous.part",
            tr("Previous part of the window"),
            "square-split-horizontal",
            window.previous_part,
            "Shift+F6",
            menu="Go",
        ),
        Action("menu", tr("Open the menu"), "menu", window.show_menu, "F10", menu="Help"),
        Action("keys", tr("Keys of this place"), "keyboard", window.show_keys, "F1", menu="Help"),
        Action("quit", tr("Quit"), "log-out", window.close, "Ctrl+Q", menu="File"),
    ]


class Bound:
    """One action bound to a Qt action of the window."""

    def __init__(self, action: Action, made: QAction) -> None:
        self.action = action
        self.made = made


class Catalogue:
    """All actions known so far; runs them, and says which hold now."""

    def __init__(
        self,
        window: QWidget,
        run: Callable[[Action], None],
        place: Callable[[], str],
    ) -> None:
        self._window = window
        self._run = run
        self._place = place
        self._bound: dict[str, Bound] = {}

    def add(self, actions: Iterable[Action]) -> None:
        """Take over `actions`; names are unique."""
        for action in actions:
            if action.name in self._bound:
                raise ValueError(f"two actions are called {action.name}")
            made = QAction(icon(action.icon), action.title, self._window)
            made.setObjectName(action.name)
            made.setShortcuts([QKeySequence(key) for key in action.keys])
            made.setShortcutContext(Qt.ShortcutContext.WindowShortcut)
            made.setCheckable(action.checked is not None)
            made.triggered.connect(lambda _=False, a=action: self.trigger(a))
            self._window.addAction(made)
            self._bound[action.name] = Bound(action, made)
        self.settle()

    def settle(self) -> None:
        """Keys of places that are not in front sleep."""
        place = self._place()
        for bound in self._bound.values():
            bound.made.setEnabled(not bound.action.place or bound.action.place == place)

    def all(self) -> list[Action]:
        return [bound.action for bound in self._bound.values()]

    def valid(self) -> list[Action]:
        """What holds now, place first."""
        place = self._place()
        own = [a for a in self.all() if a.place and a.place == place]
        return own + [a for a in self.all() if not a.place]

    def get(self, name: str) -> Action:
        return self._bound[name].action

    def qt(self, name: str) -> QAction:
        """The Qt action, for menus; its state is brought up to date."""
        bound = self._bound[name]
        if bound.action.checked is not None:
            bound.made.setChecked(bound.action.checked())
        return bound.made

    def trigger(self, action: Action) -> None:
        self._run(action)


def is_work(result: object) -> bool:
    """Whether what an action returned is a coroutine that somebody must own."""
    return inspect.iscoroutine(result)
