"""What a review says of words that no log holds, and where the model's answer can be looked at."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.gui.widgets.labels import Link
from tests.helpers.memory_place import card, changes, reviewing, settle, shown
from tests.helpers.reviewing import BASE, proposed


@pytest.mark.parametrize("model", ["qwen3-8b", "extractive"])
def test_the_models_answer_is_offered_where_a_model_answered_and_a_heading_needs_no_source(
    qloop: asyncio.AbstractEventLoop, tmp_path: Path, qtbot: QtBot, model: str
) -> None:
    new = f"{BASE}\n## Weather\n\n- Nobody ever said that it snows in June\n"

    async def main() -> None:
        await proposed(tmp_path, BASE, new, model=model)
        async with shown(tmp_path, qtbot) as (pane, _, _):
            await reviewing(pane)
            of = {row.word: row for row in changes(pane)}
            assert of["Section added"].source_tone == ""
            assert "No source" not in of["Section added"].source
            assert of["Added"].source == "No source in the logs"
            pane.review.go_to(of["Added"].n)
            await settle(pane)
            links = [link.text() for link in card(pane).findChildren(Link)]
            assert ("Open the model's answer" in links) == (model != "extractive")

    qloop.run_until_complete(main())
