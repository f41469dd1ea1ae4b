"""The chat place on a whole engine: turns, switching, paging, acts, the inspector."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QInputMethodEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.engine.agent.tools import tool
from app.engine.errors import StorageError, UserError
from app.engine.records import SessionInfo, TranscriptItem
from app.engine.workspace.files import AppendFile
from app.gui.bridge import EngineSignals
from app.gui.panes.chat.cards import ApprovalRow, FailedRow, ToolRow
from app.gui.panes.chat.pane import ChatPane
from app.gui.panes.chat.rows import AnswerRow, UserRow
from app.gui.panes.chat.transcript import MOST
from app.gui.widgets.action import overlapping
from app.gui.widgets.pane import Desk, Target
from tests.gui import conftest
from tests.gui.conftest import NOW
from tests.helpers.fake_server import Reply, Script, Seen, call, chunk, error, say, use
from tests.helpers.workspaces import EngineDesk, engine_on, without_memory


async def wait_until(condition: Callable[[], object]) -> None:
    """As everywhere, with the patience a first import of the model client needs."""
    await conftest.wait_until(condition, 25.0)


class Room:
    """A chat pane at work, and what it said to the window."""

    def __init__(self, pane: ChatPane, desk: EngineDesk, faults: list[BaseException]) -> None:
        self.pane, self.desk, self.faults = pane, desk, faults
        self.went: list[Target] = []
        self.measures: list[tuple[int, int]] = []
        pane.go.connect(self.went.append)
        pane.measured.connect(lambda *both: self.measures.append(both))

    def say(self, text: str) -> None:
        self.pane.foot.composer.set_text(text)
        self.pane.foot.composer.send()

    async def said(self, text: str) -> None:
        """Send, and wait for the end of the reply and for its rows."""
        self.say(text)
        await wait_until(lambda: self.pane.talk.busy(self.pane.session_id))
        await self.idle()

    async def idle(self) -> None:
        pane = self.pane
        await wait_until(lambda: not pane.talk.busy(pane.session_id))
        await wait_until(lambda: not pane.tasks.running("read") and not pane._paint.isActive())
        await wait_until(lambda: not pane.view.filling())

    def kinds(self) -> list[str]:
        return [row.piece.kind for row in self.pane.view.rows()]

    def answers(self) -> list[str]:
        rows = self.pane.view.rows()
        return [row.view.toPlainText() for row in rows if isinstance(row, AnswerRow)]


@asynccontextmanager
async def room(qtbot, folder: Path, *scripts: Script, tools=(), **more) -> AsyncIterator[Room]:
    config = more.pop("config", without_memory())
    async with engine_on(folder, *scripts, tools=tools, config=config, **more) as desk:
        faults: list[BaseException] = []
        signals = EngineSignals(desk.engine.events)
        pane = ChatPane(Desk(desk.engine, signals, faults.append, now=lambda: NOW))
        qtbot.addWidget(pane)
        qtbot.addWidget(pane.panel)
        pane.resize(760, 700)
        pane.show()
        pane.activate()
        await wait_until(lambda: bool(pane.session_id) and not pane.tasks.running("refresh"))
        await wait_until(lambda: pane.reading.session_id == pane.session_id)
        try:
            yield Room(pane, desk, faults)
        finally:
            signals.stop()
            await pane.tasks.end()
        assert faults == []


@pytest.fixture
def runs(qloop: asyncio.AbstractEventLoop) -> Callable[[Awaitable[None]], None]:
    return lambda main: qloop.run_until_complete(asyncio.wait_for(main, 90))


def slow(*texts: str, pause: float = 0.2) -> Reply:
    return say(*texts, pause=pause)


# ---------------------------------------------------------------------------- a turn


def test_a_turn_streams_and_stays_in_its_place(qtbot, runs, tmp_path: Path) -> None:
    async def main() -> None:
        parts = ["Close ", "the **north", " vent**. ", "关好北窗。"]
        async with room(qtbot, tmp_path, slow(*parts)) as r:
            r.say("What now?")
            assert r.pane.foot.composer.text() == ""
            await wait_until(lambda: "live" in r.kinds())
            live = next(row for row in r.pane.view.rows() if row.piece.kind == "live")
            assert r.pane.foot.stop.isVisible()
            assert not r.pane.foot.send.isVisible()
            await r.idle()
            assert r.kinds() == ["user", "assistant"]
            assert r.pane.view.rows()[1] is live  # the same widget: nothing is drawn anew
            assert r.answers() == ["Close the north vent. 关好北窗。"]
            assert r.pane.foot.send.isVisible()
            assert r.pane.head.title.text() == "What now?"

    runs(main())


def test_enter_sends_but_never_while_an_input_method_composes(qtbot, runs, tmp_path: Path) -> None:
    async def main() -> None:
        async with room(qtbot, tmp_path, say("好。")) as r:
            field = r.pane.foot.composer.field
            field.setFocus()
            QApplication.sendEvent(field, QInputMethodEvent("ni hao", []))
            QTest.keyClick(field, Qt.Key.Key_Return)
            assert not r.pane.talk.busy(r.pane.session_id)
            done = QInputMethodEvent()
            done.setCommitString("你好")
            QApplication.sendEvent(field, done)
            QTest.keyClick(field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
            assert r.pane.foot.composer.text() == "你好\n"
            QTest.keyClick(field, Qt.Key.Key_Return)
            await wait_until(lambda: r.pane.talk.busy(r.pane.session_id))
            await r.idle()
            assert r.answers() == ["好。"]

    runs(main())


def test_a_call_is_a_card_that_runs_and_unfolds(qtbot, runs, tmp_path: Path) -> None:
    gate = asyncio.Event()

    async def work(arguments: dict) -> str:
        await gate.wait()
        return "03:00 start\n03:01 failed\n"

    made = tool("execute", "Run.", work, cmd=("string", "what"))

    async def main() -> None:
        scripts = (use(call("execute", {"cmd": "tern log"}, id="c1"), text="I look."), say("Done."))
        async with room(qtbot, tmp_path, *scripts, tools=[made]) as r:
            r.say("Why?")
            await wait_until(lambda: "tool" in r.kinds())
            card = next(row for row in r.pane.view.rows() if isinstance(row, ToolRow))
            assert card.piece.running
            assert "running" in card.fold.head.accessibleName()
            gate.set()
            await r.idle()
            assert r.kinds() == ["user", "assistant", "tool", "assistant"]
            assert next(x for x in r.pane.view.rows() if isinstance(x, ToolRow)) is card
            assert card.fold.head.accessibleName() == "execute tern log, 2 lines"
            card.fold.set_open(True)
            assert card._inside is not None
            assert card._inside.result.text() == "03:00 start\n03:01 failed\n"
            assert card._inside.arguments.text() == "cmd: tern log"

    runs(main())


def test_a_result_put_aside_leads_to_its_full_text(qtbot, runs, tmp_path: Path) -> None:
    async def work(arguments: dict) -> str:
        return "y" * 400_000

    made = tool("dump", "Dump.", work)

    async def main() -> None:
        scripts = (use(call("dump", {}, id="c1")), say("Long."))
        async with room(qtbot, tmp_path, *scripts, tools=[made]) as r:
            await r.said("Dump it")
            card = next(row for row in r.pane.view.rows() if isinstance(row, ToolRow))
            card.fold.set_open(True)
            assert card._inside is not None
            assert card._inside._words.text() == "400,000 characters put aside"
            card._inside._open.click()
            assert r.went[-1].place == "evicted"
            assert r.went[-1].path == card.piece.item.target
            assert card._inside.result.blockCount() < 20  # one giant line is cut, never laid out

    runs(main())


def test_a_call_that_asks_waits_for_a_word(qtbot, runs, tmp_path: Path) -> None:
    ran: list[str] = []

    async def work(arguments: dict) -> str:
        ran.append(arguments["cmd"])
        return "shipped"

    made = tool("ship", "Ship.", work, asks=True, cmd=("string", "what"))

    async def main() -> None:
        scripts = (
            use(call("ship", {"cmd": "make ship"}, id="c1")), say("Out."),
            use(call("ship", {"cmd": "again"}, id="c2")), say("Not out."),
        )  # fmt: skip
        async with room(qtbot, tmp_path, *scripts, tools=[made]) as r:
            r.say("Ship it")
            await wait_until(lambda: "approval" in r.kinds())
            asks = next(row for row in r.pane.view.rows() if isinstance(row, ApprovalRow))
            assert asks.allow.text() == "Run make ship once"
            assert ran == []
            asks.allow.click()
            await r.idle()
            assert ran == ["make ship"]
            assert r.kinds() == ["user", "tool", "assistant"]
            r.say("Again")
            await wait_until(lambda: "approval" in r.kinds())
            r.pane.talk.answer_first(False)
            await r.idle()
            assert ran == ["make ship"]

    runs(main())


# ---------------------------------------------------------------------------- text is never lost


def test_what_is_written_meanwhile_is_sent_when_the_reply_is_done(
    qtbot, runs, tmp_path: Path
) -> None:
    async def main() -> None:
        async with room(qtbot, tmp_path, slow("One", ".", "."), say("Two")) as r:
            r.say("First")
            await wait_until(lambda: r.pane.talk.busy(r.pane.session_id))
            r.say("Second")
            assert r.pane.foot.queued.isVisible()
            assert r.pane.foot.composer.text() == ""
            await wait_until(lambda: len(r.answers()) == 2)
            await r.idle()
            users = [w.piece.item.text for w in r.pane.view.rows() if isinstance(w, UserRow)]
            assert users == ["First", "Second"]
            assert not r.pane.foot.queued.isVisible()

    runs(main())


def test_stopping_gives_the_queue_back_and_marks_what_is_not_kept(
    qtbot, runs, tmp_path: Path
) -> None:
    async def main() -> None:
        async with room(qtbot, tmp_path, slow(*["word "] * 60)) as r:
            r.say("Talk")
            await wait_until(lambda: "live" in r.kinds())
            r.say("Then this")
            QTest.keyClick(r.pane.foot.composer.field, Qt.Key.Key_Escape)
            await r.idle()
            assert r.pane.foot.composer.text() == "Then this"
            assert "live" not in r.kinds()
            broken = [w for w in r.pane.view.rows() if w.piece.kind == "broken"]
            assert broken
            assert isinstance(broken[0], AnswerRow)
            assert broken[0].lost.isVisible()

    runs(main())


def test_a_failure_says_what_to_do_and_try_again_asks_again(qtbot, runs, tmp_path: Path) -> None:
    async def main() -> None:
        failing = error(401, {"error": {"message": "bad key"}})
        async with room(qtbot, tmp_path, failing, say("Now it works.")) as r:
            await r.said("Does it work?")
            assert r.kinds() == ["user", "failed"]
            row = r.pane.view.rows()[-1]
            assert isinstance(row, FailedRow)
            assert "key" in row.words.text()
            assert row.remedy.text()
            row.models.click()
            assert r.went[-1] == Target("settings", section="models")
            assert r.pane.foot.composer.text() == ""  # it is stored
            row.again.click()
            await wait_until(lambda: r.answers() == ["Now it works."])
            await r.idle()
            assert "failed" not in r.kinds()

    runs(main())


def test_a_text_that_was_not_stored_comes_back_into_the_field(
    qtbot, runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        async with room(qtbot, tmp_path, say("never")) as r:

            async def full(*_: object, **__: object) -> None:
                raise StorageError("The disk is full.")

            monkeypatch.setattr(r.desk.engine.do, "send", full)
            r.say("Keep this")
            r.pane.foot.composer.set_text("typed since")
            await wait_until(lambda: r.pane.notices.causes() == ["The disk is full."])
            assert r.pane.foot.composer.text() == "Keep this\n\ntyped since"

    runs(main())


def test_the_same_words_again_come_back_when_the_session_could_not_take_them(
    qtbot, runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        async with room(qtbot, tmp_path, say("First part.")) as r:
            result = await r.desk.engine.do.send(r.pane.session_id, "Go on")
            assert result.state == "finished"

            def full(*_: object, **__: object) -> int:
                raise StorageError("The disk is full.")

            monkeypatch.setattr(AppendFile, "append", full)
            r.say("Go on")
            assert r.pane.foot.composer.text() == ""
            await wait_until(lambda: r.pane.foot.composer.text() == "Go on")

    runs(main())


def test_a_call_that_asks_in_another_session_is_told_of(qtbot, runs, tmp_path: Path) -> None:
    async def work(arguments: dict) -> str:
        return "shipped"

    made = tool("ship", "Ship.", work, asks=True)

    async def main() -> None:
        async with room(qtbot, tmp_path, use(call("ship", {}, id="c1")), tools=[made]) as r:
            first = r.pane.session_id
            r.say("Ship it")
            await wait_until(lambda: r.pane.talk.busy(first))
            await r.pane.open(Target("chat", section="new"))
            assert r.pane.session_id != first
            await wait_until(lambda: r.pane.notices.causes() == ["ship waits for your word"])
            await r.desk.engine.do.stop(first)
            await wait_until(lambda: r.pane.notices.causes() == [])

    runs(main())


def test_a_reply_goes_on_while_another_session_is_shown(qtbot, runs, tmp_path: Path) -> None:
    async def main() -> None:
        async with room(qtbot, tmp_path, slow("One ", "two ", "three ", "four", pause=0.1)) as r:
            first = r.pane.session_id
            r.say("Count")
            await wait_until(lambda: "live" in r.kinds())
            r.pane.foot.composer.set_text("a draft here")
            await r.pane.open(Target("chat", section="new"))
            assert r.pane.session_id != first
            assert r.pane.view.rows() == []
            assert r.pane.foot.composer.text() == ""
            assert not r.pane.foot.stop.isVisible()
            await r.pane.open(Target("chat", session_id=first))
            await wait_until(lambda: r.answers() and r.answers()[0].startswith("One"))
            assert r.pane.foot.composer.text() == "a draft here"
            await r.idle()
            assert r.answers() == ["One two three four"]

    runs(main())


def test_an_answer_of_a_megabyte_streams_and_can_be_had_again(qtbot, runs, tmp_path: Path) -> None:
    async def main() -> None:
        text = "A line of words that goes on.\n\n" * 33_000
        pieces = [chunk({"content": text[n : n + 50_000]}) for n in range(0, len(text), 50_000)]
        reply = Reply(events=[chunk({"role": "assistant"}), *pieces, chunk(finish="stop")])
        async with room(qtbot, tmp_path, reply, say("unused")) as r:
            await r.said("Much")
            row = r.pane.view.rows()[-1]
            assert isinstance(row, AnswerRow)
            assert len(row.view.markdown()) == len(text)
            session = r.pane.session_id
            await r.pane.open(Target("chat", section="new"))
            await r.pane.open(Target("chat", session_id=session))
            await wait_until(lambda: len(r.pane.view.rows()) == 2)
            row = r.pane.view.rows()[-1]
            assert isinstance(row, AnswerRow)
            assert row.more.isVisible()
            row.more.click()
            await wait_until(lambda: len(row.view.markdown()) > 900_000)

    runs(main())


# ---------------------------------------------------------------------------- sessions and acts


def run_action(r: Room, name: str) -> Awaitable[None] | None:
    action = next(a for a in r.pane.actions() if a.name == name)
    assert action.off() == ""
    return action.run()  # type: ignore[return-value]


def test_a_session_goes_to_the_trash_and_comes_back(qtbot, runs, tmp_path: Path) -> None:
    async def main() -> None:
        async with room(qtbot, tmp_path, say("Hello")) as r:
            await r.said("Hi")
            session = r.pane.session_id
            work = run_action(r, "chat.trash")
            assert work is not None
            await work
            assert r.pane.session_id != session
            assert await r.desk.engine.ask.sessions() == []
            assert r.pane.bar.isVisible()
            assert r.pane.bar.accessibleName() == "Hi is in the trash"
            await r.desk.engine.do.restore_session(session)
            await r.pane.open(Target("chat", session_id=session))
            assert [i.text for i in r.pane.items] == ["Hi", "Hello"]

    runs(main())


def test_a_session_that_is_gone_gives_way_to_another(qtbot, runs, tmp_path: Path) -> None:
    async def main() -> None:
        async with room(qtbot, tmp_path, say("Hello")) as r:
            await r.said("Hi")
            session = r.pane.session_id
            await r.pane.open(Target("chat", session_id="s-nowhere"))
            assert r.pane.session_id == session
            assert r.pane.notices.causes() == ["There is no session 's-nowhere'."]

    runs(main())


def test_selected_text_is_remembered_with_its_message(qtbot, runs, tmp_path: Path) -> None:
    async def main() -> None:
        async with room(qtbot, tmp_path, say("The pump stops at 23:00.")) as r:
            await r.said("When?")
            action = next(a for a in r.pane.actions() if a.name == "chat.remember")
            assert action.off() == "Select some text of the transcript first."
            row = r.pane.view.rows()[-1]
            assert isinstance(row, AnswerRow)
            row.view.selectAll()
            work = run_action(r, "chat.remember")
            assert work is not None
            await work
            memory = await r.desk.engine.ask.memory()
            assert "The pump stops at 23:00." in memory.text
            assert r.pane.bar.accessibleName().startswith("1 line saved to memory")
            days = await r.desk.engine.ask.days()
            log = await r.desk.engine.ask.day(days[0].path)
            saved = next(x for x in log.sections if x.kind == "save")
            assert saved.session_id == r.pane.session_id

    runs(main())


def test_answers_and_talks_are_copied(qtbot, runs, tmp_path: Path) -> None:
    async def main() -> None:
        async with room(qtbot, tmp_path, say("It is **so**.")) as r:
            await r.said("Is it?")
            run_action(r, "chat.copy")
            assert QGuiApplication.clipboard().text() == "It is **so**."
            run_action(r, "chat.copy.all")
            assert QGuiApplication.clipboard().text() == "You: Is it?\n\nPalimpsest: It is **so**."

    runs(main())


def test_the_inspector_shows_the_next_request_with_the_draft(qtbot, runs, tmp_path: Path) -> None:
    async def main() -> None:
        (tmp_path / "AGENTS.md").write_text("# Rules\n\nBe brief.\n", encoding="utf-8")
        (tmp_path / "MEMORY.md").write_text("# Memory\n\n- Tea at four\n", encoding="utf-8")
        async with room(qtbot, tmp_path, say("Hello")) as r:
            panel = r.pane.inspector()
            assert panel is r.pane.panel
            panel.resize(332, 700)
            panel.show()
            await r.said("Hi")
            await wait_until(lambda: "history" in r.pane.panel.folds)
            r.pane.foot.composer.set_text("A question of mine")
            await wait_until(lambda: "user" in r.pane.panel.folds)
            folds = r.pane.panel.folds
            assert folds["user"].group.text == "A question of mine"
            folds["memory"].set_open(True, moving=False)
            assert folds["memory"]._well is not None
            assert "- Tea at four" in folds["memory"]._well.text()
            assert "Be brief." in folds["rules"].group.text
            total = sum(f.group.tokens for f in folds.values())
            assert r.pane.panel.view is not None
            assert total == r.pane.panel.view.total
            await wait_until(lambda: r.measures[-1] == (total, 32_000))
            await wait_until(lambda: bool(r.pane.panel.would.text()))

    runs(main())


def test_compact_now_says_what_came_of_it(qtbot, runs, tmp_path: Path) -> None:
    async def main() -> None:
        async with room(qtbot, tmp_path, say("A"), say("B")) as r:
            await r.said("One")
            work = run_action(r, "chat.compact")
            assert work is not None
            await work
            assert r.pane.bar.isVisible()
            assert r.pane.panel.compact.text() == "Compact now"
            assert r.pane.panel.compact.isEnabled()

    runs(main())


def test_found_words_are_brought_to_sight(qtbot, runs, tmp_path: Path) -> None:
    async def main() -> None:
        async with room(qtbot, tmp_path, say("The pump is old."), say("Yes.")) as r:
            await r.said("What is old?")
            await r.said("Sure?")
            assert r.pane.find()
            r.pane.finder.field.setText("PUMP")
            assert r.pane.finder.count.text() == "1 of 1"
            row = r.pane.view.rows()[1]
            assert isinstance(row, AnswerRow)
            assert row.view.finding.count() == (1, 1)
            QTest.keyClick(r.pane.finder.field, Qt.Key.Key_Escape)
            assert not r.pane.finder.isVisible()

    runs(main())


def test_actions_have_keys_of_their_own(qtbot, runs, tmp_path: Path) -> None:
    async def main() -> None:
        async with room(qtbot, tmp_path, say("x")) as r:
            actions = r.pane.actions()
            assert overlapping(actions) == []
            assert all(a.title and a.icon and a.when == "pane:chat" for a in actions)

    runs(main())


# ---------------------------------------------------------------------------- long sessions

LONG = 10_000


def long_desk(desk: Desk) -> None:
    """Give the fake engine a session of ten thousand items."""
    items = [
        TranscriptItem(
            f"i{n}", n + 1, "user" if n % 2 == 0 else "assistant", NOW, text=f"Message {n}\n好"
        )
        for n in range(LONG)
    ]

    async def transcript(
        _id: str, *, before: int | None = None, around: str = "", limit: int = 2_000
    ):
        end = LONG if before is None else min(before - 1, LONG)
        if around:
            at = next((n for n, item in enumerate(items) if item.id == around), -limit)
            end = max(at + limit // 2, 0)
        return items[max(0, end - limit) : end]

    async def sessions(**_: object) -> list[SessionInfo]:
        when = datetime(2026, 11, 30, tzinfo=UTC)
        return [SessionInfo("s", "Long", when, when, LONG, LONG, 1)]

    async def unknown(*_: object, **__: object) -> None:
        raise UserError("Not here.")

    desk.engine.ask = SimpleNamespace(
        transcript=transcript, sessions=sessions, context=unknown, compaction_preview=unknown
    )


def test_ten_thousand_items_are_paged_and_any_of_them_found(qtbot, runs, desk: Desk) -> None:
    async def main() -> None:
        long_desk(desk)
        pane = ChatPane(desk)
        qtbot.addWidget(pane)
        qtbot.addWidget(pane.panel)
        pane.resize(760, 700)
        pane.show()
        view = pane.view
        await pane.open(Target("chat", session_id="s"))
        await wait_until(lambda: bool(view.rows()) and not view.filling())
        assert view.rows()[-1].piece.key == "i9999"
        await wait_until(lambda: view.verticalScrollBar().value() > 0)
        assert view.at_end()
        assert view.earlier.isVisibleTo(view)
        for _ in range(4):
            first = view.rows()[0].piece.key
            view.show_earlier()
            await wait_until(lambda f=first: view.rows()[0].piece.key != f)
            await wait_until(lambda: not view.filling())
            assert len(view.rows()) <= MOST
        assert view.later.isVisibleTo(view)
        await pane.open(Target("chat", session_id="s", entry_id="i300"))
        row = view.row("i300")
        assert row is not None
        await wait_until(lambda: not view.filling())
        await asyncio.sleep(0.05)
        top = row.mapTo(view.viewport(), row.rect().topLeft()).y()
        assert 0 <= top <= 60
        assert len(pane.items) <= 200, "a page around it, not all that came since"
        assert view.later.isVisibleTo(view)
        for _ in range(6):  # on from there, past the end of what is loaded
            last = view.rows()[-1].piece.key
            view.show_later()
            await wait_until(lambda k=last: view.rows()[-1].piece.key != k)
            await wait_until(lambda: not view.filling())
        numbers = [item.seq for item in pane.items]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
        assert numbers[-1] > 500
        with pytest.raises(UserError):
            await pane.open(Target("chat", session_id="s", entry_id="gone"))
        view.show_newest()
        await wait_until(lambda: bool(view.rows()) and view.rows()[-1].piece.key == "i9999")
        await wait_until(lambda: not view.filling())
        assert view.at_end()
        assert not view.later.isVisibleTo(view)
        await pane.tasks.end()

    runs(main())


def test_the_place_is_kept_when_rows_come_above_and_below(qtbot, runs, desk: Desk) -> None:
    async def main() -> None:
        long_desk(desk)
        pane = ChatPane(desk)
        qtbot.addWidget(pane)
        qtbot.addWidget(pane.panel)
        pane.resize(760, 700)
        pane.show()
        view = pane.view
        await pane.open(Target("chat", session_id="s"))
        await wait_until(lambda: bool(view.rows()) and not view.filling())
        await asyncio.sleep(0.3)
        view.verticalScrollBar().setValue(view.verticalScrollBar().maximum() // 2)
        assert not view.at_end()
        assert view.newest.isVisible()
        seen = next(
            row for row in view.rows() if row.mapTo(view.viewport(), row.rect().topLeft()).y() > 0
        )
        before = seen.mapTo(view.viewport(), seen.rect().topLeft()).y()
        view.show_earlier()
        await wait_until(lambda: not view.filling())
        await asyncio.sleep(0.1)
        await wait_until(lambda: seen.mapTo(view.viewport(), seen.rect().topLeft()).y() == before)
        newer = TranscriptItem("new", LONG + 1, "assistant", NOW, text="New words")
        pane.items.append(newer)
        pane._show()
        await wait_until(lambda: not view.filling())
        await asyncio.sleep(0.1)
        await wait_until(lambda: seen.mapTo(view.viewport(), seen.rect().topLeft()).y() == before)
        view.newest.click()
        await wait_until(lambda: view.at_end() and not view.newest.isVisible())
        await pane.tasks.end()

    runs(main())


def test_what_the_person_said_is_never_laid_out_as_one_giant_line(qtbot, runs, desk: Desk) -> None:
    async def main() -> None:
        long_desk(desk)
        pane = ChatPane(desk)
        qtbot.addWidget(pane)
        qtbot.addWidget(pane.panel)
        pane.resize(760, 700)
        pane.show()
        await pane.open(Target("chat", session_id="s"))
        giant = TranscriptItem("giant", LONG + 1, "user", NOW, text="z" * 40_000, cut=400_000)
        pane.items.append(giant)
        pane._show()
        await wait_until(lambda: pane.view.row("giant") is not None)
        row = pane.view.row("giant")
        assert isinstance(row, UserRow)
        assert row.more.text() == "Show all 400,000 characters"
        assert len(row.text.toPlainText()) < 7_000

        async def full(_session: str, _item: str) -> str:
            return "z" * 400_000

        desk.engine.ask.full_text = full
        row.more.click()
        await wait_until(lambda: row.well is not None)
        assert row.well is not None
        assert len(row.well.text()) == 400_000
        await pane.tasks.end()

    runs(main())


def test_nothing_is_sent_to_a_workspace_that_is_open_for_reading(
    qtbot, runs, tmp_path: Path
) -> None:
    async def main() -> None:
        async with room(qtbot, tmp_path, say("x")) as r:
            r.desk.engine.problem = "Another program writes here."
            r.say("Hello?")
            assert r.pane.foot.composer.text() == "Hello?"
            assert not r.pane.talk.busy(r.pane.session_id)

    runs(main())


# ---------------------------------------------------------------------------- too long


@pytest.mark.case("B70")
@pytest.mark.parametrize("meanwhile", ["nothing", "new words", "another session"])
def test_a_question_larger_than_the_window_comes_back_into_the_field(
    qtbot, runs, tmp_path: Path, meanwhile: str
) -> None:
    async def main() -> None:
        long = " ".join(["a word after the other"] * 3_000)

        def model(seen: Seen) -> Reply:
            if long in str(seen.body["messages"]):
                return Reply(400, {"error": {"message": "prompt is too long"}}, delay=0.5)
            return say("Hello.")

        # A window that nobody knows: the server has to say that it does not fit.
        async with room(qtbot, tmp_path, model, window=0) as r:
            first = r.pane.session_id
            composer = r.pane.foot.composer
            r.say(long)
            await wait_until(lambda: r.desk.server.requests)
            assert composer.text() == ""
            if meanwhile == "new words":
                composer.set_text("And the boat?")
            elif meanwhile == "another session":
                await r.pane.open(Target("chat", session_id=await r.pane.new_session()))
            await wait_until(lambda: not r.pane.talk.busy(first))
            if meanwhile == "another session":
                assert composer.text() == ""
                await r.pane.open(Target("chat", session_id=first))
            since = "\n\nAnd the boat?" if meanwhile == "new words" else ""
            await wait_until(lambda: composer.text() == long + since)
            await r.idle()
            assert r.kinds() == ["overflow", "failed"], "the text is in one place alone"
            row = next(row for row in r.pane.view.rows() if isinstance(row, FailedRow))
            assert "too long for this model" in row.piece.item.text
            assert "kept in the input field" in row.piece.item.reasoning
            composer.set_text("Shorter.")
            composer.send()
            await wait_until(lambda: r.kinds() == ["overflow", "user", "assistant"])
            sent = [m["content"] for m in r.desk.sent() if m["role"] == "user"]
            assert sent == ["Shorter."]

    runs(main())
