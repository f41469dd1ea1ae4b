"""Searching again and again by keys alone, in the real window."""

from __future__ import annotations

from operator import attrgetter

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

from app.gui.panes.search.filters import Filter
from app.gui.widgets.labels import T
from app.gui.widgets.pane import Target
from app.gui.window.keys_sheet import KeysSheet
from tests.helpers.search_window import day, room, session, until

CONTROL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier


@pytest.mark.parametrize("from_where", ["list", "elsewhere"])
def test_ctrl_shift_f_takes_up_a_new_search_whatever_was_there(qtbot, runs, tmp_path, from_where):
    """What is typed next takes the place of words and filters, and none of its keys is lost."""

    async def main() -> None:
        day(tmp_path / "ws", "2026-05-01", "the blue crate and another", "a ton of frost")
        async with room(qtbot, tmp_path / "ws") as here:
            pane = here.search
            await here.find("in:daily crate")
            pane.list.setFocus()
            if from_where == "elsewhere":
                here.window.show_target(Target("evicted"))
                assert not pane.field.hasFocus()
            here.key(Qt.Key.Key_F, CONTROL | SHIFT)
            assert pane.field.hasFocus()
            assert pane.field.query() == "in:daily crate", "until something is typed"
            QTest.keyClicks(pane.field, "ton")
            assert pane.field.query() == "ton"

    runs(main())


def test_selected_as_one_words_and_filters_go_as_one(qtbot, runs, tmp_path):
    async def main() -> None:
        session(tmp_path / "ws", "s-1", "the crate is blue", "noted")
        async with room(qtbot, tmp_path / "ws") as here:
            field = here.search.field
            await until(field.hasFocus)
            for keys, left in (
                ([Qt.Key.Key_Backspace], ""),
                ([Qt.Key.Key_Delete], ""),
                ([Qt.Key.Key_X], "x"),
                ([Qt.Key.Key_End, Qt.Key.Key_X], "role:user cratex"),
                ([Qt.Key.Key_End, Qt.Key.Key_Backspace], "role:user crat"),
            ):
                for words in ("crate", ""):
                    field.set_query(f"role:user {words}".strip())
                    here.key(Qt.Key.Key_A, CONTROL)
                    for key in keys:
                        here.key(key)
                    if words:
                        assert field.query() == left
                    elif len(keys) == 1:
                        assert field.query() == left, "also without words"
            field.set_query("crate")
            here.key(Qt.Key.Key_A, CONTROL)
            QTest.keyClicks(field, "role:user x")
            assert field.filters() == [Filter("role", "user")]
            assert field.text() == "x"

    runs(main())


def test_an_evicted_hit_is_opened_at_its_line_and_keys_walk_on_and_lead_back(
    qtbot, runs, tmp_path
):  # fmt: skip
    async def main() -> None:
        file = tmp_path / "ws" / "large_tool_results" / "palimpsest" / "c1-0123456789abcdef"
        file.parent.mkdir(parents=True)
        words = {2_000: "the last drift", 122: "a strong drift", 102: "some drift"}
        lines = [words.get(n, f"reading {n} of the probe in bed {n % 7}") for n in range(1, 2_100)]
        file.write_text("\n".join(lines), "utf-8")
        async with room(qtbot, tmp_path / "ws") as here:
            hits = await here.find("strong drift")
            wanted = next(hit for hit in hits if "strong" in hit.text)
            await here.find("drift")
            await here.choose(next(h for h in here.hits() if h.line == wanted.line))
            pane = await here.open()
            well = pane.text.well

            def line() -> str:
                return well.textCursor().block().text()

            assert line() == "a strong drift"
            here.key(Qt.Key.Key_N)
            await until(lambda: line() == "the last drift")
            assert pane.text.page == 1
            here.key(Qt.Key.Key_N, SHIFT)
            await until(lambda: line() == "a strong drift")
            assert pane.text.field.text() == "drift"
            await here.back()
            assert here.search.list.current().line == wanted.line

    runs(main())


def test_what_was_done_is_told_above_what_the_place_says_at_its_lower_edge(qtbot, runs, tmp_path):
    """The foot of the hits and the axis of versions stay readable, whoever tells it."""

    async def main() -> None:
        day(tmp_path / "ws", "2026-05-01", "the blue crate")
        (tmp_path / "ws" / "MEMORY.md").write_text("# Memory\n\n- the crate is red\n", "utf-8")
        async with room(qtbot, tmp_path / "ws") as here:
            await here.find("crate")
            here.key(Qt.Key.Key_S, CONTROL)
            pane = here.search
            assert lower(pane.parts.bar) <= upper(pane.parts.foot)
            reset = here.window.catalogue.get("demo.reset")
            for place, foot in (("search", "parts.foot"), ("memory", "scrubber")):
                here.window.show_target(Target(place))
                pane = here.window.pane(place)
                await until(lambda p=pane: not p.tasks.running("refresh"))
                here.window.run_action(reset)
                assert here.window.undo_bar.isVisible()
                assert lower(here.window.undo_bar) <= upper(attrgetter(foot)(pane))

    runs(main())


def upper(widget: QWidget) -> int:
    return widget.mapTo(widget.window(), QPoint()).y()


def lower(widget: QWidget) -> int:
    return upper(widget) + widget.height()


def test_what_can_be_typed_is_told_at_any_time_by_two_keys(qtbot, runs, tmp_path):
    """Beside the meaning of a search, also before and without one, and with the keys (F1)."""

    async def main() -> None:
        day(tmp_path / "ws", "2026-05-01", "the blue crate")
        async with room(qtbot, tmp_path / "ws") as here:
            pane, meaning = here.search, here.search.parts.meaning
            pane.remembered.used("crate")
            await until(pane.field.hasFocus)
            for query in ("", "crate"):
                await here.find(query) if query else pane.field.setFocus()
                here.key(Qt.Key.Key_Question, CONTROL)
                await until(meaning.isVisible)
                assert {"role:", "day:", "-word", '"…"'} <= words_in(meaning)
                here.key(Qt.Key.Key_Question, CONTROL)
                assert not meaning.isVisible()
            here.key(Qt.Key.Key_F1)
            sheet = here.window.findChildren(KeysSheet)[0]
            assert {"role:", "day:", "-word", '"…"'} <= words_in(sheet)
            sheet.close_sheet()

    runs(main())


def words_in(part: QWidget) -> set[str]:
    return {label.text() for label in part.findChildren(T) if label.isVisible()}
