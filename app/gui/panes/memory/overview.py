"""The strip at the right edge of a review: a mark per change, in the order they are asked.

Shape and colour say the kind, a hollow mark is decided, a bar beside it is the change in front.
Clicks and the wheel move by change; the keys are J and K.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QHelpEvent, QMouseEvent, QPainter, QPen, QWheelEvent
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from app.engine.records import Change
from app.gui.look.text import number, tr
from app.gui.look.theme import theme, token
from app.gui.panes.memory.change_rows import word_of
from app.gui.panes.memory.deciding import Deciding
from app.gui.widgets.labels import plain_tip
from app.gui.widgets.paint import polygon, smooth

WIDE, EDGE = 18, 10  # px: the strip, and what is free above its first mark
STEP = 16  # px between two marks where there is room
CROWD = 4  # px below which marks become bars of a density
SHAPES = {
    "conflict": ("up", "warn"),
    "dropped": ("square", "lost"),
    "merged": ("down", "text_soft"),
    "split": ("up", "text_soft"),
    "reworded": ("diamond", "text_soft"),
    "section_renamed": ("diamond", "text_soft"),
    "moved": ("bar", "text_soft"),
    "added": ("disc", "added"),
    "wording": ("dot", "text_soft"),
}


@dataclass(frozen=True)
class Mark:
    """One change of the strip."""

    n: int
    group: str
    words: str
    decided: bool


class Overview(QWidget):
    """`wanted(n)` when a mark is pressed, `stepped(±1)` by the wheel."""

    wanted = Signal(int)
    stepped = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._deciding: Deciding | None = None
        self._changes: list[tuple[str, Change]] = []  # its group, and each change
        self._numbers: list[int] = []  # of the changes
        self._grave: list[bool] = []  # whether each is asked first
        self._inks: list[str] = []  # of each px row; "" where no change lies
        self._counted: frozenset[int] = frozenset()  # what was decided when they were made
        self._tall = 0  # px they were made for
        self._front = 0
        self._turned = 0
        self.setFixedWidth(WIDE)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Expanding)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        theme().changed.connect(self.update)

    def sizeHint(self) -> QSize:
        return QSize(WIDE, 120)

    def show_deciding(self, deciding: Deciding) -> None:
        """Follow the decisions and the change in front."""
        if deciding is not self._deciding:
            self._deciding, self._inks = deciding, []
            self._changes = [
                (change.kind if group == "apart" else group, change)
                for group, found in deciding.groups
                for change in found
            ]
            self._numbers = [change.n for _, change in self._changes]
            self._grave = [group in ("conflict", "dropped") for group, _ in self._changes]
        self._front = deciding.focus
        said = tr("Overview: {n} of {all} decided", n=number(deciding.decided()),
                  all=number(deciding.count()))  # fmt: skip
        self.setAccessibleName(said)
        self.update()

    def marks(self) -> list[Mark]:
        return [self.mark(at) for at in range(len(self._changes))]

    def mark(self, at: int) -> Mark:
        """The mark of the change at that place."""
        group, change = self._changes[at]
        return Mark(change.n, group, word_of(change), self._decided(at))

    def _decided(self, at: int) -> bool:
        n = self._changes[at][1].n
        return self._deciding is not None and self._deciding.decision(n) is not None

    def y_of(self, at: int) -> float:
        """The middle of mark `at`, in px."""
        return EDGE + self._step() * (at + 0.5)

    def _step(self) -> float:
        room = max(self.height() - 2 * EDGE, 1)
        return min(float(STEP), room / max(len(self._changes), 1))

    def _at(self, y: float) -> int:
        at = int((y - EDGE) / self._step())
        return max(0, min(at, len(self._changes) - 1))

    # ------------------------------------------------------------------ hands

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self._changes:
            self.wanted.emit(self._changes[self._at(event.position().y())][1].n)

    def wheelEvent(self, event: QWheelEvent) -> None:
        self._turned += event.angleDelta().y()
        if abs(self._turned) >= 120:  # one notch, however finely the wheel counts
            by = -1 if self._turned > 0 else 1
            self._turned = 0
            self.stepped.emit(by)
        event.accept()

    def event(self, event: object) -> bool:
        if isinstance(event, QHelpEvent) and self._changes:
            mark = self.mark(self._at(event.pos().y()))
            state = tr("decided") if mark.decided else tr("not decided")
            said = tr("{what}, {state}", what=mark.words, state=state)
            QToolTip.showText(event.globalPos(), plain_tip(said), self)
            return True
        return super().event(event)  # type: ignore[arg-type]

    # ------------------------------------------------------------------ painting

    def paintEvent(self, event: object) -> None:
        painter = smooth(self)
        if self._step() < CROWD:
            for y, high, ink in self._density():
                painter.fillRect(QRectF(WIDE / 2 - 3, y - 0.5, 8, high), token(ink))
        else:
            for at in range(len(self._changes)):
                center = QPointF(WIDE / 2 + 1, self.y_of(at))
                _shape(painter, self.mark(at), center, min(3.5, self._step() / 2 - 0.5))
        front = self._deciding.place_of(self._front) if self._deciding is not None else -1
        if front >= 0:
            high = max(self._step() - 2, 4.0)
            bar = QRectF(0, self.y_of(front) - high / 2, 2.5, high)
            painter.fillRect(bar, token("accent"))
        painter.end()

    def _density(self) -> list[tuple[int, int, str]]:
        """Bars of one ink: first px row, px rows, ink."""
        self._settle_inks()
        bars: list[tuple[int, int, str]] = []
        y = EDGE
        for ink, same in groupby(self._inks):
            high = sum(1 for _ in same)
            if ink:
                bars.append((y, high, ink))
            y += high
        return bars

    def _settle_inks(self) -> None:
        """The ink of each px row: that of the change that matters most there, of what is open
        before what is decided, of losses before others. A decision costs its own rows only."""
        deciding = self._deciding
        if deciding is None:
            return
        said, many = deciding.said(), max(self.height() - 2 * EDGE, 0) + 1
        if self._inks and self._tall == self.height():
            turned = self._counted ^ said.keys()
            rows = {self._row_of(deciding.place_of(n)) for n in turned}
        else:
            turned, rows = True, set(range(many))
            self._inks = [""] * many
        self._tall = self.height()
        if turned:
            self._counted = frozenset(said)
        for row in rows:
            self._inks[row] = self._ink(row, said)

    def _edge(self, row: int) -> int:
        """The place of the first change of a px row."""
        return round((row - 0.5) / self._step()) if row > 0 else 0

    def _row_of(self, place: int) -> int:
        """The px row in which a change lies."""
        row = max(0, min(int(place * self._step()), len(self._inks) - 1))
        while row and self._edge(row) > place:
            row -= 1
        while row + 1 < len(self._inks) and self._edge(row + 1) <= place:
            row += 1
        return row

    def _ink(self, row: int, said: Mapping[int, object]) -> str:
        here = range(self._edge(row), min(self._edge(row + 1), len(self._numbers)))
        if not here:
            return ""
        left = [at for at in here if self._numbers[at] not in said]
        if not left:
            return "line_strong"
        most = next((at for at in left if self._grave[at]), left[0])
        return SHAPES[self._changes[most][0]][1]


def _shape(painter: QPainter, mark: Mark, center: QPointF, r: float) -> None:
    shape, ink = SHAPES[mark.group]
    pen = QPen(token(ink), 1.3)
    pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
    painter.setPen(pen)
    painter.setBrush(Qt.BrushStyle.NoBrush if mark.decided else token(ink))
    x, y = center.x(), center.y()
    if shape == "square":
        painter.drawRect(QRectF(x - r * 0.85, y - r * 0.85, r * 1.7, r * 1.7))
    elif shape == "diamond":
        painter.drawPath(polygon((x, y - r), (x + r, y), (x, y + r), (x - r, y)))
    elif shape == "up":
        painter.drawPath(polygon((x - r, y + r * 0.7), (x + r, y + r * 0.7), (x, y - r)))
    elif shape == "down":
        painter.drawPath(polygon((x - r, y - r * 0.7), (x + r, y - r * 0.7), (x, y + r)))
    elif shape == "bar":
        painter.drawRect(QRectF(x - r * 0.45, y - r, r * 0.9, r * 2))
    else:
        size = r if shape == "disc" else r * 0.6
        painter.drawEllipse(center, size, size)
