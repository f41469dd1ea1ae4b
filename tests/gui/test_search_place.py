"""The search place, through its field, keys and models."""

from __future__ import annotations

import asyncio
from datetime import date

import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtGui import QInputMethodEvent
from PySide6.QtWidgets import QAbstractButton, QApplication, QLineEdit, QWidget

from app.engine.errors import Unreadable
from app.engine.events import Changed
from app.engine.records import (
    Hit,
    HitPlace,
)
from app.gui.look.type import font
from app.gui.panes.search.around import PageLine
from app.gui.panes.search.asking import FIRST, LATER
from app.gui.panes.search.filters import Filter, Known, completions, joined, split
from app.gui.panes.search.marked import lay_out
from app.gui.panes.search.model import Head, HitModel, by_layer, shown
from app.gui.panes.search.page import PageModel, PageView, marks
from app.gui.panes.search.pane import SearchPane
from app.gui.panes.search.tabs import Tab, Tabs
from app.gui.widgets.pane import Target
from tests.gui.conftest import NOW
from tests.helpers.found import HITS, Ask, hit, searched, settle


@pytest.fixture
def ask(desk) -> Ask:
    desk.engine.ask = Ask()
    return desk.engine.ask


@pytest.fixture
def pane(qtbot, qloop, desk, ask) -> SearchPane:
    made = SearchPane(desk)
    qtbot.addWidget(made)
    made.resize(1076, 772)
    made.show()
    made.went = []
    made.go.connect(made.went.append)
    yield made
    qloop.run_until_complete(made.tasks.end())


def found(pane) -> list[str]:
    return [e.layer for e in pane.list.hits.entries() if isinstance(e, Hit)]


def press(widget: QWidget, key: Qt.Key, qtbot) -> None:
    qtbot.keyClick(widget, key)


# ---------------------------------------------------------------------------- typing


def test_hits_come_while_typing_in_the_order_of_layers(qtbot, qloop, until, pane, ask):
    qtbot.keyClicks(pane.field, "uplo")
    settle(qloop, until, pane, lambda: found(pane))
    assert [q.text for q in ask.asked][:1] == ["uplo"], "one question after the pause"
    assert found(pane) == ["memory", "daily", "sessions", "evicted"]
    heads = [e.title for e in pane.list.hits.entries() if isinstance(e, Head)]
    assert heads == ["Memory", "Daily logs", "Sessions", "Evicted"]
    assert pane.parts.tabs._tabs["all"].count == 4
    assert pane.parts.foot.words.text().startswith(
        "Words, best first within each place, 4 hits in 6 ms"
    )


def test_chinese_by_input_method_is_searched_once_it_is_committed(qloop, until, pane, ask):
    begun = QInputMethodEvent("duizhang", [])
    QApplication.sendEvent(pane.field, begun)
    qloop.run_until_complete(asyncio.sleep(0.2))
    assert ask.asked == [], "what is being composed is not searched for"
    done = QInputMethodEvent()
    done.setCommitString("对账")
    QApplication.sendEvent(pane.field, done)
    settle(qloop, until, pane, lambda: ask.asked)
    assert ask.asked[0].text == "对账"


def test_a_newer_search_stops_the_older_one_and_nobody_hears_of_it(qloop, until, pane, ask, desk):
    ask.gate = asyncio.Event()
    pane.field.set_query("one")
    settle(qloop, until, pane, lambda: len(ask.asked) == 1)
    pane.field.set_query("two")
    settle(qloop, until, pane, lambda: len(ask.asked) == 2)
    assert ask.cancelled == 1
    ask.gate.set()
    settle(qloop, until, pane, lambda: found(pane))
    assert pane.results.answer.asked.text == "two"
    assert desk.engine.faults == []


def test_a_search_that_the_engine_interrupts_is_no_failure(qloop, until, pane, ask, desk):
    async def interrupted(query):
        ask.asked.append(query)
        raise asyncio.CancelledError

    ask.search = interrupted
    pane.field.set_query("one")
    settle(qloop, until, pane, lambda: ask.asked and not pane.tasks.running("search"))
    assert desk.engine.faults == []
    assert pane.notices.causes() == []


