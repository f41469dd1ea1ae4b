"""From a hit to its place, with the real engine, real files and the real window."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.engine.workspace.history import History
from app.engine.workspace.layout import Layout, ensure
from app.gui.widgets.pane import Target
from app.gui.widgets.uneven import Marked
from tests.helpers.reviewing import proposed
from tests.helpers.search_window import day, room, session, until

# ---------------------------------------------------------------------------- filters


def test_filters_are_completed_with_the_tools_and_sessions_there_are(qtbot, runs, tmp_path) -> None:
    async def main() -> None:
        folder = tmp_path / "ws"
        path = session(folder, "s-1", "look at the probe", "yes")
        call = {
            "v": 1, "seq": 3, "type": "tool_use", "id": "c-1", "toolCallId": "c-1",
            "name": "read_probe", "input": {}, "timestamp": "2026-06-02T01:01:00+00:00",
        }  # fmt: skip
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(call) + "\n")
        async with room(qtbot, folder) as here:
            pane = here.search
            await until(lambda: pane.parts.suggest.known.tools)
            pane.field.setFocus()
            QTest.keyClicks(pane.field, "tool:re")
            await until(pane.parts.suggest.isVisible)
            here.key(Qt.Key.Key_Return)
            assert [one.text for one in pane.field.filters()] == ["tool:read_probe"]
            QTest.keyClicks(pane.field, 'session:"look at')
            await until(pane.parts.suggest.isVisible)
            here.key(Qt.Key.Key_Return)
            assert [one.text for one in pane.field.filters()][1] == "session:s-1"

    runs(main())


# ---------------------------------------------------------------------------- the past


def test_a_line_that_went_opens_the_version_that_held_it(qtbot, runs, tmp_path) -> None:
    async def main() -> None:
        folder = tmp_path / "ws"
        async with room(qtbot, folder) as here:
            do, ask = here.engine.engine.do, here.engine.engine.ask
            for text in ("# Memory\n\n- Vents open at 26\n- The zanzibar key hangs left\n",
                         "# Memory\n\n- Vents open at 26\n",
                         "# Memory\n\n- Vents open at 27\n"):  # fmt: skip
                now = await ask.memory()
                await do.write_memory(text, now.sha256)
            hits = await here.find("in:history zanzibar")
            assert hits, "the history is searched"
            (only,) = hits  # it came and it went: one line with two places
            both = {place.role: place for place in (only, *only.places)}
            assert sorted(both) == ["added", "dropped"]
            await here.choose(only)
            preview = here.search.preview
            held = int(both["added"].path.removeprefix("history:"))
            assert preview.title.text() == f"MEMORY.md, version {held}"
            assert [line.text for line in preview.view.model_.lines] == [
                "Memory", "Vents open at 26", "The zanzibar key hangs left",
            ]  # fmt: skip
            assert preview.note.text() == ""
            also = preview.ways[-1]
            assert both["dropped"].path == f"history:{held + 1}"
            assert also.label == "Also in"
            assert (also.target.version, also.target.line) == (held, 4)
            pane = await here.open()
            assert here.window.place() == "memory"
            assert pane.file.version == held
            assert pane.scrubber.line.shows == held
            assert pane.file.find_bar.isVisible()
            assert pane.file.find_bar.field.text() == "zanzibar"
            assert pane.file.lines.current_row().number == 4
            await here.back()
            assert here.search.list.current() == only

    runs(main())


def test_a_line_that_was_proposed_opens_its_review(qtbot, runs, tmp_path) -> None:
    async def main() -> None:
        folder = tmp_path / "ws"
        proposal = await proposed(folder)
        async with room(qtbot, folder) as here:
            hits = await here.find("in:history recalibrated")
            offered = next(h for h in hits if h.path == f"proposal:{proposal}")
            await here.choose(offered)
            assert here.search.preview.title.text() == "A proposal"
            assert "waiting" in here.search.preview.details.text()
            pane = await here.open()
            assert here.window.place() == "memory"
            await until(lambda: pane.mode == "review")
            assert pane.review.proposal.info.id == proposal

    runs(main())


# ---------------------------------------------------------------------------- what is gone


@pytest.mark.case("B33")
def test_no_phantom_is_shown_and_what_went_meanwhile_says_so(qtbot, runs, tmp_path) -> None:
    folder = tmp_path / "ws"

    async def before() -> None:
        async with room(qtbot, folder) as here:
            assert len(await here.find("in:daily phantom")) == 10

    async def after() -> None:
        async with room(qtbot, folder) as here:
            hits = await here.find("in:daily phantom")
            names = sorted(hit.path.rsplit("/", 1)[-1] for hit in hits)
            assert names == sorted([f"2026-05-{n:02}.md" for n in range(4, 10)] + ["2026-07-01.md"])
            for hit in hits:
                here.search.list.choose(here.search.list.hits.entries().index(hit))
                pane = await here.open()
                assert here.window.place() == "daily"
                assert pane.notices.causes() == []
                await here.back()
            # Then one goes while its hit is on screen. (Daily shows another: it would tell too.)
            lost = hits[0]
            await here.choose(lost)
            (folder / lost.path).unlink()
            here.search.results.show_preview()
            await until(lambda: here.search.preview.note.isVisible())
            assert here.search.preview.note.text()
            assert lost.text.strip(" -") in here.search.preview.view.model_.lines[0].text
            pane = await here.open()
            await until(pane.notices.causes)
            assert "is not in this workspace any more" in pane.notices.causes()[0]

    for n in range(1, 11):
        day(folder, f"2026-05-{n:02}", f"phantom number {n}")
    runs(before())
    for n in (1, 2, 3):
        (folder / "memory" / f"2026-05-{n:02}.md").unlink()
    (folder / "memory" / "2026-05-10.md").rename(folder / "memory" / "2026-07-01.md")
    runs(after())


def test_a_session_that_went_while_its_hit_was_on_screen_says_so(qtbot, runs, tmp_path) -> None:
    async def main() -> None:
        folder = tmp_path / "ws"
        log = session(folder, "s-1", "the phantom crate", "noted")
        session(folder, "s-2", "something else")
        async with room(qtbot, folder) as here:
            hits = await here.find("phantom")
            assert [hit.entry_id for hit in hits] == ["s-1-1"]
            log.unlink()
            here.search.results.show_preview()
            await until(lambda: here.search.preview.note.isVisible())
            pane = await here.open()
            await until(pane.notices.causes)
            assert pane.notices.causes() == ["That session is not in this workspace any more."]
            await here.back()

    runs(main())


@pytest.mark.case("B38")
def test_a_change_nobody_told_of_is_marked_beside_the_answer(qtbot, runs, tmp_path) -> None:
    async def main() -> None:
        folder = tmp_path / "ws"
        day(folder, "2026-05-01", "the crate is blue")
        async with room(qtbot, folder) as here:  # nothing watches this folder
            foot = here.search.parts.foot
            await until(lambda: not here.search.tasks.running("refresh"))
            (folder / "memory").rename(folder / "elsewhere")
            (folder / "elsewhere").rename(folder / "memory")
            day(folder, "2026-05-02", "the crate is red")
            hits = await here.find("crate")
            assert [hit.path for hit in hits] == ["memory/2026-05-01.md"]
            await until(foot.state.text)
            assert foot.state.text() == "1 file is newer than the index."
            await here.engine.engine.do.reindex()
            await here.engine.engine.drain()
            await until(lambda: not foot.state.text())
            await until(lambda: len(here.search.results.answer.hits) == 2)

    runs(main())


def test_an_archived_log_says_so_and_opens(qtbot, runs, tmp_path) -> None:
    async def main() -> None:
        folder = tmp_path / "ws"
        old = day(folder, "2026-01-05", "the phantom crate")
        (folder / "memory" / "archive").mkdir()
        old.rename(folder / "memory" / "archive" / old.name)
        async with room(qtbot, folder) as here:
            (hit,) = await here.find("phantom")
            hits = here.search.list.hits
            assert "archived" in hits.index(hits.first()).data()
            await here.choose(hit)
            assert "archived" in here.search.preview.title.text()
            pane = await here.open()
            assert here.window.place() == "daily"
            assert pane.file == "memory/archive/2026-01-05.md"

    runs(main())


# ---------------------------------------------------------------------------- by keys alone


def test_every_act_of_the_place_has_a_key_that_does_it(qtbot, runs, tmp_path) -> None:
    async def main() -> None:
        folder = tmp_path / "ws"
        day(folder, "2026-05-01", "the blue crate and another crate", "a crate of lemons")
        session(folder, "s-1", "the crate is blue", "noted", "which crate", "the blue one")
        control, shift, alt = (
            Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier,
            Qt.KeyboardModifier.AltModifier,
        )  # fmt: skip
        async with room(qtbot, folder) as here:
            pane, keys = here.search, Qt.Key
            kept = pane.desk.kept

            async def idle() -> None:
                await until(lambda: not any(map(pane.tasks.running, ("search", "preview"))))

            hits = await here.find("crate")
            assert {hit.layer for hit in hits} == {"daily", "sessions"}
            here.key(keys.Key_L, control)
            assert pane.asked().mode == "words"
            here.key(keys.Key_Question, control)  # in the field; "?" alone elsewhere
            await until(pane.parts.meaning.isVisible)
            here.key(keys.Key_S, control)
            assert kept["search.saved"] == ["crate"]
            here.key(keys.Key_PageDown, control)
            assert pane.asked().layer == "memory"
            here.key(keys.Key_PageUp, control)
            here.key(keys.Key_O, control | shift)
            assert pane.asked().newest
            here.key(keys.Key_O, control | shift)
            here.key(keys.Key_G, control | shift)
            assert pane.asked().grouping == "day"
            here.key(keys.Key_G, control | shift)
            await idle()
            before = pane.results.answer
            here.key(keys.Key_F5)
            await until(lambda: pane.results.answer is not before)
            await idle()
            here.key(keys.Key_Down)  # from the field to the next hit
            pane.list.setFocus()
            here.key(keys.Key_Question)
            assert not pane.parts.meaning.isVisible()
            first = next(h for h in hits if h.layer == "daily" and "another" in h.text)
            await here.choose(first)
            at, of = pane.preview.count()
            assert of == 3
            for key, modifier, step in (
                (keys.Key_N, Qt.KeyboardModifier.NoModifier, 1),
                (keys.Key_F3, Qt.KeyboardModifier.NoModifier, 1),
                (keys.Key_N, shift, -1),
            ):
                at = (at - 1 + step) % of + 1
                here.key(key, modifier)
                assert pane.preview.count() == (at, of)
            pane.preview.view.setFocus()
            here.key(keys.Key_N)
            assert pane.preview.count() == (at % of + 1, of), "also from inside the place"
            here.key(keys.Key_Backspace)
            assert pane.list.hasFocus()
            here.key(keys.Key_Slash)
            assert pane.field.hasFocus()
            here.key(keys.Key_Return, alt)
            await until(lambda: pane.asked().mode == "natural")
            assert pane.field.query() == "the blue crate and another crate"

    runs(main())


def test_hits_are_walked_in_the_place_that_was_opened(qtbot, runs, tmp_path) -> None:
    async def main() -> None:
        folder = tmp_path / "ws"
        session(folder, "s-1", "the crate is blue", "noted", "which crate", "the blue one")
        async with room(qtbot, folder) as here:
            hits = await here.find("crate")
            await here.choose(next(hit for hit in hits if hit.entry_id == "s-1-1"))
            pane = await here.open()
            assert pane.page.find_bar.field.text() == "crate"
            for entry in ("s-1-3", "s-1-1"):
                here.key(Qt.Key.Key_N)
                await until(lambda e=entry: pane.page.sheet.current().id == e)

    runs(main())


def test_hits_are_walked_in_memory_and_in_a_version_of_long_ago(qtbot, runs, tmp_path) -> None:
    """N and Shift+N in MEMORY.md; a hit in a version that is older than those looked at opens."""

    async def main() -> None:
        folder = tmp_path / "ws"
        layout = Layout.at(folder)
        folder.mkdir()
        ensure(layout)
        history = History(layout, sync=False)
        for n in range(260):
            old = "- a crate of long ago\n- the crate is red\n" if n < 20 else ""
            text = f"# Memory\n\n{old}- the drawer is open {n}\n"
            history.commit(text, cause="test", when=datetime.now(UTC))
        layout.memory_md.write_text(text.replace("open", "blue") + "- one more drawer\n", "utf-8")
        async with room(qtbot, folder) as here:
            hits = await here.find("drawer")
            await here.choose(next(h for h in hits if (h.layer, h.line) == ("memory", 3)))
            pane = await here.open()
            assert pane.file.find_bar.field.text() == "drawer"
            assert pane.file.chosen_line() == 3
            here.key(Qt.Key.Key_N)
            assert pane.file.chosen_line() == 4
            here.key(Qt.Key.Key_N, Qt.KeyboardModifier.ShiftModifier)
            assert pane.file.chosen_line() == 3
            await here.back()
            hits = await here.find("red crate")
            wanted = next(hit for hit in hits if hit.layer == "history")
            await here.choose(wanted)
            pane = await here.open()
            await until(lambda: pane.mode == "version")
            assert pane.file.version < 60, "200 versions came since"
            assert pane.scrubber.line.shows == pane.file.version
            await pane.refresh()
            assert pane.file.version, "it stays when something changes"

    runs(main())


def test_marked_text_of_any_place_becomes_the_query(qtbot, runs, tmp_path) -> None:
    async def main() -> None:
        folder = tmp_path / "ws"
        session(folder, "s-1", "the zanzibar crate is blue", "noted")
        async with room(qtbot, folder) as here:
            here.window.show_target(Target("timeline", session_id="s-1", entry_id="s-1-1"))
            pane = here.window.pane("timeline")
            await until(lambda: pane.page.items and not pane.tasks.running("open"))
            sheet = pane.page.sheet
            sheet.marked = Marked("s-1-1", 0, 4, 18)
            sheet.setFocus()
            here.key(Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier
                     | Qt.KeyboardModifier.ShiftModifier)  # fmt: skip
            await until(lambda: here.search.field.query() == "zanzibar crate")

    runs(main())
