"""Settings: a list of sections, and of the chosen one a form that saves each row at once.

The workspace's policy and the person's own settings look alike here but are stored apart: policy
in the workspace's `.palimpsest/config.toml`, servers, roles and looks in the person's
`settings.toml`, keys in neither.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from PySide6.QtCore import QTimer, QUrl
from PySide6.QtGui import QDesktopServices, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from app.engine.events import Changed
from app.gui.look.text import clock, plural, tr
from app.gui.look.theme import theme
from app.gui.panes.settings import contents
from app.gui.panes.settings.about import AboutPage
from app.gui.panes.settings.agents import AgentsPage
from app.gui.panes.settings.changes import Changes, use_look
from app.gui.panes.settings.fields import SECTIONS, Section, Spec
from app.gui.panes.settings.form import Form
from app.gui.panes.settings.keep import Keeper
from app.gui.panes.settings.models import ModelsPage
from app.gui.panes.settings.pictures import MemoryPicture, WindowPicture
from app.gui.panes.settings.rows import SettingRow
from app.gui.panes.settings.side import SectionList
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
        self.changes = Changes(self.keep, self._row, self._show_again)
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
        self.side.file_wanted.connect(self._show_config)
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
        head = self.top.layout()
        assert isinstance(head, QHBoxLayout)
        head.insertWidget(0, self.sections)
        self.top.add(self.saved, self.undo_button, self.defaults_button)
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
        self.side.set_counts(contents.counts(self.keep))

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
        narrow = self.width() < NARROW * max(theme().zoom, 1.0)
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
            about = AboutPage(contents.paths(self.desk.person, self._root()))
            about.show_wanted.connect(self._show_file)
            self.top.follow(about)
            return about
        pictures = {"compaction": WindowPicture, "memory": MemoryPicture}
        made = pictures.get(section.id)
        form = Form(
            tr(section.title),
            tr(section.sentence),
            made() if made else None,
            lambda: contents.model_choices(self.keep),
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
            page.show_groups([("", contents.look(self.keep))])
        elif isinstance(page, Form) and name != FOUND:
            page.show_groups(contents.policy(section, self.keep))
            await self._picture(page)

    async def _picture(self, form: Form) -> None:
        for picture in form.findChildren(QWidget):
            if isinstance(picture, WindowPicture | MemoryPicture) and self.desk.engine is not None:
                await picture.look(self.desk.engine.ask)

    # ------------------------------------------------------------------ changing a row

    def _form(self) -> Form | None:
        page = self.stack.currentWidget()
        return page if isinstance(page, Form) else None

    def _on_wanted(self, spec: Spec, value: Any) -> None:
        self.tasks.start("change", self.changes.policy(spec, value))

    def _on_look_wanted(self, spec: Spec, value: Any) -> None:
        self.tasks.start("change", self.changes.look(spec, value))

    def _row(self, name: str) -> SettingRow | None:
        form = self._form()
        return form.rows.get(name) if form is not None else None

    def _show_again(self) -> None:
        self.tasks.latest("fill", self._fill(self.section))
        if self.stack.currentWidget() is self.pages.get(FOUND):
            self._on_searched(self.side.field.text())
        self.side.set_counts(contents.counts(self.keep))

    def take_defaults(self) -> None:
        """Every row of this section back to its default, as one change."""
        section = self._section(self.section)
        if section.id == "look":
            self.tasks.start("change", self.changes.default_look())
        elif section.groups:
            self.tasks.start("change", self.changes.defaults(section))

    def undo(self) -> None:
        self.tasks.start("undo", self._undo())

    async def _undo(self) -> None:
        words = await self.keep.undo()
        if words:
            self.saved.setText(tr("Taken back: {name}", name=words))
            if self.keep.values is not None:
                use_look(self.keep)
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
            form = Form(tr("Found settings"), models=lambda: contents.model_choices(self.keep))
            form.wanted.connect(self._on_wanted)
            self.pages[FOUND] = form
            self.stack.addWidget(form)
        found, count = contents.found(self.keep, words)
        page = self.pages[FOUND]
        assert isinstance(page, Form)
        page.show_groups(found)
        self.stack.setCurrentWidget(page)
        self.side.list.clear_choice()
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

    def _root(self) -> Path | None:
        engine = self.desk.engine
        return Path(engine.folder) if engine is not None and hasattr(engine, "folder") else None

    def _show_config(self) -> None:
        root = self._root()
        if root is not None:
            self._show_file(str(contents.config_file(root)))

    def _show_file(self, path: str) -> None:
        """Open the folder of a file in the system's file manager."""
        where = Path(path)
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(where if where.is_dir() else where.parent)))
