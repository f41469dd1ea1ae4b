"""Where one stands in the timeline: targets, what comes meanwhile, find, range, zoom, scale."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import timedelta

import pytest

from app.engine.errors import SessionNotFound
from app.engine.events import Bus, TurnEvent
from app.gui.panes.timeline.pane import TimelinePane
from app.gui.panes.timeline.scale import build_scale
from app.gui.widgets.pane import Desk, Target
from tests.helpers.panes import on_desk, run, settled
from tests.helpers.timelines import (
    NOW,
    Engine,
    conversation,
    said,
    shown_pane,
    started,
)


@pytest.fixture
def engine(desk: Desk) -> Engine:
    return on_desk(desk, Engine())


@pytest.fixture
def pane(desk: Desk, engine: Engine, qtbot, qloop) -> Iterator[TimelinePane]:
    yield from shown_pane(desk, qtbot, qloop)


# ---------------------------------------------------------------------------- places


def test_a_target_scrolls_to_its_entry_also_by_the_id_of_a_result(
    pane: TimelinePane, qloop, until
) -> None:
    qloop.run_until_complete(pane.open(Target("timeline", session_id="a", entry_id="e7")))
    assert pane.page.sheet.current().id == "e6"


def test_a_target_in_another_session_marks_that_one_in_the_list_however_the_refresh_runs(
    pane: TimelinePane, engine: Engine, qloop, until, monkeypatch
) -> None:
    started(pane, qloop, until)
    assert pane.side.list.current_row().id == "a"
    sessions, transcript = engine.sessions, engine.transcript
    asked: list[str] = []

    async def listed():
        asked.append("sessions")
        await asyncio.sleep(0.05 if len(asked) == 1 else 0)  # the refresh's comes behind
        return await sessions()

    async def read(*args, **more):
        await asyncio.sleep(0.15)
        return await transcript(*args, **more)

    monkeypatch.setattr(engine, "sessions", listed)
    monkeypatch.setattr(engine, "transcript", read)

    async def opened_as_the_window_does() -> None:
        pane.deactivate()
        pane.activate()
        pane.tasks.latest("open", pane.open(Target("timeline", session_id="b")))
        await settled(pane, until)

    qloop.run_until_complete(opened_as_the_window_does())
    assert pane.page.session.id == "b"
    assert pane.side.list.current_row().id == "b"


def test_a_target_finds_an_entry_far_back_in_a_very_long_session(
    pane: TimelinePane, engine: Engine, qloop, until
) -> None:
    engine.items["a"] = [
        said(n, when=NOW, covered_by="e9000" if n < 8_000 else "") for n in range(1, 12_001)
    ]
    qloop.run_until_complete(pane.open(Target("timeline", session_id="a", entry_id="e1234")))
    assert pane.page.sheet.current().id == "e1234"
    row = pane.page.sheet.current_at()
    assert row in pane.page.sheet.visible()


def test_a_vanished_session_or_entry_is_said(pane: TimelinePane, qloop, until) -> None:
    with pytest.raises(SessionNotFound):
        qloop.run_until_complete(pane.open(Target("timeline", session_id="gone")))
    qloop.run_until_complete(pane.open(Target("timeline", session_id="a", entry_id="nowhere")))
    assert pane.notices.causes() == ["That entry is not in this session"]


def test_a_hundred_thousand_entries_open_by_laying_out_what_is_seen(
    pane: TimelinePane, engine: Engine, qloop, until
) -> None:
    engine.items["a"] = [said(n, when=NOW) for n in range(1, 100_001)]
    started(pane, qloop, until)
    assert len(pane.page.items) == 2_000
    sheet = pane.page.sheet
    seen = sheet.current_at(), sheet.visible().stop
    assert seen[1] == len(sheet.rows)  # the newest stands at the bottom
    sheet.set_current(0)
    top = sheet.rows[sheet.visible().start].id
    qloop.run_until_complete(settled(pane, until))
    assert len(pane.page.items) > 2_000
    assert sheet.rows[0].form == "older"
    here = sheet.rows[sheet.visible().start].id
    assert here == top or sheet.row_of(top) in sheet.visible()


def test_what_comes_while_one_reads_moves_nothing(
    pane: TimelinePane, engine: Engine, qloop, until
) -> None:
    engine.items["a"] = [said(n) for n in range(1, 200)]
    started(pane, qloop, until)
    sheet = pane.page.sheet
    sheet.set_current(50, show="top")
    before = sheet.rows[50].id, sheet.y_of(50)
    engine.items["a"] = [*engine.items["a"], said(200)]
    qloop.run_until_complete(pane.look_again())
    assert len(pane.page.items) == 200
    assert (sheet.current().id, sheet.y_of(sheet.current_at())) == before


def test_at_the_end_one_follows_what_comes(pane: TimelinePane, engine: Engine, qloop, until):
    engine.items["a"] = [said(n) for n in range(1, 100)]
    started(pane, qloop, until)
    engine.items["a"] = [*engine.items["a"], said(100)]
    qloop.run_until_complete(pane.look_again())
    assert pane.page.sheet.visible().stop == 100


def test_a_running_reply_shows_in_the_list(pane: TimelinePane, bus: Bus, qloop, until) -> None:
    started(pane, qloop, until)

    async def turn() -> None:
        bus.publish(TurnEvent("a", "started"))
        await until(lambda: pane.side.list.rows_model.rows()[1].dot)
        bus.publish(TurnEvent("a", "finished"))
        await until(lambda: not pane.side.list.rows_model.rows()[1].dot)

    qloop.run_until_complete(turn())


# ---------------------------------------------------------------------------- find, range, view


def test_find_marks_hits_and_walks_them(pane: TimelinePane, qloop, until) -> None:
    started(pane, qloop, until)
    assert pane.find()
    pane.page.find_bar.field.setText("TEXT")
    pane.page.finder.now()
    qloop.run_until_complete(settled(pane, until))
    assert pane.page.find_bar.count.text() == "1 of 3"
    run(pane, "hit", qloop, until)
    assert pane.page.sheet.current().id == "e3"
    run(pane, "escape", qloop, until)
    assert not pane.page.find_bar.isVisibleTo(pane)
    assert pane.page.finder.hits == []


@pytest.mark.parametrize(
    ("needle", "row"), [("what was said", "e5"), ("LS -L", "e6"), ("boom", "e8")]
)
def test_a_hit_that_is_folded_away_is_unfolded_as_one_comes_to_it(
    pane: TimelinePane, qloop, until, needle: str, row: str
) -> None:
    started(pane, qloop, until)
    sheet = pane.page.sheet
    assert not sheet.is_open(sheet.rows[sheet.row_of(row)])
    pane.find()
    pane.page.find_bar.field.setText(needle)
    pane.page.finder.now()
    qloop.run_until_complete(settled(pane, until))
    assert sheet.current().id == row
    assert sheet.is_open(sheet.current())
    assert needle.casefold() in pane.page.sheet.text_of(sheet.current_at(), 0).casefold()
    assert [block.id for block in sheet.rows if sheet.is_open(block)] == [row]


def test_a_target_with_words_unfolds_what_holds_them(pane: TimelinePane, qloop, until) -> None:
    started(pane, qloop, until)
    for find, opened in (("shell", []), ("ls -l", ["e6"])):
        target = Target("timeline", session_id="a", entry_id="e7", find=find)
        qloop.run_until_complete(pane.open(target))
        qloop.run_until_complete(settled(pane, until))
        sheet = pane.page.sheet
        assert sheet.current().id == "e6"
        assert [block.id for block in sheet.rows if sheet.is_open(block)] == opened


def test_a_brushed_range_is_told_in_words_and_cleared(pane: TimelinePane, qloop, until) -> None:
    started(pane, qloop, until)
    axis = pane.page.axis
    axis.set_head(3)
    for _ in range(3):
        run(pane, "range.right", qloop, until)
    words_now = pane.page.range_line.words.text()
    assert words_now.endswith("selected: 1 message, 2 calls, 1 compaction.")
    assert pane.page.sheet.is_outside(pane.page.sheet.rows[0])
    assert not pane.page.sheet.is_outside(pane.page.sheet.rows[4])
    run(pane, "escape", qloop, until)
    assert axis.range is None
    assert not pane.page.range_line.isVisibleTo(pane)


def test_the_axis_zooms_about_a_place_and_fits_again(pane: TimelinePane, qloop, until) -> None:
    started(pane, qloop, until)
    axis = pane.page.axis
    axis.set_head(5)
    before = axis.x_of(axis.head)
    run(pane, "zoom.in", qloop, until)
    assert axis.view != (0.0, axis.scale.length)
    assert abs(axis.x_of(axis.head) - before) < 1
    run(pane, "zoom.fit", qloop, until)
    assert axis.view == (0.0, axis.scale.length)


def test_the_switch_turns_to_what_the_model_saw(pane: TimelinePane, qloop, until) -> None:
    started(pane, qloop, until)
    run(pane, "view", qloop, until)
    assert [b.id for b in pane.page.sheet.rows] == ["e5", "e4", "e6", "e8", "e12"]
    assert pane.page.switch.current() == "model"
    run(pane, "view", qloop, until)
    assert len(pane.page.sheet.rows) == len(conversation())


# ---------------------------------------------------------------------------- the scale


def test_idle_gaps_are_folded_and_keep_their_length() -> None:
    times = [0, 10, 20, 30, 40, 7_240, 7_250]
    items = [said(n, when=NOW + timedelta(seconds=t)) for n, t in enumerate(times, 1)]
    scale = build_scale(items)
    assert [(f.start, f.seconds) for f in scale.folds] == [(40.0, 7_200.0)]
    assert scale.length < 200
    assert scale.when(scale.places[5]) == items[5].when
    assert build_scale(items, by_order=True).places == (0, 1, 2, 3, 4, 5, 6)


def test_a_missing_time_is_hollow_beside_its_neighbour() -> None:
    scale = build_scale([said(1), said(2, when=None), said(3)])
    marks = scale.lanes[0]
    assert [m.hollow for m in marks] == [False, True, False]
    assert marks[1].v == marks[0].v
