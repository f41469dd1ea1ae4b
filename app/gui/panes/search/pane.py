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
from app.gui.panes.search.asking import (
    FIRST,
    Answer,
    Asked,
    Out,
    answer,
    crowded_out,
    index_words,
    reason_head,
    ways_out,
)
from app.gui.panes.search.catalogue import search_actions
from app.gui.panes.search.filters import Known
from app.gui.panes.search.layout import MODES, SearchParts
from app.gui.panes.search.model import (
    LAYER_WORDS,
    flat,
)
from app.gui.panes.search.results import Results
from app.gui.panes.search.start import Remembered
from app.gui.widgets.action import Action
from app.gui.widgets.pane import Desk, Pane, Target

PAUSE = 0.12  # seconds without a key before a search
SETTLED = 2.5  # seconds after which a search counts as one to remember
SOON = 0.4  # seconds in which changes of the index count as one
NARROW = 800  # px below which the preview folds


class SearchPane(Pane):
    """The place of searching."""

    place, title = "search", tr("Search")

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.head.hide()
        self._remembered = Remembered(desk.kept)
        self._stale = False
        self._left_for_hit = False
        self._to_list = False
        self.parts = SearchParts(self, self._remembered)
        self.field, self.list, self.preview = self.parts.field, self.parts.list, self.parts.preview
        self.results = Results(desk, self.parts, self.tasks)
        mode = desk.kept.get("search.mode", "auto")
        self._asked = Asked(
            "", mode if mode in MODES else "auto",
            newest=bool(desk.kept.get("search.newest")),
            grouping="day" if desk.kept.get("search.grouping") == "day" else "layer",
        )  # fmt: skip
        self._connect()
        self._show_asked()
        self._show_start()
        desk.signals.changed.connect(self._on_changed)

    def _connect(self) -> None:
        parts = self.parts
        self.field.changed.connect(lambda: self._ask_soon(PAUSE))
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
        parts.meaning_link.clicked.connect(self.turn_meaning)

    # ------------------------------------------------------------------ the pane's contract

    def actions(self) -> list[Action]:
        return search_actions(self)

    async def open(self, target: Target) -> None:
        """Search for `target.find`."""
        self.set_layer("all")
        self.field.set_query(target.find)
        self.field.setFocus()
        self.field.selectAll()

    async def refresh(self) -> None:
        self.tasks.latest("known", self._learn())
        if self._stale and self._asked.text:
            self.tasks.latest("search", self._search(keep=True))

    async def _learn(self) -> None:
        """What filters can be completed with."""
        ask = self.desk.engine.ask
        sessions = await ask.sessions()
        self.results.titles = {info.id: info.title for info in sessions}
        days = await ask.days()
        tools = [info.tool for info in await ask.evicted()]
        tools += [hit.tool for hit in (self.results.answer.hits if self.results.answer else ())]
        self.parts.suggest.known = Known(
            tools=tuple(sorted({tool for tool in tools if tool})),
            sessions=self.results.titles,
            days=tuple(info.day for info in days if info.day is not None),
            today=self.desk.now().astimezone().date(),
        )
        self.field.name_sessions(self.results.titles)

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
        return self._asked

    def set_mode(self, mode: str) -> None:
        self.desk.kept["search.mode"] = mode
        self._change(replace(self._asked, mode=mode))

    def next_mode(self) -> None:
        at = MODES.index(self._asked.mode)
        self.set_mode(MODES[(at + 1) % len(MODES)])

    def set_layer(self, layer: str) -> None:
        if layer in LAYER_WORDS:
            self._change(replace(self._asked, layer=layer))

    def next_layer(self, by: int) -> None:
        self.set_layer(self.parts.tabs.neighbour(by))

    def turn_order(self) -> None:
        newest = not self._asked.newest
        self.desk.kept["search.newest"] = newest
        self._change(replace(self._asked, newest=newest))

    def turn_grouping(self) -> None:
        grouping = "layer" if self._asked.grouping == "day" else "day"
        self.desk.kept["search.grouping"] = grouping
        self._change(replace(self._asked, grouping=grouping))

    def _change(self, asked: Asked) -> None:
        if asked != self._asked:
            self._asked = asked
            self._show_asked()
            self._ask_soon(0.0)

    def _show_asked(self) -> None:
        self.parts.modes.set_current(self._asked.mode)
        self.parts.tabs.set_current(self._asked.layer)
        by_days = self._asked.grouping == "day"
        self.parts.tabs.set_sorting(newest=self._asked.newest, by_day=by_days)

    def _ask_soon(self, pause: float) -> None:
        self._left_for_hit = False
        text = self.field.query_to_ask()
        if not text and self.field.query() and self._asked.text:
            return  # a filter is being typed: what is shown stays
        self._asked = replace(self._asked, text=text)
        self.tasks.cancel("more")
        if not self._asked.text:
            self.tasks.cancel("search")
            self._show_start()
            return
        self.tasks.latest("search", self._search_after(pause))

    async def _search_after(self, pause: float) -> None:
        await asyncio.sleep(pause)
        await self._search()

    async def _search(self, *, keep: bool = False) -> None:
        ask, asked = self.desk.engine.ask, self._asked
        if self.parts.meaning.isVisible():
            await self._say_meaning()
        listed = len(self.results.answer.hits) if keep and self.results.answer else 0
        found = await answer(ask, asked, max(listed, FIRST))
        self._stale = False
        if not found.hits:
            await self._show_none(found)
            return
        self.results.show(found, keep=keep)
        if asked.layer == "all" and asked.grouping == "layer":
            fuller = await crowded_out(ask, found)
            if len(fuller.hits) > len(found.hits):
                self.results.show(fuller, keep=True)
        self.tasks.latest("recent", self._remember_later(asked.text))

    async def _remember_later(self, text: str) -> None:
        await asyncio.sleep(SETTLED)
        self._remembered.used(text)

    # ------------------------------------------------------------------ what is shown

    def _show_start(self) -> None:
        self.results.answer = None
        self.parts.tabs.set_counts(None)
        self.parts.start.refresh()
        self.parts.show_part(self.parts.start)
        self.parts.meaning.hide()
        self.parts.say("", "")

    async def _show_none(self, found: Answer) -> None:
        self.results.answer = found
        filters, none = self.field.filters(), self.parts.none
        self.parts.tabs.set_counts(found.counts)
        reason = found.result.reason
        none.set_reason(reason_head(found.asked, reason, filters), reason)
        words, good = index_words((await self.desk.engine.ask.status()).index)
        none.set_index(words, good=good)
        self.parts.show_part(none)
        self.parts.say("", "")
        none.set_ways(
            await ways_out(self.desk.engine.ask, found.asked, filters, self.field.text().strip())
        )

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
            self._ask_soon(0.0)

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
            self._leave_for(target_of(hit, needle_of(hit, self.field.text())))

    def _leave_for(self, target: Target) -> None:
        self._remembered.used(self._asked.text)
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
            self.set_mode("natural")
            self.field.set_query(flat(hit.text).strip(" -*…")[:200])

    def copy_hit(self) -> None:
        hit = self.list.current()
        if hit is not None:
            QGuiApplication.clipboard().setText(hit.text)

    # ------------------------------------------------------------------ saved, meaning, ways out

    def save_search(self) -> None:
        """Keep the search among the saved ones, or no longer."""
        text = self._asked.text
        if text:
            kept = self._remembered.save(text)
            self.parts.bar.show_act(
                tr("Saved; an empty field offers it") if kept else tr("No longer among the saved")
            )

    def turn_meaning(self) -> None:
        """Show or hide what is searched for, in plain words."""
        if self.parts.meaning.isVisible():
            self.parts.meaning.hide()
        elif self._asked.text:
            self.tasks.latest("meaning", self._say_meaning())

    async def _say_meaning(self) -> None:
        words = await self.desk.engine.ask.search_meaning(self._asked.text)
        self.parts.say_meaning(words, self._asked)

    def _on_wanted(self, query: str) -> None:
        self.field.set_query(query)
        self.field.setFocus()
        self._ask_soon(0.0)

    def _on_way_out(self, way: Out) -> None:
        self._asked = replace(self._asked, mode=way.mode, layer=way.layer)
        self._show_asked()
        self.field.set_query(way.query)
        self.field.setFocus()
        self._ask_soon(0.0)

    def _on_changed(self, changed: Changed) -> None:
        if not changed.kinds & {"index", "sessions", "daily", "memory", "evicted"}:
            return
        self._stale = True
        if self.shown and self._asked.text:
            self.tasks.latest("again", self._search_again())

    async def _search_again(self) -> None:
        await asyncio.sleep(SOON)
        if self._asked.text and not self.tasks.running("search"):
            self.tasks.latest("search", self._search(keep=True))

    # ------------------------------------------------------------------ Qt's side

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.parts.set_narrow(self.width() < NARROW)
