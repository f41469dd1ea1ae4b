"""All proposals: those that wait first, then what became of the others."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.engine.records import ProposalInfo
from app.gui.look.text import moment, number, plural, preview, sentence, tr
from app.gui.widgets.rows import Row, RowList
from app.gui.widgets.surfaces import EmptyState

OPEN = ("proposed", "in_review")
STATES = {
    "proposed": "waiting",
    "in_review": "in review",
    "applying": "being applied",
    "applied": "applied",
    "partly_applied": "partly applied",
    "rejected": "rejected",
    "superseded": "replaced by a later one",
    "failed": "failed",
}


def is_open(info: ProposalInfo) -> bool:
    return info.state in OPEN


def queue_rows(infos: Sequence[ProposalInfo], now: datetime) -> list[Row]:
    """Rows of two lines, under the heads "Waiting" and "Decided"."""
    waiting = [one for one in infos if is_open(one)]
    past = [one for one in infos if not is_open(one)]
    rows: list[Row] = []
    for key, title, found in (
        ("waiting", tr("Waiting"), waiting), ("past", tr("Decided"), past)
    ):  # fmt: skip
        if found:
            rows.append(Row(f"head-{key}", title, number(len(found)), head=True))
            rows += [_row(one, now) for one in found]
    return rows


def _row(info: ProposalInfo, now: datetime) -> Row:
    losses = plural(info.dropped, "{n} loss", "{n} losses") if info.dropped else ""
    failed = info.failed_checks
    checks = plural(failed, "{n} check needs a look", "{n} checks need a look") if failed else ""
    state = tr(STATES.get(info.state, info.state))
    days = len({name.split("#")[0] for name in info.inputs})
    title = plural(info.changes, "{n} change", "{n} changes")
    if days:
        title += " " + plural(days, "from {n} daily log", "from {n} daily logs")
    detail = sentence([state, losses, checks, preview(info.model, 40) if info.model else ""])
    when = moment(info.when, now)
    mark = "proposal" if is_open(info) else "consolidation"
    tone = "failed" if info.state == "failed" else "" if is_open(info) else "soft"
    return Row(info.id, title, detail, when, mark=mark, tone=tone, data=info)


class QueuePage(QWidget):
    """`wanted(id)`: open that proposal."""

    wanted = Signal(str)
    acted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.list = RowList(tr("Proposals"), lines=2, open_on_click=True)
        self.list.opened.connect(lambda row: self.wanted.emit(row.id))
        self.empty = EmptyState(
            tr("No proposals yet"),
            tr("A proposal is made when the daily logs hold something that MEMORY.md lacks. "
               "It changes nothing before you have decided."),
            tr("Consolidate now"),
        )  # fmt: skip
        self.empty.acted.connect(self.acted)
        box = QVBoxLayout(self)
        box.setContentsMargins(8, 0, 8, 8)
        box.addWidget(self.list, 1)
        box.addWidget(self.empty, 1)

    def show_infos(self, infos: Sequence[ProposalInfo], now: datetime) -> None:
        self.list.set_rows(queue_rows(infos, now))
        self.list.setVisible(bool(infos))
        self.empty.setVisible(not infos)
