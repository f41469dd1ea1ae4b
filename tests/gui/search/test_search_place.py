"""The search place, through its field, keys and models."""

from __future__ import annotations

import asyncio
import time
from datetime import date

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QInputMethodEvent
from PySide6.QtWidgets import QAbstractButton, QApplication, QLineEdit, QMenu, QWidget

from app.engine.errors import Unreadable
from app.engine.events import Changed
from app.gui.panes.search.field import SearchField
from app.gui.panes.search.filters import Filter, Known, completions, joined, split
from app.gui.panes.search.model import Head
from app.gui.panes.search.searching import PAUSE
from app.gui.panes.search.tabs import Tab, Tabs
from app.gui.widgets.buttons import Chip
from app.gui.widgets.pane import Target
from tests.helpers.found import hit, listed, searched, settle

# ---------------------------------------------------------------------------- typing


def test_hits_come_while_typing_in_the_order_of_layers(qtbot, qloop, until, pane, ask):
    qtbot.keyClicks(pane.field, "uplo")
    settle(qloop, until, pane, lambda: listed(pane))
    assert [q.text for q in ask.asked][:1] == ["uplo"], "one question after the pause"
    assert listed(pane) == ["memory", "daily", "sessions", "evicted"]
    heads = [e.title for e in pane.list.hits.entries() if isinstance(e, Head)]
    assert heads == ["Memory", "Daily logs", "Sessions", "Evicted"]
    assert pane.parts.tabs._tabs["all"].count == 4
    assert pane.parts.foot.words.text().startswith(
        "Words, best first within each place, 4 hits in 6 ms"
    )


@pytest.mark.parametrize("part", ["list", "preview.view"])
def test_when_the_hits_go_the_focus_stays_in_the_place(qloop, until, pane, ask, part):
    pane.activateWindow()
    searched(qloop, until, pane, "upload")
    held = pane.list if part == "list" else pane.preview.view
    held.setFocus()
    settle(qloop, until, pane, held.hasFocus)
    ask.hits = ()
    pane.field.set_query("nothing")
    settle(qloop, until, pane, lambda: not pane.parts.shows_hits())
    assert pane.field.hasFocus()
    assert not pane.parts.suggest.isVisible()


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
    settle(qloop, until, pane, lambda: listed(pane))
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
    qtbot.keyClick(pane.field, Qt.Key.Key_Backspace)
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
    qtbot.keyClick(pane.field, Qt.Key.Key_Down)
    qtbot.keyClick(pane.field, Qt.Key.Key_Return)
    assert pane.field.filters() == [Filter("role", "assistant")]
    pane.parts.suggest.offer()
    qtbot.keyClick(pane.field, Qt.Key.Key_Down)
    qtbot.keyClick(pane.field, Qt.Key.Key_Return)
    assert pane.parts.suggest.list.current_row().id == "user", "each list begins at its first"
    qtbot.keyClick(pane.field, Qt.Key.Key_Escape)
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
        ("evicted", Target("evicted", path="large_tool_results/a/c1-00", line=2, find="upload")),
    ],
)
def test_enter_opens_the_place_with_find_filled_in(qtbot, qloop, until, pane, layer, target):
    searched(qloop, until, pane, "upload")
    while pane.list.current().layer != layer:
        qtbot.keyClick(pane.field, Qt.Key.Key_Down)
    qtbot.keyClick(pane.field, Qt.Key.Key_Return)
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
    pane.prepare(Target("search", find="in:evicted 对账"))
    assert pane.field.filters() == [Filter("in", "evicted")]
    settle(qloop, until, pane, lambda: ask.asked)
    assert ask.asked[-1].text == "in:evicted 对账"


# ---------------------------------------------------------------------------- nothing found


def test_no_hits_names_the_reason_and_the_ways_out_with_their_counts(qloop, until, pane, ask):
    everything = ask.hits
    ask.reason, ask.causes = "The filters leave out 4 matches.", frozenset({"filters"})
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
    settle(qloop, until, pane, lambda: listed(pane))
    assert pane.field.query() == "day:2026-09 upload"


# ---------------------------------------------------------------------------- the rest


def test_an_empty_field_offers_recent_and_saved_searches(qtbot, qloop, until, pane, ask):
    searched(qloop, until, pane, "upload")
    pane.save_search()
    pane.remembered.used("对账")
    qtbot.keyClick(pane.field, Qt.Key.Key_Escape)
    assert pane.field.query() == ""
    rows = [row.title for row in pane.parts.start.list.rows_model.rows()]
    assert rows == ["Saved", "upload", "Recent", "对账"]
    pane.parts.start.list.select("clock 对账")
    qtbot.keyClick(pane.parts.start.list, Qt.Key.Key_Delete)
    assert pane.desk.kept["search.recent"] == []
    pane.parts.start.list.select("star upload")
    qtbot.keyClick(pane.parts.start.list, Qt.Key.Key_Return)
    settle(qloop, until, pane, lambda: listed(pane))


