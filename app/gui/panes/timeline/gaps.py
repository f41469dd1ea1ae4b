"""Small paintings of the axis: a folded idle gap, and the whole under a part that is zoomed."""

from __future__ import annotations

from PySide6.QtCore import QRectF
from PySide6.QtGui import QFontMetricsF, QPainter, QPen

from app.gui.look.text import seconds, tr
from app.gui.look.theme import token
from app.gui.look.type import font
from app.gui.widgets.paint import draw_text, rounded

DAY = 86_400


def paint_fold(painter: QPainter, box: QRectF, length: float) -> None:
    """Draw a fold of `length` seconds; the words stand upright where there is no room."""
    painter.fillRect(box, token("canvas"))
    pen = QPen(token("line_strong"), 1)
    pen.setDashPattern([2, 3])
    painter.setPen(pen)
    painter.drawLine(box.topLeft(), box.bottomLeft())
    painter.drawLine(box.topRight(), box.bottomRight())
    text = seconds(length) if length < DAY else tr("{n} d", n=round(length / DAY))
    used = font("tiny", tabular=True)
    wide = QFontMetricsF(used).horizontalAdvance(text)
    along = wide + 6 <= box.width()
    if not along and (wide > box.height() - 4 or box.width() < 12):
        return
    painter.save()
    painter.translate(box.center())
    if not along:
        painter.rotate(-90)
    painter.setFont(used)
    draw_text(painter, QRectF(-wide / 2, -9, wide + 4, 18), text, token("text_faint"))
    painter.restore()


def paint_whole(painter: QPainter, track: QRectF, view: tuple[float, float], length: float) -> None:
    """The whole axis as a track, the part that is seen as a thumb on it."""
    share = track.width() / length
    rounded(painter, track, 1.5, token("press"))
    wide = max((view[1] - view[0]) * share, 6.0)
    thumb = QRectF(track.left() + view[0] * share, track.top(), wide, track.height())
    rounded(painter, thumb, 1.5, token("text_faint"))
