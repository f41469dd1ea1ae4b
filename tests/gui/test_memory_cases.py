"""Known bugs of memory systems, in the window: what a person is shown of them.

Each test works on a real engine; a model speaks the real protocol over loopback.
"""

from __future__ import annotations

import asyncio
import random
import re
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest
from PySide6.QtGui import QTextCursor
from pytestqt.qtbot import QtBot

from app.engine.records import Decision, Query
from app.engine.workspace.daily_log import append_section
from app.engine.workspace.layout import Layout, ensure
from app.gui.panes.daily.pane import DailyPane
from app.gui.panes.memory.pane import MemoryPane
from app.gui.widgets.pane import Target
from app.startup import default_config
from tests.helpers.consolidating import START, Desk
from tests.helpers.fake_server import Reply, Seen, say
from tests.helpers.memory_place import (
    changes,
    did,
    memory,
    on_screen,
    result,
    reviewing,
    run,
    settle,
    shown,
)
from tests.helpers.waiting import until
from tests.helpers.workspaces import engine_on


def heard(root: Path, *facts: str, at: datetime) -> None:
    """Something was said and written to that day's log."""
    append_section(Layout.at(root), kind="flush", text="\n".join(facts), now=at, origin="user",
                   session="s-1", first="u-1", last="a-1")  # fmt: skip


async def waits(pane: MemoryPane) -> None:
    """Until a review waits in the place."""
    await until(lambda: pane.waiting() and not pane.busy())


def shown_of(pane: DailyPane) -> str:
    """The lines of a day's cards, as they are shown."""
    return "\n".join(row.line.text for row in pane.cards.rows if row.line is not None)


# ---------------------------------------------------------------------------- B01


@pytest.mark.case("B01")
@pytest.mark.parametrize("left", [None, "", "  \n\n \t\n"])
def test_a_rebuild_is_made_from_all_days_and_told(
    qloop: asyncio.AbstractEventLoop, tmp_path: Path, own_places: None, qtbot: QtBot,
    left: str | None,
) -> None:  # fmt: skip
    """The file went, the watermark stayed: both facts are in what the model is shown."""
    folder = tmp_path / "b01"

    async def main() -> None:
        await approved(folder)
        place = folder / "MEMORY.md"
        place.unlink() if left is None else place.write_text(left, "utf-8")
        heard(folder, "- fresh fact", at=datetime.now().astimezone())

        def echo(seen: Seen) -> Reply:
            asked = seen.body["messages"][-1]["content"]
            return say("\n".join(dict.fromkeys(re.findall(r"^- \w+ fact$", asked, re.MULTILINE))))

        async with (
            engine_on(folder, echo, config=default_config()) as desk,
            on_screen(desk.engine, qtbot) as (pane, _),
        ):
            run(pane, "consolidate")
            await waits(pane)
            asked = desk.server.requests[-1].body["messages"][-1]["content"]
            assert "- older fact" in asked
            assert "- fresh fact" in asked
            await did(pane, "queue")
            assert "a rebuild of the whole file" in pane.lists.list.rows_model.rows()[1].title
            await reviewing(pane)
            told = [c for c in pane.notices.causes() if "rebuilt from all daily logs" in c]
            assert told == ["MEMORY.md was missing or blank, so it is rebuilt from all daily logs."]
            came = {line for row in changes(pane) for line in row.data.after}
            assert {"- older fact", "- fresh fact"} <= came

    qloop.run_until_complete(main())


async def approved(folder: Path) -> None:
    """A workspace whose one day is merged and behind the watermark."""
    desk = Desk(folder, "- older fact", policy="review")
    desk.flush("- older fact")
    await desk.run(START, manual=True)
    stored = desk.store.infos(waiting=True)[0]
    every = desk.review.show(stored.id).changes
    desk.review.apply(stored.id, [Decision(c.n, "accept") for c in every], when=START)
    assert desk.watermark == START


# ---------------------------------------------------------------------------- B08

