"""Lines of text laid out once and painted often, with a fixed line step for every script.

Idea: long text never reaches one layout. A text is cut to what is shown (lines, characters), broken
at its own line ends and into pieces of 2,000 characters, so that a 400 kB line costs no more than a
page. `**bold**`, `` `code` `` and heads are the only markup that is understood, and only as weight.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetricsF,
    QPainter,
    QTextCharFormat,
    QTextLayout,
    QTextOption,
)

from app.gui.look.text import neutral, without_escapes
from app.gui.look.theme import token
from app.gui.look.type import code_font

PIECE = 2_000
SHOWN_LINES = 30
SHOWN_CHARS = 4_000
_MARKUP = re.compile(r"\*\*(?=\S)(.+?)(?<=\S)\*\*|`([^`\n]+)`|^#{1,6} +(.+)$", re.M)


@dataclass(frozen=True)
class Span:
    """A stretch of a shown text in UTF-16 units, as Qt counts."""

    start: int
    length: int
    style: str


def units(text: str) -> int:
    """How many UTF-16 units `text` has."""
    return len(text) + sum(ch > "\uffff" for ch in text)


def inline(text: str) -> tuple[str, list[Span]]:
    """`text` without its marks of weight, and where they were."""
    out: list[str] = []
    spans: list[Span] = []
    at = done = 0
    for match in _MARKUP.finditer(text):
        before = text[at : match.start()]
        inner = match.group(1) or match.group(2) or match.group(3)
        out += [before, inner]
        done += units(before)
        spans.append(Span(done, units(inner), "code" if match.group(2) else "bold"))
        done += units(inner)
        at = match.end()
    out.append(text[at:])
    return "".join(out), spans


def plain(text: str) -> str:
    """Foreign text without terminal codes and without what reorders its neighbours."""
    clean = neutral(text) if "\x1b" not in text else neutral(without_escapes(text))
    return clean.replace("\r\n", "\n").replace("\t", "    ").replace("\u2028", "\n")


@dataclass
class _Para:
    layout: QTextLayout
    y: float
    start: int
    length: int
    height: float


@dataclass
class Prose:
    """A laid-out text. `cut` says that there is more than is shown."""

    text: str
    paras: list[_Para] = field(default_factory=list)
    height: float = 0.0
    lines: int = 0
    cut: bool = False
    broad: float = 0.0

    def draw(
        self, painter: QPainter, x: float, y: float, color: QColor,
        marks: list[tuple[int, int, QColor]] | None = None, clip: QRectF | None = None,
    ) -> None:  # fmt: skip
        """Paint at (x, y); `marks` are (start, end, ground) in units of the whole text."""
        painter.setPen(color)
        for para in self.paras:
            top = y + para.y
            if clip is not None and (top > clip.bottom() or top + para.height < clip.top()):
                continue
            ranges: list[QTextLayout.FormatRange] = []
            for start, end, ground in marks or ():
                left = max(start - para.start, 0)
                right = min(end - para.start, para.length)
                if right > left:
                    one = QTextLayout.FormatRange()
                    one.start, one.length = left, right - left  # type: ignore[assignment]
                    form = QTextCharFormat()
                    form.setBackground(ground)
                    form.setForeground(token("text"))
                    one.format = form  # type: ignore[assignment]
                    ranges.append(one)
            para.layout.draw(painter, QPointF(x, top), ranges)

    def unit_at(self, x: float, y: float) -> int:
        """The place in the text nearest to a point."""
        for para in self.paras:
            if y < para.y + para.height or para is self.paras[-1]:
                layout = para.layout
                for i in range(layout.lineCount()):
                    line = layout.lineAt(i)
                    last = i == layout.lineCount() - 1
                    if last or y < para.y + line.y() + line.height() + 2:
                        return para.start + line.xToCursor(x)
        return 0

    def y_of(self, unit: int) -> float:
        """Where the line that holds a place begins."""
        for para in self.paras:
            if unit <= para.start + para.length:
                line = para.layout.lineForTextPosition(max(0, unit - para.start))
                return para.y + (line.y() if line.isValid() else 0)
        return 0.0


def lay(
    text: str, used: QFont, width: float, step: float, *, spans: list[Span] | None = None,
    most_lines: int = SHOWN_LINES, most_chars: int = SHOWN_CHARS,
) -> Prose:  # fmt: skip
    """Lay `text` out in `width` px with `step` px from line to line."""
    shown = text[:most_chars]
    out = Prose(shown, cut=len(shown) < len(text))
    metrics = QFontMetricsF(used)
    base = (step - metrics.height()) / 2 + metrics.ascent()
    option = QTextOption()
    option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
    option.setTextDirection(Qt.LayoutDirection.LayoutDirectionAuto)
    y, at = 0.0, 0
    for piece, ends in _pieces(shown):
        size = units(piece)
        layout = QTextLayout(piece, used)
        layout.setTextOption(option)
        layout.setCacheEnabled(True)
        layout.setFormats(_formats(spans, at, size, used))
        height, laid = 0.0, 0
        layout.beginLayout()
        while out.lines < most_lines:  # a line that was created is painted: none is too many
            line = layout.createLine()
            if not line.isValid():
                break
            line.setLineWidth(width)  # only now it has a length
            laid = line.textStart() + line.textLength()
            line.setPosition(QPointF(0, height + base - line.ascent()))
            out.broad = max(out.broad, line.naturalTextWidth())
            height += step
            out.lines += 1
        layout.endLayout()
        out.cut = out.cut or laid < size
        if height:
            out.paras.append(_Para(layout, y, at, size, height))
        y += height
        at += size + ends
        if out.lines >= most_lines:
            out.cut = out.cut or at < units(shown)
            break
    out.height = y
    return out


def _pieces(text: str) -> list[tuple[str, int]]:
    """(piece, units of the line end that follows)."""
    out: list[tuple[str, int]] = []
    for line in text.split("\n"):
        while len(line) > PIECE:
            out.append((line[:PIECE], 0))
            line = line[PIECE:]
        out.append((line, 1))
    return out


def _formats(
    spans: list[Span] | None, at: int, size: int, used: QFont
) -> list[QTextLayout.FormatRange]:
    out: list[QTextLayout.FormatRange] = []
    for span in spans or ():
        left, right = max(span.start - at, 0), min(span.start + span.length - at, size)
        if right <= left:
            continue
        one = QTextLayout.FormatRange()
        one.start, one.length = left, right - left  # type: ignore[assignment]
        form = QTextCharFormat()
        if span.style == "code":
            fixed = code_font("read")
            form.setFontFamilies(fixed.families())
            form.setProperty(QTextCharFormat.Property.FontPixelSize, fixed.pixelSize())
        else:
            form.setFontWeight(QFont.Weight.DemiBold)
        one.format = form  # type: ignore[assignment]
        out.append(one)
    return out