def test_modes_and_the_meaning_of_a_search(qloop, until, pane, ask):
    searched(qloop, until, pane, "upload")
    pane.next_mode()
    settle(qloop, until, pane, lambda: ask.asked[-1].mode == "words")
    pane.turn_meaning()
    settle(qloop, until, pane, pane.parts.meaning.isVisible)
    assert pane.parts._meaning.text() == ("Searching for “upload”. All words, in any order.")


def test_similar_asks_in_plain_words_for_what_the_hit_says(qtbot, qloop, until, pane, ask):
    searched(qloop, until, pane, "upload")
    pane.similar()
    settle(qloop, until, pane, lambda: ask.asked[-1].text == "uploads are retried twice")
    assert ask.asked[-1].mode == "natural"
    qtbot.keyClicks(pane.field, " more")
    settle(qloop, until, pane, lambda: ask.asked[-1].text.endswith(" more"))
    assert ask.asked[-1].mode == "auto", "the mode was for that search alone"
    assert pane.desk.kept.get("search.mode", "auto") == "auto"


@pytest.mark.parametrize(
    ("one", "other"),
    [("role:user 浇水", "浇水 role:user"), ("in:daily role:user x", "role:user in:daily  x ")],
)
def test_a_search_is_remembered_once_however_it_was_typed(pane, one, other):
    pane.remembered.used(one)
    pane.remembered.used(other)
    assert len(pane.remembered.recent()) == 1
    assert pane.remembered.save(one)
    assert not pane.remembered.save(other), "the second time it is kept no longer"
    assert pane.remembered.saved() == []


def test_tab_goes_through_the_field_as_it_is_seen(qtbot, pane):
    pane.field.set_query("role:user in:daily upload")
    parts = [*pane.field.findChildren(QAbstractButton), pane.parts.modes]
    seen = sorted((p for p in parts if p.isVisible()), key=lambda p: p.mapTo(pane, QPoint()).x())
    chain, widget = [], pane.field.nextInFocusChain()
    while len(chain) < len(seen) - 1:
        chain += [widget] * (widget.isVisible() and widget in seen)
        widget = widget.nextInFocusChain()
    assert [w.accessibleName() for w in chain] == [w.accessibleName() for w in seen[:-1]]


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


def test_what_filters_is_always_seen_or_counted(qtbot, qapp):
    """The last chip names the filters that have no room, and a click offers to remove them."""
    field = SearchField()
    qtbot.addWidget(field)
    field.set_query('day:2026-11 tool:read_probe in:sessions session:"a long title" probe')
    field.show()
    for wide in (230, 300, 400, 520, 700, 1_000):
        field.resize(wide, 42)
        chips = [chip for chip in field.findChildren(Chip) if chip.isVisible()]
        names = [chip.text() for chip in chips if chip is not field.more]
        rest = 4 - len(names)
        assert field.more.isVisible() == bool(rest)
        assert chips[-1].geometry().right() < wide - 80, "there is room for words"
        if rest:
            assert field.more.text() == f"+{rest}"
            assert len(field.more.accessibleName().split(", ")) == rest
        assert len(names) == len(set(names)) <= 4
    field.resize(300, 42)
    field.more.click()
    menu = field.findChildren(QMenu)[0]
    acts = menu.actions()
    assert acts[-1].text() == "Remove session: a long title"
    acts[-1].trigger()
    assert "session:" not in field.query()
    menu.close()


def test_a_lone_filter_is_seen_in_the_narrowest_window(qtbot):
    field = SearchField()
    qtbot.addWidget(field)
    field.set_query("day:2026-11")
    field.resize(374, 42)
    field.show()
    assert [c.text() for c in field.findChildren(Chip) if c.isVisible()] == ["day: 2026-11"]


def test_who_goes_on_typing_is_answered_meanwhile(qtbot, qloop, until, pane, ask):
    """Not only after the last key; a question that is being answered is heard out till the next."""

    pauses: list[float] = []

    async def typed() -> None:
        for letter in "upload fix":
            begun = time.monotonic()
            qtbot.keyClicks(pane.field, letter)
            await asyncio.sleep(0.08)
            pauses.append(time.monotonic() - begun)
        assert listed(pane), "hits stand there before the typing ends"

    qloop.run_until_complete(typed())
    while_typing = len(ask.asked)
    paused = max(pauses) >= PAUSE  # the machine did, and was rightly taken for who types
    assert paused or while_typing <= 8, "not a question for each key"
    settle(qloop, until, pane, lambda: pane.results.answer.asked.text == "upload fix")
