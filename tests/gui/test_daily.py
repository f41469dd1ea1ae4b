"""The daily logs through their actions, their rows and their calendar, on a small fake engine."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta

import pytest
from PySide6.QtCore import QPointF, Qt

from app.engine.errors import SessionNotFound, Unreadable
from app.engine.events import Bus, Changed
from app.engine.records import (
    DailyLine,
    DayLog,
    JobInfo,
)  # fmt: skip
from app.gui.panes.daily.days import by_day, card_rows, counts, file_rows, row_at_line
from app.gui.panes.daily.pane import DailyPane
from app.gui.widgets.pane import Desk, Target
from tests.helpers.days import NOW, TODAY, Engine, section, today_log
from tests.helpers.panes import Until, act, in_window, on_desk, run, settled, targets


@pytest.fixture
def engine(desk: Desk) -> Engine:
    return on_desk(desk, Engine())


@pytest.fixture
def pane(desk: Desk, engine: Engine, qtbot, qloop) -> Iterator[DailyPane]:
    yield from in_window(DailyPane(desk), qtbot, qloop)


def started(pane: DailyPane, qloop, until: Until) -> None:
    pane.activate()
    qloop.run_until_complete(settled(pane, until))


def lines(pane: DailyPane) -> list[int]:
    return [row.line.line for row in pane.cards.rows if row.line is not None]


# ---------------------------------------------------------------------------- files and days


@pytest.mark.parametrize("is_open", [False, True])
def test_variants_stand_with_their_day_and_the_rest_by_what_it_is(is_open: bool) -> None:
    files = Engine().files
    assert [f.path for f in by_day(files)[date(2026, 11, 27)]] == [
        "memory/2026-11-27.md", "memory/2026-11-27-topic.md",
    ]  # fmt: skip
    assert counts(by_day(files))[date(2026, 11, 27)] == 2
    assert date(2026, 10, 3) not in by_day(files)
    rows = file_rows(files, archive_open=is_open, today=TODAY)
    assert [(r.title, r.right) for r in rows[:3]] == [
        ("2026-11-27-topic.md", "variant"), ("notes.md", "2"), ("Archive, 3 Oct", "1"),
    ]  # fmt: skip
    assert len(rows) == (4 if is_open else 3)


def test_a_day_is_one_card_per_flush_newest_first_without_blank_lines() -> None:
    rows = card_rows([today_log()])
    assert [(r.form, r.line.line if r.line else 0, r.ends) for r in rows] == [
        ("head", 0, False), ("line", 15, True), ("head", 0, False), ("line", 9, False),
        ("line", 11, True), ("head", 0, False), ("line", 4, False), ("line", 5, True),
    ]  # fmt: skip
    assert rows[row_at_line(rows, "memory/2026-11-30.md", 10)].line.line == 9  # type: ignore[union-attr]
    assert row_at_line(rows, "memory/elsewhere.md", 3) == -1


def test_the_day_says_what_it_holds_and_each_line_its_state(
    pane: DailyPane, qloop, until: Until
) -> None:
    started(pane, qloop, until)
    assert pane.page.head.title.text() == "Today"
    assert "2 flushes, 1 save, 5 lines" in pane.page.head.details.text()
    spoken = [pane.cards.spoken(n) for n in range(len(pane.cards.rows))]
    assert spoken[3] == "Line 9: User seems unhappy. rejected."
    assert spoken[0].startswith("saved on request")
    assert "Tern upload" in spoken[2]
    assert pane.cards.ranges[pane.cards.rows[2].id] == "messages 3 to 5"


def test_w_unfolds_the_reason_and_links_to_the_review(pane: DailyPane, qloop, until: Until) -> None:
    started(pane, qloop, until)
    row = next(i for i, r in enumerate(pane.cards.rows) if r.line and r.line.line == 4)
    pane.cards.set_current(row)
    before = pane.cards.height_of(row)
    run(pane, "why", qloop, until)
    assert pane.cards.height_of(row) > before
    assert "In MEMORY.md since version 31." in pane.cards.spoken(row)
    gone = targets(pane)
    run(pane, "children", qloop, until)
    assert gone == [Target("memory", proposal="p1")]
    run(pane, "why", qloop, until)
    assert pane.cards.height_of(row) == before


def test_a_head_links_to_its_session_by_click_key_and_enter(
    pane: DailyPane, qloop, until: Until, qtbot
) -> None:
    started(pane, qloop, until)
    gone = targets(pane)
    cards = pane.cards
    spot = cards.hots(2)[0].box.center() + QPointF(cards.left(), cards.y_of(2))
    qtbot.mouseClick(cards.viewport(), Qt.MouseButton.LeftButton, pos=spot.toPoint())
    cards.set_current(3)
    run(pane, "parent", qloop, until)
    cards.setFocus()
    qtbot.keyClick(cards, Qt.Key.Key_Return)
    assert gone == [
        Target("timeline", session_id="s1", entry_id="e5"),
        Target("timeline", session_id="s1", entry_id="e3"),
        Target("timeline", session_id="s1", entry_id="e3"),
    ]


def test_what_no_session_wrote_says_so(pane: DailyPane, qloop, until: Until) -> None:
    started(pane, qloop, until)
    pane.cards.set_current(1)
    action = act(pane, "parent")
    assert action.off() == "This was not written by a session."


# ---------------------------------------------------------------------------- walking days


def test_days_with_a_log_are_walked_and_today_is_a_key_away(
    pane: DailyPane, qloop, until: Until
) -> None:
    started(pane, qloop, until)
    run(pane, "before", qloop, until)
    assert pane.day == date(2026, 11, 27)
    assert [r.name for r in pane.cards.rows if r.form == "file"] == [
        "2026-11-27.md", "2026-11-27-topic.md",
    ]  # fmt: skip
    run(pane, "before", qloop, until)
    assert [r.problem for r in pane.cards.rows] == ["2026-11-20.md is not UTF-8 text."]
    assert act(pane, "before").off() != ""
    run(pane, "today", qloop, until)
    assert lines(pane) == [15, 9, 11, 4, 5]


def test_a_click_into_the_calendar_shows_that_day(
    pane: DailyPane, qloop, until: Until, qtbot
) -> None:
    started(pane, qloop, until)
    calendar = pane.side.calendar
    at = calendar.cell(date(2026, 11, 27)).center().toPoint()
    qtbot.mouseClick(calendar, Qt.MouseButton.LeftButton, pos=at)
    qloop.run_until_complete(settled(pane, until))
    assert pane.day == date(2026, 11, 27)
    at = calendar.cell(date(2026, 11, 12)).center().toPoint()
    qtbot.mouseClick(calendar, Qt.MouseButton.LeftButton, pos=at)
    qloop.run_until_complete(settled(pane, until))
    assert pane.page.empty.head.text() == "Nothing was kept on this day"


def test_the_calendar_turns_over_years_and_knows_its_days(pane: DailyPane) -> None:
    calendar = pane.side.calendar
    for _ in range(2):
        calendar.turn(1)
    assert calendar.title() == "January 2027"
    for of in (date(2027, 1, 1), date(2027, 1, 31)):
        center = calendar.cell(of).center()
        assert calendar.day_at(center.x(), center.y()) == of


def test_today_turns_over_at_midnight_and_what_is_shown_stays(
    pane: DailyPane, desk: Desk, qloop, until: Until
) -> None:
    started(pane, qloop, until)
    desk.now = lambda: NOW + timedelta(hours=12)
    pane.look_at_clock()
    assert pane.page.head.title.text() == "Yesterday"
    assert lines(pane) == [15, 9, 11, 4, 5]
    assert pane.side.calendar.today == date(2026, 12, 1)


def test_without_a_log_of_today_the_newest_day_is_shown_first(
    pane: DailyPane, engine: Engine, qloop, until: Until
) -> None:
    engine.files = engine.files[1:]
    started(pane, qloop, until)
    assert pane.day == date(2026, 11, 27)
    run(pane, "today", qloop, until)
    assert pane.page.stack.currentWidget() is pane.page.empty
    assert pane.page.empty.button.text() == "Flush now"


# ---------------------------------------------------------------------------- targets, files


def test_a_target_scrolls_to_its_line_and_marks_the_words(
    pane: DailyPane, qloop, until: Until
) -> None:
    target = Target("daily", path="memory/2026-11-30.md", line=5, find="对账")
    qloop.run_until_complete(pane.open(target))
    assert pane.cards.current().line.line == 5
    assert pane.cards.lit == pane.cards.current().id
    assert pane.page.find_bar.count.text() == "1 of 1"
    qloop.run_until_complete(pane.open(Target("daily", path="memory/2026-11-30.md", section="r2")))
    assert pane.cards.current().section.run == "r2"


def test_an_archived_file_is_shown_by_itself(pane: DailyPane, qloop, until: Until) -> None:
    qloop.run_until_complete(pane.open(Target("daily", path="memory/archive/2026-10-03.md")))
    assert pane.page.head.title.text() == "2026-10-03.md"
    assert "archived" in pane.page.head.details.text()
    assert "memory/archive/2026-10-03.md" in [r.id for r in pane.side.files.rows_model.rows()]


def test_a_file_that_is_gone_is_said(pane: DailyPane, qloop) -> None:
    with pytest.raises(Unreadable):
        qloop.run_until_complete(pane.open(Target("daily", path="memory/2020-01-01.md")))


def test_a_new_flush_appears_without_moving_what_one_reads(
    pane: DailyPane, engine: Engine, bus: Bus, qloop, until: Until
) -> None:
    started(pane, qloop, until)
    pane.cards.set_current(3)
    log = engine.logs["memory/2026-11-30.md"]
    new = section(4, 20, DailyLine(22, "- Fresh"))
    engine.logs["memory/2026-11-30.md"] = DayLog(log.path, log.day, (*log.sections, new))

    async def change() -> None:
        bus.publish(Changed(frozenset({"daily"})))
        await until(lambda: 22 in lines(pane))

    qloop.run_until_complete(change())
    assert pane.cards.current().line.line == 9


def test_the_month_is_told_in_figures(pane: DailyPane, qloop, until: Until) -> None:
    started(pane, qloop, until)
    words = [t.text() for t in pane.side.tally._words.values()]
    assert words == ["2 merged", "1 waiting", "1 left out", "1 rejected"]
    assert pane.side.tally.title.text() == "This month"


# ---------------------------------------------------------------------------- jobs


def test_flush_now_takes_the_newest_session_and_tells_the_end(
    pane: DailyPane, engine: Engine, qloop, until: Until
) -> None:
    started(pane, qloop, until)
    action = act(pane, "flush")
    action.run()
    qloop.run_until_complete(until(lambda: pane.jobs.running("flush")))
    assert pane.page.flush.text() == "Flushing"
    assert action.off() == "One is running."
    engine.job = JobInfo("j1", "flush", "by hand", "done", NOW)
    qloop.run_until_complete(until(lambda: not pane.jobs.running("flush")))
    assert engine.done == [("flush", "s1")]
    assert pane.jobs.bar.accessibleName() == "Flushed “Tern upload”"


def test_a_consolidation_that_failed_is_a_notice_with_its_cause(
    pane: DailyPane, engine: Engine, qloop, until: Until
) -> None:
    started(pane, qloop, until)
    engine.job = JobInfo("j1", "consolidate", "by hand", "failed", NOW, reason="No model.")
    run(pane, "consolidate", qloop, until)
    assert engine.done == [("consolidate",)]
    assert pane.notices.causes() == ["No model."]


def test_flush_without_a_session_says_what_to_do(
    pane: DailyPane, engine: Engine, qloop, until: Until
) -> None:
    engine.list = []
    started(pane, qloop, until)
    with pytest.raises(SessionNotFound):
        qloop.run_until_complete(pane.jobs.flush())


# ---------------------------------------------------------------------------- size, keys


def test_in_a_small_pane_the_calendar_is_a_week(pane: DailyPane, qloop, until: Until) -> None:
    started(pane, qloop, until)
    pane.resize(760, 560)
    assert not pane.side.isVisibleTo(pane)
    assert pane.side.calendar.rows() == 1
    assert pane.side.calendar.isVisibleTo(pane)
    pane.resize(1_076, 760)
    assert pane.side.calendar.rows() > 3
    assert pane.side.isVisibleTo(pane)


def test_a_giant_line_and_ten_thousand_lines_open(
    pane: DailyPane, engine: Engine, qloop, until: Until
) -> None:
    many = [DailyLine(n, f"- line {n}", "waiting") for n in range(5, 10_005)]
    giant = DailyLine(4, '{"a":"' + "x" * 400_000 + '"}', "waiting")
    engine.logs["memory/2026-11-30.md"] = DayLog(
        "memory/2026-11-30.md", TODAY, (section(1, 2, giant, *many),)
    )
    started(pane, qloop, until)
    pane.grab()
    assert len(pane.cards.rows) == 10_002
    assert [h.act for h in pane.cards.hots(1)] == ["why", "read"]
    pane.cards.set_current(10_001)
    assert pane.cards.current().line.line == 10_004
