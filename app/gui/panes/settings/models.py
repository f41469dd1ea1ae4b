"""Models: the servers, whether a model may be trusted with memory, and who does what."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app.gui.bridge import Tasks
from app.gui.bridge.person import ModelSeen, PersonValues, ServerSeen
from app.gui.look.text import plain_line, tr
from app.gui.panes.settings.controls import ChoiceControl
from app.gui.panes.settings.fields import Spec
from app.gui.panes.settings.form import Page
from app.gui.panes.settings.keep import Keeper
from app.gui.panes.settings.rows import SettingRow
from app.gui.panes.settings.server_card import FitTable, ServerCard, fit_words, window_words
from app.gui.panes.settings.server_sheet import Entered, ServerSheet
from app.gui.widgets.buttons import Button
from app.gui.widgets.dialogs import ask
from app.gui.widgets.labels import T
from app.gui.widgets.pane import Desk

BUILTIN = "builtin"
ROLES = {
    "chat": ("Chat", "The model you talk to."),
    "memory": ("Memory", "Picks what goes into the daily log and proposes changes to MEMORY.md."),
    "compaction": ("Compaction", "Summarises long sessions."),
}


class ModelsPage(Page):
    """Needs `desk.person`; without it the page says so."""

    def __init__(
        self, desk: Desk, keep: Keeper, tasks: Tasks, fail: Callable[[BaseException], None]
    ) -> None:
        super().__init__(tr("Models"), widest=800)
        self._desk, self._keep, self._tasks, self._fail = desk, keep, tasks, fail
        self.seen: dict[str, ServerSeen] = {}
        self.keys: dict[str, str] = {}
        self._asking: set[str] = set()
        self.cards: dict[str, ServerCard] = {}
        self._shape: object = None
        self._build()

    def _build(self) -> None:
        cards = QWidget()
        self.cards_box = QVBoxLayout(cards)
        self.cards_box.setContentsMargins(0, 0, 0, 0)
        self.cards_box.setSpacing(9)
        self.add_button = Button(tr("Add a server"), icon="plus", key="A")
        self.add_button.clicked.connect(self.add_server)
        self.find_button = Button(tr("Look on this machine"), "quiet", icon="search")
        self.find_button.clicked.connect(lambda: self._tasks.latest("find", self.find_servers()))
        self.found = T("", "small", "text_faint", wrap=True)
        row = QHBoxLayout()
        row.setSpacing(6)
        row.addWidget(self.add_button)
        row.addWidget(self.find_button)
        row.addWidget(self.found, 1)
        self.none = T(
            tr("No server yet: the built-in model answers. It is good for trying things out; for "
               "real work add a larger one, from this machine or elsewhere."),
            "body", "text_soft", wrap=True,
        )  # fmt: skip
        self.table = FitTable()
        self.roles: dict[str, SettingRow] = {}
        box = self.box
        box.addWidget(_head(tr("Servers"), top=4))
        box.addWidget(self.none)
        box.addSpacing(6)
        box.addWidget(cards)
        box.addSpacing(9)
        box.addLayout(row)
        box.addWidget(_head(tr("May it be trusted with memory?")))
        box.addWidget(
            T(tr("A model that is unfit, or not known, is never asked; rules pick the facts "
                 "instead. Trust one yourself where you change its server."),
              "small", "text_soft", wrap=True)
        )  # fmt: skip
        box.addWidget(self.table)
        box.addWidget(_head(tr("Who does what")))
        for name, (title, sentence) in ROLES.items():
            spec = Spec((name,), tr(title), tr(sentence), "model")
            row_ = SettingRow(spec, ChoiceControl(spec, [("", "")]))
            row_.wanted.connect(self._on_role)
            self.roles[name] = row_
            box.addWidget(row_)
        box.addStretch(1)

    # ------------------------------------------------------------------ showing

    async def refresh(self) -> None:
        """Show what is configured, then ask the servers that were not asked yet."""
        values, person = self._keep.values, self._desk.person
        if values is None or person is None:
            return
        self.show_values(values)
        for name, server in values.servers.items():
            self.keys[name] = await person.key_source(server.url)  # type: ignore[attr-defined]
        self.show_values(values)
        for name in values.servers:
            if name not in self.seen and name not in self._asking:
                self.check(name)

    def show_values(self, values: PersonValues) -> None:
        shape = dict(values.servers)
        if shape != self._shape:
            self._shape = shape
            self._make_cards(values)
        self.none.setVisible(not values.servers)
        for name, card in self.cards.items():
            card.show_state(self.seen.get(name), self.keys.get(name, ""), name in self._asking)
        self.table.show_models(self._fit_rows(values))
        defaults = type(values.roles).defaults()
        for name, row in self.roles.items():
            assert isinstance(row.control, ChoiceControl)
            row.control.set_choices(self._choices(name, values))
            row.put(getattr(values.roles, name), getattr(defaults, name))

    def _make_cards(self, values: PersonValues) -> None:
        while (item := self.cards_box.takeAt(0)) is not None:
            if (old := item.widget()) is not None:
                old.hide()
                old.deleteLater()
        self.cards = {}
        for name, server in values.servers.items():
            card = ServerCard(
                name, server, lambda n=name: self.check(n), lambda n=name: self.edit_server(n),
                lambda n=name: self._tasks.start("remove", self.remove_server(n)),
            )  # fmt: skip
            self.cards[name] = card
            self.cards_box.addWidget(card)

    def _fit_rows(self, values: PersonValues) -> list[tuple[str, str, str, str]]:
        person = self._desk.person
        if person is None:
            return []
        builtin = person.builtin
        rows = [(tr("Built-in, {name}", name=builtin.name), window_words(builtin),
                 *fit_words(builtin.fit, False))]  # fmt: skip
        for name, server in values.servers.items():
            set_up: Any = server
            seen = self.seen.get(name)
            models = list(seen.models[:12]) if seen is not None else []
            if set_up.model and all(one.name != set_up.model for one in models):
                window = set_up.window
                models.insert(0, ModelSeen(set_up.model, window, 0, person.fits(set_up.model)))
            for one in models:
                trusted = set_up.trust_with_memory and one.name == set_up.model
                words, tone = fit_words(one.fit, trusted)
                rows.append((f"{plain_line(one.name)}, {name}", window_words(one), words, tone))
        return rows

    def _choices(self, role: str, values: PersonValues) -> list[tuple[Any, str]]:
        out: list[tuple[Any, str]] = [] if role == "chat" else [("", tr("same as chat"))]
        out.append((BUILTIN, tr("the built-in model")))
        for name, server in values.servers.items():
            own: str = server.model  # type: ignore[attr-defined]
            out.append((name, f"{plain_line(own) or tr('its own choice')}, {name}"))
            seen = self.seen.get(name)
            for one in seen.models[:40] if seen is not None else ():
                if one.name != own:
                    out.append((f"{name}:{one.name}", f"{plain_line(one.name)}, {name}"))
        return out

    def first(self) -> QWidget | None:
        return self.add_button

    # ------------------------------------------------------------------ servers

    def check_all(self) -> None:
        for name in self._keep.values.servers if self._keep.values is not None else ():
            self.check(name)

    def check(self, name: str) -> None:
        """Ask one server again."""
        self._tasks.latest(f"check {name}", self._check(name))

    async def _check(self, name: str) -> None:
        values, person = self._keep.values, self._desk.person
        if values is None or person is None or name not in values.servers:
            return
        server: Any = values.servers[name]
        self._asking.add(name)
        self._show_again()
        try:
            self.seen[name] = await person.probe(server.url, server.model)
        finally:
            self._asking.discard(name)
            self._show_again()

    def _show_again(self) -> None:
        if self._keep.values is not None:
            self.show_values(self._keep.values)

    def add_server(self, url: str = "", name: str = "") -> None:
        if self._desk.person is None or self._keep.values is None:
            return
        sheet = self._sheet("", None)
        if url:
            sheet.address.setText(url)
            sheet.name.setText(name)
        sheet.start()

    def edit_server(self, name: str) -> None:
        if self._keep.values is not None and name in self._keep.values.servers:
            self._sheet(name, self._keep.values.servers[name]).start()

    def _sheet(self, name: str, server: Any) -> ServerSheet:
        assert self._desk.person is not None
        assert self._keep.values is not None
        taken = list(self._keep.values.servers)
        sheet = ServerSheet(
            self.window(), self._desk.person, name, server, taken, lambda _n, e: self._fail(e)
        )
        sheet.entered.connect(lambda entered: self._tasks.start("save", self.save_server(entered)))
        return sheet

    async def save_server(self, entered: Entered) -> None:
        """Store a server and its key; a new one becomes the chat model's when there was none."""
        person = self._desk.person
        assert person is not None
        if entered.key is not None:
            await person.store_key(entered.server.url, entered.key)

        def change(now: PersonValues) -> PersonValues:
            servers = {
                entered.name if name == entered.old_name else name: server
                for name, server in now.servers.items()
            }
            servers[entered.name] = entered.server
            roles = now.roles
            if entered.old_name and entered.old_name != entered.name:
                roles = _renamed(roles, entered.old_name, entered.name)
            return dataclasses.replace(now, servers=servers, roles=roles)

        await self._keep.personal(entered.name, change, models=True)
        if entered.key is not None:
            await self._keep.use_models()
        self.seen.pop(entered.name, None)
        self.seen.pop(entered.old_name, None)
        await self.refresh()

    async def remove_server(self, name: str) -> None:
        """Take a server out; roles that named it fall back. Its key stays in the keyring."""
        values, person = self._keep.values, self._desk.person
        if values is None or person is None or name not in values.servers:
            return
        used = [role for role in ROLES if _names(getattr(values.roles, role), name)]
        text = tr("It is taken out of your settings. Models and data of the server stay.")
        if used:
            what = ", ".join(tr(ROLES[one][0]).lower() for one in used)
            text = tr("It is in use for {what}; the built-in model takes over.", what=what)
        buttons = [("", tr("Keep it"), "plain"), ("go", tr("Remove {n}", n=name), "danger")]
        if await ask(self.window(), tr("Remove {name}?", name=name), text, buttons) != "go":
            return

        def change(now: PersonValues) -> PersonValues:
            servers = {n: s for n, s in now.servers.items() if n != name}
            free = {role: (BUILTIN if role == "chat" else "") for role in ROLES
                    if _names(getattr(now.roles, role), name)}  # fmt: skip
            return dataclasses.replace(now, servers=servers, roles=now.roles.replace(**free))

        await self._keep.personal(tr("{name} removed", name=name), change, models=True)
        await self.refresh()

    async def find_servers(self) -> None:
        """Look at the usual ports of this machine, because a person asked for it."""
        person, values = self._desk.person, self._keep.values
        if person is None or values is None:
            return
        self.find_button.set_running(True, tr("Looking"))
        try:
            found = await person.find_servers()
        finally:
            self.find_button.set_running(False, tr("Look on this machine"))
        known = {person.host(s.url) for s in values.servers.values()}  # type: ignore[attr-defined]
        new = [one for one in found if person.host(one.url) not in known]
        if not new:
            self.found.setText(tr("Nothing new answers at the usual ports."))
            return
        self.found.setText("")
        kind = new[0].kind if new[0].kind != "unknown" else ""
        self.add_server(new[0].url, kind.lower().replace(" ", "-").replace(".", "-"))

    # ------------------------------------------------------------------ roles

    def _on_role(self, spec: Spec, value: str) -> None:
        self._tasks.start("role", self.choose(spec.path[0], value))

    async def choose(self, role: str, value: str) -> None:
        """Give a role to a model; a host that is not this machine is asked about once."""
        values, person = self._keep.values, self._desk.person
        if values is None or person is None:
            return
        server: Any = values.servers.get(value) or values.servers.get(value.partition(":")[0])
        if server is not None and not await self._may_leave(server.url):
            self._show_again()
            return
        await self._keep.personal(
            tr(ROLES[role][0]),
            lambda now: dataclasses.replace(now, roles=now.roles.replace(**{role: value})),
            models=True,
        )
        await self.refresh()

    async def _may_leave(self, url: str) -> bool:
        person = self._desk.person
        assert person is not None
        if person.stays_here(url):
            return True
        host = person.host(url)
        agreed: list[str] = list(self._desk.kept.get("settings.hosts", []))
        if host in agreed:
            return True
        buttons = [("", tr("Keep what I have"), "plain"), ("go", tr("Use it"), "primary")]
        said = await ask(
            self.window(), tr("Send your words to {host}?", host=host),
            tr("What you write, your memory and tool results will be sent to this host with each "
               "request. This is asked once for each host."), buttons,
        )  # fmt: skip
        if said == "go":
            self._desk.kept["settings.hosts"] = [*agreed, host]
        return said == "go"


def _names(value: str, server: str) -> bool:
    return value == server or value.startswith(f"{server}:")


def _renamed(roles: Any, old: str, new: str) -> Any:
    changes = {
        role: new + getattr(roles, role)[len(old) :]
        for role in ROLES
        if _names(getattr(roles, role), old)
    }
    return roles.replace(**changes) if changes else roles


def _head(text: str, top: int = 24) -> T:
    head = T(text, "body", weight=600)
    head.setContentsMargins(0, top, 0, 4)
    head.setAlignment(Qt.AlignmentFlag.AlignLeft)
    return head
