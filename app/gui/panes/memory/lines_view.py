"""MEMORY.md line by line: numbers, type instead of marks, pins, origins, and signs of a review.

Serves the file, an earlier version, and the result of a review. Row `n` is line `n` of the text;
rules that say "1 line gone" stand between them with ids of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFocusEvent, QFont, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QApplication

from app.gui.look.icons import paint_icon
from app.gui.look.text import plural, tr
from app.gui.look.theme import token
from app.gui.look.type import Role, code_font, font, line_step
from app.gui.panes.memory.lines import Para, Run, Shown, shown
from app.gui.panes.memory.tall import TallList
from app.gui.widgets.delegate import paint_ground
from app.gui.widgets.marks import IN_LISTS, paint_mark
from app.gui.widgets.paint import draw_text
from app.gui.widgets.rows import Row

NUMBER, TEXT, BULLET, SIGN = 44, 54, 15, 18
ORIGIN = 158  # px kept for the origin of a line
PIN = 24
KEPT = 600  # paragraphs laid out at a time

NOTHING = Shown("")


@dataclass(frozen=True)
class Origin:
    """Since when a line stands there: the mark of a cause, and words."""

    cause: str
    words: str


@dataclass(frozen=True)
class LineRow(Row):
    """One line. `number` 0 marks a rule that says how many lines went (`gone`)."""

    number: int = 0
    shown: Shown = NOTHING
    sign: str = ""
    pinned: bool = False
    origin: Origin | None = None
    gone: int = 0
    gap: bool = True


def lines_of(text: str) -> list[str]:
    """The lines of a text; its last end of a line begins no other one."""
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    return lines


def line_rows(text: str) -> list[LineRow]:
    """The rows of a text, without anything that a review or the history adds."""
    rows: list[LineRow] = []
    after_heading = False
    for number, line in enumerate(lines_of(text), 1):
        rows.append(line_row(number, line, gap=not after_heading))
        after_heading = bool(rows[-1].shown.level)
    return rows


def line_row(number: int, line: str, *, gap: bool, sign: str = "", pinned: bool = False) -> LineRow:
    """The row of one line. `gap`: what stands above it is no heading."""
    one = shown(line)
    spoken = tr("Line {n}: {words}", n=number, words=one.text)
    return LineRow(
        f"l{number}", one.text, tone="off" if one.blank else "", spoken=spoken, number=number,
        shown=one, tip=one.text, data=line, gap=gap, sign=sign, pinned=pinned,
    )  # fmt: skip


def dressed(
    rows: Sequence[LineRow],
    *,
    pinned: Sequence[int] = (),
    origins: Mapping[int, Origin] | None = None,
) -> list[LineRow]:
    """The same rows with pins and origins."""
    held = set(pinned)
    origins = origins or {}
    return [
        replace(row, pinned=row.number in held, origin=origins.get(row.number))
        if row.number in held or row.number in origins
        else row
        for row in rows
    ]


def _is_rule(row: Row) -> bool:
    """A heading, an empty line, or what stands between lines."""
    return not isinstance(row, LineRow) or not row.number or row.shown.blank or row.shown.level > 0


def found_in(rows: Sequence[LineRow], needle: str) -> list[int]:
    """Numbers of the lines that hold `needle`, whatever its case."""
    wanted = needle.casefold()
    return [row.number for row in rows if wanted and wanted in row.shown.text.casefold()]


class LinesView(TallList):
    """Lines of a text. `compact` is the result beside a review; `origins` shows where from."""

    def __init__(self, name: str, *, compact: bool = False, left: int = 16) -> None:
        self._compact = compact
        self._left = left
        self._origins = False
        self._needle = ""
        self._tints: Mapping[str, str] = {}
        self._paras: dict[str, tuple[LineRow, int, Para]] = {}
        self._steps: dict[int, tuple[QFont, int, int]] = {}
        self._heights: dict[tuple[int, int], tuple[Shown, int]] = {}  # by line and room
        super().__init__(name)

    @property
    def _role(self) -> Role:
        return "body" if self._compact else "read"

    def set_origins(self, on: bool) -> None:
        if on != self._origins:
            self._origins = on
            self.lay_again()

    def set_needle(self, needle: str) -> None:
        """Mark every place of `needle`."""
        self._needle = needle
        self.forget()
        self.viewport().update()

    def set_tints(self, tints: Mapping[str, str]) -> None:
        """Grounds of single rows by their ids."""
        if tints != self._tints:
            self._tints = tints
            self.viewport().update()

    def forget(self) -> None:
        self._paras.clear()
        self._steps.clear()
        self._heights.clear()

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Focus comes to a line that says something, quietly: nothing opens unasked."""
        if not self.currentIndex().isValid():
            model = self.rows_model
            rows = (model.row(at) for at in range(max(self.rowAt(0), 0), model.rowCount()))
            first = next((row for row in rows if row is not None and not _is_rule(row)), None)
            if first is not None:
                self.select(first.id, quiet=True)
        super().focusInEvent(event)

    # ------------------------------------------------------------------ heights

    def _text_left(self) -> int:
        return TEXT + (SIGN - 14 if self._compact else 0)

    def _text_width(self, row: LineRow, width: int) -> float:
        left = self._left + self._text_left() + self._inset(row.shown)
        right = 20 + (ORIGIN if self._origins else 0) + (PIN if row.pinned else 0)
        return float(max(width - left - right, 60))

    @staticmethod
    def _inset(one: Shown) -> float:
        return one.indent * 16 + (BULLET if one.bullet else 0)

    def _step(self) -> int:
        return line_step(self._role, font(self._role))

    def _pad(self, one: Shown) -> int:
        if self._compact:
            return 4 if one.level == 1 else 2 if one.level else 0
        return 12 if one.level == 1 else 8 if one.level else 6

    def measure(self, row: Row, width: int) -> int:
        row = cast("LineRow", row)
        if not row.number:
            return 20
        one = row.shown
        if one.blank:  # a heading stands close to what it heads
            return 1 if not row.gap else 7 if self._compact else 8
        pad = self._pad(one)
        room = self._text_width(row, width)
        level = min(one.level, 2)
        known = self._steps.get(level)
        if known is None:
            used = self._font_of(one)
            step = max(self._step(), round(used.pixelSize() * 1.4))
            known = self._steps[level] = (used, used.pixelSize(), step)
        used, pixels, step = known
        if len(one.text) * pixels < room:
            return step + pad
        key = (id(one), round(room))
        found = self._heights.get(key)
        if found is None or found[0] is not one:  # the line is held, so that its id stays its own
            fits = len(one.text) < 400 and (
                QFontMetricsF(used).horizontalAdvance(one.text) < room - 8
            )
            high = step if fits else round(self._para(row, width).height)
            found = self._heights[key] = (one, high)
        return found[1] + pad

    def _font_of(self, one: Shown) -> QFont:
        if one.level == 1:
            return font("title" if not self._compact else "head")
        if one.level:
            return font("head" if not self._compact else "body", 600)
        return font(self._role)

    def _para(self, row: LineRow, width: int) -> Para:
        kept = self._paras.get(row.id)
        if kept is not None and kept[0] is row and kept[1] == width:
            return kept[2]
        one = row.shown
        role: Role = self._role
        if one.level == 1:
            role = "head" if self._compact else "title"
        elif one.level and not self._compact:
            role = "head"
        step = max(self._step(), round(font(role).pixelSize() * 1.4))
        made = Para(
            one.text, self._text_width(row, width), role=role, weight=600 if one.level else None,
            runs=(*one.runs, *self._hits(one.text)), step=step,
        )  # fmt: skip
        if len(self._paras) > KEPT:
            self._paras.clear()
        self._paras[row.id] = (row, width, made)
        return made

    def _hits(self, text: str) -> list[Run]:
        if not self._needle:
            return []
        needle, low = self._needle.casefold(), text.casefold()
        if len(low) != len(text):
            return []  # folding moved the offsets: no marks rather than wrong ones
        out: list[Run] = []
        at = low.find(needle)
        while at >= 0 and len(out) < 100:
            out.append(Run(at, at + len(needle), "hit"))
            at = low.find(needle, at + len(needle))
        return out

    # ------------------------------------------------------------------ painting

    def draw(
        self, painter: QPainter, box: QRectF, row: Row, *, selected: bool, hover: bool
    ) -> None:
        row = cast("LineRow", row)
        if not row.number:
            self._draw_gone(painter, box, row)
            return
        one = row.shown
        if tint := self._tints.get(row.id):
            painter.fillRect(box, token(tint))
        if one.blank:
            return
        card = box.adjusted(self._left, 0, -10, 0)
        focus = self.has_focus()
        shows = not self._compact or focus
        if shows and (selected or (hover and not self._compact)):
            paint_ground(painter, card, hover=hover, selected=selected, focus=focus,
                         ring=False)  # fmt: skip
        para = self._para(row, self.viewport().width())
        top = box.top() + (box.height() - para.height) / 2
        self._draw_number(painter, box, row, top + para.baseline(), selected)
        x = box.left() + self._left + self._text_left() + one.indent * 16
        if one.bullet:
            painter.setFont(font(self._role))
            painter.setPen(token("text_soft" if self._compact else "text"))
            painter.drawText(QPointF(x, top + para.baseline()), one.bullet)
            x += BULLET
        para.paint(painter, x, top)
        self._draw_right(painter, box, row, top + para.step / 2, selected)

    def _draw_number(
        self, painter: QPainter, box: QRectF, row: LineRow, base: float, selected: bool
    ) -> None:
        used = code_font("tiny")
        painter.setFont(used)
        painter.setPen(token("text_soft" if selected else "text_faint"))
        words = str(row.number)
        right = box.left() + self._left + (NUMBER - 12 if not self._compact else NUMBER - 14)
        painter.drawText(QPointF(right - QFontMetricsF(used).horizontalAdvance(words), base), words)
        if row.sign:
            color = {"+": "added", "−": "lost"}.get(row.sign, "text_soft")
            painter.setFont(font("small", 600))
            painter.setPen(token(color))
            painter.drawText(QPointF(right + 6, base), row.sign)

    def _draw_right(
        self, painter: QPainter, box: QRectF, row: LineRow, middle: float, selected: bool
    ) -> None:
        right = box.right() - 20
        if self._origins and row.origin is not None and not row.shown.level:
            left = right - ORIGIN + 12
            paint_mark(painter, row.origin.cause, QPointF(left + 6, middle), IN_LISTS + 0.5)
            painter.setFont(font("small"))
            room = QRectF(left + 20, middle - 10, right - left - 20, 20)
            metrics = QFontMetricsF(font("small"))
            words = metrics.elidedText(row.origin.words, Qt.TextElideMode.ElideRight, room.width())
            draw_text(painter, room, words, token("text_soft"))
        if self._origins:
            right -= ORIGIN
        if row.pinned:
            paint_icon(painter, "pin", right - 14, middle - 7, 14, "accent")

    def _draw_gone(self, painter: QPainter, box: QRectF, row: LineRow) -> None:
        if tint := self._tints.get(row.id):
            painter.fillRect(box, token(tint))
        left = box.left() + self._left + self._text_left()
        middle = box.center().y()
        painter.setFont(font("small", 600))
        sign = QRectF(box.left() + self._left + NUMBER - 10, box.top(), 14, box.height())
        draw_text(painter, sign, "−", token("lost"))
        words = plural(row.gone, "{n} line gone", "{n} lines gone")
        painter.setFont(font("small"))
        wide = QFontMetricsF(font("small")).horizontalAdvance(words)
        end = max(box.right() - 24 - wide - 12, left + 20)
        pen = QPen(token("lost"), 1.0, Qt.PenStyle.CustomDashLine)
        pen.setDashPattern([4, 3])
        painter.setPen(pen)
        painter.drawLine(QPointF(left, middle), QPointF(end, middle))
        draw_text(painter, QRectF(end + 10, box.top(), wide + 4, box.height()), words,
                  token("text_soft"))  # fmt: skip

    # ------------------------------------------------------------------ copying

    def copy(self) -> str:
        """Put the raw chosen lines on the clipboard; what was put there."""
        chosen = [row for row in self.selected_rows() if isinstance(row, LineRow) and row.number]
        text = "\n".join(str(row.data) for row in sorted(chosen, key=lambda r: r.number))
        if text:
            QApplication.clipboard().setText(text)
        return text
