"""One conflict in three columns whose lines stand level: before, file now, proposal.

The card in front holds what will be written: the ready choices, a field for own words, "Take this".
In a narrow window the columns are three parts below each other, with the same heads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QMouseEvent, QPaintEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from app.engine.records import Change, Decision
from app.gui.look.text import number, tr
from app.gui.look.theme import theme, token
from app.gui.look.type import row_height
from app.gui.panes.memory.change_card import OwnWords
from app.gui.panes.memory.change_rows import effect_of, word_of
from app.gui.panes.memory.conflict_bed import ConflictBed
from app.gui.panes.memory.conflicts import Choice, Sides, choice_of
from app.gui.panes.memory.lines import cut, plain
from app.gui.panes.memory.piece_paint import paint_circle, paint_placed, place
from app.gui.panes.memory.pieces import Key, Marks, Piece, side_pieces, will_pieces
from app.gui.widgets.buttons import Button
from app.gui.widgets.labels import KeyCaps, Link, T
from app.gui.widgets.paint import rounded, smooth

HEAD = 38  # px


@dataclass(frozen=True)
class Around:
    """Unchanged lines beside a conflict, "" for none; `line` is its place in the file."""

    above: str = ""
    below: str = ""
    line: int = 0


class Pieces(QWidget):
    """Pieces of a change, as high as their text needs."""

    def __init__(self, pieces: Sequence[Piece], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._pieces = tuple(pieces)
        policy = QSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        theme().changed.connect(self.updateGeometry)

    def set_pieces(self, pieces: Sequence[Piece]) -> None:
        if tuple(pieces) != self._pieces:
            self._pieces = tuple(pieces)
            self.updateGeometry()
            self.update()

    def pieces(self) -> tuple[Piece, ...]:
        return self._pieces

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return round(place(self._pieces, 0, width, 0.0)[1])

    def sizeHint(self) -> QSize:
        return QSize(200, self.heightForWidth(max(self.width(), 200)))

    def minimumSizeHint(self) -> QSize:
        return QSize(120, 20)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = smooth(self)
        for one in place(self._pieces, 0, self.width(), 0.0)[0]:
            paint_placed(painter, one)
        painter.end()


class ConflictCard(QWidget):
    """Signals name the conflict by its number."""

    wanted = Signal(int)
    chosen = Signal(int, str)
    taken = Signal(int)
    undone = Signal(int)
    saved = Signal(int, str)
    left = Signal()

    def __init__(
        self,
        change: Change,
        marks: Mapping[Key, Marks],
        sides: Sides,
        around: Around,
        place_of: tuple[int, int],
        *,
        stacked: bool,
    ) -> None:
        super().__init__()
        self.change = change
        self._front = False
        self._verdict = ""
        self._place = place_of
        box = QVBoxLayout(self)
        box.setContentsMargins(14, 0, 14, 10)
        box.setSpacing(0)
        box.addWidget(self._head(around))
        self._stacked = stacked
        box.addLayout(self._grid(marks, sides, around))
        self._bottom = self._choice_part()
        box.addWidget(self._bottom)
        self.setAccessibleName(word_of(change))
        theme().changed.connect(self.update)

    # ------------------------------------------------------------------ parts

    def _head(self, around: Around) -> QWidget:
        self._effect = T("", "small", "accent", weight=500)
        self._undo = Link(tr("Undo"), key="U")
        self._undo.clicked.connect(lambda: self.undone.emit(self.change.n))
        n, of = self._place
        self._count = T(tr("{n} of {all}", n=number(n), all=number(of)), "small", "text_soft")
        where = self.change.section
        if around.line:
            line = tr("line {n}", n=number(around.line))
            where = f"{where}, {line}" if where else line
        head = QWidget()
        head.setMinimumHeight(row_height(HEAD))
        row = QHBoxLayout(head)
        row.setContentsMargins(26, 0, 0, 0)
        row.setSpacing(10)
        row.addWidget(T(word_of(self.change), "body", weight=600))
        row.addWidget(T(where, "small", "text_soft", elide="right"), 1)
        for widget in (self._effect, self._undo, self._count):
            row.addWidget(widget)
        self._top = head
        return head

    def _grid(self, marks: Mapping[Key, Marks], sides: Sides, around: Around) -> QGridLayout:
        old = [Piece("", cut(plain(line))) for line in self.change.old]
        texts = (
            (tr("Before"), sides.before, "", old),
            (tr("File now"), sides.now, "1", side_pieces(self.change, "now", marks)),
            (tr("Proposal"), sides.theirs, "2", side_pieces(self.change, "theirs", marks)),
        )
        grid = QGridLayout()
        grid.setContentsMargins(0, 8, 0, 8)
        grid.setHorizontalSpacing(28)
        grid.setVerticalSpacing(2)
        for column, (name, who, key, pieces) in enumerate(texts):
            at = (column * 4, 0) if self._stacked else (0, column)
            grid.addWidget(_side_head(name, who, key), *at)
            for row, found in enumerate(([_soft(around.above)], pieces, [_soft(around.below)]), 1):
                part = Pieces([piece for piece in found if piece.text or piece.sign])
                part.setVisible(bool(part.pieces()) and not (self._stacked and row != 2))
                grid.addWidget(part, at[0] + row, at[1], Qt.AlignmentFlag.AlignTop)
            if not self._stacked:
                grid.setColumnStretch(column, 1)
        self._columns = grid
        return grid

    def _choice_part(self) -> QWidget:
        part = QWidget()
        self.bed = ConflictBed(self.change)
        self.bed.chosen.connect(lambda key: self.chosen.emit(self.change.n, key))
        self.will = Pieces(())
        self.field = OwnWords()
        self.field.taken.connect(lambda text: self.saved.emit(self.change.n, text))
        self.field.left.connect(self.left)
        self.note = T(tr("Edited by you"), "small", "text_soft")
        self.take = Button(tr("Take this"), "primary", icon="check", key="A", height=26)
        self.take.clicked.connect(self._on_take)
        foot = QHBoxLayout()
        foot.setContentsMargins(0, 2, 0, 0)
        foot.addWidget(self.note)
        foot.addStretch(1)
        foot.addWidget(self.take)
        box = QVBoxLayout(part)
        box.setContentsMargins(0, 8, 0, 0)
        box.setSpacing(4)
        box.addWidget(self.bed)
        box.addWidget(self.will)
        box.addWidget(self.field)
        box.addLayout(foot)
        return part

    # ------------------------------------------------------------------ following the review

    def show_state(
        self, decision: Decision | None, choice: Choice, own: str, *, front: bool, editing: bool
    ) -> None:
        """What is decided and chosen; the card in front shows its choices."""
        self._front, self._verdict = front, decision.verdict if decision is not None else ""
        effect = effect_of(self.change, decision)
        self._effect.setText(effect)
        self._undo.setVisible(decision is not None)
        self._count.setVisible(decision is None)
        self._bottom.setVisible(front)
        self.bed.show_choice("own" if editing else choice)
        self.will.set_pieces(will_pieces(self.change, choice, own))
        self.will.setVisible(not editing)
        self.field.setVisible(editing)
        self.note.setVisible(editing or choice == "own")
        held = decision is not None and choice_of(self.change, decision) == choice
        self.take.set_key("Ctrl+S" if editing else "A")
        reason = "" if editing or choice else tr("Choose first what is written.")
        self.take.set_off(tr("It is taken already.") if held and not editing else reason)
        self.update()

    def start_editing(self, text: str) -> None:
        self.field.setPlainText(text)
        self.field.selectAll()
        self.field.setFocus()

    def _on_take(self) -> None:
        if self.field.isVisibleTo(self):
            self.field.take()
        else:
            self.taken.emit(self.change.n)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self.wanted.emit(self.change.n)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = smooth(self)
        box = QRectF(self.rect()).adjusted(1, 1, -1, -1)
        edge, wide = ("accent", 1.5) if self._front else ("line", 1.0)
        rounded(painter, box, 8, token("raised" if self._front else "canvas"), token(edge), wide)
        head = QRectF(self._top.geometry())
        center = QPointF(22, head.center().y() + 1)
        paint_circle(painter, center, self._verdict, front=self._front, waits=True)
        below = self.height() if self._bottom.isHidden() else self._bottom.geometry().top()
        rules = [head.bottom(), *([] if self._bottom.isHidden() else [below])]
        for y in rules:
            painter.fillRect(QRectF(2, y, self.width() - 4, 1), token("line"))
        for column in () if self._stacked else (1, 2):
            x = self._columns.itemAt(column * 4).geometry().left() - 14  # type: ignore[union-attr]
            painter.fillRect(QRectF(x, head.bottom(), 1, below - head.bottom() - 2), token("line"))
        painter.end()


def _soft(line: str) -> Piece:
    return Piece("", cut(plain(line)), soft=True)


def _side_head(name: str, who: str, key: str) -> QWidget:
    head = QWidget()
    row = QHBoxLayout(head)
    row.setContentsMargins(0, 2, 0, 4)
    row.setSpacing(10)
    row.addWidget(T(name, "small", weight=600))
    row.addWidget(T(who, "small", "text_soft", elide="right"), 1)
    if key:
        row.addWidget(KeyCaps(key))
    return head
