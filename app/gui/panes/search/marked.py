"""Text with marked stretches: a ground plus weight, in lines of one fixed step.

Spans are code points; Qt counts UTF-16 units, so they are translated here and nowhere else. All
that is measured is measured once, at the laying out: to paint again costs only the drawing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import (
    QFont,
    QFontMetricsF,
    QPainter,
    QTextCharFormat,
    QTextLayout,
    QTextLine,
    QTextOption,
)

from app.gui.look.text import clusters
from app.gui.look.theme import token
from app.gui.look.type import line_step
from app.gui.widgets.paint import draw_text, rounded

LONGEST = 1_200  # characters that are laid out at most
WIDE = 100_000.0  # px that no line of a row is long
Spans = Sequence[tuple[int, int]]
_WRAPPED = QTextOption()
_WRAPPED.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
_WRAPPED.setTextDirection(Qt.LayoutDirection.LayoutDirectionAuto)
_BOLD = QTextCharFormat()
_BOLD.setFontWeight(QFont.Weight.DemiBold)


@dataclass
class Laid:
    """A text in lines. `spans` are UTF-16; `cut` says that text is missing at the end.

    `marks` are the grounds of the marked stretches, each with its span; `dots` is where "…" stands
    when the text is cut. Both are px from the upper left corner of the text.
    """

    layout: QTextLayout
    lines: list[QTextLine]
    spans: list[tuple[int, int]]
    step: int
    cut: bool
    marks: list[tuple[QRectF, tuple[int, int]]]
    dots: QRectF

    @property
    def height(self) -> int:
        return self.step * max(len(self.lines), 1)


class Line(NamedTuple):
    """One line of text, measured in px. `layout` is what the line is part of."""

    line: QTextLine
    wide: float
    high: float
    layout: QTextLayout


def one_line(text: str, used: QFont, room: float = WIDE) -> Line:
    """`text` in one line, cut to `room` px."""
    if room < WIDE:
        text = QFontMetricsF(used).elidedText(text, Qt.TextElideMode.ElideRight, room)
    layout = QTextLayout(text, used)
    layout.setCacheEnabled(True)
    layout.beginLayout()
    line = layout.createLine()
    line.setLineWidth(WIDE)
    layout.endLayout()
    return Line(line, line.naturalTextWidth(), line.ascent() + line.descent(), layout)


def lay_out(text: str, spans: Spans, width: float, used: QFont, most: int = 0) -> Laid:
    """Break `text` into lines of `width` px; at most `most` lines around its first mark."""
    width, first = max(width, 40.0), spans[0][0] if spans else 0
    if most and first > 40:
        room = width * most / max(QFontMetricsF(used).averageCharWidth(), 1.0)
        wide = QFontMetricsF(used).horizontalAdvance(text[:first])
        if wide > width * (most - 0.4) or first > room:
            text, spans = _from_near(text, spans, first)
    return _break(text[:LONGEST], spans, width, used, most, len(text) > LONGEST)


def _from_near(text: str, spans: Spans, first: int) -> tuple[str, Spans]:
    """`text` from a little before its first mark, cut between characters and after a space."""
    start = max(first - 24, 0)
    near = text[max(start - 8, 0) : first]
    cuts = [c for c in clusters(near) if c >= min(8, start)]
    at = max(start - 8, 0) + (cuts[0] if cuts else 0)
    space = text.find(" ", at, at + 12)  # a far one would cost the words before the mark
    at = space + 1 if space >= 0 else at
    by = 1 - at
    return "…" + text[at:], [(a + by, b + by) for a, b in spans if a >= at]


def _break(text: str, spans: Spans, width: float, used: QFont, most: int, longer: bool) -> Laid:
    units, step = _units(text, spans), line_step("read", used)
    layout = QTextLayout(text, used)
    layout.setCacheEnabled(True)  # or all is shaped again whenever it is drawn or measured
    layout.setTextOption(_WRAPPED)
    layout.setFormats(_bold(units))
    lines: list[QTextLine] = []
    length = len(text) if _narrow(text) else len(text.encode("utf-16-le", "surrogatepass")) // 2
    layout.beginLayout()
    end = 0
    while (line := layout.createLine()).isValid():
        last = len(lines) + 1 == most
        line.setLineWidth(width)
        end = line.textStart() + line.textLength()
        if last and end < length:
            line.setLineWidth(width - QFontMetricsF(used).horizontalAdvance("…") - 1)
            end = line.textStart() + line.textLength()
        line.setPosition(QPointF(0, len(lines) * step + (step - line.height()) / 2))
        lines.append(line)
        if last:
            break
    layout.endLayout()
    cut, dots = longer or end < length, QRectF()
    if cut and lines:
        line = lines[-1]
        dots = QRectF(line.naturalTextWidth() + 1, line.y(), 20, line.height())
    return Laid(layout, lines, units, step, cut, _grounds(lines, units, step), dots)


def _bold(units: Spans) -> list[QTextLayout.FormatRange]:
    """The weight of the marked stretches."""
    formats: list[QTextLayout.FormatRange] = []
    for start, end in units:
        one = QTextLayout.FormatRange()
        one.start, one.length, one.format = start, end - start, _BOLD  # type: ignore[misc]
        formats.append(one)
    return formats


def _grounds(
    lines: list[QTextLine], units: Spans, step: int
) -> list[tuple[QRectF, tuple[int, int]]]:
    """The grounds of the marks, line by line: one for each line that a mark reaches."""
    out: list[tuple[QRectF, tuple[int, int]]] = []
    for line in lines:
        begin, end = line.textStart(), line.textStart() + line.textLength()
        for start, stop in units:
            if stop <= begin or start >= end:
                continue
            left, _ = line.cursorToX(max(start, begin))  # type: ignore[misc]
            right, _ = line.cursorToX(min(stop, end))  # type: ignore[misc]
            top = line.y() + line.height() / 2 - step * 0.42
            box = QRectF(min(left, right) - 1, top, abs(right - left) + 2, step * 0.84)
            out.append((box, (start, stop)))
    return out


def _narrow(text: str) -> bool:
    """Whether each character of `text` is one UTF-16 unit."""
    return text.isascii() or max(text, default="") <= "\uffff"


def _units(text: str, spans: Spans) -> list[tuple[int, int]]:
    """Spans of code points in UTF-16 units, inside the text."""
    size = len(text)
    wide = [0]
    if _narrow(text):
        return [(min(a, size), min(b, size)) for a, b in spans if a < size and b > a]
    for ch in text:
        wide.append(wide[-1] + (2 if ch > "\uffff" else 1))
    return [(wide[min(a, size)], wide[min(b, size)]) for a, b in spans if a < size and b > a]


def paint(
    painter: QPainter, laid: Laid, at: QPointF, ink: str, strong: tuple[int, int] | None = None
) -> None:
    """Draw it at `at`. `strong` is the current one of the marks (UTF-16), outlined."""
    for box, span in laid.marks:
        edge = token("accent") if strong == span else None
        rounded(painter, box.translated(at), 3, token("hit"), edge, 1.5)
    painter.setPen(token(ink))
    for line in laid.lines:
        line.draw(painter, at)
    if laid.cut and laid.lines:
        painter.setFont(laid.layout.font())
        draw_text(painter, laid.dots.translated(at), "…", token(ink))
