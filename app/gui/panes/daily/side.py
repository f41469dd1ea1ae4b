"""The side of the daily logs: calendar, files by what they are, and how the month stands."""

from __future__ import annotations

from datetime import date

from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from app.gui.look.text import number, tr
from app.gui.panes.daily.calendar import Calendar
from app.gui.panes.daily.days import STATE_LOOK, STATES
from app.gui.widgets.buttons import IconButton
from app.gui.widgets.labels import IconLabel, T
from app.gui.widgets.pane import PaneHead
from app.gui.widgets.rows import RowList
from app.gui.widgets.surfaces import Hairline

SIDE_WIDTH = 296


class MonthTally(QWidget):
    """How many lines of the shown month are merged, waiting, left out and rejected."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words: dict[str, T] = {}
        grid = QGridLayout(self)
        grid.setContentsMargins(20, 8, 16, 14)
        grid.setHorizontalSpacing(6)
        grid.setVerticalSpacing(3)
        self.title = T(tr("This month"), "small", weight=600)
        grid.addWidget(self.title, 0, 0, 1, 4)
        for n, state in enumerate(STATES):
            icon, color, _ = STATE_LOOK[state]
            word = T("", "small", "text_soft", tabular=True)
            self._words[state] = word
            row, column = 1 + n // 2, n % 2 * 2
            grid.addWidget(IconLabel(icon, 14, color), row, column)
            grid.addWidget(word, row, column + 1)
        grid.setColumnStretch(1, 1)
        grid.setColumnStretch(3, 1)
        self.hide()

    def set_counts(self, counts: dict[str, int], title: str) -> None:
        self.title.setText(title)
        for state, word in self._words.items():
            word.setText(tr("{n} {state}", n=number(counts.get(state, 0)),
                            state=tr(STATE_LOOK[state][2])))  # fmt: skip
        self.setVisible(any(counts.values()))


class DailySide(QWidget):
    """Calendar above, files below."""

    def __init__(self, today: date, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.head = PaneHead(tr("Daily logs"), margin=20)
        self.calendar = Calendar(today)
        self.month = T("", "body", weight=600)
        self.before = IconButton("chevron-left", tr("Previous month"), key="PgUp")
        self.after = IconButton("chevron-right", tr("Next month"), key="PgDown")
        self.files = RowList(tr("Other files"), height=28, open_on_click=True)
        self.files_line = Hairline()
        self.tally = MonthTally()
        turn = QHBoxLayout()
        turn.setContentsMargins(20, 0, 12, 0)
        turn.setSpacing(0)
        turn.addWidget(self.month, 1)
        turn.addWidget(self.before)
        turn.addWidget(self.after)
        self._days = QHBoxLayout()
        self._days.setContentsMargins(12, 0, 12, 0)
        self._days.addWidget(self.calendar)
        line = QHBoxLayout()
        line.setContentsMargins(20, 10, 20, 8)
        line.addWidget(self.files_line)
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(0)
        box.addWidget(self.head)
        box.addLayout(turn)
        box.addLayout(self._days)
        box.addLayout(line)
        box.addWidget(self.files, 1)
        box.addWidget(self.tally)
        self.before.clicked.connect(lambda: self.calendar.turn(-1))
        self.after.clicked.connect(lambda: self.calendar.turn(1))
        self.calendar.turned.connect(self._on_turned)
        self.setMinimumWidth(260)
        self.setMaximumWidth(400)
        self._on_turned()

    def _on_turned(self) -> None:
        self.month.setText(self.calendar.title())

    def hold_calendar(self) -> None:
        """Take the calendar back, as a month."""
        self._days.addWidget(self.calendar)
        self.calendar.set_week(False)
