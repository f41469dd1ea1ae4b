"""The result beside a review: what Apply would write now, line by line, and how full it gets."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from app.engine.records import Preview
from app.gui.look.text import thousands, tr
from app.gui.panes.memory.deciding import Deciding
from app.gui.panes.memory.lines_view import LineRow, LinesView, line_rows
from app.gui.panes.memory.result import result_rows
from app.gui.widgets.labels import T
from app.gui.widgets.meter import Share


class ResultPanel(QWidget):
    """Shows a preview; old lines stay until the next one comes."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._text: str | None = None
        self._plain: list[LineRow] = []
        self.lines = LinesView(tr("Result: what Apply writes now"), compact=True, left=0)
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

    def show_result(
        self, base: str, preview: Preview, deciding: Deciding, pinned: frozenset[str]
    ) -> None:
        """The lines with their signs; those of the change in front are brought into view."""
        if preview.text != self._text:
            self._text, self._plain = preview.text, line_rows(preview.text, self._plain)
        rows = result_rows(base, preview, deciding, pinned, self._plain)
        self.lines.set_rows(rows)
        tinted = next((row for row in rows if row.tint), None)
        if tinted is not None:
            model = self.lines.rows_model
            self.lines.scrollTo(model.index(model.place_of(tinted.id)))
