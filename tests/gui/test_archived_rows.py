"""What was archived, and what somebody deleted by hand, after a restart, in the whole window."""

from __future__ import annotations

import asyncio
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.engine.engine import Engine
from app.engine.records import Hit, Query
from app.engine.workspace.daily_log import append_section
from app.engine.workspace.layout import Layout
from app.gui.widgets.labels import T
from tests.helpers.waiting import until
from tests.helpers.whole_window import Room, window_on
from tests.helpers.workspaces import engine_on, fixed

SPOKEN = Qt.ItemDataRole.AccessibleTextRole
WORDS = ("gannet", "petrel", "puffin", "fulmar", "skua", "heron", "curlew", "plover", "dunlin")
NOW = fixed(2026, 11, 30)
LAST = date(2026, 8, 20)  # 102 days before: the newest of the five that are archived
RULE = "Daily logs older than 90 days go to the archive."


def days_of(root: Path) -> list[date]:
    """Five old days and four new ones, each with a word of its own in its log."""
    old = [LAST - timedelta(days=n) for n in range(5)]
    days = old + [NOW().date() - timedelta(days=n + 1) for n in range(4)]
    for day, word in zip(days, WORDS, strict=True):
        when = datetime(day.year, day.month, day.day, 12).astimezone()
        append_section(Layout.at(root), kind="flush", text=f"- a {word} flew", now=when)
    return days


async def archived(root: Path) -> None:
    """One round of maintenance, after a person has seen what is due."""
    async with engine_on(root, clock=NOW) as desk:
        await desk.engine.do.allow_retention()
        await desk.engine.do.maintain()
        await desk.engine.drain()


def listed(pane) -> dict[str, str]:
    """Rows under the calendar by their id: what is read aloud of each."""
    return {row.id: row.spoken for row in pane.side.files.rows_model.rows()}


def lines(pane) -> list[str]:
    return [row.line.text for row in pane.cards.rows if row.line is not None]


async def pressed(room: Room, pane, row_id: str) -> None:
    """A click on the row of that id."""
    files = pane.side.files
    index = files.rows_model.index(files.rows_model.place_of(row_id))
    files.scrollTo(index)
    click(files.viewport(), files.visualRect(index).center())
    await room.rest(pane)


async def day_pressed(room: Room, pane, day: date) -> None:
    """A click into the calendar, on the month of that day."""
    calendar = pane.side.calendar
    click(calendar, calendar.cell(day).center().toPoint())
    await room.rest(pane)


def click(on: QWidget, at: QPoint) -> None:
    QTest.mouseClick(on, Qt.MouseButton.LeftButton, pos=at)


async def paths(engine: Engine, text: str) -> list[str]:
    return [hit.path for hit in (await engine.ask.search(Query(text))).hits]


@pytest.mark.case("B95")
def test_no_row_is_dead_and_what_was_archived_comes_back(
    qloop: asyncio.AbstractEventLoop, tmp_path: Path, own_places: None, qtbot: QtBot
) -> None:
    root = tmp_path / "birds"
    root.mkdir()
    days = days_of(root)
    names = [f"{day.isoformat()}.md" for day in days]

    async def main() -> None:
        await archived(root)
        (root / "memory/archive" / names[4]).unlink()  # one of the archived, one of the others
        (root / "memory" / names[8]).unlink()
        async with (
            engine_on(root, clock=NOW) as desk,
            window_on(qtbot, desk.engine, tmp_path / "window.json", now=NOW) as room,
        ):
            await desk.engine.index_ready()
            await every_row_opens(room, days, names)
            await every_word_is_found_where_it_is(room, desk.engine, names)
            await the_trail_tells_each_move(room, desk.engine, names)
            await one_comes_back_and_stays(room, desk.engine, names)

    qloop.run_until_complete(main())


