"""The memory place on a real engine: the file, its versions, hand edits, pins, states.

The demo workspace is built once and copied for each test; nothing here needs a model.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.gui.panes.memory.lines_view import LineRow, LinesView, line_rows
from app.gui.widgets.labels import Link, T
from app.gui.widgets.notices import UndoBar
from app.gui.widgets.pane import Target
from tests.helpers.memory_place import (
    did,
    memory,
    reviewing,
    run,
    settle,
    shown,
)


def test_file_shows_lines_budget_and_waiting_review(
    qloop: asyncio.AbstractEventLoop, demo_folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(demo_folder, qtbot) as (pane, _, _):
            rows = pane.file.lines.rows_model.rows()
            assert [str(r.data) for r in rows] == memory(demo_folder).rstrip("\n").split("\n")
            assert pane.acts.primary.text() == "Review 7 changes"
            assert "of 4k" in pane.acts.budget.text()
            assert "version 3" in pane.head.details.text()

    qloop.run_until_complete(main())


def test_the_chain_is_that_of_the_chosen_line(
    qloop: asyncio.AbstractEventLoop, demo_folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(demo_folder, qtbot) as (pane, _, _):
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


def test_a_bar_that_takes_the_place_of_another_shows_its_words(qtbot: QtBot) -> None:
    over = QWidget()
    qtbot.addWidget(over)
    over.resize(900, 400)
    over.show()
    bar = UndoBar(over)
    bar.show_act("Short")
    QApplication.processEvents()
    short = bar.width()
    bar.show_act("What was written now, in many more words than before")
    assert bar.width() > short + 100
    QApplication.processEvents()
    assert bar.width() > short + 100


def test_the_bar_after_an_act_covers_no_line_and_no_handle(
    qloop: asyncio.AbstractEventLoop, demo_folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(demo_folder, qtbot, (900, 420)) as (pane, _, _):
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


def test_versions_compare_restore_and_bring_back(
    qloop: asyncio.AbstractEventLoop, demo_folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(demo_folder, qtbot) as (pane, engine, _):
            pane.step_version(-1)
            await settle(pane)
            assert pane.mode == "version"
            assert not pane.file.bar.isHidden()
            old = await engine.ask.version_text(2)
            rows = pane.file.lines.rows_model.rows()
            assert [str(r.data) for r in rows] == old.rstrip("\n").split("\n")
            run(pane, "reject")  # R restores the version that is shown
            await settle(pane)
            assert memory(demo_folder) == old
            assert pane.mode == "file"
            pane.show_compare(2, 3)
            await settle(pane)
            assert pane.scrubber.pair() == (2, 3)  # the handles follow what is compared
            pane.show_compare(3, 4)
            await settle(pane)
            assert pane.mode == "compare"
            assert pane.scrubber.pair() == (3, 4)
            assert pane.compare.back.isVisible()
            chosen = pane.compare.chosen()
            assert chosen is not None
            assert chosen.kind == "dropped"
            await did(pane, "bring_back")
            assert chosen.before[0] in memory(demo_folder).split("\n")
            assert pane.leave()
            assert pane.mode == "file"
            assert pane.scrubber.line.shows == 5

    qloop.run_until_complete(main())


def test_hand_edit_meets_another_and_loses_nothing(
    qloop: asyncio.AbstractEventLoop, demo_folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(demo_folder, qtbot) as (pane, engine, _):
            run(pane, "edit")
            assert pane.mode == "edit"
            pane.editor.field.appendPlainText("- Mine\u00a0with a hard space")
            theirs = await engine.ask.memory()
            await engine.do.write_memory(theirs.text + "- Theirs\n", theirs.sha256)
            await settle(pane)
            await did(pane, "save")
            assert pane.mode == "edit"
            assert "MEMORY.md changed while you were editing." in pane.notices.causes()
            assert memory(demo_folder).endswith("- Theirs\n")
            assert "- Mine" in pane.editor.text()
            pane.save_over()
            await settle(pane)
            assert "- Mine\u00a0with a hard space" in memory(demo_folder)
            texts = [await engine.ask.version_text(v.number) for v in await engine.ask.versions()]
            assert any("- Theirs" in text for text in texts)

    qloop.run_until_complete(main())


def test_leaving_the_editor_keeps_the_draft(
    qloop: asyncio.AbstractEventLoop, demo_folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(demo_folder, qtbot) as (pane, _, _):
            run(pane, "edit")
            pane.editor.field.appendPlainText("- Begun")
            pane.editor.field.moveCursor(QTextCursor.MoveOperation.End)
            qtbot.keyClick(pane.editor.field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
            qtbot.keyClicks(pane.editor.field, "- A draft")
            assert pane.leave()
            assert pane.mode == "file"
            run(pane, "edit")
            assert pane.editor.text().endswith("- Begun\n- A draft")

    qloop.run_until_complete(main())


def test_why_names_the_waiting_change_and_sources_lead_away(
    qloop: asyncio.AbstractEventLoop, demo_folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(demo_folder, qtbot) as (pane, _, _):
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


def test_the_chain_holds_the_words_of_the_message_or_says_it_is_gone(
    qloop: asyncio.AbstractEventLoop, demo_folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(demo_folder, qtbot) as (pane, engine, _):
            await reviewing(pane)
            await did(pane, "accept_rest")
            await did(pane, "apply")
            lines = pane.memory.text.split("\n")
            line = next(i for i, text in enumerate(lines) if text.startswith("- A spare humidity"))
            pane.file.go_to(line + 1)
            await settle(pane)

            def chain() -> str:
                labels = pane.file.why.findChildren(T)
                return " ".join(label.text() for label in labels if not label.isHidden())

            def links() -> list[str]:
                found = pane.file.why.findChildren(Link)
                return [link.text() for link in found if not link.isHidden()]

            source = pane.file.why.first_source()
            assert source is not None
            (item,) = await engine.ask.transcript(
                source.session_id, around=source.entry_id, limit=1
            )
            assert item.text[:60] in chain()
            assert "Open the message" in links()
            for log in demo_folder.glob(f"agents/*/sessions/{source.session_id}.*"):
                log.unlink()
            pane.show_why()
            await settle(pane)
            assert "is not in its log any more" in chain()
            assert "Open the message" not in links()  # it would lead nowhere

    qloop.run_until_complete(main())


def test_pin_shows_and_survives(
    qloop: asyncio.AbstractEventLoop, demo_folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(demo_folder, qtbot) as (pane, engine, _):
            pane.file.go_to(7)
            await settle(pane)
            await did(pane, "pin")
            row = pane.file.lines.rows_model.row(6)
            assert isinstance(row, LineRow)
            assert row.pinned
            assert (await engine.ask.memory()).pinned == (7,)
            await did(pane, "pin")
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
    demo_folder: Path,
    qtbot: QtBot,
    content: bytes | None,
    head: str,
) -> None:
    async def main() -> None:
        place = demo_folder / "MEMORY.md"
        if content is None:
            place.unlink()
        else:
            place.write_bytes(content)
        async with shown(demo_folder, qtbot) as (pane, _, _):
            assert pane.file.stack.currentWidget() is pane.file.empty
            assert pane.file.empty.head.text() == head
            assert pane.file.empty.button.text()
            unreadable = head.endswith("cannot be read")
            assert pane.acts.primary.isEnabled() is (not unreadable or bool(pane.waiting()))
            assert pane.acts.budget.isHidden() is unreadable

    qloop.run_until_complete(main())


def test_find_marks_and_walks_lines(
    qloop: asyncio.AbstractEventLoop, demo_folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(demo_folder, qtbot) as (pane, _, _):
            await pane.open(Target("memory", find="苗床"))
            await settle(pane)
            assert pane.file.chosen_line() == 20
            assert pane.file.find_text("mara") == 2
            bar = pane.file.find_bar
            bar.field.setText("mara")
            assert bar.count.text() == "1 of 2"
            qtbot.keyClick(bar.field, Qt.Key.Key_Return)
            assert pane.file.chosen_line() == 6
            assert bar.count.text() == "2 of 2"
            qtbot.keyClick(bar.field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
            assert pane.file.chosen_line() == 5
            bar.field.setText("nobody")
            assert bar.count.text() == "No hits"
            qtbot.keyClick(bar.field, Qt.Key.Key_Escape)
            assert not bar.isVisible()
            assert pane.mode == "file"

    qloop.run_until_complete(main())


def test_one_very_long_line_and_many_lines_open(
    qloop: asyncio.AbstractEventLoop, demo_folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        long = "- " + "x" * 400_000
        lines = "\n".join(f"- line {i} 第{i}行" for i in range(20_000))
        (demo_folder / "MEMORY.md").write_text(f"# Memory\n\n{long}\n{lines}\n", "utf-8")
        async with shown(demo_folder, qtbot) as (pane, _, _):
            assert pane.file.lines.rows_model.rowCount() == 20_003
            row = pane.file.lines.rows_model.row(2)
            assert isinstance(row, LineRow)
            assert row.shown.text.endswith("(398,002 more characters)")
            run(pane, "edit")
            assert pane.mode == "file"
            assert "A line of MEMORY.md is too long to be edited here." in pane.notices.causes()

    qloop.run_until_complete(main())


def test_a_long_list_is_measured_where_one_looks_and_jumps_nowhere(
    qloop: asyncio.AbstractEventLoop, qtbot: QtBot
) -> None:
    async def main() -> None:
        lines = LinesView("Lines")
        qtbot.addWidget(lines)
        lines.resize(500, 300)
        lines.show()
        rows = line_rows("\n".join(f"- line {i} " + "word " * (i % 60) for i in range(1_500)))
        lines.set_rows(rows)
        header = lines.verticalHeader()

        async def seen() -> list[int]:
            bar, before = lines.verticalScrollBar(), -1
            first, y = lines.rowAt(0), lines.rowViewportPosition(lines.rowAt(0))
            while lines.measuring() or before != (before := bar.maximum()):
                await asyncio.sleep(0.01)
            assert (lines.rowAt(0), lines.rowViewportPosition(first)) == (first, y)
            return list(range(first, lines.rowAt(lines.viewport().height() - 1) + 1))

        for place in ("l1", "l1400", "l700", "l1500", "l3"):
            lines.show_row(place)
            shown = await seen()
            assert int(place[1:]) - 1 in shown
            width = lines.viewport().width()
            highs = [lines.measure(rows[i], width) for i in shown]
            assert [header.sectionSize(i) for i in shown] == highs

    qloop.run_until_complete(main())
