"""Pieces of a change laid out for a width, and painted: shared by list, card and columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPen

from app.gui.look.icons import paint_icon
from app.gui.look.theme import token
from app.gui.look.type import font, line_step
from app.gui.panes.memory.lines import Para, quiet
from app.gui.panes.memory.pieces import Piece
from app.gui.widgets.paint import caps_width, draw_caps, draw_text, rounded

SIGN = 26  # px from a piece's edge to its text
BETWEEN = 10  # px between two columns
GAP = 2


@dataclass(frozen=True)
class Placed:
    """One piece at its place. `para` is None for a label."""

    piece: Piece
    para: Para | None
    x: float
    y: float
    width: float
    height: float


def label_height() -> int:
    return line_step("small", font("small")) + 6


def place(
    pieces: Sequence[Piece], left: float, room: float, y: float, *, off: bool = False
) -> tuple[list[Placed], float]:
    """The pieces below each other from `y` on, and where they end. `off`: without colours."""
    placed: list[Placed] = []
    half = (room - BETWEEN) / 2
    tallest = 0.0
    for piece in pieces:
        if piece.label:
            placed.append(Placed(piece, None, left, y, room, label_height()))
            y += label_height()
            continue
        wide = half if piece.column else room
        x = left + (half + BETWEEN if piece.column == 2 else 0)
        para = Para(
            piece.text, wide - SIGN - 8, color="text_soft" if off or piece.soft else "text",
            runs=quiet(piece.runs) if off else piece.runs,
        )  # fmt: skip
        tallest = max(tallest, para.height)
        placed.append(Placed(piece, para, x, y, wide, para.height))
        if piece.column != 1:
            y += (tallest if piece.column else para.height) + 1 + GAP
            tallest = 0.0
    return placed, y


def paint_placed(painter: QPainter, one: Placed, *, off: bool = False) -> None:
    """Ground, sign, text. `off`: rejected, so the signs stay and the colours go."""
    piece = one.piece
    if one.para is None:
        _paint_label(painter, one)
        return
    if piece.ground and not off:
        ground = QRectF(one.x, one.y, one.width, one.para.height + 1)
        rounded(painter, ground, 4, token(piece.ground))
    color = {"−": "lost", "+": "added"}.get(piece.sign, "text_soft")
    if off or not piece.ground:
        color = "text_soft"
    painter.setFont(font("read", 600))
    painter.setPen(token(color))
    base = one.y + one.para.baseline()
    wide = QFontMetricsF(font("read", 600)).horizontalAdvance(piece.sign)
    painter.drawText(QPointF(one.x + 13 - wide / 2, base), piece.sign)
    one.para.paint(painter, one.x + SIGN, one.y)


def paint_circle(
    painter: QPainter, center: QPointF, verdict: str, *, front: bool, waits: bool = False
) -> None:
    """A decision: open, `accent` in front, filled with a check, grey with a cross. What `waits`
    for a choice is dashed (look.md section 5)."""
    if verdict == "accept":
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(token("accent_fill"))
        painter.drawEllipse(center, 8, 8)
        paint_icon(painter, "check", center.x() - 6, center.y() - 6, 12, "on_fill")
        return
    pen = QPen(token("accent" if front and not verdict else "edge"), 1.5)
    if waits and not verdict:
        pen.setDashPattern([2.2, 1.8])
    painter.setPen(pen)
    painter.setBrush(token("press") if verdict else Qt.BrushStyle.NoBrush)
    painter.drawEllipse(center, 7.3, 7.3)
    if verdict:
        paint_icon(painter, "x", center.x() - 5, center.y() - 5, 10, "text_soft")


def _paint_label(painter: QPainter, one: Placed) -> None:
    piece = one.piece
    middle = one.y + one.height / 2
    x = one.x
    if piece.sign:
        wide = caps_width([piece.sign])
        draw_caps(painter, x + 13 + wide / 2, middle, [piece.sign])
        x += SIGN
    used = font("small", 600)
    painter.setFont(used)
    draw_text(painter, QRectF(x, one.y, one.width, one.height), piece.label, token("text"))
    x += QFontMetricsF(used).horizontalAdvance(piece.label) + 10
    painter.setFont(font("small"))
    room = QRectF(x, one.y, max(one.x + one.width - x, 0), one.height)
    words = QFontMetricsF(font("small")).elidedText(
        piece.text, Qt.TextElideMode.ElideRight, room.width()
    )
    draw_text(painter, room, words, token("text_soft"))