def test_a_failure_becomes_a_notice_with_its_remedy(qloop, until, pane, ask):
    async def failing(query):
        raise Unreadable("The disk is gone.", "Plug it in.")

    ask.search = failing
    pane.field.set_query("one")
    settle(qloop, until, pane, lambda: pane.notices.causes())
    assert pane.notices.causes() == ["The disk is gone."]


# ---------------------------------------------------------------------------- filters


def test_a_typed_filter_becomes_a_chip_and_backspace_takes_it_away(qtbot, qloop, until, pane, ask):
    qtbot.keyClicks(pane.field, "role:user tern")
    assert pane.field.filters() == [Filter("role", "user")]
    assert pane.field.text() == "tern"
    settle(qloop, until, pane, lambda: ask.asked)
    assert ask.asked[-1].text == "role:user tern"
    pane.field.setCursorPosition(0)
    press(pane.field, Qt.Key.Key_Backspace, qtbot)
    assert pane.field.filters() == []
    assert pane.field.query() == "tern"


def test_a_half_typed_filter_is_not_searched_for(qtbot, qloop, until, pane, ask):
    qtbot.keyClicks(pane.field, "tern role:us")
    settle(qloop, until, pane, lambda: ask.asked)
    assert ask.asked[-1].text == "tern"


def test_filters_are_completed_by_keys(qtbot, qloop, until, pane, ask):
    pane.activateWindow()
    pane.field.setFocus()
    settle(qloop, until, pane, pane.field.hasFocus)
    qtbot.keyClicks(pane.field, "tern role:")
    assert pane.parts.suggest.isVisible()
    press(pane.field, Qt.Key.Key_Down, qtbot)
    press(pane.field, Qt.Key.Key_Return, qtbot)
    assert pane.field.filters() == [Filter("role", "assistant")]
    pane.parts.suggest.offer()
    press(pane.field, Qt.Key.Key_Down, qtbot)
    press(pane.field, Qt.Key.Key_Return, qtbot)
    assert pane.parts.suggest.list.current_row().id == "user", "each list begins at its first"
    press(pane.field, Qt.Key.Key_Escape, qtbot)
    pane.field.setText("tern")
    assert pane.field.text().strip() == "tern"
    assert not pane.parts.suggest.isVisible()


@pytest.mark.parametrize(
    ("text", "filters", "rest"),
    [
        ("role:user tern", [Filter("role", "user")], "tern"),
        ("tern role:nobody x", [], "tern role:nobody x"),
        ('session:"a b" tern', [Filter("session", "a b")], "tern"),
        ("-tool:grep 对账 ", [Filter("-tool", "grep")], "对账 "),
        ("day:2026-09 in:daily,memory x", [Filter("day", "2026-09"), Filter("in", "daily,memory")],
         "x"),
        ("-day:2026 x", [], "-day:2026 x"),
        ("http://role:user", [], "http://role:user"),
        ("tern day:2026", [], "tern day:2026"),
    ],
)  # fmt: skip
def test_filters_are_taken_out_of_the_text(text, filters, rest):
    assert split(text) == (filters, rest)
    assert split(joined(filters, rest), finished=True)[0][: len(filters)] == filters


def test_completions_know_days_sessions_and_tools():
    known = Known(("grep",), {"s-1": "Upload fix"}, (date(2026, 11, 28),), date(2026, 11, 30))
    assert completions("tool", "g", known) == [("grep", "")]
    assert completions("session", "fix", known) == [("s-1", "Upload fix")]
    assert ("2026-10", "last month") in completions("day", "2026-1", known)


# ---------------------------------------------------------------------------- opening and back


