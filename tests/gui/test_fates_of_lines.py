"""What became of each line of a day, told in its place by a real engine, with the way to it."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from pathlib import Path

from pytestqt.qtbot import QtBot

from app.engine.records import Decision
from app.engine.workspace.daily_log import append_section
from app.engine.workspace.layout import Layout, ensure
from app.startup import default_config
from tests.helpers.fake_server import say
from tests.helpers.waiting import until
from tests.helpers.whole_window import window_on
from tests.helpers.workspaces import engine_on, fixed

NOW = fixed(2026, 11, 30)
FACTS = ("- The pump is blue", "- Backups run on Sundays", "- Somebody yawned", "- Ines has a dog")
TAKEN, REFUSED, LEFT, OPEN = FACTS
ANSWER = f"# Memory\n\n- Known before\n{TAKEN}\n{REFUSED}\n{OPEN}\n"


def told(layout: Layout, fact: str, at: datetime) -> None:
    append_section(layout, kind="flush", text=fact, now=at, origin="user", session="s-1",
                   first="u-1", last="a-1")  # fmt: skip


def test_each_line_tells_its_fate_the_reason_and_the_way_to_its_review(
    qloop: asyncio.AbstractEventLoop, tmp_path: Path, own_places: None, qtbot: QtBot
) -> None:
    root = tmp_path / "fates"
    layout = Layout.at(root)
    ensure(layout)
    layout.memory_md.write_text("# Memory\n\n- Known before\n", "utf-8")
    for n, fact in enumerate(FACTS):
        told(layout, fact, NOW() - timedelta(hours=4 - n))

    async def main() -> None:
        async with (
            engine_on(root, say(ANSWER), config=default_config(), clock=NOW) as desk,
            window_on(qtbot, desk.engine, tmp_path / "window.json", now=NOW) as room,
        ):
            do, ask = desk.engine.do, desk.engine.ask
            await do.consolidate()
            assert await desk.engine.drain(20)
            (waiting,) = await ask.proposals()
            shown = await ask.proposal(waiting.id)
            wanted = {TAKEN: "accept", REFUSED: "reject"}
            decided = [
                Decision(change.n, wanted[change.after[0]])
                for change in shown.changes
                if change.after and change.after[0] in wanted
            ]
            assert len(decided) == 2
            await do.apply(waiting.id, decided)

            pane = await room.go("daily", path="memory/2026-11-30.md", line=1)
            lines = {row.line.text: n for n, row in enumerate(pane.cards.rows) if row.line}
            states = {
                TAKEN: ("merged", ""),
                REFUSED: ("rejected", "The change that stems from it was refused."),
                LEFT: ("left out", "Nothing of it was taken into MEMORY.md."),
                OPEN: ("waiting", "A change that stems from it is not decided yet."),
            }
            assert set(lines) == set(FACTS)
            for fact, (state, reason) in states.items():
                pane.cards.set_current(lines[fact])
                assert pane.cards.spoken(lines[fact]).rstrip(".").endswith(state), fact
                room.act("daily.why")
                assert reason in pane.cards.spoken(lines[fact])
                room.act("daily.children")  # G C
                await until(lambda: room.window.place() == "memory")
                memory = room.window.pane("memory")
                await room.rest(memory)
                assert memory.review.proposal.info.id == waiting.id, fact
                pane = await room.go("daily")

            await do.undo()
            await room.rest(pane)
            for fact, state in ((TAKEN, "waiting"), (REFUSED, "rejected"), (LEFT, "left out")):
                assert state in pane.cards.spoken(lines[fact]), fact
            (again,) = await ask.proposals()
            shown = await ask.proposal(again.id)
            assert {change.after[0] for change in shown.changes} == {TAKEN, OPEN}
            assert [claim.text for claim in await ask.refused()] == [REFUSED]

    qloop.run_until_complete(main())
