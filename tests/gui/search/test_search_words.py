"""What the search place says and how its words stand: half-typed filters, the meaning of a search,
ways out, large text, small windows."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QApplication, QPlainTextEdit, QWidget

from app.engine.records import LeftOut
from app.gui.look.theme import theme, token
from app.gui.look.type import font
from app.gui.panes.search.around import PageLine, Place
from app.gui.panes.search.filters import split, without_unfinished
from app.gui.panes.search.page import PageView
from app.gui.widgets.buttons import Button
from app.gui.widgets.dialogs import Question
from app.gui.widgets.labels import T
from tests.helpers.found import searched, settle

# ---------------------------------------------------------------------------- half-typed filters


def test_the_name_of_a_filter_is_not_searched_for(qtbot, qloop, pane, ask):
    qtbot.keyClicks(pane.field, "session:")
    qloop.run_until_complete(asyncio.sleep(0.3))
    assert ask.asked == []
    assert pane.parts.start.isVisible(), "what was shown stays"


@pytest.mark.parametrize(
    "text", ["role:us", "role:ag", "role:you,as", "in:", "day:20", "day:2025-", "day:to",
             "after:2025-09-", "-in:dai", "before:昨", "has:ev"],
)  # fmt: skip
def test_what_may_become_a_filter_is_not_searched_for(text):
    assert without_unfinished(f"probe {text}") == "probe "


@pytest.mark.parametrize(
    "text", ["role:tol", "role:tol,us", "day:2025-13", "day:2025-09-31", "day:soon", "in:memori",
             "-day:2025", "has:bug"],
)  # fmt: skip
def test_what_can_be_no_filter_any_more_is_words(text):
    assert without_unfinished(f"probe {text}") == f"probe {text}"
    assert split(f"probe {text} ") == ([], f"probe {text} ")


@pytest.mark.parametrize("text", ["role:agent", "in:log", "day:2025-9", "-role:you"])
def test_a_chip_is_made_of_what_the_engine_takes_for_a_filter(text):
    assert [one.text for one in split(f"{text} probe")[0]] == [text]


def test_the_foot_says_what_was_no_filter(qloop, until, pane, ask):
    ask.misread = "“tol” is no role: you, agent, tool, system. It is taken as words."
    searched(qloop, until, pane, "upload role:tol")
    assert pane.parts.foot.state.text() == ask.misread
    assert pane.field.filters() == []


def test_the_foot_says_in_how_many_rows_the_hits_are(qloop, until, pane, ask):
    searched(qloop, until, pane, "upload")
    assert "4 hits in 6 ms" in pane.parts.foot.words.text()
    real = ask.search

    async def folded(query):
        found = await real(query)
        return replace(found, counts=found.counts | {"history": 3}, total=found.total + 3)

    ask.search = folded
    searched(qloop, until, pane, "uploads")
    assert "7 hits (4 rows) in 6 ms" in pane.parts.foot.words.text()


def test_filters_alone_put_the_newest_first(qloop, until, pane, ask):
    searched(qloop, until, pane, "role:user")
    assert pane.parts.foot.words.text().startswith("Words, newest first")


def test_the_answer_stays_the_answer_while_a_filter_takes_its_place(
    qtbot, qloop, until, pane, ask
):  # fmt: skip
    searched(qloop, until, pane, "upload")
    pane.field.selectAll()
    qtbot.keyClicks(pane.field, "role:")
    qloop.run_until_complete(asyncio.sleep(0.3))
    assert pane.asked().text == "upload"
    assert pane.parts.shows_hits()


def test_a_filter_being_typed_is_not_looked_for_in_the_place(qtbot, qloop, until, pane):
    pane.field.set_query("uploads are role:")
    settle(qloop, until, pane, lambda: pane.preview.field.isVisible()
           and not pane.tasks.running("preview"))  # fmt: skip
    assert pane.field.text() == "uploads are role:"
    assert pane.preview.field.text() == "uploads are"
    pane.open_hit()
    assert pane.went[-1].find == "uploads are"


def test_the_completion_that_enter_takes_is_seen_as_chosen(qtbot, qloop, until, pane):
    pane.window().activateWindow()
    pane.field.setFocus()
    settle(qloop, until, pane, pane.field.hasFocus)
    qtbot.keyClicks(pane.field, "role:")
    assert pane.parts.suggest.isVisible()
    sheet = pane.parts.suggest.list
    box = sheet.visualRect(sheet.currentIndex())
    seen = sheet.viewport().grab().toImage().pixelColor(box.right() - 20, box.center().y())
    assert seen == token("accent_soft")


# ---------------------------------------------------------------------------- meaning


@pytest.mark.parametrize(
    ("mode", "answered", "words"),
    [
        ("auto", "words", "All words first; then a word may go on, then any of the words."),
        ("auto", "natural", "No line holds them all, so any of the words that matter was enough."),
        ("natural", "natural", "Any of the words that matter, however they are written."),
    ],
)
def test_what_was_searched_follows_the_mode_that_answered(
    qloop, until, pane, ask, mode, answered, words
):
    real = ask.search

    async def search(query):
        return replace(await real(query), mode=answered)

    ask.search = search
    pane.set_mode(mode)
    pane.turn_meaning()
    assert pane.parts.meaning.isVisible(), "what can be typed is told without a search, too"
    searched(qloop, until, pane, "upload")
    assert pane.parts._meaning.text() == f"Searching for “upload”. {words}"


# ---------------------------------------------------------------------------- ways out


def test_a_word_that_is_too_short_is_offered_as_a_beginning_and_letter_by_letter(
    qloop, until, pane, ask
):
    everything, real = ask.hits, ask.search

    async def search(query):
        ask.hits = everything if query.text == "x*" or query.mode == "literal" else ()
        return await real(query)

    ask.search = search
    ask.reason = "“x” is too short: no word is it alone. x* finds words that begin with it."
    ask.causes = frozenset({"short"})
    pane.set_mode("words")
    pane.field.set_query("x")
    settle(qloop, until, pane, lambda: pane.parts.none.ways)
    assert [(w.title, w.query, w.mode, w.hits) for w in pane.parts.none.ways] == [
        ("Words that begin with “x”", "x*", "words", 4),
        ("Search letter by letter", "x", "literal", 4),
    ]
    pane.parts.none.take(1)
    settle(qloop, until, pane, pane.parts.shows_hits)
    assert pane.field.query() == "x*"


def only(ask, hits):
    """Only queries that `hits` accepts find something."""
    everything, real = ask.hits, ask.search

    async def search(query):
        ask.hits = everything if hits(query) else ()
        return await real(query)

    ask.search = search


@pytest.mark.parametrize(
    ("typed", "cause", "head"),
    [("->", "signs", "Nothing to search for in this"), ("pload", "late", "No hits")],
)
def test_what_was_hardly_looked_for_letter_by_letter_is_offered_so(
    qloop, until, pane, ask, typed, cause, head
):
    only(ask, lambda query: query.mode == "literal")
    ask.reason, ask.causes = "Nothing was found.", frozenset({cause})
    pane.field.set_query(typed)
    settle(qloop, until, pane, lambda: pane.parts.none.ways)
    assert pane.parts.none.head.text() == head
    assert [(w.title, w.query, w.mode, w.words) for w in pane.parts.none.ways] == [
        ("Search letter by letter", typed, "literal", "4 hits")
    ]


def test_of_an_unknown_word_the_longest_beginning_that_is_known_is_offered(qloop, until, pane, ask):
    known = [f"role:user {'uploads'[:n]}*" for n in range(1, 8)]
    only(ask, lambda query: query.text in known)
    ask.reason = "No line or message holds this."
    pane.field.set_query("role:user uploadsxxx")
    settle(qloop, until, pane, lambda: pane.parts.none.ways)
    assert [(w.title, w.query, w.mode) for w in pane.parts.none.ways] == [
        ("Words that begin with “uploads”", "role:user uploads*", "auto")
    ]


@pytest.mark.parametrize("typed", ["xyzzyplugh", "upstairs", '"', "xyzzy plugh", "in:daily xyzzy"])
def test_when_nothing_else_helps_the_field_is_cleared(qloop, until, pane, ask, typed):
    only(ask, lambda query: query.text == "up*")
    ask.reason = "No line or message holds this."
    pane.field.set_query(typed)
    settle(qloop, until, pane, lambda: pane.parts.none.ways)
    (way,) = pane.parts.none.ways
    assert (way.title, way.words) == ("Clear the field", "Earlier searches, and how to ask")
    pane.parts.none.take(1)
    settle(qloop, until, pane, pane.parts.start.isVisible)
    assert pane.field.query() == ""


@pytest.mark.parametrize("helps", [False, True])
def test_files_that_are_not_indexed_can_be_looked_at_and_copied(
    qtbot, qloop, until, pane, ask, helps
):
    only(ask, lambda query: helps and query.text == "uplo*")
    ask.reason = "No line or message holds this. 2 files are not indexed, as …"
    ask.causes = frozenset({"left_out"})
    ask.files = [LeftOut("memory/a.md", "is written in UTF-16"), LeftOut("b", "cannot be read")]
    pane.field.set_query("uploxx")
    settle(qloop, until, pane, lambda: pane.parts.none.ways)
    ways = [(way.title, way.words) for way in pane.parts.none.ways]
    named = ("See what is not indexed, and why", "2 files")
    assert ways == (
        [("Words that begin with “uplo”", "4 hits"), named]
        if helps else [named, ("Clear the field", "Earlier searches, and how to ask")]
    )  # fmt: skip
    pane.parts.none.take(1 + ways.index(named))
    settle(qloop, until, pane, lambda: pane.findChild(Question))
    sheet = pane.findChild(Question)
    assert sheet.findChild(QPlainTextEdit).toPlainText() == (
        "memory/a.md is written in UTF-16\nb cannot be read"
    )
    copy = next(b for b in sheet.findChildren(Button) if b.text() == "Copy the list")
    qtbot.mouseClick(copy, Qt.MouseButton.LeftButton)
    settle(qloop, until, pane, lambda: not pane.tasks.running("files"))
    assert QApplication.clipboard().text().endswith("\nb cannot be read")
    assert pane.parts.none.isVisible()


# ---------------------------------------------------------------------------- large text, narrow


def test_at_150_percent_no_words_are_cut(qloop, until, pane):
    theme().choose(zoom=1.5)
    for _ in range(3):
        QApplication.processEvents()
    start = pane.parts.start
    for label in start.findChildren(T):
        if label.isVisible():
            need = max(label.heightForWidth(label.width()), label.minimumSizeHint().height())
            assert label.height() >= need, label.text()
    searched(qloop, until, pane, "upload")
    pane.list.step(1)
    settle(qloop, until, pane, lambda: pane.preview.ways)
    QApplication.processEvents()
    names = {way.label for way in pane.preview.ways}
    labels = [one for one in pane.preview.findChildren(T) if one.text() in names]
    assert labels
    assert all(one.width() >= one.sizeHint().width() for one in labels if one.isVisible())


@pytest.mark.parametrize(("wide", "left"), [(1_076, 24), (860, 16)])
def test_hits_and_searches_begin_where_the_field_begins(qtbot, qloop, until, pane, wide, left):
    pane.resize(wide, 600)
    QApplication.processEvents()
    assert pane.field.mapTo(pane, QPoint(0, 0)).x() == left
    head = pane.parts.start.head
    assert head.mapTo(pane, QPoint(0, 0)).x() == left
    searched(qloop, until, pane, "upload")
    image = pane.list.viewport().grab().toImage()
    ink = token("canvas")
    row = pane.list.visualRect(pane.list.hits.index(0))
    first = next(
        x for x in range(image.width())
        if any(image.pixelColor(x, y) != ink for y in range(row.top(), row.bottom()))
    )  # fmt: skip
    assert left <= first <= left + 3
    qtbot.keyClick(pane.field, Qt.Key.Key_Escape)
    pane.remembered.used("upload")
    pane.parts.start.refresh()
    rows = pane.parts.start.list
    assert rows.delegate.margin + rows.delegate.side == left


# ---------------------------------------------------------------------------- the place beside it


def page(qtbot, *lines: PageLine, at: int = 0) -> PageView:
    view = PageView()
    qtbot.addWidget(view)
    view.resize(360, 240)
    view.show()
    view.model_.show(lines, at, ["needle"], anywhere=False)
    view.fit_gutter()
    view.current = view.model_.places()[0]
    view.hold(at)
    QApplication.processEvents()
    return view


def test_in_high_contrast_the_line_of_the_hit_has_an_outline(qtbot):
    def ink_at_the_edge() -> str:
        box = view.visualRect(view.model_.index(1))
        image = view.viewport().grab().toImage()
        return image.pixelColor(box.left() + 1, box.center().y()).name()

    view = page(qtbot, PageLine("1", "above"), PageLine("2", "a needle"), at=1)
    assert ink_at_the_edge() == token("accent_softer").name()
    theme().choose("light", contrast=True)
    assert ink_at_the_edge() == token("accent").name()


@pytest.mark.parametrize("before", [0, 60, 119])
def test_the_mark_of_a_line_taller_than_the_view_is_in_sight(qtbot, before):
    text = "word " * before + "needle " + "word " * (119 - before)
    view = page(qtbot, PageLine("1", "above"), PageLine("2", text), PageLine("3", "below"), at=1)
    index = view.model_.index(1)
    assert view.visualRect(index).height() > view.viewport().height()
    top, bottom = view.painter_.mark_at(index, 0)
    assert 0 <= top < bottom <= view.viewport().height()


def test_walking_brings_each_mark_of_a_tall_line_into_sight(qtbot, qloop, until, pane):
    many = "needle " + "word " * 110 + "needle"
    pane.resize(1076, 360)
    place = Place("A session", "", (PageLine("You", many),), 0)
    pane.parts.show_part(pane.parts.split)
    pane.preview.show_place(place, "needle", ["needle"])
    QApplication.processEvents()
    view = pane.preview.view
    for which in (1, 0):
        pane.preview.walk(1)
        top, bottom = view.painter_.mark_at(view.model_.index(0), which)
        assert 0 <= top < bottom <= view.viewport().height()


def test_numbers_of_lines_are_never_cut(qtbot):
    view = page(qtbot, *(PageLine(str(n), "needle") for n in range(1_105, 1_118)))
    metrics = QFontMetricsF(font("tiny", tabular=True))
    assert metrics.horizontalAdvance("1111") <= view.gutter - 10


def test_tab_goes_from_the_place_to_its_ways(
    qtbot, qloop, until, pane, ask
):  # fmt: skip
    searched(qloop, until, pane, "upload")
    pane.list.step(1)
    settle(qloop, until, pane, lambda: len(pane.preview.ways) > 1)
    view = pane.preview.view
    assert [following(view, n).accessibleName() for n in (1, 2)] == [
        f"{way.label} {way.text}" for way in pane.preview.ways
    ]


def following(widget: QWidget, n: int) -> QWidget:
    """The nth widget behind one that Tab stops at."""
    while n:
        widget = widget.nextInFocusChain()
        n -= widget.isVisible() and bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus)
    return widget
