"""The lists beside MEMORY.md: proposals, losses, refused claims, remarks; a run made again."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.gui.panes.memory.again import ModelChoice
from app.gui.panes.memory.pane import MemoryPane
from app.gui.widgets.rows import Row
from tests.helpers.memory_place import (
    NOW,
    changes,
    did,
    memory,
    reviewing,
    run,
    settle,
    shown,
)
from tests.helpers.reviewing import proposed
from tests.helpers.waiting import until


def rows(pane: MemoryPane) -> list[Row]:
    assert pane.mode == "lists"
    return [row for row in pane.lists.list.rows_model.rows() if not row.head]


def test_a_proposal_tells_its_age_and_what_moved_since(
    qloop: asyncio.AbstractEventLoop, tmp_path: Path, own_places: None, qtbot: QtBot
) -> None:
    async def main() -> None:
        folder = tmp_path / "aged"
        await proposed(folder, at=NOW - timedelta(days=12))
        async with shown(folder, qtbot) as (pane, engine, _):
            await did(pane, "queue")
            row = rows(pane)[0]
            assert "MEMORY.md is as it was" in row.detail
            assert "12 days old" in row.detail
            now = await engine.ask.memory()
            await engine.do.write_memory(now.text + "- Mine\n", now.sha256)
            await settle(pane)
            assert "MEMORY.md changed once since" in rows(pane)[0].detail
            qtbot.keyClick(pane.lists.list, Qt.Key.Key_Return)
            await settle(pane)
            assert pane.mode == "review"

    qloop.run_until_complete(main())


def test_how_proposals_fared_stands_below_them(
    qloop: asyncio.AbstractEventLoop, demo_folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(demo_folder, qtbot) as (pane, _, _):
            await reviewing(pane)
            run(pane, "reject")
            await did(pane, "accept_rest")
            await did(pane, "apply")
            await did(pane, "queue")
            row = rows(pane)[-1]
            assert row.title == "demo script"
            assert row.right == "85 %"
            assert "6 accepted" in row.detail
            assert "1 rejected" in row.detail
            assert pane.lists.chosen() is not row.data

    qloop.run_until_complete(main())


def test_a_loss_is_listed_and_comes_back_by_one_key(
    qloop: asyncio.AbstractEventLoop, demo_folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(demo_folder, qtbot) as (pane, engine, _):
            await reviewing(pane)
            (gone,) = changes(pane)[0].data.before
            await did(pane, "accept")
            await did(pane, "apply")
            assert gone not in memory(demo_folder)
            await did(pane, "losses")
            row = next(r for r in rows(pane) if r.data.text == gone)
            assert "dropped by version 4, demo script" in row.detail
            pane.lists.list.select(row.id, quiet=True)
            await did(pane, "bring_back")
            assert gone in memory(demo_folder).split("\n")
            assert gone not in [r.data.text for r in rows(pane)]
            assert pane.undo_bar.accessibleName() == "1 line is back, version 5"
            newest = (await engine.ask.versions())[0]
            assert newest.cause == "restored"
            pane.start_undo()
            await settle(pane)
            assert gone not in memory(demo_folder)

    qloop.run_until_complete(main())


def test_a_refused_claim_is_listed_and_may_be_proposed_again(
    qloop: asyncio.AbstractEventLoop, demo_folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(demo_folder, qtbot) as (pane, engine, _):
            await reviewing(pane)
            run(pane, "accept_rest")
            added = next(r for r in changes(pane) if r.data.kind == "added")
            pane.review.go_to(added.n)
            await did(pane, "reject")
            await did(pane, "apply")
            await did(pane, "refused")
            (claim,) = [r.data.text for r in rows(pane)]
            assert rows(pane)[0].detail.startswith("refused in the proposal by demo script, ")
            assert claim in added.data.after[0]
            await did(pane, "forget_refusal")
            assert await engine.ask.refused() == []
            assert "may be proposed again" in pane.undo_bar.accessibleName()

    qloop.run_until_complete(main())


def test_remarks_lead_to_their_line(
    qloop: asyncio.AbstractEventLoop, demo_folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        text = "# Memory\n\n- The pump is blue\n- Release 2.4 is frozen until 2026-06-10\n"
        (demo_folder / "MEMORY.md").write_text(text + "- The pump is blue\n", "utf-8")
        async with shown(demo_folder, qtbot) as (pane, _, _):
            await did(pane, "quality")
            assert [(r.title, r.detail.split(":")[0], r.right) for r in rows(pane)] == [
                ("The pump is blue", "Said twice", "lines 3, 5"),
                ("Release 2.4 is frozen until 2026-06-10", "Out of date", "line 4"),
            ]  # fmt: skip
            pane.lists.list.step(1)
            qtbot.keyClick(pane.lists.list, Qt.Key.Key_Return)
            await settle(pane)
            assert pane.mode == "file"
            assert pane.file.chosen_line() == 4

    qloop.run_until_complete(main())


def test_an_empty_list_says_what_will_be_there(
    qloop: asyncio.AbstractEventLoop, demo_folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(demo_folder, qtbot) as (pane, _, _):
            await did(pane, "queue")
            await did(pane, "refused")
            assert pane.lists.empty.isVisible()
            assert pane.lists.empty.head.text() == "Nothing was refused"
            assert not pane.lists.act.isVisible()
            focus = QApplication.focusWidget()
            assert focus is not None
            assert pane.lists.switch.isAncestorOf(focus)
            qtbot.keyClick(focus, Qt.Key.Key_Escape)
            await settle(pane)
            assert pane.mode == "file"

    qloop.run_until_complete(main())


@dataclass
class Person:
    """A person's settings with one server."""

    servers: dict[str, Any] = field(default_factory=lambda: {"shed": object()})

    async def load(self) -> SimpleNamespace:
        roles = SimpleNamespace(chat="", memory="")
        look = SimpleNamespace(follow_review=True)
        return SimpleNamespace(look=look, roles=roles, servers=self.servers)


def test_a_run_is_made_again_and_compared(
    qloop: asyncio.AbstractEventLoop, demo_folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(demo_folder, qtbot, person=Person()) as (pane, engine, _):
            await reviewing(pane)
            first = pane.review.proposal
            assert first is not None
            run(pane, "again")
            await until(lambda: pane.window().findChildren(ModelChoice))
            (sheet,) = pane.window().findChildren(ModelChoice)
            offered = [row.id for row in sheet.list.rows_model.rows()]
            assert offered == ["shed", "extractive"]
            sheet.list.select("extractive")
            qtbot.keyClick(sheet.list, Qt.Key.Key_Return)
            await until(lambda: any(one.again_of for one in pane.infos))
            await settle(pane)
            assert pane.mode == "review"  # the one that is read stays
            told = "There is another proposal of the same, by the curator without a model"
            assert told in pane.notices.causes()
            await did(pane, "again")
            assert pane.mode == "compare"
            assert pane.head.details.text().startswith("the proposal by demo script, and")
            kept = await engine.ask.compare_proposals(
                first.info.id, next(o.id for o in pane.infos if o.again_of)
            )
            listed = [r for r in pane.compare.list.rows_model.rows() if not r.head]
            assert len(listed) == len(kept) > 0
            assert pane.leave()
            await settle(pane)
            assert pane.mode == "review"
            assert pane.review.proposal.info.id == first.info.id
            await did(pane, "again")
            qtbot.keyClick(pane.compare.list, Qt.Key.Key_Return)
            await settle(pane)
            assert pane.review.proposal.info.again_of == first.info.id

    qloop.run_until_complete(main())
