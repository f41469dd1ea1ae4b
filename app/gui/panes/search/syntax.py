"""What can be typed besides plain words: one table, for whoever shows it."""

from __future__ import annotations

from PySide6.QtWidgets import QGridLayout, QWidget

from app.gui.look.text import tr
from app.gui.panes.search.filters import FIELD_WORDS
from app.gui.widgets.labels import T

_SIGNS = {
    '"…"': "these words side by side",
    "-word": "without that word",
    "begin*": "words that begin so",
    "this OR that": "one of the two",
}


def syntax() -> list[tuple[str, str]]:
    """(what is typed, what it means), the filters last."""
    filters = ((f"{name}:", words) for name, words in FIELD_WORDS.items())
    return [(sample, tr(means)) for sample, means in (*_SIGNS.items(), *filters)]


class SyntaxTable(QWidget):
    """All of it in two columns."""

    def __init__(self) -> None:
        super().__init__()
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(16)
        grid.setVerticalSpacing(4)
        rows = syntax()
        half = -(-len(rows) // 2)
        for n, (sample, means) in enumerate(rows):
            row, column = n % half, 2 * (n // half)
            grid.addWidget(T(sample, "code", "text_soft"), row, column)
            grid.addWidget(T(means, "small", "text_faint", elide="right"), row, column + 1)
        for column in (1, 3):
            grid.setColumnStretch(column, 1)
