"""One server as a card, and the table that says which model may be trusted with memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from app.gui.bridge.person import ModelSeen, ServerSeen
from app.gui.look.text import number, plain_line, sentence, tr
from app.gui.look.theme import theme
from app.gui.panes.settings.server_sheet import server_words
from app.gui.widgets.buttons import Button, IconButton
from app.gui.widgets.labels import IconLabel, T
from app.gui.widgets.rings import RunningRing
from app.gui.widgets.surfaces import Card, Hairline

SIGNS = {"ok": "circle-check", "warn": "key-round", "off": "circle-dashed", "": "circle-dashed"}
NARROW = 560  # px of a card at zoom 1
INKS = {"ok": "ok", "warn": "warn", "off": "text_faint", "": "text_faint"}


class ServerCard(Card):
    """One server: its name and address, what it told last, and what can be done with it."""

    def __init__(
        self, name: str, server: Any, check: Callable[[], object], edit: Callable[[], object],
        remove: Callable[[], object],
    ) -> None:  # fmt: skip
        super().__init__(radius=8)
        self.sign = IconLabel("circle-dashed", 14, "text_faint")
        self.ring = RunningRing()
        self.ring.hide()
        self.told = T(tr("not asked yet"), "small", "text_faint", weight=500)
        self.check = Button(tr("Check again"), height=26)
        self.check.setAccessibleName(tr("Check {name} again", name=name))
        self.check.clicked.connect(check)
        change = IconButton("pencil", tr("Change {name}", name=name), side=26)
        change.clicked.connect(edit)
        take = IconButton("trash", tr("Remove {name}", name=name), side=26)
        take.clicked.connect(remove)
        words = QVBoxLayout()
        words.setSpacing(1)
        words.addWidget(T(plain_line(name), "body", weight=600, elide="right"))
        model = server.model or tr("the server's model")
        line = T(plain_line(server.url), "code", "text_soft", elide="middle")
        words.addWidget(line)
        self.key = T(plain_line(model), "small", "text_faint", elide="right")
        words.addWidget(self.key)
        row = QHBoxLayout()
        row.setContentsMargins(13, 8, 9, 8)
        row.setSpacing(8)
        row.addWidget(IconLabel("server", 18, "text_soft"))
        row.addSpacing(4)
        row.addLayout(words, 1)
        row.addWidget(self.sign)
        row.addWidget(self.ring)
        row.addWidget(self.told)
        row.addSpacing(4)
        for widget in (self.check, change, take):
            row.addWidget(widget)
        self.box.addLayout(row)
        self._model, self._kept = plain_line(model), ""

    def show_state(self, seen: ServerSeen | None, key: str, running: bool) -> None:
        self.ring.setVisible(running)
        self.sign.setVisible(not running)
        words, tone = server_words(seen) if seen is not None else (tr("not asked yet"), "")
        self.told.setText(tr("asking") if running else words)
        self.told.set_color(INKS[tone])
        self.sign.set_icon(SIGNS[tone], INKS[tone])
        self._kept = tr("key {source}", source=tr(key)) if key else tr("no key")
        self._settle()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._settle()

    def _settle(self) -> None:
        """In a narrow card what the server told stands below its address."""
        narrow = self.width() < NARROW * max(theme().zoom, 1.0)
        self.told.setVisible(not narrow)
        words = [self.told.text()] if narrow else []
        self.key.setText(sentence([*words, self._model, self._kept]))


class FitTable(QWidget):
    """Which model may do memory work, and how large its window really is."""

    def __init__(self) -> None:
        super().__init__()
        self.grid = QGridLayout(self)
        self.grid.setContentsMargins(0, 4, 0, 0)
        self.grid.setHorizontalSpacing(20)
        self.grid.setVerticalSpacing(0)
        self.grid.setColumnStretch(0, 3)
        self.grid.setColumnStretch(1, 2)
        self.grid.setColumnStretch(2, 3)

    def show_models(self, rows: list[tuple[str, str, str, str]]) -> None:
        """Rows of (model, window, words, tone)."""
        while (item := self.grid.takeAt(0)) is not None:
            if (old := item.widget()) is not None:
                old.hide()
                old.deleteLater()
        for at, title in enumerate((tr("Model"), tr("Loaded window"), tr("Memory work"))):
            head = T(title, "small", "text_soft", weight=500)
            head.setMinimumHeight(30)
            self.grid.addWidget(head, 0, at)
        self.grid.addWidget(Hairline(), 1, 0, 1, 3)
        for n, (model, window, words, tone) in enumerate(rows, 2):
            name = T(model, "body", weight=500, elide="middle")
            name.setMinimumHeight(34)
            self.grid.addWidget(name, n, 0)
            self.grid.addWidget(T(window, "body", "text_soft", tabular=True), n, 1)
            self.grid.addWidget(fit_cell(words, tone), n, 2)


def fit_cell(words: str, tone: str) -> QWidget:
    icons = {"ok": "circle-check", "text_soft": "circle-minus", "text_faint": "circle-dashed"}
    out = QWidget()
    row = QHBoxLayout(out)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(6)
    row.addWidget(IconLabel(icons[tone], 14, tone))
    row.addWidget(T(words, "small", tone, weight=500, elide="right"), 1)
    return out


def window_words(model: ModelSeen) -> str:
    """ "32,768 of 40,960": the loaded window, and what the model was trained for."""
    if model.window and model.trained and model.trained != model.window:
        return tr("{n} of {m}", n=number(model.window), m=number(model.trained))
    if model.window:
        return number(model.window)
    return tr("up to {n}, not loaded", n=number(model.trained)) if model.trained else tr("not told")


def fit_words(fit: bool | None, trusted: bool) -> tuple[str, str]:
    """(words, tone): what the catalogue says, and a person's own word over it."""
    if trusted:
        return tr("trusted by you"), "ok"
    if fit is None:
        return tr("not known, rules pick the facts"), "text_faint"
    return (tr("fit"), "ok") if fit else (tr("unfit, rules pick the facts"), "text_soft")
