"""Where the file and a proposal changed the same lines; merges taken apart; the overview strip."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.gui.look.theme import theme
from app.gui.panes.memory.change_rows import ChangeRow
from app.gui.panes.memory.pane import MemoryPane
from tests.helpers.memory_place import (
    card,
    changes,
    did,
    front,
    memory,
    reviewing,
    run,
    settle,
    shown,
)
from tests.helpers.reviewing import proposed

OLD = "Sensor 7 reads 3 cm high since the storm on 9 November"
MINE = "Sensor 7 reads 3 cm high and is due for a swap in January"
THEIRS = "Sensor 7 reads 2.4 cm high since the storm on 9 November, recalibrated on 28 November"
FROZEN = "- Release 2.4 is frozen until 12 December"


@pytest.fixture
def met(tmp_path: Path, own_places: None) -> Path:
    """A workspace whose proposal meets two edits of a person's."""
    folder = tmp_path / "met"
    asyncio.run(proposed(folder))
    text = memory(folder).replace(OLD, MINE).replace("until 12 December", "until 19 December")
    (folder / "MEMORY.md").write_text(text, "utf-8")
    return folder


def sensor(pane: MemoryPane) -> ChangeRow:
    """The conflict about the sensor, brought to the front."""
    row = next(r for r in changes(pane) if r.data.before == (f"- {MINE}",))
    pane.review.go_to(row.n)
    return front(pane)


def marked(row: ChangeRow, label: str) -> tuple[str, list[str], list[str]]:
    """The line below a label, with what is struck out and what is underlined in it."""
    at = next(i for i, piece in enumerate(row.pieces) if piece.label == label)
    piece = row.pieces[at + 1]
    lost = [piece.text[r.start : r.end] for r in piece.runs if r.look == "lost"]
    added = [piece.text[r.start : r.end] for r in piece.runs if r.look == "added"]
    return piece.sign, lost, added


