"""Versions of MEMORY.md that stand far back in a long history."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.engine.records import Version
from app.engine.workspace.history import History
from app.engine.workspace.layout import Layout, ensure
from tests.helpers.memory_place import shown

LONG = 260  # versions: more than the place reads at first


def with_history(folder: Path) -> None:
    folder.mkdir()
    layout = Layout.at(folder)
    ensure(layout)
    history = History(layout, sync=False)
    for n in range(LONG):
        text = f"# Memory\n\n- the drawer is open {n}\n"
        history.commit(text, cause="test", when=datetime.now(UTC))
    layout.memory_md.write_text(text, "utf-8")


def test_a_version_of_long_ago_opens_while_the_place_looks_again(
    runs: Callable[[Coroutine[None, None, None]], None],
    tmp_path: Path,
    own_places: Path,
    qtbot: QtBot,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with_history(tmp_path / "ws")

    async def main() -> None:
        async with shown(tmp_path / "ws", qtbot) as (pane, engine, _):
            asked, late = asyncio.Event(), asyncio.Event()
            versions, text_of = engine.ask.versions, engine.ask.version_text

            async def slow(count: int) -> list[Version]:
                found = await versions(count)
                if count < LONG - 10:  # the look that begins before somebody goes far back
                    asked.set()
                    await late.wait()
                return found

            async def then(number: int) -> str:
                late.set()
                await looking
                return await text_of(number)

            monkeypatch.setattr(engine.ask, "versions", slow)
            looking = asyncio.ensure_future(pane.refresh())
            await asked.wait()
            monkeypatch.setattr(engine.ask, "version_text", then)
            await pane.open_version(5)
            assert (pane.mode, pane.file.version) == ("version", 5)

    runs(main())
