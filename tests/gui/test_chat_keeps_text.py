"""What a person writes in the chat is sent, waits, or comes back: it is never lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.engine.errors import StorageError
from app.engine.workspace.files import AppendFile
from app.gui.panes.chat.cards import FailedRow
from app.gui.panes.chat.rows import AnswerRow, UserRow
from app.gui.widgets.pane import Target
from tests.helpers.chatting import room, slow
from tests.helpers.fake_server import Reply, Seen, error, say
from tests.helpers.waiting import until


def test_what_is_written_meanwhile_is_sent_when_the_reply_is_done(
    qtbot, runs, tmp_path: Path
) -> None:
    async def main() -> None:
        async with room(qtbot, tmp_path, slow("One", ".", "."), say("Two")) as r:
            r.say("First")
            await until(lambda: r.pane.talk.busy(r.pane.session_id))
            r.say("Second")
            assert r.pane.foot.queued.isVisible()
            assert r.pane.foot.composer.text() == ""
            await until(lambda: len(r.answers()) == 2)
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
            await until(lambda: "live" in r.kinds())
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
            await until(lambda: r.answers() == ["Now it works."])
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
            await until(lambda: r.pane.notices.causes() == ["The disk is full."])
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
            await until(lambda: r.pane.foot.composer.text() == "Go on")

    runs(main())


def test_a_reply_goes_on_while_another_session_is_shown(qtbot, runs, tmp_path: Path) -> None:
    async def main() -> None:
        async with room(qtbot, tmp_path, slow("One ", "two ", "three ", "four", pause=0.1)) as r:
            first = r.pane.session_id
            r.say("Count")
            await until(lambda: "live" in r.kinds())
            r.pane.foot.composer.set_text("a draft here")
            await r.pane.open(Target("chat", section="new"))
            assert r.pane.session_id != first
            assert r.pane.view.rows() == []
            assert r.pane.foot.composer.text() == ""
            assert not r.pane.foot.stop.isVisible()
            await r.pane.open(Target("chat", session_id=first))
            await until(lambda: r.answers() and r.answers()[0].startswith("One"))
            assert r.pane.foot.composer.text() == "a draft here"
            await r.idle()
            assert r.answers() == ["One two three four"]

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
            await until(lambda: r.desk.server.requests)
            assert composer.text() == ""
            if meanwhile == "new words":
                composer.set_text("And the boat?")
            elif meanwhile == "another session":
                await r.pane.open(Target("chat", session_id=await r.pane.new_session()))
            await until(lambda: not r.pane.talk.busy(first))
            if meanwhile == "another session":
                assert composer.text() == ""
                await r.pane.open(Target("chat", session_id=first))
            since = "\n\nAnd the boat?" if meanwhile == "new words" else ""
            await until(lambda: composer.text() == long + since)
            await r.idle()
            assert r.kinds() == ["overflow", "failed"], "the text is in one place alone"
            row = next(row for row in r.pane.view.rows() if isinstance(row, FailedRow))
            assert "too long for this model" in row.piece.item.text
            assert "kept in the input field" in row.piece.item.reasoning
            composer.set_text("Shorter.")
            composer.send()
            await until(lambda: r.kinds() == ["overflow", "user", "assistant"])
            sent = [m["content"] for m in r.desk.sent() if m["role"] == "user"]
            assert sent == ["Shorter."]

    runs(main())
