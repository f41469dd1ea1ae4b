"""A line of MEMORY.md as it is shown, and paragraphs with marks: laid out once, painted often.

A `Para` is one paragraph: a text, runs with a look of their own, and a fixed line step, so that
Chinese or emoji fallback fonts do not make lines jump (look.md 3). Offsets are code points of the
shown text. A text of some hundred kilobytes is cut before it comes here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

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

from app.gui.look.text import neutral, number, tr
from app.gui.look.theme import token
from app.gui.look.type import Role, code_font, font, line_step
from app.gui.widgets.paint import rounded

LIMIT = 2_000  # characters of one line that are laid out
_HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*\s*$")
_BULLET = re.compile(r"^(\s*)(?:[-*+]|(\d+[.)]))\s+(.*)$", re.DOTALL)
_CODE = re.compile(r"`([^`\n]+)`")


@dataclass(frozen=True)
class Run:
    """A stretch of a shown text: `look` is lost, added, code, hit or soft."""

    start: int
    end: int
    look: str


@dataclass(frozen=True)
class Shown:
    """What is shown of one line. `level` 1 to 6 for a heading; `bullet` "•", "1." or ""."""

    text: str
    bullet: str = ""
    level: int = 0
    indent: int = 0
    runs: tuple[Run, ...] = ()

    @property
    def blank(self) -> bool:
        return not self.text and not self.bullet


@lru_cache(maxsize=20_000)
def shown(line: str) -> Shown:
    """A raw line of the file as it is read: marks of Markdown become type, nothing is left out."""
    line = cut(neutral(line.rstrip("\r").expandtabs(4)))
    if heading := _HEADING.match(line):
        return Shown(heading.group(2), level=len(heading.group(1)))
    if bullet := _BULLET.match(line):
        text, runs = _with_code(bullet.group(3))
        return Shown(text, bullet.group(2) or "•", 0, len(bullet.group(1)) // 2, runs)
    text, runs = _with_code(line)
    return Shown(text.strip() and text, runs=runs)


def is_heading(line: str) -> bool:
    return _HEADING.match(line) is not None


def plain(line: str) -> str:
    """A line without its bullet or heading marks, for sentences and comparisons."""
    line = neutral(line.rstrip("\r").expandtabs(4))
    if heading := _HEADING.match(line):
        return heading.group(2)
    found = _BULLET.match(line)
    return found.group(3) if found and not found.group(1) else line


def cut(text: str) -> str:
    """At most `LIMIT` characters, and how many more there are."""
    if len(text) <= LIMIT:
        return text
    more = tr("{n} more characters", n=number(len(text) - LIMIT))
    return f"{text[:LIMIT]}… ({more})"


def _with_code(text: str) -> tuple[str, tuple[Run, ...]]:
    """`text` without the backticks of inline code, and where the code stands."""
    out: list[str] = []
    runs: list[Run] = []
    at = length = 0
    for found in _CODE.finditer(text):
        before = text[at : found.start()]
        length += len(before)
        code = found.group(1)
        runs.append(Run(length, length + len(code), "code"))
        out += [before, code]
        length += len(code)
        at = found.end()
    out.append(text[at:])
    return "".join(out), tuple(runs)


def quiet(runs: Sequence[Run]) -> tuple[Run, ...]:
    """The same stretches without their colours: what was rejected keeps its signs, in grey."""
    return tuple(Run(run.start, run.end, f"{run.look}_off") for run in runs)


class Para:
    """One paragraph laid out for a width. `height` in px."""

    def __init__(
        self,
        text: str,
        width: float,
        *,
        role: Role = "read",
        weight: int | None = None,
        color: str = "text",
        runs: Sequence[Run] = (),
        step: int = 0,
    ) -> None:
        self._font = font(role, weight)
        self._color = color
        self._runs = runs
        self.step = step or line_step(role, self._font)
        # One QTextLine per "\u2028": a change of several lines is one paragraph.
        self._text = text.replace("\n", "\u2028")
        self._wide = self._text if any(ord(ch) > 0xFFFF for ch in self._text) else ""
        layout = QTextLayout(self._text, self._font)
        option = QTextOption()
        option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        layout.setTextOption(option)
        layout.setFormats([_range(self._at(r.start), self._at(r.end), r.look, role) for r in runs])
        layout.beginLayout()
        y = 0.0
        while (line := layout.createLine()).isValid():
            line.setLineWidth(max(width, 40.0))
            line.setPosition(QPointF(0, y + (self.step - line.height()) / 2))
            y += self.step
        layout.endLayout()
        self._layout = layout
        self.height = max(y, float(self.step))
        self.width = max(
            (layout.lineAt(i).naturalTextWidth() for i in range(layout.lineCount())), default=0.0
        )

    def _at(self, point: int) -> int:
        """A code point offset as Qt counts (UTF-16)."""
        return len(self._wide[:point].encode("utf-16-le")) // 2 if self._wide else point

    def baseline(self) -> float:
        """Where the first line's baseline lies below the top."""
        line = self._layout.lineAt(0)
        return line.y() + line.ascent()

    def paint(self, painter: QPainter, x: float, y: float, *, color: str = "") -> None:
        """Round grounds first, then the text over them."""
        for run in self._runs:
            self._ground(painter, x, y, run)
        painter.setPen(token(color or self._color))
        self._layout.draw(painter, QPointF(x, y))
        for run in self._runs:
            self._strokes(painter, x, y, run)

    def _boxes(self, run: Run) -> list[QRectF]:
        """The stretch of a run on each line it touches."""
        start, end = self._at(run.start), self._at(run.end)
        boxes: list[QRectF] = []
        for i in range(self._layout.lineCount()):
            line = self._layout.lineAt(i)
            first = max(start, line.textStart())
            last = min(end, line.textStart() + line.textLength())
            if first >= last:
                continue
            left, right = _cursor(line, first), _cursor(line, last)
            top = line.y() + (line.height() - QFontMetricsF(self._font).height()) / 2
            high = QFontMetricsF(self._font).height()
            boxes.append(QRectF(min(left, right), top, abs(right - left), high))
        return boxes

    def _ground(self, painter: QPainter, x: float, y: float, run: Run) -> None:
        ground = _GROUNDS.get(run.look)
        if ground is None:
            return
        out = 3 if run.look == "code" else 1
        for box in self._boxes(run):
            rounded(painter, box.translated(x, y).adjusted(-out, 0, out, 0), 3, token(ground))

    def _strokes(self, painter: QPainter, x: float, y: float, run: Run) -> None:
        """The line through what goes, the line under what comes, a dot where only spaces differ."""
        look, _, off = run.look.partition("_")
        if look not in ("lost", "added"):
            return
        ink = token("text_soft" if off else "text" if look == "lost" else "added")
        piece = self._text[run.start : run.end]
        for box in self._boxes(run):
            box = box.translated(x, y)
            if not piece.strip():
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(token(look))
                painter.drawEllipse(box.center(), 1.5, 1.5)
            elif look == "lost":
                middle = box.center().y() + 1
                painter.fillRect(QRectF(box.left(), middle, box.width(), 1.2), ink)
            if look == "added":
                under = QRectF(box.left() - 1, box.bottom() - 1.4, box.width() + 2, 1.4)
                painter.fillRect(under, ink)


_GROUNDS = {"lost": "lost_mark", "added": "added_mark", "code": "sunken", "hit": "hit"}


def _range(start: int, end: int, look: str, role: Role) -> QTextLayout.FormatRange:
    made = QTextLayout.FormatRange()
    made.start, made.length = start, end - start  # type: ignore[misc]
    form = QTextCharFormat()
    if look == "code":
        form.setFont(code_font(role))
    elif look == "hit":
        form.setFontWeight(QFont.Weight.DemiBold)
    elif look == "soft":
        form.setForeground(token("text_soft"))
    made.format = form  # type: ignore[misc]
    return made


def _cursor(line: QTextLine, at: int) -> float:
    found: Any = line.cursorToX(at)  # the stubs say one number, the wheel gives a pair
    return float(found[0] if isinstance(found, tuple) else found)
