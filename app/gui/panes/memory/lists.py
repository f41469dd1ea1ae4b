"""What the memory place lists beside the file, and what can be done there.

Losses come back and refusals are forgotten by the engine's own commands; no file is written here.
A small mixin of `MemoryPane`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from app.engine.errors import UserError
from app.engine.records import Change, Loss, ProposalInfo, Refused, Remark
from app.gui.look.text import number, plural, preview, tr
from app.gui.panes.memory.lines import plain
from app.gui.panes.memory.list_rows import loss_rows, proposal_rows, refused_rows, remark_rows
from app.gui.widgets.rows import Row


class Lists:
    """Mixed into `MemoryPane`."""

    def show_list(self: Any, section: str) -> None:
        """L, Shift+L, Shift+Q, Q: one of the lists."""
        self.give_up()
        self.tasks.start("list", self._show_list(section))

    async def _show_list(self: Any, section: str) -> None:
        await self.load_list(section)
        self.show_mode("lists")

    async def load_list(self: Any, section: str, *, again: bool = False) -> None:
        """Ask for the rows of a list and show them; `again`: only if it is still the one shown."""
        rows = await self._rows_of(section)
        if not again or section == self.lists.section:
            self.lists.show_rows(section, rows)

    async def _rows_of(self: Any, section: str) -> Sequence[Row]:
        ask, now = self.desk.engine.ask, self.desk.now()
        if section == "losses":
            return loss_rows(await ask.losses(), now)
        if section == "refused":
            return refused_rows(await ask.refused(), await ask.proposals(), now)
        if section == "quality":
            remarks, memory = await asyncio.gather(ask.memory_quality(), ask.memory())
            return remark_rows(remarks, memory.text)
        infos, fared, versions = await asyncio.gather(
            ask.proposals(), ask.acceptance(), ask.versions()
        )
        return proposal_rows(infos, fared, versions, now)

    def list_act(self: Any) -> None:
        """The act of the list that is shown, on the chosen row."""
        row = self.lists.chosen()
        if row is None:
            return
        if self.lists.section == "losses":
            self.tasks.latest("restore", self.bring_back())
        elif self.lists.section == "refused":
            self.tasks.latest("restore", self.forget_refusal())
        else:
            self.open_row(row)

    def open_row(self: Any, row: Row) -> None:
        """Enter on a row: the review, the line, or the version that held a loss."""
        what = row.data
        if isinstance(what, ProposalInfo):
            self.start_review(what.id)
        elif isinstance(what, Remark):
            self.show_mode("file")
            self.file.go_to(what.lines[0])
        elif isinstance(what, Refused):
            self.start_review(what.run)
        elif isinstance(what, Loss):
            self.show_compare(what.held, what.version.number)

    # ------------------------------------------------------------------ acts

    async def bring_back(self: Any) -> None:
        """+: the chosen loss, or the lost lines of the change in front, as a version of its own."""
        if self.mode == "lists":
            row = self.lists.chosen()
            loss = row.data if row is not None else None
            places = [(loss.held, loss.line)] if isinstance(loss, Loss) else []
        else:
            change = self.compare.chosen()
            old = self.compare.old
            text = await self.desk.engine.ask.version_text(old) if old and change else ""
            places = [(old, n) for n in places_of(change, text)] if change is not None else []
        if not places:
            said = tr("Nothing is lost here that could be brought back")
            self.undo_bar.show_act(said, tone="info")
            return
        await self._bring_back(places)

    async def _bring_back(self: Any, places: Sequence[tuple[int, int]]) -> None:
        written, back, refused = 0, 0, None
        for version, line in places:
            try:
                done = await self.desk.engine.do.bring_back(version, line, initiator=self)
                written, back = done.version, back + 1
            except UserError as error:  # the others may still be brought back
                refused = error
        await self.refresh()
        if not back and refused is not None:
            self.undo_bar.show_act(f"{refused} {refused.remedy}".strip(), tone="info")
            return
        said = plural(back, "{n} line is back", "{n} lines are back")
        self.tell(tr("{what}, version {n}", what=said, n=number(written)), undo=written)

    async def forget_refusal(self: Any) -> None:
        """Del: take the chosen claim off the list of refused ones."""
        row = self.lists.chosen()
        if row is None or not isinstance(row.data, Refused):
            return
        await self.desk.engine.do.forget_refusal(row.data.key, initiator=self)
        await self.refresh()
        claim = preview(plain(row.data.text), 60)
        said = tr("“{claim}” may be proposed again; to refuse it, reject it then", claim=claim)
        self.undo_bar.show_act(said)


def places_of(change: Change, text: str) -> list[int]:
    """The 1-based lines of the older version's text where the change's lost lines stand."""
    lines = text.split("\n")
    return [lines.index(line) + 1 for line in change.before if line.strip() and line in lines]