@pytest.mark.parametrize(
    ("layer", "target"),
    [
        ("memory", Target("memory", line=3, find="upload")),
        ("daily", Target("daily", path="memory/2026-11-28.md", line=11, find="upload")),
        ("sessions", Target("timeline", session_id="s-1", entry_id="e7", find="upload")),
        ("evicted", Target("evicted", path="large_tool_results/a/c1-00", find="upload")),
    ],
)
def test_enter_opens_the_place_with_find_filled_in(qtbot, qloop, until, pane, layer, target):
    searched(qloop, until, pane, "upload")
    while pane.list.current().layer != layer:
        press(pane.field, Qt.Key.Key_Down, qtbot)
    press(pane.field, Qt.Key.Key_Return, qtbot)
    assert pane.went == [target]
    assert pane.remembered.recent() == ["upload"]


def test_coming_back_finds_the_same_place_in_the_list(qtbot, qloop, until, pane, ask):
    ask.hits = tuple(
        hit("sessions", f"upload number {n}", 0, path="agents/a/sessions/s-1.log.jsonl", line=n,
            session_id="s-1", entry_id=f"e{n}")
        for n in range(1, 120)
    )  # fmt: skip
    pane.activate()
    searched(qloop, until, pane, "upload")
    pane.set_layer("sessions")
    settle(qloop, until, pane, lambda: pane.results.answer.asked.layer == "sessions")
    for _ in range(40):
        pane.list.step(1)
    bar, chosen = pane.list.verticalScrollBar(), pane.list.current()
    at = bar.value()
    assert at > 0
    pane.open_hit()
    pane.deactivate()
    ask.hits = (*ask.hits, hit())
    pane.desk.signals.changed.emit(Changed(frozenset({"index"})))
    assert pane.why_not_back() == ""
    pane.back_to_list()
    assert pane.went[-1] == Target("search")
    assert pane.focus_parts()[0] is pane.list or not pane.shown
    before = len(ask.asked)
    pane.activate()
    settle(qloop, until, pane, lambda: len(ask.asked) > before
           and not pane.tasks.running("search"))  # fmt: skip
    assert pane.list.current() == chosen
    assert bar.value() == at


def test_target_fills_the_field(qloop, until, pane, ask):
    qloop.run_until_complete(pane.open(Target("search", find="in:evicted 对账")))
    assert pane.field.filters() == [Filter("in", "evicted")]
    settle(qloop, until, pane, lambda: ask.asked)
    assert ask.asked[-1].text == "in:evicted 对账"


# ---------------------------------------------------------------------------- layers and order


def test_tabs_order_and_groups_are_asked_for(qloop, until, pane, ask):
    searched(qloop, until, pane, "upload")
    pane.next_layer(1)
    settle(qloop, until, pane, lambda: found(pane) == ["memory"])
    assert pane.parts.tabs._tabs["all"].count == 4, "the counts of the other tabs stay"
    pane.set_layer("all")
    pane.turn_order()
    pane.turn_grouping()
    settle(qloop, until, pane, lambda: pane.results.answer.asked.grouping == "day"
           and pane.results.answer.asked.newest)  # fmt: skip
    assert ask.asked[-1].newest_first
    assert pane.desk.kept["search.newest"] is True
    heads = [e.title for e in pane.list.hits.entries() if isinstance(e, Head)]
    assert heads == ["Saturday, 28 November"]


def test_a_layer_that_found_no_room_is_asked_for_by_itself(qloop, until, pane, ask):
    many = [
        hit("sessions", f"upload {n}", 0, path="agents/a/sessions/s-1.log.jsonl", line=n)
        for n in range(1, 400)
    ]
    ask.hits = (*many, HITS[1])
    searched(qloop, until, pane, "upload")
    assert found(pane)[0] == "memory"
    sessions = next(e for e in pane.list.hits.entries()
                    if isinstance(e, Head) and e.key == "sessions")  # fmt: skip
    assert (sessions.count, sessions.more) == ("399", 394)


