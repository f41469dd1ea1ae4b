"""Cards of the transcript: tool calls, calls that ask first, the line while the model is busy."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from app.engine.records import TranscriptItem
from app.gui.look.calls import call_line
from app.gui.look.text import number, preview, seconds, tr
from app.gui.look.theme import token
from app.gui.panes.chat.model import Piece, arguments_text, outcome, tool_icon
from app.gui.panes.chat.rows import Hub, NameLine, Row, Thought
from app.gui.panes.chat.texts import Well
from app.gui.widgets.buttons import Button
from app.gui.widgets.labels import IconLabel, Link, T
from app.gui.widgets.marks import KindMark
from app.gui.widgets.paint import rounded, smooth
from app.gui.widgets.pane import Target
from app.gui.widgets.rings import Working
from app.gui.widgets.surfaces import Card, Fold, Hairline

SHORT = 70  # characters of arguments that need no well of their own


class _Ground(QWidget):
    """The well of a card; rounded below when it is the card's last part."""

    def __init__(self) -> None:
        super().__init__()
        self.last = False

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = smooth(self)
        box = QRectF(self.rect()).adjusted(1, 0, -1, -1 if self.last else 0)
        if self.last:
            painter.setClipRect(box)
            rounded(painter, box.adjusted(0, -8, 0, 0), 7, token("sunken"))
        else:
            painter.fillRect(box, token("sunken"))
        painter.end()


class ToolRow(Row):
    """One call: 34 px closed; open, its arguments, its result and where the rest of it lies."""

    def __init__(self, hub: Hub, piece: Piece) -> None:
        super().__init__(hub, piece)
        self.name = NameLine("Palimpsest", piece.item)
        self.card = Card()
        self.fold = Fold(tr("Call of {tool}", tool=piece.item.tool), self._body, title=False)
        self.card.box.addWidget(self.fold)
        self.box.addWidget(self.name)
        self.box.addWidget(self.card)
        self._title = T("", "body", weight=600)
        self._said = T("", "code", "text_soft", elide="right")
        self._done = T("", "small", "text_soft", weight=500)
        self._took = T("", "small", "text_faint", tabular=True)
        self._tick = IconLabel("check", 14, "ok")
        self._busy: Working | None = None
        self._row = self.fold.head.row
        self._row.addWidget(IconLabel(tool_icon(piece.item.tool), 16, "kind_tool"))
        self._row.addWidget(self._title)
        self._row.addWidget(self._said, 1)
        for widget in (self._tick, self._done, self._took):
            self._row.addWidget(widget)
        self._inside: _CallBody | None = None
        self.take(piece)

    def take(self, piece: Piece) -> None:
        super().take(piece)
        item = piece.item
        self.box.setContentsMargins(16, 10 if piece.lead else 4, 16, 4)
        self.name.setVisible(piece.lead)
        self.name.set_item(item)
        self._title.setText(preview(item.tool, 60))
        said = call_line(item.arguments)
        self._said.setText(said)
        self._set_busy(piece.running)
        bad = item.is_error or item.result is None
        self._tick.set_icon("x" if item.is_error else "minus" if bad else "check",
                            "lost" if item.is_error else "text_faint" if bad else "ok")  # fmt: skip
        ended = not piece.running
        self._tick.setVisible(ended)
        word = outcome(item) if ended else tr("running")
        self._done.setText(word)
        self._done.set_color("lost" if item.is_error else "text_soft")
        self._done.setVisible(ended)
        self._took.setText(seconds(item.seconds) if item.seconds and item.seconds >= 0.05 else "")
        self._took.setVisible(ended and bool(self._took.text()))
        self.fold.head.setAccessibleName(f"{item.tool} {said}, {word}")
        if self._inside is not None:
            self._inside.take(piece)

    def unfold(self) -> None:
        self.fold.set_open(True, moving=False)

    def _set_busy(self, on: bool) -> None:
        if on and self._busy is None:
            self._busy = Working(tr("running"))
            self._row.addWidget(self._busy)
        elif not on and self._busy is not None:
            self._busy.hide()
            self._busy.deleteLater()
            self._busy = None

    def _body(self) -> QWidget:
        self._inside = _CallBody(self.hub)
        self._inside.take(self.piece)
        return self._inside


