"""The token meter: a bar of ordered parts with marks in it, their meaning under it in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPainterPath
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.gui.look.text import compact, thousands, tr
from app.gui.look.theme import theme, token
from app.gui.look.type import font
from app.gui.widgets.marks import paint_mark
from app.gui.widgets.paint import draw_text, rounded, smooth


@dataclass(frozen=True)
class Part:
    """One part of a request: `kind` as in `ContextPart`, tokens, and its word."""

    kind: str
    tokens: int
    word: str = ""


def part_color(kind: str) -> QColor:
    """Grey steps for rules, summary, history, tools; accent for memory; ink for the person."""
    dark = theme().scheme == "dark"
    if kind in ("memory", "knowledge"):
        return token("kind_memory")
    if kind == "user":
        return token("text")
    if kind == "history":
        return token("kind_message", 0.70 if dark else 0.68)
    if kind in ("tools", "rules"):
        return token("kind_message", 0.50 if dark else 0.45)
    return token("kind_message")


class TokenMeter(QWidget):
    """Parts of `window` tokens; `marks` are (kind, tokens) for flush, compaction and limit."""

    def __init__(self, *, legend: bool = True, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._parts: list[Part] = []
        self._window = 0
        self._marks: list[tuple[str, int]] = []
        self._legend = legend
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme().changed.connect(self.updateGeometry)

    def set_parts(
        self, parts: Sequence[Part], window: int, marks: Sequence[tuple[str, int]] = ()
    ) -> None:
        """Show these; marks of 0 tokens are off and fall out."""
        self._parts = [p for p in parts if p.tokens > 0]
        self._window = max(window, 0)
        self._marks = [(kind, at) for kind, at in marks if at > 0]
        self.setAccessibleName(self.sentence())
        self.setToolTip(self.sentence())
        self.updateGeometry()
        self.update()

    def sentence(self) -> str:
        """The meter in words."""
        total = sum(p.tokens for p in self._parts)
        parts = ", ".join(f"{p.word or p.kind} {compact(p.tokens)}" for p in self._parts)
        said = tr("{n} of {w} tokens", n=compact(total), w=compact(self._window))
        marks = ", ".join(f"{k} {thousands(at)}" for k, at in self._marks)
        return "; ".join(p for p in (said, parts, marks) if p)

    def sizeHint(self) -> QSize:
        return QSize(200, 18 + (26 if self._legend and self._marks else 0))

    def minimumSizeHint(self) -> QSize:
        return QSize(80, self.sizeHint().height())

    def paintEvent(self, event: object) -> None:
        painter = smooth(self)
        bar = QRectF(0, 4, self.width(), 10)
        self._paint_bar(painter, bar)
        full = max(self._window, sum(p.tokens for p in self._parts), 1)
        for kind, at in self._marks:
            x = min(bar.width() - 2, bar.width() * at / full)
            color = "text" if kind == "limit" else f"kind_{_kind(kind)}"
            painter.fillRect(QRectF(x, 0, 2, 18), token(color))
        if self._legend and self._marks:
            self._paint_legend(painter)
        painter.end()

    def _paint_bar(self, painter: QPainter, bar: QRectF) -> None:
        clip = QPainterPath()
        clip.addRoundedRect(bar, 4, 4)
        painter.save()
        painter.setClipPath(clip)
        painter.fillRect(bar, token("press" if theme().scheme == "dark" else "hover"))
        total = sum(p.tokens for p in self._parts)
        full = max(self._window, total, 1)
        x = 0.0
        for part in self._parts:
            width = bar.width() * part.tokens / full
            painter.fillRect(QRectF(x, bar.top(), max(width - 1.5, 1.0), 10), part_color(part.kind))
            x += width
        painter.restore()

    def _paint_legend(self, painter: QPainter) -> None:
        x = 0.0
        used = font("small", tabular=True)
        for kind, at in self._marks:
            word = f"{tr(kind)} {thousands(at)}"
            if kind == "limit":
                painter.fillRect(QRectF(x + 4, 26, 2, 12), token("text"))
            else:
                paint_mark(painter, _kind(kind), QPointF(x + 5, 32), 4.2)
            painter.setFont(used)
            width = QFontMetricsF(used).horizontalAdvance(word)
            draw_text(painter, QRectF(x + 14, 22, width + 2, 20), word, token("text_soft"))
            x += width + 30


def _kind(mark: str) -> str:
    return "compaction" if mark.startswith("compact") else mark


class Share(QWidget):
    """A thin bar: `share` 0 to 1, in accent; over 1 in the colour of a loss."""

    def __init__(self, name: str, width: int = 64, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._name = name
        self._share = 0.0
        self.setFixedHeight(14)
        if width:
            self.setFixedWidth(width)
        self.setAccessibleName(name)

    def set_share(self, share: float) -> None:
        self._share = max(share, 0.0)
        self.setToolTip(f"{self._name}: {round(self._share * 100)} %")
        self.update()

    def paintEvent(self, event: object) -> None:
        painter = smooth(self)
        box = QRectF(0, self.height() / 2 - 2, self.width(), 4)
        rounded(painter, box, 2, token("press"))
        if self._share > 0:
            wide = max(box.width() * min(self._share, 1.0), 4.0)
            color = "accent" if self._share <= 1.0 else "lost"
            rounded(painter, QRectF(0, box.top(), wide, 4), 2, token(color))
        painter.end()


class Swatch(QWidget):
    """The small square that names a part of the meter."""

    def __init__(self, kind: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._kind = kind
        self.setFixedSize(12, 14)

    def paintEvent(self, event: object) -> None:
        painter = smooth(self)
        painter.setPen(Qt.PenStyle.NoPen)
        rounded(painter, QRectF(1, 2, 9, 10), 2.5, part_color(self._kind))
        painter.end()