def test_the_same_line_in_log_and_file_is_one_hit_with_its_places(qloop, until, pane, ask):
    place = HitPlace("daily", "memory/2026-11-28.md", 11)
    ask.hits = (
        hit("memory", "- uploads are retried twice", 2, path="MEMORY.md", line=3, places=(place,)),
    )
    searched(qloop, until, pane, "upload")
    assert shown(pane.list.current(), {}, NOW).time == "also in daily logs"
    settle(qloop, until, pane, lambda: pane.preview.ways)
    also = pane.preview.ways[-1]
    assert (also.label, also.text) == ("Also in", "Saturday, 28 November, line 11")
    link = next(b for b in pane.preview.findChildren(QAbstractButton)
                if b.accessibleName() == f"{also.label} {also.text}")  # fmt: skip
    link.click()
    assert pane.went == [Target("daily", path="memory/2026-11-28.md", line=11, find="upload")]


def test_a_line_that_is_told_as_a_place_is_no_hit_of_its_layer_again(qloop, until, pane, ask):
    place = HitPlace("history", "history:2", 4)
    twice = hit("history", "- uploads are retried twice", 2, path="history:2", line=4)
    other = hit("history", "- uploads were slow", 2, path="history:1", line=5)
    ask.hits = (
        hit("memory", "- uploads are retried twice", 2, path="MEMORY.md", line=3, places=(place,)),
        twice, other,
    )  # fmt: skip
    real = ask.search

    async def search(query):
        found = await real(query)
        keep = found.hits if query.layers else tuple(h for h in found.hits if h != twice)[:1]
        return replace(found, hits=keep)

    ask.search = search
    searched(qloop, until, pane, "upload")
    assert [(e.layer, e.line) for e in pane.list.hits.entries() if isinstance(e, Hit)] == [
        ("memory", 3), ("history", 5),
    ]  # fmt: skip
    head = next(e for e in pane.list.hits.entries() if isinstance(e, Head) and e.key == "history")
    assert (head.count, head.more) == ("2", 0), "both are told, one as a place"


def test_a_hundred_thousand_hits_come_on_demand(qloop, until, pane, ask):
    ask.hits = tuple(
        hit("sessions", f"upload {n}", 0, path="agents/a/sessions/s-1.log.jsonl", line=n)
        for n in range(100_000)
    )
    searched(qloop, until, pane, "upload")
    pane.set_layer("sessions")
    settle(qloop, until, pane, lambda: len(found(pane)) == 200)
    for size in range(FIRST + LATER, 100_000 + LATER, LATER):
        assert pane.list.hits.has_more()
        pane.list.scrollToBottom()
        want = min(size, 100_000) + 1
        settle(qloop, until, pane, lambda n=want: pane.list.hits.rowCount() == n)
    assert not pane.list.hits.has_more()
    assert [q.start for q in ask.asked[-2:]] == [99_400, 99_800], "a page costs a page"
    pane.list.scrollToBottom()
    pane.grab()
    assert pane.list.choose(100_000)


def test_what_stands_at_the_top_stays_there_when_a_page_comes(qloop, until, pane, ask):
    ask.hits = tuple(
        hit("sessions", f"upload {n} " + "and more words " * (n % 9), 0, line=n,
            path="agents/a/sessions/s-1.log.jsonl", entry_id=f"e{n}")
        for n in range(5_000)
    )  # fmt: skip
    searched(qloop, until, pane, "upload")
    pane.set_layer("sessions")
    settle(qloop, until, pane, lambda: len(found(pane)) == 200
           and not pane.tasks.running("search"))  # fmt: skip
    view = pane.list
    view.verticalScrollBar().setValue(view.verticalScrollBar().maximum() - 333)
    top = view.rowAt(0)
    y, shown_hit = view.rowViewportPosition(top), view.hits.entry(top)
    settle(qloop, until, pane, lambda: len(found(pane)) == FIRST + LATER)
    assert view.rowAt(0) == top
    assert view.rowViewportPosition(top) == y
    assert view.hits.entry(top) == shown_hit


def test_the_next_page_is_asked_for_some_views_before_the_end(qloop, until, pane, ask):
    ask.hits = many_of_a_day(1_000)
    searched(qloop, until, pane, "upload")
    pane.set_layer("sessions")
    settle(qloop, until, pane, lambda: len(found(pane)) == FIRST
           and not pane.tasks.running("search"))  # fmt: skip
    bar = pane.list.verticalScrollBar()
    bar.setValue(bar.maximum() - 6 * bar.pageStep())
    settle(qloop, until, pane, lambda: len(found(pane)) == FIRST + LATER)