FRAGMENTS = ("2026-03-03.md", "2026-03-03-1709.md", "2026-03-03-topic.md", "2026-3-3.md",
             "notes.md")  # fmt: skip


@pytest.mark.case("B08")
def test_fragments_of_a_day_stand_under_it_and_all_are_found(
    qloop: asyncio.AbstractEventLoop, tmp_path: Path, own_places: None, qtbot: QtBot
) -> None:
    folder = tmp_path / "b08"
    days = folder / "memory"
    (days / "archive").mkdir(parents=True)
    for n, name in enumerate((*FRAGMENTS, "archive/2026-02-27.md")):
        (days / name).write_text(f"- seagull number {n}\n", "utf-8")

    async def main() -> None:
        async with (
            shown(folder, qtbot) as (_, engine, _),
            on_screen(engine, qtbot, make=DailyPane) as (pane, _),
        ):
            await pane.open(Target("daily", path="memory/2026-03-03-topic.md", line=1))
            said = shown_of(pane)
            assert pane.day == date(2026, 3, 3)
            assert [f"number {n}" in said for n in range(6)] == [True, True, True] + [False] * 3
            pane._archive_open = True
            pane._show_files()
            listed = {row.title: row.spoken for row in pane.side.files.rows_model.rows()}
            assert listed["2026-03-03-1709.md"].endswith("a variant of a day")
            assert listed["2026-03-03-topic.md"].endswith("a variant of a day")
            assert listed["2026-3-3.md"].endswith("a note without a day")
            assert listed["notes.md"].endswith("a note without a day")
            assert listed["2026-02-27.md"].endswith("archived")
            await engine.index_ready()
            found = await engine.ask.search(Query("seagull"))
            assert {hit.path for hit in found.hits} == {
                f"memory/{name}" for name in (*FRAGMENTS, "archive/2026-02-27.md")
            }

    qloop.run_until_complete(main())
    heard(folder, "- a new fact", at=datetime(2026, 3, 3, 12).astimezone())
    assert sorted(p.name for p in days.glob("*.md")) == sorted(FRAGMENTS)  # no further variant
    assert "- a new fact" in (days / "2026-03-03.md").read_text("utf-8")


# ---------------------------------------------------------------------------- B09

PROMOTED = [
    "<!-- promoted 2026-05-01 score=0.81 -->",
    "- score: 0.81",
    "- status: staged",
    '- "quoted: (0.74) \\"quoted: (0.62) the pump is blue\\""',
    "<!-- end -->",
]
GIANTS = [f"- Fact {n}: " + " ".join(f"word{n}x{i}" for i in range(66)) for n in range(5)]
MANAGED = ("<!-- palimpsest:managed:start -->", "- score: 0.99", "<!-- palimpsest:managed:end -->")


@pytest.mark.case("B09")
def test_promoted_blocks_are_read_whole_and_reach_a_fixed_point(
    qloop: asyncio.AbstractEventLoop, tmp_path: Path, own_places: None, qtbot: QtBot
) -> None:
    """Comments hide nothing from the reviewer, managed blocks are no source, and runs two and three
    change nothing."""
    folder = tmp_path / "b09"
    base = "\n".join(["# Memory", "", *PROMOTED, *GIANTS, ""])

    def keeps(seen: Seen) -> Reply:
        asked = seen.body["messages"][-1]["content"]
        current = re.search(r"<current_file>\n(.*?)\n</current_file>", asked, re.DOTALL)
        text = current[1] if current else ""
        fact = "- The pump is blue since May"
        if "(checked)" not in text:
            text = text.replace("word0x9 ", "word0x9 (checked) ")
        return say(text if fact in text else f"{text}\n{fact}")

    async def main() -> None:
        layout = Layout.at(folder)
        ensure(layout)
        layout.memory_md.write_text(base, "utf-8")
        day = layout.root / "memory" / "2026-06-01.md"
        day.write_text("\n".join([*MANAGED, "", "- The pump is blue since May", ""]), "utf-8")
        async with (
            engine_on(folder, keeps, config=default_config()) as desk,
            on_screen(desk.engine, qtbot) as (pane, _),
        ):
            run(pane, "consolidate")
            await waits(pane)
            await reviewing(pane)
            asked = desk.server.requests[-1].body["messages"][-1]["content"]
            assert "0.99" not in asked
            written = [str(row.data) for row in result(pane) if row.number]
            for line in (*PROMOTED, *GIANTS):
                assert line in written
            giant = next(r for r in changes(pane) if r.data.kind == "reworded")
            assert "word0x65" in giant.pieces[0].text  # the whole line, not its beginning
            assert "(checked)" in giant.pieces[0].text
            await did(pane, "accept_rest")
            await did(pane, "apply")
            first = memory(folder)
            for line in PROMOTED:
                assert line in first
            for n in (1, 2):
                heard(folder, "- The pump is blue since May", at=START + timedelta(days=n))
                await desk.engine.do.consolidate()
                assert await desk.engine.drain(20)
                await settle(pane)
                assert pane.waiting() == []
                assert memory(folder) == first

    qloop.run_until_complete(main())


