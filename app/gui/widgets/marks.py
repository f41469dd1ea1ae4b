"""The marks of things that happen: the same shape and colour everywhere (look.md 2.4)."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import QWidget

from app.gui.look.text import tr
from app.gui.look.theme import token
from app.gui.widgets.paint import polygon, smooth

# kind: (shape, token, word)
MARKS: dict[str, tuple[str, str, str]] = {
    "message": ("disc", "kind_message", "message"),
    "tool": ("square", "kind_tool", "tool call"),
    "flush": ("down", "kind_flush", "flush"),
    "compaction": ("diamond", "kind_compaction", "compaction"),
    "eviction": ("up", "kind_eviction", "put aside"),
    "consolidation": ("ring_point", "kind_memory", "consolidation"),
    "saved": ("bookmark", "accent", "saved on request"),
    "hand": ("open_square", "text", "edited by hand"),
    "restored": ("open_diamond", "kind_eviction", "restored"),
    "external": ("cross", "warn", "changed outside"),
    "proposal": ("dotted_ring", "accent", "proposal waiting"),
    "failure": ("cross", "lost", "failed"),
}
# Other names of the same things: item kinds, causes of versions.
ALIASES = {
    "user": "message", "assistant": "message", "system": "message", "undo": "restored",
    "start": "hand", "memory": "consolidation", "consolidate": "consolidation",
    "compact": "compaction", "overflow": "failure", "interrupted": "failure", "gap": "external",
}  # fmt: skip
RADIUS = 4.2
IN_LISTS = 3.5


def mark_of(kind: str) -> tuple[str, str, str]:
    """(shape, token, word) of a kind; unknown kinds are messages."""
    return MARKS.get(ALIASES.get(kind, kind), MARKS["message"])


def mark_word(kind: str) -> str:
    """The word that stands with the mark."""
    return tr(mark_of(kind)[2])


def paint_mark(
    painter: QPainter, kind: str, center: QPointF, size: float = RADIUS, *, color: str = ""
) -> None:
    """Draw the mark of `kind` within a circle of radius `size` around `center`."""
    shape, own, _ = mark_of(kind)
    shade = token(color or own)
    r, x, y = size, center.x(), center.y()
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    pen = QPen(shade, 1.5)
    pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
    pen.setCapStyle(Qt.PenCapStyle.RoundCap)
    painter.setPen(pen)
    painter.setBrush(Qt.BrushStyle.NoBrush if shape in _OPEN else shade)
    inner = r - 0.75
    box = QRectF(x - inner, y - inner, 2 * inner, 2 * inner)
    if shape == "disc":
        painter.drawEllipse(center, inner * 0.85, inner * 0.85)
    elif shape in ("square", "open_square"):
        s = inner * 0.86
        painter.drawRect(QRectF(x - s, y - s, 2 * s, 2 * s))
    elif shape == "down":
        painter.drawPath(polygon((x - inner, y - r * 0.62), (x + inner, y - r * 0.62), (x, y + r)))
    elif shape == "up":
        painter.drawPath(polygon((x - inner, y + r * 0.62), (x + inner, y + r * 0.62), (x, y - r)))
    elif shape in ("diamond", "open_diamond"):
        painter.drawPath(polygon((x, y - r), (x + r, y), (x, y + r), (x - r, y)))
    elif shape == "ring_point":
        painter.drawEllipse(box)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(shade)
        painter.drawEllipse(center, r * 0.36, r * 0.36)
    elif shape == "bookmark":
        w = r * 0.72
        painter.drawPath(
            polygon(
                (x - w, y - r), (x + w, y - r), (x + w, y + r), (x, y + r * 0.42), (x - w, y + r)
            )
        )
    elif shape == "cross":
        painter.drawLine(QPointF(x - inner, y - inner), QPointF(x + inner, y + inner))
        painter.drawLine(QPointF(x - inner, y + inner), QPointF(x + inner, y - inner))
    elif shape == "dotted_ring":
        pen.setStyle(Qt.PenStyle.CustomDashLine)
        pen.setDashPattern([1.4, 1.7])
        pen.setCapStyle(Qt.PenCapStyle.FlatCap)
        painter.setPen(pen)
        painter.drawEllipse(box)
    painter.restore()


_OPEN = {"open_square", "open_diamond", "ring_point", "cross", "dotted_ring"}


class KindMark(QWidget):
    """One mark as a widget, its word as tooltip and accessible name."""

    def __init__(self, kind: str, size: float = RADIUS, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._size = size
        self.setFixedSize(QSize(round(size * 2 + 6), round(size * 2 + 6)))
        self.set_kind(kind)

    def set_kind(self, kind: str) -> None:
        self._kind = kind
        self.setToolTip(mark_word(kind))
        self.setAccessibleName(mark_word(kind))
        self.update()

    def paintEvent(self, event: object) -> None:
        painter = smooth(self)
        paint_mark(painter, self._kind, QRectF(self.rect()).center(), self._size)
        painter.end()
