"""The transcript as rows: blocks in one column, compacted ones in its left half."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QPainter
from PySide6.QtWidgets import QWidget

from app.gui.look.theme import theme, token
from app.gui.panes.timeline.blocks import Block
from app.gui.panes.timeline.ink import Inker, Laid, State
from app.gui.widgets.prose import Prose
from app.gui.widgets.uneven import Hot, UnevenRows

WIDEST = 880  # px of the column
SIDE_FROM = 640  # px of column from which a summary stands beside its messages
HALF = 0.5  # share of the column that compacted messages keep
MODIFIERS = Qt.KeyboardModifier
Marks = dict[int, list[tuple[int, int, QColor]]]


class Sheet(UnevenRows):
    """Blocks of a transcript. `toggle` opens and folds their bodies.

    `end_wanted(-1 or 1)` when Home or End ask for more than there is here (`goes_on`).
    """

    end_wanted = Signal(int)

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        self.ink = Inker()
        self.opened: set[str] = set()  # rows that stand other than they would by themselves
        self.model_view = False
        self.goes_on: tuple[bool, bool] = (False, False)  # more lies before, behind the rows
        self.is_outside: Callable[[Block], bool] = lambda block: False
        self.marks_of: Callable[[Block, Laid], Marks] | None = None
        self.overlay: Callable[[QPainter], None] | None = None
        self.extra: Callable[[int], int] | None = None  # px a row gets for what stands beside it
        super().__init__(name, WIDEST, parent)

    def beside(self) -> bool:
        """Whether a summary has room beside its messages."""
        return self._has_side(self.column())

    def _has_side(self, wide: float) -> bool:
        return wide >= SIDE_FROM * theme().zoom

    def _width(self, block: Block) -> float:
        wide = self.wide  # asked for every row: no look at the window
        return wide * HALF if block.group and self._has_side(wide) else wide

    def laid(self, at: int) -> Laid:
        block = self.rows[at]
        return self.ink.lay(block, self._width(block), self.is_open(block))

    def is_open(self, block: Block) -> bool:
        """Whether a body is unfolded: summaries are by themselves where none stands beside."""
        summary = block.item is not None and block.item.kind == "compaction"
        by_itself = summary and (self.model_view or not self._has_side(self.wide))
        return by_itself != (block.id in self.opened)

    def toggle(self, block_id: str) -> None:
        """Open or close the body of a row, in place."""
        at = self.row_of(block_id)
        if at < 0:
            return
        self.opened ^= {block_id}
        end, group = at + 1, self.rows[at].group
        while group and end < len(self.rows) and self.rows[end].group == group:
            end += 1
        self.remeasure(range(at, end))

    def unfold(self, at: int, needle: str) -> None:
        """Open the body of a row in which `needle` (not case sensitive) is folded away."""
        if not 0 <= at < len(self.rows):
            return
        laid, wanted = self.laid(at), needle.casefold()
        if not laid.open and any(wanted in part.text.casefold() for part in laid.shown.body):
            self.toggle(self.rows[at].id)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        plain = event.modifiers() in (MODIFIERS.NoModifier, MODIFIERS.KeypadModifier)
        by = {Qt.Key.Key_Home: -1, Qt.Key.Key_End: 1}.get(Qt.Key(event.key()), 0)
        if plain and by and self.goes_on[by > 0]:
            self.end_wanted.emit(by)
            return
        super().keyPressEvent(event)

    # ------------------------------------------------------------------ rows

    def estimate(self, at: int) -> int:
        return self.ink.estimate(self.rows[at], self._width(self.rows[at]))

    def guess(self, blocks: Sequence[Block]) -> list[int]:
        """Estimated heights of blocks; touches no widget, so that a thread may ask."""
        return [self.ink.estimate(block, self._width(block)) for block in blocks]

    def height_for(self, at: int) -> int:
        high = self.laid(at).height
        return high + (self.extra(at) if self.extra is not None else 0)

    def hots(self, at: int) -> Sequence[Hot]:
        return self.laid(at).hots

    def spoken(self, at: int) -> str:
        block = self.rows[at]
        said = self.laid(at).shown.spoken
        return f"{said}. Summarised, no longer in the context." if block.group else said

    def text_of(self, at: int, part: int) -> str:
        found = [t for t in self.laid(at).texts if t.source == part] if at >= 0 else []
        return found[0].prose.text if found else ""

    def prose_at(self, at: int, point: QPointF) -> tuple[int, Prose, QPointF] | None:
        for text in self.laid(at).texts:
            inside = QRectF(0, text.y - 2, self.column(), text.prose.height + 4)
            if inside.contains(point):
                return text.source, text.prose, QPointF(point.x() - text.x, point.y() - text.y)
        return None

    def forget(self) -> None:
        self.ink.forget()

    def paint_row(self, painter: QPainter, at: int, y: int, clip: QRectF) -> None:
        block, laid = self.rows[at], self.laid(at)
        state = State(
            current=at == self.current_at(),
            chosen=at in self.chosen_range(),
            focus=self.hasFocus(),
            dim=bool(block.group) or self.is_outside(block),
            hover=self.hover[1] if self.hover[0] == at else "",
        )
        if self.marks_of is not None:
            state.marks = self.marks_of(block, laid)
        marked = self.marked
        if marked is not None and marked.row == block.id:
            stretch = (marked.start, marked.end, token("added_mark"))
            state.marks = {**state.marks, marked.part: [stretch]}
        self.ink.paint(painter, block, laid, self.left(), y, state, clip)

    def paint_over(self, painter: QPainter) -> None:
        if self.overlay is not None:
            self.overlay(painter)
