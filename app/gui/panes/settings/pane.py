"""Settings: a list of sections, and of the chosen one a form that saves each row at once.

The workspace's policy and the person's own settings look alike here but are stored apart: policy
in the workspace's `.palimpsest/config.toml`, servers, roles and looks in the person's
`settings.toml`, keys in neither.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from PySide6.QtCore import QTimer, QUrl
from PySide6.QtGui import QDesktopServices, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from app.engine.config import Config
from app.engine.errors import ConfigError, UserError
from app.engine.events import Changed
from app.gui.look.text import clock, plural, tr
from app.gui.look.theme import theme
from app.gui.panes.settings import fields
from app.gui.panes.settings.about import AboutPage
from app.gui.panes.settings.agents import AgentsPage
from app.gui.panes.settings.fields import SECTIONS, Section, Spec
from app.gui.panes.settings.form import Form, Given
from app.gui.panes.settings.keep import Keeper
from app.gui.panes.settings.models import ModelsPage
from app.gui.panes.settings.pictures import MemoryPicture, WindowPicture
from app.gui.panes.settings.side import SectionList
from app.gui.panes.settings.values import rule_broken
from app.gui.widgets.action import Action
from app.gui.widgets.buttons import Button
from app.gui.widgets.dialogs import ask
from app.gui.widgets.fields import Choice
from app.gui.widgets.labels import T
from app.gui.widgets.pane import Desk, Pane, PaneHead, Target
from app.gui.widgets.surfaces import Hairline

SOON = 100  # ms
NARROW = 700  # px of the pane below which the list of sections becomes a drop-down
FOUND = "found"


class SettingsPane(Pane):
    """`open(Target("settings", section=…))` shows a section; `find` searches for a setting."""

    place, title = "settings", "Settings"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.keep = Keeper(lambda: self.desk.engine, desk.person, self._on_saved, self)
        self.section = SECTIONS[0].id
        self.pages: dict[str, QWidget] = {}
        self._wanted = ""
        self._build()
        self._later = QTimer(self, singleShot=True, interval=SOON)
        self._later.timeout.connect(lambda: self.tasks.latest("refresh", self.refresh()))
        desk.signals.changed.connect(self._on_changed)
        theme().changed.connect(self._on_theme)
        self.show_section(str(desk.kept.get("settings.section", SECTIONS[0].id)))

    def _build(self) -> None:
        self.head.hide()
        self.side = SectionList()
        self.side.chosen.connect(self.show_section)
        self.side.searched.connect(self._on_searched)
        self.side.file_wanted.connect(lambda: self._show_file(self._config_file()))
        self.top = PaneHead(margin=32)
        self.sections = Choice(tr("Section"))
        self.sections.addItems([tr(one.title) for one in SECTIONS])
        self.sections.activated.connect(lambda at: self.show_section(SECTIONS[at].id))
        self.sections.hide()
        self.saved = T("", "small", "text_faint", tabular=True)
        self.undo_button = Button(tr("Undo"), "quiet", icon="undo-2")
        self.undo_button.clicked.connect(self.undo)
        self.defaults_button = Button(tr("Defaults"), "quiet")
        self.defaults_button.clicked.connect(self.take_defaults)
        self.top.add(self.sections, self.saved, self.undo_button, self.defaults_button)
        self.stack = QStackedWidget()
        right = QVBoxLayout()
        right.setSpacing(0)
        right.addWidget(self.top)
        right.addWidget(self.stack, 1)
        row = QHBoxLayout()
        row.setSpacing(0)
        row.addWidget(self.side)
        self.edge = Hairline(vertical=True)
        row.addWidget(self.edge)
        row.addLayout(right, 1)
        self.body.addLayout(row, 1)
        self._on_steps()

    # ------------------------------------------------------------------ the contract

    def actions(self) -> list[Action]:
        def one(name: str, title: str, icon: str, run: Any, key: str, **more: Any) -> Action:
            full = f"settings.{name}"
            return Action(full, title, icon, run, key=key, when="pane:settings", **more)

        return [
            one("find", tr("Find a setting"), "search", self.find, "/"),
            one("undo", tr("Take the last change of a setting back"), "undo-2", self.undo, "U",
                off=lambda: "" if self.keep.steps else tr("Nothing was changed yet")),
            one("defaults", tr("Defaults for this section"), "rotate-ccw", self.take_defaults,
                "Shift+U"),
            one("next", tr("Next section"), "chevron-down", lambda: self.step(1), "]"),
            one("previous", tr("Previous section"), "chevron-up", lambda: self.step(-1), "["),
            one("save", tr("Save AGENTS.md"), "save", self._save_agents, "Ctrl+S",
                off=lambda: "" if self._agents_edited() else tr("AGENTS.md is not changed")),
            one("add", tr("Add a model server"), "plus", self._add_server, "A"),
            one("check", tr("Ask all servers again"), "refresh-cw", self._check_servers, "T"),
        ]  # fmt: skip

    async def refresh(self) -> None:
        """Read everything again; what is being typed stays."""
        await self.keep.look()
        await self._fill(self.section)
        self._show_counts()

    async def open(self, target: Target) -> None:
        """Show a section, or search for a setting."""
        if target.section:
            self.show_section(target.section)
        if target.find:
            self.side.search(target.find)
        await self.refresh()

    def focus_parts(self) -> list[QWidget]:
        return [self.side.field, self.side.list, *self._first_controls()]

    def _first_controls(self) -> list[QWidget]:
        page = self.pages.get(self.section)
        if isinstance(page, AgentsPage):
            return [page.edit]
        first = page.first() if isinstance(page, Form | ModelsPage) else None
        return [first] if first is not None else []

    def find(self) -> bool:
        """Ctrl+F: the search field."""
        if not self.side.isVisible():
            self.side.show()
        self.side.field.setFocus()
        self.side.field.selectAll()
        return True

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        narrow = self.width() < NARROW
        self.side.setVisible(not narrow)
        self.edge.setVisible(not narrow)
        self.sections.setVisible(narrow)
        self.top.title.setVisible(not narrow)

    # ------------------------------------------------------------------ sections

    def _section(self, name: str) -> Section:
        return next((one for one in SECTIONS if one.id == name), SECTIONS[0])

    def show_section(self, name: str) -> None:
        """Show a section; what it holds is filled behind it."""
        section = self._section(name)
        self.section = section.id
        self.desk.kept["settings.section"] = section.id
        if section.id not in self.pages:
            self.pages[section.id] = self._made(section)
            self.stack.addWidget(self.pages[section.id])
        page = self.pages[section.id]
        self.stack.setCurrentWidget(page)
        self.side.set_current(section.id)
        self.sections.setCurrentIndex([one.id for one in SECTIONS].index(section.id))
        self.top.set_title(tr(section.title))
        self.top.set_line(False)
        self.defaults_button.setVisible(bool(section.groups) or section.id == "look")
        self.tasks.latest("fill", self._fill(section.id))

    def step(self, by: int) -> None:
        names = [one.id for one in SECTIONS]
        self.show_section(names[(names.index(self.section) + by) % len(names)])

    def _made(self, section: Section) -> QWidget:
        if section.id == "models":
            page = ModelsPage(self.desk, self.keep, self.tasks, self.fail)
            self.top.follow(page)
            return page
        if section.id == "agents":
            agents = AgentsPage(tr(section.sentence))
            agents.save_wanted.connect(
                lambda text: self.tasks.start("agents", self._write_agents(text))
            )
            return agents
        if section.id == "about":
            about = AboutPage(self._paths())
            about.show_wanted.connect(self._show_file)
            self.top.follow(about)
            return about
        pictures = {"compaction": WindowPicture, "memory": MemoryPicture}
        made = pictures.get(section.id)
        form = Form(
            tr(section.title), tr(section.sentence), made() if made else None, self._model_choices
        )
        form.wanted.connect(self._on_wanted if section.id != "look" else self._on_look_wanted)
        self.top.follow(form)
        return form

    async def _fill(self, name: str) -> None:
        page = self.pages.get(name)
        section = self._section(name)
        if isinstance(page, ModelsPage):
            await page.refresh()
        elif isinstance(page, AgentsPage) and self.desk.engine is not None:
            page.follow(await self.desk.engine.ask.agents_md())
        elif isinstance(page, Form) and name == "look":
            page.show_groups([("", self._look_given())])
        elif isinstance(page, Form) and name != FOUND:
            page.show_groups(self._given(section))
            await self._picture(page)

    async def _picture(self, form: Form) -> None:
        for picture in form.findChildren(QWidget):
            if isinstance(picture, WindowPicture | MemoryPicture) and self.desk.engine is not None:
                await picture.look(self.desk.engine.ask)

    def _given(self, section: Section) -> list[tuple[str, list[Given]]]:
        config, defaults = self.keep.config, self.keep.defaults
        return [
            (
                tr(group.title) if group.title else "",
                [
                    (s, fields.value_at(config, s.path), fields.default_at(defaults, s.path))
                    for s in fields.specs(config, group.paths)
                ],
            )
            for group in section.groups
        ]

    def _look_given(self) -> list[Given]:
        values = self.keep.values
        if values is None:
            return []
        look, defaults = values.look, type(values.look).defaults()
        names = [field.name for field in dataclasses.fields(look)]
        return [
            (s, fields.value_at(look, s.path), fields.value_at(defaults, s.path))
            for s in fields.specs(look, names)
        ]

    def _show_counts(self) -> None:
        config, defaults = self.keep.config, self.keep.defaults
        counts = {one.id: fields.changed_in(one, config, defaults) for one in SECTIONS}
        counts["look"] = sum(value != default for _, value, default in self._look_given())
        self.side.set_counts(
            {
                name: plural(n, "{n} changed", "{n} changed") if n else ""
                for name, n in counts.items()
            }
        )

    def _model_choices(self) -> list[tuple[Any, str]]:
        servers = self.keep.values.servers if self.keep.values is not None else {}
        return [
            (None, tr("as in Models")), ("builtin", tr("built-in")), *[(n, n) for n in servers],
        ]  # fmt: skip

    # ------------------------------------------------------------------ changing a row

    def _form(self) -> Form | None:
        page = self.stack.currentWidget()
        return page if isinstance(page, Form) else None

    def _on_wanted(self, spec: Spec, value: Any) -> None:
        self.tasks.start("change", self.change(spec, value))

    async def change(self, spec: Spec, value: Any) -> None:
        """Store one value of the workspace's policy; a wrong one is told under its row."""
        form = self._form()
        row = form.rows.get(spec.id) if form is not None else None
        root: Config = self.keep.config
        if spec.kind != "part" and (rule := rule_broken(root, spec, value)):
            if row is not None:
                row.show_problem(rule)
            return
        try:
            if spec.kind == "part":
                on = value is True or isinstance(value, Config)
                await self.keep.configure(
                    spec.title, lambda now: fields.switched_part(now, spec.path, on)
                )
            else:
                await self.keep.configure(
                    spec.title, lambda now: fields.with_value(now, spec.path, value)
                )
        except ConfigError as error:
            if row is not None:
                row.show_problem(_rule_of(error))
            return
        except UserError:
            if row is not None:
                row.put(row.value(), fields.default_at(self.keep.defaults, spec.path))
            raise
        if row is not None:
            row.close_prompt()
        self._show_again()

    def _on_look_wanted(self, spec: Spec, value: Any) -> None:
        self.tasks.start("change", self.change_look(spec, value))

    async def change_look(self, spec: Spec, value: Any) -> None:
        """Store one value of the look and use it at once."""
        values, form = self.keep.values, self._form()
        if values is None:
            return
        if rule := rule_broken(values.look, spec, value):
            if form is not None:
                form.rows[spec.id].show_problem(rule)
            return
        name = spec.path[-1]
        await self.keep.personal(
            spec.title,
            lambda now: dataclasses.replace(now, look=now.look.replace(**{name: value})),
        )
        self._use_look()
        self._show_again()

    def _use_look(self) -> None:
        look: Any = self.keep.values.look if self.keep.values is not None else None
        if look is not None:
            theme().choose(
                look.scheme, contrast=look.high_contrast, still=look.reduce_motion,
                zoom=look.text_percent / 100,
            )  # fmt: skip

    def _show_again(self) -> None:
        self.tasks.latest("fill", self._fill(self.section))
        if self.stack.currentWidget() is self.pages.get(FOUND):
            self._on_searched(self.side.field.text())
        self._show_counts()

    def take_defaults(self) -> None:
        """Every row of this section back to its default, as one change."""
        section = self._section(self.section)
        if section.id == "look":
            self.tasks.start("change", self._default_look())
        elif section.groups:
            self.tasks.start("change", self._defaults_of(section))

    async def _defaults_of(self, section: Section) -> None:
        defaults = self.keep.defaults

        def change(now: Any) -> Any:
            for group in section.groups:
                for text in group.paths:
                    path = tuple(text.split("."))
                    if fields.spec_at(now, path) is not None:
                        now = fields.with_value(now, path, fields.value_at(defaults, path))
            return now

        await self.keep.configure(tr("Defaults for {name}", name=tr(section.title)), change)
        self._show_again()

    async def _default_look(self) -> None:
        await self.keep.personal(
            tr("Defaults"), lambda now: dataclasses.replace(now, look=type(now.look).defaults())
        )
        self._use_look()
        self._show_again()

    def undo(self) -> None:
        self.tasks.start("undo", self._undo())

    async def _undo(self) -> None:
        words = await self.keep.undo()
        if words:
            self.saved.setText(tr("Taken back: {name}", name=words))
            if self.keep.values is not None:
                self._use_look()
            await self.refresh()

    def _on_saved(self) -> None:
        self.saved.setText(tr("Saved {time}", time=clock(self.desk.now())))
        self._on_steps()

    def _on_steps(self) -> None:
        self.undo_button.set_off("" if self.keep.steps else tr("Nothing was changed yet"))

    # ------------------------------------------------------------------ the rest

    def _on_searched(self, words: str) -> None:
        if not words.strip():
            self.show_section(self.section)
            return
        if FOUND not in self.pages:
            form = Form(tr("Found settings"), models=self._model_choices)
            form.wanted.connect(self._on_wanted)
            self.pages[FOUND] = form
            self.stack.addWidget(form)
        groups = [
            (tr(section.title), [one for _, g in self._given(section) for one in g
                                 if fields.matches(one[0], words)])
            for section in SECTIONS
        ]  # fmt: skip
        found = [(title, given) for title, given in groups if given]
        page = self.pages[FOUND]
        assert isinstance(page, Form)
        page.show_groups(found)
        self.stack.setCurrentWidget(page)
        count = sum(len(given) for _, given in found)
        said = plural(count, "{n} setting", "{n} settings") if count else tr("no setting")
        self.top.set_title(tr("Found"), tr("{said} with these words", said=said))
        self.defaults_button.hide()

    def _on_changed(self, event: Changed) -> None:
        if event.kinds & {"settings", "workspace"} and event.initiator is not self:
            self._later.start()

    def _on_theme(self) -> None:
        if self.section == "look" and self.shown:
            self._later.start()

    def _agents_edited(self) -> bool:
        page = self.pages.get("agents")
        return isinstance(page, AgentsPage) and page.is_edited()

    def _save_agents(self) -> None:
        page = self.pages.get("agents")
        if isinstance(page, AgentsPage):
            page.ask_save()

    async def _write_agents(self, text: str) -> None:
        page = self.pages["agents"]
        assert isinstance(page, AgentsPage)
        engine = self.desk.engine
        before = await engine.ask.agents_md()
        if before != page.base:
            buttons = [
                ("theirs", tr("Show the file as it is"), "plain"),
                ("mine", tr("Write mine over it"), "danger"),
            ]
            said = await ask(
                self.window(), tr("AGENTS.md was changed meanwhile"),
                tr("Somebody else wrote it after you began. Nothing was written yet."), buttons,
            )  # fmt: skip
            if said == "theirs":
                page.show_text(before)
            if said != "mine":
                return
        await engine.do.write_agents_md(text, initiator=self)

        async def back() -> None:
            await engine.do.write_agents_md(before, initiator=self)
            page.show_text(before)

        page.base = text
        page.show_text(text)
        self.keep.keep("AGENTS.md", back)

    def _models_page(self) -> ModelsPage:
        self.show_section("models")
        page = self.pages["models"]
        assert isinstance(page, ModelsPage)
        return page

    def _add_server(self) -> None:
        self._models_page().add_server()

    def _check_servers(self) -> None:
        self._models_page().check_all()

    def _config_file(self) -> str:
        return str(Path(self._root()) / ".palimpsest" / "config.toml")

    def _root(self) -> str:
        return str(getattr(self.desk.engine, "folder", "") or self._wanted)

    def _paths(self) -> list[tuple[str, str, str]]:
        person = self.desk.person
        out = [
            (tr("Workspace"), tr("Memory, daily logs, sessions"), self._root()),
            (tr("Its policy"), tr("What differs from the defaults"), self._config_file()),
        ]
        if person is not None:
            out.append((tr("Your settings"), tr("Servers, roles, look"), person.path))
        return [one for one in out if one[2]]

    def _show_file(self, path: str) -> None:
        """Open the folder of a file in the system's file manager."""
        where = Path(path)
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(where if where.is_dir() else where.parent)))


def _rule_of(error: ConfigError) -> str:
    """The rule in a configuration's own sentence, without the names of classes."""
    text = str(error)
    _, found, rest = text.partition(" must ")
    return f"must {rest.partition(';')[0].rstrip('.')}" if found else text.rstrip(".")
