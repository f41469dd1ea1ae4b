"""The text of one evicted result: pages of characters in a well, with find over all pages.

Idea: one page is in the widget at a time, so size does not matter; find reads the other pages and
keeps only how many hits each has. Invariant: a page is shown as it lies on the disk; what the
widget folds (giant lines) it says.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication, QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app.engine.records import EvictedInfo, TextPage
from app.gui.look.text import (
    number,
    plain_line,
    plural,
    preview,
    sentence,
    size,
    tr,
    without_escapes,
)
from app.gui.panes.evicted.model import tool_icon
from app.gui.panes.evicted.numbered import NumberedText
from app.gui.widgets.buttons import IconButton
from app.gui.widgets.fields import Field
from app.gui.widgets.labels import IconLabel, Link, T
from app.gui.widgets.marks import KindMark
from app.gui.widgets.paged import LINK
from app.gui.widgets.surfaces import Hairline

PAGE = 40_000  # characters

Read = Callable[[str, int, int], Awaitable[TextPage]]


@dataclass(frozen=True)
class Hits:
    """How many hits each page has, and how many line ends, in order of pages; `at` is the number of
    the first hit from the wanted line on, 0 when there is none."""

    needle: str
    pages: tuple[int, ...]
    ends: tuple[int, ...] = ()
    at: int = 0

    @property
    def total(self) -> int:
        return sum(self.pages)

    def place(self, n: int) -> tuple[int, int]:
        """(page, which hit on it) of hit `n`, both from 0."""
        for page, count in enumerate(self.pages):
            if n < count:
                return page, n
            n -= count
        return 0, 0

    def first_on(self, page: int) -> int:
        """The number of the first hit on `page` or after it; 0 when there is none."""
        before = sum(self.pages[:page])
        return before if before < self.total else 0


async def search(read: Read, path: str, needle: str, line: int = 0) -> Hits:
    """Count `needle` (not case sensitive) on each page of a text; `line` (from 1) is wanted."""
    wanted = re.compile(re.escape(needle), re.IGNORECASE)
    counts: list[int] = []
    ends: list[int] = []
    before = 0  # hits before the wanted line
    start = 0
    while True:
        page = await read(path, start, PAGE)
        text = without_escapes(page.text)
        begins = _beginning(text, line - 1 - sum(ends))
        places = [found.start() for found in wanted.finditer(text)]
        before += sum(1 for place in places if place < begins)
        counts.append(len(places))
        ends.append(page.text.count("\n"))
        start = page.end
        if page.end >= page.total or page.end <= page.start:
            at = before if before < sum(counts) else 0
            return Hits(needle, tuple(counts), tuple(ends), at)


def _beginning(text: str, lines: int) -> int:
    """Where the line begins that has so many before it: 0 when it began earlier, the end of `text`
    when it comes later."""
    at = 0
    while lines > 0 and (end := text.find("\n", at)) >= 0:
        at, lines = end + 1, lines - 1
    return len(text) if lines > 0 else at


class TextPart(QWidget):
    """Head, find bar, the well, and the pager under it.

    `page_wanted(number)` from 0, `session_wanted()`, `find_wanted(needle)`, `walk_wanted(by)`.
    """

    page_wanted = Signal(int)
    session_wanted = Signal()
    find_wanted = Signal(str)
    walk_wanted = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self.page = 0
        self.pages = 0
        self.info: EvictedInfo | None = None
        self.well = NumberedText()
        self._starts: dict[int, int] = {0: 1}
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(0)
        box.addWidget(self._make_head())
        box.addWidget(self._make_find())
        box.addWidget(self.well, 1)
        box.addWidget(Hairline())
        box.addWidget(self._make_foot())

    def _make_head(self) -> QWidget:
        head = QWidget()
        head.setMinimumHeight(46)
        row = QHBoxLayout(head)
        row.setContentsMargins(24, 0, 16, 0)
        row.setSpacing(9)
        self.sign = IconLabel("wrench", 16, "kind_tool")
        self.name = T("", "head", elide="right")
        self.details = T("", "small", "text_faint", elide="right")
        self.link = Link("", key="G, P")
        self.link.clicked.connect(self.session_wanted)
        self.find_button = IconButton("search", tr("Find in this text"), key="Ctrl+F")
        self.find_button.clicked.connect(self.show_find)
        self.copy_button = IconButton("copy", tr("Copy this page without terminal codes"))
        self.copy_button.clicked.connect(self.copy)
        row.addWidget(self.sign)
        row.addWidget(self.name)
        row.addWidget(self.details)
        row.addWidget(self.link)
        row.addStretch(1)
        row.addWidget(self.find_button)
        row.addWidget(self.copy_button)
        return head

    def _make_find(self) -> QWidget:
        self.find_bar = QWidget()
        row = QHBoxLayout(self.find_bar)
        row.setContentsMargins(24, 0, 16, 8)
        row.setSpacing(4)
        self.field = _FindField(tr("Find in all pages"), tr("Find in all pages"), icon="search")
        self.field.setMaximumWidth(420)
        self.field.textEdited.connect(self.find_wanted)
        self.field.returnPressed.connect(lambda: self.walk_wanted.emit(1))
        self.field.left.connect(self.hide_find)
        before = IconButton("chevron-up", tr("Previous hit"), key="Shift+N")
        after = IconButton("chevron-down", tr("Next hit"), key="N")
        close = IconButton("x", tr("Close find"), key="Esc")
        before.clicked.connect(lambda: self.walk_wanted.emit(-1))
        after.clicked.connect(lambda: self.walk_wanted.emit(1))
        close.clicked.connect(self.hide_find)
        row.addWidget(self.field, 1)
        row.addWidget(before)
        row.addWidget(after)
        row.addWidget(close)
        row.addStretch(1)
        self.find_bar.hide()
        return self.find_bar

    def _make_foot(self) -> QWidget:
        foot = QWidget()
        foot.setMinimumHeight(34)
        row = QHBoxLayout(foot)
        row.setContentsMargins(16, 0, 24, 0)
        row.setSpacing(4)
        self.back = IconButton("chevron-left", tr("Previous page"), key="[")
        self.next = IconButton("chevron-right", tr("Next page"), key="]")
        self.back.clicked.connect(lambda: self.turn(-1))
        self.next.clicked.connect(lambda: self.turn(1))
        self.place = T("", "small", "text_soft", tabular=True)
        self.range = T("", "small", "text_faint", tabular=True)
        self.mark = KindMark("eviction")
        self.seen = T("", "small", "text_soft", elide="right")
        row.addWidget(self.back)
        row.addWidget(self.place)
        row.addWidget(self.next)
        row.addSpacing(10)
        row.addWidget(self.range)
        row.addStretch(1)
        row.addWidget(self.mark)
        row.addSpacing(4)
        row.addWidget(self.seen)
        return foot

    # ------------------------------------------------------------------ what is shown

    def show_result(self, info: EvictedInfo) -> None:
        """The head for `info`; its text comes with `show_page`."""
        if self.info is None or info.path != self.info.path:
            self.page = self.pages = 0
            self._starts = {0: 1}
        self.info = info
        self.sign.set_icon(tool_icon(info.tool), "kind_tool" if info.tool else "text_soft")
        self.name.setText(plain_line(info.tool) or tr("Tool not known"))
        length = number(info.chars) if info.chars else ""
        self.details.setText(
            sentence(
                (
                    tr("{n} characters", n=length) if length else "",
                    size(info.bytes) if info.bytes else "",
                )
            )
        )
        title = preview(info.session_title, 40) if info.session_id else ""
        self.link.setText(tr("in {title}", title=title))
        self.link.setVisible(bool(info.session_id))

    def show_page(self, page: TextPage) -> None:
        """One page of the text."""
        self.page = page.start // PAGE
        self.pages = max(-(-page.total // PAGE), 1)
        self.well.set_text(page.text)
        first_line = self._starts.get(self.page, 0)
        self.well.start_at(first_line)
        if first_line:
            self._starts[self.page + 1] = first_line + page.text.count("\n")
        self.well.setEnabled(True)
        self.place.setText(tr("page {n} of {all}", n=number(self.page + 1), all=number(self.pages)))
        first = page.start + 1 if page.total else 0
        facts = [
            tr("characters {a} to {b}", a=number(first), b=number(page.end)),
            tr("{n} in all", n=number(page.total)) if self.pages > 1 else "",
        ]
        self.range.setText(sentence(facts))
        self.back.set_off("" if self.page else tr("This is the first page."))
        last = self.page + 1 >= self.pages
        self.next.set_off(tr("This is the last page.") if last else "")
        there = self.info is not None and bool(self.info.session_id)
        self.mark.setVisible(there)
        self.seen.setVisible(there)
        self.seen.setText(tr("The model sees its beginning, its end and where to find the rest"))
        self.copy_button.set_off("")
        self.find_button.set_off("")

    def show_none(self, words: str) -> None:
        """No text to show, and why."""
        self.page = self.pages = 0
        self.well.set_text(words)
        self.well.start_at(0)
        self.well.setEnabled(False)
        for label in (self.place, self.range):
            label.setText("")
        for part in (self.mark, self.seen):
            part.hide()
        for button in (self.back, self.next, self.copy_button, self.find_button):
            button.set_off(tr("There is no text."))

    def turn(self, by: int) -> None:
        """To the next or previous page, when there is one."""
        if 0 <= self.page + by < self.pages:
            self.page_wanted.emit(self.page + by)

    def copy(self) -> None:
        """The page as plain text, without terminal codes."""
        QGuiApplication.clipboard().setText(without_escapes(self.well.text()))

    # ------------------------------------------------------------------ find

    def show_find(self) -> None:
        self.find_bar.show()
        self.field.setFocus()
        self.field.selectAll()

    def hide_find(self) -> None:
        self.find_bar.hide()
        self.field.clear()
        self.find_wanted.emit("")
        self.well.setFocus()

    def set_count(self, at: int, total: int, needle: str) -> None:
        """Say where the current hit stands."""
        if not needle:
            self.field.set_unit("")
        elif not total:
            self.field.set_unit(tr("no hits"))
        else:
            self.field.set_unit(
                tr("{n} of {all}", n=number(at + 1), all=plural(total, "{n}", "{n}"))
            )

    def know_lines(self, hits: Hits) -> None:
        """What find read of all pages says where each begins."""
        line = 1
        for page, count in enumerate(hits.ends):
            self._starts[page] = line
            line += count

    def mark_hit(self, needle: str, which: int) -> None:
        """Mark `needle` on the page shown and go to its hit `which` (from 0)."""
        if needle:
            self._unfold()
        count = self.well.finding.find(needle)
        if count and which:
            self.well.finding.walk(min(which, count - 1))

    def _unfold(self) -> None:
        """Open giant lines of this page, so that what is found can be shown."""
        block = self.well.document().firstBlock()
        while block.isValid():
            if block.userState() == LINK and self.well.show_more(block):
                block = self.well.document().firstBlock()
            else:
                block = block.next()


class _FindField(Field):
    """A field that Esc leaves."""

    left = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.left.emit()
            return
        super().keyPressEvent(event)
