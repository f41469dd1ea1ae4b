"""What is loaded by the first paint: a guard on modules, which is stable where seconds are not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

LATER = (
    "openai", "httpx2", "tiktoken", "pygit2", "apsw", "sqlite3", "keyring", "pygments",
    "markdown_it", "mdit_py_plugins", "rapidfuzz", "tomlkit", "lucide", "xllamacpp", "msgspec",
    "numpy", "qasync", "asyncio", "ssl", "urllib.request", "http.client", "email", "platformdirs",
    "uuid", "tomllib", "PySide6.QtNetwork", "app.demo", "app.startup", "app.settings", "app.cli",
    "app.engine.engine", "app.engine.rooms", "app.engine.records", "app.engine.events",
    "app.engine.config", "app.gui.widgets.dialogs", "app.gui.widgets.markdown",
    "app.gui.window.palette", "app.gui.window.keys_sheet", "app.gui.window.menus",
    "app.gui.panes.chat.pane", "app.gui.panes.settings.pane",
)  # fmt: skip

PAINT = """
import json, os, sys
from pathlib import Path
from app.program import application, first_paint
app = application()
showing = first_paint(Path(sys.argv[1]))
window = showing.window
rows = window.sidebar.sessions
print(json.dumps({
    "modules": sorted(sys.modules),
    "visible": window.isVisible() and rows.isVisible(),
    "titles": [row.title for row in rows.rows_model.rows()],
    "title": window.windowTitle(),
    "place": rows.width() * rows.height(),
}))
sys.stdout.flush()
os._exit(0)
"""


def _first_paint(folder: Path, data: Path) -> dict[str, object]:
    env = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "PALIMPSEST_DATA": str(data)}
    done = subprocess.run(
        [sys.executable, "-c", PAINT, str(folder)],
        env=env, capture_output=True, text=True, timeout=90,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


def _workspace(folder: Path) -> Path:
    sessions = folder / "agents" / "palimpsest" / "sessions"
    sessions.mkdir(parents=True)
    rows = {
        "s-old": {"summary": "Frost in May", "updatedAt": "2026-05-02T09:00:00+02:00"},
        "s-new": {"summary": "温室的通风", "updatedAt": "2026-11-02T09:00:00+01:00"},
    }
    (sessions / "sessions.json").write_text(
        json.dumps({"schemaVersion": 1, "sessions": rows}, ensure_ascii=False), encoding="utf-8"
    )
    return folder


def test_the_first_paint_shows_the_sessions_and_loads_nothing_heavy(tmp_path: Path) -> None:
    folder, data = _workspace(tmp_path / "Garden"), tmp_path / "data"
    _first_paint(folder, data)  # a first start asks the icon package and keeps what it said
    seen = _first_paint(folder, data)
    modules = seen["modules"]
    assert isinstance(modules, list)
    loaded = [name for name in LATER if name in modules]
    assert loaded == []
    assert seen["visible"]
    assert seen["place"]
    assert seen["titles"] == ["温室的通风", "Frost in May"]
    assert seen["title"] == "Garden, Palimpsest"


def test_a_damaged_list_of_sessions_does_not_keep_the_window_away(tmp_path: Path) -> None:
    folder = _workspace(tmp_path / "Garden")
    index = next(folder.glob("agents/*/sessions/sessions.json"))
    index.write_text('{"sessions": [1, 2', encoding="utf-8")
    seen = _first_paint(folder, tmp_path / "data")
    assert seen["titles"] == []
    assert index.read_text(encoding="utf-8") == '{"sessions": [1, 2'


def test_a_folder_that_is_no_workspace_yet_is_not_touched_by_the_first_paint(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "Empty"
    folder.mkdir()
    _first_paint(folder, tmp_path / "data")
    assert list(folder.iterdir()) == []