def test_a_page_goes_on_in_the_day_that_was_begun(qloop, until, pane, ask):
    ask.hits = many_of_a_day(1_000)
    pane.turn_order()
    pane.turn_grouping()
    searched(qloop, until, pane, "upload")
    for size in (FIRST + LATER, 1_000):
        pane.list.scrollToBottom()
        settle(qloop, until, pane, lambda n=size: len(found(pane)) == n)
    heads = [e.title for e in pane.list.hits.entries() if isinstance(e, Head)]
    assert heads == ["Saturday, 28 November"]


def many_of_a_day(count: int) -> tuple[Hit, ...]:
    return tuple(
        hit("sessions", f"upload {n}", 0, path="agents/a/sessions/s-1.log.jsonl", line=n)
        for n in range(count)
    )


def test_the_end_of_the_best_says_how_all_are_reached(qtbot, qloop, until, pane, ask):
    ask.hits = tuple(
        hit("sessions", f"upload {n}", 0, path="agents/a/sessions/s-1.log.jsonl", line=n)
        for n in range(300)
    )
    ask.complete = False
    searched(qloop, until, pane, "upload")
    pane.set_layer("sessions")
    settle(qloop, until, pane, lambda: len(found(pane)) == 200)
    pane.list.scrollToBottom()
    settle(qloop, until, pane, lambda: len(found(pane)) == 300)
    end = pane.list.hits.rowCount() - 1
    assert pane.list.hits.index(end).data() == ("The best 300 of the newest matches, Newest first")
    pane.list.scrollToBottom()
    QApplication.processEvents()
    box = pane.list.visualRect(pane.list.hits.index(end))
    at = box.center()
    at.setX(box.right() - 30)
    qtbot.mouseClick(pane.list.viewport(), Qt.MouseButton.LeftButton, pos=at)
    settle(qloop, until, pane, lambda: ask.asked[-1].newest_first
           and not pane.tasks.running("search"))  # fmt: skip
    last = pane.list.hits.entries()[-1]
    assert isinstance(last, Hit), "in the order of time there is nothing to add"


# ---------------------------------------------------------------------------- nothing found


def test_no_hits_names_the_reason_and_the_ways_out_with_their_counts(qloop, until, pane, ask):
    everything = ask.hits
    ask.reason = "The filters leave out 4 matches."
    real = ask.search

    async def search(query):
        ask.hits = () if "role:tool" in query.text else everything
        return await real(query)

    ask.search = search
    pane.field.set_query("role:tool day:2026-09 upload")
    settle(qloop, until, pane, lambda: pane.parts.none.ways)
    none = pane.parts.none
    assert none.head.text() == "No hits, because of the filters"
    assert none.sentence.text() == "The filters leave out 4 matches."
    assert [(w.title, w.hits) for w in none.ways] == [
        ("Drop “role: tool”", 4), ("Drop both filters", 4),
    ]  # fmt: skip
    assert none.index.text() == "The index is complete: 1,204 files"
    none.take(1)
    settle(qloop, until, pane, lambda: found(pane))
    assert pane.field.query() == "day:2026-09 upload"


# ---------------------------------------------------------------------------- preview


def test_the_preview_shows_the_place_with_marks_and_ways(qtbot, qloop, until, pane):
    pane.activate()
    settle(qloop, until, pane, lambda: pane.results.titles)
    searched(qloop, until, pane, "upload")
    pane.list.step(1)  # the daily log
    settle(qloop, until, pane, lambda: pane.preview.title.text() == "Saturday, 28 November")
    assert [line.text for line in pane.preview.view.model_.lines] == [
        "Flush at 17:20", "Retries of an upload stop", "After the upload fix",
    ]  # fmt: skip
    assert pane.preview.count() == (2, 2)
    pane.preview.walk(1)
    assert pane.preview.count() == (1, 2)
    assert [w.text for w in pane.preview.ways] == ["Upload fix", "MEMORY.md, merged"]
    pane.follow("G, P")
    assert pane.went == [Target("timeline", session_id="s-1", entry_id="e1")]
    qtbot.keyClicks(pane.preview.field, "stop")
    assert pane.preview.field.text().endswith("stop")