class _CallBody(QWidget):
    """Arguments, result, and where the rest is; made at the first unfolding."""

    def __init__(self, hub: Hub) -> None:
        super().__init__()
        self.hub = hub
        self.arguments = Well(tr("Arguments"), most=140, margin=12)
        self.result = Well(tr("Result"), margin=12)
        self._rule = Hairline()
        self._ground = _Ground()
        self._inner = inner = QVBoxLayout(self._ground)
        inner.setContentsMargins(1, 0, 1, 0)
        inner.setSpacing(0)
        inner.addWidget(self.arguments)
        inner.addWidget(self._rule)
        inner.addWidget(self.result)
        self.foot = QWidget()
        row = QHBoxLayout(self.foot)
        row.setContentsMargins(14, 3, 14, 3)
        row.setSpacing(8)
        self._icon = IconLabel("archive", 16, "kind_eviction")
        self._words = T("", "small", "text_soft", elide="right")
        self._open = Link("")
        row.addWidget(self._icon)
        row.addWidget(self._words)
        row.addWidget(self._open)
        row.addStretch(1)
        self._words.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.foot.setMinimumHeight(30)
        self._open.clicked.connect(self._on_open)
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(0)
        box.addWidget(Hairline())
        box.addWidget(self._ground)
        self._edge = Hairline()
        box.addWidget(self._edge)
        box.addWidget(self.foot)
        self._piece: Piece | None = None
        self._whole = False
        self._shown = ("", "")

    def take(self, piece: Piece) -> None:
        self._piece = piece
        item = piece.item
        said, result = arguments_text(item), item.result or ""
        if self._whole:
            result = self._shown[1]
        if (said, result) != self._shown:
            self._shown = (said, result)
            self.arguments.set_text(said)
            self.result.set_text(result)
        self.arguments.setVisible(bool(said.strip()))
        self.result.setVisible(bool(result.strip()))
        self._rule.setVisible(bool(said.strip()) and bool(result.strip()))
        self._set_foot(piece)

    def _set_foot(self, piece: Piece) -> None:
        item = piece.item
        if item.target:
            count = number(piece.aside or item.cut or len(item.result or ""))
            self._icon.set_icon("archive", "kind_eviction")
            self._words.setText(tr("{n} characters put aside", n=count))
            self._open.setText(tr("Open the full text"))
        elif item.cut and not self._whole:
            self._icon.set_icon("scissors", "text_soft")
            self._words.setText(tr("Cut here, {n} characters in all", n=number(item.cut)))
            self._open.setText(tr("Show all of it"))
        self._show_foot(bool(item.target) or (item.cut > 0 and not self._whole))

    def _show_foot(self, on: bool) -> None:
        self.foot.setVisible(on)
        self._edge.setVisible(on)
        self._ground.last = not on
        self._inner.setContentsMargins(1, 0, 1, 0 if on else 7)

    def _on_open(self) -> None:
        if self._piece is None:
            return
        item = self._piece.item
        if item.target:
            self.hub.go.emit(Target("evicted", path=item.target, session_id=self.hub.session_id))
        else:
            self.hub.whole.emit(item.id, self._show_whole)

    def _show_whole(self, text: str) -> None:
        self._whole = True
        self._shown = (self._shown[0], text)
        self.result.set_text(text)
        self._show_foot(False)


