"""A loss above the limit is asked about once more, before anything is written."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.gui.widgets.dialogs import Question
from tests.helpers.consolidating import START, Desk
from tests.helpers.memory_place import changes, memory, reviewing, run, settle, shown

FACTS = [f"- fact number {n} is about thing{n} and place{n}" for n in range(40)]


async def asked(pane: object) -> Question:
    for _ in range(500):
        await asyncio.sleep(0.01)
        if found := pane.window().findChildren(Question):  # type: ignore[attr-defined]
            return found[0]
    raise AssertionError("nothing was asked")


@pytest.mark.parametrize(("lost", "questions"), [(3, 0), (4, 1)])
def test_a_big_loss_asks_again_and_a_small_one_does_not(
    qloop: asyncio.AbstractEventLoop, tmp_path: Path, own_places: None, qtbot: QtBot,
    lost: int, questions: int,
) -> None:  # fmt: skip
    folder = tmp_path / "loss"

    async def main() -> None:
        before = "\n".join(["# Memory", "", *FACTS, ""])
        desk = Desk(folder, prepare=before, policy="review")
        after = "\n".join(["# Memory", "", *FACTS[lost:], ""])
        desk.model.replies = [after]
        desk.flush("- something was said", at=START)
        await desk.run(START, manual=True)
        async with shown(folder, qtbot) as (pane, _, _):
            await reviewing(pane)
            for row in changes(pane):
                pane.review.go_to(row.n)
                run(pane, "accept")
            assert len(pane.review.deciding.losses_taken()) == lost
            run(pane, "apply")
            if questions:
                question = await asked(pane)
                assert memory(folder) == before, "nothing is written while it is asked"
                question.answer("")
                await settle(pane)
                assert memory(folder) == before
                assert pane.mode == "review"
                assert len(pane.review.deciding.losses_taken()) == lost, "the decisions stay"
                run(pane, "apply")
                (await asked(pane)).answer("go")
            await settle(pane)
            assert memory(folder) == after

    qloop.run_until_complete(main())
