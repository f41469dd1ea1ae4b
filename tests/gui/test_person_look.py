"""The look of the window is the person's: read at the start, kept when anybody changes it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from app.engine.llm.keys import Keys
from app.gui.look.theme import theme
from app.gui.widgets.pane import Desk
from app.gui.window.person_look import PersonLook
from app.personal import Personal


def test_the_settings_dress_the_window_and_keep_what_keys_change(
    desk: Desk, qloop: Any, tmp_path: Path
) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("[look]\nscheme = 'dark'\ntext_percent = 110\n", "utf-8")
    desk.person = Personal(file, Keys({}))

    async def main() -> None:
        look = PersonLook(desk)
        await look.use()
        assert (theme().scheme, theme().zoom, theme().still) == ("dark", 1.1, False)
        theme().choose("light", contrast=True, zoom=1.25)
        await look.end()

    qloop.run_until_complete(main())
    stored = tomllib.loads(file.read_text("utf-8"))
    assert stored["look"] == {"scheme": "light", "text_percent": 125, "high_contrast": True}


def test_broken_settings_stay_as_they_are(desk: Desk, qloop: Any, tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("broken [", "utf-8")
    desk.person = Personal(file, Keys({}))

    async def main() -> None:
        look = PersonLook(desk)
        await look.use()
        theme().choose("dark")
        await look.end()

    qloop.run_until_complete(main())
    assert file.read_text("utf-8") == "broken ["
    assert desk.engine.faults == []
