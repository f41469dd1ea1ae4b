"""The same run with another model, and its proposal beside the first.

A small mixin of `MemoryPane`. The models are those the person has set up; choosing one queues a
run, and when it is done the two proposals can be compared.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from PySide6.QtWidgets import QWidget

from app.engine.errors import UserError
from app.engine.records import ProposalInfo
from app.gui.look.text import plural, preview, tr
from app.gui.panes.memory.causes import WITHOUT, maker
from app.gui.panes.memory.list_rows import is_open
from app.gui.widgets.dialogs import Overlay
from app.gui.widgets.labels import T
from app.gui.widgets.notices import Act
from app.gui.widgets.rows import Row, RowList

SHOWN = 6  # rows of the choice before it scrolls


class ModelChoice(Overlay):
    """One model of several, by arrow keys and Enter; `answer` is "" for Esc."""

    def __init__(self, window: QWidget, rows: Sequence[Row]) -> None:
        super().__init__(window)
        self.answer = ""
        self.setAccessibleName(tr("Run again with another model"))
        self.box.addWidget(T(tr("Run again with another model"), "head"))
        said = tr("The same file and the same daily logs. The proposal you are reading stays.")
        self.box.addWidget(T(said, "body", "text_soft", wrap=True))
        self.list = RowList(tr("Models"), open_on_click=True, ground="raised", margin=4)
        self.list.set_rows(rows)
        self.list.setFixedHeight(36 * min(len(rows), SHOWN) + 4)
        self.list.opened.connect(self._on_opened)
        self.list.select(rows[0].id, quiet=True)
        self.box.addWidget(self.list)

    def _on_opened(self, row: Row) -> None:
        self.answer = row.id
        self.close_sheet()


async def choose_model(window: QWidget, rows: Sequence[Row]) -> str:
    """The name of a model; "" for Esc."""
    sheet = ModelChoice(window, rows)
    done: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    sheet.closed.connect(lambda: done.done() or done.set_result(sheet.answer))
    sheet.open(sheet.list)
    try:
        return await done
    except asyncio.CancelledError:
        sheet.close_sheet()
        raise


class Again:
    """Mixed into `MemoryPane`."""

    async def run_again(self: Any) -> None:
        """M: compare with the second run of this proposal, or start one."""
        if self.mode == "compare" and self.compare.rival:
            first = self.compare.rival
        else:
            first = self.review.proposal.info if self.review.proposal is not None else None
            if first is not None and (other := self.rival_of(first.id)) is not None:
                self.give_up()
                self.tasks.start("compare", self.compare_rivals(first, other))
                return
        if first is None:
            return
        model = await choose_model(self.window(), await self._models(first.model))
        if not model:
            return
        await self.desk.engine.do.consolidate_again(first.id, model, initiator=self)
        await self.look_at_jobs()
        said = tr("Running again, by {who}; this review stays as it is", who=maker(model))
        self.undo_bar.show_act(said, tone="info")

    async def _models(self: Any, made_by: str) -> list[Row]:
        names: list[str] = []
        if self.desk.person is not None:
            try:
                values = await self.desk.person.load()
            except UserError as error:
                self.fail(error)
            else:
                roles = (getattr(values.roles, role, "") for role in ("memory", "chat"))
                names = [name for name in dict.fromkeys([*roles, *values.servers]) if name]
        rows = [Row(name, preview(name, 60), icon="cpu") for name in names]
        return [
            *rows,
            Row(WITHOUT, tr("without a model, from the lines as they are"), icon="list-filter"),
        ]

    def rival_of(self: Any, proposal_id: str) -> ProposalInfo | None:
        """The newest waiting proposal of the same run by another model."""
        first = next((one for one in self.infos if one.id == proposal_id), None)
        of = (first.again_of if first is not None else "") or proposal_id
        same = (o for o in self.infos if o.id != proposal_id and of in (o.id, o.again_of))
        return next((one for one in same if is_open(one)), None)

    async def compare_rivals(self: Any, first: ProposalInfo, other: ProposalInfo) -> None:
        """What the other would write where the first writes something else."""
        changes = await self.desk.engine.ask.compare_proposals(first.id, other.id)
        marks = await self.marks_of(changes)
        self.compare.show_rivals(first, other, changes, marks)
        self.show_mode("compare")

    def tell_rival(self: Any) -> None:
        """In a review whose run was made again: that the other waits beside it."""
        proposal = self.review.proposal
        other = self.rival_of(proposal.info.id) if proposal is not None else None
        if other is None or proposal is None or self.mode != "review":
            self.notices.drop("rival")
            return
        cause = tr("There is another proposal of the same, by {who}", who=maker(other.model))
        words = plural(other.changes, "{n} change; applying one withdraws the other",
                       "{n} changes; applying one withdraws the other")  # fmt: skip
        act = Act(tr("Compare"), lambda: self.tasks.start("action", self.run_again()), key="M")
        self.notice(cause, words, tone="info", acts=(act,), key="rival")
