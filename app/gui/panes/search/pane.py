"""Search: one field over memory, history, daily logs, sessions and evicted results.

Idea: every change of the query, the mode, the tab or the order is one `Asked` value; 120 ms after
the last change it is asked, and a newer one stops an older one. Invariant: what is on screen stays
until something better is there, and coming back finds the same scroll position and choice.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from PySide6.QtGui import QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QWidget

from app.engine.events import Changed
from app.gui.look.text import tr
from app.gui.panes.search.around import needle_of, target_of
from app.gui.panes.search.asking import Asked, Out
from app.gui.panes.search.catalogue import search_actions
from app.gui.panes.search.filters import Known
from app.gui.panes.search.layout import MODES, SearchParts
from app.gui.panes.search.model import LAYER_WORDS, flat
from app.gui.panes.search.results import Results
from app.gui.panes.search.searching import SOON, Searching
from app.gui.panes.search.start import Remembered
from app.gui.panes.search.syntax import syntax
from app.gui.widgets.action import Action
from app.gui.widgets.dialogs import ask
from app.gui.widgets.pane import Desk, Pane, Target

SAID = 3.0  # seconds for what offers nothing to do
NARROW = 800  # px below which the preview folds


class SearchPane(Pane):
    """The place of searching."""

    place, title = "search", tr("Search")

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.head.hide()
        self.remembered = Remembered(desk.kept, lambda: desk.keep())
        self._left_for_hit = False
        self._to_list = False
        self.parts = SearchParts(self, self.remembered)
        self.field, self.list, self.preview = self.parts.field, self.parts.list, self.parts.preview
        self.results = Results(desk, self.parts, self.tasks)
        asked = Asked(
            "", self._chosen_mode(),
            newest=bool(desk.kept.get("search.newest")),
            grouping="day" if desk.kept.get("search.grouping") == "day" else "layer",
        )  # fmt: skip
        self.searching = Searching(self, asked)
        self._connect()
        self._show_asked()
        self.searching.show_start()

    def _connect(self) -> None:
        parts = self.parts
        self.field.changed.connect(self._on_query)
        self.field.stepped.connect(self._on_stepped)
        self.field.entered.connect(self._on_entered)
        self.field.left.connect(self._focus_below)
        self.field.filter_wanted.connect(parts.suggest.offer)
        parts.modes.chosen.connect(self.set_mode)
        parts.tabs.chosen.connect(self.set_layer)
        parts.tabs.order_turned.connect(self.turn_order)
        parts.tabs.grouping_turned.connect(self.turn_grouping)
        self.list.chosen.connect(lambda _: self.results.show_preview())
        self.list.opened.connect(self._on_enter_in_list)
        self.list.more_in.connect(self.set_layer)
        self.list.rest_wanted.connect(self.turn_order)
        self.list.left.connect(self.field.setFocus)
        self.list.hits.more_wanted.connect(lambda: self.tasks.latest("more", self.results.more()))
        self.preview.opened.connect(self.open_hit)
        self.preview.left.connect(self.back_to_list)
        self.preview.way_wanted.connect(self._leave_for)
        parts.start.wanted.connect(self._on_wanted)
        parts.start.left.connect(self.field.setFocus)
        parts.none.taken.connect(self._on_way_out)
        parts.foot.meaning_wanted.connect(self.turn_meaning)
        parts.foot.again_wanted.connect(self.search_again)
        for part in (parts.none, parts.foot):
            part.index_wanted.connect(self.build_index)
        self.desk.signals.changed.connect(self._on_changed)

    # ------------------------------------------------------------------ the pane's contract

    def actions(self) -> list[Action]:
        return search_actions(self)

    def prepare(self, target: Target) -> None:
        """Search for `target.find`; without it what is typed next is a search of its own."""
        if target.find:
            self.set_layer("all")
            self.field.set_query(target.find)
        self.field.setFocus()
        self.field.select_query()

    def on_new_day(self) -> None:
        self.searching.again()

    def syntax(self) -> list[tuple[str, str]]:
        return syntax()

    async def refresh(self) -> None:
        self.tasks.latest("known", self._learn())
        await self.searching.look_again()

    async def _learn(self) -> None:
        """What filters can be completed with."""
        ask = self.desk.engine.ask
        sessions = await ask.sessions()
        titles = {info.id: info.title for info in sessions}
        self.results.know(titles, {info.path: info for info in await ask.evicted()})
        days = await ask.days()
        self.parts.suggest.known = Known(
            tools=tuple(await ask.tools()),
            sessions=titles,
            days=tuple(info.day for info in days if info.day is not None),
            today=self.desk.now().astimezone().date(),
        )
        self.field.name_sessions(titles)

    def _on_changed(self, changed: Changed) -> None:
        if self.shown and changed.kinds & {"evicted", "sessions"}:
            self.tasks.latest("known", self._learn_soon())

    async def _learn_soon(self) -> None:
        await asyncio.sleep(SOON)
        await self._learn()

    def focus_parts(self) -> list[QWidget]:
        parts: list[QWidget] = [self.field]
        if self.parts.shows_hits():
            parts += [self.list, self.preview.view]
        elif self.parts.start.list.isVisible():
            parts.append(self.parts.start.list)
        if self._to_list:
            self._to_list = False
            parts.sort(key=lambda one: one is not self.list)
        return parts

    def find(self) -> bool:
        """Find in the place beside the hits; the search field without one."""
        if self.preview.isVisible() and self.preview.field.isVisible():
            self.preview.field.setFocus()
            self.preview.field.selectAll()
        else:
            self.field.setFocus()
        return True

    # ------------------------------------------------------------------ what is asked

    def asked(self) -> Asked:
        return self.searching.asked

    def _chosen_mode(self) -> str:
        mode = self.desk.kept.get("search.mode", "auto")
        return mode if mode in MODES else "auto"

    def _on_query(self) -> None:
        self._left_for_hit = False
        if self.asked().mode != self._chosen_mode():  # the mode was for the query before
            self.searching.asked = replace(self.asked(), mode=self._chosen_mode())
            self._show_asked()
        self.searching.soon()

    def _ask_in(self, mode: str, layer: str, query: str) -> None:
        """Ask this in a mode that holds for this query alone."""
        self.field.set_query(query)
        self.searching.asked = replace(self.asked(), mode=mode, layer=layer)
        self._show_asked()
        self.searching.soon(0.0)

    def search_again(self) -> None:
        """Look at the files as they are now."""
        self.searching.again(forced=True)

    def build_index(self) -> None:
        """One that cannot be used is made anew from the files; until then they answer."""
        self.tasks.start("build", self.desk.engine.do.reindex(rebuild=True, initiator=self))

    def set_mode(self, mode: str) -> None:
        self.desk.kept["search.mode"] = mode
        self._change(replace(self.asked(), mode=mode))

    def next_mode(self) -> None:
        at = MODES.index(self.asked().mode)
        self.set_mode(MODES[(at + 1) % len(MODES)])

    def set_layer(self, layer: str) -> None:
        if layer in LAYER_WORDS:
            self._change(replace(self.asked(), layer=layer))

    def next_layer(self, by: int) -> None:
        self.set_layer(self.parts.tabs.neighbour(by))

    def turn_order(self) -> None:
        newest = not self.asked().newest
        self.desk.kept["search.newest"] = newest
        self._change(replace(self.asked(), newest=newest))

    def turn_grouping(self) -> None:
        grouping = "layer" if self.asked().grouping == "day" else "day"
        self.desk.kept["search.grouping"] = grouping
        self._change(replace(self.asked(), grouping=grouping))

    def _change(self, asked: Asked) -> None:
        if asked != self.asked():
            self.searching.asked = asked
            self._show_asked()
            self.searching.soon(0.0)

    def _show_asked(self) -> None:
        self.parts.modes.set_current(self.asked().mode)
        self.parts.tabs.set_current(self.asked().layer)
        by_days = self.asked().grouping == "day"
        self.parts.tabs.set_sorting(newest=self.asked().newest, by_day=by_days)

    # ------------------------------------------------------------------ walking and opening

    def _on_stepped(self, by: int) -> None:
        if self.parts.shows_hits():
            for _ in range(abs(by)):
                self.list.step(1 if by > 0 else -1)
        else:
            self._focus_below()

    def _focus_below(self) -> None:
        if self.parts.shows_hits():
            self.list.setFocus()
        elif self.parts.start.list.isVisible():
            self.parts.start.list.setFocus()
            self.parts.start.list.step(1)

    def _on_entered(self) -> None:
        fresh = (
            self.results.answer is not None
            and self.results.answer.asked.text == self.field.query_to_ask()
        )
        if self.parts.shows_hits() and fresh:
            self._on_enter_in_list(self.list.current())
        else:
            self.searching.soon(0.0)

    def _on_enter_in_list(self, _: object) -> None:
        """Enter opens the place; in a narrow window the preview comes first."""
        if self.parts.is_narrow() and not self.preview.isVisible():
            self.parts.fold(preview_alone=True)
            self.preview.view.setFocus()
            return
        self.open_hit()

    def open_hit(self) -> None:
        """Open the place of the chosen hit with find filled in."""
        hit = self.list.current()
        if hit is not None:
            self._leave_for(target_of(hit, needle_of(hit, self.field.words())))

    def _leave_for(self, target: Target) -> None:
        self.remembered.used(self.asked().text)
        self._left_for_hit = True
        self.go.emit(target)

    def back_to_list(self) -> None:
        """From the preview, or from the place a hit was opened in, to the same results."""
        if not self.shown:
            self._to_list = True
            self.go.emit(Target("search"))
            return
        self.parts.fold()
        (self.field if self.list.hasFocus() else self.list).setFocus()

    def why_not_back(self) -> str:
        there = self.shown or self._left_for_hit
        return "" if there else tr("Nothing was opened from Search.")

    def follow(self, key: str) -> None:
        """Take the way out of the preview that has that key."""
        way = self.preview.way(key)
        if way is not None:
            self._leave_for(way.target)

    def similar(self) -> None:
        """Search in plain words for what the chosen hit says."""
        hit = self.list.current()
        if hit is not None:
            self._ask_in("natural", self.asked().layer, flat(hit.text).strip(" -*…")[:200])

    def copy_hit(self) -> None:
        hit = self.list.current()
        if hit is not None:
            QGuiApplication.clipboard().setText(hit.text)

    # ------------------------------------------------------------------ saved, meaning, ways out

    def save_search(self) -> None:
        """Keep the search among the saved ones, or no longer."""
        text = self.asked().text
        if text:
            kept = self.remembered.save(text)
            self.parts.bar.show_act(
                tr("Saved; an empty field offers it") if kept else tr("No longer among the saved"),
                bar_seconds=SAID,
            )

    def turn_meaning(self) -> None:
        """Show or hide what is searched for, in plain words, and what can be typed."""
        if self.parts.meaning.isVisible():
            self.parts.meaning.hide()
        elif self.asked().text:
            answer = self.results.answer
            self.tasks.latest("meaning", self.say_meaning(answer.result.mode if answer else ""))
        else:
            self.parts.say_meaning(tr("Nothing is searched for."), self.asked().mode, "")

    async def say_meaning(self, answered: str) -> None:
        """Say it; `answered` is the mode that answered, "" before an answer."""
        words = await self.desk.engine.ask.search_meaning(self.asked().text)
        self.parts.say_meaning(words, self.asked().mode, answered)

    def _on_wanted(self, query: str) -> None:
        self.field.set_query(query)
        self.field.setFocus()
        self.searching.soon(0.0)

    def _on_way_out(self, way: Out) -> None:
        if way.files:
            self.tasks.latest("files", self._name_files(way))
            return
        self._ask_in(way.mode, way.layer, way.query)
        self.field.setFocus()

    async def _name_files(self, way: Out) -> None:
        listed = "\n".join(tr("{path} {why}", path=f.path, why=f.why) for f in way.files)
        head = tr("Files that are not indexed")
        words = tr("No search finds what stands in them until they can be read as UTF-8 text.")
        buttons = (("copy", tr("Copy the list"), "plain"), ("", tr("Close"), "primary"))
        if await ask(self.window(), head, words, buttons, code=listed, width=620) == "copy":
            QGuiApplication.clipboard().setText(listed)

    # ------------------------------------------------------------------ Qt's side

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.parts.set_narrow(self.width() < NARROW)
