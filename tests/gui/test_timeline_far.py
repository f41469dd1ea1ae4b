"""The timeline in the middle of a very long session: a window onto it that moves."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from PySide6.QtCore import Qt

from app.gui.panes.timeline.pane import TimelinePane
from app.gui.panes.timeline.reading import MOST
from app.gui.widgets.pane import Desk, Target
from tests.helpers.panes import on_desk, settled
from tests.helpers.timelines import NOW, Engine, said, shown_pane, started

LENGTH = 100_000


@pytest.fixture
def engine(desk: Desk) -> Engine:
    made = on_desk(desk, Engine())
    made.items["a"] = [said(n, when=NOW, kind="assistant") for n in range(1, LENGTH + 1)]
    return made


@pytest.fixture
def pane(desk: Desk, engine: Engine, qtbot, qloop) -> Iterator[TimelinePane]:
    yield from shown_pane(desk, qtbot, qloop)


def opened(pane: TimelinePane, qloop, until, entry_id: str) -> None:
    qloop.run_until_complete(pane.open(Target("timeline", session_id="a", entry_id=entry_id)))
    qloop.run_until_complete(settled(pane, until))


def loaded(pane: TimelinePane) -> tuple[int, int]:
    return pane.page.items[0].seq, pane.page.items[-1].seq


def seen(pane: TimelinePane) -> list[str]:
    sheet = pane.page.sheet
    return [sheet.rows[at].id for at in sheet.visible()]


def test_a_far_entry_opens_with_a_page_around_it(pane: TimelinePane, engine, qloop, until) -> None:
    opened(pane, qloop, until, "e40000")
    assert pane.page.sheet.current().id == "e40000"
    assert "e40000" in seen(pane)
    assert sum(limit for _, _, limit in engine.asked) <= 2_010, "one page, and a look at the ends"
    forms = [row.form for row in pane.page.sheet.rows]
    assert (forms[0], forms[-1]) == ("older", "newer")


def test_from_there_one_scrolls_both_ways_without_a_jump(
    pane: TimelinePane, engine, qloop, until
) -> None:
    opened(pane, qloop, until, "e40000")
    sheet = pane.page.sheet
    first, last = loaded(pane)
    for id_, moved in ((f"e{last - 5}", 1), (f"e{first + 5}", -1)):
        sheet.set_current(sheet.row_of(id_), show="top")
        y = sheet.y_of(sheet.current_at())
        qloop.run_until_complete(settled(pane, until))
        assert sheet.current().id == id_
        assert sheet.y_of(sheet.current_at()) == y, "what one reads stays where it is"
        assert (loaded(pane)[1] > last) if moved > 0 else (loaded(pane)[0] < first)
    numbers = [item.seq for item in pane.page.items]
    assert numbers == list(range(numbers[0], numbers[-1] + 1)), "nothing is missing between"


def test_however_far_one_goes_no_more_than_a_window_is_kept(
    pane: TimelinePane, engine, qloop, until
) -> None:
    opened(pane, qloop, until, "e40000")
    sheet = pane.page.sheet
    for _ in range(8):
        sheet.set_current(len(sheet.rows) - 10, show="top")
        here = sheet.current().id
        qloop.run_until_complete(settled(pane, until))
        assert sheet.current().id == here
        assert here in seen(pane)
    assert len(pane.page.items) == MOST
    assert sheet.rows[0].form == "older", "what was dropped is said to lie there"
    assert max(limit for _, _, limit in engine.asked) == 2_000, "a page costs a page"


def test_end_and_home_go_to_the_ends_of_the_session(
    pane: TimelinePane, engine, qtbot, qloop, until
) -> None:
    opened(pane, qloop, until, "e40000")
    qtbot.keyClick(pane.page.sheet, Qt.Key.Key_End)
    qloop.run_until_complete(settled(pane, until))
    assert pane.page.sheet.current().id == f"e{LENGTH}"
    assert pane.page.sheet.at_end()
    qtbot.keyClick(pane.page.sheet, Qt.Key.Key_Home)
    qloop.run_until_complete(settled(pane, until))
    assert pane.page.sheet.current().id == "e1"
    assert pane.page.sheet.rows[-1].form == "newer"


def test_what_comes_meanwhile_does_not_pull_a_reader_away(
    pane: TimelinePane, engine, qloop, until
) -> None:
    opened(pane, qloop, until, "e40000")
    before = seen(pane)
    engine.items["a"].append(said(LENGTH + 1, when=NOW))
    qloop.run_until_complete(pane.look_again())
    assert seen(pane) == before


def test_the_next_prompt_is_found_beyond_what_is_loaded(
    pane: TimelinePane, engine, qtbot, qloop, until
) -> None:
    engine.items["a"][45_000 - 1] = said(45_000, when=NOW, kind="user")
    engine.items["a"][31_000 - 1] = said(31_000, when=NOW, kind="user")
    opened(pane, qloop, until, "e40000")
    for by, wanted in ((1, "e45000"), (-1, "e31000")):
        pane.page.walk(by, "user")
        qloop.run_until_complete(settled(pane, until))
        assert pane.page.sheet.current().id == wanted
        assert wanted in seen(pane)


def test_what_the_model_sees_is_looked_for_at_the_end(
    pane: TimelinePane, engine, qloop, until
) -> None:
    opened(pane, qloop, until, "e40000")
    pane.page.set_mode("model")
    qloop.run_until_complete(settled(pane, until))
    assert pane.page.items[-1].id == f"e{LENGTH}"


def test_hits_around_here_are_not_said_to_be_all(pane: TimelinePane, engine, qloop, until) -> None:
    target = Target("timeline", session_id="a", entry_id="e40000", find="text 40000")
    qloop.run_until_complete(pane.open(target))
    qloop.run_until_complete(settled(pane, until))
    assert pane.page.find_bar.count.text() == "1 of 1 around here"
    assert pane.page.sheet.current().id == "e40000"


def test_the_next_hit_is_found_beyond_what_is_loaded(
    pane: TimelinePane, engine, qloop, until
) -> None:
    for n in (40_000, 52_000, 95_000):
        engine.items["a"][n - 1] = said(n, when=NOW, text="a needle")
    opened(pane, qloop, until, "e40000")
    pane.page.finder.open("needle")
    qloop.run_until_complete(settled(pane, until))
    for by, wanted in ((1, "e52000"), (1, "e95000"), (-1, "e52000"), (-1, "e40000")):
        pane.page.finder.walk(by)
        qloop.run_until_complete(settled(pane, until))
        assert pane.page.sheet.current().id == wanted
        assert wanted in seen(pane)
        assert len(pane.page.items) <= MOST


def test_after_the_last_hit_of_a_session_one_begins_again(
    pane: TimelinePane, engine, qloop, until
) -> None:
    engine.items["a"][39_999] = said(40_000, when=NOW, text="a needle")
    opened(pane, qloop, until, "e40000")
    pane.page.finder.open("needle")
    qloop.run_until_complete(settled(pane, until))
    pane.page.finder.walk(1)
    assert "further" in pane.page.find_bar.count.text()
    qloop.run_until_complete(settled(pane, until))
    assert pane.page.sheet.current().id == "e40000"
    assert loaded(pane)[0] <= 40_000 <= loaded(pane)[1]
    assert pane.page.find_bar.count.text().startswith("1 of 1")


@pytest.mark.parametrize("by_order", [False, True])
def test_a_range_stays_at_its_moments_when_older_entries_come(
    pane: TimelinePane, engine, qloop, until, by_order: bool
) -> None:
    engine.items["a"] = [said(n, when=NOW + timedelta(seconds=n)) for n in range(1, 20_001)]
    opened(pane, qloop, until, "e10000")
    page = pane.page
    page.set_by_order(by_order)
    qloop.run_until_complete(settled(pane, until))

    def chosen() -> list[str]:
        return [page.items[at].id for at in page.axis.scale.between(*page.axis.range)]

    first = page.items[0].seq
    places = page.axis.scale.places
    page.axis.zoom(20.0, places[120])
    page.axis.brush(places[100], places[140])
    before, words = chosen(), page.range_line.words.text()

    def relative() -> list[float]:
        return [v - page.axis.range[0] for v in page.axis.view]

    zoomed = relative()
    assert before[0] == f"e{first + 100}"
    qloop.run_until_complete(page.load_more(-1))
    qloop.run_until_complete(settled(pane, until))
    assert page.items[0].seq < first
    assert chosen() == before
    assert page.range_line.words.text() == words
    assert relative() == pytest.approx(zoomed, abs=0.01)


def test_a_short_session_has_no_ends_to_load(pane: TimelinePane, engine, qloop, until) -> None:
    engine.items["a"] = [said(n, when=NOW) for n in range(1, 300)]
    started(pane, qloop, until)
    opened(pane, qloop, until, "e5")
    assert {row.form for row in pane.page.sheet.rows} == {"say"}
