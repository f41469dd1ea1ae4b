"""The memory place on a real engine: review, apply, undo, versions, hand edits, states.

The demo workspace is built once and copied for each test; nothing here needs a model.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QInputMethodEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app import demo
from app.engine.engine import Engine
from app.gui.bridge import EngineSignals
from app.gui.panes.memory.change_rows import ChangeRow
from app.gui.panes.memory.lines_view import LineRow
from app.gui.panes.memory.pane import MemoryPane
from app.gui.widgets.action import overlapping
from app.gui.widgets.pane import Desk, Target
from app.startup import open_engine

NOW = datetime(2026, 11, 30, 14, 6, tzinfo=UTC)
Until = Callable[..., Coroutine[Any, Any, None]]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("memory") / "demo"
    folder.mkdir()
    asyncio.run(demo.build(folder, NOW))
    return folder


@pytest.fixture
def folder(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("DATA", "CONFIG", "MODELS"):
        monkeypatch.setenv(f"PALIMPSEST_{name}", str(tmp_path / name.lower()))
    return Path(shutil.copytree(built, tmp_path / "work"))


@asynccontextmanager
async def shown(
    folder: Path, qtbot: QtBot, size: tuple[int, int] = (1280, 800)
) -> AsyncIterator[tuple[MemoryPane, Engine, list[BaseException]]]:
    """The place on that workspace, on screen; what it reported as bugs must stay empty."""
    engine = await open_engine(folder, clock=lambda: NOW)
    signals = EngineSignals(engine.events)
    faults: list[BaseException] = []
    pane = MemoryPane(Desk(engine, signals, faults.append, now=lambda: NOW))
    qtbot.addWidget(pane)
    pane.resize(*size)
    pane.show()
    pane.activate()
    await settle(pane)
    try:
        yield pane, engine, faults
        assert faults == []
    finally:
        signals.stop()
        await pane.tasks.end()
        await engine.close(2.0)


async def settle(pane: MemoryPane) -> None:
    """Until nothing runs and nothing is about to (refreshes wait 100 ms for more)."""
    quiet = 0
    for _ in range(1_500):
        await asyncio.sleep(0.01)
        quiet = 0 if pane.busy() else quiet + 1
        if quiet > 2:
            return
    raise AssertionError("the place does not come to rest")


async def reviewing(pane: MemoryPane) -> None:
    pane.show_waiting()
    await settle(pane)
    assert pane.mode == "review"


def run(pane: MemoryPane, name: str) -> object:
    """Do the action of that name as its key would, or say why it cannot be done."""
    action = next(a for a in pane.actions() if a.name == f"memory.{name}")
    reason = action.off()
    if reason:
        return reason
    result = action.run()
    if asyncio.iscoroutine(result):
        return pane.tasks.start("action", result)
    return None


def memory(folder: Path) -> str:
    return (folder / "MEMORY.md").read_text("utf-8")


def changes(pane: MemoryPane) -> list[ChangeRow]:
    return [r for r in pane.review.list.rows_model.rows() if isinstance(r, ChangeRow)]


def front(pane: MemoryPane) -> ChangeRow:
    return next(row for row in changes(pane) if row.focused)


def result(pane: MemoryPane) -> list[LineRow]:
    return [r for r in pane.review.result.rows_model.rows() if isinstance(r, LineRow)]


def test_file_shows_lines_budget_and_waiting_review(
    qloop: asyncio.AbstractEventLoop, folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(folder, qtbot) as (pane, _, _):
            rows = pane.file.lines.rows_model.rows()
            assert [str(r.data) for r in rows] == memory(folder).rstrip("\n").split("\n")
            assert pane.acts.primary.text() == "Review 7 changes"
            assert "of 4k" in pane.acts.budget.text()
            assert "version 3" in pane.head.details.text()
            assert not overlapping(pane.actions())
            assert all(a.title and a.icon and a.key for a in pane.actions())

    qloop.run_until_complete(main())


def test_losses_come_first_and_deciding_walks_on(
    qloop: asyncio.AbstractEventLoop, folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(folder, qtbot) as (pane, engine, _):
            await reviewing(pane)
            rows = pane.review.list.rows_model.rows()
            assert rows[0].title == "Losses"
            assert front(pane).word == "Lost"
            assert run(pane, "apply") == "Nothing is decided yet."
            run(pane, "accept")
            await settle(pane)
            assert changes(pane)[0].effect == "Accepted: the line goes"
            assert front(pane).word == "Merged from 2"
            assert any(row.gone == 1 for row in result(pane))
            run(pane, "reject")
            await settle(pane)
            assert changes(pane)[1].effect == "Rejected: 2 lines stay"
            info = (await engine.ask.proposals(waiting=True))[0]
            kept = (await engine.ask.proposal(info.id)).decisions
            assert {d.n: d.verdict for d in kept} == {5: "accept", 1: "reject"}
            assert pane.acts.decided.text() == "2 of 7 decided"
            assert pane.acts.apply.text() == "Apply 1 change"
            # the same key again takes the decision back, U the last one of all
            pane.review.go_to(5)
            run(pane, "accept")
            assert changes(pane)[0].effect == ""
            run(pane, "next")
            run(pane, "undecide")
            await settle(pane)
            assert (await engine.ask.proposal(info.id)).decisions == ()

    qloop.run_until_complete(main())


def test_accept_rest_never_takes_a_loss_along(
    qloop: asyncio.AbstractEventLoop, folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(folder, qtbot) as (pane, _, _):
            await reviewing(pane)
            run(pane, "accept_rest")
            await settle(pane)
            undecided = [row.word for row in changes(pane) if not row.verdict]
            assert undecided == ["Lost"]
            assert pane.acts.apply.text() == "Apply 6 changes"

    qloop.run_until_complete(main())


def test_apply_writes_what_the_result_shows_then_undo(
    qloop: asyncio.AbstractEventLoop, folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(folder, qtbot) as (pane, engine, _):
            before = memory(folder)
            await reviewing(pane)
            run(pane, "reject")
            for _ in range(6):
                run(pane, "accept")
            await settle(pane)
            sign = {r.shown.text.split(" ")[0]: r.sign for r in result(pane) if r.sign}
            assert sign["A"] == "+"
            assert sign["Humidity"] == "~"
            promised = [str(row.data) for row in result(pane) if row.number]
            assert run(pane, "next") is None  # nothing is left: J goes to Apply
            run(pane, "apply")
            await settle(pane)
            assert memory(folder).rstrip("\n").split("\n") == promised
            assert "- Backups of the controller go to two memory cards" in memory(folder)
            assert "- 周报用中文写，周五下午四点前发出" in memory(folder)
            assert pane.mode == "file"
            assert pane.undo_bar.accessibleName().startswith("Version 4 written")
            assert pane.acts.primary.text() == "Consolidate now"
            pane.start_undo()
            await settle(pane)
            assert memory(folder) == before
            assert [v.cause for v in await engine.ask.versions()][:2] == ["undo", "consolidation"]

    qloop.run_until_complete(main())


def test_what_is_left_undecided_stays_waiting(
    qloop: asyncio.AbstractEventLoop, folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(folder, qtbot) as (pane, engine, _):
            await reviewing(pane)
            pane.review.go_to(3)
            run(pane, "accept")
            await settle(pane)
            run(pane, "apply")
            await settle(pane)
            assert "- The pump runs 6 minutes at 06:30" in memory(folder)
            assert pane.mode == "file"
            states = [
                line.state
                for section in (await engine.ask.day("memory/2026-11-27.md")).sections
                for line in section.lines
            ]
            assert "waiting" in states
            assert "6 undecided changes stay waiting" in pane.undo_bar.accessibleName()
            assert pane.acts.primary.text() == "Review 6 changes"
            assert len(pane.waiting()) == 1
            await reviewing(pane)
            assert len(changes(pane)) == 6
            assert pane.review.deciding.decided() == 0
            assert pane.head.title.text() == "Review"
            assert pane.notices.isHidden()  # nothing moved: the rest stands on what was written
            assert pane.acts.apply.text() == "Apply"
            for _ in range(6):
                run(pane, "reject")
            run(pane, "apply")
            await settle(pane)
            assert pane.acts.primary.text() == "Consolidate now"
            assert pane.waiting() == []

    qloop.run_until_complete(main())


def test_when_another_gives_way_to_what_is_applied_nothing_waits(
    qloop: asyncio.AbstractEventLoop, folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(folder, qtbot) as (pane, engine, _):
            other = copied(folder, (await engine.ask.proposals(waiting=True))[0].id)
            await pane.refresh()
            assert len(pane.waiting()) == 2
            pane.start_review(next(one.id for one in pane.waiting() if one.id != other))
            await settle(pane)
            run(pane, "reject")
            for _ in range(6):
                run(pane, "accept")
            await settle(pane)
            run(pane, "apply")
            await settle(pane)
            states = {one.id: one.state for one in await engine.ask.proposals()}
            assert sorted(states.values()) == ["partly_applied", "superseded"]
            assert pane.waiting() == []
            assert pane.acts.primary.text() == "Consolidate now"
            assert not pane.scrubber.line._waiting

    qloop.run_until_complete(main())


def copied(folder: Path, proposal_id: str) -> str:
    """The id of a second proposal, of the same sections, that nobody has opened."""
    place = next(folder.rglob(f"{proposal_id}.json"))
    other = f"{proposal_id}b"
    data = json.loads(place.read_text("utf-8"))
    data |= {"id": other, "state": "proposed"}
    place.with_name(f"{other}.json").write_text(json.dumps(data), "utf-8")
    return other


def test_the_chain_is_that_of_the_chosen_line(
    qloop: asyncio.AbstractEventLoop, folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(folder, qtbot) as (pane, _, _):
            pane.file.lines.setFocus()
            await settle(pane)
            assert pane.file.why.isHidden()  # nothing opens unasked
            assert pane.file.chosen_line() == 5  # the first line that says something
            await pane.open(Target("memory", find="苗床", line=20))
            await settle(pane)
            assert pane.file.why.title.text() == "Line 20"
            pane.file.find_bar.field.setText("mara")
            await settle(pane)
            assert pane.file.why.title.text() == "Line 5"
            pane.file.walk(1)
            await settle(pane)
            assert pane.file.why.title.text() == "Line 6"

    qloop.run_until_complete(main())


def test_the_bar_after_an_act_covers_no_line_and_no_handle(
    qloop: asyncio.AbstractEventLoop, folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(folder, qtbot, (900, 420)) as (pane, _, _):
            lines = pane.file.lines
            pane.file.go_to(21)
            await settle(pane)
            pane.undo_bar.show_act("Written")
            QApplication.processEvents()
            bar = pane.undo_bar.mapTo(pane, pane.undo_bar.rect().topLeft()).y()
            below = lines.visualRect(lines.currentIndex()).bottomLeft()
            assert lines.viewport().mapTo(pane, below).y() <= bar
            assert bar + pane.undo_bar.height() <= pane.stack.geometry().bottom()
            pane.undo_bar.close_bar()
            QApplication.processEvents()
            scroll = lines.verticalScrollBar()
            rows = lines.verticalHeader().length()
            assert scroll.maximum() == max(rows - lines.viewport().height(), 0)

    qloop.run_until_complete(main())


def test_own_words_are_written_with_chinese_by_input_method(
    qloop: asyncio.AbstractEventLoop, folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(folder, qtbot) as (pane, _, _):
            await reviewing(pane)
            pane.review.go_to(7)
            run(pane, "edit")
            card = pane.review.list.card()
            assert card is not None
            field = card.field
            assert field.words() == "- Bed 4 holds basil only; the coriander is in bed 3"
            field.selectAll()
            event = QInputMethodEvent()
            event.setCommitString("- 四号苗床只有罗勒")
            QApplication.sendEvent(field, event)
            field.take()
            await settle(pane)
            row = next(r for r in changes(pane) if r.n == 7)
            assert row.effect == "Accepted in your words"
            assert any("四号苗床只有罗勒" in r.shown.text and r.sign == "~" for r in result(pane))
            run(pane, "apply")
            await settle(pane)
            assert "- 四号苗床只有罗勒\n" in memory(folder)

    qloop.run_until_complete(main())


def test_letters_typed_into_own_words_decide_nothing(
    qloop: asyncio.AbstractEventLoop, folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(folder, qtbot) as (pane, _, _):
            await reviewing(pane)
            pane.review.go_to(7)
            run(pane, "edit")
            card = pane.review.list.card()
            assert card is not None
            qtbot.keyClicks(card.field, "ar")
            assert pane.review.deciding.decided() == 0
            qtbot.keyClick(card.field, Qt.Key.Key_Escape)
            await settle(pane)
            assert not front(pane).editing
            assert pane.mode == "review"

    qloop.run_until_complete(main())


def test_conflict_is_asked_and_blocks_apply(
    qloop: asyncio.AbstractEventLoop, folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(folder, qtbot) as (pane, engine, _):
            await reviewing(pane)
            pane.review.go_to(3)
            run(pane, "accept")
            await settle(pane)
            now = await engine.ask.memory()
            mine = now.text.replace("The pump runs 4 minutes", "The pump runs 9 minutes")
            await engine.do.write_memory(mine, now.sha256)
            await settle(pane)
            first = changes(pane)[0]
            assert first.word == "Both changed this line"
            assert not first.verdict
            assert [p.label for p in first.pieces if p.label] == ["File now", "Proposal"]
            assert front(pane).n == first.n  # it is asked before anything else
            assert "MEMORY.md changed after this proposal was made." in pane.notices.causes()
            assert run(pane, "apply") == "1 conflict left"
            pane.review.go_to(first.n)
            run(pane, "reject")
            assert changes(pane)[0].effect == "Kept as in the file"
            run(pane, "accept_rest")
            await settle(pane)
            run(pane, "apply")
            await settle(pane)
            assert "The pump runs 9 minutes" in memory(folder)

    qloop.run_until_complete(main())


def test_versions_compare_restore_and_bring_back(
    qloop: asyncio.AbstractEventLoop, folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(folder, qtbot) as (pane, engine, _):
            pane.step_version(-1)
            await settle(pane)
            assert pane.mode == "version"
            assert not pane.file.bar.isHidden()
            old = await engine.ask.version_text(2)
            rows = pane.file.lines.rows_model.rows()
            assert [str(r.data) for r in rows] == old.rstrip("\n").split("\n")
            run(pane, "reject")  # R restores the version that is shown
            await settle(pane)
            assert memory(folder) == old
            assert pane.mode == "file"
            pane.show_compare(3, 4)
            await settle(pane)
            assert pane.mode == "compare"
            chosen = pane.compare.chosen()
            assert chosen is not None
            assert chosen.kind == "dropped"
            run(pane, "bring_back")
            await settle(pane)
            assert chosen.before[0] in memory(folder).split("\n")
            assert pane.leave()
            assert pane.mode == "file"
            assert pane.scrubber.line.shows == 5

    qloop.run_until_complete(main())


def test_hand_edit_meets_another_and_loses_nothing(
    qloop: asyncio.AbstractEventLoop, folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(folder, qtbot) as (pane, engine, _):
            run(pane, "edit")
            assert pane.mode == "edit"
            pane.editor.field.appendPlainText("- Mine\u00a0with a hard space")
            theirs = await engine.ask.memory()
            await engine.do.write_memory(theirs.text + "- Theirs\n", theirs.sha256)
            await settle(pane)
            run(pane, "save")
            await settle(pane)
            assert pane.mode == "edit"
            assert "MEMORY.md changed while you were editing." in pane.notices.causes()
            assert memory(folder).endswith("- Theirs\n")
            assert "- Mine" in pane.editor.text()
            pane.save_over()
            await settle(pane)
            assert "- Mine\u00a0with a hard space" in memory(folder)
            texts = [await engine.ask.version_text(v.number) for v in await engine.ask.versions()]
            assert any("- Theirs" in text for text in texts)

    qloop.run_until_complete(main())


def test_leaving_the_editor_keeps_the_draft(
    qloop: asyncio.AbstractEventLoop, folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(folder, qtbot) as (pane, _, _):
            run(pane, "edit")
            pane.editor.field.appendPlainText("- A draft")
            assert pane.leave()
            assert pane.mode == "file"
            run(pane, "edit")
            assert pane.editor.text().endswith("- A draft")

    qloop.run_until_complete(main())


def test_why_names_the_waiting_change_and_sources_lead_away(
    qloop: asyncio.AbstractEventLoop, folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(folder, qtbot) as (pane, _, _):
            gone: list[Target] = []
            pane.go.connect(gone.append)
            await pane.open(Target("memory", line=14))
            await settle(pane)
            assert pane.file.why.title.text() == "Line 14"
            assert not pane.file.why.isHidden()
            await reviewing(pane)
            pane.review.go_to(4)
            run(pane, "sources")
            assert gone[-1] == Target("daily", path="memory/2026-11-27.md", line=4)
            run(pane, "message")
            assert gone[-1].place == "timeline"
            assert gone[-1].session_id == "s-probe"

    qloop.run_until_complete(main())


def test_pin_shows_and_survives(
    qloop: asyncio.AbstractEventLoop, folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(folder, qtbot) as (pane, engine, _):
            pane.file.go_to(7)
            await settle(pane)
            run(pane, "pin")
            await settle(pane)
            row = pane.file.lines.rows_model.row(6)
            assert isinstance(row, LineRow)
            assert row.pinned
            assert (await engine.ask.memory()).pinned == (7,)
            run(pane, "pin")
            await settle(pane)
            assert (await engine.ask.memory()).pinned == ()

    qloop.run_until_complete(main())


@pytest.mark.parametrize(
    ("content", "head"),
    [
        (None, "Nothing is remembered yet"),
        (b"", "MEMORY.md is empty"),
        (b"\xff\xfe\x00\xd8\x00", "MEMORY.md cannot be read"),
    ],
)
def test_states_say_why_there_are_no_lines(
    qloop: asyncio.AbstractEventLoop,
    folder: Path,
    qtbot: QtBot,
    content: bytes | None,
    head: str,
) -> None:
    async def main() -> None:
        place = folder / "MEMORY.md"
        if content is None:
            place.unlink()
        else:
            place.write_bytes(content)
        async with shown(folder, qtbot) as (pane, _, _):
            assert pane.file.stack.currentWidget() is pane.file.empty
            assert pane.file.empty.head.text() == head
            assert pane.file.empty.button.text()
            unreadable = head.endswith("cannot be read")
            assert pane.acts.primary.isEnabled() is (not unreadable or bool(pane.waiting()))
            assert pane.acts.budget.isHidden() is unreadable

    qloop.run_until_complete(main())


def test_find_marks_and_walks_lines(
    qloop: asyncio.AbstractEventLoop, folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(folder, qtbot) as (pane, _, _):
            await pane.open(Target("memory", find="苗床"))
            await settle(pane)
            assert pane.file.chosen_line() == 20
            assert pane.file.find_text("mara") == 2
            pane.file.find_bar.field.setText("mara")
            pane.file.walk(1)
            assert pane.file.chosen_line() == 6

    qloop.run_until_complete(main())


def test_narrow_window_turns_between_changes_and_result(
    qloop: asyncio.AbstractEventLoop, folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(folder, qtbot, (847, 612)) as (pane, _, _):
            await reviewing(pane)
            review = pane.review
            assert review.halves.narrow
            assert review.halves.left.isVisible()
            assert not review.right.isVisible()
            run(pane, "turn")
            assert review.right.isVisible()
            assert not review.halves.left.isVisible()
            assert not pane.scrubber.isVisible()

    qloop.run_until_complete(main())


def test_one_very_long_line_and_many_lines_open(
    qloop: asyncio.AbstractEventLoop, folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        long = "- " + "x" * 400_000
        lines = "\n".join(f"- line {i} 第{i}行" for i in range(20_000))
        (folder / "MEMORY.md").write_text(f"# Memory\n\n{long}\n{lines}\n", "utf-8")
        async with shown(folder, qtbot) as (pane, _, _):
            assert pane.file.lines.rows_model.rowCount() == 20_003
            row = pane.file.lines.rows_model.row(2)
            assert isinstance(row, LineRow)
            assert row.shown.text.endswith("(398,002 more characters)")
            run(pane, "edit")
            assert pane.mode == "file"
            assert "A line of MEMORY.md is too long to be edited here." in pane.notices.causes()

    qloop.run_until_complete(main())
