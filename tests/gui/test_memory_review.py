"""A review in the memory place, on a real engine: deciding, own words, apply, undo."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QInputMethodEvent
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.gui.look.theme import token
from app.gui.widgets.labels import Link, T
from tests.helpers.memory_place import (
    card,
    changes,
    did,
    front,
    memory,
    result,
    reviewing,
    run,
    settle,
    shown,
)


def test_losses_come_first_and_deciding_walks_on(
    qloop: asyncio.AbstractEventLoop, demo_folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(demo_folder, qtbot) as (pane, engine, _):
            await reviewing(pane)
            rows = pane.review.list.rows_model.rows()
            assert rows[0].title == "Losses"
            assert front(pane).word == "Lost"
            assert run(pane, "apply") == "Nothing is decided yet."
            await did(pane, "accept")
            assert changes(pane)[0].effect == "Accepted: the line goes"
            assert front(pane).word == "Merged from 2"
            assert any(row.gone == 1 for row in result(pane))
            await did(pane, "reject")
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
            await did(pane, "undecide")
            assert (await engine.ask.proposal(info.id)).decisions == ()

    qloop.run_until_complete(main())


def test_a_list_read_before_a_proposal_was_made_does_not_close_its_review(
    qloop: asyncio.AbstractEventLoop, demo_folder: Path, qtbot: QtBot, monkeypatch
) -> None:
    async def earlier(**_: object) -> list[object]:
        return []  # asked a moment before the run put its proposal down

    async def main() -> None:
        async with shown(demo_folder, qtbot) as (pane, engine, _):
            await reviewing(pane)
            monkeypatch.setattr(engine.ask, "proposals", earlier)
            await pane.refresh()
            await settle(pane)
            assert (pane.mode, changes(pane) != []) == ("review", True)

    qloop.run_until_complete(main())


def test_a_review_that_was_left_while_it_was_looked_at_again_stays_left(
    qloop: asyncio.AbstractEventLoop, demo_folder: Path, qtbot: QtBot, monkeypatch
) -> None:
    async def main() -> None:
        async with shown(demo_folder, qtbot) as (pane, engine, _):
            await reviewing(pane)
            asked, go_on, marks = asyncio.Event(), asyncio.Event(), engine.ask.marks

            async def slow_marks(*given: object) -> object:
                asked.set()
                await go_on.wait()
                return await marks(*given)

            monkeypatch.setattr(engine.ask, "marks", slow_marks)
            now = await engine.ask.memory()
            await engine.do.write_memory(now.text + "- Of another hand\n", now.sha256)
            await asyncio.wait_for(asked.wait(), 10)
            assert pane.leave()
            go_on.set()
            await settle(pane)
            assert pane.mode == "file"

    qloop.run_until_complete(main())


def test_accept_rest_never_takes_a_loss_along(
    qloop: asyncio.AbstractEventLoop, demo_folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(demo_folder, qtbot) as (pane, _, _):
            await reviewing(pane)
            await did(pane, "accept_rest")
            undecided = [row.word for row in changes(pane) if not row.verdict]
            assert undecided == ["Lost"]
            assert pane.acts.apply.text() == "Apply 6 changes"

    qloop.run_until_complete(main())


def test_apply_writes_what_the_result_shows_then_undo(
    qloop: asyncio.AbstractEventLoop, demo_folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(demo_folder, qtbot) as (pane, engine, _):
            before = memory(demo_folder)
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
            await did(pane, "apply")
            assert memory(demo_folder).rstrip("\n").split("\n") == promised
            assert "- Backups of the controller go to two memory cards" in memory(demo_folder)
            assert "- 周报用中文写，周五下午四点前发出" in memory(demo_folder)
            assert pane.mode == "file"
            assert pane.undo_bar.accessibleName().startswith("Version 4 written")
            assert pane.acts.primary.text() == "Consolidate now"
            pane.start_undo()
            await settle(pane)
            assert memory(demo_folder) == before
            assert [v.cause for v in await engine.ask.versions()][:2] == ["undo", "consolidation"]

    qloop.run_until_complete(main())


def test_an_undo_is_offered_only_while_it_takes_that_version_back(
    qloop: asyncio.AbstractEventLoop, demo_folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(demo_folder, qtbot) as (pane, engine, _):
            await reviewing(pane)
            run(pane, "accept_rest")
            await did(pane, "apply")
            assert [act.title for act in pane.undo_bar.acts] == ["Show", "Undo"]
            assert pane.undo_bar.isVisible()
            now = await engine.ask.memory()
            await engine.do.write_memory(now.text + "- By another hand\n", now.sha256)
            await settle(pane)
            assert not pane.undo_bar.isVisible()

    qloop.run_until_complete(main())


def test_a_whole_review_by_the_mouse_alone(
    qloop: asyncio.AbstractEventLoop, demo_folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(demo_folder, qtbot) as (pane, engine, _):

            def click(widget: QWidget, at: QPoint | None = None) -> None:
                at = at or widget.rect().center()
                qtbot.mouseClick(widget, Qt.MouseButton.LeftButton, pos=at)

            click(pane.acts.primary)
            await settle(pane)
            listed, deciding = pane.review.list, pane.review.deciding
            first = deciding.order[0]
            click(card(pane).reject)
            await settle(pane)
            for n in deciding.order[1:]:
                at = listed.rows_model.place_of(f"c{n}")
                listed.scrollTo(listed.rows_model.index(at))
                box = listed.visualRect(listed.rows_model.index(at))
                click(listed.viewport(), box.topLeft() + QPoint(36, 20))  # its circle
                await settle(pane)
            assert {d.n: d.verdict for d in deciding.decisions()} == {
                n: "reject" if n == first else "accept" for n in deciding.order
            }
            promised = [str(row.data) for row in result(pane) if row.number]
            click(pane.acts.apply)
            await settle(pane)
            assert memory(demo_folder).rstrip("\n").split("\n") == promised
            link = next(w for w in pane.undo_bar.findChildren(Link) if w.text() == "Undo")
            click(link)
            await settle(pane)
            assert [v.cause for v in await engine.ask.versions()][:2] == ["undo", "consolidation"]

    qloop.run_until_complete(main())


def test_what_is_left_undecided_stays_waiting(
    qloop: asyncio.AbstractEventLoop, demo_folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(demo_folder, qtbot) as (pane, engine, _):
            await reviewing(pane)
            pane.review.go_to(3)
            await did(pane, "accept")
            await did(pane, "apply")
            assert "- The pump runs 6 minutes at 06:30" in memory(demo_folder)
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
            await did(pane, "apply")
            assert pane.acts.primary.text() == "Consolidate now"
            assert pane.waiting() == []

    qloop.run_until_complete(main())


def test_when_another_gives_way_to_what_is_applied_nothing_waits(
    qloop: asyncio.AbstractEventLoop, demo_folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(demo_folder, qtbot) as (pane, engine, _):
            other = copied(demo_folder, (await engine.ask.proposals(waiting=True))[0].id)
            await pane.refresh()
            assert len(pane.waiting()) == 2
            pane.start_review(next(one.id for one in pane.waiting() if one.id != other))
            await settle(pane)
            run(pane, "reject")
            for _ in range(6):
                run(pane, "accept")
            await settle(pane)
            await did(pane, "apply")
            states = {one.id: one.state for one in await engine.ask.proposals()}
            assert sorted(states.values()) == ["partly_applied", "superseded"]
            assert pane.waiting() == []
            assert pane.acts.primary.text() == "Consolidate now"
            assert not pane.scrubber.line._waiting

    qloop.run_until_complete(main())


def copied(demo_folder: Path, proposal_id: str) -> str:
    """The id of a second proposal, of the same sections, that nobody has opened."""
    place = next(demo_folder.rglob(f"{proposal_id}.json"))
    other = f"{proposal_id}b"
    data = json.loads(place.read_text("utf-8"))
    data |= {"id": other, "state": "proposed"}
    place.with_name(f"{other}.json").write_text(json.dumps(data), "utf-8")
    return other


def test_own_words_are_written_with_chinese_by_input_method(
    qloop: asyncio.AbstractEventLoop, demo_folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(demo_folder, qtbot) as (pane, _, _):
            await reviewing(pane)
            pane.review.go_to(7)
            run(pane, "edit")
            field = card(pane).field
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
            await did(pane, "apply")
            assert "- 四号苗床只有罗勒\n" in memory(demo_folder)

    qloop.run_until_complete(main())


def test_letters_typed_into_own_words_decide_nothing(
    qloop: asyncio.AbstractEventLoop, demo_folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(demo_folder, qtbot) as (pane, _, _):
            await reviewing(pane)
            pane.review.go_to(7)
            run(pane, "edit")
            field = card(pane).field
            qtbot.keyClicks(field, "ar")
            assert pane.review.deciding.decided() == 0
            qtbot.keyClick(field, Qt.Key.Key_Escape)
            await settle(pane)
            assert not front(pane).editing
            assert pane.mode == "review"

    qloop.run_until_complete(main())


def test_narrow_window_turns_between_changes_and_result(
    qloop: asyncio.AbstractEventLoop, demo_folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(demo_folder, qtbot, (847, 612)) as (pane, _, _):
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


def test_words_in_a_card_have_the_colour_they_ask_for(
    qloop: asyncio.AbstractEventLoop, demo_folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(demo_folder, qtbot) as (pane, _, _):
            await reviewing(pane)
            said = next(t for t in card(pane).findChildren(T) if t.text().startswith("No source"))
            image = said.grab().toImage()
            seen = {
                image.pixelColor(x, y).name()
                for x in range(image.width())
                for y in range(image.height())
            }
            assert token("text_soft").name() in seen
            assert token("text").name() not in seen

    qloop.run_until_complete(main())


def test_copying_gives_plain_lines_of_what_is_chosen(
    qloop: asyncio.AbstractEventLoop, demo_folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(demo_folder, qtbot) as (pane, _, _):
            await reviewing(pane)
            lost = front(pane).data.before
            run(pane, "copy")
            assert QApplication.clipboard().text() == "\n".join(lost)
            pane.review.list.setFocus()
            qtbot.keyClick(pane.review.list, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
            run(pane, "copy")
            second = changes(pane)[1].data
            assert QApplication.clipboard().text() == "\n".join((*lost, *second.after))

    qloop.run_until_complete(main())
