"""Rows of the transcript: what the person said, answers, quiet lines, the compaction rule.

A row is made once per key and then told of changes (`take`), so that selection, folds and the
scroll position survive. What a row wants done it says to the `Hub`.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

from PySide6.QtCore import QObject, QRectF, Qt, Signal
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from app.engine.records import TranscriptItem
from app.gui.look.text import clock, number, tr
from app.gui.look.theme import theme, token
from app.gui.panes.chat.model import Piece, compaction_line, details, quiet_line
from app.gui.panes.chat.texts import SHOWN, PlainText, Well
from app.gui.widgets.labels import IconLabel, Link, T
from app.gui.widgets.markdown import MarkdownView
from app.gui.widgets.marks import KindMark
from app.gui.widgets.paint import rounded, smooth
from app.gui.widgets.pane import Target

INSET = 16  # px between the column's edge and text
WELL_GAP = 10  # px above and below what the person said


class Hub(QObject):
    """What rows ask for. `whole(item_id, take)`: the full text of an item, given to `take`."""

    go = Signal(object)  # Target
    link = Signal(str)
    whole = Signal(str, object)
    approve = Signal(str, bool)
    again = Signal()
    undo = Signal()  # the newest saved fact

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.session_id = ""
        self.today: Callable[[], date | None] = lambda: None


class Row(QWidget):
    """Base of all rows: `take(piece)` shows a newer state of the same thing."""

    def __init__(self, hub: Hub, piece: Piece) -> None:
        super().__init__()
        self.hub = hub
        self.piece = piece
        self.box = QVBoxLayout(self)
        self.box.setSpacing(0)
        self.box.setContentsMargins(INSET, 4, INSET, 4)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def take(self, piece: Piece) -> None:
        self.piece = piece

    def unfold(self) -> None:
        """Show what is folded, because something was found in it."""


class NameLine(QWidget):
    """Who, and when: "Palimpsest 14:03"."""

    def __init__(self, who: str, item: TranscriptItem) -> None:
        super().__init__()
        self._when = T("", "small", "text_faint", tabular=True)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 4)
        row.setSpacing(8)
        row.addWidget(T(who, "small", "text_soft", weight=600))
        row.addWidget(self._when)
        row.addStretch(1)
        self.set_item(item)

    def set_item(self, item: TranscriptItem) -> None:
        self._when.setText(clock(item.when) if item.when is not None else "")


class UserRow(Row):
    """What the person said, in a well. Plain text; a long one is cut with a link."""

    def __init__(self, hub: Hub, piece: Piece) -> None:
        super().__init__(hub, piece)
        self.box.setContentsMargins(INSET, 10 + WELL_GAP, INSET, 12 + WELL_GAP)
        self.name = NameLine(tr("You"), piece.item)
        self.text = PlainText(name=tr("You said"))
        self.more = Link("")
        self.well: Well | None = None
        self.box.addWidget(self.name)
        self.box.addWidget(self.text)
        self.box.addWidget(self.more, 0, Qt.AlignmentFlag.AlignLeft)
        self.more.clicked.connect(self._on_more)
        theme().changed.connect(self.update)
        self.take(piece)

    def take(self, piece: Piece) -> None:
        super().take(piece)
        item = piece.item
        self.name.set_item(item)
        self.text.set_text(item.text)
        whole = item.cut or len(item.text)
        long = whole > SHOWN and self.well is None
        self.more.setText(tr("Show all {n} characters", n=number(whole)))
        self.more.setVisible(long)

    def _on_more(self) -> None:
        if self.piece.item.cut:
            self.hub.whole.emit(self.piece.item.id, self._unfold)
        else:
            self._unfold(self.piece.item.text)

    def _unfold(self, text: str) -> None:
        self.well = Well(tr("You said"), text, most=480, margin=0)
        self.text.hide()
        self.more.hide()
        self.box.addWidget(self.well)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = smooth(self)
        box = QRectF(self.rect()).adjusted(0, WELL_GAP, 0, -WELL_GAP)
        rounded(painter, box, 10, token("sunken"))
        painter.end()


class Thought(QWidget):
    """What the model thought: one quiet word that unfolds a well."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.link = Link(name, color="text_faint", weight=400)
        self.link.clicked.connect(self.toggle)
        self.well: Well | None = None
        self._name, self._text = name, ""
        self._box = QVBoxLayout(self)
        self._box.setContentsMargins(0, 0, 0, 4)
        self._box.setSpacing(4)
        row = QHBoxLayout()
        row.setSpacing(0)
        row.addWidget(IconLabel("brain", 14, "text_faint"))
        row.addWidget(self.link)
        row.addStretch(1)
        self._box.addLayout(row)

    def set_text(self, text: str) -> None:
        self._text = text
        if self.well is not None and self.well.text() != text:
            self.well.set_text(text)
            bar = self.well.verticalScrollBar()
            bar.setValue(bar.maximum())

    def toggle(self) -> None:
        if self.well is None:
            self.well = Well(self._name, self._text, most=240)
            self._box.addWidget(self.well)
        else:
            self.well.setVisible(not self.well.isVisibleTo(self))