def test_narrow_tabs_keep_their_words_and_order_and_groups_tell_by_tip(qtbot):
    tabs = Tabs()
    qtbot.addWidget(tabs)
    tabs.set_counts({"memory": 1, "daily": 2, "sessions": 6})
    tabs.set_sorting(newest=False, by_day=False)
    tabs.resize(1_000, 44)
    tabs.show()
    assert (tabs.order.text(), tabs.grouping.text()) == ("Best first", "By place")
    tabs.resize(tabs.minimumSizeHint())
    QApplication.processEvents()
    assert (tabs.order.text(), tabs.grouping.text()) == ("", "")
    assert tabs.order.toolTip() == "Order: best first"
    assert tabs.grouping.geometry().right() <= tabs.width() < 700
    assert all(tab.width() >= tab.sizeHint().width() for tab in tabs.findChildren(Tab))


def test_the_hit_stays_in_sight_while_the_parts_find_their_size(qtbot):
    view = PageView()
    qtbot.addWidget(view)
    view.resize(360, 700)
    view.show()
    lines = tuple(PageLine(str(n), f"line {n} of the upload") for n in range(1, 40))
    view.model_.show(lines, 37, ["upload"], anywhere=False)
    view.hold(37)
    view.resize(360, 220)  # what came from it stands below by now
    QApplication.processEvents()
    row = view.visualRect(view.model_.index(37))
    assert 0 <= row.top() < row.bottom() <= view.viewport().height()
    view.verticalScrollBar().setValue(0)  # a person scrolls: the place is theirs
    view.resize(360, 300)
    QApplication.processEvents()
    assert view.verticalScrollBar().value() == 0


def test_a_hit_that_vanished_says_so(qloop, until, pane, ask):
    async def day(path):
        raise Unreadable("This file is gone.")

    ask.day = day
    ask.hits = (hit(),)
    searched(qloop, until, pane, "upload")
    settle(qloop, until, pane, lambda: pane.preview.note.text())
    assert pane.preview.note.text() == "This file is gone."
    assert pane.preview.view.model_.lines[0].text == "- After the upload fix"


def test_a_narrow_window_opens_the_preview_first(qtbot, qloop, until, pane):
    pane.resize(700, 560)
    searched(qloop, until, pane, "upload")
    assert not pane.preview.isVisible()
    press(pane.field, Qt.Key.Key_Return, qtbot)
    assert pane.preview.isVisible()
    assert not pane.list.isVisible()
    press(pane.preview.view, Qt.Key.Key_Return, qtbot)
    assert pane.went == [Target("memory", line=3, find="upload")]
    pane.shown = True
    press(pane.preview.view, Qt.Key.Key_Backspace, qtbot)
    assert pane.list.isVisible()
    assert not pane.preview.isVisible()


def test_marks_begin_words_unless_typed_in_the_page():
    assert marks("indoors do it", ["do"], anywhere=False) == ((8, 10),)
    assert marks("indoors do it", ["do"], anywhere=True) == ((2, 4), (8, 10))
    assert marks("在bed里，苗床", ["bed", "苗床"], anywhere=False) == ((1, 4), (6, 8))


# ---------------------------------------------------------------------------- text


def test_marks_stand_right_behind_emoji_and_in_the_middle_of_long_lines():
    text = "😀" * 5 + " upload"
    laid = lay_out(text, [(6, 12)], 400, font("body"), 2)
    assert laid.spans == [(11, 17)]
    long = "word " * 300 + "对账脚本 " + "tail " * 200
    laid = lay_out(long, [(1500, 1504)], 300, font("body"), 2)
    shown_text = laid.layout.text()
    start, end = laid.spans[0]
    assert shown_text[start:end] == "对账脚本"
    assert len(laid.lines) <= 2
    assert laid.lines[-1].textStart() + laid.lines[-1].textLength() > end


