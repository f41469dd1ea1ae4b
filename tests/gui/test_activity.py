"""Activity: every job with trigger, state, duration and reason; what can be done with them."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from PySide6.QtWidgets import QWidget

from app.engine.errors import WorkspaceBusy
from app.engine.events import Activity, Bus
from app.engine.records import Due, JobInfo, ModelCall, Move, SessionInfo, Usage
from app.gui.panes.activity import model
from app.gui.panes.activity.pane import ActivityPane
from app.gui.widgets.dialogs import Question
from app.gui.widgets.labels import Link, T
from app.gui.widgets.pane import Desk, Target
from tests.helpers.panes import Until

NOW = datetime(2026, 11, 30, 14, 6, tzinfo=UTC)


def job(id: str, kind: str = "flush", state: str = "done", ago: float = 60, **more: Any) -> JobInfo:
    began = NOW - timedelta(seconds=ago)
    ended = None if state in ("running", "waiting") else began + timedelta(seconds=12)
    started = None if state == "waiting" else began
    return JobInfo(id, kind, more.pop("trigger", "by hand"), state, began, started, ended, **more)


class Ask:
    """The asking half of an engine with jobs of the test's choosing."""

    def __init__(self) -> None:
        self.all: list[JobInfo] = []
        self.calls: list[ModelCall] = []
        self.moved: list[Move] = []
        self.due: list[Due] = []
        self.old: list[Any] = []

    async def jobs(self, limit: int = 200) -> list[JobInfo]:
        return self.all[:limit]

    async def model_calls(self, run: str) -> list[ModelCall]:
        return [call for call in self.calls if call.run == run]

    async def moves(self, run: str = "") -> list[Move]:
        return [move for move in self.moved if move.run == run]

    async def upcoming(self) -> list[Due]:
        return self.due

    async def sessions(self) -> list[SessionInfo]:
        return [SessionInfo("s-1", "Frost at the weekend", NOW, NOW, 3, 2, 400)]

    async def retention_preview(self) -> list[Any]:
        return self.old


class Do:
    """The doing half: it writes down what it was asked for."""

    def __init__(self) -> None:
        self.done: list[tuple[str, Any]] = []
        self.error: Exception | None = None

    def __getattr__(self, name: str) -> Callable[..., Coroutine[Any, Any, str]]:
        async def act(*args: Any, **more: Any) -> str:
            if self.error is not None:
                raise self.error
            more.pop("initiator", None)
            self.done.append((name, args[0] if args else more or None))
            return "j-new"

        return act


@pytest.fixture
def engine(desk: Desk) -> Any:
    desk.engine.ask = Ask()
    desk.engine.do = Do()
    return desk.engine


@pytest.fixture
def pane(desk: Desk, engine: Any, qtbot: Any, qloop: Any) -> ActivityPane:
    made = ActivityPane(desk)
    qtbot.addWidget(made)
    made.resize(900, 600)
    made.show()
    return made


def titles(pane: ActivityPane) -> list[str]:
    return [row.id for row in pane.list.rows_model.rows() if not row.head]


def words(widget: QWidget) -> str:
    return "\n".join(label.text() for label in widget.findChildren(T))


def test_each_job_tells_trigger_state_duration_and_why(
    pane: ActivityPane, engine: Any, qloop: Any, qtmodeltester: Any
) -> None:
    reason = "The server closed the connection."
    engine.ask.all = [
        job("a", "consolidate", "failed", reason=reason, trigger="after a flush"),
        job("b", "flush", "done", ago=86_400, result="3 facts."),
    ]
    qloop.run_until_complete(pane.refresh())
    spoken = [pane.list.rows_model.index(i).data() for i in range(pane.list.rows_model.rowCount())]
    assert spoken[0] == "Today"
    for part in ("Consolidation", "failed", "after a flush", reason, "12 s"):
        assert part in spoken[1]
    assert spoken[2] == "Yesterday"
    assert "3 facts." in spoken[3]
    qtmodeltester.check(pane.list.rows_model)


def test_the_running_job_is_a_card_with_its_share_and_can_be_cancelled(
    pane: ActivityPane, engine: Any, qloop: Any, until: Until
) -> None:
    engine.ask.all = [job("r", "reindex", "running", ago=8, done=3, total=6), job("a")]

    async def main() -> None:
        await pane.refresh()
        assert pane.card.isVisible()
        assert pane.card.time.text() == "3 of 6, 8 s"
        assert titles(pane) == ["a"]  # what runs is not in the list of what was
        pane.card.cancel.click()
        await until(lambda: engine.do.done)
        assert engine.do.done == [("cancel_job", "r")]
        engine.ask.all = [job("r", "reindex", "cancelled", reason="It was cancelled.")]
        await pane.refresh()
        assert not pane.card.isVisible()

    qloop.run_until_complete(main())


def test_what_comes_next_is_said_with_its_time(pane: ActivityPane, engine: Any, qloop: Any) -> None:
    later = NOW + timedelta(hours=4)
    engine.ask.all = [job("w", "reindex", "waiting")]
    engine.ask.due = [Due("maintain", later), Due("consolidate", None, "soon")]
    qloop.run_until_complete(pane.refresh())
    first, second, third = pane.next.words()
    assert first == "index"
    assert second.startswith("maintenance at ")
    assert third == "consolidation, soon"
    engine.ask.all = [job("w", "consolidate", "waiting")]
    engine.ask.due = [Due("consolidate", None, "soon")]
    qloop.run_until_complete(pane.refresh())
    assert pane.next.words() == ["consolidation"]  # what was asked for is not said twice