# ---------------------------------------------------------------------------- B12


@pytest.mark.case("B12")
def test_thirty_small_losses_are_listed_with_their_run_and_a_large_one_waits(
    qloop: asyncio.AbstractEventLoop, tmp_path: Path, own_places: None, qtbot: QtBot
) -> None:
    folder = tmp_path / "b12"
    facts = [f"- fact number {n} is about thing{n} and place{n}" for n in range(100)]
    draw = random.Random(12)
    gone: dict[str, str] = {}

    async def main() -> None:
        desk = Desk(folder, prepare="\n".join(["# Memory", "", *facts, ""]), policy="review")
        desk.writer.notice_external(when=START - timedelta(days=1))
        at = START
        for n in range(30):
            at += timedelta(days=1)
            victim = draw.choice([f for f in facts if f not in gone])
            kept = [line for line in desk.memory.split("\n") if line != victim]
            desk.model.replies = ["\n".join(kept)]
            desk.model.requests.clear()
            desk.flush(f"- news {n} came from town{n}", at=at - timedelta(hours=1))
            await desk.run(at, manual=True)
            info = desk.store.infos(waiting=True)[0]
            every = desk.review.show(info.id).changes
            assert [line for c in every if c.kind == "dropped" for line in c.before] == [victim]
            desk.review.apply(info.id, [Decision(c.n, "accept") for c in every], when=at)
            gone[victim] = info.id
        rest = [f for f in facts if f not in gone]
        kept = [line for line in desk.memory.split("\n") if line not in rest[10:]]
        desk.model.replies = ["\n".join(kept)]
        desk.model.requests.clear()
        desk.flush("- one more", at=at + timedelta(hours=23))
        await desk.run(at + timedelta(days=1), manual=True)
        async with shown(folder, qtbot) as (pane, _, _):
            await reviewing(pane)
            lost = [r for r in changes(pane) if r.word == "Lost"]
            assert len(lost) == 60
            assert pane.review.list.rows_model.rows()[0].title == "Losses"
            assert any(c.name == "loss" for c in pane.review.checklist.failed())
            before = memory(folder)
            run(pane, "accept_rest")
            assert pane.review.deciding.losses_taken() == []
            await did(pane, "losses")
            rows = [r for r in pane.lists.list.rows_model.rows() if not r.head]
            assert {r.data.text: r.data.run for r in rows} == gone
            assert memory(folder) == before  # the large one waits
            first = rows[0].data.text
            await did(pane, "bring_back")
            assert first in memory(folder).split("\n")

    qloop.run_until_complete(main())


# ---------------------------------------------------------------------------- B15


