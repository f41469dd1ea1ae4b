"""The place of evicted results, through its table, text and acts."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QPlainTextEdit

from app.engine.errors import Unreadable
from app.engine.events import Changed
from app.engine.records import EvictedInfo, TextPage, TranscriptItem
from app.gui.panes.evicted.model import shown
from app.gui.panes.evicted.pane import EvictedPane
from app.gui.panes.evicted.table import columns
from app.gui.widgets.dialogs import Question
from app.gui.widgets.pane import Target
from tests.helpers.panes import assert_named

WHEN = datetime(2026, 11, 27, 9, 0, tzinfo=UTC)


def info(name: str, tool="execute", chars=91_234, state="present", session="s-1", day=27):
    return EvictedInfo(
        path=f"large_tool_results/a/{name}",
        tool=tool,
        session_id=session,
        session_title="Sensor 7 drift" if session else "",
        entry_id=f"{name}:result" if session else "",
        chars=chars,
        bytes=0 if state == "missing" else chars or 62_700,
        when=WHEN.replace(day=day),
        state=state,
    )


LONG = "needle 在这里\n" * 9_000  # three pages
TEXTS = {
    "c1": "\x1b[32mOK\x1b[0m 3 batches\n\x1b[1;31mrefused\x1b[0m: timestamp\n对账 待补批次 1\n",
    "c2": LONG,
    "c3": "x" * 400_000,
    "c5": "orphaned",
}
INFOS = [
    info("c1", chars=len(TEXTS["c1"]), day=29),
    info("c2", tool="fetch_page", chars=len(LONG)),
    info("c3", tool="read_probe", chars=400_000, day=26),
    info("c4", state="missing", day=25),
    info("c5", tool="", chars=0, state="orphan", session="", day=21),
]


class Ask:
    def __init__(self) -> None:
        self.infos = list(INFOS)
        self.pages: list[tuple[str, int]] = []

    async def evicted(self):
        return list(self.infos)

    async def evicted_page(self, path, start=0, length=40_000):
        self.pages.append((path.rsplit("/", 1)[-1], start))
        text = TEXTS.get(path.rsplit("/", 1)[-1])
        if text is None:
            raise Unreadable("This result is no longer on the disk.", "Look in the log.")
        end = min(start + length, len(text))
        return TextPage(text[start:end], start, end, len(text))

    async def transcript(self, session_id, *, before=None, limit=2_000):
        return [
            TranscriptItem("use-1", 88, "tool", WHEN, tool="execute",
                           arguments='{"command": "tern upload --dry-run"}', result="…",
                           target="large_tool_results/a/c1")
        ]  # fmt: skip


class Do:
    def __init__(self, ask: Ask) -> None:
        self.cleaned: list[str] = []
        self._ask = ask

    async def clean_evicted(self, paths, *, initiator=None):
        self.cleaned += paths
        self._ask.infos = [i for i in self._ask.infos if i.path not in paths]
        return len(paths)


@pytest.fixture
def ask(desk) -> Ask:
    desk.engine.ask = Ask()
    desk.engine.do = Do(desk.engine.ask)
    return desk.engine.ask


@pytest.fixture
def pane(qtbot, qloop, desk, ask, until) -> EvictedPane:
    made = EvictedPane(desk)
    qtbot.addWidget(made)
    made.resize(1076, 772)
    made.show()
    made.went = []
    made.go.connect(made.went.append)
    made.activate()
    qloop.run_until_complete(until(lambda: not busy(made)))
    yield made
    qloop.run_until_complete(made.tasks.end())


def busy(pane) -> bool:
    return any(pane.tasks.running(n) for n in ("refresh", "text", "origins", "open", "find"))


def settle(qloop, until, condition) -> None:
    qloop.run_until_complete(until(condition))
    QApplication.processEvents()


def choose(qloop, until, pane, name: str) -> None:
    pane.list.select(f"large_tool_results/a/{name}")
    settle(qloop, until, lambda: not busy(pane))


def names(pane) -> list[str]:
    return [row.id.rsplit("/", 1)[-1] for row in pane.list.rows_model.rows()]


def test_the_table_says_tool_size_session_age_and_state(pane):
    assert names(pane) == ["c1", "c2", "c3", "c4", "c5"], "newest first"
    assert pane.head.details.text() == ("5 results, 562 kB, 1 file missing, 1 without a session")
    first, last = pane.list.rows_model.row(0), pane.list.rows_model.row(4)
    assert first.sentence() == (
        f"execute, tern upload --dry-run, {len(TEXTS['c1'])} characters, session: Sensor 7 drift, "
        "Yesterday, 09:00, kept"
    )
    assert "≤ 62,700 characters, session: none found" in last.sentence()
    assert last.sentence().endswith("no session")


def test_sorting_and_filtering(pane):
    pane.table_head.choose("size")
    assert names(pane)[0] == "c3"
    pane.table_head.choose("size")
    assert names(pane)[0] == "c1"
    assert pane.desk.kept["evicted.sort"] == ["size", False]
    pane.filter.setText("FETCH")
    assert names(pane) == ["c2"]
    pane.filter.setText("dry-run")
    assert names(pane) == ["c1"], "what the tool was asked counts too"
    pane.filter.setText("nothing like it")
    assert names(pane) == []
    assert pane.text.name.text() == "No result matches the filter"
    pane.filter.clear()
    assert len(names(pane)) == 5


def test_terminal_colours_are_shown_and_not_copied(pane):
    assert "\x1b" not in pane.text.well.toPlainText()
    assert pane.text.well.toPlainText().startswith("OK 3 batches\nrefused: timestamp")
    pane.text.copy()
    assert QApplication.clipboard().text().startswith("OK 3 batches\nrefused")


def test_the_text_is_paged(qloop, until, pane, ask):
    choose(qloop, until, pane, "c2")
    assert pane.text.place.text() == "page 1 of 3"
    assert not pane.text.back.isEnabled()
    pane.text.turn(1)
    settle(qloop, until, lambda: pane.text.page == 1)
    assert ask.pages[-1] == ("c2", 40_000)
    assert pane.text.well.text() == LONG[40_000:80_000]
    assert pane.text.range.text() == "characters 40,001 to 80,000, 99,000 in all"
    pane.text.turn(1)
    settle(qloop, until, lambda: pane.text.page == 2)
    pane.text.turn(1)
    assert pane.text.page == 2


def test_lines_are_numbered_on_through_the_pages(qloop, until, pane):
    choose(qloop, until, pane, "c2")
    well = pane.text.well
    assert well.numbers()[:3] == [1, 2, 3]
    last = len(well.numbers())
    pane.text.turn(1)
    settle(qloop, until, lambda: pane.text.page == 1)
    assert well.numbers()[0] == last
    choose(qloop, until, pane, "c3")
    assert well.show_more(well.document().lastBlock())
    assert set(well.numbers()[1:]) == {0}, "pieces of one line have one number"


def test_a_line_of_400_kb_is_cut_and_shown_by_pages(qloop, until, pane):
    choose(qloop, until, pane, "c3")
    assert pane.text.place.text() == "page 1 of 10"
    well = pane.text.well
    assert len(well.toPlainText()) < 3_000
    assert "Show 39 kB more" in well.toPlainText()
    assert well.show_more(well.document().lastBlock())
    assert len(well.toPlainText().replace("\n", "")) == 40_000


def test_find_goes_over_all_pages(qtbot, qloop, until, pane):
    choose(qloop, until, pane, "c2")
    pane.find()
    assert pane.text.find_bar.isVisible()
    qtbot.keyClicks(pane.text.field, "NEEDLE")
    settle(qloop, until, lambda: pane._hits.needle == "NEEDLE" and not busy(pane))
    on_first = LONG[:40_000].count("needle")
    total = pane._hits.total
    assert LONG.count("needle") - 2 <= total <= LONG.count("needle")
    for back in range(3):
        pane.walk(-1)
        settle(qloop, until, lambda: not busy(pane))
        at, there = pane.text.well.finding.count()
        assert at == there - back
    assert pane.text.page == 2, "walking back from the first goes round to the last page"
    pane._at = on_first - 1
    pane.walk(1)
    settle(qloop, until, lambda: pane.text.page == 1 and not busy(pane))
    assert pane.text.well.finding.count()[0] == 1
    qtbot.keyClick(pane.text.field, Qt.Key.Key_Escape)
    assert not pane.text.find_bar.isVisible()


def test_a_missing_file_says_so_and_keeps_the_way_to_its_session(qloop, until, pane, ask):
    before = len(ask.pages)
    choose(qloop, until, pane, "c4")
    assert len(ask.pages) == before, "a file that is gone is not asked for"
    assert "no longer on the disk" in pane.text.well.toPlainText()
    pane.show_session()
    assert pane.went == [Target("timeline", session_id="s-1", entry_id="c4:result")]


def test_the_link_names_the_session_and_leads_to_the_message(qloop, until, pane):
    choose(qloop, until, pane, "c1")
    assert pane.text.link.text() == "in Sensor 7 drift"
    pane.show_session()
    assert pane.went == [Target("timeline", session_id="s-1", entry_id="use-1")]
    choose(qloop, until, pane, "c5")
    assert pane._why_no_session() == "No session speaks of this file."


def test_a_target_is_shown_with_find_filled_in(qloop, until, pane):
    qloop.run_until_complete(
        pane.open(Target("evicted", path="large_tool_results/a/c1", find="refused"))
    )
    assert pane.text.name.text() == "execute"
    assert pane.text.field.text() == "refused"
    assert pane.text.well.finding.count() == (1, 1)
    with pytest.raises(Unreadable):
        qloop.run_until_complete(pane.open(Target("evicted", path="large_tool_results/a/zz")))


@pytest.mark.parametrize(
    ("line", "shown", "page"), [(1, 1, 0), (2, 2, 0), (8_000, 8_000, 2), (20_000, 1, 0)]
)
def test_a_target_with_a_line_is_shown_at_the_hit_of_that_line(
    qtbot, qloop, pane, line, shown, page
):  # fmt: skip
    """On whatever page; a line that is not there any more is its first. Keys go to the text."""
    pane.activateWindow()
    target = Target("evicted", path="large_tool_results/a/c2", line=line, find="needle")
    qloop.run_until_complete(pane.open(target))
    assert pane.text.page == page
    block = pane.text.well.textCursor().block()
    assert block.text() == "needle 在这里"
    assert block.blockNumber() + pane.text._starts[page] == shown
    assert not pane.text.field.hasFocus()
    qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_N)
    assert pane.text.field.text() == "needle"


def test_cleaning_up_shows_what_goes_and_moves_it_to_the_trash(qloop, until, pane, desk):
    choose(qloop, until, pane, "c1")
    pane.tasks.latest("clean", pane.clean_up())
    settle(qloop, until, lambda: pane.findChildren(Question))
    question = pane.findChildren(Question)[0]
    texts = " ".join(w.toPlainText() for w in question.findChildren(QPlainTextEdit))
    assert "large_tool_results/a/c1" in texts
    titles = [b.text() for b in question._buttons]
    assert titles == ["Keep", "See the 1 without a session", "Move 1 to the trash"]
    question.answer("go")
    settle(qloop, until, lambda: desk.engine.do.cleaned)
    assert desk.engine.do.cleaned == ["large_tool_results/a/c1"]
    settle(qloop, until, lambda: "c1" not in names(pane))
    assert pane.undo_bar.accessibleName() == "1 result moved to the trash"


def test_files_without_a_session_are_seen_before_they_go(qloop, until, pane, desk):
    pane.tasks.latest("clean", pane.clean_up())
    settle(qloop, until, lambda: pane.findChildren(Question))
    first = pane.findChildren(Question)[0]
    first.answer("orphans")
    settle(qloop, until, lambda: any(q is not first for q in pane.findChildren(Question)))
    second = next(q for q in pane.findChildren(Question) if q is not first)
    assert "c5" in second.findChildren(QPlainTextEdit)[0].toPlainText()
    second.answer("go")
    settle(qloop, until, lambda: desk.engine.do.cleaned)
    assert desk.engine.do.cleaned == ["large_tool_results/a/c5"]


def test_esc_cleans_nothing(qloop, until, pane, desk):
    pane.tasks.latest("clean", pane.clean_up())
    settle(qloop, until, lambda: pane.findChildren(Question))
    pane.findChildren(Question)[0].close_sheet()
    settle(qloop, until, lambda: not pane.tasks.running("clean"))
    assert desk.engine.do.cleaned == []


def test_an_empty_place_says_what_will_be_here(qloop, until, pane, ask):
    ask.infos = []
    pane.desk.signals.changed.emit(Changed(frozenset({"evicted"})))
    settle(qloop, until, lambda: pane.stack.currentWidget() is pane.empty)
    assert pane.empty.head.text() == "Nothing was put aside yet"
    assert not pane.clean.isVisible()


def test_new_results_leave_choice_and_text_alone(qloop, until, pane, ask):
    choose(qloop, until, pane, "c2")
    pane.text.turn(1)
    settle(qloop, until, lambda: pane.text.page == 1)
    ask.infos = [info("c9", day=30), *ask.infos]
    pane.desk.signals.changed.emit(Changed(frozenset({"evicted"})))
    settle(qloop, until, lambda: names(pane)[0] == "c9" and not busy(pane))
    assert pane.list.current_row().id.endswith("c2")
    assert pane.text.page == 1


@pytest.mark.parametrize("width", [1100, 880, 700, 540, 440])
@pytest.mark.parametrize("zoom", [1.0, 1.4])
def test_columns_fold_and_never_overlap(width, zoom):
    there = columns(width, zoom)
    assert {"tool", "size", "state"} <= there.keys()
    assert ("when" in there) or "session" not in there, "the session folds before the age"
    assert there["state"][1] == 108 * zoom  # no word of it is cut when the text is larger
    ends = sorted((left, left + wide) for left, wide in there.values())
    assert all(one[1] <= other[0] for one, other in pairwise(ends))


def test_a_hundred_thousand_results_are_sorted_and_shown(pane):
    many = [info(f"c{n}", chars=n + 1) for n in range(100_000)]
    assert shown(many, {}, sort="size", down=True, needle="")[0].chars == 100_000
    assert len(shown(many, {}, sort="when", down=True, needle="c99999")) == 1


def test_everything_that_takes_the_focus_has_a_name(pane):
    assert_named(pane)
