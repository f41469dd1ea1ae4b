"""About: what this is, where everything lies, what never happens."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QWidget

from app.gui.look.icons import SIGN
from app.gui.look.text import tr
from app.gui.panes.settings.form import Page
from app.gui.widgets.labels import IconLabel, Link, T
from app.gui.widgets.surfaces import Hairline


def program_version() -> str:
    """The installed version; "" in a tree that is not installed."""
    try:
        return version("palimpsest")
    except PackageNotFoundError:
        return ""


class PathRow(QWidget):
    """A name, a path, Copy and Show."""

    shown = Signal(str)

    def __init__(self, name: str, sentence: str, path: str) -> None:
        super().__init__()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 9, 0, 9)
        row.setSpacing(10)
        label = T(name, "body", weight=500)
        label.setFixedWidth(150)
        label.setToolTip(sentence)
        where = T(path, "code", "text_soft", elide="middle")
        where.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        copy = Link(tr("Copy"))
        copy.setAccessibleName(tr("Copy the path: {name}", name=name))
        copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(path))
        show = Link(tr("Show"))
        show.setAccessibleName(tr("Show in the file manager: {name}", name=name))
        show.clicked.connect(lambda: self.shown.emit(path))
        row.addWidget(label)
        row.addWidget(where, 1)
        row.addWidget(copy)
        row.addWidget(show)


class AboutPage(Page):
    """`show_wanted(path)` when a person wants to see a file in the file manager."""

    show_wanted = Signal(str)

    def __init__(self, paths: list[tuple[str, str, str]]) -> None:
        super().__init__(tr("About"))
        head = QHBoxLayout()
        head.setSpacing(10)
        head.addWidget(IconLabel(SIGN, 22, "accent"))
        head.addWidget(T(" ".join(["Palimpsest", program_version()]).strip(), "title"))
        head.addStretch(1)
        self.box.addSpacing(4)
        self.box.addLayout(head)
        self.box.addSpacing(8)
        for text in (
            tr("An agent whose memory can be watched being made, reviewed and corrected. Its "
               "memory is plain files in your workspace, readable without this program."),
            tr("Nothing is sent anywhere except to the model servers you entered. There is no "
               "telemetry, and no other program can connect to this one."),
        ):  # fmt: skip
            said = T(text, "body", "text_soft", wrap=True)
            said.setContentsMargins(0, 0, 0, 8)
            self.box.addWidget(said)
        title = T(tr("Where everything lies"), "body", weight=600)
        title.setContentsMargins(0, 14, 0, 2)
        self.box.addWidget(title)
        for name, sentence, path in paths:
            row = PathRow(name, sentence, path)
            row.shown.connect(self.show_wanted)
            self.box.addWidget(row)
            self.box.addWidget(Hairline())
        licence = T(tr("Free software under the MIT licence."), "small", "text_faint", wrap=True)
        licence.setContentsMargins(0, 16, 0, 0)
        licence.setTextInteractionFlags(Qt.TextInteractionFlag.NoTextInteraction)
        self.box.addWidget(licence)
        self.box.addStretch(1)
