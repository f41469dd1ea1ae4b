"""One workspace after another in one program: the demo made new, and another folder opened."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from app import program as program_room
from app.gui.widgets.buttons import Button
from app.gui.widgets.pane import Target
from app.showing import Showing, demo_folder


@pytest.fixture
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PALIMPSEST_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("PALIMPSEST_CONFIG", str(tmp_path / "config"))
    return tmp_path


def press(title: str) -> bool:
    """Press the visible button of that title; False while there is none."""
    for widget in QApplication.allWidgets():
        if isinstance(widget, Button) and widget.isVisible() and widget.text() == title:
            widget.click()
            return True
    return False


def run(qloop, until, monkeypatch, act) -> None:
    """Run the program's own loop on the demo; `act(shown)` is told each `Showing` as it opens."""
    shown: list[Showing] = []

    class Watched(Showing):
        def __init__(self, *given, **named) -> None:
            super().__init__(*given, **named)
            shown.append(self)

    monkeypatch.setattr(program_room, "Showing", Watched)

    async def main() -> int:
        first = Watched(demo_folder(), demo=True)
        first.show()
        loop = asyncio.ensure_future(program_room.program(first))
        await until(first.opened.is_set, 30)
        await act(shown)
        shown[-1].window.close()
        return await asyncio.wait_for(loop, 20)

    assert qloop.run_until_complete(main()) == 0


def test_the_demo_is_made_new_when_asked(qtbot, qloop, until, own_folders, monkeypatch) -> None:
    async def act(shown: list[Showing]) -> None:
        trace = demo_folder() / "MEMORY.md"
        fresh = trace.read_text(encoding="utf-8")
        trace.write_text("scribbled over", encoding="utf-8")
        shown[0].window.show_target(Target("search"))
        shown[0].window.run_action(shown[0].window.catalogue.get("demo.reset"))
        await until(lambda: press("Make it new"))
        await until(lambda: len(shown) == 2, 20)
        await until(shown[1].opened.is_set, 30)
        assert trace.read_text(encoding="utf-8") == fresh
        waiting = await shown[1].engine.ask.proposals(waiting=True)
        assert [one.model for one in waiting] == ["demo script"]
        await until(lambda: shown[1].window.place() == "search")

    run(qloop, until, monkeypatch, act)


def test_another_workspace_takes_the_window_s_place(
    qtbot, qloop, until, own_folders, monkeypatch
) -> None:
    other = own_folders / "mine"
    other.mkdir()
    (other / "MEMORY.md").write_text("- The boat is called Selkie\n", encoding="utf-8")

    async def act(shown: list[Showing]) -> None:
        shown[0].window.workspace_wanted.emit(str(other))
        await until(lambda: len(shown) == 2, 20)
        await until(shown[1].opened.is_set, 30)
        assert "Selkie" in (await shown[1].engine.ask.memory()).text
        recent = (own_folders / "data/recent.json").read_text(encoding="utf-8")
        assert str(other) in recent

    run(qloop, until, monkeypatch, act)
