"""The result beside a review: what Apply would write now, line by line, and how full it gets."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from app.engine.records import Change, Decision
from app.gui.look.text import thousands, tr
from app.gui.panes.memory.lazy import LazyModel
from app.gui.panes.memory.lines_view import LinesView
from app.gui.panes.memory.result import Result, tints
from app.gui.widgets.labels import T
from app.gui.widgets.meter import Share


class ResultLines(LinesView):
    """The lines of a result, made as they are looked at."""

    model_type = LazyModel
    rows_model: LazyModel

    def show_result(self, result: Result | None, *, follows: bool) -> None:
        """`follows`: it is what became of the one shown: choice, heights and place stay."""
        model, top = self.rows_model, self.rowAt(0)
        if result is None or not follows:
            self.forget_all()
            model.show_source(result.rows if result is not None else None)
            self.measure_all()
            return
        before, stood = model.rowCount(), self.rowViewportPosition(top)
        model.follow_source(result.rows, result.first)
        if top > result.first:  # what is read does not move
            bar = self.verticalScrollBar()
            self.updateGeometries()
            top = max(top + model.rowCount() - before, 0)
            bar.setValue(bar.value() + self.rowViewportPosition(top) - stood)
        self.measure_near()


class ResultPanel(QWidget):
    """Shows a preview; old lines stay until the next one comes."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.result: Result | None = None
        self.lines = ResultLines(tr("Result: what Apply writes now"), compact=True, left=0)
        self.lines.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.share = Share(tr("Budget"), 72)
        self.budget = T("", "small", "text_soft", tabular=True)
        what = T(tr("what Apply writes now"), "small", "text_soft", elide="right")
        what.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        head = QHBoxLayout()
        head.setContentsMargins(18, 8, 16, 10)
        head.setSpacing(10)
        head.addWidget(T(tr("Result"), "head"))
        head.addWidget(what, 1)
        head.addWidget(self.share)
        head.addWidget(self.budget)
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(0)
        box.addLayout(head)
        box.addWidget(self.lines, 1)

    def show_budget(self, tokens: int, budget: int) -> None:
        self.share.setVisible(budget > 0)
        self.budget.setVisible(budget > 0)
        if budget:
            self.share.set_share(tokens / budget)
            words = tr("{n} of {limit}", n=thousands(tokens), limit=thousands(budget))
            self.budget.setText(words)

    def show_result(self, result: Result) -> None:
        """The lines with their signs."""
        follows = self.result is not None
        self.result = result
        self.lines.show_result(result, follows=follows)

    def show_front(self, focus: Change | None, decision: Decision | None) -> None:
        """Tint the lines the change in front is about, and bring them into view."""
        found = tints(self.result, focus, decision) if self.result is not None else {}
        self.lines.set_tints(found)
        if found:
            model = self.lines.rows_model
            first = min(model.place_of(row_id) for row_id in found)
            self.lines.scrollTo(model.index(first))

    def clear(self) -> None:
        self.result = None
        self.lines.show_result(None, follows=False)
