"""The rows of hits as they are painted; what is remembered of them is never out of date."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, QLocale, Qt
from PySide6.QtGui import QImage, QPixmap
from PySide6.QtWidgets import QApplication

from app.engine.events import Changed
from app.engine.records import EvictedInfo, Hit
from app.gui.look.theme import theme
from app.gui.panes.search.hits import HitList
from app.gui.panes.search.model import Head, HitModel, by_day
from app.gui.panes.search.pane import SearchPane
from tests.gui.conftest import NOW
from tests.helpers.found import DAY, hit, searched, settle

TITLES = {"s-1": "Upload fix", "s-2": "תיקון ההעלאה", "s-3": "会议纪要" * 30}
TEXTS = ("upload failed at night", "对账脚本 upload", "many words " * 40 + "upload", "")


def said(n: int) -> Hit:
    text = TEXTS[n % len(TEXTS)]
    return hit("sessions", text, max(text.find("upload"), 0), line=n, entry_id=f"e{n}",
               path="agents/a/sessions/s-1.log.jsonl", session_id=f"s-{n % 3 + 1}")  # fmt: skip


@pytest.fixture
def fresh(qtbot):
    """A new list of `count` hits."""

    def make(count: int, titles: dict[str, str] = TITLES) -> HitList:
        view = HitList()
        qtbot.addWidget(view)
        view.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # none by being shown
        view.resize(656, 600)
        view.hits.set_entries(by_day([said(n) for n in range(count)], NOW), titles, NOW)
        view.settle()
        view.show()
        view.choose(2, quiet=True)
        return view

    return make


def picture(view: HitList) -> QImage:
    QApplication.processEvents()
    return view.viewport().grab().toImage()


def told(view: HitList, titles: dict[str, str]) -> None:
    entries = list(view.hits.entries())
    view.hits.set_entries(entries, titles, NOW)
    view.settle()
    view.choose(2, quiet=True)


def german(view: HitList) -> None:
    QLocale.setDefault(QLocale(QLocale.Language.German))
    QApplication.sendEvent(view, QEvent(QEvent.Type.LocaleChange))


CHANGES = {
    "colours": lambda view: theme().choose("dark"),
    "contrast": lambda view: theme().choose(contrast=True),
    "size of text": lambda view: theme().choose(zoom=1.5),
    "width": lambda view: view.resize(420, 600),
    "choice": lambda view: view.choose(4, quiet=True),
    "focus": lambda view: (view.activateWindow(), view.setFocus()),
    "lively": lambda view: (setattr(view, "lively", True), view.viewport().update()),
    "dimmed": lambda view: view.set_dimmed(True),
    "titles": lambda view: told(view, {"s-1": "Another name"}),
    "language": german,
}


@pytest.mark.parametrize("count", [12, 500])
@pytest.mark.parametrize("change", CHANGES)
def test_a_row_that_was_painted_before_looks_as_one_that_was_not(fresh, change, count):
    locale = QLocale()
    view = fresh(count)
    before = picture(view)
    try:
        CHANGES[change](view)
        after = picture(view)
        assert after != before
        view.painter_.forget()
        assert picture(view) == after
    finally:
        QLocale.setDefault(locale)


def test_rows_painted_for_one_screen_are_as_sharp_on_another(fresh):
    view = fresh(12)
    picture(view)

    def on_fine_screen() -> QImage:
        sheet = QPixmap(view.viewport().size() * 2)
        sheet.setDevicePixelRatio(2.0)
        view.viewport().render(sheet)
        return sheet.toImage()

    after = on_fine_screen()
    view.painter_.forget()
    assert on_fine_screen() == after


def test_scrolling_back_asks_for_no_words_again(fresh, monkeypatch):
    asked: list[Hit] = []
    real = HitModel.words
    monkeypatch.setattr(HitModel, "words", lambda self, one: asked.append(one) or real(self, one))
    view = fresh(500)
    bar = view.verticalScrollBar()
    picture(view)
    first = len(asked)
    assert first, "what is seen is put into words"
    bar.setValue(bar.value() + 300)
    picture(view)
    assert first < len(asked) < 2 * first, "and what comes into sight"
    asked.clear()
    bar.setValue(0)
    picture(view)  # not compared: the window may have become the active one meanwhile
    assert asked == []


def test_a_place_that_reads_right_to_left_leaves_the_time_alone(fresh):
    view = fresh(12)
    row = next(i for i in range(1, 12) if view.hits.entry(i).session_id == "s-2")
    named = picture(view)
    told(view, {})
    unnamed = picture(view)
    box = view.visualRect(view.hits.index(row))
    box.setHeight(24)
    assert named.copy(box) != unnamed.copy(box), "the place is there"
    box.setLeft(box.right() - 200)
    assert named.copy(box) == unnamed.copy(box), "and nothing of it over the time"


def test_an_evicted_hit_names_its_tool_its_size_and_the_day_it_was_put_aside(
    desk, qloop, until, ask, pane
):  # fmt: skip
    """As the place of evicted results does, also when that is known only after the answer."""
    path = "large_tool_results/a/c1-00"
    file = hit("evicted", "tern upload --dry-run", 5, path=path, line=2, when=NOW)
    ask.hits = (file, hit("memory", "- uploads are retried", 2, path="MEMORY.md", line=3))
    pane.turn_grouping()
    searched(qloop, until, pane, "upload")
    put = DAY.replace(day=27)
    ask.put_aside = (EvictedInfo(path, "execute", "s-1", "Upload fix", "e7", 91_000, 91_234, put),)
    pane.activate()
    desk.signals.changed.emit(Changed(frozenset({"evicted"})))
    settle(qloop, until, pane, lambda: "execute" in said_of(pane, "evicted"))
    assert said_of(pane, "evicted").startswith("execute, 91 kB, line 2, Upload fix, 17:20")
    heads = [e.title for e in pane.list.hits.entries() if isinstance(e, Head)]
    assert heads == ["Saturday, 28 November", "Friday, 27 November"]
    pane.turn_grouping()
    settle(qloop, until, pane, lambda: "27 Nov, 17:20" in said_of(pane, "evicted"))


def said_of(pane: SearchPane, layer: str) -> str:
    """The row of the hit of that layer as it is read out."""
    hits = pane.list.hits
    rows = (i for i, e in enumerate(hits.entries()) if isinstance(e, Hit) and e.layer == layer)
    return str(hits.data(hits.index(next(rows))))