def test_words_before_a_mark_stay_where_the_only_space_is_right_before_it():
    laid = lay_out("周报写完发给所有人" * 9 + " needle", [(82, 88)], 300, font("body"), 2)
    start, end = laid.spans[0]
    assert laid.layout.text()[start:end] == "needle"
    assert start >= 20


def test_foreign_text_cannot_reorder_and_its_marks_stay():
    nasty = hit(text="- \u202euploads\n<b>x</b>", start=3)
    words = shown(nasty, {}, NOW)
    assert "\u202e" not in words.text
    assert "\n" not in words.text
    start, end = words.spans[0]
    assert words.text[start:end] == "upload"


def test_terminal_codes_go_and_marks_follow():
    text = "\x1b[32mOK\x1b[0m then \x1b[1;31mupload\x1b[0m refused"
    start = text.index("upload")
    words = shown(hit("evicted", text, start), {}, NOW)
    assert words.text == "OK then upload refused"
    assert [words.text[a:b] for a, b in words.spans] == ["upload"]
    excerpt = text.replace("\x1b", " ")
    words = shown(hit("evicted", excerpt, start), {}, NOW)
    assert words.text == "OK then upload refused"
    assert [words.text[a:b] for a, b in words.spans] == ["upload"]


def test_models_keep_qts_rules(qtmodeltester, qapp):
    model = HitModel()
    model.set_entries(by_layer(HITS, {}), {}, NOW)
    qtmodeltester.check(model)
    page = PageModel()
    page.show((), -1, [], anywhere=False)
    qtmodeltester.check(page)


# ---------------------------------------------------------------------------- the rest


def test_an_empty_field_offers_recent_and_saved_searches(qtbot, qloop, until, pane, ask):
    searched(qloop, until, pane, "upload")
    pane.save_search()
    pane.remembered.used("对账")
    press(pane.field, Qt.Key.Key_Escape, qtbot)
    assert pane.field.query() == ""
    rows = [row.title for row in pane.parts.start.list.rows_model.rows()]
    assert rows == ["Saved", "upload", "Recent", "对账"]
    pane.parts.start.list.select("clock 对账")
    press(pane.parts.start.list, Qt.Key.Key_Delete, qtbot)
    assert pane.desk.kept["search.recent"] == []
    pane.parts.start.list.select("star upload")
    press(pane.parts.start.list, Qt.Key.Key_Return, qtbot)
    settle(qloop, until, pane, lambda: found(pane))


def test_modes_and_the_meaning_of_a_search(qloop, until, pane, ask):
    searched(qloop, until, pane, "upload")
    pane.next_mode()
    settle(qloop, until, pane, lambda: ask.asked[-1].mode == "words")
    pane.turn_meaning()
    settle(qloop, until, pane, pane.parts.meaning.isVisible)
    assert pane.parts._meaning.text() == ("Searching for “upload”. All words, in any order.")


def test_similar_asks_in_plain_words_for_what_the_hit_says(qloop, until, pane, ask):
    searched(qloop, until, pane, "upload")
    pane.similar()
    settle(qloop, until, pane, lambda: ask.asked[-1].text == "uploads are retried twice")
    assert ask.asked[-1].mode == "natural"


def test_a_long_paste_and_brackets_do_no_harm(qloop, until, pane, ask):
    pane.field.set_query("(" * 200)
    pane.field.set_query("a" * 5_000_000)
    assert len(pane.field.query()) <= 20_000
    settle(qloop, until, pane, lambda: ask.asked)


def test_everything_that_takes_the_focus_has_a_name(qloop, until, pane):
    searched(qloop, until, pane, "role:user upload")
    for widget in pane.findChildren(QWidget):
        if isinstance(widget, (QAbstractButton, QLineEdit)) and widget.isVisible():
            text = widget.text() if isinstance(widget, QAbstractButton) else ""
            assert widget.accessibleName() or text, widget
    for action in pane.actions():
        assert action.title
        assert action.icon
