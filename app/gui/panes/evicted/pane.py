"""Evicted: results that were too long for the context, their text, and the way back to the session.

The table stands above, the text below; both keep their size. Files can be cleaned up after a look
at what goes; they lie in the trash then.
"""

from __future__ import annotations

import asyncio

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from app.engine.errors import Unreadable
from app.engine.events import Changed
from app.engine.records import EvictedInfo, TextPage
from app.gui.look.text import plural, tr
from app.gui.panes.evicted.cleaning import ask_clean
from app.gui.panes.evicted.model import (
    SORTS,
    Origin,
    Result,
    origins,
    shown,
    to_row,
    totals,
)
from app.gui.panes.evicted.table import ResultList, TableHead
from app.gui.panes.evicted.text import PAGE, Hits, TextPart, search
from app.gui.widgets.action import Action
from app.gui.widgets.buttons import Button
from app.gui.widgets.fields import Field
from app.gui.widgets.notices import Act, UndoBar
from app.gui.widgets.pane import Desk, Pane, Target
from app.gui.widgets.rows import Row
from app.gui.widgets.surfaces import EmptyState, Splitter

SOON = 0.1  # seconds in which several changes count as one
MOST_SESSIONS = 40  # sessions that are asked what their tools were called with


class EvictedPane(Pane):
    """The place of results that were put aside."""

    place, title = "evicted", tr("Evicted")

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._infos: list[EvictedInfo] = []
        self._known = False  # whether the engine has answered yet
        self._origins: dict[str, Origin] = {}
        self._sought: set[str] = set()  # whose origin was asked for
        self._asked = self._told = 0  # looks at the list: the last one begun, the one shown
        self._page_wanted: object = None  # the page that is being read
        self._hits = Hits("", ())
        self._at = 0
        self._build()
        desk.signals.changed.connect(self._on_changed)

    def _build(self) -> None:
        self.filter = Field(tr("Filter results"), tr("Filter"), icon="list-filter")
        self.filter.setFixedWidth(190)
        self.filter.textChanged.connect(lambda _: self._show_rows())
        self.clean = Button(tr("Clean up"), icon="trash", key="Del")
        self.clean.clicked.connect(lambda: self.tasks.latest("clean", self.clean_up()))
        self.head.acts.setSpacing(8)
        self.head.add(self.filter, self.clean)
        self.table_head = TableHead(*self._kept_order())
        self.table_head.sorted.connect(self._on_sorted)
        self.list = ResultList()
        self.list.chosen.connect(self._on_chosen)
        self.list.opened.connect(lambda _: self.text.well.setFocus())
        above = QWidget()
        box = QVBoxLayout(above)
        box.setContentsMargins(0, 0, 0, 4)
        box.setSpacing(2)
        box.addWidget(self.table_head)
        box.addWidget(self.list, 1)
        above.setMinimumHeight(178)
        self.text = TextPart()
        self.text.page_wanted.connect(lambda n: self.tasks.latest("text", self._show_page(n)))
        self.text.session_wanted.connect(self.show_session)
        self.text.find_wanted.connect(self._on_find)
        self.text.walk_wanted.connect(self.walk)
        self.text.setMinimumHeight(160)
        self.split = Splitter(Qt.Orientation.Vertical)
        self.split.addWidget(above)
        self.split.addWidget(self.text)
        self.split.setStretchFactor(1, 1)
        self.split.setSizes(self._kept_sizes())
        self.split.splitterMoved.connect(self._keep_sizes)
        self.empty = EmptyState(
            tr("Nothing was put aside yet"),
            tr(
                "When a tool's result is longer than the limit, its text goes into a file and is "
                "listed here; the model sees its beginning and end."
            ),
            tr("Change the limit"),
            icon="sliders-horizontal",
            run=lambda: self.go.emit(Target("settings", section="eviction")),
        )
        self.stack = QStackedWidget()
        self.stack.addWidget(self.split)
        self.stack.addWidget(self.empty)
        self.body.addWidget(self.stack, 1)
        self.undo_bar = UndoBar(self)
        self._show_parts()

    def _kept_order(self) -> tuple[str, bool]:
        kept = self.desk.kept.get("evicted.sort")
        if isinstance(kept, list) and len(kept) == 2 and kept[0] in SORTS:
            return str(kept[0]), bool(kept[1])
        return "when", True

    def _kept_sizes(self) -> list[int]:
        kept = self.desk.kept.get("evicted.split")
        if isinstance(kept, list) and len(kept) == 2 and all(isinstance(n, int) for n in kept):
            return [max(int(n), 1) for n in kept]
        return [240, 460]

    def _keep_sizes(self) -> None:
        self.desk.kept["evicted.split"] = self.split.sizes()

    # ------------------------------------------------------------------ the pane's contract

    def actions(self) -> list[Action]:
        here = "pane:evicted"
        return [
            Action("evicted.session", tr("Show the result in its session"), "corner-up-left",
                   self.show_session, "G, P", when=here, menu="Go", off=self._why_no_session),
            Action("evicted.clean", tr("Clean up evicted results"), "trash",
                   self.clean_up, "Del", when=here, menu="Memory", off=self._why_no_clean),
            Action("evicted.next_page", tr("Next page of the result"), "chevron-right",
                   lambda: self.text.turn(1), "]", when=here),
            Action("evicted.previous_page", tr("Previous page of the result"), "chevron-left",
                   lambda: self.text.turn(-1), "[", when=here),
            Action("evicted.next_hit", tr("Next hit in the result"), "arrow-down",
                   lambda: self.walk(1), "N", also=("F3",), when=here),
            Action("evicted.previous_hit", tr("Previous hit in the result"), "arrow-up",
                   lambda: self.walk(-1), "Shift+N", also=("Shift+F3",), when=here),
            Action("evicted.copy", tr("Copy the page of the result"), "copy",
                   self.text.copy, "Ctrl+Shift+C", when=here),
            Action("evicted.sort", tr("Sort evicted results by the next column"),
                   "arrow-up-down", self._sort_next, "S", when=here),
            Action("evicted.filter", tr("Filter evicted results"), "list-filter",
                   self.filter.setFocus, "/", when=here),
        ]  # fmt: skip

    async def refresh(self) -> None:
        await self._look()
        self.tasks.latest("origins", self._find_origins())

    async def _look(self) -> None:
        """The list as it is; an answer that comes behind that of a later look is dropped."""
        self._asked += 1
        asked = self._asked
        infos = await self.desk.engine.ask.evicted()
        if asked < self._told:
            return
        self._told, self._infos, self._known = asked, infos, True
        self._show_rows()

    async def open(self, target: Target) -> None:
        """Show one result, with `find` looked for in all its pages, and its hit in `line` or the
        next one behind it; the keys walk on from there."""
        if not any(i.path == target.path for i in self._infos):
            await self._look()
        if not self.list.select(target.path, quiet=True):
            self.filter.clear()
            self._show_rows()
        if not self.list.select(target.path, quiet=True):
            raise Unreadable(tr("That result is no longer listed."), tr("Look in its session."))
        for begun in ("text", "find"):  # of the row that was chosen before
            self.tasks.cancel(begun)
        await self._show_text(target.path)
        if target.find and self._reads(target.path):  # else another row was chosen meanwhile
            self.text.find_bar.show()
            self.text.well.setFocus()
            self.text.field.setText(target.find)
            await self._search(target.find, target.line)

    def focus_parts(self) -> list[QWidget]:
        if self._known and not self._infos:
            return [self.empty.button]
        return [self.list, self.text.well, self.filter]

    def find(self) -> bool:
        if self._current() is not None:
            self.text.show_find()
        return True

    # ------------------------------------------------------------------ the table

    def _on_changed(self, changed: Changed) -> None:
        if self.shown and changed.kinds & {"evicted", "sessions"}:
            self.tasks.latest("soon", self._refresh_soon())

    async def _refresh_soon(self) -> None:
        await asyncio.sleep(SOON)
        await self.refresh()

    def _show_rows(self) -> None:
        sort, down = self.table_head.order()
        now = self.desk.now()
        infos = shown(self._infos, self._origins, sort=sort, down=down, needle=self.filter.text())
        self.list.set_rows([to_row(i, self._origins.get(i.path), now) for i in infos])
        self._show_parts()
        if infos and self.list.current_row() is None:
            self.list.select(infos[0].path)
        elif not infos and self._infos:
            self.text.info = self._page_wanted = None
            self.text.name.setText(tr("No result matches the filter"))
            self.text.details.setText("")
            self.text.link.hide()
            self.text.show_none("")

    def _show_parts(self) -> None:
        there = bool(self._infos) or not self._known
        self.stack.setCurrentWidget(self.split if there else self.empty)
        self.filter.setVisible(there)
        self.clean.setVisible(there)
        self.head.set_title(self.title, totals(self._infos))

    async def _find_origins(self) -> None:
        """Ask the sessions what the tools were called with; the table fills as answers come."""
        sessions = list(dict.fromkeys(i.session_id for i in self._infos if i.session_id))
        for session_id in sessions[:MOST_SESSIONS]:
            wanted = {i.path for i in self._infos if i.session_id == session_id}
            if wanted <= self._origins.keys() | self._sought:
                continue
            self._sought |= wanted
            try:
                items = await self.desk.engine.ask.transcript(session_id)
            except asyncio.CancelledError:  # by a newer look, which has to ask again
                self._sought -= wanted
                raise
            self._origins |= origins(items)
            self._show_rows()

    def _on_sorted(self, key: str, down: bool) -> None:
        self.desk.kept["evicted.sort"] = [key, down]
        self._show_rows()

    def _sort_next(self) -> None:
        now = self.table_head.order()[0]
        self.table_head.choose(SORTS[(SORTS.index(now) + 1) % len(SORTS)])

    def _current(self) -> EvictedInfo | None:
        row = self.list.current_row()
        return row.data.info if row is not None else None

    # ------------------------------------------------------------------ the text

    def _on_chosen(self, row: Row) -> None:
        self.tasks.cancel("find")  # in the text that was shown before
        self.tasks.latest("text", self._show_text(row.id))

    async def _show_text(self, path: str) -> None:
        info = next((i for i in self._infos if i.path == path), None)
        if info is None:
            return
        if self.text.info is None or self.text.info.path != path:
            self._hits = Hits("", ())
            self.text.set_count(0, 0, "")
            if not self.text.field.hasFocus():
                self.text.find_bar.hide()
        self.text.show_result(info)
        self._page_wanted = None
        if info.state == "missing":
            self.text.show_none(
                tr(
                    "The file is no longer on the disk. The session's log still holds the text: "
                    "go there with the link above."
                )
            )
            return
        shown = await self._show_page(0)
        if shown and self.text.find_bar.isVisible() and self.text.field.text():
            self.tasks.latest("find", self._search(self.text.field.text()))

    def _reads(self, path: str) -> bool:
        """Whether that is the result whose text is shown."""
        return self.text.info is not None and self.text.info.path == path

    async def _show_page(self, number: int) -> bool:
        """False when there is none, or another page was wanted while it was read."""
        info = self.text.info
        if info is None:
            return False
        self._page_wanted = wanted = object()
        try:
            page = await self._read(info.path, number * PAGE, PAGE)
        except Unreadable as error:
            if wanted is self._page_wanted:
                self.text.show_none(f"{error} {error.remedy}")
            return False
        if wanted is not self._page_wanted:
            return False
        self.text.show_page(page)
        if self._hits.total:
            which = self._hits.first_on(self.text.page)
            self._at = which
            self.text.mark_hit(self._hits.needle, 0)
            self.text.set_count(which, self._hits.total, self._hits.needle)
        return True

    async def _read(self, path: str, start: int, length: int) -> TextPage:
        return await self.desk.engine.ask.evicted_page(path, start, length)

    def show_session(self) -> None:
        """Go to the place in the session that this result came from."""
        info = self._current()
        if info is None or not info.session_id:
            return
        origin = self._origins.get(info.path)
        entry = origin.item_id if origin else info.entry_id
        self.go.emit(Target("timeline", session_id=info.session_id, entry_id=entry))

    def _why_no_session(self) -> str:
        info = self._current()
        if info is None:
            return tr("Choose a result first.")
        return "" if info.session_id else tr("No session speaks of this file.")

    # ------------------------------------------------------------------ find

    def _on_find(self, needle: str) -> None:
        self.tasks.latest("find", self._find_soon(needle))

    async def _find_soon(self, needle: str) -> None:
        await asyncio.sleep(0.12)
        await self._search(needle)

    async def _search(self, needle: str, line: int = 0) -> None:
        """Look through all pages; go to the first hit from `line` on, by default of this page."""
        info = self.text.info
        if info is None or not needle or not self.text.pages:
            self._hits = Hits("", ())
            self.text.mark_hit("", 0)
            self.text.set_count(0, 0, needle)
            return
        hits = await search(self._read, info.path, needle, line)
        if not self._reads(info.path) or needle != self.text.field.text():
            return  # another text, or other words, are wanted by now
        self._hits = hits
        self.text.know_lines(self._hits)
        if not self._hits.total:
            self.text.mark_hit("", 0)
            self.text.set_count(0, 0, needle)
            return
        await self._go_to(self._hits.at if line else self._hits.first_on(self.text.page))

    def walk(self, by: int) -> None:
        """To the next or previous hit, over all pages; round at the ends."""
        if self._hits.total and self._hits.needle == self.text.field.text():
            self._at = (self._at + by) % self._hits.total
            self.tasks.latest("find", self._go_to(self._at))

    async def _go_to(self, at: int) -> None:
        page, which = self._hits.place(at)
        if page != self.text.page and not await self._show_page(page):
            return
        self._at = at
        self.text.mark_hit(self._hits.needle, which)
        self.text.set_count(at, self._hits.total, self._hits.needle)

    # ------------------------------------------------------------------ clean up

    def _why_no_clean(self) -> str:
        return "" if self._infos else tr("There is nothing to clean up.")

    async def clean_up(self) -> None:
        """Say which files would go and how much that is; move them to the trash when told so."""
        chosen = [row.data.info for row in self.list.selected_rows() if _there(row)]
        orphans = [i for i in self._infos if i.state == "orphan"]
        if not chosen and not orphans:
            self.undo_bar.show_act(
                tr("Choose the results to clean up; missing files are gone already."), tone="info"
            )
            return
        said = await ask_clean(self.window(), chosen, orphans) if chosen else "orphans"
        if said == "orphans":
            chosen, said = orphans, await ask_clean(self.window(), orphans, [])
        if said == "go":
            await self._clean(chosen)

    async def _clean(self, infos: list[EvictedInfo]) -> None:
        gone = await self.desk.engine.do.clean_evicted([i.path for i in infos], initiator=self)
        await self.refresh()
        words = plural(gone, "{n} result moved to the trash", "{n} results moved to the trash")
        session = next((i for i in infos if i.session_id), None)
        acts: tuple[Act, ...] = ()
        if session is not None:
            target = Target("timeline", session_id=session.session_id, entry_id=session.entry_id)
            acts = (Act(tr("Show the session"), lambda: self.go.emit(target)),)
        self.undo_bar.show_act(words, acts)


def _there(row: Row) -> bool:
    result: Result = row.data
    return result.info.state != "missing"
