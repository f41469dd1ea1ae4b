"""The chat while an older answer is still on its way: the last wish is what is shown."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from pytestqt.qtbot import QtBot
from shiboken6 import isValid

from app.engine.errors import SessionNotFound, UserError
from app.engine.events import Bus, TurnEvent
from app.engine.records import (
    CompactionReport,
    ContextPart,
    ContextView,
    ModelStatus,
    SessionInfo,
    TranscriptItem,
    Window,
)
from app.gui.panes.chat.pane import ChatPane
from app.gui.widgets.dialogs import Question
from app.gui.widgets.pane import Desk, Target
from app.gui.window.actions import is_work
from tests.gui.conftest import NOW
from tests.helpers.chatting import long_pane
from tests.helpers.held import hold
from tests.helpers.panes import on_desk, settled, targets
from tests.helpers.waiting import until


def said(n: int, text: str, kind: str = "user", **more: Any) -> TranscriptItem:
    return TranscriptItem(f"{text.split()[0]}{n}", n, kind, NOW, text=text, **more)


class Talks:
    """Sessions in memory, asked and told what to do."""

    def __init__(self) -> None:
        self.items = {name: [said(1, f"{name} begins")] for name in ("one", "two", "three")}
        self.done: list[tuple[str, str]] = []

    async def sessions(self, **_: object) -> list[SessionInfo]:
        return [SessionInfo(name, name, NOW, NOW, 1, 1, 1) for name in self.items]

    async def transcript(self, name: str, *, limit: int, **_: object) -> list[TranscriptItem]:
        return list(self.items[name])[-limit:]

    async def full_text(self, _session: str, item_id: str) -> str:
        return f"all of {item_id}"

    async def context(self, name: str, _draft: str = "") -> ContextView:
        parts = (ContextPart("history", "user", f"what {name} says", 100),)
        return ContextView(parts, 100, Window(1_000), {})

    async def compaction_preview(self, _session: str) -> CompactionReport:
        return CompactionReport(2, 1, 100, 40)

    async def model(self) -> ModelStatus:
        return ModelStatus("qwen3-8b", "ready", Window(1_000))

    async def proposals(self, **_: object) -> list[Any]:
        return []

    async def trash_session(self, name: str, *, initiator: object) -> None:
        self.items.pop(name)

    async def restore_session(self, name: str, *, initiator: object) -> None:
        self.items[name] = [said(1, f"{name} begins")]

    async def compact(self, name: str, *, initiator: object) -> CompactionReport:
        self.done.append(("compact", name))
        return CompactionReport(2, 1, 100, 40)

    async def new_session(self, *, initiator: object) -> str:
        self.items["new"] = []
        return "new"

    async def send(self, name: str, text: str, *, initiator: object) -> Any:
        self.done.append((name, text))
        return SimpleNamespace(state="finished", kept=True)


@pytest.fixture
def talks(desk: Desk) -> Talks:
    return on_desk(desk, Talks())


@asynccontextmanager
async def at(desk: Desk, qtbot: QtBot, session: str) -> AsyncIterator[ChatPane]:
    """A chat pane on screen, at that session."""
    pane = ChatPane(desk)
    qtbot.addWidget(pane)
    qtbot.addWidget(pane.panel)
    pane.resize(760, 700)
    pane.show()
    if session:
        await pane.open(Target("chat", session_id=session))
        await settled(pane, until)
    try:
        yield pane
    finally:
        await pane.tasks.end()
    assert desk.engine.faults == []


def texts(pane: ChatPane) -> list[str]:
    return [item.text for item in pane.items]


def test_an_answer_stays_when_an_older_look_ends(qtbot, runs, desk: Desk, talks: Talks) -> None:
    async def main() -> None:
        async with at(desk, qtbot, "one") as pane:
            slow = hold(talks, "transcript")
            pane.activate()
            await slow.begun.wait()
            talks.items["one"].append(said(2, "Answer", "assistant"))
            pane.tasks.latest("read", pane._read())
            await until(lambda: pane.view.row("Answer2") is not None)
            slow.go()
            await settled(pane, until)
            assert pane.view.row("Answer2") is not None

    runs(main())


def test_the_newest_come_though_earlier_ones_are_asked_for_at_once(qtbot, runs, desk: Desk) -> None:
    async def main() -> None:
        async with long_pane(desk, qtbot) as pane:
            await pane.open(Target("chat", session_id="s", entry_id="i300"))
            slow = hold(desk.engine.ask, "transcript")
            pane.view.show_newest()
            await slow.begun.wait()
            pane.view.show_earlier()
            slow.go()
            await settled(pane, until)
            assert pane.items[-1].id == "i9999"
            assert pane.view.rows()[-1].piece.key == "i9999"

    runs(main())


def test_who_went_elsewhere_while_a_session_goes_to_the_trash_stays_there(
    qtbot, runs, desk: Desk, talks: Talks
) -> None:
    async def main() -> None:
        async with at(desk, qtbot, "one") as pane:
            slow = hold(talks, "trash_session")
            trashing = pane.tasks.start("act", pane.acts.trash())
            await slow.begun.wait()
            await pane.open(Target("chat", session_id="three"))
            slow.go()
            await trashing
            await settled(pane, until)
            assert pane.session_id == "three"
            assert texts(pane) == ["three begins"]
            assert pane.bar.accessibleName() == "one is in the trash"

    runs(main())


def test_who_went_elsewhere_while_a_session_comes_back_stays_there(
    qtbot, runs, desk: Desk, talks: Talks
) -> None:
    async def main() -> None:
        async with at(desk, qtbot, "one") as pane:
            await pane.acts.trash()
            slow = hold(talks, "restore_session")
            pane.bar.acts[0].run()
            await slow.begun.wait()
            await pane.open(Target("chat", session_id="three"))
            slow.go()
            await settled(pane, until)
            assert pane.session_id == "three"

    runs(main())


def test_the_newest_session_is_not_entered_once_another_is(
    qtbot, runs, desk: Desk, talks: Talks
) -> None:
    async def main() -> None:
        async with at(desk, qtbot, "") as pane:
            slow = hold(talks, "sessions")
            pane.activate()
            await slow.begun.wait()
            pane.foot.composer.set_text("Hi")
            pane.foot.composer.send()
            await until(lambda: talks.done)
            slow.go()
            await settled(pane, until)
            assert talks.done == [("new", "Hi")]
            assert pane.session_id == "new"

    runs(main())


def test_a_session_that_is_gone_takes_nobody_away_from_the_next(
    qtbot, runs, desk: Desk, talks: Talks
) -> None:
    async def gone(name: str, **_: object) -> list[TranscriptItem]:
        if name in talks.items:
            return list(talks.items[name])
        raise SessionNotFound("It is gone.")

    talks.transcript = gone  # type: ignore[method-assign]

    async def main() -> None:
        async with at(desk, qtbot, "one") as pane:
            slow = hold(talks, "transcript")
            opening = pane.tasks.start("restore", pane.open(Target("chat", session_id="lost")))
            await slow.begun.wait()
            await pane.open(Target("chat", session_id="three"))
            slow.go()
            await opening
            await settled(pane, until)
            assert pane.session_id == "three"

    runs(main())


def test_a_whole_text_that_comes_when_its_row_is_gone_is_no_fault(
    qtbot, runs, desk: Desk, talks: Talks
) -> None:
    async def main() -> None:
        talks.items["one"].append(said(2, "Long", "assistant", cut=9_000))
        async with at(desk, qtbot, "one") as pane:
            row = pane.view.row("Long2")
            assert row is not None
            slow = hold(talks, "full_text")
            row.more.click()  # type: ignore[attr-defined]
            await slow.begun.wait()
            await pane.open(Target("chat", session_id="two"))
            await until(lambda: pane.view.row("two1") is not None)
            await until(lambda: not isValid(row))
            slow.go()
            await settled(pane, until)
            assert desk.engine.faults == []

    runs(main())


def test_links_of_rows_lead_to_their_session_while_the_next_is_on_its_way(
    qtbot, runs, desk: Desk, talks: Talks
) -> None:
    async def main() -> None:
        talks.items["one"] += [said(2, "Sum", "compaction"), said(3, "Long", "user", cut=90_000)]
        asked: list[str] = []

        async def full(session: str, _item: str) -> str:
            asked.append(session)
            return "all of it"

        talks.full_text = full  # type: ignore[method-assign]
        async with at(desk, qtbot, "one") as pane:
            went = targets(pane)
            row, long = pane.view.row("Sum2"), pane.view.row("Long3")
            slow = hold(talks, "transcript")
            pane.tasks.latest("open", pane.open(Target("chat", session_id="two")))
            await slow.begun.wait()
            row._on_show()  # type: ignore[union-attr]
            long.more.click()  # type: ignore[union-attr]
            await until(lambda: asked)
            slow.go()
            await settled(pane, until)
            assert went == [Target("timeline", session_id="one", entry_id="Sum2")]
            assert asked == ["one"]

    runs(main())


def test_a_compaction_is_told_only_where_it_was_asked_for(
    qtbot, runs, desk: Desk, talks: Talks
) -> None:
    async def main() -> None:
        async with at(desk, qtbot, "one") as pane:
            slow = hold(talks, "compact")
            work = pane.tasks.start("act", pane.acts.compact())
            await slow.begun.wait()
            await pane.open(Target("chat", session_id="two"))
            slow.go()
            await work
            assert not pane.bar.isVisible()
            assert pane.panel.compact.text() == "Compact now"

    runs(main())


def test_a_preview_of_another_session_is_not_offered_to_be_run_here(
    qtbot, runs, desk: Desk, talks: Talks
) -> None:
    async def main() -> None:
        async with at(desk, qtbot, "one") as pane:
            slow = hold(talks, "compaction_preview")
            work = pane.tasks.start("act", pane.acts.preview())
            await slow.begun.wait()
            await pane.open(Target("chat", session_id="two"))
            slow.go()
            await until(lambda: work.done() or pane.findChildren(Question))
            assert not pane.findChildren(Question)

    runs(main())


def test_a_request_is_compared_with_the_last_one_of_its_own_session(
    qtbot, runs, desk: Desk, bus: Bus, talks: Talks
) -> None:
    async def main() -> None:
        async with at(desk, qtbot, "one") as pane:
            slow = hold(talks, "transcript")
            pane.tasks.latest("open", pane.open(Target("chat", session_id="two")))
            await slow.begun.wait()
            bus.publish(TurnEvent("two", "started"))
            bus.publish(TurnEvent("two", "finished"))
            slow.go()
            await settled(pane, until)
            assert pane.panel.prefix.text() == ""

    runs(main())


def test_a_context_that_cannot_be_worked_out_is_told_in_its_session_only(
    qtbot, runs, desk: Desk, talks: Talks
) -> None:
    context = talks.context

    async def refused(name: str, draft: str = "") -> ContextView:
        if name == "one":
            raise UserError("No model answers.")
        return await context(name, draft)

    async def main() -> None:
        async with at(desk, qtbot, "one") as pane:
            talks.context = refused  # type: ignore[method-assign]
            slow, page = hold(talks, "context"), hold(talks, "transcript")
            pane.watch.now()
            await slow.begun.wait()
            pane.tasks.latest("open", pane.open(Target("chat", session_id="two")))
            await page.begun.wait()
            slow.go()
            await until(lambda: not pane.tasks.running("context"))
            assert "No model" not in pane.panel.would.text()
            page.go()
            await settled(pane, until)

    runs(main())


def test_first_steps_that_come_late_do_not_cover_what_was_opened(
    qtbot, runs, desk: Desk, talks: Talks
) -> None:
    async def main() -> None:
        async with at(desk, qtbot, "one") as pane:
            slow = hold(talks, "proposals")
            action = next(a for a in pane.actions() if a.name == "chat.steps")
            if is_work(work := action.run()):  # as the window does
                pane.tasks.start("action", work)  # type: ignore[arg-type]
            await slow.begun.wait()
            await pane.open(Target("chat", session_id="two"))
            slow.go()
            await settled(pane, until)
            assert not pane.guide.shown()

    runs(main())
