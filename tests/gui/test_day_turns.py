"""Midnight passes while the window is open: new words for days, and a new file (B79)."""

from __future__ import annotations

import asyncio
import re
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from app.gui.panes.chat.rows import QuietRow
from app.gui.panes.search.model import Head
from app.gui.widgets.rows import RowList
from tests.helpers.fake_server import Reply, Seen, say
from tests.helpers.waiting import until
from tests.helpers.whole_window import window_on
from tests.helpers.workspaces import EngineDesk, engine_on

TARGETS: dict[str, Any] = {
    "chat": lambda session: {"session_id": session},
    "timeline": lambda session: {"session_id": session},
}
OWN = ("chat", "daily", "search")  # what they name is dated by the engine's clock, set by hand


class Clock:
    """The clock of engine and window, set by hand; at first two minutes before midnight.

    Sessions and jobs carry the system's own time, so the day is today's.
    """

    def __init__(self) -> None:
        real = datetime.now().astimezone()
        if real.hour == 23 and real.minute > 55:
            pytest.skip("the system's own day is about to turn over")
        self.now = real.replace(hour=23, minute=58)

    def __call__(self) -> datetime:
        return self.now


def heads(rows: RowList) -> list[str]:
    return [row.title for row in rows.rows_model.rows() if row.head]


def spoken(pane: Any) -> str:
    """The newest thing the chat says of what the engine did."""
    said = [r.accessibleName() for r in pane.view.rows() if isinstance(r, QuietRow)]
    return said[-1] if said else ""


def hit_heads(pane: Any) -> list[str]:
    return [one.title for one in pane.list.hits.entries() if isinstance(one, Head)]


def model(seen: Seen) -> Reply:
    """A fact about the heron, whatever is asked."""
    asked = str(seen.body["messages"])
    return say(f"- The heron was seen {max(re.findall(r'[0-9] times', asked), default='once')}.")


async def flushed(desk: EngineDesk, session: str, words: str) -> None:
    """Say something, and wait until it stands in the daily log."""
    await desk.engine.do.send(session, words)
    await desk.engine.do.flush(session)
    while any(j.state in ("waiting", "running") for j in await desk.engine.ask.jobs()):
        await asyncio.sleep(0.01)


def logs(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "memory").glob("*.md"))


@pytest.mark.case("B79")
@pytest.mark.parametrize("place", ["chat", "timeline", "daily", "search", "activity"])
def test_the_day_turns_over_in_every_place_that_is_left_open(
    qloop: asyncio.AbstractEventLoop, qtbot: QtBot, tmp_path: Path, own_places: None,
    monkeypatch: pytest.MonkeyPatch, place: str,
) -> None:  # fmt: skip
    """23:58 to 00:10 with `place` in front, then three days asleep: no restart, no click."""
    monkeypatch.setattr("app.gui.widgets.pane.DAY_LOOK", 20)
    clock = Clock()
    folder = tmp_path / "work"

    async def main() -> None:
        async with (
            engine_on(folder, model, clock=clock) as desk,
            window_on(qtbot, desk.engine, tmp_path / "window.json", now=clock) as room,
        ):
            await desk.engine.index_ready()
            session = await desk.engine.do.new_session()
            await flushed(desk, session, "The heron was seen 1 times.")
            days = [f"{clock.now.date()}.md"]
            assert logs(folder) == days
            first = (folder / "memory" / days[0]).read_bytes()
            pane = await room.go(place, **TARGETS.get(place, lambda _: {})(session))
            if place == "search":
                pane.turn_grouping()
                pane.field.set_query("heron in:daily")
            await until(lambda: newest(place, pane, "Today"))

            clock.now += timedelta(minutes=12)
            await until(lambda: newest(place, pane, "Yesterday"))
            await flushed(desk, session, "The heron was seen 2 times.")
            days.append(f"{clock.now.date()}.md")
            assert logs(folder) == days

            clock.now += timedelta(days=3)
            slept = days[1] if place in ("chat", "search") else days[0]
            named = date.fromisoformat(slept[:10])
            await until(lambda: newest(place, pane, f"{named.day} {named:%b}"))
            await flushed(desk, session, "The heron was seen 3 times.")
            days.append(f"{clock.now.date()}.md")
            assert logs(folder) == days
            assert (folder / "memory" / days[0]).read_bytes() == first
            if place == "daily":
                room.act("daily.today")  # the day that was open stays open until one leaves it
            if place in OWN:
                await until(lambda: newest(place, pane, "Today"))

    qloop.run_until_complete(main())


def newest(place: str, pane: Any, word: str) -> bool:
    """Whether `place` names the newest day so."""
    said = {
        "chat": lambda: spoken(pane),
        "timeline": lambda: "".join(heads(pane.side.list)[:1]),
        "daily": lambda: pane.page.head.title.text(),
        "search": lambda: "".join(hit_heads(pane)[:1]),
        "activity": lambda: " ".join(heads(pane.list)),
    }[place]()
    return word.lower() in said.lower()
