"""The timeline through its actions, its rows and its page, on a small fake engine."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QFontMetricsF, QGuiApplication
from PySide6.QtWidgets import QApplication, QWidget

from app.engine.records import TranscriptItem
from app.gui.look.type import font
from app.gui.panes.timeline.blocks import build, model_view
from app.gui.panes.timeline.pane import TimelinePane
from app.gui.panes.timeline.sessions import session_rows
from app.gui.panes.timeline.words import words
from app.gui.widgets.pane import Desk, Target
from tests.helpers.panes import on_desk, run, settled, targets
from tests.helpers.timelines import (
    NOW,
    Engine,
    at,
    conversation,
    said,
    session,
    shown_pane,
    started,
)


@pytest.fixture
def engine(desk: Desk) -> Engine:
    return on_desk(desk, Engine())


@pytest.fixture
def pane(desk: Desk, engine: Engine, qtbot, qloop) -> Iterator[TimelinePane]:
    yield from shown_pane(desk, qtbot, qloop)


# ---------------------------------------------------------------------------- the list


def test_sessions_stand_under_their_day_and_forks_under_their_parent() -> None:
    sessions = [
        session("a"), session("f", parent="a", last=at(-2_000)),
        session("y", last=NOW - timedelta(days=1)), session("n", last=None, failed=True),
    ]  # fmt: skip
    rows = session_rows(sessions, now=NOW, running=frozenset({"a"}))
    assert [(r.id, r.head, r.indent) for r in rows] == [
        ("head:2026-11-30", True, 0), ("a", False, 0), ("f", False, 1),
        ("head:2026-11-29", True, 0), ("y", False, 0), ("head:None", True, 0), ("n", False, 0),
    ]  # fmt: skip
    assert [r.title for r in rows if r.head] == ["Today", "Yesterday", "Without a time"]
    assert rows[1].dot
    assert "running" in rows[1].detail
    assert "stopped by an error" in rows[-1].detail
    assert "failure" in rows[-1].marks


def test_forks_that_go_in_a_circle_are_each_listed_once() -> None:
    rows = session_rows([session("a", parent="b"), session("b", parent="a")], now=NOW)
    assert [r.id for r in rows if not r.head] == ["a", "b"]


def test_the_filter_narrows_the_list_and_says_when_nothing_is_left(
    pane: TimelinePane, qloop, until
) -> None:
    started(pane, qloop, until)
    pane.side.filter.setText("session b")
    assert [r.id for r in pane.side.list.rows_model.rows() if not r.head] == ["b"]
    pane.side.filter.setText("nothing like it")
    assert pane.side.none.isVisibleTo(pane)


# ---------------------------------------------------------------------------- the transcript


def test_what_the_engine_did_inside_a_compacted_run_stands_with_it() -> None:
    blocks = build(conversation())
    assert [b.id for b in blocks] == [i.id for i in conversation()]
    assert [b.group for b in blocks[:5]] == ["e5", "e5", "e5", "", ""]


def test_a_long_compacted_run_is_folded_and_says_how_many() -> None:
    items = [said(n, covered_by="c") for n in range(1, 42)]
    blocks = build(items)
    assert (len(blocks), blocks[-1].form, blocks[-1].count) == (5, "more", 37)
    assert words(blocks[-1], NOW.date()).link == "Show 37 more messages"
    assert len(build(items, opened=frozenset({blocks[-1].id}))) == 42


def test_the_models_view_begins_with_the_summary_and_leaves_out_what_it_covers() -> None:
    seen = [conversation()[i].id for i in model_view(conversation())]
    assert seen == ["e5", "e4", "e6", "e8", "e12"]
    reset = [*conversation(), TranscriptItem(id="r", seq=20, kind="reset"), said(21)]
    assert [reset[i].id for i in model_view(reset)] == ["e21"]


def test_days_part_a_transcript() -> None:
    items = [said(1, when=NOW - timedelta(days=1)), said(2, when=NOW)]
    assert [b.form for b in build(items)] == ["say", "day", "say"]


def test_every_entry_is_said_in_one_sentence(pane: TimelinePane, qloop, until) -> None:
    started(pane, qloop, until)
    sheet = pane.page.sheet
    spoken = [sheet.spoken(n) for n in range(len(sheet.rows))]
    assert all(spoken)
    assert "Summarised, no longer in the context" in spoken[0]
    assert "Call of shell, ls -l, 3 lines" in spoken[5]
    assert "26.9k to 8,400" in spoken[4]
    assert "could not be read" in spoken[7]


def test_a_flush_line_says_each_thing_once_and_keeps_its_time(
    pane: TimelinePane, qloop, until
) -> None:
    empty = said(3, "flush", text="Nothing was worth keeping.")
    shown = words(build([empty])[0], NOW.date())
    assert shown.title == "Flush: nothing was worth keeping"
    assert "worth" not in shown.words
    kept = said(4, "flush", target="memory/2026-11-27.md", detail={"bullets": 2})
    assert words(build([kept])[0], date(2026, 11, 30)).title == "Flush: 2 lines, 27 Nov"
    assert words(build([kept])[0], date(2026, 11, 28)).title == "Flush: 2 lines, Yesterday"
    laid = pane.page.sheet.ink.lay(build([conversation()[8]])[0], 600, False)
    link = next(hot for hot in laid.hots if hot.name == "Show the day")
    title = QFontMetricsF(font("small", 500)).horizontalAdvance(laid.shown.title)
    time = QFontMetricsF(font("small", tabular=True)).horizontalAdvance(laid.shown.words)
    assert link.box.left() >= 22 + title + 8 + time + 8


def test_prompts_tools_and_errors_are_walked_by_their_keys(
    pane: TimelinePane, qloop, until
) -> None:
    started(pane, qloop, until)
    sheet = pane.page.sheet
    sheet.set_current(0)
    walked = []
    for name in ("prompt", "tool", "error", "error", "tool.back", "tool.back", "prompt.back"):
        run(pane, name, qloop, until)
        walked.append(sheet.current().id)
    assert walked == ["e4", "e6", "e8", "e9", "e8", "e6", "e4"]


def test_marks_of_a_kind_are_walked_on_the_axis(pane: TimelinePane, qloop, until) -> None:
    started(pane, qloop, until)
    pane.page.sheet.set_current(0, show="top")
    pane.page.axis.set_head(0)
    for name, want in (("compaction", "e5"), ("flush", "e10"), ("memory", "e11")):
        run(pane, name, qloop, until)
        assert pane.page.sheet.current().id == want


def test_links_lead_to_the_day_the_proposal_and_the_text_put_aside(
    pane: TimelinePane, qloop, until
) -> None:
    started(pane, qloop, until)
    gone = targets(pane)
    for row in (1, 8, 9):
        pane.page.sheet.set_current(row)
        run(pane, "children", qloop, until)
    assert gone == [
        Target("evicted", path="evicted/a.txt", entry_id="e2"),
        Target("daily", path="memory/2026-11-30.md", section="r1"),
        Target("memory", proposal="p1"),
    ]


def test_a_click_on_a_card_opens_the_full_text(pane: TimelinePane, qloop, until, qtbot) -> None:
    started(pane, qloop, until)
    gone = targets(pane)
    sheet = pane.page.sheet
    sheet.show_row(1, "top")
    spot = sheet.hots(1)[0].box.center() + QPointF(sheet.left(), sheet.y_of(1))
    qtbot.mouseClick(sheet.viewport(), Qt.MouseButton.LeftButton, pos=spot.toPoint())
    assert gone == [Target("evicted", path="evicted/a.txt", entry_id="e2")]


def test_a_call_opens_in_place_with_its_result(pane: TimelinePane, qloop, until) -> None:
    started(pane, qloop, until)
    sheet = pane.page.sheet
    row = sheet.row_of("e6")
    sheet.set_current(row)
    before, top = sheet.height_of(row), sheet.y_of(row)
    sheet.press(row)
    assert sheet.height_of(row) > before
    assert sheet.y_of(row) <= top
    assert [t.prose.text for t in sheet.laid(row).texts][-1] == "a\nb\nc"


def test_enter_goes_on_in_the_chat(pane: TimelinePane, qloop, until, qtbot) -> None:
    started(pane, qloop, until)
    gone = targets(pane)
    pane.page.sheet.setFocus()
    qtbot.keyClick(pane.page.sheet, Qt.Key.Key_Return)
    assert gone == [Target("chat", session_id="a")]


def test_copying_gives_plain_text_of_what_is_chosen(pane: TimelinePane, qloop, until) -> None:
    started(pane, qloop, until)
    pane.page.sheet.set_current(3)
    pane.page.sheet.set_current(4, extend=True)
    run(pane, "copy", qloop, until)
    assert QGuiApplication.clipboard().text() == "text 4\n\n## GOAL\nWhat was said"


def test_text_marked_with_the_mouse_is_what_is_remembered(
    pane: TimelinePane, engine: Engine, qloop, until, qtbot
) -> None:
    started(pane, qloop, until)
    sheet = pane.page.sheet
    row = sheet.row_of("e4")
    sheet.show_row(row, "top")
    text = sheet.laid(row).texts[0]
    left = QPoint(sheet.left() + 1, round(sheet.y_of(row) + text.y + 6))
    view = sheet.viewport()
    qtbot.mousePress(view, Qt.MouseButton.LeftButton, pos=left)
    qtbot.mouseMove(view, left + QPoint(300, 0))
    move = left + QPoint(300, 0)
    _drag(view, move)
    qtbot.mouseRelease(view, Qt.MouseButton.LeftButton, pos=move)
    assert sheet.marked_text() == "text 4"
    run(pane, "remember", qloop, until)
    assert engine.done == [("remember", "text 4", "a", "e4")]


def _drag(view: QWidget, to: QPoint) -> None:
    from PySide6.QtCore import QEvent
    from PySide6.QtGui import QMouseEvent

    button = Qt.MouseButton.LeftButton
    event = QMouseEvent(QEvent.Type.MouseMove, QPointF(to), QPointF(view.mapToGlobal(to)),
                        button, button, Qt.KeyboardModifier.NoModifier)  # fmt: skip
    QApplication.sendEvent(view, event)


# ---------------------------------------------------------------------------- deeds, states


def test_a_session_goes_to_the_trash_and_comes_back(
    pane: TimelinePane, engine: Engine, qloop, until
) -> None:
    started(pane, qloop, until)
    run(pane, "trash", qloop, until)
    assert engine.done == [("trash", "a")]
    assert pane.page.session.id == "b"
    undo = [w for w in pane.deeds.bar.findChildren(QWidget) if getattr(w, "text", str)() == "Undo"]
    undo[0].click()
    qloop.run_until_complete(settled(pane, until))
    assert engine.done[-1] == ("restore", "a")
    assert pane.page.session.id == "a"


def test_an_empty_workspace_says_how_a_session_begins(
    pane: TimelinePane, engine: Engine, qloop, until
) -> None:
    engine.list = []
    pane.activate()
    qloop.run_until_complete(settled(pane, until))
    assert pane.stack.currentWidget() is pane.empty
    gone = targets(pane)
    pane.empty.button.click()
    assert gone == [Target("chat", section="new")]


def test_a_giant_line_is_cut_and_painted_at_once(
    pane: TimelinePane, engine: Engine, qloop, until
) -> None:
    engine.items["a"] = [said(1, text="x" * 400_000), said(2, text="中" * 40_000)]
    started(pane, qloop, until)
    pane.grab()
    laid = pane.page.sheet.laid(0)
    assert laid.texts[0].prose.cut
    assert laid.texts[0].prose.lines <= 30
    assert [h.act for h in laid.hots] == ["read:0"]
