"""The summary beside the messages whose place it took, joined by a bracket (look.md 8, Timeline).

Drawn over the rows of one compacted run; it stays within what is seen of the run, so that a long
run always has its summary in view.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPainterPath, QPen

from app.engine.records import TranscriptItem
from app.gui.look.text import elided, tr
from app.gui.look.theme import token
from app.gui.look.type import font, line_step
from app.gui.panes.timeline.sheet import HALF, Sheet
from app.gui.panes.timeline.words import summary_head
from app.gui.widgets.marks import paint_mark
from app.gui.widgets.paint import draw_text, rounded
from app.gui.widgets.prose import Prose, inline, lay

CARD_FROM = 0.54  # share of the column where the card begins
LINES = 12
NEAR = 12  # rows of a run up to which the run grows to hold its card


@dataclass
class _Card:
    prose: Prose
    height: float


class Beside:
    """Cards of the summaries by compaction id."""

    def __init__(self, sheet: Sheet) -> None:
        self._sheet = sheet
        self.summaries: dict[str, TranscriptItem] = {}
        self._cards: dict[tuple[str, int, int], _Card] = {}
        sheet.overlay = self.paint
        sheet.extra = self.extra

    def set_summaries(self, summaries: dict[str, TranscriptItem]) -> None:
        self.summaries = summaries
        self._cards.clear()

    def _card(self, group: str) -> _Card | None:
        item = self.summaries.get(group)
        if item is None:
            return None
        wide = self._sheet.column() * (1 - CARD_FROM) - 28
        used = font("body")
        key = (group, round(wide), used.pixelSize())
        if key not in self._cards:
            text, spans = inline(re.sub(r"\n\s*\n", "\n", item.text[:3_000]))
            step = line_step("read", used) - 1
            prose = lay(text, used, wide, step, spans=spans, most_lines=LINES)
            prose.cut = prose.cut or len(item.text) > 3_000
            high = 14 + line_step("read") + 6 + prose.height + (18 if prose.cut else 0) + 12
            self._cards[key] = _Card(prose, high)
        return self._cards[key]

    def _run(self, at: int) -> tuple[int, int]:
        blocks = self._sheet.rows
        group = blocks[at].group
        first = last = at
        while first > 0 and blocks[first - 1].group == group:
            first -= 1
        while last + 1 < len(blocks) and blocks[last + 1].group == group:
            last += 1
        return first, last

    def extra(self, at: int) -> int:
        """What the last row of a short run gets so that the run holds its card."""
        sheet = self._sheet
        group = sheet.rows[at].group
        if not group or not sheet.beside():
            return 0
        if at + 1 < len(sheet.rows) and sheet.rows[at + 1].group == group:
            return 0
        first = at
        while first > 0 and sheet.rows[first - 1].group == group and at - first < NEAR:
            first -= 1
        card = self._card(group)
        if card is None or at - first >= NEAR:
            return 0
        have = sum(sheet.measure(n) for n in range(first, at)) + sheet.laid(at).height
        return max(0, round(card.height + 12 - have))

    def paint(self, painter: QPainter) -> None:
        sheet = self._sheet
        if not sheet.beside():
            return
        seen = sheet.visible()
        at = seen.start
        while at < seen.stop:
            group = sheet.rows[at].group
            if not group:
                at += 1
                continue
            first, last = self._run(at)
            top = sheet.y_of(first) + 8
            bottom = sheet.y_of(last) + sheet.height_of(last) - 8
            self._join(painter, group, float(top), float(bottom))
            at = last + 1

    def _join(self, painter: QPainter, group: str, top: float, bottom: float) -> None:
        card = self._card(group)
        if card is None:
            return
        view = self._sheet.viewport().height()
        left, wide = self._sheet.left(), self._sheet.column()
        x = left + wide * HALF + 14
        shown_top, shown_bottom = max(top, -20.0), min(bottom, view + 20.0)
        y = (max(shown_top, 4) + min(shown_bottom, view - 4) - card.height) / 2
        y = min(max(y, top), max(bottom - card.height, top))
        box = QRectF(left + wide * CARD_FROM + 4, y, wide * (1 - CARD_FROM) - 4, card.height)
        pen = QPen(token("kind_compaction"), 1.6)
        pen.setCapStyle(Qt.PenCapStyle.RoundCap)
        painter.setPen(pen)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        path = QPainterPath(QPointF(x - 7, shown_top))
        path.quadTo(QPointF(x, shown_top), QPointF(x, shown_top + 6))
        path.lineTo(QPointF(x, shown_bottom - 6))
        path.quadTo(QPointF(x, shown_bottom), QPointF(x - 7, shown_bottom))
        painter.drawPath(path)
        middle = box.center().y()
        painter.drawLine(QPointF(x, middle), QPointF(box.left(), middle))
        self._paint_card(painter, self.summaries[group], card, box)

    def _paint_card(
        self, painter: QPainter, item: TranscriptItem, card: _Card, box: QRectF
    ) -> None:
        rounded(painter, box, 8, token("raised"), token("line_strong"))
        head = QRectF(box.left() + 14, box.top() + 12, box.width() - 28, line_step("read"))
        paint_mark(painter, "compaction", QPointF(head.left() + 6, head.center().y()))
        small = font("small", tabular=True)
        right = summary_head(item)
        painter.setFont(small)
        room = head.width() - 24
        used = QFontMetricsF(small).horizontalAdvance(right)
        draw_text(painter, head, right, token("text_faint"), Qt.AlignmentFlag.AlignRight)
        title = elided(tr("Summary in their place"), QFontMetricsF(font("body", 600)),
                       room - used - 10)  # fmt: skip
        painter.setFont(font("body", 600))
        draw_text(painter, head.adjusted(24, 0, 0, 0), title, token("text"))
        y = head.bottom() + 6
        card.prose.draw(painter, head.left(), y, token("text"))
        if card.prose.cut:
            small = font("small")
            painter.setFont(small)
            below = QRectF(head.left(), y + card.prose.height, head.width(), 18)
            rest = tr("The whole of it stands under the compaction.")
            shown = elided(rest, QFontMetricsF(small), below.width())
            draw_text(painter, below, shown, token("text_faint"))