class AnswerRow(Row):
    """An answer on paper, streaming or stored; what the model thought stands folded above."""

    def __init__(self, hub: Hub, piece: Piece) -> None:
        super().__init__(hub, piece)
        self.name = NameLine("Palimpsest", piece.item)
        self.view = MarkdownView(name=tr("Answer"))
        self.view.link_clicked.connect(hub.link)
        self.more = Link("")
        self.more.clicked.connect(self._on_more)
        self.more.hide()
        self.lost = T(tr("This part was not complete and is not kept."), "small", "text_faint")
        self.lost.hide()
        self.thought: Thought | None = None
        for widget in (self.name, self.view):
            self.box.addWidget(widget)
        for widget in (self.more, self.lost):
            self.box.addWidget(widget, 0, Qt.AlignmentFlag.AlignLeft)
        self._whole = False
        self.take(piece)

    def take(self, piece: Piece) -> None:
        super().take(piece)
        item = piece.item
        self.box.setContentsMargins(INSET, 10 if piece.lead else 4, INSET, 4)
        self.name.setVisible(piece.lead)
        self.name.set_item(item)
        self.lost.setVisible(piece.kind == "broken")
        if piece.kind in ("live", "broken"):
            if piece.kind == "broken":
                self.view.finish()
            return
        self._show_thought(item.reasoning)
        self.view.setVisible(bool(item.text.strip()))
        if self._whole:
            return
        if self.view.markdown().strip() == item.text.strip():
            self.view.finish()
        elif not (item.cut and self.view.markdown().startswith(item.text)):
            self.view.set_markdown(item.text)
        else:  # streamed whole, stored whole, sent cut: what is shown is more
            self.view.finish()
            return
        self.more.setText(tr("Show all {n} characters", n=number(item.cut)))
        self.more.setVisible(item.cut > len(item.text))

    def append(self, text: str) -> None:
        """More of a streaming answer."""
        self.view.append(text)

    def catch_up(self, text: str) -> None:
        """The whole text so far, of which this row may have the beginning."""
        have = self.view.markdown()
        if len(text) > len(have) and text.startswith(have):
            self.view.append(text[len(have) :])

    def _show_thought(self, text: str) -> None:
        if not text.strip() or self.thought is not None:
            return
        self.thought = Thought(tr("What the model thought"))
        self.thought.set_text(text)
        self.box.insertWidget(1, self.thought)

    def _on_more(self) -> None:
        self.hub.whole.emit(self.piece.item.id, self._show_whole)

    def _show_whole(self, text: str) -> None:
        self._whole = True
        self.more.hide()
        self.view.set_markdown(text)


