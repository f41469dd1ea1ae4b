"""Adding or changing a model server: one sheet over the window.

The host is named before anything leaves this machine, and the sheet says where a key is kept before
it is given. A key's text is never shown again: the field is empty when the sheet opens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from app.engine.errors import ConfigError
from app.gui.bridge import Tasks
from app.gui.bridge.person import PersonalSettings, ServerSeen
from app.gui.look.text import number, plain_line, plural, tr
from app.gui.widgets.buttons import Button, Chip, Switch
from app.gui.widgets.dialogs import Overlay
from app.gui.widgets.fields import Field
from app.gui.widgets.labels import IconLabel, T


@dataclass(frozen=True)
class Entered:
    """What a person entered. `key` is None when they left the field alone."""

    old_name: str
    name: str
    server: Any
    key: str | None


def server_words(seen: ServerSeen) -> tuple[str, str]:
    """(words, tone) for what a server told."""
    if not seen.answers:
        return tr("does not answer"), "off"
    if seen.needs_key and not seen.models:
        return tr("wants a key"), "warn"
    kind = "" if seen.kind == "unknown" else seen.kind
    models = plural(len(seen.models), "{n} model", "{n} models")
    if kind:
        return tr("{kind} answers, {models}", kind=kind, models=models), "ok"
    return tr("answers, {models}", models=models), "ok"


class ServerSheet(Overlay):
    """`entered(Entered)` when it is to be saved."""

    entered = Signal(object)

    def __init__(
        self,
        window: QWidget,
        person: PersonalSettings,
        name: str = "",
        server: Any = None,
        taken: Sequence[str] = (),
        failed: Callable[[str, BaseException], None] | None = None,
    ) -> None:
        super().__init__(window, width=560)
        self._person = person
        self._old, self._server, self._taken = name, server, set(taken) - {name}
        self.tasks = Tasks(failed)
        # Nested layouts know their new height only after Qt's own pass: fit the sheet after it.
        self._fit = QTimer(self, singleShot=True, interval=0)
        self._fit.timeout.connect(self.refit)
        self.closed.connect(self.tasks.cancel_all)
        head = tr("Change {name}", name=name) if name else tr("Add a model server")
        self.setAccessibleName(head)
        self.box.addWidget(T(head, "head", wrap=True))
        self._fields(name, server)
        self.seen_row = QHBoxLayout()
        self.chips = QHBoxLayout()
        self.chips.setSpacing(6)
        self.sign = IconLabel("", 14, "text_faint")
        self.told = T("", "small", "text_soft", wrap=True)
        self.seen_row.addWidget(self.sign)
        self.seen_row.addWidget(self.told, 1)
        self.box.addLayout(self.seen_row)
        self.box.addLayout(self.chips)
        self.problem = T("", "small", "lost", weight=500, wrap=True)
        self.problem.hide()
        self.box.addWidget(self.problem)
        self._buttons()
        self._on_address()
        self._tell_key()

    def start(self) -> None:
        self.open(self.name if not self._old else self.address)

    # ------------------------------------------------------------------ building

    def _fields(self, name: str, server: Any) -> None:
        self.name = Field(tr("Name"), tr("ollama"))
        self.name.setText(name)
        self.address = Field(tr("Address"), "http://127.0.0.1:11434/v1")
        self.address.setText(server.url if server is not None else "")
        self.address.textChanged.connect(self._on_address)
        self.model = Field(tr("Model"), tr("as the server knows it; empty is its own choice"))
        self.model.setText(server.model if server is not None else "")
        self.window_size = Field(tr("Context window"), tr("ask the server"), unit=tr("tokens"))
        if server is not None and server.window:
            self.window_size.setText(str(server.window))
        self.key = Field(tr("API key"), "")
        self.key.setEchoMode(QLineEdit.EchoMode.Password)
        self.trust = Switch(
            tr("Let this model write memory proposals"),
            bool(server is not None and server.trust_with_memory),
        )
        self.host = T("", "small", "text_faint", wrap=True)
        self.key_told = T("", "small", "text_faint", wrap=True)
        for title, field, below in (
            (tr("Name"), self.name, None),
            (tr("Address"), self.address, self.host),
            (tr("Model"), self.model, None),
            (tr("Window"), self.window_size, None),
            (tr("API key"), self.key, self.key_told),
        ):
            self.box.addLayout(self._line(title, field, below))
        trusted = T(
            tr("Trust it with memory although it is not in the list of fit models"),
            "small", "text_soft", wrap=True,
        )  # fmt: skip
        row = QHBoxLayout()
        row.addSpacing(96)
        row.addWidget(trusted, 1)
        row.addWidget(self.trust)
        self.box.addLayout(row)

    def _line(self, title: str, field: QWidget, below: QWidget | None) -> QHBoxLayout:
        label = T(title, "body", "text_soft")
        label.setFixedWidth(84)
        label.setFixedHeight(30)
        right = QVBoxLayout()
        right.setSpacing(3)
        right.addWidget(field)
        if below is not None:
            right.addWidget(below)
        row = QHBoxLayout()
        row.setSpacing(12)
        column = QVBoxLayout()
        column.addWidget(label)
        column.addStretch(1)
        row.addLayout(column)
        row.addLayout(right, 1)
        return row

    def _buttons(self) -> None:
        self.test = Button(tr("Test the connection"), icon="plug")
        self.test.clicked.connect(lambda: self.tasks.latest("probe", self.probe()))
        leave = Button(tr("Leave it"), "plain")
        leave.clicked.connect(self.close_sheet)
        self.save = Button(tr("Save the server"), "primary")
        self.save.clicked.connect(self.submit)
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(self.test)
        row.addStretch(1)
        row.addWidget(leave)
        row.addWidget(self.save)
        self.box.addSpacing(4)
        self.box.addLayout(row)

    # ------------------------------------------------------------------ telling

    def _on_address(self) -> None:
        url = self.address.text().strip()
        host = self._person.host(url) if "://" in url else ""
        if not host:
            self.host.setText(tr("Up to /v1. A bare server gets it by itself."))
            self.host.set_color("text_faint")
        elif self._person.stays_here(url):
            self.host.setText(tr("On this machine: nothing leaves it."))
            self.host.set_color("text_faint")
        else:
            self.host.setText(
                tr("What you write, your memory and tool results will be sent to {host}.",
                   host=plain_line(host))
            )  # fmt: skip
            self.host.set_color("warn")
        self._tell_key()
        self._fit.start()

    def _tell_key(self) -> None:
        self.tasks.latest("key", self._find_key())

    async def _find_key(self) -> None:
        url = self.address.text().strip()
        source = await self._person.key_source(url) if "://" in url else ""
        if source:
            self.key.setPlaceholderText(tr("there is one; type another to replace it"))
            self.key_told.setText(tr("The key comes {source}.", source=tr(source)))
        else:
            self.key.setPlaceholderText(tr("none needed on most local servers"))
            self.key_told.setText(
                tr("It is kept in the system's keyring; without one, for this run only. "
                   "Never in a file.")
            )  # fmt: skip
        self._fit.start()

    async def probe(self) -> None:
        """Ask the server who it is, with what stands in the fields now."""
        self.test.set_running(True, tr("Asking"))
        self.told.setText("")
        try:
            seen = await self._person.probe(
                self.address.text().strip(), self.model.text().strip(), self.key.text()
            )
        finally:
            self.test.set_running(False, tr("Test the connection"))
        self.show_seen(seen)

    def show_seen(self, seen: ServerSeen) -> None:
        words, tone = server_words(seen)
        icons = {"ok": "circle-check", "warn": "key-round", "off": "circle-dashed"}
        ink = {"ok": "ok", "warn": "warn", "off": "text_faint"}[tone]
        self.sign.set_icon(icons[tone], ink)
        self.told.set_color(ink if tone != "off" else "text_soft")
        named = words.startswith(seen.kind)  # a name keeps its own letters: vLLM
        self.told.setText(words if named else words[:1].upper() + words[1:])
        while (item := self.chips.takeAt(0)) is not None:
            if (old := item.widget()) is not None:
                old.hide()
                old.deleteLater()
        for model in seen.models[:4]:
            size = number(model.window) if model.window else ""
            chip = Button(plain_line(model.name)[:28], "quiet", key=size, height=26)
            chip.setAccessibleName(tr("Use the model {name}", name=plain_line(model.name)))
            chip.clicked.connect(lambda _=False, name=model.name: self.model.setText(name))
            self.chips.addWidget(chip)
        if len(seen.models) > 4:
            self.chips.addWidget(Chip(tr("{n} more", n=len(seen.models) - 4)))
        self.chips.addStretch(1)
        self._fit.start()

    # ------------------------------------------------------------------ saving

    def _name(self) -> str:
        typed = self.name.text().strip()
        if typed:
            return typed
        host = self._person.host(self.address.text().strip())
        return host.partition(":")[0].replace("127.0.0.1", "local") or "server"

    def submit(self) -> None:
        """Check what was entered; tell what is wrong, or hand it over and close."""
        name = self._name()
        rule = name_rule(name, self._taken)
        if rule:
            self._tell(rule)
            return
        size = self.window_size.text().replace(",", "").replace(" ", "").strip() or "0"
        if not size.isdigit():
            self._tell(tr("The context window must be a whole number of tokens, or empty."))
            return
        try:
            server = self._person.server(
                url=self.address.text().strip(), model=self.model.text().strip(),
                window=int(size), trust_with_memory=self.trust.isChecked(),
            )  # fmt: skip
        except ConfigError as error:
            _, found, rest = str(error).partition(" must ")
            said = tr("The address must {rule}.", rule=rest.partition(";")[0])
            self._tell(said if found else str(error))
            return
        key = self.key.text().strip() or None
        self.key.clear()
        self.entered.emit(Entered(self._old, name, server, key))
        self.close_sheet()

    def _tell(self, sentence: str) -> None:
        self.problem.setText(sentence)
        self.problem.show()
        self._fit.start()


def name_rule(name: str, taken: set[str]) -> str:
    """What is wrong with a server's name; "" when it can be used."""
    if name == "builtin":
        return tr("The name builtin means the built-in model; choose another one.")
    if ":" in name or not name.isprintable():
        return tr("A name holds no colon: that stands between server and model.")
    if name in taken:
        return tr("There is a server of that name already.")
    return ""
