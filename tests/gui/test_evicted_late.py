"""Evicted results while an older answer is still on its way: the last wish is what is shown."""

from __future__ import annotations

from app.gui.widgets.pane import Target
from tests.gui.test_evicted_place import TEXTS, ask, info, names, pane  # noqa: F401
from tests.helpers.held import hold
from tests.helpers.panes import settled

# ruff: noqa: F811


def at(name: str, **more: str) -> Target:
    return Target("evicted", path=f"large_tool_results/a/{name}", **more)


def seen(pane) -> str:
    return pane.text.info.path.rsplit("/", 1)[-1]


def test_a_result_that_was_opened_stays_when_an_older_look_ends(pane, ask, qloop, until):
    async def main() -> None:
        slow = hold(ask, "evicted")
        pane.tasks.latest("refresh", pane.refresh())
        await slow.begun.wait()
        TEXTS["c9"] = "the newest of all"
        ask.infos.append(info("c9", chars=17, day=30))
        await pane.open(at("c9"))
        slow.go()
        await settled(pane, until)
        assert "c9" in names(pane)
        assert seen(pane) == "c9"
        assert pane.text.well.text() == "the newest of all"

    qloop.run_until_complete(main())


def test_the_text_is_that_of_the_row_that_was_chosen_last(pane, ask, qloop, until):
    async def main() -> None:
        slow = hold(ask, "evicted_page")
        opening = pane.tasks.latest("open", pane.open(at("c3", find="xx")))
        await slow.begun.wait()
        pane.list.select(at("c5").path)
        await until(lambda: pane.text.well.text() == TEXTS["c5"])
        slow.go()
        await opening
        await settled(pane, until)
        assert seen(pane) == "c5"
        assert pane.text.well.text() == TEXTS["c5"]
        assert not pane.text.find_bar.isVisible()

    qloop.run_until_complete(main())


def test_hits_of_a_text_that_was_left_are_not_those_of_the_next(pane, ask, qloop, until):
    async def main() -> None:
        await pane.open(at("c2"))
        slow = hold(ask, "evicted_page", after=1)
        pane.text.show_find()
        pane.text.field.setText("needle")
        pane.text.find_wanted.emit("needle")
        await slow.begun.wait()
        pane.list.select(at("c5").path)
        await until(lambda: pane.text.well.text() == TEXTS["c5"])
        slow.go()
        await settled(pane, until)
        assert pane.text.well.text() == TEXTS["c5"]
        assert pane.text.field._unit == "no hits"

    qloop.run_until_complete(main())


def test_hits_are_those_of_the_words_in_the_field(pane, ask, qloop, until):
    async def main() -> None:
        await pane.open(at("c5"))
        pane.text.show_find()
        pane.text.field.setText("needle")
        slow = hold(ask, "evicted_page", after=1)
        pane.list.select(at("c2").path)  # looks for the words there, too
        await slow.begun.wait()
        pane.text.field.setText("nowhere")
        pane.text.find_wanted.emit("nowhere")
        await until(lambda: pane.text.field._unit == "no hits")
        slow.go()
        await settled(pane, until)
        assert pane.text.field._unit == "no hits"

    qloop.run_until_complete(main())


def test_turning_the_page_does_not_give_up_what_is_looked_for(pane, ask, qloop, until):
    async def main() -> None:
        await pane.open(at("c5"))
        pane.text.show_find()
        pane.text.field.setText("needle")
        slow = hold(ask, "evicted_page", after=1)
        pane.list.select(at("c2").path)
        await slow.begun.wait()
        pane.text.turn(1)
        slow.go()
        await settled(pane, until)
        assert pane.text.page == 1
        assert pane.text.field._unit.endswith("of 8,999")

    qloop.run_until_complete(main())


def test_the_page_that_was_asked_for_last_is_shown(pane, ask, qloop, until):
    async def main() -> None:
        await pane.open(at("c2", find="needle"))
        slow = hold(ask, "evicted_page")
        pane.walk(-1)  # the last hit, on the last page
        await slow.begun.wait()
        pane.text.turn(1)
        await until(lambda: pane.text.page == 1)
        slow.go()
        await settled(pane, until)
        assert pane.text.page == 1

    qloop.run_until_complete(main())


def test_each_step_over_hits_counts_though_pages_come_slowly(pane, ask, qloop, until):
    async def main() -> None:
        await pane.open(at("c2", find="needle"))
        slow = hold(ask, "evicted_page")
        pane.walk(-1)
        await slow.begun.wait()
        pane.walk(-1)
        slow.go()
        await settled(pane, until)
        assert pane.text.field._unit == "8,998 of 8,999"

    qloop.run_until_complete(main())


def test_a_key_for_the_next_hit_does_not_stop_a_look_for_other_words(pane, ask, qloop, until):
    async def main() -> None:
        await pane.open(at("c2", find="needle"))
        pane.text.field.setText("nowhere")
        pane.text.find_wanted.emit("nowhere")
        pane.walk(1)
        await settled(pane, until)
        assert pane.text.field._unit == "no hits"

    qloop.run_until_complete(main())


def test_what_tools_were_asked_is_found_though_a_newer_look_comes_between(pane, ask, qloop, until):
    async def main() -> None:
        ask.infos.append(info("c8", chars=5, session="s-2", day=28))
        slow = hold(ask, "transcript")
        pane.tasks.latest("refresh", pane.refresh())
        await slow.begun.wait()
        asked: list[str] = []
        transcript = ask.transcript

        async def noted(session_id, **how):
            asked.append(session_id)
            return await transcript(session_id, **how)

        ask.transcript = noted
        pane.tasks.latest("refresh", pane.refresh())
        slow.go()
        await settled(pane, until)
        assert asked == ["s-2"]

    qloop.run_until_complete(main())
