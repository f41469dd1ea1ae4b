"""Line n in the window is line n of the file: only a line feed ends one (B47)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.engine.records import Query
from app.gui.panes.daily.pane import DailyPane
from app.gui.panes.memory.editor import Editor
from app.gui.panes.memory.lines_view import LineRow
from app.gui.panes.search.pane import SearchPane
from app.gui.widgets.pane import Desk, Target
from tests.helpers.memory_place import settle, shown
from tests.helpers.waiting import until

ODD = "one\u2028two\u2029three\u0085four\vfive\fsix\x1cseven\x1deight\x1enine"
MEMORY = (
    f"# Memory\n\n- odd {ODD}\n- The boat is called Selkie\n\n## More {ODD}\n\n- Otter is blue\n"
)
LOG = f"- An aside {ODD}\n- The boat is called Kelpie now\n- Otter sleeps {ODD}\n"


@pytest.fixture
def folder(tmp_path: Path, own_places: None) -> Path:
    made = tmp_path / "work"
    (made / "memory").mkdir(parents=True)
    (made / "MEMORY.md").write_bytes(MEMORY.encode())
    (made / "memory" / "2026-11-28.md").write_bytes(LOG.encode())
    return made


async def opened_from_search(desk: Desk, qtbot: QtBot, words: str, layer: str) -> Target:
    """What Enter on the only hit opens; its preview says the same line."""
    pane = SearchPane(desk)
    qtbot.addWidget(pane)
    pane.resize(1076, 772)
    pane.show()
    went: list[Target] = []
    pane.go.connect(went.append)
    try:
        pane.field.set_query(f"{words} in:{layer}")
        await until(lambda: pane.list.current() is not None and pane.preview.view.model_.lines)
        (hit,) = (await desk.engine.ask.search(Query(words, layers=frozenset({layer})))).hits
        lines, at = pane.preview.view.model_.lines, pane.preview.view.model_.at
        assert not pane.preview.note.text(), "the line is where the hit says it is"
        assert words in lines[at].text
        if layer == "memory":
            assert lines[at].label == str(hit.line)
        qtbot.keyClick(pane.field, Qt.Key.Key_Return)
        (target,) = went
        assert target.line == hit.line
        return target
    finally:
        await pane.tasks.end()


@pytest.mark.case("B47")
def test_line_n_in_the_memory_place_is_the_files_own(
    qloop: asyncio.AbstractEventLoop, folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        raw = MEMORY.split("\n")[:-1]
        async with shown(folder, qtbot) as (pane, engine, _):
            await engine.index_ready()
            rows = pane.file.lines.rows_model.rows()
            assert [r.number for r in rows if isinstance(r, LineRow)] == list(range(1, 9))
            assert [str(r.data) for r in rows] == raw
            assert rows[2].spoken.startswith("Line 3: ")
            for words, line in (("Selkie", 4), ("Otter", 8)):
                target = await opened_from_search(pane.desk, qtbot, words, "memory")
                await pane.open(target)
                await settle(pane)
                assert pane.file.chosen_line() == line
                assert words in pane.file.raw_line(line)
                assert pane.file.why.title.text() == f"Line {line}"
                assert pane.file.lines.copy() == raw[line - 1]
            # The field for editing would turn one of them into a line end, so it does not begin.
            assert Editor.refuses(MEMORY)

    qloop.run_until_complete(main())


@pytest.mark.case("B47")
def test_line_n_in_the_daily_place_is_the_files_own(
    qloop: asyncio.AbstractEventLoop, folder: Path, qtbot: QtBot
) -> None:
    async def main() -> None:
        async with shown(folder, qtbot) as (memory, engine, _):
            await engine.index_ready()
            pane = DailyPane(memory.desk)
            qtbot.addWidget(pane)
            pane.show()
            try:
                for words, line in (("Kelpie", 2), ("Otter", 3)):
                    target = await opened_from_search(memory.desk, qtbot, words, "daily")
                    await pane.open(target)
                    row = pane.cards.rows[pane.cards.current_at()]
                    assert row.line.line == line
                    assert row.line.text == LOG.split("\n")[line - 1]
            finally:
                await pane.tasks.end()

    qloop.run_until_complete(main())
