"""Recent and saved searches: written at once, each workspace's own, whoever else writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.gui.bridge import EngineSignals
from app.gui.panes.search.pane import SearchPane
from app.gui.widgets.pane import Desk
from app.gui.window.main_window import MainWindow


@pytest.fixture
def opened(qtbot, bus, tmp_path):
    """`opened(workspace)`: a window on it, and what it remembers of searches."""
    signals: list[EngineSignals] = []

    def made(workspace: str):
        signals.append(EngineSignals(bus))
        desk = Desk(None, signals[-1], lambda error: None, workspace=workspace)
        window = MainWindow(desk, {"search": SearchPane}, tmp_path / "window.json")
        qtbot.addWidget(window)
        pane = window.pane("search")
        assert isinstance(pane, SearchPane)
        return window, pane.remembered

    yield made
    for one in signals:
        one.stop()


def test_a_saved_search_is_on_disk_soon_and_nothing_else_is_written(qtbot, opened, tmp_path):
    file = tmp_path / "window.json"
    window, remembered = opened("/a")
    window.resize(1_111, 777)
    remembered.save("probe")
    qtbot.waitUntil(file.exists)
    assert json.loads(file.read_text("utf-8"))["width"] == 1_280, "the window's state at its end"
    _, again = opened("/a")  # as after a crash: the first window was never closed
    assert again.saved() == ["probe"]


def test_each_workspace_has_its_own_and_windows_write_beside_each_other(opened):
    one, searched = opened("/a")
    other, elsewhere = opened("/b")
    searched.used("4711")
    elsewhere.save("lemons")
    one.close()
    other.close()
    searched.used("later")
    one.close()
    assert opened("/a")[1].recent() == ["later", "4711"]
    assert opened("/a")[1].saved() == []
    assert opened("/b")[1].saved() == ["lemons"]
    assert opened("/b")[1].recent() == []


def test_what_an_older_version_kept_goes_to_the_workspace_that_opens_first(
    qtbot, opened, tmp_path: Path
):  # fmt: skip
    file = tmp_path / "window.json"
    kept = {"search.recent": ["crate"], "search.saved": ["probe"], "search.mode": "words"}
    file.write_text(json.dumps({"version": 1, "kept": kept}), "utf-8")
    _, remembered = opened("/a")
    assert (remembered.recent(), remembered.saved()) == (["crate"], ["probe"])
    qtbot.waitUntil(lambda: "/a" in file.read_text("utf-8"))
    window, elsewhere = opened("/b")
    assert (elsewhere.recent(), elsewhere.saved()) == ([], [])
    assert window.desk.kept["search.mode"] == "words", "ways to search belong to the person"
