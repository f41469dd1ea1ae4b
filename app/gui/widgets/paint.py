"""Painting shared by the kit: rounded grounds, focus rings, hairlines, shadows, key caps.

Everything takes its colours from tokens at the time of painting.
"""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtCore import QMargins, QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPainterPath, QPen, QPixmap
from PySide6.QtWidgets import QWidget

from app.gui.look.theme import soft_outline, token
from app.gui.look.type import font

Hint = QPainter.RenderHint


def smooth(widget: QWidget) -> QPainter:
    """A painter for `widget` with antialiasing on."""
    painter = QPainter(widget)
    painter.setRenderHint(Hint.Antialiasing)
    return painter


def rounded(
    painter: QPainter,
    rect: QRectF,
    radius: float,
    fill: QColor | None = None,
    border: QColor | None = None,
    width: float = 1.0,
) -> None:
    """A rounded ground with its border inside `rect`."""
    half = width / 2 if border is not None else 0.0
    painter.setPen(QPen(border, width) if border is not None else Qt.PenStyle.NoPen)
    painter.setBrush(fill if fill is not None else Qt.BrushStyle.NoBrush)
    painter.drawRoundedRect(rect.adjusted(half, half, -half, -half), radius, radius)


def focus_ring(painter: QPainter, rect: QRectF, radius: float) -> None:
    """2 px of accent inside the border."""
    rounded(painter, rect, radius, None, token("accent"), 2.0)


def soft_ground(painter: QPainter, rect: QRectF) -> None:
    """`accent_softer` without round corners; in high contrast with an outline, to be seen."""
    outline = token("accent") if soft_outline() else None
    rounded(painter, rect, 0, token("accent_softer"), outline, 2.0)


def hairline_below(widget: QWidget) -> None:
    """A hairline at the lower edge of `widget`, from within its paintEvent."""
    painter = QPainter(widget)
    painter.fillRect(0, widget.height() - 1, widget.width(), 1, token("line"))
    painter.end()


def draw_text(
    painter: QPainter,
    rect: QRectF,
    text: str,
    color: QColor,
    align: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignLeft,
) -> None:
    """One line, in the middle of the height, with the painter's font."""
    painter.setPen(color)
    flags = int(align | Qt.AlignmentFlag.AlignVCenter) | int(Qt.TextFlag.TextSingleLine)
    painter.drawText(rect, flags, text)


def cap_width(cap: str) -> float:
    return max(18.0, QFontMetricsF(font("tiny", 500)).horizontalAdvance(cap) + 10.0)


def caps_width(caps: list[str]) -> float:
    return sum(cap_width(c) for c in caps) + 3.0 * max(len(caps) - 1, 0)


def caps_height() -> float:
    """Px of a key cap, which follows the size of text."""
    return max(18.0, QFontMetricsF(font("tiny")).height() + 4)


def draw_caps(painter: QPainter, right: float, middle: float, caps: list[str]) -> float:
    """Key caps that end at `right`; returns where they begin."""
    painter.setFont(font("tiny", 500))
    height = caps_height()
    x = right - caps_width(caps)
    left = x
    for cap in caps:
        box = QRectF(x, middle - height / 2, cap_width(cap), height)
        rounded(painter, box, 4, None, token("line_strong"))
        draw_text(painter, box, cap, token("text_soft"), Qt.AlignmentFlag.AlignHCenter)
        x += box.width() + 3
    return left


# ---------------------------------------------------------------------------- shadows

SHADOW = 22  # px that a shadow reaches


@lru_cache(maxsize=8)
def _shadow(dark: bool, radius: int, ratio: float) -> QPixmap:
    """A nine-part pixmap: middle 2 px wide, corners `SHADOW + radius`."""
    corner = SHADOW + radius
    side = corner * 2 + 2
    made = QPixmap(round(side * ratio), round(side * ratio))
    made.setDevicePixelRatio(ratio)
    made.fill(Qt.GlobalColor.transparent)
    painter = QPainter(made)
    painter.setRenderHint(Hint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    top = 0.30 if dark else 0.12
    for step in range(SHADOW):
        share = (step + 1) / SHADOW
        black = QColor(0, 0, 0)
        black.setAlphaF(top * share * share / SHADOW * 2.6)
        painter.setBrush(black)
        inset = float(step)
        box = QRectF(inset, inset + 3, side - 2 * inset, side - 2 * inset - 3)
        painter.drawRoundedRect(box, corner - step, corner - step)
    painter.end()
    return made


def draw_shadow(painter: QPainter, box: QRect, radius: int) -> None:
    """A soft shadow around `box`; only pop-ups have one."""
    ratio = painter.device().devicePixelRatioF()
    dark = token("canvas").lightnessF() < 0.5
    pixmap = _shadow(dark, radius, ratio)
    corner = SHADOW + radius
    out = box.marginsAdded(QMargins(SHADOW, SHADOW, SHADOW, SHADOW))
    xs = (out.left(), out.left() + corner, out.right() + 1 - corner, out.right() + 1)
    ys = (out.top(), out.top() + corner, out.bottom() + 1 - corner, out.bottom() + 1)
    cuts = (0, corner, corner + 2, corner * 2 + 2)
    for i in range(3):
        for j in range(3):
            target = QRectF(xs[i], ys[j], xs[i + 1] - xs[i], ys[j + 1] - ys[j])
            source = QRectF(
                cuts[i] * ratio, cuts[j] * ratio,
                (cuts[i + 1] - cuts[i]) * ratio, (cuts[j + 1] - cuts[j]) * ratio,
            )  # fmt: skip
            painter.drawPixmap(target, pixmap, source)


def polygon(*points: tuple[float, float]) -> QPainterPath:
    path = QPainterPath(QPointF(*points[0]))
    for point in points[1:]:
        path.lineTo(QPointF(*point))
    path.closeSubpath()
    return path
