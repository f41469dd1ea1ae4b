"""The place beside the hits, and marks in text: each where its word stands."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from app.engine.errors import Unreadable
from app.engine.records import DayLog, HitPlace, Provenance, Source, Span
from app.gui.look.theme import theme
from app.gui.look.type import font
from app.gui.panes.search.around import PageLine
from app.gui.panes.search.marked import lay_out
from app.gui.panes.search.model import HitModel, by_layer, shown
from app.gui.panes.search.page import PageModel, PageView, marks, needles
from app.gui.widgets.pane import Target
from tests.gui.conftest import NOW
from tests.helpers.found import HITS, hit, searched, settle

LINES = (
    PageLine("", "Flush at 17:20", head=True),
    *(PageLine(str(n), f"line {n} of the upload " * n) for n in range(1, 12)),
    PageLine("a tool with a long name", "对账脚本 upload"),
)


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


def test_what_was_found_inside_a_word_is_marked_there_too(qloop, until, pane, ask):
    ask.hits = (replace(HITS[0], spans=(Span(1, 5),)),)
    pane.set_mode("literal")
    searched(qloop, until, pane, "ploa")
    settle(qloop, until, pane, lambda: pane.preview.title.text() and pane.preview.count()[1])
    model = pane.preview.view.model_
    lines = zip(model.lines, model.marks, strict=True)
    marked = [line.text[slice(*one)] for line, found in lines for one in found]
    assert marked == ["ploa", "ploa"]


def test_a_place_is_linked_once_and_under_one_name(qloop, until, pane, ask, monkeypatch):
    origin = HitPlace("daily", "memory/2026-11-28.md", 11)
    ask.hits = (replace(HITS[1], places=(origin, replace(origin, line=10))),)

    async def why(line: int) -> Provenance:
        return Provenance(line, "", None, (Source("memory/2026-11-28.md", 11, ""),))

    monkeypatch.setattr(ask, "why", why)
    searched(qloop, until, pane, "upload")
    settle(qloop, until, pane, lambda: pane.preview.ways)
    assert [(way.label, way.text) for way in pane.preview.ways] == [
        ("Came from", "Saturday, 28 November, line 11"),
        ("Also in", "Saturday, 28 November, line 10"),
    ]


def test_a_line_that_waits_in_an_open_proposal_leads_there(qloop, until, pane, ask, monkeypatch):
    ask.hits = (replace(HITS[2], places=(HitPlace("history", "proposal:p-1", 4),)),)
    day = ask.day

    async def waiting(path: str) -> DayLog:
        log = await day(path)
        lines = tuple(replace(line, state="waiting") for line in log.sections[0].lines)
        return replace(log, sections=(replace(log.sections[0], lines=lines),))

    monkeypatch.setattr(ask, "day", waiting)
    searched(qloop, until, pane, "upload")
    settle(qloop, until, pane, lambda: pane.preview.ways)
    (became,) = [way for way in pane.preview.ways if way.label in ("Became", "Also in")]
    assert became.text == "part of a proposal for MEMORY.md"
    assert became.target == Target("memory", proposal="p-1")


def test_the_last_line_is_still_seen_after_the_view_was_taller_for_a_while(qtbot):
    view = PageView()
    qtbot.addWidget(view)
    lines = tuple(PageLine(str(n), f"line {n}") for n in range(20))
    view.model_.show(lines, 19, ["line"], anywhere=False)
    view.resize(400, 300)
    view.show()
    view.hold(19)
    for height in (340, 300):
        view.resize(400, height)
        qtbot.wait(20)
    last = view.visualRect(view.model_.index(19))
    assert view.viewport().rect().contains(last)


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


@pytest.mark.parametrize(
    "change",
    [
        lambda view: theme().choose("dark"),
        lambda view: theme().choose(zoom=1.5),
        lambda view: view.resize(300, 400),
        lambda view: view.model_.show(LINES[::-1], 3, ["upload"], anywhere=False),
    ],
    ids=["colours", "size of text", "width", "another place"],
)
def test_lines_that_were_painted_before_look_as_ones_that_were_not(qtbot, change):
    view = PageView()
    qtbot.addWidget(view)
    view.resize(360, 400)
    view.show()
    view.model_.show(LINES, 3, ["upload"], anywhere=False)

    def picture():
        QApplication.processEvents()
        return view.viewport().grab().toImage()

    before = picture()
    change(view)
    after = picture()
    assert after != before
    view.painter_.forget()
    view.doItemsLayout()
    assert picture() == after


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
    qtbot.keyClick(pane.field, Qt.Key.Key_Return)
    assert pane.preview.isVisible()
    assert not pane.list.isVisible()
    qtbot.keyClick(pane.preview.view, Qt.Key.Key_Return)
    assert pane.went == [Target("memory", line=3, find="upload")]
    pane.shown = True
    qtbot.keyClick(pane.preview.view, Qt.Key.Key_Backspace)
    assert pane.list.isVisible()
    assert not pane.preview.isVisible()


def test_marks_begin_words_unless_typed_in_the_page():
    assert marks("indoors do it", ["do"], anywhere=False) == ((8, 10),)
    assert marks("indoors do it", ["do"], anywhere=True) == ((2, 4), (8, 10))
    assert marks("在bed里，苗床", ["bed", "苗床"], anywhere=False) == ((1, 4), (6, 8))
    assert marks("beds in a bed", ["bed"], anywhere=False) == ((10, 13),)
    assert marks("beds in a bed", needles("a bed"), anywhere=False) == ((0, 3), (8, 9), (10, 13))
    assert marks("beds in a bed", needles("a bed "), anywhere=False) == ((8, 9), (10, 13))
    assert marks("beds in a bed", needles("be* a "), anywhere=False) == ((0, 2), (8, 9), (10, 12))


def test_short_words_are_marked_in_the_hit_alone(qtbot):
    view = PageView()
    qtbot.addWidget(view)
    lines = (PageLine("1", "a bed of a kind"), PageLine("2", "a bed"))
    view.model_.show(lines, 1, ["a", "bed"], anywhere=False)
    assert view.model_.marks == [((2, 5),), ((0, 1), (2, 5))]
    view.model_.show(lines, 1, ["a"], anywhere=False)
    assert view.model_.marks == [((0, 1), (9, 10)), ((0, 1),)]


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
