"""Find in a transcript: hits among the items that are loaded, and the way from one to the next.

Past the last hit of what is loaded, one goes on page by page through the rest of the session.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer
from PySide6.QtGui import QColor

from app.engine.records import TranscriptItem
from app.gui.bridge import Tasks
from app.gui.look.text import tr
from app.gui.look.theme import theme, token
from app.gui.panes.timeline.blocks import Block
from app.gui.panes.timeline.ink import Laid
from app.gui.widgets.prose import units

if TYPE_CHECKING:
    from app.gui.panes.timeline.page import SessionPage

IN_THREAD = 1_000  # entries from which they are looked through beside the loop
PAUSE = 120  # ms without a key before one looks


class Find:
    """What the find bar of a page looks for. `hits` are ids of the page's items, in order: their
    places shift as older items come."""

    def __init__(self, page: SessionPage, tasks: Tasks) -> None:
        self.hits: list[str] = []
        self._page, self._tasks, self._bar = page, tasks, page.find_bar
        self._now = -1
        self._found: set[str] = set()
        self._later = QTimer(page, singleShot=True, interval=PAUSE)
        self._later.timeout.connect(self.now)
        self._bar.wanted.connect(lambda _: self._later.start())
        self._bar.walked.connect(self.walk)
        self._bar.closed.connect(self.close)
        page.sheet.marks_of = self._marks

    def open(self, text: str = "") -> None:
        """Show the bar; with `text`, look for that without moving, and unfold it where one is."""
        self._bar.show()
        if text:
            self._bar.field.setText(text)
            self._later.stop()
            self.now(move=False)
            self._page.sheet.unfold(self._page.sheet.current_at(), text)
        self._bar.field.setFocus()
        self._bar.field.selectAll()

    def close(self) -> None:
        self._bar.hide()
        self._later.stop()
        self._tasks.cancel("further")
        self.hits, self._now, self._found = [], -1, set()
        self._page.sheet.setFocus()
        self._page.sheet.viewport().update()

    def now(self, *, move: bool = True) -> None:
        """Look for the words of the bar; `move` goes to the first hit from here on."""
        items = self._page.items
        needle = self._bar.field.text() if self._bar.isVisibleTo(self._page) else ""
        if len(items) < IN_THREAD or not needle.strip():
            self._tasks.cancel("find")
            self._show(items, hits_in(items, needle), move=move)
        else:
            self._tasks.latest("find", self._look(needle, move=move))

    async def _look(self, needle: str, *, move: bool) -> None:
        items = self._page.items
        hits = await asyncio.to_thread(hits_in, items, needle)
        if items is self._page.items:
            self._show(items, hits, move=move)

    def _show(self, items: Sequence[TranscriptItem], hits: list[int], *, move: bool) -> None:
        self.hits = [items[at].id for at in hits]
        self._found = set(self.hits)
        here = self._page.item_at_top()
        self._now = next((i for i, at in enumerate(hits) if at >= here), 0) if hits else -1
        self._tell()
        if move and hits:
            self._go()
        self._page.sheet.viewport().update()

    def walk(self, by: int) -> None:
        """To the next (1) or previous (-1) hit; round at the ends of the session."""
        reading, at = self._page.reading, self._now + by
        ends = reading is None or (reading.whole if by < 0 else reading.ended)
        if not ends and self._bar.field.text().strip() and not 0 <= at < len(self.hits):
            self._bar.count.setText(tr("Looking further"))
            self._tasks.latest("further", self._further(by))
        else:
            self._round(by)

    async def _further(self, by: int) -> None:
        """To the first hit beyond what is loaded; the view moves only when there is one."""
        before, needle = self._page.reading, self._bar.field.text()
        ahead = copy(before)
        while ahead is not None and ahead.items:
            edge = ahead.items[0 if by < 0 else -1].seq
            if not await (ahead.older() if by < 0 else ahead.newer()):
                break
            fresh = [i for i in ahead.items if (i.seq - edge) * by > 0]
            hits = await asyncio.to_thread(hits_in, fresh, needle)
            if before is not self._page.reading or needle != self._bar.field.text():
                return
            if hits:
                wanted = fresh[hits[0 if by > 0 else -1]]
                await self._page.show_ahead(ahead, wanted.id)
                self._page.sheet.unfold(self._page.sheet.current_at(), needle)
                self.now(move=False)
                return
        self._round(by)

    def _round(self, by: int) -> None:
        if not self.hits:
            self._tell()
        else:
            self._now = (self._now + by) % len(self.hits)
            self._tell()
            self._go()

    def _go(self) -> None:
        self._page.jump(self.hits[self._now], "middle", self._bar.field.text())

    def _tell(self) -> None:
        reading = self._page.reading
        whole = reading is None or (reading.whole and reading.ended)
        self._bar.show_count(self._now + 1, len(self.hits), whole=whole)

    def _marks(self, block: Block, laid: Laid) -> dict[int, list[tuple[int, int, QColor]]]:
        if block.item is None or block.item.id not in self._found:
            return {}
        current = 0 <= self._now < len(self.hits) and self.hits[self._now] == block.item.id
        return marks_in(laid, self._bar.field.text(), current)


def hits_in(items: Sequence[TranscriptItem], needle: str) -> list[int]:
    """Places of the items that hold `needle`, not case sensitive."""
    wanted = needle.casefold()
    if not wanted.strip():
        return []
    return [i for i, item in enumerate(items) if wanted in _text(item).casefold()]


def _text(item: TranscriptItem) -> str:
    if item.kind == "tool":
        return f"{item.tool}\n{item.arguments}\n{item.result or ''}"
    return f"{item.text}\n{item.reasoning}"


def marks_in(laid: Laid, needle: str, current: bool) -> dict[int, list[tuple[int, int, QColor]]]:
    """Stretches to mark in a laid-out block, by part, in UTF-16 units."""
    wanted = needle.casefold()
    out: dict[int, list[tuple[int, int, QColor]]] = {}
    if not wanted.strip():
        return out
    ground = token("hit")
    if current:
        dark = theme().scheme == "dark"
        ground = ground.lighter(130) if dark else ground.darker(112)
    for text in laid.texts:
        shown = text.prose.text
        low = shown.casefold()
        if len(low) != len(shown):
            low = shown.lower()
        at = low.find(wanted)
        found: list[tuple[int, int, QColor]] = []
        while at >= 0 and len(found) < 500:
            start = units(shown[:at])
            found.append((start, start + units(shown[at : at + len(wanted)]), ground))
            at = low.find(wanted, at + max(len(wanted), 1))
        if found:
            out[text.source] = found
    return out
