"""One session on the page: its head, axis, range, find bar and transcript, kept in step.

The page shows what its `Reading` has loaded; older entries are loaded as one comes near them.
Everything shown at once belongs to one reading: a page of another session never mixes in.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING

from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.engine.records import SessionInfo, TranscriptItem
from app.gui.look.text import clock, plural, preview, sentence, short_day, size, tr
from app.gui.panes.timeline.axis import Axis
from app.gui.panes.timeline.beside import Beside
from app.gui.panes.timeline.blocks import Block, Mode, folds_around, place_of_entry
from app.gui.panes.timeline.finder import Find
from app.gui.panes.timeline.parts import RangeLine
from app.gui.panes.timeline.reading import Made, Reading
from app.gui.panes.timeline.sheet import Sheet
from app.gui.widgets.buttons import IconButton, SegmentSwitch
from app.gui.widgets.find_bar import FindBar
from app.gui.widgets.pane import PaneHead

if TYPE_CHECKING:
    from app.gui.panes.timeline.pane import TimelinePane

LOW = 560  # px of page below which the axis is one lane
NEAR = 40  # rows from either end at which the entries beyond it are loaded


class SessionPage(QWidget):
    """A session. The pane says which; tasks are the pane's."""

    def __init__(self, pane: TimelinePane) -> None:
        super().__init__()
        self._pane = pane
        self.session: SessionInfo | None = None
        self.reading: Reading | None = None
        self._coming: Reading | None = None  # what is loaded now, or was last
        self.items: list[TranscriptItem] = []
        self.mode: Mode = "log"
        self.by_order = False
        self.opened: set[str] = set()
        self._landing = False
        self._in_range: set[int] | None = None
        self.head = PaneHead()
        self.switch = SegmentSwitch(
            [("log", tr("Full log")), ("model", tr("What the model saw"))], name=tr("View")
        )
        self.axis = Axis()
        self.range_line = RangeLine()
        self.find_bar = FindBar(tr("Find in this session"))
        self.sheet = Sheet(tr("Transcript"))
        self.beside = Beside(self.sheet)
        self._lay_out()
        self._connect()
        self.finder = Find(self, pane.tasks)

    def _lay_out(self) -> None:
        self.more = IconButton("ellipsis", tr("More acts"))
        self.go_on = IconButton("message-square", tr("Continue in Chat"), key="Shift+C")
        self.head.add(self.switch, self.go_on, self.more)
        self.head.acts.setSpacing(6)
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(0)
        for widget in (self.head, self.axis, self.range_line, self.find_bar):
            box.addWidget(widget)
        box.addWidget(self.sheet, 1)

    def _connect(self) -> None:
        self.switch.chosen.connect(lambda mode: self.set_mode(mode))
        self.axis.jumped.connect(lambda at: self.jump(self.items[at].id))
        self.axis.brushed.connect(self._on_range)
        self.range_line.cleared.connect(self.axis.clear_range)
        self.sheet.scrolled.connect(self._on_scrolled)
        self.sheet.acted.connect(self._pane.on_act)
        self.sheet.end_wanted.connect(
            lambda by: self._pane.tasks.latest("page", self.go_to_end(by))
        )
        self.sheet.is_outside = self._is_outside

    # ------------------------------------------------------------------ what it shows

    def set_session(self, session: SessionInfo) -> None:
        """The head; the entries come with `load`."""
        self.session = session
        self.head.set_title(preview(session.title, 120, blank=tr("Untitled session")),
                            self._details(session))  # fmt: skip

    def _details(self, one: SessionInfo) -> str:
        today = self._pane.desk.now().astimezone().date()
        span = ""
        if one.first is not None and one.last is not None:
            first, last = one.first.astimezone(), one.last.astimezone()
            same = first.date() == last.date()
            day = "" if same and last.date() == today else f"{short_day(first.date(), today)}, "
            end = clock(last) if same else f"{short_day(last.date(), today)}, {clock(last)}"
            span = tr("{a} to {b}", a=f"{day}{clock(first)}", b=end)
        count = plural(one.messages, "{n} message", "{n} messages")
        return sentence([span, count, size(one.bytes)])

    async def load(self, session: SessionInfo, *, entry_id: str = "") -> bool:
        """Show another session, or the same one from the start; whether the entry was found.

        Nothing is shown when another was asked for meanwhile.
        """
        reading = self._coming = Reading(self._pane.desk.engine.ask, session.id)
        at = await reading.at(entry_id) if entry_id else -1
        if at < 0:
            await reading.newest()
        if reading is not self._coming:
            return True
        self.reading = reading
        self.opened.clear()
        self.sheet.opened.clear()
        self.axis.clear_range()
        self.set_session(session)
        if at >= 0:
            await self._land(reading.items[at].id, keep=False)
        else:
            await self.rebuild(stay="end", keep=False)
            self.finder.now()
        return not entry_id or at >= 0

    async def look_again(self) -> None:
        """What came since; the view stays where it is, or follows the end."""
        if self.reading is not None:
            await self.reading.again()
            await self.rebuild(stay="follow")

    async def rebuild(self, *, stay: str = "top", keep: bool = True) -> None:
        """Show what is loaded. `stay`: where the view is then (see `ScrolledRows`), or "follow":
        at the end when it is there."""
        made = await self._made()
        if made is None:
            return
        if stay == "follow":  # judged now: while that was made somebody may have gone elsewhere
            stay = "end" if self.sheet.at_end() and not self.sheet.goes_on[1] else "top"
        shift = came_before(self.items, made.items)
        self.items = items = made.items
        self.sheet.ink.today = self._pane.desk.now().astimezone().date()
        used = {item.covered_by for item in items if item.covered_by}
        self.beside.set_summaries(
            {i.id: i for i in items if i.kind == "compaction" and i.id in used}
        )
        self.axis.set_scale(made.scale, keep=keep, shift=shift)
        self.sheet.model_view = self.mode == "model"
        self.sheet.set_rows(made.blocks, stay=stay, guesses=made.guesses)
        self.sheet.goes_on = made.goes_on
        self.finder.now(move=False)  # hits are places among the items, and these are others
        if self.axis.range is not None:
            self._on_range()

    async def _made(self) -> Made | None:
        """What is loaded and wanted now: what changed while it was made beside the loop is made
        again, so that no older state is ever shown over a newer one. None for another session."""
        reading = self.reading
        while reading is not None:
            how = self.mode, frozenset(self.opened), self.by_order
            made = await reading.made(*how, self.sheet.guess)
            if reading is not self.reading:
                return None
            if made.items is reading.items and how == (self.mode, self.opened, self.by_order):
                return made
        return None

    async def load_more(self, by: int) -> bool:
        """Load what lies before (-1) or behind (1) what is loaded; whether there was any."""
        reading = self.reading
        if reading is None:
            return False
        came = await (reading.older() if by < 0 else reading.newer())
        if reading is not self.reading:
            return False
        if came:
            await self.rebuild()
        return came

    async def go_to_end(self, by: int) -> None:
        """To the first (-1) or the newest (1) entry of the session."""
        reading = self.reading
        if reading is None:
            return
        await (reading.oldest() if by < 0 else reading.newest())
        if reading is self.reading:
            await self.rebuild(stay="start" if by < 0 else "end")
            self.sheet.set_current(0 if by < 0 else len(self.sheet.rows) - 1)

    async def show_entry(self, entry_id: str) -> bool:
        """Scroll to an entry and mark it; False when the session does not have it."""
        if self.reading is None:
            return False
        reading = self.reading
        at = await reading.at(entry_id)
        if at < 0:
            return False
        await self._land(reading.items[at].id)
        return True

    async def _land(self, item_id: str, *, keep: bool = True) -> None:
        """Show an item of what was just loaded; what is passed on the way loads nothing."""
        self._landing = True
        try:
            if self.reading is not None and self.items is not self.reading.items:
                await self.rebuild(keep=keep)
            await self.show_item(item_id)
        finally:
            self._landing = False
        self._on_scrolled(self.sheet.visible().start)

    async def show_item(self, item_id: str, *, how: str = "middle", needle: str = "") -> None:
        """Make an item current and visible, opening what hides it, and `needle` in it.

        By its id: places among the items shift while one waits for a page.
        """
        if self.sheet.row_of(item_id) < 0:
            at = place_of_entry(self.items, item_id)
            if at < 0:
                return
            self.set_mode("log", run=False)
            self.opened |= folds_around(self.items, at)
            await self.rebuild()
        row = self.sheet.row_of(item_id)
        if needle:
            self.sheet.unfold(row, needle)
        self.sheet.set_current(row, show=how)

    def jump(self, item_id: str, how: str = "top", needle: str = "") -> None:
        self._pane.tasks.latest("jump", self.show_item(item_id, how=how, needle=needle))

    def set_mode(self, mode: str, *, run: bool = True) -> None:
        self.mode = "model" if mode == "model" else "log"
        self.switch.set_current(self.mode)
        if run:
            self._pane.tasks.latest("rebuild", self._turn())

    async def _turn(self) -> None:
        """Show the other view. What the model sees stands at the end of a session."""
        if self.mode == "model" and self.reading is not None and not self.reading.ended:
            await self.reading.newest()
        await self.rebuild()

    def set_by_order(self, on: bool) -> None:
        self.by_order = on
        self.axis.clear_range()
        self._pane.tasks.latest("rebuild", self.rebuild(keep=False))

    def toggle_fold(self, block: Block) -> None:
        """Open or close a folded run of rows."""
        self.opened ^= {block.id}
        self._pane.tasks.latest("rebuild", self.rebuild())

    def toggle(self, block: Block) -> None:
        """Open or close the body of one row, in place."""
        self.sheet.toggle(block.id)

    # ------------------------------------------------------------------ axis and transcript

    def _on_scrolled(self, top: int) -> None:
        self.axis.set_head(self.sheet.rows[top].at)
        reading, rows = self.reading, len(self.sheet.rows)
        if reading is None or self._landing or self.mode != "log":
            return
        if self._pane.tasks.running("page"):
            return
        if not reading.whole and top < NEAR:
            self._pane.tasks.latest("page", self.load_more(-1))
        elif not reading.ended and self.sheet.visible().stop > rows - NEAR:
            self._pane.tasks.latest("page", self.load_more(1))

    def item_at_top(self) -> int:
        block = self.sheet.current()
        return block.at if block is not None else 0

    def _on_range(self) -> None:
        chosen = self.axis.range
        if chosen is None:
            self._in_range = None
            self.range_line.show_words("")
        else:
            found = self.axis.scale.between(*chosen)
            self._in_range = set(found)
            self.range_line.show_words(self._range_words(found))
        self.sheet.viewport().update()

    def _range_words(self, found: list[int]) -> str:
        start, end = (self.axis.scale.when(v) for v in self.axis.range or (0, 0))
        if start is None or end is None:
            span = plural(len(found), "{n} entry", "{n} entries")
        else:
            span = tr("{a} to {b}", a=clock(start), b=clock(end))
        kinds = [self.items[i].kind for i in found if i < len(self.items)]
        said = sum(k in ("user", "assistant") for k in kinds)
        counts = [
            plural(said, "{n} message", "{n} messages"),
            *(
                plural(n, one, many)
                for kind, one, many in (
                    ("tool", "{n} call", "{n} calls"),
                    ("flush", "{n} flush", "{n} flushes"),
                    ("compaction", "{n} compaction", "{n} compactions"),
                    ("eviction", "{n} result put aside", "{n} results put aside"),
                )
                if (n := kinds.count(kind))  # type: ignore[arg-type]
            ),
        ]
        return tr("{span} selected: {what}.", span=span, what=sentence(counts))

    def _is_outside(self, block: Block) -> bool:
        return self._in_range is not None and block.count > 0 and block.at not in self._in_range

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.axis.set_folded(self.height() < LOW)
        self.switch.setVisible(self.width() > 560)

    # ------------------------------------------------------------------ walking

    def walk(self, by: int, wanted: str) -> None:
        """To the next (1) or previous (-1) prompt, tool call or error."""
        self._pane.tasks.latest("page", self._walk(by, wanted))

    async def _walk(self, by: int, wanted: str) -> None:
        """Look ahead page by page; the view moves only when there is something to go to."""
        ahead, block = copy(self.reading), self.sheet.current()
        if ahead is None:
            return
        at = (block.at if block is not None else -1) + by
        while True:
            items = ahead.items
            while 0 <= at < len(items):
                if _is(items[at], wanted):
                    await self.show_ahead(ahead, items[at].id)
                    return
                at += by
            edge = items[0 if by < 0 else -1].id if items else ""
            if not await (ahead.older() if by < 0 else ahead.newer()):
                return
            at = place_of_entry(ahead.items, edge) + by

    async def show_ahead(self, ahead: Reading, item_id: str) -> None:
        """Show what was found by looking ahead."""
        self.reading = ahead
        await self._land(item_id)

    def walk_marks(self, by: int, lanes: tuple[int, ...]) -> None:
        found = self.axis.next_mark(by, lanes)
        if found >= 0:
            self.jump(self.items[found].id)
            self.axis.set_head(found)


def came_before(old: Sequence[TranscriptItem], new: Sequence[TranscriptItem]) -> int:
    """How many items stand before the first of `old`; negative when it was dropped."""
    if not old or not new:
        return 0
    there = place_of_entry(new, old[0].id)
    return there if there >= 0 else -max(place_of_entry(old, new[0].id), 0)


def _is(item: TranscriptItem, wanted: str) -> bool:
    if wanted == "error":
        return item.is_error or item.kind in ("failure", "overflow", "gap", "interrupted")
    return item.kind == wanted
