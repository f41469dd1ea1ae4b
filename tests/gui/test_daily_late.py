"""The daily logs while an older answer is still on its way: the last wish is what is shown."""

from __future__ import annotations

from datetime import date

from msgspec.structs import replace

from app.engine.records import DailyLine, DayLog
from app.gui.panes.daily.pane import DailyPane
from app.gui.widgets.pane import Desk, Target
from tests.gui.test_daily import engine, lines, pane, started  # noqa: F401
from tests.helpers.days import TODAY, Engine, info, section
from tests.helpers.held import hold
from tests.helpers.panes import Until, settled

# ruff: noqa: F811
FRIDAY = date(2026, 11, 27)


def test_a_file_that_was_opened_stays_listed_when_an_older_look_ends(
    pane: DailyPane, engine: Engine, qloop, until: Until
) -> None:
    async def main() -> None:
        slow = hold(engine, "days")
        pane.activate()
        await slow.begun.wait()
        path = "memory/plans.md"
        engine.files.append(info(path, None))
        engine.logs[path] = DayLog(path, None, (section(1, 1, DailyLine(2, "a plan")),))
        await pane.open(Target("daily", path=path))
        slow.go()
        await settled(pane, until)
        assert [f.path for f in pane.files][-1] == path
        assert pane.side.files.current_row().id == path

    qloop.run_until_complete(main())


def test_lines_that_came_stay_when_an_older_look_at_the_day_ends(
    pane: DailyPane, engine: Engine, qloop, until: Until
) -> None:
    started(pane, qloop, until)

    async def main() -> None:
        slow = hold(engine, "day")
        pane.tasks.latest("refresh", pane.refresh())
        await slow.begun.wait()
        path = "memory/2026-11-30.md"
        old = engine.logs[path]
        more = section(4, 17, DailyLine(19, "- The newest"))
        engine.logs[path] = replace(old, sections=(*old.sections, more))
        pane.tasks.latest("again", pane.refresh())
        await until(lambda: 19 in lines(pane))
        slow.go()
        await settled(pane, until)
        assert 19 in lines(pane)

    qloop.run_until_complete(main())


def test_a_day_that_was_chosen_is_not_left_for_an_older_target(
    pane: DailyPane, engine: Engine, qloop, until: Until
) -> None:
    started(pane, qloop, until)

    async def main() -> None:
        slow = hold(engine, "days")
        target = Target("daily", path="memory/notes.md", find="note")
        pane.tasks.latest("open", pane.open(target))
        await slow.begun.wait()
        pane.choose(FRIDAY)
        slow.go()
        await settled(pane, until)
        assert (pane.day, pane.file) == (FRIDAY, "")
        assert lines(pane) == [4, 1]

    qloop.run_until_complete(main())


def test_words_to_find_are_not_looked_for_in_a_day_chosen_since(
    pane: DailyPane, engine: Engine, qloop, until: Until
) -> None:
    started(pane, qloop, until)

    async def main() -> None:
        slow = hold(engine, "day")
        target = Target("daily", path="memory/notes.md", find="note")
        opening = pane.tasks.start("opening", pane.open(target))
        await slow.begun.wait()
        pane.choose(FRIDAY)
        await until(lambda: lines(pane) == [4, 1])
        slow.go()
        await opening
        await settled(pane, until)
        assert not pane.page.find_bar.isVisible()

    qloop.run_until_complete(main())


def test_the_line_one_is_led_to_stays_lit_when_an_older_file_comes(
    pane: DailyPane, engine: Engine, qloop, until: Until
) -> None:
    started(pane, qloop, until)

    async def main() -> None:
        slow = hold(engine, "day")
        row = next(r for r in pane.side.files.rows_model.rows() if r.id == "memory/notes.md")
        pane.side.files.opened.emit(row)
        await slow.begun.wait()
        await pane.open(Target("daily", path="memory/2026-11-30.md", line=9))
        assert pane.cards.lit
        slow.go()
        await settled(pane, until)
        assert pane.cards.lit == pane.cards.current().id

    qloop.run_until_complete(main())


def test_a_day_begins_at_its_top_though_a_look_meanwhile_showed_it_first(
    pane: DailyPane, desk: Desk, engine: Engine, qloop, until: Until
) -> None:
    path = "memory/2026-11-30.md"
    many = tuple(DailyLine(n, f"- Line {n}", "waiting") for n in range(4, 200))
    for name in (path, "memory/2026-11-27.md"):
        engine.logs[name] = replace(engine.logs[name], sections=(section(1, 2, *many),))
    started(pane, qloop, until)

    async def main() -> None:
        pane.cards.to_end()
        slow = hold(engine, "day")
        pane.choose(FRIDAY)
        await slow.begun.wait()
        await pane.refresh()
        assert pane.cards.rows[0].path != path
        slow.go()
        await settled(pane, until)
        assert pane.cards.visible().start == 0

    qloop.run_until_complete(main())


def test_a_file_brought_back_is_not_shown_to_who_went_elsewhere(
    pane: DailyPane, engine: Engine, qloop, until: Until
) -> None:
    started(pane, qloop, until)

    async def move_day(path: str, *, archived: bool, initiator: object) -> str:
        engine.files = [
            replace(f, path="memory/2026-10-03.md", archived=False)
            if f.path == path else f for f in engine.files
        ]  # fmt: skip
        engine.logs["memory/2026-10-03.md"] = engine.logs[path]
        return "memory/2026-10-03.md"

    engine.move_day = move_day

    async def main() -> None:
        await pane.open(Target("daily", path="memory/archive/2026-10-03.md"))
        slow = hold(engine, "move_day")
        pane.bring_back()
        await slow.begun.wait()
        pane.choose(TODAY)
        slow.go()
        await settled(pane, until)
        assert pane.day == TODAY
        assert "memory/2026-10-03.md" in [f.path for f in pane.files]

    qloop.run_until_complete(main())
