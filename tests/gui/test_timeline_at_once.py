"""The timeline while several things are under way at once: what came last is what is shown."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from app.gui.panes.timeline import reading
from app.gui.panes.timeline.pane import TimelinePane
from app.gui.widgets.pane import Desk, Target
from tests.helpers.panes import on_desk, settled
from tests.helpers.timelines import NOW, Engine, said, shown_pane

LENGTH = 20_000
Hold = Callable[[], tuple[threading.Event, threading.Event]]


@pytest.fixture
def engine(desk: Desk) -> Engine:
    made = on_desk(desk, Engine())
    made.items["a"] = [said(n, when=NOW, kind="assistant") for n in range(1, LENGTH + 1)]
    return made


@pytest.fixture
def pane(desk: Desk, engine: Engine, qtbot, qloop) -> Iterator[TimelinePane]:
    yield from shown_pane(desk, qtbot, qloop)


@pytest.fixture
def hold(monkeypatch) -> Hold:
    """Hold back the next rows that are made beside the loop, as a busy machine does.

    Gives (held, go on).
    """

    def held_back() -> tuple[threading.Event, threading.Event]:
        held, go = threading.Event(), threading.Event()
        build = reading.build

        def later(*args, **how):
            if not held.is_set():
                held.set()
                go.wait(10)
            return build(*args, **how)

        monkeypatch.setattr(reading, "build", later)
        return held, go

    return held_back


def at(entry_id: str) -> Target:
    return Target("timeline", session_id="a", entry_id=entry_id)


async def held_refresh(pane: TimelinePane, hold: Hold, until, then: Target) -> None:
    """A refresh hangs between reading and showing; `then` is opened meanwhile."""
    held, go = hold()
    pane.tasks.latest("refresh", pane.refresh())
    await until(held.is_set)
    try:
        await pane.open(then)
    finally:
        go.set()
    await settled(pane, until)


def test_a_slow_refresh_does_not_bring_back_where_one_was(
    pane: TimelinePane, qloop, until, hold
) -> None:
    qloop.run_until_complete(pane.open(at("e3500")))
    qloop.run_until_complete(settled(pane, until))
    qloop.run_until_complete(held_refresh(pane, hold, until, at("e16000")))
    sheet = pane.page.sheet
    assert sheet.current().id == "e16000"
    assert sheet.current_at() in sheet.visible()
    assert pane.page.items is pane.page.reading.items


def test_a_slow_refresh_at_the_end_does_not_pull_one_back_there(
    pane: TimelinePane, qloop, until, hold
) -> None:
    qloop.run_until_complete(pane.open(Target("timeline", session_id="a")))
    qloop.run_until_complete(settled(pane, until))
    assert pane.page.sheet.at_end()
    qloop.run_until_complete(held_refresh(pane, hold, until, at(f"e{LENGTH - 900}")))
    sheet = pane.page.sheet
    assert sheet.current().id == f"e{LENGTH - 900}"
    assert sheet.current_at() in sheet.visible()


def test_an_entry_is_met_though_older_ones_come_while_it_is_gone_to(
    pane: TimelinePane, engine: Engine, qloop, until, hold
) -> None:
    qloop.run_until_complete(pane.open(at("e10000")))
    qloop.run_until_complete(settled(pane, until))

    async def both() -> None:
        held, go = hold()
        opening = pane.tasks.start("opening", pane.open(at("e15000")))
        await until(held.is_set)
        assert await pane.page.reading.older()
        go.set()
        await opening
        await settled(pane, until)

    qloop.run_until_complete(both())
    assert pane.page.sheet.current().id == "e15000"


def test_where_one_was_going_before_is_given_up_for_a_target(
    pane: TimelinePane, qloop, until, hold
) -> None:
    qloop.run_until_complete(pane.open(at("e10000")))
    qloop.run_until_complete(settled(pane, until))

    async def both() -> None:
        held, go = hold()
        pane.page.sheet.end_wanted.emit(-1)
        await until(held.is_set)
        try:
            await pane.open(at("e15000"))
        finally:
            go.set()
        await settled(pane, until)

    qloop.run_until_complete(both())
    assert pane.page.sheet.current().id == "e15000"


def test_a_hit_is_gone_to_by_what_it_is_not_by_where_it_stood(
    pane: TimelinePane, engine: Engine, qloop, until
) -> None:
    for n in (9_500, 10_100):
        engine.items["a"][n - 1] = said(n, when=NOW, kind="assistant", text="the harbour gate")
    qloop.run_until_complete(pane.open(at("e10000")))
    pane.page.finder.open("harbour")
    qloop.run_until_complete(settled(pane, until))
    assert len(pane.page.finder.hits) == 2

    async def walked_before_the_new_look_is_over() -> None:
        assert await pane.page.load_more(-1)
        pane.page.finder.walk(-1)

    qloop.run_until_complete(walked_before_the_new_look_is_over())
    qloop.run_until_complete(settled(pane, until))
    assert pane.page.sheet.current().id == "e9500"
