"""Lists that change under a person: rows come and go on disk while one types and scrolls (B91)."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QModelIndex
from pytestqt.qtbot import QtBot

from app.engine.search.scanner import Watcher
from app.gui.panes.search.pane import SearchPane
from tests.gui.conftest import flush_deleted
from tests.helpers.waiting import until
from tests.helpers.whole_window import Room, window_on
from tests.helpers.workspaces import engine_on, without_memory

ROUNDS, ROWS = 100, 500


def logged(folder: Path, name: str) -> None:
    """A session of `ROWS` messages, put there by another program."""
    path = folder / "agents" / "palimpsest" / "sessions" / f"{name}.log.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        {"v": 1, "seq": n, "type": "message", "id": f"{name}-{n}",
         "role": "USER" if n % 2 else "ASSISTANT", "content": f"heron {n} of {name}",
         "timestamp": f"2026-06-02T01:{n // 60:02}:{n % 60:02}+00:00"}
        for n in range(1, ROWS + 1)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")


def gone(folder: Path, name: str) -> None:
    for path in folder.glob(f"agents/*/sessions/{name}.*"):
        path.unlink()


@pytest.mark.case("B91")
@pytest.mark.timeout(400)
def test_rows_come_and_go_while_one_types_scrolls_and_reads(
    qloop: asyncio.AbstractEventLoop, qtbot: QtBot, tmp_path: Path, own_places: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """A hundred times: 500 rows come and the session one reads goes, from another thread."""
    monkeypatch.setattr("app.engine.engine.Watcher", partial(Watcher, interval=0.05))
    lost: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lost.append)
    qloop.set_exception_handler(lambda _, context: lost.append(context))
    folder = tmp_path / "work"
    logged(folder, "s-0")
    logged(folder, "s-stays")

    async def main() -> None:
        async with (
            engine_on(folder, config=without_memory(), watch=True) as desk,
            window_on(qtbot, desk.engine, tmp_path / "window.json") as room,
        ):
            await desk.engine.index_ready()
            timeline = await room.go("timeline", session_id="s-0")
            search = second_search(room, qtbot)
            for n in range(1, ROUNDS + 1):
                before, now = f"s-{n - 1}", f"s-{n}"
                writer = threading.Thread(target=lambda a=now, b=before: (
                    logged(folder, a), gone(folder, b)))  # fmt: skip
                writer.start()
                search.field.set_query(f"heron {n % 7}")
                await scrolled(timeline.page.sheet, search.list, n)
                brief = asyncio.ensure_future(short_lived(room, n))
                await until(lambda a=now, b=before: listed(timeline, a) and not listed(timeline, b))
                writer.join()
                await until(lambda a=now: settled(timeline) in (a, "s-stays"))
                timeline.side.list.select(now)
                await until(lambda a=now: timeline.page.session.id == a)
                await brief
            await room.rest(search)
            hits = search.list.hits
            assert hits.rowCount(QModelIndex()) > 0
            await search.tasks.end()
        flush_deleted()
        assert lost == []

    qloop.run_until_complete(main())


def second_search(room: Room, qtbot: QtBot) -> SearchPane:
    """A search beside the window, so that both are in front at once."""
    pane = SearchPane(room.window.desk)
    qtbot.addWidget(pane)
    pane.resize(900, 700)
    pane.show()
    pane.activate()
    return pane


def settled(timeline: Any) -> str:
    """The session that is chosen and read; "" while these differ."""
    row, read = timeline.side.list.current_row(), timeline.page.session
    return row.id if row is not None and read is not None and row.id == read.id else ""


def listed(timeline: Any, name: str) -> bool:
    return any(row.id == name for row in timeline.side.list.rows_model.rows())


async def scrolled(sheet: Any, hits: Any, n: int) -> None:
    """Both views are moved while what they show changes."""
    for step in range(4):
        for view in (sheet, hits):
            bar = view.verticalScrollBar()
            bar.setValue(bar.maximum() * ((n + step) % 5) // 4)
        await asyncio.sleep(0.005)


async def short_lived(room: Room, n: int) -> None:
    """A view that asked for something and is deleted before the answer comes."""
    pane = SearchPane(room.window.desk)
    pane.show()
    pane.activate()
    pane.field.set_query(f"heron {n}")
    await asyncio.sleep(0.002 * (n % 20))
    ending = asyncio.ensure_future(pane.tasks.end())
    pane.deleteLater()
    await ending
