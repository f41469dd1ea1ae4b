"""The timeline while one session is on its way: the session that was asked for last is shown."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from app.gui.panes.timeline.pane import TimelinePane
from app.gui.widgets.pane import Desk, Target
from tests.helpers.held import hold
from tests.helpers.panes import on_desk, settled
from tests.helpers.timelines import Engine, at, said, session, shown_pane, started


@pytest.fixture
def engine(desk: Desk) -> Engine:
    made = on_desk(desk, Engine())
    made.list.append(session("c", last=at(-4_000)))
    made.items["c"] = [said(n, text=f"more of it {n}") for n in range(1, 9)]
    return made


@pytest.fixture
def pane(desk: Desk, engine: Engine, qtbot, qloop) -> Iterator[TimelinePane]:
    yield from shown_pane(desk, qtbot, qloop)


def row_of(pane: TimelinePane, session_id: str):
    return next(row for row in pane.side.list.rows_model.rows() if row.id == session_id)


def shows(pane: TimelinePane, session_id: str) -> bool:
    """Head, entries and the mark in the list are all of that session."""
    said_by = {"a": "e12", "b": "e1", "c": "e8"}[session_id]
    return (
        pane.page.session.id == pane.page.reading.session_id == session_id
        and pane.page.items[-1].id == said_by
        and pane.side.list.current_row().id == session_id
    )


@pytest.mark.parametrize("target", ["a", "c"])
def test_a_target_is_shown_though_a_click_before_it_is_answered_late(
    pane: TimelinePane, engine: Engine, qloop, until, target: str
) -> None:
    started(pane, qloop, until)

    async def both() -> None:
        late = hold(engine, "transcript")
        pane.on_session(row_of(pane, "b"))
        await late.begun.wait()
        await pane.open(Target("timeline", session_id=target))
        late.go()
        await settled(pane, until)

    qloop.run_until_complete(both())
    assert shows(pane, target)


@pytest.mark.parametrize("asked", ["sessions", "transcript"])
def test_a_click_is_shown_though_a_target_before_it_is_answered_late(
    pane: TimelinePane, engine: Engine, qloop, until, asked: str
) -> None:
    started(pane, qloop, until)

    async def both() -> None:
        late = hold(engine, asked)
        pane.tasks.latest("open", pane.open(Target("timeline", session_id="c", entry_id="e4")))
        await late.begun.wait()
        pane.on_session(row_of(pane, "b"))
        await until(lambda: not pane.tasks.running("session"))
        late.go()
        await settled(pane, until)

    qloop.run_until_complete(both())
    assert shows(pane, "b")


def test_a_target_is_shown_though_the_first_look_is_answered_late(
    pane: TimelinePane, engine: Engine, qloop, until
) -> None:
    async def both() -> None:
        late = hold(engine, "transcript")
        pane.tasks.latest("again", pane.look_again())
        await late.begun.wait()
        await pane.open(Target("timeline", session_id="c", entry_id="e4"))
        late.go()
        await settled(pane, until)

    qloop.run_until_complete(both())
    assert shows(pane, "c")
    assert pane.page.sheet.current().id == "e4"


@pytest.mark.parametrize("held", [0, 1])
def test_a_target_is_shown_though_the_session_that_was_shown_went(
    pane: TimelinePane, engine: Engine, qloop, until, held: int
) -> None:
    """The list then chooses the neighbour of the row that went, as nobody wished."""
    started(pane, qloop, until)
    engine.list = [one for one in engine.list if one.id != "a"]

    async def both() -> None:
        late = hold(engine, "transcript", after=held)
        pane.tasks.latest("open", pane.open(Target("timeline", session_id="c")))
        await asyncio.sleep(0)
        await until(lambda: not pane.tasks.running("open" if held else "session"))
        late.go()
        await settled(pane, until)

    qloop.run_until_complete(both())
    assert shows(pane, "c")
