"""The chat with sessions of ten thousand items, and with texts of a megabyte."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.engine.errors import UserError
from app.engine.records import TranscriptItem
from app.gui.panes.chat.rows import AnswerRow, UserRow
from app.gui.panes.chat.transcript import MOST
from app.gui.widgets.pane import Desk, Target
from tests.gui.conftest import NOW
from tests.helpers.chatting import LONG, long_pane, room
from tests.helpers.fake_server import Reply, chunk, say
from tests.helpers.waiting import quiet, until


def test_an_answer_of_a_megabyte_streams_and_can_be_had_again(qtbot, runs, tmp_path: Path) -> None:
    async def main() -> None:
        text = "A line of words that goes on.\n\n" * 33_000
        pieces = [chunk({"content": text[n : n + 50_000]}) for n in range(0, len(text), 50_000)]
        reply = Reply(events=[chunk({"role": "assistant"}), *pieces, chunk(finish="stop")])
        async with room(qtbot, tmp_path, reply, say("unused")) as r:
            await r.said("Much")
            row = r.pane.view.rows()[-1]
            assert isinstance(row, AnswerRow)
            assert len(row.view.markdown()) == len(text)
            session = r.pane.session_id
            await r.pane.open(Target("chat", section="new"))
            await r.pane.open(Target("chat", session_id=session))
            await until(lambda: len(r.pane.view.rows()) == 2)
            row = r.pane.view.rows()[-1]
            assert isinstance(row, AnswerRow)
            assert row.more.isVisible()
            row.more.click()
            await until(lambda: len(row.view.markdown()) > 900_000)

    runs(main())


def test_ten_thousand_items_are_paged_and_any_of_them_found(qtbot, runs, desk: Desk) -> None:
    async def main() -> None:
        async with long_pane(desk, qtbot) as pane:
            view = pane.view
            assert view.rows()[-1].piece.key == "i9999"
            await until(lambda: view.verticalScrollBar().value() > 0)
            assert view.at_end()
            assert view.earlier.isVisibleTo(view)
            for _ in range(4):
                first = view.rows()[0].piece.key
                view.show_earlier()
                await until(lambda f=first: view.rows()[0].piece.key != f)
                await until(lambda: not view.filling())
                assert len(view.rows()) <= MOST
            assert view.later.isVisibleTo(view)
            await pane.open(Target("chat", session_id="s", entry_id="i300"))
            row = view.row("i300")
            assert row is not None
            await until(lambda: not view.filling())
            await until(lambda: 0 <= row.mapTo(view.viewport(), row.rect().topLeft()).y() <= 60)
            assert len(pane.items) <= 200, "a page around it, not all that came since"
            assert view.later.isVisibleTo(view)
            for _ in range(6):  # on from there, past the end of what is loaded
                last = view.rows()[-1].piece.key
                view.show_later()
                await until(lambda k=last: view.rows()[-1].piece.key != k)
                await until(lambda: not view.filling())
            numbers = [item.seq for item in pane.items]
            assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
            assert numbers[-1] > 500
            with pytest.raises(UserError):
                await pane.open(Target("chat", session_id="s", entry_id="gone"))
            view.show_newest()
            await until(lambda: bool(view.rows()) and view.rows()[-1].piece.key == "i9999")
            await until(lambda: not view.filling())
            assert view.at_end()
            assert not view.later.isVisibleTo(view)

    runs(main())


def test_the_place_is_kept_when_rows_come_above_and_below(qtbot, runs, desk: Desk) -> None:
    async def main() -> None:
        async with long_pane(desk, qtbot) as pane:
            view = pane.view
            bar = view.verticalScrollBar()
            await quiet(lambda: bar.value() > 0 and view.at_end() and not view.filling())
            bar.setValue(bar.maximum() // 2)
            assert not view.at_end()
            assert view.newest.isVisible()
            seen = next(
                row
                for row in view.rows()
                if row.mapTo(view.viewport(), row.rect().topLeft()).y() > 0
            )
            before = seen.mapTo(view.viewport(), seen.rect().topLeft()).y()
            first = view.rows()[0].piece.key
            view.show_earlier()
            await until(lambda: view.rows()[0].piece.key != first and not view.filling())
            await until(lambda: seen.mapTo(view.viewport(), seen.rect().topLeft()).y() == before)
            newer = TranscriptItem("new", LONG + 1, "assistant", NOW, text="New words")
            pane.items.append(newer)
            pane._show()
            await until(lambda: view.row("new") is not None and not view.filling())
            await until(lambda: seen.mapTo(view.viewport(), seen.rect().topLeft()).y() == before)
            view.newest.click()
            await until(lambda: view.at_end() and not view.newest.isVisible())

    runs(main())


def test_what_the_person_said_is_never_laid_out_as_one_giant_line(qtbot, runs, desk: Desk) -> None:
    async def main() -> None:
        async with long_pane(desk, qtbot) as pane:
            giant = TranscriptItem("giant", LONG + 1, "user", NOW, text="z" * 40_000, cut=400_000)
            pane.items.append(giant)
            pane._show()
            await until(lambda: pane.view.row("giant") is not None)
            row = pane.view.row("giant")
            assert isinstance(row, UserRow)
            assert row.more.text() == "Show all 400,000 characters"
            assert len(row.text.toPlainText()) < 7_000

            async def full(_session: str, _item: str) -> str:
                return "z" * 400_000

            desk.engine.ask.full_text = full
            row.more.click()
            await until(lambda: row.well is not None)
            assert row.well is not None
            assert len(row.well.text()) == 400_000

    runs(main())
