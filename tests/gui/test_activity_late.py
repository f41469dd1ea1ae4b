"""Activity while an older answer is still on its way: what was asked last is what is shown."""

from __future__ import annotations

from typing import Any

from app.engine.records import Due
from app.gui.panes.activity.pane import ActivityPane
from app.gui.widgets.pane import Target
from tests.gui.test_activity import engine, job, pane, titles, words  # noqa: F401
from tests.helpers.held import hold
from tests.helpers.panes import Until, settled


def test_a_job_that_was_opened_stays_chosen_when_an_older_look_ends(
    pane: ActivityPane,  # noqa: F811
    engine: Any,  # noqa: F811
    qloop: Any,
    until: Until,
) -> None:
    engine.ask.all = [job("old", ago=600)]

    async def main() -> None:
        slow = hold(engine.ask, "jobs")
        pane.activate()
        await slow.begun.wait()
        engine.ask.all = [job("new", "consolidate"), *engine.ask.all]
        await pane.open(Target("activity", entry_id="new"))
        slow.go()
        await settled(pane, until)
        assert titles(pane) == ["new", "old"]
        assert pane.list.current_row().id == "new"
        assert pane.detail.job.id == "new"

    qloop.run_until_complete(main())


def test_what_comes_next_is_told_by_the_last_look(
    pane: ActivityPane,  # noqa: F811
    engine: Any,  # noqa: F811
    qloop: Any,
    until: Until,
) -> None:
    engine.ask.all = [job("a")]
    engine.ask.due = [Due("maintain", None, "of old")]

    async def main() -> None:
        slow = hold(engine.ask, "upcoming")
        pane.activate()
        await slow.begun.wait()
        engine.ask.due = [Due("consolidate", None, "of 3 lines")]
        await pane.open(Target("activity", entry_id="a"))
        slow.go()
        await settled(pane, until)
        assert "of 3 lines" in words(pane.next)

    qloop.run_until_complete(main())
