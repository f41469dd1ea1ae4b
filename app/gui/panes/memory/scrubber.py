"""The versions of MEMORY.md on one line: a mark for each, two handles, the range between tinted.

The right handle is what is shown, the left one what it is compared with. Dragging a handle, or the
keys, says so at once (`shown`, `compared`); nothing is written here. As many versions as fit stand
on the line, the newest at the right end.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QKeyEvent, QMouseEvent, QPainter, QPen, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from app.engine.records import Version
from app.gui.look.text import moment, number, plural, short_day, tr
from app.gui.look.theme import theme, token
from app.gui.look.type import font
from app.gui.panes.memory.causes import cause_words
from app.gui.widgets.labels import Link, T, plain_tip
from app.gui.widgets.marks import KindMark, mark_word
from app.gui.widgets.marks import paint_mark as paint
from app.gui.widgets.paint import draw_text, focus_ring, rounded, smooth, soft_ground
from app.gui.widgets.surfaces import Hairline

STEP = 26  # least px between two marks
EDGE = 24
LEGEND = ("consolidation", "saved", "hand", "restored", "external")
BETWEEN_MEANINGS = 6  # px, behind each
BESIDE_LEGEND = 60  # px that part it from the rest at least


class VersionLine(QWidget):
    """The painted line. Versions are named by their number."""

    shown = Signal(int)
    compared = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._all: list[Version] = []  # oldest first
        self._now: datetime | None = None
        self._waiting = False
        self.shows = 0
        self.base = 0
        self._drag = ""
        self._first = 0
        self.setFixedHeight(62)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme().changed.connect(self.update)

    def set_versions(self, versions: Sequence[Version], now: datetime, waiting: bool) -> None:
        """Show these (oldest first); handles stay on their versions, or follow the newest."""
        at_end = not self._all or self.shows == self._all[-1].number
        self._all, self._now, self._waiting = list(versions), now, waiting
        known = {v.number for v in self._all}
        if self._all and (at_end or self.shows not in known):
            self.shows = self._all[-1].number
            self.base = self._all[-2].number if len(self._all) > 1 else 0
        if self.base not in known:
            self.base = 0
        self._settle()

    def versions(self) -> list[Version]:
        return list(self._all)

    def on_line(self) -> list[Version]:
        """The versions that stand on the line now."""
        room = max(int((self.width() - 2 * EDGE) // STEP), 2)
        end = min(self._first + room, len(self._all))
        return self._all[self._first : end]

    def _settle(self) -> None:
        room = max(int((self.width() - 2 * EDGE) // STEP), 2)
        at = self._place(self.shows)
        first = max(len(self._all) - room, 0)
        self._first = max(min(first, at - 1), 0) if at >= 0 else first
        said = tr("Versions of MEMORY.md, version {n} is shown", n=number(self.shows))
        self.setAccessibleName(said)
        self.update()

    def _place(self, wanted: int) -> int:
        return next((i for i, v in enumerate(self._all) if v.number == wanted), -1)

    def step(self, by: int) -> int:
        """Show an older (-1) or newer (1) version; its number."""
        at = self._place(self.shows) + by
        if 0 <= at < len(self._all):
            self.show_version(self._all[at].number)
        return self.shows

    def step_base(self, by: int) -> None:
        at = self._place(self.base) + by
        if 0 <= at < len(self._all) and self._all[at].number != self.shows:
            self._set_base(self._all[at].number)

    def show_version(self, wanted: int) -> None:
        if self.stand_at(wanted):
            self.shown.emit(wanted)

    def stand_at(self, wanted: int) -> bool:
        """The handle on this version, without telling anybody; False when it stands there."""
        if wanted == self.shows or self._place(wanted) < 0:
            return False
        self.shows = wanted
        if self.base == wanted:
            at = self._place(wanted)
            self.base = self._all[at - 1].number if at else 0
        self._settle()
        return True

    def to_newest(self) -> None:
        """Both handles back to the end, without telling anybody."""
        if self._all and self.shows != self._all[-1].number:
            self.shows = self._all[-1].number
            self.base = self._all[-2].number if len(self._all) > 1 else 0
            self._settle()

    def show_pair(self, old: int, new: int) -> None:
        """Both handles on these versions, without telling anybody."""
        if self._place(old) >= 0 and self._place(new) >= 0:
            self.base, self.shows = old, new
            self._settle()

    def _set_base(self, wanted: int) -> None:
        if wanted != self.base:
            self.base = wanted
            self.update()
            self.compared.emit(wanted)

    # ------------------------------------------------------------------ geometry

    def x_of(self, wanted: int) -> float:
        line = self.on_line()
        at = next((i for i, v in enumerate(line) if v.number == wanted), -1)
        if at < 0:
            return -1.0
        return self._x(at, len(line))

    def _x(self, at: int, count: int) -> float:
        left, right = float(EDGE), float(self.width() - EDGE)
        if self._waiting:
            right -= 52
        if count < 2:
            return (left + right) / 2
        return left + (right - left) * at / (count - 1)

    def _at(self, x: float) -> Version | None:
        line = self.on_line()
        if not line:
            return None
        best = min(range(len(line)), key=lambda i: abs(self._x(i, len(line)) - x))
        return line[best]

    # ------------------------------------------------------------------ hands

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton:
            return
        x = event.position().x()
        base, shows = self.x_of(self.base), self.x_of(self.shows)
        upper = event.position().y() < 24
        near_base = base >= 0 and abs(x - base) < 16 and abs(x - base) < abs(x - shows)
        self._drag = "base" if near_base and upper else "shows"
        self._move(x)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._drag:
            self._move(event.position().x())
            return
        version = self._at(event.position().x())
        if version is not None and self._now is not None:
            who, when = cause_words(version), moment(version.when, self._now)
            said = tr("Version {n}: {who}, {when}", n=number(version.number), who=who, when=when)
            self.setToolTip(plain_tip(said))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._drag = ""

    def _move(self, x: float) -> None:
        version = self._at(x)
        if version is None:
            return
        if self._drag == "base":
            if version.number != self.shows:
                self._set_base(version.number)
        else:
            self.show_version(version.number)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        by = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()), 0)
        if by and event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self.step_base(by)
        elif by:
            self.step(by)
        elif event.key() == Qt.Key.Key_End and self._all:
            self.show_version(self._all[-1].number)
        elif event.key() == Qt.Key.Key_Home and self._all:
            self.show_version(self._all[0].number)
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._settle()

    # ------------------------------------------------------------------ painting

    def paintEvent(self, event: object) -> None:
        painter = smooth(self)
        line = self.on_line()
        axis = 34.0
        base, shows = self.x_of(self.base), self.x_of(self.shows)
        if base >= 0 and shows >= 0:
            left, right = sorted((base, shows))
            soft_ground(painter, QRectF(left, axis - 14, right - left, 28))
        painter.setPen(QPen(token("line_strong"), 1.5))
        painter.drawLine(QPointF(4, axis), QPointF(self.width() - 4, axis))
        marks = [(self._x(i, len(line)), v) for i, v in enumerate(line)]
        for x, version in marks:
            center = QPointF(x, axis)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(token("canvas"))
            painter.drawEllipse(center, 6.5, 6.5)
            paint(painter, version.cause, center)
        self._paint_days(painter, marks)
        if self._waiting:
            center = QPointF(self.width() - EDGE - 4, axis)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(token("canvas"))
            painter.drawEllipse(center, 7.5, 7.5)
            paint(painter, "proposal", center, 5.5)
        newest = self._all[-1].number if self._all else 0
        if base >= 0 and self.base != self.shows:
            self._flag(painter, base, number(self.base), filled=False)
        if shows >= 0:
            words = number(self.shows)
            now = self.shows == newest
            said = tr("{n} now", n=words) if now else words
            self._flag(painter, shows, said, filled=True)
        if self.hasFocus():
            focus_ring(painter, QRectF(self.rect()).adjusted(1, 1, -1, -1), 6)
        painter.end()

    def _flag(self, painter: QPainter, x: float, words: str, *, filled: bool) -> None:
        used = font("tiny", 600, tabular=True)
        wide = QFontMetricsF(used).horizontalAdvance(words) + 14
        left = min(max(x - wide / 2, 0), self.width() - wide)
        painter.fillRect(QRectF(x - 0.75, 18, 1.5, 30), token("accent"))
        box = QRectF(left, 1, wide, 18)
        if filled:
            rounded(painter, box, 4, token("accent_fill"))
        else:
            rounded(painter, box, 4, token("canvas"), token("accent"), 1.2)
        painter.setFont(used)
        ink = token("on_fill" if filled else "accent")
        draw_text(painter, box, words, ink, Qt.AlignmentFlag.AlignHCenter)

    def _paint_days(self, painter: QPainter, marks: Sequence[tuple[float, Version]]) -> None:
        """A day under a mark where it differs from the one before and has room."""
        if self._now is None:
            return
        used = font("tiny")
        painter.setFont(used)
        today = self._now.astimezone().date()
        free, before = 0.0, ""
        for x, version in marks:
            words = short_day(version.when.astimezone().date(), today)
            wide = QFontMetricsF(used).horizontalAdvance(words)
            left = min(max(x - wide / 2, 0), self.width() - wide)
            if words != before and left >= free:
                draw_text(painter, QRectF(left, 47, wide + 2, 15), words, token("text_faint"))
                free, before = left + wide + 14, words


class Scrubber(QWidget):
    """The line with its head: how many versions, Compare, and what the marks mean."""

    compare_wanted = Signal(int, int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.line = VersionLine()
        self.count = T("", "small", "text_soft", elide="right")
        self.count.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.compare = Link("")
        self.compare.clicked.connect(self._on_compare)
        self._title = T(tr("Versions"), "small", weight=600)
        self._head = head = QHBoxLayout()
        head.setContentsMargins(24, 6, 16, 0)
        head.setSpacing(8)
        head.addWidget(self._title)
        head.addWidget(self.count)
        head.addSpacing(4)
        head.addWidget(self.compare)
        head.addStretch(1)
        self._legend: list[QWidget] = []
        for kind in LEGEND:
            mark = KindMark(kind, 3.8)
            word = T(mark_word(kind), "small", "text_soft")
            head.addWidget(mark)
            head.addWidget(word)
            head.addSpacing(BETWEEN_MEANINGS)
            self._legend += [mark, word]
        row = QHBoxLayout()
        row.setContentsMargins(20, 0, 20, 0)
        row.addWidget(self.line)
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 2)
        box.setSpacing(0)
        box.addWidget(Hairline())
        box.addLayout(head)
        box.addLayout(row)
        self.line.shown.connect(self._settle)
        self.line.compared.connect(self._settle)
        self._whole = 0

    def sizeHint(self) -> QSize:
        return QSize(400, 98)

    def set_versions(self, versions: Sequence[Version], now: datetime, waiting: bool) -> None:
        """Versions newest first, as the engine gives them."""
        self.line.set_versions(list(reversed(versions)), now, waiting)
        self._whole = versions[0].number if versions else 0
        self._settle()

    def to_newest(self) -> None:
        self.line.to_newest()
        self._settle()

    def stand_at(self, wanted: int) -> None:
        self.line.stand_at(wanted)
        self._settle()

    def show_pair(self, old: int, new: int) -> None:
        self.line.show_pair(old, new)
        self._settle()

    def _settle(self, *_: object) -> None:
        on_line = len(self.line.on_line())
        if on_line < self._whole:
            words = tr("{n} of {all}", n=number(on_line), all=number(self._whole))
        else:
            words = plural(self._whole, "{n} version", "{n} versions")
        self.count.setText(words if self._whole else tr("none yet"))
        old, new = self.pair()
        self.compare.setVisible(bool(old and new))
        self.compare.setText(tr("Compare {old} with {new}", old=number(old), new=number(new)))
        legible = self._whole > 0 and self._legend_fits()  # nothing to read where there is no mark
        for widget in self._legend:
            widget.setVisible(legible)

    def _legend_fits(self) -> bool:
        """Whether the meanings stand beside the rest at this size of the text."""
        margins, told = self._head.contentsMargins(), (self._title, self.count, self.compare)
        wide = sum(one.sizeHint().width() + self._head.spacing() for one in (*told, *self._legend))
        around = margins.left() + margins.right() + BESIDE_LEGEND + len(LEGEND) * BETWEEN_MEANINGS
        return self.width() >= wide + around

    def pair(self) -> tuple[int, int]:
        """The two versions under the handles, the older first; (0, n) when there is only one."""
        old, new = sorted((self.line.base, self.line.shows))
        return (old, new) if self.line.base else (0, new)

    def _on_compare(self) -> None:
        old, new = self.pair()
        self.compare_wanted.emit(old, new)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._settle()
