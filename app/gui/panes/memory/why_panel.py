""" "Why is this here?": the chain of file, day and message behind one line.

Each step has its own words and a way to go there. What the engine could not find is said as such;
nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from PySide6.QtCore import QSize, Signal
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from app.engine.records import Provenance, Source
from app.gui.look.text import number, plural, preview, tr
from app.gui.look.theme import token
from app.gui.panes.memory.causes import cause_words, near_day
from app.gui.panes.memory.change_rows import source_name
from app.gui.panes.memory.lines import plain
from app.gui.widgets.buttons import IconButton
from app.gui.widgets.labels import IconLabel, Link, T
from app.gui.widgets.paint import smooth
from app.gui.widgets.surfaces import Ground, Hairline

Place = tuple[str, str]  # a session and one of its entries


class WhyPanel(Ground):
    """One line's chain. Signals carry what to open."""

    source_wanted = Signal(object)  # Source: its day
    message_wanted = Signal(object)  # Source: its session entry
    version_wanted = Signal(int)
    change_wanted = Signal(int)  # a change of the waiting proposal
    closed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("side", parent=parent)
        self.setMinimumWidth(260)
        self.setMaximumWidth(420)
        self.line = 0
        self._sources: tuple[Source, ...] = ()
        self.title = T("", "head")
        self.close_button = IconButton("x", tr("Close"), key="Esc")
        self.close_button.clicked.connect(self.closed)
        head = QHBoxLayout()
        head.setContentsMargins(18, 10, 10, 6)
        head.addWidget(self.title, 1)
        head.addWidget(self.close_button)
        self._chain = QVBoxLayout()
        self._chain.setContentsMargins(18, 0, 16, 12)
        self._chain.setSpacing(0)
        inner = Ground("side")
        inner.setLayout(self._chain)
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setFrameShape(QScrollArea.Shape.NoFrame)
        area.setWidget(inner)
        area.setHorizontalScrollBarPolicy(area.horizontalScrollBarPolicy().ScrollBarAlwaysOff)
        area.viewport().setAutoFillBackground(False)
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(0)
        box.addLayout(head)
        box.addWidget(area, 1)

    def sizeHint(self) -> QSize:
        return QSize(330, 400)

    def first_source(self) -> Source | None:
        return self._sources[0] if self._sources else None

    def show_line(
        self,
        found: Provenance,
        now: datetime,
        *,
        messages: Mapping[Place, str] | None = None,
        waiting: tuple[int, str] = (0, ""),
        pinned: bool = False,
    ) -> None:
        """Show the chain of a line. `messages`: what was said at each source's place, "" where it
        is gone; `waiting`: the change of a proposal that touches the line."""
        messages = messages or {}
        self.line, self._sources = found.line, found.sources
        self.title.setText(tr("Line {n}", n=number(found.line)))
        self._clear()
        self._chain.addWidget(T(tr("Why is this here?"), "small", "text_soft", weight=600))
        self._chain.addSpacing(8)
        more = bool(found.sources)
        self._chain.addWidget(self._version_step(found, now, more))
        for i, source in enumerate(found.sources[:8]):
            last = i == min(len(found.sources), 8) - 1
            self._chain.addWidget(self._day_step(source, last and not source.session_id))
            if source.session_id:
                self._chain.addWidget(self._message_step(source, messages, last))
        if len(found.sources) > 8:
            more_words = plural(len(found.sources) - 8, "{n} more source", "{n} more sources")
            self._chain.addWidget(T(more_words, "small", "text_faint"))
        if found.broken:
            self._chain.addSpacing(4)
            self._chain.addWidget(_Step("unlink", "text_faint", "", found.broken, last=True))
        self._facts(waiting, pinned)
        self._chain.addStretch(1)

    def _version_step(self, found: Provenance, now: datetime, more: bool) -> QWidget:
        since = found.since
        if since is None:
            words = tr("MEMORY.md, not in a version yet")
        else:
            day = near_day(since, now)
            words = tr("MEMORY.md since version {n}, {day}", n=number(since.number), day=day)
        step = _Step("book-bookmark", "accent", words, plain(found.text)[:600], last=not more)
        if since is not None:
            link = step.link(tr("{who}: show that version", who=cause_words(since)))
            link.clicked.connect(lambda: self.version_wanted.emit(since.number))
        return step

    def _day_step(self, source: Source, last: bool) -> QWidget:
        words = source_name(source.path, source.line)
        step = _Step("calendar-days", "kind_flush", words, plain(source.text)[:600], last=last)
        first = source is self._sources[0]
        link = step.link(tr("Open the day"), "G, P" if first else "")
        link.clicked.connect(lambda: self.source_wanted.emit(source))
        return step

    def _message_step(self, source: Source, messages: Mapping[Place, str], last: bool) -> QWidget:
        words = tr("session {id}", id=preview(source.session_id, 30))
        said = preview(messages.get((source.session_id, source.entry_id), ""), 300, " ").strip()
        if not said:
            words = tr("{session}, the message is not in its log any more", session=words)
        step = _Step("message-square" if said else "unlink", "text_soft", words, said, last=last)
        if said:
            first = source is self._sources[0]
            link = step.link(tr("Open the message"), "G, M" if first else "")
            link.clicked.connect(lambda: self.message_wanted.emit(source))
        return step

    def _facts(self, waiting: tuple[int, str], pinned: bool) -> None:
        n, words = waiting
        if not n and not pinned:
            return
        self._chain.addSpacing(10)
        self._chain.addWidget(Hairline())
        self._chain.addSpacing(8)
        if pinned:
            self._chain.addWidget(T(tr("Pinned: no proposal may touch it"), "small", "text_soft"))
        if n:
            row = QWidget()
            line = QHBoxLayout(row)
            line.setContentsMargins(0, 0, 0, 0)
            line.addWidget(T(tr("Waiting change"), "small", "text_soft", weight=600), 1)
            link = Link(words)
            link.clicked.connect(lambda: self.change_wanted.emit(n))
            line.addWidget(link)
            self._chain.addWidget(row)

    def _clear(self) -> None:
        while (item := self._chain.takeAt(0)) is not None:
            if (old := item.widget()) is not None:
                old.hide()
                old.setParent(None)
                old.deleteLater()


class _Step(QWidget):
    """Icon, a line down to the next step, faint words, the step's own text, a link."""

    def __init__(self, icon: str, ink: str, words: str, text: str, *, last: bool) -> None:
        super().__init__()
        self._last = last
        self._icon = IconLabel(icon, 16, ink, parent=self)
        self._icon.move(0, 2)
        self._box = QVBoxLayout(self)
        self._box.setContentsMargins(28, 0, 0, 12)
        self._box.setSpacing(2)
        if words:
            self._box.addWidget(T(words, "small", "text_soft", wrap=True))
        if text:
            self._box.addWidget(T(text, "body", wrap=True, selectable=True))
        self.setAccessibleName(f"{words}. {text}".strip(". "))

    def link(self, words: str, key: str = "") -> Link:
        made = Link(words, key=key)
        row = QHBoxLayout()
        row.setContentsMargins(0, 0, 0, 0)
        row.addSpacing(-3)
        row.addWidget(made)
        row.addStretch(1)
        self._box.addLayout(row)
        return made

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._last:
            return
        painter = smooth(self)
        painter.fillRect(8, 22, 1, self.height() - 24, token("line_strong"))
        painter.end()