async def every_row_opens(room: Room, days: list[date], names: list[str]) -> None:
    pane = await room.go("daily")
    await pressed(room, pane, "archive")
    rows = listed(pane)
    held = [f"memory/archive/{name}" for name in names[:4]]
    assert sorted(rows) == sorted(["archive", *held])
    for path, word in zip(held, WORDS, strict=False):
        assert rows[path].endswith(", archived")
        await pressed(room, pane, path)
        assert lines(pane) == [f"- a {word} flew"]
        assert "archived" in pane.page.head.details.text()
        assert pane.page.back.isVisible()
    room.act("daily.today")
    await room.rest(pane)
    for day, word in zip(days[5:8], WORDS[5:8], strict=True):
        await day_pressed(room, pane, day)
        assert lines(pane) == [f"- a {word} flew"]
        assert not pane.page.back.isVisible()
    await day_pressed(room, pane, days[8])
    assert lines(pane) == []
    assert pane.page.empty.head.text() == "Nothing was kept on this day"


async def every_word_is_found_where_it_is(room: Room, engine: Engine, names: list[str]) -> None:
    for n, word in enumerate(WORDS):
        place = "memory/archive" if n < 5 else "memory"
        gone = n in (4, 8)
        assert await paths(engine, word) == ([] if gone else [f"{place}/{names[n]}"])
    for word, said in (("gannet", True), ("heron", False), ("skua", None)):
        pane = await room.go("search")
        rows = await hits_of(pane, word)
        if said is None:
            assert rows == []
            continue
        assert any("archived" in row for row in rows) is said, rows
        hits = pane.list.hits.entries()
        pane.list.choose(next(n for n, one in enumerate(hits) if isinstance(one, Hit)))
        pane.list.setFocus()
        QTest.keyClick(pane.list, Qt.Key.Key_Return)
        await until(lambda: room.window.place() == "daily")
        daily = room.window.pane("daily")
        await room.rest(daily)
        assert lines(daily) == [f"- a {word} flew"]


async def hits_of(pane, word: str) -> list[str]:
    """Type a word; the rows of its answer as they are read aloud."""
    pane.field.set_query(word)
    await until(lambda: pane.results.answer and pane.results.answer.asked.text == word
                and not pane.tasks.running("search"))  # fmt: skip
    hits = pane.list.hits
    return [str(hits.data(hits.index(n), SPOKEN)) for n in range(len(hits.entries()))]


async def the_trail_tells_each_move(room: Room, engine: Engine, names: list[str]) -> None:
    moves = await engine.ask.moves()
    assert sorted((m.source, m.target, m.rule, m.step) for m in moves) == [
        (f"memory/{name}", f"memory/archive/{name}", RULE, "archive") for name in sorted(names[:5])
    ]
    assert all(move.when == NOW() for move in moves)
    pane = await room.go("activity")
    pane.list.select(next(job.id for job in pane.jobs if job.kind == "maintain"))
    await room.rest(pane)
    said = [label.text() for label in pane.detail.findChildren(T)]
    assert "5 files moved" in said
    assert RULE in said
    assert f"memory/{names[0]} → memory/archive/{names[0]}" in said


async def one_comes_back_and_stays(room: Room, engine: Engine, names: list[str]) -> None:
    pane = await room.go("daily", path=f"memory/archive/{names[0]}", line=1)
    room.act("daily.bring_back")
    await room.rest(pane)
    assert pane.day == LAST
    assert lines(pane) == ["- a gannet flew"]
    assert f"memory/archive/{names[0]}" not in listed(pane)
    assert await paths(engine, "gannet") == [f"memory/{names[0]}"]
    back = (await engine.ask.moves())[-1]
    assert (back.target, back.rule) == (f"memory/{names[0]}", "Brought back by hand.")
    assert await engine.ask.retention_preview() == [], "no round takes it away again"
    pane.jobs.bar.acts[0].run()  # Undo
    await room.rest(pane)
    assert listed(pane)[f"memory/archive/{names[0]}"].endswith(", archived")
    assert await paths(engine, "gannet") == [f"memory/archive/{names[0]}"]