class QuietRow(Row):
    """One small line with the mark, the words, and what can be shown of it."""

    def __init__(self, hub: Hub, piece: Piece) -> None:
        super().__init__(hub, piece)
        self.words = T("", "small", "text_soft", elide="right")
        self.links = QHBoxLayout()
        self.links.setSpacing(6)
        line = QHBoxLayout()
        line.setSpacing(6)
        line.addWidget(KindMark(_mark_of(piece)))
        line.addSpacing(3)
        line.addWidget(self.words)
        line.addLayout(self.links)
        line.addStretch(1)
        self.words.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.box.addLayout(line)
        self._more: Well | None = None
        self.take(piece)

    def take(self, piece: Piece) -> None:
        super().take(piece)
        said = quiet_line(piece.item, self.hub.today())
        tone = "lost" if piece.kind in ("failure", "gap") else "text_soft"
        self.words.setText(said)
        self.words.set_color(tone)
        self.setAccessibleName(said)
        while (old := self.links.takeAt(0)) is not None:
            if (widget := old.widget()) is not None:
                widget.deleteLater()
        for title, run in self._acts():
            link = Link(title)
            link.setAccessibleName(f"{title}: {said}")
            link.clicked.connect(run)
            self.links.addWidget(link)

    def _acts(self) -> list[tuple[str, Callable[[], object]]]:
        item, go, piece_kind = self.piece.item, self.hub.go, self.piece.kind
        if item.kind == "flush" and item.target and item.detail.get("bullets"):
            target = Target("daily", path=item.target)
            return [(tr("Show"), lambda: go.emit(target))]
        if item.kind == "consolidation" and item.target:
            review = Target("memory", proposal=item.target)
            return [(tr("Review it"), lambda: go.emit(review))]
        if piece_kind == "saved":
            return self._saved_acts()
        if item.kind == "fork" and item.target:
            parent = Target("chat", session_id=item.target)
            return [(tr("Show"), lambda: go.emit(parent))]
        if details(item):
            return [(tr("Show"), self._unfold)]
        return []

    def _saved_acts(self) -> list[tuple[str, Callable[[], object]]]:
        memory = Target("memory")
        if self.piece.item.detail.get("proposed"):
            return [(tr("Review it"), lambda: self.hub.go.emit(memory))]
        show = (tr("Show"), lambda: self.hub.go.emit(memory))
        return [show, (tr("Undo"), self.hub.undo.emit)]

    def _unfold(self) -> None:
        if self._more is None:
            self._more = Well(self.words.text(), details(self.piece.item), most=200)
            self.box.addSpacing(4)
            self.box.addWidget(self._more)
        else:
            self._more.setVisible(not self._more.isVisibleTo(self))


def _mark_of(piece: Piece) -> str:
    return {"recall": "consolidation", "reset": "restored", "fork": "message"}.get(
        piece.kind, piece.kind
    )


class CompactionRow(Row):
    """A rule across the column: what was summarised, and where to see what was dropped."""

    def __init__(self, hub: Hub, piece: Piece) -> None:
        super().__init__(hub, piece)
        self.words = T("", "small", "text_soft", weight=600, elide="right")
        self.words.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        show = Link(tr("See what was dropped"))
        show.clicked.connect(self._on_show)
        self._line = QWidget()
        row = QHBoxLayout(self._line)
        row.setContentsMargins(12, 0, 8, 0)
        row.setSpacing(8)
        row.addWidget(KindMark("compaction"))
        row.addWidget(self.words)
        row.addWidget(show)
        self._line.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.box.setContentsMargins(16, 8, 16, 8)
        self.box.addWidget(self._line, 0, Qt.AlignmentFlag.AlignHCenter)
        theme().changed.connect(self.update)
        self.take(piece)

    def take(self, piece: Piece) -> None:
        super().take(piece)
        said = compaction_line(piece.item)
        self.words.setText(said)
        self.setAccessibleName(said)

    def _on_show(self) -> None:
        item = self.piece.item
        self.hub.go.emit(Target("timeline", session_id=self.hub.session_id, entry_id=item.id))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = smooth(self)
        middle = self._line.geometry()
        y = middle.center().y()
        color = token("line_strong")
        painter.fillRect(QRectF(0, y, max(middle.left() - 2, 8), 1), color)
        right = min(middle.right() + 2, self.width() - 8)
        painter.fillRect(QRectF(right, y, self.width() - right, 1), color)
        painter.end()
