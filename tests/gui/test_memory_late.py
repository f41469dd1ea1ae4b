"""The memory place while an older answer is still on its way: the last wish is what is shown."""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from pytestqt.qtbot import QtBot

from app.engine.engine import Engine
from app.engine.records import JobInfo
from app.gui.panes.memory import pane as place
from app.gui.panes.memory.pane import MemoryPane
from app.gui.widgets.pane import Target
from tests.gui.test_big_loss import FACTS, asked
from tests.helpers.consolidating import START, Desk
from tests.helpers.held import Held, hold
from tests.helpers.memory_place import NOW, changes, did, memory, reviewing, run, settle, shown
from tests.helpers.waiting import until

Story = Callable[[MemoryPane, Engine], Coroutine[Any, Any, None]]
Tell = Callable[[Story], None]


@pytest.fixture
def tell(runs, demo_folder: Path, qtbot: QtBot) -> Tell:
    """Let a story happen in the memory place of the demo, on screen."""

    async def main(story: Story) -> None:
        async with shown(demo_folder, qtbot) as (pane, engine, _):
            await story(pane, engine)

    return lambda story: runs(main(story))


async def begun(half: Any, name: str, wish: Callable[[], object]) -> Held:
    """`wish` was made, and its first question of that name is held back."""
    slow = hold(half, name)
    wish()
    await slow.begun.wait()
    return slow


def test_the_file_stays_the_newest_when_an_older_look_ends(tell: Tell) -> None:
    async def story(pane: MemoryPane, engine: Engine) -> None:
        slow = await begun(engine.ask, "memory", lambda: pane.tasks.start("action", pane.refresh()))
        old = pane.memory
        await engine.do.write_memory(old.text + "- Newest\n", old.sha256)
        await until(lambda: pane.memory != old)
        slow.go()
        await settle(pane)
        assert pane.memory.text.endswith("- Newest\n")
        assert pane.file.lines.rows_model.rows()[-1].data == "- Newest"

    tell(story)


