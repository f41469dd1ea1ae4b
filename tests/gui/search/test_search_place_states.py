"""The search place while the index grows, is behind or fails, and while an answer takes long."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.engine.events import Changed
from app.engine.records import IndexState
from app.gui.panes.search import searching
from app.gui.panes.search.foot import Foot
from app.gui.widgets.labels import Clickable
from tests.helpers.found import hit, searched, settle


def foot_text(pane) -> str:
    return pane.parts.foot.state.text() if pane.parts.foot.state.isVisible() else ""


def index_changed(pane, ask, state: IndexState) -> None:
    ask.state = state
    pane.desk.signals.changed.emit(Changed(frozenset({"index"})))


def many(count: int):
    return tuple(
        hit("sessions", f"upload {n}", 0, path="agents/a/sessions/s-1.log.jsonl", line=n,
            entry_id=f"e{n}")
        for n in range(count)
    )  # fmt: skip


# ---------------------------------------------------------------------------- the index


def test_an_index_behind_the_files_is_marked_until_it_caught_up(qloop, until, pane, ask):
    ask.state = IndexState("stale", 9, 10, "1 file is newer than the index.")
    pane.activate()
    settle(qloop, until, pane, lambda: foot_text(pane) == "1 file is newer than the index.")
    assert pane.parts.foot._sign.isVisible(), "a sign stands beside the words"
    searched(qloop, until, pane, "upload")
    assert foot_text(pane) == "1 file is newer than the index.", "also beside an answer"
    index_changed(pane, ask, IndexState("ready", 10, 10))
    settle(qloop, until, pane, lambda: not foot_text(pane))
    assert pane.parts.foot.words.isVisible()


def test_a_growing_index_tells_how_far_it_is_and_hits_come_in(qloop, until, pane, ask):
    pane.activate()
    ask.hits, ask.state = many(1), IndexState("building", 3, 10)
    index_changed(pane, ask, ask.state)
    settle(qloop, until, pane, lambda: "3 of 10 files" in foot_text(pane))
    searched(qloop, until, pane, "upload")
    assert pane.list.hits.rowCount() == 2
    ask.hits = many(3)
    index_changed(pane, ask, IndexState("building", 7, 10))
    settle(qloop, until, pane, lambda: pane.list.hits.rowCount() == 4)
    assert "7 of 10 files" in foot_text(pane)
    assert pane.list.current().entry_id == "e0", "the choice stays"


def test_without_an_index_the_files_answer_and_it_is_said(qloop, until, pane, ask):
    ask.state = IndexState("unavailable", note="The index is damaged.")
    ask.note = "The index is damaged. The files were read instead."
    pane.activate()
    searched(qloop, until, pane, "upload")
    assert foot_text(pane) == "The index is damaged. The files were read instead."
    QTest.mouseClick(pane.parts.foot.build, Qt.MouseButton.LeftButton)
    settle(qloop, until, pane, lambda: ask.built == 1)
    index_changed(pane, ask, IndexState("ready", 10, 10))
    settle(qloop, until, pane, lambda: not pane.parts.foot.build.isVisible())


def test_nothing_found_without_an_index_leads_to_one(qloop, until, pane, ask):
    ask.hits, ask.state = (), IndexState("unavailable", note="The index file is gone.")
    pane.activate()
    pane.field.set_query("upload")
    settle(qloop, until, pane, pane.parts.none.isVisible)
    assert pane.parts.none.index.text() == "The index file is gone."
    QTest.mouseClick(pane.parts.none.build, Qt.MouseButton.LeftButton)
    settle(qloop, until, pane, lambda: ask.built == 1)


def test_nothing_found_while_the_index_grows_says_so(qloop, until, pane, ask):
    ask.hits, ask.state = (), IndexState("building", 3, 10)
    ask.reason = "The index is still being built (3 of 10 files). No line or message holds this."
    ask.causes = frozenset({"building"})
    pane.activate()
    settle(qloop, until, pane, lambda: "3 of 10 files" in foot_text(pane))
    pane.field.set_query("upload")
    settle(qloop, until, pane, pane.parts.none.isVisible)
    assert pane.parts.none.head.text() == "No hits so far, the index is being built"
    assert "3 of 10 files" in pane.parts.none.index.text()
    assert not pane.parts.foot.isVisible(), "it is said once"
    ask.hits = many(2)
    index_changed(pane, ask, IndexState("ready", 10, 10))
    settle(qloop, until, pane, lambda: pane.list.hits.rowCount() == 3)


def test_few_hits_follow_the_files_many_wait_to_be_asked_for(qtbot, qloop, until, pane, ask):
    pane.activate()
    ask.hits = many(5_000)
    searched(qloop, until, pane, "upload")
    pane.set_layer("sessions")
    settle(qloop, until, pane, lambda: pane.list.hits.rowCount() == 201)
    index_changed(pane, ask, ask.state)
    before = len(ask.asked)
    settle(qloop, until, pane, lambda: len(ask.asked) > before)
    assert not pane.parts.foot.again.isVisible()
    while pane.list.hits.rowCount() < 3_000:
        rows = pane.list.hits.rowCount()
        pane.list.scrollToBottom()
        settle(qloop, until, pane, lambda n=rows: pane.list.hits.rowCount() > n)
    before = len(ask.asked)
    index_changed(pane, ask, ask.state)
    settle(qloop, until, pane, pane.parts.foot.again.isVisible)
    assert len(ask.asked) == before, "nothing is asked for unasked"
    qtbot.mouseClick(pane.parts.foot.again, Qt.MouseButton.LeftButton)
    settle(qloop, until, pane, lambda: len(ask.asked) > before
           and not pane.tasks.running("search"))  # fmt: skip
    assert not pane.parts.foot.again.isVisible()


# ---------------------------------------------------------------------------- a slow answer


def test_a_slow_answer_dims_what_is_old_and_says_that_it_searches(qloop, until, pane, ask):
    searched(qloop, until, pane, "upload")
    rows = pane.list.hits.rowCount()
    ask.gate = asyncio.Event()
    pane.field.set_query("upload fix")
    settle(qloop, until, pane, lambda: foot_text(pane) == "Searching")
    assert pane.list.dimmed
    assert pane.list.hits.rowCount() == rows, "the old hits stay until there are better ones"
    ask.gate.set()
    settle(qloop, until, pane, lambda: not pane.tasks.running("search"))
    assert not pane.list.dimmed
    assert foot_text(pane) == ""


def test_a_wiped_query_ends_the_search_and_its_ring(qtbot, qloop, until, pane, ask):
    ask.gate = asyncio.Event()
    pane.field.set_query("upload")
    settle(qloop, until, pane, lambda: foot_text(pane) == "Searching")
    qtbot.keyClick(pane.field, Qt.Key.Key_Escape)
    settle(qloop, until, pane, lambda: ask.cancelled == 1 and not foot_text(pane))
    assert pane.parts.start.isVisible()


# ---------------------------------------------------------------------------- nearly the same word


def test_words_of_nearly_the_same_spelling_are_ways_out(qtbot, qloop, until, pane, ask):
    everything = ask.hits
    real = ask.search

    async def search(query):
        ask.hits = everything if "upload" in query.text else ()
        return await real(query)

    ask.search = search
    ask.reason, ask.nearest = "No line or message holds this.", ("upload", "uplands")
    pane.field.set_query("role:user failed uplaod")
    settle(qloop, until, pane, lambda: pane.parts.none.ways)
    assert [(w.title, w.query, w.hits) for w in pane.parts.none.ways] == [
        ("Search for “upload”", "role:user failed upload", 4)
    ]
    card = next(b for b in pane.parts.none.findChildren(Clickable)
                if b.accessibleName() == "Search for “upload”: 4 hits")  # fmt: skip
    qtbot.mouseClick(card, Qt.MouseButton.LeftButton)
    settle(qloop, until, pane, pane.parts.shows_hits)
    assert pane.field.query() == "role:user failed upload"


# ---------------------------------------------------------------------------- the first answer


@pytest.mark.parametrize("moved", [False, True])
def test_the_newest_hits_are_there_until_the_ranked_ones_are(qloop, until, pane, ask, moved):
    newest = many(80)
    ranked = asyncio.Event()
    real = ask.search

    async def search(query):
        ask.hits = newest if query.quick else newest[::-1]
        if not query.quick:
            await ranked.wait()
        return replace(await real(query), complete=not query.quick)

    ask.search = search
    pane.field.set_query("upload")
    model = pane.list.hits
    settle(qloop, until, pane, lambda: model.rowCount() > 30)
    assert model.entry(model.first()) == newest[0]
    assert "newest first" in pane.parts.foot.words.text()
    assert "at least" in pane.parts.foot.words.text()
    if moved:
        pane.list.choose(model.first() + 7)
    ranked.set()
    settle(qloop, until, pane, lambda: not pane.tasks.running("search"))
    assert model.entry(model.first()) == newest[-1]
    assert "best first, 80 hits" in pane.parts.foot.words.text()
    assert pane.list.current() == (newest[7] if moved else newest[-1])


def test_an_answer_that_takes_no_time_is_the_only_one_shown(qloop, until, pane, ask):
    shown: list[int] = []
    ask.hits = many(80)
    pane.list.hits.modelReset.connect(lambda: shown.append(1))
    searched(qloop, until, pane, "upload")
    assert [query.quick for query in ask.asked] == [True, False]
    assert len(shown) == 1


def test_a_reason_for_no_hits_comes_with_its_ways_out(qloop, until, pane, ask, monkeypatch):
    """Not a moment before them, as long as they are found soon."""
    monkeypatch.setattr(searching, "TOGETHER", 60.0)  # soon enough on any machine
    real, everything = ask.search, ask.hits

    async def search(query):
        if query.text == "upload":
            ask.hits = everything
            await asyncio.sleep(0.03)
        else:
            ask.hits = ()
        return await real(query)

    ask.search = search
    pane.field.set_query("role:tool upload")
    settle(qloop, until, pane, lambda: pane.parts.none.isVisible())
    assert [way.query for way in pane.parts.none.ways] == ["upload"]


def test_what_is_unusual_about_an_answer_can_be_read_in_a_narrow_window(qtbot):
    foot = Foot()
    qtbot.addWidget(foot)
    foot.resize(480, 30)
    foot.show()
    foot.say("Any of the words, by weight, newest first within each place, 12 hits in 8 ms")
    assert not foot.state.isVisible() or not foot.state.text()
    note = "“2025-13” is no day: year, year-month or year-month-day."
    foot.say(foot.words.text(), note, "12 hits in 8 ms")
    qtbot.wait(1)
    assert foot.state.geometry().right() < foot.width()
    assert foot.state.width() >= 100
    assert foot.words.text() == "12 hits in 8 ms", "the mode and the order give way"
    foot.resize(1200, 30)
    qtbot.wait(1)
    assert foot.words.text().startswith("Any of the words")
