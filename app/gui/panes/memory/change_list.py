"""The changes of a review as rows, one of them in focus as a card (look.md 8, "Review").

Everything is painted; only the card in focus has widgets: its buttons with their keys, the links to
its sources, and the field for the person's own words. They lie in the row as its index widget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QMouseEvent, QPainter, QPen
from PySide6.QtWidgets import QApplication

from app.gui.look.icons import paint_icon
from app.gui.look.theme import token
from app.gui.look.type import font, line_step, row_height
from app.gui.panes.memory.change_card import ChangeCard
from app.gui.panes.memory.change_rows import ChangeRow, Piece
from app.gui.panes.memory.lines import Para, quiet
from app.gui.panes.memory.tall import RIGHT, TallList
from app.gui.widgets.paint import draw_text, rounded
from app.gui.widgets.rows import Row

MARGIN = 18  # from the list's edge to a card's border
CIRCLE, BODY, SIGN = 20, 42, 26  # from the card's border
TOP, HEAD, GAP, FOOT = 8, 28, 2, 24
EDITOR = 96


@dataclass(frozen=True)
class _Placed:
    piece: Piece
    para: Para
    x: float
    y: float
    width: float


class ChangeList(TallList):
    """Rows of `change_rows`. Signals name the change by its number."""

    focused = Signal(int)
    toggled = Signal(int)  # the circle was clicked
    card_made = Signal(object)  # ChangeCard

    def __init__(self, name: str) -> None:
        self._laid: dict[str, tuple[ChangeRow, int, list[_Placed], int]] = {}
        self._card: ChangeCard | None = None
        self._card_row = ""
        super().__init__(name, several=True)
        self.chosen.connect(self._on_chosen)

    # ------------------------------------------------------------------ rows

    def show_rows(self, rows: Sequence[Row], focus: int) -> None:
        """Show these rows with change `focus` in front, visible, its card on it."""
        self.set_rows(rows)
        row_id = f"c{focus}"
        if self.rows_model.place_of(row_id) < 0:
            self.drop_card()
            return
        current = self.current_row()
        if current is None or current.id != row_id:
            self.select(row_id, quiet=True)
        self._put_card(row_id)
        self.scrollTo(self.rows_model.index(self.rows_model.place_of(row_id)))

    def _put_card(self, row_id: str) -> None:
        row = self.rows_model.row(self.rows_model.place_of(row_id))
        if not isinstance(row, ChangeRow) or not row.decidable:
            self.drop_card()
            return
        if self._card is not None and self._card_row == row_id:
            self._card.show_row(row)
            return
        self.drop_card()
        card = ChangeCard(row)
        self._card, self._card_row = card, row_id
        self.card_made.emit(card)
        self.setIndexWidget(self.rows_model.index(self.rows_model.place_of(row_id)), card)

    def drop_card(self) -> None:
        if self._card is None:
            return
        at = self.rows_model.place_of(self._card_row)
        if at >= 0:
            self.setIndexWidget(self.rows_model.index(at), None)  # type: ignore[arg-type]
        self._card, self._card_row = None, ""

    def card(self) -> ChangeCard | None:
        """The card of the change in focus."""
        return self._card

    def numbers(self) -> list[int]:
        """The chosen changes, in the order they are shown."""
        found = [r for r in self.selected_rows() if isinstance(r, ChangeRow)]
        order = {row.id: i for i, row in enumerate(self.rows_model.rows())}
        return [row.n for row in sorted(found, key=lambda r: order[r.id])]

    def copy(self) -> str:
        """Put the chosen changes' lines on the clipboard as plain lines; what was put there."""
        chosen = [r for r in self.selected_rows() if isinstance(r, ChangeRow)]
        text = "\n".join(line for r in chosen for line in (r.data.after or r.data.before))
        if text:
            QApplication.clipboard().setText(text)
        return text

    def _on_chosen(self, row: Row) -> None:
        if isinstance(row, ChangeRow):
            self.focused.emit(row.n)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        at = event.position().toPoint()
        row = self.rows_model.row(self.rowAt(at.y()))
        if (
            isinstance(row, ChangeRow)
            and row.decidable
            and event.button() == Qt.MouseButton.LeftButton
            and MARGIN <= at.x() < MARGIN + BODY - 4
        ):
            self.toggled.emit(row.n)

    # ------------------------------------------------------------------ layout

    def forget(self) -> None:
        self._laid.clear()

    def measure(self, row: Row, width: int) -> int:
        if row.head:
            return row_height(28) + 6
        return self._lay(cast("ChangeRow", row), width)[1]

    def _lay(self, row: ChangeRow, width: int) -> tuple[list[_Placed], int]:
        kept = self._laid.get(row.id)
        if kept is not None and (kept[0] is row or kept[0] == row) and kept[1] == width:
            return kept[2], kept[3]
        head = max(HEAD, round(QFontMetricsF(font("body")).height()) + 10)
        left = MARGIN + BODY
        room = width - left - MARGIN - 14
        y = float(TOP + head)
        placed: list[_Placed] = []
        if row.editing:
            y += EDITOR
        else:
            placed, y = self._place(row, left, room, y)
        has_foot = row.source or (row.focused and row.decidable)
        foot = max(FOOT, line_step("small") + 6) if has_foot else 4
        if row.editing:
            foot = 38
        high = round(y + foot + TOP / 2)
        self._laid[row.id] = (row, width, placed, high)
        return placed, high

    def _place(self, row: ChangeRow, left: int, room: int, y: float) -> tuple[list[_Placed], float]:
        placed: list[_Placed] = []
        half = (room - 10) / 2
        label = 74 if any(p.label for p in row.pieces) else 0
        tallest = 0.0
        color = "text_soft" if row.verdict == "reject" else "text"
        for piece in row.pieces:
            wide = half if piece.column else room
            x = left + (half + 10 if piece.column == 2 else 0)
            para = Para(
                piece.text, wide - SIGN - label - 8, color=color,
                runs=quiet(piece.runs) if row.verdict == "reject" else piece.runs,
            )  # fmt: skip
            tallest = max(tallest, para.height)
            placed.append(_Placed(piece, para, x, y, wide))
            if piece.column != 1:
                y += (tallest if piece.column else para.height) + 1 + GAP
                tallest = 0.0
        return placed, y

    def sizeHintForColumn(self, column: int) -> int:
        return self.viewport().width()

    def minimumSizeHint(self) -> QSize:
        return QSize(300, 120)

    # ------------------------------------------------------------------ painting

    def draw(
        self, painter: QPainter, box: QRectF, row: Row, *, selected: bool, hover: bool
    ) -> None:
        if row.head:
            self._draw_head(painter, box, row)
            return
        row = cast("ChangeRow", row)
        card = box.adjusted(MARGIN, 1, -MARGIN + 6, -2)
        if row.focused and row.decidable:
            rounded(painter, card, 8, token("raised"), token("accent"), 1.5)
        elif selected:
            rounded(painter, card, 8, token("accent_softer"))
        elif hover:
            rounded(painter, card, 8, token("sunken"))
        placed, _ = self._lay(row, self.viewport().width())
        painter.translate(0, box.top())
        middle = TOP + max(HEAD, QFontMetricsF(font("body")).height() + 10) / 2 - 1
        if row.decidable or row.verdict:
            self._draw_circle(painter, QPointF(MARGIN + CIRCLE, middle), row)
        self._draw_title(painter, row, middle, card.right() - 12)
        for one in placed:
            self._draw_piece(painter, one, row)
        if row.source and not row.focused:
            self._draw_source(painter, row, box.height(), card.right() - 12)

    def _draw_head(self, painter: QPainter, box: QRectF, row: Row) -> None:
        line = QRectF(MARGIN + 8, box.bottom() - 24, box.width() - 2 * MARGIN, 22)
        painter.setFont(font("small", 600))
        draw_text(painter, line, row.title, token("text_soft"))
        x = QFontMetricsF(font("small", 600)).horizontalAdvance(row.title) + 9
        painter.setFont(font("small"))
        room = line.adjusted(x, 0, 0, 0)
        words = QFontMetricsF(font("small")).elidedText(
            row.detail, Qt.TextElideMode.ElideRight, room.width()
        )
        draw_text(painter, room, words, token("text_faint"))

    def _draw_circle(self, painter: QPainter, center: QPointF, row: ChangeRow) -> None:
        if row.verdict == "accept":
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(token("accent_fill"))
            painter.drawEllipse(center, 8, 8)
            paint_icon(painter, "check", center.x() - 6, center.y() - 6, 12, "on_fill")
            return
        edge = "accent" if row.focused else "edge"
        painter.setPen(QPen(token("edge" if row.verdict else edge), 1.5))
        painter.setBrush(token("press") if row.verdict else Qt.BrushStyle.NoBrush)
        painter.drawEllipse(center, 7.3, 7.3)
        if row.verdict:
            paint_icon(painter, "x", center.x() - 5, center.y() - 5, 10, "text_soft")

    def _draw_title(self, painter: QPainter, row: ChangeRow, middle: float, right: float) -> None:
        x = float(MARGIN + BODY)
        if not row.focused or not row.decidable:
            painter.setFont(font("small", 500))
            wide = QFontMetricsF(font("small", 500)).horizontalAdvance(row.effect)
            color = "text_soft" if row.verdict == "reject" else "accent"
            draw_text(painter, QRectF(right - wide - 2, middle - 11, wide + 2, 22), row.effect,
                      token(color), RIGHT)  # fmt: skip
            right -= wide + 12
        else:
            right -= self._card.head_width() if self._card is not None else 220
        used = font("small", 600)
        painter.setFont(used)
        ink = "text_soft" if row.verdict == "reject" else row.ink
        draw_text(painter, QRectF(x, middle - 11, max(right - x, 10), 22), row.word, token(ink))
        x += QFontMetricsF(used).horizontalAdvance(row.word) + 12
        painter.setFont(font("small"))
        room = QRectF(x, middle - 11, max(right - x, 0), 22)
        words = QFontMetricsF(font("small")).elidedText(
            row.section, Qt.TextElideMode.ElideRight, room.width()
        )
        draw_text(painter, room, words, token("text_soft"))

    def _draw_piece(self, painter: QPainter, one: _Placed, row: ChangeRow) -> None:
        piece = one.piece
        rejected = row.verdict == "reject"
        if piece.ground and not rejected:
            ground = QRectF(one.x, one.y, one.width, one.para.height + 1)
            rounded(painter, ground, 4, token(piece.ground))
        color = {"−": "lost", "+": "added"}.get(piece.sign, "text_soft")
        if rejected or not piece.ground:
            color = "text_soft"
        painter.setFont(font("read", 600))
        painter.setPen(token(color))
        base = one.y + one.para.baseline()
        wide = QFontMetricsF(font("read", 600)).horizontalAdvance(piece.sign)
        painter.drawText(QPointF(one.x + 13 - wide / 2, base), piece.sign)
        x = one.x + SIGN
        if piece.label:
            painter.setFont(font("small", 600))
            painter.setPen(token("text_soft"))
            painter.drawText(QPointF(x, base), piece.label)
            x += 74
        one.para.paint(painter, x, one.y)

    def _draw_source(self, painter: QPainter, row: ChangeRow, height: float, right: float) -> None:
        step = max(FOOT, line_step("small") + 6)
        middle = height - TOP / 2 - step / 2 - 1
        x = float(MARGIN + BODY)
        color = row.source_tone or "text_faint"
        name = "circle-question-mark" if row.source_tone else "corner-down-right"
        paint_icon(painter, name, x, middle - 6, 12, "warn" if row.source_tone else "text_faint")
        painter.setFont(font("small"))
        room = QRectF(x + 18, middle - 11, right - x - 18, 22)
        words = QFontMetricsF(font("small")).elidedText(
            row.source, Qt.TextElideMode.ElideRight, room.width()
        )
        draw_text(painter, room, words, token(color))
