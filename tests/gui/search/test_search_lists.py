"""The list of hits: its groups and their order, and how it goes on where there are many."""

from __future__ import annotations

import asyncio

from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QApplication

from app.engine.errors import StorageError
from app.engine.records import Hit, HitPlace
from app.gui.panes.search.asking import FIRST, LATER
from app.gui.panes.search.model import Head, shown
from app.gui.widgets.pane import Target
from tests.gui.conftest import NOW
from tests.helpers.found import HITS, hit, listed, searched, settle


def many_of_a_day(count: int) -> tuple[Hit, ...]:
    return tuple(
        hit("sessions", f"upload {n}", 0, path="agents/a/sessions/s-1.log.jsonl", line=n)
        for n in range(count)
    )


def test_tabs_order_and_groups_are_asked_for(qloop, until, pane, ask):
    searched(qloop, until, pane, "upload")
    pane.next_layer(1)
    settle(qloop, until, pane, lambda: listed(pane) == ["memory"])
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
    assert listed(pane)[0] == "memory"
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
    settle(qloop, until, pane, lambda: len(listed(pane)) == 200)
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
    settle(qloop, until, pane, lambda: len(listed(pane)) == 200
           and not pane.tasks.running("search"))  # fmt: skip
    view = pane.list
    view.verticalScrollBar().setValue(view.verticalScrollBar().maximum() - 333)
    top = view.rowAt(0)
    y, shown_hit = view.rowViewportPosition(top), view.hits.entry(top)
    settle(qloop, until, pane, lambda: len(listed(pane)) == FIRST + LATER)
    assert view.rowAt(0) == top
    assert view.rowViewportPosition(top) == y
    assert view.hits.entry(top) == shown_hit


def test_a_page_that_brings_no_row_is_not_the_end(qloop, until, pane, ask):
    first, second = many_of_a_day(200), many_of_a_day(900)[600:]
    ask.hits = (*first, *first, *first, *second)  # as a rewritten file brings hits once more
    searched(qloop, until, pane, "upload")
    pane.set_layer("sessions")
    settle(qloop, until, pane, lambda: len(listed(pane)) == FIRST)
    pane.list.scrollToBottom()
    settle(qloop, until, pane, lambda: len(listed(pane)) == 500)
    assert not pane.list.hits.has_more()


def test_a_page_that_could_not_be_had_is_asked_for_again(qloop, until, pane, ask, monkeypatch):
    ask.hits = many_of_a_day(1_000)
    searched(qloop, until, pane, "upload")
    pane.set_layer("sessions")
    settle(qloop, until, pane, lambda: len(listed(pane)) == FIRST
           and not pane.tasks.running("search"))  # fmt: skip
    asking, tries = ask.search, []

    async def refused(query):
        tries.append(query.start)
        raise StorageError("The index is busy.")

    monkeypatch.setattr(ask, "search", refused)
    pane.list.scrollToBottom()
    settle(qloop, until, pane, lambda: tries and not pane.tasks.running("more"))
    qloop.run_until_complete(asyncio.sleep(0.2))
    assert set(tries) == {FIRST}
    assert len(tries) < 4, "not over and over: nobody scrolled since"
    assert pane.list.hits.has_more()
    monkeypatch.setattr(ask, "search", asking)
    pane.list.verticalScrollBar().setValue(0)
    pane.list.scrollToBottom()
    settle(qloop, until, pane, lambda: len(listed(pane)) == FIRST + LATER)


def test_the_next_page_is_asked_for_some_views_before_the_end(qloop, until, pane, ask):
    ask.hits = many_of_a_day(1_000)
    searched(qloop, until, pane, "upload")
    pane.set_layer("sessions")
    settle(qloop, until, pane, lambda: len(listed(pane)) == FIRST
           and not pane.tasks.running("search"))  # fmt: skip
    bar = pane.list.verticalScrollBar()
    bar.setValue(bar.maximum() - 6 * bar.pageStep())
    settle(qloop, until, pane, lambda: len(listed(pane)) == FIRST + LATER)


def test_a_page_goes_on_in_the_day_that_was_begun(qloop, until, pane, ask):
    ask.hits = many_of_a_day(1_000)
    pane.turn_order()
    pane.turn_grouping()
    searched(qloop, until, pane, "upload")
    for size in (FIRST + LATER, 1_000):
        pane.list.scrollToBottom()
        settle(qloop, until, pane, lambda n=size: len(listed(pane)) == n)
    heads = [e.title for e in pane.list.hits.entries() if isinstance(e, Head)]
    assert heads == ["Saturday, 28 November"]


def test_the_end_of_the_best_says_how_all_are_reached(qtbot, qloop, until, pane, ask):
    ask.hits = tuple(
        hit("sessions", f"upload {n}", 0, path="agents/a/sessions/s-1.log.jsonl", line=n)
        for n in range(300)
    )
    ask.complete = False
    searched(qloop, until, pane, "upload")
    pane.set_layer("sessions")
    settle(qloop, until, pane, lambda: len(listed(pane)) == 200)
    pane.list.scrollToBottom()
    settle(qloop, until, pane, lambda: len(listed(pane)) == 300)
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
