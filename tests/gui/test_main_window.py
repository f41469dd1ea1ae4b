"""The frame: places, keys, palette, folding, memory of itself, and how it bears faults."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QWidget

from app.engine.errors import SessionNotFound
from app.engine.events import TurnEvent
from app.engine.records import IndexState, ModelStatus, SessionInfo, Status, Window
from app.gui.look import icons
from app.gui.widgets.action import Action, overlapping
from app.gui.widgets.dialogs import Question, ask, show_fault
from app.gui.widgets.pane import PLACES, Pane, Target
from app.gui.window.history import Places
from app.gui.window.layout_state import LayoutState, load, save
from app.gui.window.main_window import MainWindow
from app.gui.window.palette import Palette
from app.gui.window.scoring import score
from tests.gui.conftest import flush_deleted
from tests.helpers.waiting import until

NOW = datetime(2026, 11, 30, 14, 6, tzinfo=UTC)


class Plain(Pane):
    """A pane that notes what happens to it."""

    def __init__(self, desk, place):
        self.place = place
        super().__init__(desk)
        self.seen: list[object] = []
        self.field = QLineEdit()
        self.field.setAccessibleName("Words")
        self.body.addWidget(self.field)
        self.panel = QLabel("panel") if place == "chat" else None

    def actions(self):
        return [
            Action(f"{self.place}.next", "Next thing", "arrow-down", lambda: self.seen.append("j"),
                   "J", when=f"pane:{self.place}")
        ]  # fmt: skip

    async def open(self, target):
        if target.session_id == "gone":
            raise SessionNotFound("There is no such session.")
        self.seen.append(target)

    def inspector(self):
        return self.panel


@pytest.fixture
def window(qtbot, qloop, desk, tmp_path):
    async def sessions(**_):
        return [SessionInfo("s1", "周报草稿与对账", NOW, NOW, 1, 1, 1)]

    async def status():
        model = ModelStatus("qwen3-8b", "ready", Window(32_768, "reported"))
        return Status("/w", "Harbour", model, (), 0, 2, IndexState("ready"))

    desk.engine.ask.sessions = sessions
    desk.engine.ask.status = status
    made: list[str] = []

    def factory(place):
        def make(desk):
            made.append(place)
            return Plain(desk, place)

        return make

    frame = MainWindow(desk, {p: factory(p) for p in PLACES}, tmp_path / "window.json")
    frame.made = made
    frame.resize(1280, 800)
    frame.show()
    yield frame
    qloop.run_until_complete(frame.end())
    frame.hide()
    frame.deleteLater()
    flush_deleted()


def turn(qloop):
    qloop.run_until_complete(asyncio.sleep(0.05))


def test_panes_are_made_at_their_first_showing(window, qloop):
    window.start()
    turn(qloop)
    assert window.made == ["chat"]
    window.show_target(Target("memory"))
    window.show_target(Target("chat"))
    assert window.made == ["chat", "memory"]
    assert window.pane("chat").shown
    assert not window.pane("memory").shown


def test_the_frame_shows_sessions_status_and_reviews(window, qloop, bus):
    window.start()
    status, rows = window.status, window.sidebar.sessions.rows_model

    async def told():
        await until(lambda: [row.title for row in rows.rows()] == ["周报草稿与对账"])
        await until(lambda: status.reviews.accessibleName() == "2 reviews waiting")
        words = "32,768 window, reported by server"
        await until(lambda: words in status.model.accessibleName())

    qloop.run_until_complete(told())
    bus.publish(TurnEvent("s1", "started"))
    assert window.sidebar.sessions.rows_model.rows()[0].dot
    bus.publish(TurnEvent("s1", "finished"))
    assert not window.sidebar.sessions.rows_model.rows()[0].dot


def test_an_index_that_is_behind_is_compared_until_it_is_not(window, qloop, desk, bus):
    now = desk.engine.ask.status
    states = [IndexState("stale", 3, 4)]
    asked = []

    async def status():
        return replace(await now(), index=states[-1])

    async def index():  # as the engine does, it tells what it found
        asked.append(len(states))
        if len(asked) == 2:
            states.append(IndexState("ready", 4, 4))
            bus.changed("index")
        return states[-1]

    desk.engine.ask.status, desk.engine.ask.index = status, index
    shown = window.status.work.accessibleName
    window.start()
    qloop.run_until_complete(until(lambda: shown() == "Index is catching up"))
    qloop.run_until_complete(until(lambda: shown() == "Index up to date"))
    assert asked == [1, 1]


def test_keys_lead_to_places_and_back(window, qloop, qtbot):
    window.start()
    for key in (Qt.Key.Key_4, Qt.Key.Key_7):
        qtbot.keyClick(window, key, Qt.KeyboardModifier.ControlModifier)
    assert window.place() == "activity"
    qtbot.keyClick(window, Qt.Key.Key_Left, Qt.KeyboardModifier.AltModifier)
    assert window.place() == "memory"
    qtbot.keyClick(window, Qt.Key.Key_Right, Qt.KeyboardModifier.AltModifier)
    assert window.place() == "activity"
    turn(qloop)


def test_letters_are_off_while_typing_and_belong_to_the_place_in_front(window, qloop, qtbot):
    window.start()
    window.show_target(Target("memory"))
    pane, chat = window.pane("memory"), window.pane("chat")
    pane.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    pane.setFocus()
    qtbot.keyClick(pane, Qt.Key.Key_J)
    assert (pane.seen, chat.seen) == (["j"], [])
    pane.field.setFocus()
    qtbot.keyClick(pane.field, Qt.Key.Key_J)
    assert pane.field.text() == "j"
    assert pane.seen == ["j"]
    turn(qloop)


def test_the_palette_finds_runs_and_closes(window, qloop, qtbot):
    window.start()
    qtbot.keyClick(window, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
    palette = window.findChild(Palette)
    palette.field.setText("to mem")
    qtbot.keyClick(palette.field, Qt.Key.Key_Return)
    assert window.place() == "memory"
    assert window.state.used[0] == "go.memory"
    flush_deleted()
    qtbot.keyClick(window, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
    palette = window.findChild(Palette)
    palette.field.setText("")
    qtbot.keyClick(palette.field, Qt.Key.Key_1, Qt.KeyboardModifier.ControlModifier)
    assert window.place() == "memory", "keys below an overlay must not fire"
    qtbot.keyClick(palette.field, Qt.Key.Key_Escape)
    assert not palette.isVisible()
    turn(qloop)


def test_every_action_has_title_icon_and_no_two_share_a_key(window, qloop):
    window.start()
    for place in PLACES:
        window.show_target(Target(place))
    actions = window.catalogue.all()
    assert overlapping(actions) == []
    for action in actions:
        assert action.title
        assert icons.known(action.icon), action.icon
    assert len({a.name for a in actions}) == len(actions)
    turn(qloop)


def test_everything_that_takes_focus_has_a_name(window, qloop):
    window.start()
    window.show_keys()
    turn(qloop)
    nameless = [
        f"{type(w).__name__} in {type(w.parent()).__name__}"
        for w in window.findChildren(QWidget)
        if w.focusPolicy() & Qt.FocusPolicy.TabFocus
        and w.isVisibleTo(window)
        and not (w.accessibleName() or getattr(w, "text", str)())
    ]
    assert nameless == []


def test_a_pane_that_was_visited_takes_no_room_from_the_inspector(window, qloop):
    window.start()
    turn(qloop)
    wide = window.stage.bed.width()
    window.show_target(Target("memory"))
    window.pane("memory").setMinimumWidth(1_000)
    window.show_target(Target("chat"))
    QApplication.processEvents()
    assert window.stage.inspector_visible()
    assert window.stage.bed.width() == wide


def test_small_windows_fold_inspector_then_sidebar(window, qloop):
    window.start()
    turn(qloop)
    assert window.stage.inspector_visible()
    assert not window.sidebar.is_rail()
    window.resize(1050, 700)
    QApplication.processEvents()
    assert not window.stage.inspector_visible()
    assert not window.sidebar.is_rail()
    window.resize(900, 640)
    QApplication.processEvents()
    assert window.sidebar.is_rail()
    window.toggle_inspector()
    assert window.stage.lies_over()
    assert window.stage.close_over()
    window.resize(1280, 800)
    QApplication.processEvents()
    assert window.stage.inspector_visible()
    window.show_target(Target("memory"))
    assert not window.stage.inspector_visible()
    assert window.minimumWidth() <= 720
    assert window.minimumHeight() <= 520
    turn(qloop)


def test_a_thing_that_is_gone_becomes_one_notice(window, qloop):
    window.start()
    window.show_target(Target("chat", session_id="gone"))
    turn(qloop)
    assert window.pane("chat").notices.causes() == ["There is no such session."]
    window.show_target(Target("chat", session_id="s1", entry_id="e"))
    turn(qloop)
    assert window.pane("chat").seen[-1].entry_id == "e"


def test_a_place_that_cannot_be_made_is_reported(window, qloop, desk):
    def broken(_):
        raise ZeroDivisionError("broken place")

    window._factories = {**window._factories, "daily": broken}
    window.start()
    window.show_target(Target("daily"))
    assert isinstance(desk.engine.faults[0], ZeroDivisionError)
    assert window.place() == "chat"
    turn(qloop)


def test_a_bug_in_a_task_is_reported_once(window, qloop, desk):
    async def fails():
        raise KeyError("bug")

    window.start()
    window.tasks.start("x", fails())
    turn(qloop)
    assert [type(e) for e in desk.engine.faults] == [KeyError]
    question = show_fault(window, "KeyError: bug", "Traceback …")
    assert question.isVisible()
    question.answer("copy")
    assert QApplication.clipboard().text() == "Traceback …"


def test_a_question_leaves_other_tasks_running(window, qloop):
    window.start()

    async def main():
        ticks = []

        async def tick():
            while True:
                await asyncio.sleep(0.01)
                ticks.append(1)

        ticking = asyncio.ensure_future(tick())
        buttons = [("no", "Keep it", "plain"), ("yes", "Delete", "danger")]
        asked = asyncio.ensure_future(ask(window, "Delete it?", "", buttons))
        await until(lambda: window.findChild(Question))
        before = len(ticks)
        await until(lambda: len(ticks) > before)
        window.findChild(Question).answer("yes")
        said = await asked
        ticking.cancel()
        return said

    assert qloop.run_until_complete(main()) == "yes"


def test_called_to_the_front_a_window_is_what_it_was_before_it_was_put_away(window, qloop):
    window.showMaximized()
    window.showMinimized()
    turn(qloop)
    window.raise_window()
    turn(qloop)
    assert window.isMaximized()
    assert not window.isMinimized()


def test_what_the_window_remembers(window, qloop, desk, tmp_path):
    window.start()
    window.show_target(Target("search"))
    window.pane("search").showing.emit("s9")
    desk.kept["search.mode"] = "literal"
    window.appearance.zoom(0.1)
    window.close()
    state = load(tmp_path / "window.json")
    assert (state.place, state.session_id, state.zoom) == ("search", "s9", 1.1)
    assert state.kept == {"search.mode": "literal"}
    assert (state.width, state.height) == (1280, 800)
    turn(qloop)


def test_a_layout_that_cannot_be_read_is_the_default(tmp_path):
    path = tmp_path / "window.json"
    for text in ("{ torn", "[]", '{"version": 99, "place": "x"}', ""):
        path.write_text(text, "utf-8")
        assert load(path) == LayoutState()
    path.write_text('{"version": 1, "width": "wide", "place": "daily", "zoom": 9}', "utf-8")
    state = load(path)
    assert (state.width, state.place, state.zoom) == (1280, "daily", 2.0)
    save(tmp_path / "new" / "w.json", state)
    assert load(tmp_path / "new" / "w.json") == state


def test_history_forgets_what_lay_ahead():
    places = Places()
    for name in ("chat", "memory", "daily"):
        places.visit(Target(name))
    places.step(-1)
    places.visit(Target("search"))
    assert not places.can_forward()
    assert places.step(-1) == Target("memory")
    assert places.step(-5) is None


def test_scoring_prefers_beginnings_of_words():
    assert score("xyz", "Go to Memory") is None
    assert score("gm", "Go to Memory")[1] == (0, 6)
    assert score("con", "Compact this conversation now")[1] == (13, 14, 15)
    assert score("mem", "Go to Memory")[0] > score("mem", "Some other them")[0]
    assert score("对账", "周报草稿与对账")[1] == (5, 6)
    assert score("", "x") == (0, ())


def test_a_pane_that_was_left_does_not_fold_the_inspector_of_the_next(window):
    window.start()
    window.show_target(Target("activity"))
    window.show_target(Target("chat"))
    assert window.stage.inspector_visible()
    window.pane("activity").inspector_toggled.emit()  # as `open` does when its answer comes late
    assert window.stage.inspector_visible()
    window.pane("chat").inspector_toggled.emit()
    assert not window.stage.inspector_visible()
