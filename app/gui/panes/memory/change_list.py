"""The changes of a review as rows, one of them in focus as a card (look.md 8, "Review").

Everything is painted; only the card in focus has widgets: its buttons with their keys, the links to
its sources, and the field for the person's own words. They lie in the row as its index widget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QMouseEvent, QPainter
from PySide6.QtWidgets import QApplication

from app.gui.look.icons import paint_icon
from app.gui.look.theme import token
from app.gui.look.type import font, line_step, row_height
from app.gui.panes.memory.change_card import ChangeCard
from app.gui.panes.memory.change_rows import ChangeRow, ReviewRows
from app.gui.panes.memory.lazy import LazyModel
from app.gui.panes.memory.piece_paint import Placed, paint_circle, paint_placed, place
from app.gui.panes.memory.tall import RIGHT, TallList
from app.gui.widgets.paint import draw_text, rounded
from app.gui.widgets.rows import Row

MARGIN = 18  # from the list's edge to a card's border
CIRCLE, BODY = 20, 42  # from the card's border
TOP, HEAD, FOOT = 8, 28, 24
EDITOR = 96
KEPT = 1_000  # rows laid out at a time
BED = 36  # px of the row where a conflict's choice is made


@dataclass(frozen=True)
class _Laid:
    """A row laid out for a width. `bed`: where the widgets of a conflict's choice begin."""

    row: ChangeRow
    width: int
    placed: Sequence[Placed]
    high: int
    bed: float = 0.0


class ChangeList(TallList):
    """The rows of a difference. Signals name a change by its number."""

    model_type = LazyModel
    rows_model: LazyModel

    focused = Signal(int)
    toggled = Signal(int)  # the circle was clicked
    card_made = Signal(object)  # ChangeCard

    def __init__(self, name: str) -> None:
        self._laid: dict[str, _Laid] = {}
        self._card: ChangeCard | None = None
        self._card_row = ""
        self._rows: ReviewRows | None = None
        super().__init__(name, several=True)
        self.chosen.connect(self._on_chosen)

    # ------------------------------------------------------------------ rows

    def show_rows(self, source: ReviewRows, focus: int) -> None:
        """Show these rows, or what became of them, with change `focus` in front and its card."""
        model = self.rows_model
        if source is not self._rows:
            self._rows = source
            self.drop_card()
            self.forget_all()
            self._quiet = True
            model.show_source(source)
            self._quiet = False
        row_id = f"c{focus}"
        if model.place_of(row_id) < 0:
            self.drop_card()
            self.measure_all()
            return
        current = self.current_row()
        if current is None or current.id != row_id:
            self.select(row_id, quiet=True)
        self.measure_near()
        self._put_card(row_id)
        self.scrollTo(model.index(model.place_of(row_id)))

    def _put_card(self, row_id: str) -> None:
        row = self.rows_model.row(self.rows_model.place_of(row_id))
        if not isinstance(row, ChangeRow) or not row.decidable:
            self.drop_card()
            return
        bed = self._lay(row, self.viewport().width()).bed
        if (card := self.card()) is not None and self._card_row == row_id:
            card.show_row(row, bed)
            return
        self.drop_card()
        card = ChangeCard(row, bed)
        self._card, self._card_row = card, row_id
        self.card_made.emit(card)
        self.setIndexWidget(self.rows_model.index(self.rows_model.place_of(row_id)), card)

    def measure_all(self) -> None:
        """Measure anew; the card lies as its row does now."""
        super().measure_all()
        row = self.rows_model.row(self.rows_model.place_of(self._card_row))
        if (card := self.card()) is not None and isinstance(row, ChangeRow):
            card.show_row(row, self._lay(row, self.viewport().width()).bed)

    def drop_card(self) -> None:
        if self.card() is not None:
            at = self.rows_model.place_of(self._card_row)
            self.setIndexWidget(self.rows_model.index(at), None)  # type: ignore[arg-type]
        self._card, self._card_row = None, ""

    def card(self) -> ChangeCard | None:
        """The card of the change in focus. A view deletes the widget of a row that went."""
        at = self.rows_model.place_of(self._card_row) if self._card_row else -1
        if at < 0 or self.indexWidget(self.rows_model.index(at)) is not self._card:
            self._card, self._card_row = None, ""
        return self._card

    def numbers(self) -> list[int]:
        """The chosen changes, in the order they are shown."""
        places = sorted(index.row() for index in self.selectionModel().selectedRows())
        found = (self.rows_model.row(at) for at in places)
        return [row.n for row in found if isinstance(row, ChangeRow)]

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
        return self._lay(cast("ChangeRow", row), width).high

    def _lay(self, row: ChangeRow, width: int) -> _Laid:
        kept = self._laid.get(row.id)
        if kept is not None and (kept.row is row or kept.row == row) and kept.width == width:
            return kept
        head = max(HEAD, round(QFontMetricsF(font("body")).height()) + 10)
        left = MARGIN + BODY
        room = width - left - MARGIN - 14
        y = float(TOP + head)
        placed: list[Placed] = []
        off = row.verdict == "reject" and not row.data.conflict
        bed = 0.0
        if not row.editing or row.data.conflict:
            placed, y = place(row.pieces, left, room, y, off=off)
        if row.will:
            bed = y + 4
            y = bed + BED
            if not row.editing:
                more, y = place(row.will, left, room, y)
                placed += more
        if row.editing:
            y += EDITOR
        high = round(y + self._foot(row) + TOP / 2)
        if len(self._laid) > KEPT:
            self._laid.clear()
        made = self._laid[row.id] = _Laid(row, width, placed, high, bed)
        return made

    @staticmethod
    def _foot(row: ChangeRow) -> int:
        if row.editing or row.will:
            return 38
        return max(FOOT, line_step("small") + 6) if row.source else 4

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
        placed = self._lay(row, self.viewport().width()).placed
        painter.translate(0, box.top())
        middle = TOP + max(HEAD, QFontMetricsF(font("body")).height() + 10) / 2 - 1
        if row.decidable or row.verdict:
            center = QPointF(MARGIN + CIRCLE, middle)
            paint_circle(painter, center, row.verdict, front=row.focused, waits=row.data.conflict)
        self._draw_title(painter, row, middle, card.right() - 12)
        for one in placed:
            paint_placed(painter, one, off=row.verdict == "reject" and not row.data.conflict)
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
            card = self.card()
            right -= card.head_width() if card is not None else 220
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
