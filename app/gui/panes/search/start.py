"""What stands there without hits: searches to take up again, or the reason and the ways out.

Idea: an empty field offers what was searched for before; a search without hits names its reason
first and then, for each way out, how many hits it gives.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping, Sequence
from typing import Any

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app.engine.records import IndexState
from app.gui.look.text import preview, tr
from app.gui.look.theme import token
from app.gui.panes.search.asking import BUILD, MOST_WAYS, Out, index_words
from app.gui.panes.search.filters import Filter, joined, split
from app.gui.panes.search.syntax import SyntaxTable
from app.gui.widgets.labels import Clickable, IconLabel, KeyCaps, KeyLegend, Link, T
from app.gui.widgets.paint import focus_ring, rounded, smooth
from app.gui.widgets.rows import Row, RowList
from app.gui.widgets.surfaces import side_margin

BESIDE_SIGN = 20  # px, where the words beside a sign begin
MOST_RECENT = 12
MOST_SAVED = 40


class Remembered:
    """Recent and saved searches of the workspace, kept in the desk's dict as plain lists of text;
    `keep` is called after each change."""

    def __init__(self, kept: MutableMapping[str, Any], keep: Callable[[], object]) -> None:
        self._kept, self._keep = kept, keep

    def _list(self, name: str) -> list[str]:
        found = self._kept.get(f"search.{name}")
        return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []

    def recent(self) -> list[str]:
        return self._list("recent")

    def saved(self) -> list[str]:
        return self._list("saved")

    def used(self, query: str) -> None:
        """It was searched for, and something was opened or read."""
        query = _plain(query)
        if query:
            rest = [one for one in self.recent() if _key(one) != _key(query)]
            self._set("recent", [query, *rest][:MOST_RECENT])

    def _set(self, name: str, queries: list[str]) -> None:
        self._kept[f"search.{name}"] = queries
        self._keep()

    def save(self, query: str) -> bool:
        """Keep it, or keep it no longer; whether it is kept now."""
        query = _plain(query)
        rest = [one for one in self.saved() if _key(one) != _key(query)]
        now = len(rest) == len(self.saved())
        self._set("saved", [query, *rest][:MOST_SAVED] if now else rest)
        return now

    def forget(self, query: str) -> None:
        for name in ("recent", "saved"):
            self._set(name, [one for one in self._list(name) if one != query])

    def forget_recent(self) -> None:
        self._set("recent", [])


def _plain(query: str) -> str:
    """The query as the field would give it: filters first."""
    return joined(*split(query, finished=True))


def _key(query: str) -> tuple[frozenset[Filter], str]:
    """What makes two queries the same search."""
    filters, rest = split(query, finished=True)
    return frozenset(filters), rest.strip()


class StartPart(QWidget):
    """Recent and saved searches to choose from; `wanted(query)`, `left()` above the first."""

    wanted = Signal(str)
    left = Signal()

    def __init__(self, remembered: Remembered) -> None:
        super().__init__()
        self._remembered = remembered
        self.head = T(tr("One field over everything the agent ever knew"), "head", wrap=True)
        self.sentence = T(
            tr(
                "Type words in any language. Memory, daily logs, sessions and evicted results are "
                "searched as you type; a question finds its answer with other words, too."
            ),
            "body", "text_soft", wrap=True,
        )  # fmt: skip
        self.sentence.setMaximumWidth(600)
        self.list = _Searches(tr("Recent and saved searches"), open_on_click=True, margin=12)
        self.list.opened.connect(lambda row: self.wanted.emit(row.data))
        self.list.erased.connect(self._erase)
        self.list.left.connect(self.left)
        self.forget = Link(tr("Forget recent searches"))
        self.forget.clicked.connect(self._forget)
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 22, 0, 10)
        box.setSpacing(0)
        self._syntax = SyntaxTable()
        self._words = words = QVBoxLayout()
        words.setSpacing(6)
        words.addWidget(self.head)
        words.addWidget(self.sentence)
        words.addSpacing(6)
        words.addWidget(self._syntax)
        box.addLayout(words)
        box.addWidget(self.list, 1_000)
        box.addStretch(1)
        self._foot = foot = QHBoxLayout()
        foot.addWidget(self.forget)
        foot.addStretch(1)
        self._keys = KeyLegend(
            ("Enter", tr("search again")), ("Del", tr("erase one")), ("Ctrl+?", tr("what to type"))
        )
        foot.addWidget(self._keys)
        box.addLayout(foot)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        side = side_margin(self)
        self._words.setContentsMargins(side, 0, side, 14)
        self._foot.setContentsMargins(side - 2, 4, side, 0)
        self.list.delegate.margin = side - self.list.delegate.side

    def refresh(self) -> None:
        saved, recent = self._remembered.saved(), self._remembered.recent()
        rows: list[Row] = []
        for head, icon, queries in (
            (tr("Saved"), "star", saved),
            (tr("Recent"), "clock", [one for one in recent if _key(one) not in map(_key, saved)]),
        ):
            if queries:
                rows.append(Row(f"head {icon}", head, head=True))
            rows += [
                Row(
                    f"{icon} {one}", preview(one, 120), icon=icon, spoken=f"{head}: {one}", data=one
                )
                for one in queries
            ]
        self.list.set_rows(rows)
        self.list.setVisible(bool(rows))
        self.forget.setVisible(bool(recent))
        self._keys.setVisible(bool(rows))
        words = not rows
        self.head.setText(
            tr("One field over everything the agent ever knew") if words else tr("Search again")
        )
        self.sentence.setVisible(words)
        self._syntax.setVisible(words)

    def _erase(self, row: Row) -> None:
        self._remembered.forget(row.data)
        self.refresh()

    def _forget(self) -> None:
        self._remembered.forget_recent()
        self.refresh()


class _Searches(RowList):
    """Del erases; up above the first leaves."""

    erased = Signal(object)
    left = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        row = self.current_row()
        if event.key() == Qt.Key.Key_Delete and row is not None:
            self.erased.emit(row)
            return
        if event.key() in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            down = event.key() == Qt.Key.Key_Down
            if not self.step(1 if down else -1) and not down:
                self.left.emit()
            return
        super().keyPressEvent(event)


# ---------------------------------------------------------------------------- no hits


class NonePart(QWidget):
    """The reason, the ways out with their counts, the state of the index. `taken(Out)`,
    `index_wanted()`."""

    taken = Signal(object)
    index_wanted = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.ways: tuple[Out, ...] = ()
        self.head = T("", "head", wrap=True)
        self.sentence = T("", "body", "text_soft", wrap=True)
        self.sentence.setMaximumWidth(640)
        self._cards = QVBoxLayout()
        self._cards.setSpacing(8)
        self._sign = IconLabel("circle-check", 14, "ok")
        self.index = T("", "small", "text_soft", wrap=True)
        self.build = Link(tr(BUILD))
        self.build.clicked.connect(self.index_wanted)
        self._box = box = QVBoxLayout(self)
        box.setContentsMargins(24, 64, 24, 24)
        box.setSpacing(6)
        box.addWidget(self.head)
        box.addWidget(self.sentence)
        box.addSpacing(14)
        box.addLayout(self._cards)
        box.addSpacing(8)
        state = QHBoxLayout()
        state.setSpacing(8)
        state.addWidget(self._sign)
        state.addWidget(self.index, 1)
        box.addLayout(state)
        under = QHBoxLayout()
        under.setContentsMargins(BESIDE_SIGN, 0, 0, 0)
        under.addWidget(self.build, 0, Qt.AlignmentFlag.AlignLeft)
        box.addLayout(under)
        box.addStretch(1)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        side = side_margin(self)
        self._box.setContentsMargins(side, 64, side, 24)

    def set_reason(self, head: str, reason: str) -> None:
        """Why there are no hits; the ways out come after."""
        self.head.setText(head)
        self.sentence.setText(reason)
        self.sentence.setVisible(bool(reason))

    def set_ways(self, ways: Sequence[Out]) -> None:
        self.ways = tuple(ways)[:MOST_WAYS]
        while (item := self._cards.takeAt(0)) is not None:
            if (card := item.widget()) is not None:
                card.hide()
                card.deleteLater()
        before: QWidget = self
        for n, way in enumerate(self.ways, 1):
            card = _WayCard(way, n)
            card.clicked.connect(lambda w=way: self.taken.emit(w))
            self._cards.addWidget(card)
            QWidget.setTabOrder(before, card)
            before = card

    def set_index(self, state: IndexState) -> None:
        words, good = index_words(state)
        self.index.setText(words)
        self.build.setVisible(state.state == "unavailable")
        self._sign.set_icon("circle-check" if good else "clock", "ok" if good else "warn")

    def take(self, n: int) -> None:
        """The way with that number (from 1)."""
        if 0 < n <= len(self.ways):
            self.taken.emit(self.ways[n - 1])


class _WayCard(Clickable):
    """One way out: icon, what it does, what it leads to, its key."""

    def __init__(self, way: Out, n: int) -> None:
        super().__init__(f"{way.title}: {way.words}")
        self.setMaximumWidth(520)
        self.setMinimumHeight(50)
        row = QHBoxLayout(self)
        row.setContentsMargins(14, 6, 12, 6)
        row.setSpacing(12)
        row.addWidget(IconLabel(way.icon, 16, "accent"))
        text = QVBoxLayout()
        text.setSpacing(1)
        text.addWidget(T(way.title, "body", weight=500, elide="right"))
        text.addWidget(T(way.words, "small", "text_soft"))
        row.addLayout(text, 1)
        row.addWidget(KeyCaps(f"Alt+{n}"))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = smooth(self)
        box = QRectF(self.rect())
        edge = "text_faint" if self.underMouse() else "line_strong"
        rounded(painter, box, 8, token("raised"), token(edge))
        if self.hasFocus():
            focus_ring(painter, box, 8)
        painter.end()