class ApprovalRow(Row):
    """A call that writes and asks first: the tool's mark, a `warn` border, buttons that say what
    they do. Never the circle and accent outline of a memory decision."""

    def __init__(self, hub: Hub, piece: Piece) -> None:
        super().__init__(hub, piece)
        item = piece.item
        self.name = NameLine("Palimpsest", item)
        self.card = Card(margins=0)
        self.card.set_border("warn")
        self.card.box.setContentsMargins(14, 10, 14, 10)
        self.card.box.setSpacing(8)
        head = QHBoxLayout()
        head.setSpacing(8)
        head.addWidget(KindMark("tool"))
        question = tr("{tool} wants to run", tool=preview(item.tool, 60))
        head.addWidget(T(question, "body", weight=600))
        head.addWidget(T(call_line(item.arguments), "code", "text_soft", elide="right"), 1)
        self.card.box.addLayout(head)
        text = arguments_text(item)
        if "\n" in text.strip() or len(text) > SHORT:
            self.card.box.addWidget(Well(tr("Arguments"), text, most=180, margin=10))
        acts = QHBoxLayout()
        acts.setSpacing(8)
        self.allow = Button(_allow_words(item), height=26)
        self.refuse = Button(tr("Do not run it"), "quiet", height=26)
        self.allow.clicked.connect(lambda: self._answer(True))
        self.refuse.clicked.connect(lambda: self._answer(False))
        acts.addWidget(self.allow)
        acts.addWidget(self.refuse)
        acts.addStretch(1)
        self.card.box.addLayout(acts)
        self.setAccessibleName(f"{question}: {call_line(item.arguments)}")
        self.box.addWidget(self.name)
        self.box.addWidget(self.card)
        self.take(piece)

    def take(self, piece: Piece) -> None:
        super().take(piece)
        self.box.setContentsMargins(16, 10 if piece.lead else 4, 16, 4)
        self.name.setVisible(piece.lead)

    def _answer(self, allow: bool) -> None:
        for button in (self.allow, self.refuse):
            button.setEnabled(False)
        self.hub.approve.emit(self.piece.item.id, allow)


def _allow_words(item: TranscriptItem) -> str:
    """What the button does: "Run make ship once"."""
    words = {"write_file": tr("Write this file once"), "edit_file": tr("Edit this file once")}
    if item.tool in words:
        return words[item.tool]
    said = call_line(item.arguments)
    command = said if 0 < len(said) <= 32 and '"cmd"' in item.arguments else ""
    return tr("Run {what} once", what=command or preview(item.tool, 40))


class WaitingRow(Row):
    """What the model is busy with, and what it thinks, folded."""

    def __init__(self, hub: Hub, piece: Piece) -> None:
        super().__init__(hub, piece)
        self.name = NameLine("Palimpsest", piece.item)
        self.working = Working(piece.item.text or tr("waiting for the model"))
        self.thought = Thought(tr("What the model thinks"))
        self.box.addWidget(self.name)
        self.box.addWidget(self.working, 0, Qt.AlignmentFlag.AlignLeft)
        self.box.addWidget(self.thought)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.take(piece)

    def take(self, piece: Piece) -> None:
        super().take(piece)
        item = piece.item
        self.box.setContentsMargins(16, 10 if piece.lead else 6, 16, 6)
        self.name.setVisible(piece.lead)
        self.working.set_word(preview(item.text, 100, blank=tr("waiting for the model")))
        self.thought.setVisible(bool(item.reasoning))
        self.thought.set_text(item.reasoning)


class FailedRow(Row):
    """How a reply failed: the sentence, what can be done, and the act."""

    def __init__(self, hub: Hub, piece: Piece) -> None:
        super().__init__(hub, piece)
        line = QHBoxLayout()
        line.setSpacing(8)
        self._icon = IconLabel("circle-x", 16, "lost")
        self.words = T("", "body", "lost", weight=600, wrap=True)
        line.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignTop)
        line.addWidget(self.words, 1)
        self.remedy = T("", "body", "text_soft", wrap=True)
        acts = QHBoxLayout()
        acts.setSpacing(8)
        self.again = Button(tr("Try again"), icon="rotate-cw", height=26)
        self.models = Button(tr("Settings, Models"), "quiet", icon="settings-2", height=26)
        self.again.clicked.connect(hub.again)
        target = Target("settings", section="models")
        self.models.clicked.connect(lambda: hub.go.emit(target))
        acts.addWidget(self.again)
        acts.addWidget(self.models)
        acts.addStretch(1)
        inner = QVBoxLayout()
        inner.setContentsMargins(24, 0, 0, 0)
        inner.setSpacing(8)
        inner.addWidget(self.remedy)
        inner.addLayout(acts)
        self.box.setSpacing(3)
        self.box.addLayout(line)
        self.box.addLayout(inner)
        self.box.setContentsMargins(16, 10, 16, 10)
        self.take(piece)

    def take(self, piece: Piece) -> None:
        super().take(piece)
        item = piece.item
        self.words.setText(item.text)
        self.remedy.setText(item.reasoning)
        self.remedy.setVisible(bool(item.reasoning))
        self.models.setVisible("model" in item.reasoning.lower() or "Settings" in item.reasoning)
        self.setAccessibleName(f"{item.text} {item.reasoning}")