def test_conflict_is_asked_and_blocks_apply(
    qloop: asyncio.AbstractEventLoop, demo_folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(demo_folder, qtbot) as (pane, engine, _):
            await reviewing(pane)
            pane.review.go_to(3)
            await did(pane, "accept")
            now = await engine.ask.memory()
            mine = now.text.replace("The pump runs 4 minutes", "The pump runs 9 minutes")
            await engine.do.write_memory(mine, now.sha256)
            await settle(pane)
            first = changes(pane)[0]
            assert first.word == "Both changed this line"
            assert not first.verdict
            assert [p.label for p in first.pieces if p.label] == ["File now", "Proposal"]
            assert front(pane).n == first.n  # it is asked before anything else
            assert pane.head.details.text().startswith("MEMORY.md changed at ")
            assert pane.head.details.text().endswith("after this proposal was made")
            assert pane.notices.causes()[0] == "6 changes fit by themselves"
            assert pane.acts.decided.text() == "1 conflict left"
            assert run(pane, "apply") == "1 conflict left"
            pane.review.go_to(first.n)
            run(pane, "reject")
            assert changes(pane)[0].effect == "Kept as in the file"
            await did(pane, "accept_rest")
            await did(pane, "apply")
            assert "The pump runs 9 minutes" in memory(demo_folder)

    qloop.run_until_complete(main())


def test_both_sides_are_told_against_the_old_text_and_by_what_they_are(
    qloop: asyncio.AbstractEventLoop, met: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(met, qtbot) as (pane, _, _):
            await reviewing(pane)
            row = sensor(pane)
            assert marked(row, "File now") == (
                "~", ["since the storm on 9 November"], ["and is due for a swap in January"],
            )  # fmt: skip
            assert marked(row, "Proposal") == (
                "~", ["3"], ["2.4", ", recalibrated on 28 November"],
            )  # fmt: skip
            heads = {p.label: (p.sign, p.text) for p in row.pieces if p.label}
            assert heads["File now"][0] == "1"
            assert heads["File now"][1].startswith("changed outside, ")
            assert heads["Proposal"][0] == "2"
            assert heads["Proposal"][1].startswith("qwen3-8b, ")
            assert OLD in row.spoken
            assert MINE in row.spoken
            assert THEIRS in row.spoken

    qloop.run_until_complete(main())


@pytest.mark.parametrize(
    ("keys", "lines", "effect"),
    [
        (("choose_now",), [MINE], "Kept as in the file"),
        (("choose_theirs",), [THEIRS], "Accepted: the proposal's words"),
        (("choose_both",), [MINE, THEIRS], "Accepted: both, the file's first"),
        (("choose_both",) * 2, [THEIRS, MINE], "Accepted: both, the proposal's first"),
        (("choose_both",) * 3, [MINE, THEIRS], "Accepted: both, the file's first"),
        (("choose_neither",), [], "Accepted: neither stays"),
    ],
)
def test_what_is_chosen_and_taken_is_what_is_written(
    qloop: asyncio.AbstractEventLoop, met: Path, qtbot: QtBot,
    keys: tuple[str, ...], lines: list[str], effect: str,
) -> None:  # fmt: skip
    async def main() -> None:
        async with shown(met, qtbot) as (pane, _, _):
            await reviewing(pane)
            n = sensor(pane).n
            run(pane, "accept")
            assert pane.review.deciding.decision(n) is None  # nothing wins unasked
            for key in keys:
                run(pane, key)
            assert pane.review.deciding.decision(n) is None  # chosen, not taken
            assert [p.text for p in front(pane).will if not p.soft] == lines
            run(pane, "accept")
            assert next(r for r in changes(pane) if r.n == n).effect == effect
            for left in pane.review.deciding.conflicts(left=True):
                pane.review.go_to(left.n)
                run(pane, "reject")
            await settle(pane)
            await did(pane, "accept_rest")
            await did(pane, "apply")
            said = [line for line in memory(met).split("\n") if "Sensor 7" in line]
            assert said == [f"- {line}" for line in lines]
            assert "- Release 2.4 is frozen until 19 December" in memory(met)

    qloop.run_until_complete(main())


def test_where_one_side_dropped_the_line_there_is_no_both(
    qloop: asyncio.AbstractEventLoop, met: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(met, qtbot) as (pane, _, _):
            await reviewing(pane)
            row = next(r for r in changes(pane) if r.word == "Changed here, dropped there")
            pane.review.go_to(row.n)
            run(pane, "choose_both")
            assert pane.review.deciding.choice(row.n) == ""
            assert "no both" in pane.undo_bar.accessibleName()
            run(pane, "choose_theirs")
            assert [p.text for p in front(pane).will] == ["Nothing: the lines go."]

    qloop.run_until_complete(main())


def test_three_columns_hold_the_same_choices_and_end_in_the_list(
    qloop: asyncio.AbstractEventLoop, met: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(met, qtbot) as (pane, _, _):
            await reviewing(pane)
            run(pane, "columns")
            assert pane.review.in_columns()
            assert not pane.scrubber.isVisible()
            kept = pane.review.columns.kept.text()
            assert kept.startswith("The change of ")  # by whom is not known: it came from outside
            assert kept.endswith("is kept as version 2, whatever you choose here.")
            pane.undo_bar.show_act("Said")  # stands above what the foot says, and ends the cards
            foot = pane.review.columns.kept.mapTo(pane, QPoint(0, 0)).y()
            assert pane.undo_bar.mapTo(pane, QPoint(0, pane.undo_bar.height())).y() < foot
            pane.undo_bar.close_bar()
            first, second = [c.n for c in pane.review.deciding.conflicts()]
            run(pane, "choose_now")
            run(pane, "accept")
            assert pane.review.deciding.focus == second
            run(pane, "previous")
            assert pane.review.deciding.focus == first
            run(pane, "next")
            run(pane, "edit")
            card = pane.review.columns.card(second)
            assert card is not None
            card.field.setPlainText("- Sensor 7 goes out of service")
            qtbot.keyClick(card.field, Qt.Key.Key_S, Qt.KeyboardModifier.ControlModifier)
            await settle(pane)
            assert not pane.review.in_columns()  # the rest stands in the list
            assert not front(pane).data.conflict
            await did(pane, "accept_rest")
            await did(pane, "apply")
            assert "- Sensor 7 goes out of service\n" in memory(met)

    qloop.run_until_complete(main())


def test_an_edit_in_the_place_itself_is_named_as_the_person_s_own(
    qloop: asyncio.AbstractEventLoop, tmp_path: Path, own_places: None, qtbot: QtBot
) -> None:
    async def main() -> None:
        folder = tmp_path / "own"
        await proposed(folder)
        async with shown(folder, qtbot) as (pane, engine, _):
            now = await engine.ask.memory()
            await engine.do.write_memory(now.text.replace(OLD, MINE), now.sha256)
            await settle(pane)
            await reviewing(pane)
            row = sensor(pane)
            said = next(p.text for p in row.pieces if p.label == "File now")
            assert said.startswith("by hand, ")
            run(pane, "columns")
            assert pane.review.columns.kept.text().startswith("Your edit of ")

    qloop.run_until_complete(main())


def test_without_a_conflict_there_are_no_columns(
    qloop: asyncio.AbstractEventLoop, demo_folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(demo_folder, qtbot) as (pane, _, _):
            await reviewing(pane)
            run(pane, "columns")
            assert not pane.review.in_columns()
            assert pane.undo_bar.accessibleName().startswith("There is no conflict")

    qloop.run_until_complete(main())


def test_a_merge_is_taken_apart_decided_by_line_and_put_together(
    qloop: asyncio.AbstractEventLoop, tmp_path: Path, own_places: None, qtbot: QtBot
) -> None:
    async def main() -> None:
        folder = tmp_path / "apart"
        await proposed(folder)
        async with shown(folder, qtbot) as (pane, _, _):
            await reviewing(pane)
            whole = len(changes(pane))
            lost = front(pane)
            assert lost.word == "Lost"
            await did(pane, "apart")
            assert "merged or split" in pane.undo_bar.accessibleName()
            run(pane, "reject")
            merge = next(r for r in changes(pane) if r.word == "Merged from 2")
            pane.review.go_to(merge.n)
            await did(pane, "apart")
            parts = [r for r in changes(pane) if r.data.group]
            assert [(r.word, len(r.data.before + r.data.after)) for r in parts] == [
                ("Lost", 1), ("Lost", 1), ("Added", 1),
            ]  # fmt: skip
            assert len(changes(pane)) == whole + 2
            heads = [r.title for r in pane.review.list.rows_model.rows() if r.head]
            assert heads[:2] == ["Losses", "Taken apart"]
            assert next(r for r in changes(pane) if r.data.before == lost.data.before).verdict
            await did(pane, "apart")
            assert len(changes(pane)) == whole
            assert front(pane).word == "Merged from 2"
            await did(pane, "apart")
            run(pane, "accept_rest")
            asked = [r.word for r in changes(pane) if not r.verdict]
            assert asked == ["Lost", "Lost"]  # a part that goes is a loss, and is asked
            for _ in range(2):
                run(pane, "reject")
            await settle(pane)
            await did(pane, "apply")
            text = memory(folder)
            for kept in ("- Prefers short answers\n", "- Wants the command first\n", FROZEN):
                assert kept in text
            assert "- Prefers short answers: the command first, the reason after\n" in text

    qloop.run_until_complete(main())


def test_the_strip_shows_every_change_and_leads_there(
    qloop: asyncio.AbstractEventLoop, tmp_path: Path, own_places: None, qtbot: QtBot
) -> None:
    async def main() -> None:
        folder = tmp_path / "strip"
        await proposed(folder)
        async with shown(folder, qtbot) as (pane, _, _):
            await reviewing(pane)
            strip = pane.review.strip
            assert [m.n for m in strip.marks()] == pane.review.deciding.order
            assert not any(m.decided for m in strip.marks())
            run(pane, "reject")
            assert [m.decided for m in strip.marks()].count(True) == 1
            assert strip.accessibleName() == "Overview: 1 of 10 decided"
            at = QPoint(strip.width() // 2, round(strip.y_of(6)))
            qtbot.mouseClick(strip, Qt.MouseButton.LeftButton, pos=at)
            assert pane.review.deciding.focus == pane.review.deciding.order[6]
            wheel = QWheelEvent(
                QPointF(at), QPointF(strip.mapToGlobal(at)), QPoint(), QPoint(0, -120),
                Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier,
                Qt.ScrollPhase.NoScrollPhase, False,
            )  # fmt: skip
            QApplication.sendEvent(strip, wheel)
            assert pane.review.deciding.focus == pane.review.deciding.order[7]

    qloop.run_until_complete(main())


@dataclass
class Person:
    """A person's settings as the window hands them in: only the look is asked here."""

    follow: bool

    async def load(self) -> SimpleNamespace:
        return SimpleNamespace(look=SimpleNamespace(follow_review=self.follow))


@pytest.mark.parametrize("follow", [True, False])
def test_whether_deciding_walks_on_is_the_person_s_setting(
    qloop: asyncio.AbstractEventLoop, demo_folder: Path, qtbot: QtBot, follow: bool
) -> None:
    async def main() -> None:
        async with shown(demo_folder, qtbot, person=Person(follow)) as (pane, _, _):
            await reviewing(pane)
            first = front(pane).n
            run(pane, "reject")
            assert (front(pane).n != first) is follow

    qloop.run_until_complete(main())


def test_large_text_folds_the_review_and_cuts_no_choice(
    qloop: asyncio.AbstractEventLoop, met: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(met, qtbot) as (pane, _, _):
            await reviewing(pane)
            sensor(pane)
            assert not pane.review.halves.narrow
            theme().choose(zoom=1.5)
            await settle(pane)
            assert pane.review.halves.narrow
            for size in ((1280, 800), (900, 640), (720, 520)):
                pane.resize(*size)
                await settle(pane)
                bed = card(pane).bed
                assert bed is not None
                switch = bed.switch
                assert switch.width() >= switch.sizeHint().width(), size

    qloop.run_until_complete(main())
