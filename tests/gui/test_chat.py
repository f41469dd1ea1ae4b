"""The chat place on a whole engine: turns, calls, switching, acts, the inspector."""

from __future__ import annotations

import asyncio
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QInputMethodEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.engine.agent.tools import tool
from app.engine.config import CompactionConfig, EngineConfig
from app.engine.records import CompactionReport
from app.gui.panes.chat.cards import ApprovalRow, ToolRow
from app.gui.panes.chat.rows import AnswerRow
from app.gui.widgets.pane import Target
from tests.helpers.chatting import room, run_action, slow
from tests.helpers.fake_server import call, say, use
from tests.helpers.waiting import until
from tests.helpers.workspaces import without_memory


def test_a_turn_streams_and_stays_in_its_place(qtbot, runs, tmp_path: Path) -> None:
    async def main() -> None:
        parts = ["Close ", "the **north", " vent**. ", "关好北窗。"]
        async with room(qtbot, tmp_path, slow(*parts)) as r:
            r.say("What now?")
            assert r.pane.foot.composer.text() == ""
            await until(lambda: "live" in r.kinds())
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
            await until(lambda: r.pane.talk.busy(r.pane.session_id))
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
            await until(lambda: "tool" in r.kinds())
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
            await until(lambda: "approval" in r.kinds())
            asks = next(row for row in r.pane.view.rows() if isinstance(row, ApprovalRow))
            assert asks.allow.text() == "Run make ship once"
            assert ran == []
            asks.allow.click()
            await r.idle()
            assert ran == ["make ship"]
            assert r.kinds() == ["user", "tool", "assistant"]
            r.say("Again")
            await until(lambda: "approval" in r.kinds())
            r.pane.talk.answer_first(False)
            await r.idle()
            assert ran == ["make ship"]

    runs(main())


def test_a_call_that_asks_in_another_session_is_told_of(qtbot, runs, tmp_path: Path) -> None:
    async def work(arguments: dict) -> str:
        return "shipped"

    made = tool("ship", "Ship.", work, asks=True)

    async def main() -> None:
        async with room(qtbot, tmp_path, use(call("ship", {}, id="c1")), tools=[made]) as r:
            first = r.pane.session_id
            r.say("Ship it")
            await until(lambda: r.pane.talk.busy(first))
            await r.pane.open(Target("chat", section="new"))
            assert r.pane.session_id != first
            await until(lambda: r.pane.notices.causes() == ["ship waits for your word"])
            await r.desk.engine.do.stop(first)
            await until(lambda: r.pane.notices.causes() == [])

    runs(main())


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
            await until(lambda: "history" in r.pane.panel.folds)
            r.pane.foot.composer.set_text("A question of mine")
            await until(lambda: "user" in r.pane.panel.folds)
            folds = r.pane.panel.folds
            assert folds["user"].group.text == "A question of mine"
            folds["memory"].set_open(True, moving=False)
            assert folds["memory"]._well is not None
            assert "- Tea at four" in folds["memory"]._well.text()
            assert "Be brief." in folds["rules"].group.text
            total = sum(f.group.tokens for f in folds.values())
            assert r.pane.panel.view is not None
            assert total == r.pane.panel.view.total
            await until(lambda: r.measures[-1] == (total, 32_000))
            await until(lambda: bool(r.pane.panel.would.text()))

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


def test_compact_now_is_off_with_the_reason_while_there_is_nothing_to_compact(
    qtbot, runs, tmp_path: Path
) -> None:
    by_messages = CompactionConfig(trigger_messages=50, trigger_tokens=0, keep_messages=2)
    config = without_memory(EngineConfig(compaction=by_messages))

    async def main() -> None:
        async with room(qtbot, tmp_path, say("A"), say("B"), config=config) as r:
            panel = r.pane.panel
            panel.show()
            r.pane.watch.now()
            await until(lambda: bool(panel.would.text()))
            assert not panel.compact.isEnabled()
            assert panel.compact.toolTip() == panel.would.text()
            assert not panel.preview.isEnabled()
            await r.said("One")
            await r.said("Two")
            await until(panel.compact.isEnabled)
            assert panel.compact.toolTip() == "Compact now (Ctrl+Shift+K)"
            (act,) = [a for a in r.pane.actions() if a.name == "chat.compact"]
            assert act.off() == ""
            panel.show_report(CompactionReport(0, 4, 9, 9, dry_run=True, reason="All of it stays."))
            assert act.off() == panel.compact.toolTip() == "All of it stays."
            panel.set_reply_running(True)
            panel.set_reply_running(False)
            assert not panel.compact.isEnabled(), "an ended reply alone gives nothing to compact"

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
