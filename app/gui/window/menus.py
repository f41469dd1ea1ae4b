"""The menu behind the workspace's name: other workspaces, then every action by its menu."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMenu

from app.gui.look.icons import icon
from app.gui.look.text import preview, tr
from app.gui.widgets.labels import plain_tip
from app.gui.window.actions import Catalogue

if TYPE_CHECKING:
    from app.gui.window.main_window import MainWindow

MENUS = ("File", "Session", "Memory", "Go", "View", "Help")


def build_menu(window: MainWindow, catalogue: Catalogue) -> QMenu:
    """A menu that deletes itself when it is closed."""
    menu = QMenu(window)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    menu.setAccessibleName(tr("Menu"))
    for name, path in list(window.workspaces)[:8]:
        entry = menu.addAction(icon("folder"), preview(name, 40))
        entry.setToolTip(plain_tip(path))
        entry.triggered.connect(lambda _=False, p=path: window.workspace_wanted.emit(p))
    menu.addAction(catalogue.qt("workspace.open"))
    if window.is_demo:
        menu.addAction(catalogue.qt("demo.reset"))
    menu.addSeparator()
    valid = {action.name: action for action in catalogue.valid()}
    for title in MENUS:
        names = [name for name, action in valid.items() if action.menu == title]
        if not names:
            continue
        part = menu.addMenu(tr(title))
        for name in names:
            part.addAction(catalogue.qt(name))
    menu.addSeparator()
    menu.addAction(catalogue.qt("palette"))
    menu.addAction(catalogue.qt("quit"))
    return menu