@pytest.mark.case("B15")
def test_what_is_saved_while_the_model_thinks_survives_and_the_review_says_so(
    qloop: asyncio.AbstractEventLoop, tmp_path: Path, own_places: None, qtbot: QtBot
) -> None:
    folder = tmp_path / "b15"

    async def main() -> None:
        layout = Layout.at(folder)
        ensure(layout)
        layout.memory_md.write_text("# Memory\n\n- The pump is blue\n", "utf-8")
        heard(folder, "- The pump is green now", at=datetime.now().astimezone())
        slow = say("# Memory\n\n", "- The pump is green now\n", pause=1.0)
        async with (
            engine_on(folder, slow, config=default_config()) as desk,
            on_screen(desk.engine, qtbot) as (pane, _),
        ):
            run(pane, "consolidate")
            await until(lambda: desk.server.requests)
            run(pane, "edit")
            pane.editor.field.moveCursor(QTextCursor.MoveOperation.End)
            pane.editor.field.insertPlainText("- fact X\n")
            run(pane, "save")
            heard(folder, "- said meanwhile", at=datetime.now().astimezone())
            await waits(pane)
            assert "- fact X" in memory(folder)
            await reviewing(pane)
            assert pane.head.details.text().startswith("MEMORY.md changed at ")
            while pane.review.deciding.left():
                left = pane.review.deciding.left()[0]
                pane.review.go_to(left.n)
                run(pane, "choose_theirs")
                run(pane, "accept")
            await settle(pane)
            await did(pane, "apply")
            assert memory(folder) == "# Memory\n\n- The pump is green now\n- fact X\n"
            states = [
                (line.text, line.state)
                for info in await desk.engine.ask.days()
                for section in (await desk.engine.ask.day(info.path)).sections
                for line in section.lines
            ]
            assert ("- said meanwhile", "waiting") in states

    qloop.run_until_complete(main())


# ---------------------------------------------------------------------------- B86

DUMP = """user: Store durable memories now in memory/2026-02-11.md. Reply NO_REPLY if nothing.

Conversation info (untrusted metadata):
```json
{"message_id": "1", "sender": "x"}
```

Sender metadata:
```json
{"label": "never closed", "phone": "+351 555 0199"}

assistant: NO_REPLY

| day | what |
|-----|------|
| Mon | tide |

user: 我唔會失憶嘅
assistant: the last line of the dump
"""


@pytest.mark.case("B86")
def test_a_session_dumped_as_a_note_is_shown_whole_and_under_its_own_day(
    qloop: asyncio.AbstractEventLoop, tmp_path: Path, own_places: None, qtbot: QtBot
) -> None:
    folder = tmp_path / "b86"

    async def main() -> None:
        layout = Layout.at(folder)
        ensure(layout)
        (layout.root / "memory" / "2026-02-11.md").write_text(DUMP, "utf-8")
        async with engine_on(
            folder, say("- the tide table is by day"), config=default_config()
        ) as desk:
            engine = desk.engine
            async with on_screen(engine, qtbot, make=DailyPane) as (pane, _):
                await until(lambda: pane.cards.rows)
                assert pane.day == date(2026, 2, 11)  # the newest there is, by its own date
                title = pane.page.head.title.text()
                assert "Today" not in title
                assert "11" in title
                said = shown_of(pane)
                for line in filter(None, DUMP.split("\n")):
                    assert line in said
                pane.show_today()
                await until(lambda: pane.page.head.title.text() == "Today")
                await until(lambda: "Store durable memories" not in shown_of(pane))
            await engine.index_ready()
            found = await engine.ask.search(Query("唔會失憶"))
            assert [hit.path for hit in found.hits] == ["memory/2026-02-11.md"]
            async with on_screen(engine, qtbot) as (pane, _):
                run(pane, "consolidate")
                await waits(pane)
                request = desk.server.requests[-1].body["messages"]
                orders = "\n".join(m["content"] for m in request if m["role"] == "system")
                assert "Reply NO_REPLY if nothing" not in orders  # data, not an order
                await reviewing(pane)
                assert changes(pane)[0].data.after == ("- the tide table is by day",)
            assert [p.name for p in (folder / "memory").glob("*.md")] == ["2026-02-11.md"]

    qloop.run_until_complete(main())