def test_a_failed_job_shows_cause_remedy_prompt_and_answer(
    pane: ActivityPane, engine: Any, qloop: Any, until: Until
) -> None:
    failed = job("p-9", "consolidate", "failed", reason="A refusal.", remedy="Use a larger model.",
                 target="run-9")  # fmt: skip
    engine.ask.all = [failed]
    call = ModelCall("run-9", "consolidation", "qwen3", NOW, 41.0, "Rewrite 记忆", "I cannot.",
                     Usage(6_204, 1_118))  # fmt: skip
    engine.ask.calls = [call]

    async def main() -> None:
        await pane.refresh()
        await until(lambda: "qwen3" in words(pane.detail))

    qloop.run_until_complete(main())
    told = words(pane.detail)
    for part in ("Why it failed", "A refusal.", "Use a larger model.", "6,204 in, 1,118 out"):
        assert part in told
    wells = [well.text() for well in pane.detail.findChildren(type(_paged(pane)))]
    assert wells == ["Rewrite 记忆", "I cannot."]


def _paged(pane: ActivityPane) -> Any:
    from app.gui.widgets.paged import PagedText

    return pane.detail.findChildren(PagedText)[0]


def test_choice_and_place_survive_a_look_again(pane: ActivityPane, engine: Any, qloop: Any) -> None:
    engine.ask.all = [job("a", ago=10), job("b", ago=20), job("c", ago=30)]
    qloop.run_until_complete(pane.refresh())
    pane.list.select("b")
    engine.ask.all = [job("new", ago=1), *engine.ask.all]
    qloop.run_until_complete(pane.refresh())
    row = pane.list.current_row()
    assert row is not None
    assert row.id == "b"
    assert titles(pane) == ["new", "a", "b", "c"]


def test_maintenance_shows_first_what_would_be_moved(
    pane: ActivityPane, engine: Any, qloop: Any, until: Until
) -> None:
    item = SimpleNamespace(step="archive", path="memory/2026-01-02.md", rule="Older than 90 days.",
                           age=332)  # fmt: skip
    engine.ask.old = [item]

    async def main() -> None:
        for key, wanted in (("", []), ("run", [("allow_retention", None), ("maintain", None)])):
            pane.maintain()
            await until(lambda: pane.window().findChildren(Question))
            question = pane.window().findChildren(Question)[0]
            assert "1 file goes to the archive" in words(question)
            question.answer(key)
            await until(lambda: not pane.tasks.running("maintain"))
            assert engine.do.done == wanted

    qloop.run_until_complete(main())


def test_a_skip_without_a_job_is_listed_with_its_reason(
    pane: ActivityPane, engine: Any, bus: Bus, qloop: Any, until: Until
) -> None:
    async def main() -> None:
        bus.publish(Activity("gate", "skipped", reason="The least time is not over."))
        await until(lambda: titles(pane))

    qloop.run_until_complete(main())
    assert "The least time is not over." in pane.list.rows_model.index(1).data()


def test_a_refused_act_becomes_a_notice(
    pane: ActivityPane, engine: Any, qloop: Any, until: Until
) -> None:
    engine.do.error = WorkspaceBusy("The queue is full.", "Wait until some jobs are done.")

    async def main() -> None:
        pane.reindex()
        await until(lambda: pane.notices.causes())

    qloop.run_until_complete(main())
    assert pane.notices.causes() == ["The queue is full."]


def test_the_result_opens_where_it_lies(
    pane: ActivityPane, engine: Any, qloop: Any, until: Until
) -> None:
    engine.ask.all = [
        job("f", "flush", target="memory/2026-11-30.md", session_id="s-1", ago=5),
        job("c", "consolidate", target="p-14", ago=9),
    ]
    went: list[Target] = []
    pane.go.connect(went.append)

    async def main() -> None:
        await pane.refresh()
        for one in ("f", "c"):
            pane.list.select(one)
            await until(lambda one=one: pane.detail.job and pane.detail.job.id == one)
            pane.open_result()

    qloop.run_until_complete(main())
    assert went == [Target("daily", path="memory/2026-11-30.md"), Target("memory", proposal="p-14")]
    pane.list.select("f")

    def links() -> list[str]:
        return [link.text() for link in pane.detail.findChildren(Link)]

    qloop.run_until_complete(until(lambda: "Frost at the weekend" in links()))


def test_filters_keep_what_they_name(pane: ActivityPane, engine: Any, qloop: Any) -> None:
    engine.ask.all = [
        job("a", "flush"), job("b", "consolidate", "failed"), job("c", "reindex", "skipped"),
    ]  # fmt: skip
    qloop.run_until_complete(pane.refresh())
    pane.set_filter("failed")
    assert titles(pane) == ["b", "c"]
    pane.set_filter("flush")
    assert titles(pane) == ["a"]
    pane.set_filter("all")
    assert titles(pane) == ["a", "b", "c"]


def test_a_foreign_reason_stays_one_safe_line() -> None:
    nasty = "line one\nline two \u202egnp.exe\u202c" + "x" * 400_000
    cells = model.cells(job("a", "flush", "failed", reason=nasty), NOW)
    assert "\n" not in cells.why
    assert "\u202e" not in cells.why
    assert len(cells.why) <= 600