def test_rows_made_of_the_file_are_not_taken_for_those_of_a_version(
    tell: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    held, go = threading.Event(), threading.Event()
    rows_of = place.line_rows

    def later(text: str) -> Any:
        held.set()
        go.wait(10)
        return rows_of(text)

    async def story(pane: MemoryPane, engine: Engine) -> None:
        old = pane.memory
        await engine.do.write_memory(old.text + "- Newest\n", old.sha256)
        await pane.refresh()
        await settle(pane)
        monkeypatch.setattr(place, "LARGE", 10)
        monkeypatch.setattr(place, "line_rows", later)
        pane.file.take("", [])
        pane.tasks.start("action", pane.refresh())
        await until(held.is_set)
        pane.step_version(-1)
        await until(lambda: pane.mode == "version")
        go.set()
        await settle(pane)
        assert pane.file.find_text("Newest") == 0, "it is not in that version"

    tell(story)


def test_a_run_that_ended_is_not_said_to_go_on(tell: Tell) -> None:
    async def story(pane: MemoryPane, engine: Engine) -> None:
        state = "running"

        async def jobs(_limit: int) -> list[JobInfo]:
            return [JobInfo("j1", "consolidate", "by hand", state, NOW)]

        engine.ask.jobs = jobs  # type: ignore[method-assign]
        slow = await begun(
            engine.ask, "jobs", lambda: pane.tasks.start("action", pane.look_at_jobs())
        )
        state = "done"
        await pane.look_at_jobs()
        slow.go()
        await settle(pane)
        assert pane.job.state == "done"

    tell(story)


def test_a_review_opened_after_a_list_stays(tell: Tell) -> None:
    async def story(pane: MemoryPane, engine: Engine) -> None:
        slow = await begun(engine.ask, "losses", lambda: pane.show_list("losses"))
        pane.show_waiting()
        await until(lambda: pane.mode == "review")
        slow.go()
        await settle(pane)
        assert pane.mode == "review"

    tell(story)


def test_a_review_comes_though_a_list_asked_for_before_comes_first(tell: Tell) -> None:
    async def story(pane: MemoryPane, engine: Engine) -> None:
        list_ = await begun(engine.ask, "losses", lambda: pane.show_list("losses"))
        slow = await begun(engine.ask, "proposal", pane.show_waiting)
        list_.go()
        await until(lambda: not pane.tasks.running("list"))
        slow.go()
        await settle(pane)
        assert pane.mode == "review"

    tell(story)


def test_a_comparison_does_not_cover_what_is_typed_since(tell: Tell) -> None:
    async def story(pane: MemoryPane, engine: Engine) -> None:
        slow = await begun(engine.ask, "compare", lambda: pane.show_compare(1, 2))
        run(pane, "edit")
        pane.editor.field.appendPlainText("- Typed")
        slow.go()
        await settle(pane)
        assert pane.mode == "edit"

    tell(story)


def test_a_version_is_not_left_for_a_comparison_asked_for_before(tell: Tell) -> None:
    async def story(pane: MemoryPane, engine: Engine) -> None:
        slow = await begun(engine.ask, "compare", lambda: pane.show_compare(1, 3))
        await pane.open(Target("memory", version=1))
        slow.go()
        await settle(pane)
        assert (pane.mode, pane.file.version) == ("version", 1)

    tell(story)


def test_what_was_typed_is_kept_when_another_page_is_opened(tell: Tell) -> None:
    async def story(pane: MemoryPane, engine: Engine) -> None:
        run(pane, "edit")
        pane.editor.field.appendPlainText("- Typed")
        await pane.open(Target("memory", proposal=pane.waiting()[0].id))
        await settle(pane)
        assert pane.mode == "review"
        pane.leave()
        run(pane, "edit")
        assert pane.editor.text().endswith("- Typed")

    tell(story)


def test_what_is_typed_while_it_is_saved_is_kept_and_saved_next(
    tell: Tell, demo_folder: Path
) -> None:
    async def story(pane: MemoryPane, engine: Engine) -> None:
        run(pane, "edit")
        pane.editor.field.appendPlainText("- One")
        slow = await begun(engine.do, "write_memory", lambda: run(pane, "save"))
        pane.editor.field.appendPlainText("- Two")
        slow.go()
        await settle(pane)
        assert pane.mode == "edit"
        assert pane.editor.text().endswith("- One\n- Two")
        await did(pane, "save")
        assert pane.mode == "file"
        assert memory(demo_folder).endswith("- One\n- Two")

    tell(story)


def test_a_list_is_not_turned_back_by_an_older_look(tell: Tell) -> None:
    async def story(pane: MemoryPane, engine: Engine) -> None:
        pane.show_list("losses")
        await settle(pane)
        slow = await begun(
            engine.ask, "losses", lambda: pane.tasks.start("refresh", pane.refresh())
        )
        pane.show_list("refused")
        await until(lambda: pane.lists.section == "refused")
        slow.go()
        await settle(pane)
        assert pane.lists.section == "refused"

    tell(story)


def test_two_proposals_compared_late_do_not_cover_what_is_typed_since(tell: Tell) -> None:
    async def story(pane: MemoryPane, engine: Engine) -> None:
        await reviewing(pane)
        first = pane.waiting()[0]
        await engine.do.consolidate_again(first.id, "extractive")
        await until(lambda: pane.rival_of(first.id) is not None)
        await settle(pane)
        slow = await begun(engine.ask, "compare_proposals", lambda: run(pane, "again"))
        pane.leave()
        run(pane, "edit")
        slow.go()
        await settle(pane)
        assert pane.mode == "edit"

    tell(story)


def test_who_went_elsewhere_while_a_review_is_applied_stays_there(tell: Tell) -> None:
    async def story(pane: MemoryPane, engine: Engine) -> None:
        await reviewing(pane)
        pane.accept_rest()
        slow = await begun(engine.do, "apply", lambda: run(pane, "apply"))
        pane.leave()
        run(pane, "edit")
        pane.editor.field.appendPlainText("- Typed")
        slow.go()
        await settle(pane)
        assert pane.mode == "edit"
        assert pane.editor.text().endswith("- Typed")
        assert pane.review.proposal is None

    tell(story)


def test_a_review_that_is_taken_apart_is_not_brought_back_once_left(tell: Tell) -> None:
    async def story(pane: MemoryPane, engine: Engine) -> None:
        await reviewing(pane)
        merged = next(c for c in pane.review.proposal.changes if c.kind == "merged")
        pane.review.go_to(merged.n)
        slow = await begun(engine.do, "take_apart", lambda: run(pane, "apart"))
        pane.leave()
        slow.go()
        await settle(pane)
        assert pane.mode == "file"

    tell(story)


def test_the_chain_of_a_line_does_not_open_beside_an_earlier_version(tell: Tell) -> None:
    async def story(pane: MemoryPane, engine: Engine) -> None:
        slow = await begun(engine.ask, "proposal", lambda: pane.ask_why(5))
        await pane.open(Target("memory", version=1))
        slow.go()
        await settle(pane)
        assert pane.mode == "version"
        assert pane.file.why.isHidden()

    tell(story)


def test_a_notice_of_a_review_is_not_shown_to_who_left_it(tell: Tell) -> None:
    async def story(pane: MemoryPane, engine: Engine) -> None:
        wanted = pane.waiting()[0].id
        proposal = engine.ask.proposal

        async def noted(proposal_id: str) -> Any:
            return replace(await proposal(proposal_id), note="The file was rebuilt.")

        engine.ask.proposal = noted  # type: ignore[method-assign]
        slow = hold(engine.ask, "proposal")
        opening = pane.tasks.start("opening", pane.open(Target("memory", proposal=wanted)))
        await slow.begun.wait()
        pane.show_list("losses")
        await until(lambda: pane.mode == "lists")
        slow.go()
        await opening
        await settle(pane)
        assert pane.mode == "lists"
        assert pane.notices.causes() == []

    tell(story)


def test_a_version_that_is_restored_leaves_alone_who_stepped_on(tell: Tell) -> None:
    async def story(pane: MemoryPane, engine: Engine) -> None:
        await pane.open(Target("memory", version=1))
        await settle(pane)
        slow = await begun(engine.do, "restore_version", lambda: run(pane, "reject"))
        pane.step_version(1)
        await until(lambda: pane.file.version == 2)
        slow.go()
        await settle(pane)
        assert (pane.mode, pane.file.version) == ("version", 2)

    tell(story)


def test_what_was_asked_about_is_not_applied_once_the_review_is_another(
    runs, tmp_path: Path, own_places: None, qtbot: QtBot
) -> None:
    async def main() -> None:
        before = "\n".join(["# Memory", "", *FACTS, ""])
        desk = Desk(tmp_path / "loss", prepare=before, policy="review")
        desk.model.replies = ["\n".join(["# Memory", "", *FACTS[4:], ""])]
        desk.flush("- something was said", at=START)
        await desk.run(START, manual=True)
        async with shown(tmp_path / "loss", qtbot) as (pane, engine, _):
            await reviewing(pane)
            for row in changes(pane):
                pane.review.go_to(row.n)
                run(pane, "accept")
            run(pane, "apply")
            question = await asked(pane)
            asked_about = pane.review.deciding
            theirs = before.replace(FACTS[0], FACTS[0] + ", as somebody wrote meanwhile")
            await engine.do.write_memory(theirs, pane.memory.sha256)
            await until(lambda: pane.review.deciding is not asked_about)
            question.answer("go")
            await settle(pane)
            assert memory(tmp_path / "loss") == theirs
            assert pane.mode == "review"

    runs(main())
