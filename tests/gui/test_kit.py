"""Buttons, lists, notices and the rest of the kit, by keyboard and by what they say."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QInputMethodEvent
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QApplication, QHBoxLayout, QLabel, QLineEdit, QWidget

from app.gui.look.theme import theme
from app.gui.widgets.action import Action, key_caps, overlapping
from app.gui.widgets.buttons import Button, IconButton, SegmentSwitch, Switch
from app.gui.widgets.composer import Composer
from app.gui.widgets.labels import KeyCaps, Link, T, plain_tip
from app.gui.widgets.meter import Part, TokenMeter
from app.gui.widgets.notices import Act, Notices, UndoBar
from app.gui.widgets.paint import caps_height
from app.gui.widgets.rows import Row, RowList
from app.gui.widgets.surfaces import EmptyState, Fold
from tests.gui.conftest import flush_deleted


def shown(qtbot, widget: QWidget, width: int = 400, height: int = 300) -> QWidget:
    qtbot.addWidget(widget)
    widget.resize(width, height)
    widget.show()
    QApplication.processEvents()
    return widget


def test_labels_never_read_markup(qtbot):
    label = T("<b>bold</b> <img src='file:///etc/hostname'>\u202e")
    shown(qtbot, label)
    assert label.textFormat() == Qt.TextFormat.PlainText
    assert label.text() == "<b>bold</b> <img src='file:///etc/hostname'>"
    assert "<b>" not in plain_tip("<b>x</b>")


def test_a_link_with_too_little_room_can_be_read_whole(qtbot):
    holder = QWidget()
    row = QHBoxLayout(holder)
    link = Link("The mat was dry, waiting for the next reading", elide=True)
    row.addWidget(link)
    row.addStretch(1)
    shown(qtbot, holder, 120)
    holder.grab()
    assert link.geometry().right() < holder.width()
    assert link.toolTip() == link.text()
    holder.resize(600, 100)
    holder.grab()
    assert link.width() == link.sizeHint().width()
    assert not link.toolTip()


def test_an_elided_label_can_be_read_whole(qtbot):
    label = shown(qtbot, T("a very long name " * 20, elide="right"), 100, 30)
    label.grab()
    assert label.toolTip().startswith("a very long name")
    label.setText("short")
    label.grab()
    assert label.toolTip() == ""


@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Space])
def test_buttons_press_by_keyboard(qtbot, key):
    button = shown(qtbot, Button("Apply 2 changes", "primary", key="Ctrl+Enter"))
    button.setFocus()
    with qtbot.waitSignal(button.clicked):
        qtbot.keyClick(button, key)


def test_a_disabled_button_says_why(qtbot):
    button = shown(qtbot, Button("Apply", "primary"))
    button.set_off("1 conflict left")
    assert not button.isEnabled()
    assert button.toolTip() == "1 conflict left"
    button.set_off("")
    assert button.isEnabled()


def test_icon_buttons_and_switches_have_names(qtbot):
    button = shown(qtbot, IconButton("x", "Close", key="Esc"))
    assert (button.accessibleName(), button.toolTip()) == ("Close", "Close (Esc)")
    switch = shown(qtbot, Switch("Flush before it"))
    with qtbot.waitSignal(switch.toggled):
        qtbot.keyClick(switch, Qt.Key.Key_Space)
    assert switch.isChecked()


def test_segments_tell_only_what_people_choose(qtbot):
    switch = shown(qtbot, SegmentSwitch([("a", "Words"), ("b", "Literal")], name="Mode"))
    heard: list[str] = []
    switch.chosen.connect(heard.append)
    switch.set_current("b")
    assert heard == []
    qtbot.mouseClick(switch._segments["a"], Qt.MouseButton.LeftButton)
    assert heard == ["a"]
    assert switch.current() == "a"


# ---------------------------------------------------------------------------- rows

ROWS = [
    Row("h1", "Today", head=True),
    Row("a", "First", "14:02, 64 messages", marks=("flush", "compaction")),
    Row("b", "周报草稿与对账", "09:30", tone="failed"),
    Row("h2", "Yesterday", head=True),
    Row("c", "Hit", "the upload fix", spans=((4, 10),), right="17:20", mark="tool"),
]


@pytest.fixture
def rows(qtbot) -> RowList:
    view = RowList("Sessions", lines=2)
    QAbstractItemModelTester(
        view.rows_model, QAbstractItemModelTester.FailureReportingMode.Fatal, view
    )
    view.set_rows(ROWS)
    shown(qtbot, view)
    return view


def test_walking_leaves_section_heads_out(qtbot, rows):
    heard: list[str] = []
    rows.chosen.connect(lambda row: heard.append(row.id))
    rows.setFocus()
    for key in (Qt.Key.Key_J, Qt.Key.Key_J, Qt.Key.Key_J, Qt.Key.Key_J, Qt.Key.Key_K):
        qtbot.keyClick(rows, key)
    assert heard == ["a", "b", "c", "b"]


def test_enter_opens_the_row(qtbot, rows):
    rows.select("c")
    with qtbot.waitSignal(rows.opened) as caught:
        qtbot.keyClick(rows, Qt.Key.Key_Return)
    assert caught.args[0].id == "c"


def test_rows_replaced_in_place_keep_the_choice(rows):
    rows.select("b")
    heard: list[str] = []
    rows.chosen.connect(lambda row: heard.append(row.id))
    rows.set_rows([Row("n", "New"), *ROWS[1:3], Row("c", "Hit, changed")])
    assert rows.current_row().id == "b"
    assert [row.id for row in rows.selected_rows()] == ["b"]
    assert heard == []
    rows.grab()


def test_the_choice_moves_to_a_neighbour_when_its_row_is_gone(rows):
    rows.select("b")
    heard: list[str] = []
    rows.chosen.connect(lambda row: heard.append(row.id))
    rows.set_rows([ROWS[0], ROWS[1], ROWS[3], ROWS[4]])
    assert rows.current_row().id == "c"
    assert heard == ["c"]
    rows.set_rows([])
    assert rows.current_row() is None


def test_each_row_speaks_a_sentence(rows):
    index = rows.rows_model.index(1)
    assert index.data(Qt.ItemDataRole.AccessibleTextRole) == "First, 14:02, 64 messages"
    assert rows.accessibleName() == "Sessions"


def test_a_hundred_thousand_rows_open_without_asking_each(qtbot):
    view = RowList("Many")
    view.set_rows([Row(str(i), f"row {i}") for i in range(100_000)])
    shown(qtbot, view)
    assert view.select("99999")
    view.grab()
    assert view.rowAt(view.viewport().height() - 5) == 99_999


# ---------------------------------------------------------------------------- notices


def test_one_notice_for_each_cause_and_two_at_most(qtbot):
    notices = Notices()
    assert notices.isHidden()
    shown(qtbot, notices)
    for cause in ("A", "B", "C", "A"):
        notices.show_notice(cause, "kept")
    assert notices.causes() == ["A", "C", "B"]
    seen = [bar for bar in notices._bars.values() if bar.isVisibleTo(notices)]
    assert len(seen) == 2
    assert notices._more.text() == "1 more"
    notices.drop("A")
    notices.drop("C")
    assert notices.causes() == ["B"]
    notices.clear()
    assert notices.isHidden()
    flush_deleted()


def test_a_long_cause_leaves_the_remedy_a_line_of_its_own(qtbot):
    notices = shown(qtbot, Notices(), width=600)
    bar = notices.show_notice("This file is not understood: " + "a long reason " * 4, "Correct it.")
    short = notices.show_notice("Down", "Correct it.")
    QApplication.processEvents()
    assert bar.text.y() >= bar.cause.geometry().bottom()
    assert bar.text.width() >= bar.text.sizeHint().width()
    assert short.text.x() > short.cause.geometry().right()
    notices.resize(1_600, notices.height())
    QApplication.processEvents()
    assert bar.text.x() > bar.cause.geometry().right(), "beside it again where there is room"


def test_the_act_of_a_notice_runs(qtbot):
    notices = shown(qtbot, Notices())
    done: list[str] = []
    bar = notices.show_notice("Down", acts=(Act("Try again", lambda: done.append("x")),))
    link = next(w for w in bar.findChildren(QWidget) if getattr(w, "text", str)() == "Try again")
    qtbot.mouseClick(link, Qt.MouseButton.LeftButton)
    assert done == ["x"]


def test_the_undo_bar_goes_by_itself_and_stays_under_the_pointer(qtbot):
    over = QWidget()
    field = QLineEdit(over)
    shown(qtbot, over)
    field.setFocus()
    bar = UndoBar(over)
    done: list[str] = []
    bar.show_act("Version 32 written", (Act("Undo", lambda: done.append("undo"), "Ctrl+Z"),))
    assert bar.isVisible()
    assert bar.geometry().bottom() < over.height()
    bar._timer.stop()
    bar.setAttribute(Qt.WidgetAttribute.WA_UnderMouse, False)  # wherever the pointer was left
    bar._on_time()
    assert not bar.isVisible()
    bar.show_act("again", (Act("Undo", lambda: done.append("undo")),))
    link = next(w for w in bar.findChildren(QWidget) if getattr(w, "text", str)() == "Undo")
    bar.setAttribute(Qt.WidgetAttribute.WA_UnderMouse, True)
    bar._on_time()
    assert bar.isVisible()
    qtbot.mouseClick(link, Qt.MouseButton.LeftButton)
    assert done == ["undo"]
    assert not bar.isVisible()
    flush_deleted()


# ---------------------------------------------------------------------------- surfaces


def test_a_fold_makes_its_body_when_it_opens(qtbot):
    made: list[int] = []

    def body() -> QWidget:
        made.append(1)
        return QLabel("inside")

    fold = shown(qtbot, Fold("Rules", body))
    assert made == []
    fold.head.setFocus()
    qtbot.keyClick(fold.head, Qt.Key.Key_Return)
    assert fold.is_open()
    assert made == [1]
    fold.toggle()
    fold.toggle()
    assert made == [1]


def test_an_empty_state_offers_its_act(qtbot):
    done: list[int] = []
    state = shown(
        qtbot, EmptyState("No flush", "Lines appear here.", "Flush now", run=lambda: done.append(1))
    )
    qtbot.mouseClick(state.button, Qt.MouseButton.LeftButton)
    assert done == [1]


def test_the_meter_says_its_parts_in_words(qtbot):
    meter = shown(qtbot, TokenMeter())
    meter.set_parts(
        [Part("rules", 1_900, "Rules"), Part("memory", 3_100, "Memory"), Part("user", 0)],
        32_768,
        [("flush", 20_000), ("compact", 0), ("limit", 32_768)],
    )
    assert (
        meter.sentence()
        == "5,000 of 32.8k tokens; Rules 1,900, Memory 3,100; flush 20k, limit 32.8k"
    )
    meter.grab()
    meter.set_parts([], 0)
    meter.grab()


# ---------------------------------------------------------------------------- composer


@pytest.fixture
def composer(qtbot) -> Composer:
    made = Composer("Message", "Write")
    shown(qtbot, made)
    made.field.setFocus()
    return made


def compose(composer: Composer, preedit: str, commit: str = "") -> None:
    event = QInputMethodEvent(preedit, [])
    if commit:
        event.setCommitString(commit)
    QApplication.sendEvent(composer.field, event)


def test_enter_sends_and_keeps_the_text(qtbot, composer):
    compose(composer, "", "你好 world")
    with qtbot.waitSignal(composer.sent) as caught:
        qtbot.keyClick(composer.field, Qt.Key.Key_Return)
    assert caught.args == ["你好 world"]
    assert composer.text() == "你好 world"


def test_shift_enter_makes_a_line(qtbot, composer):
    compose(composer, "", "one")
    qtbot.keyClick(composer.field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    compose(composer, "", "two")
    assert composer.text() == "one\ntwo"


def test_enter_during_composition_never_sends(qtbot, composer):
    heard: list[str] = []
    composer.sent.connect(heard.append)
    compose(composer, "", "已有")
    compose(composer, "ni hao")
    qtbot.keyClick(composer.field, Qt.Key.Key_Return)
    composer.send()
    assert heard == []
    compose(composer, "", "你好")
    qtbot.keyClick(composer.field, Qt.Key.Key_Return)
    assert heard == ["已有你好"]


def test_blank_text_is_not_sent(qtbot, composer):
    heard: list[str] = []
    composer.sent.connect(heard.append)
    composer.set_text("  \n ")
    qtbot.keyClick(composer.field, Qt.Key.Key_Return)
    assert heard == []


def test_the_field_grows_to_eight_lines_and_then_scrolls(composer):
    heights = []
    for lines in (1, 4, 8, 30):
        composer.set_text("\n".join("x" * 3 for _ in range(lines)))
        QApplication.processEvents()
        heights.append(composer.field.height())
    assert heights[0] < heights[1] < heights[2] == heights[3]


# ---------------------------------------------------------------------------- actions


def test_overlapping_keys_are_found():
    def act(name: str, key: str, when: str) -> Action:
        return Action(name, name, "x", lambda: None, key, when=when)

    apart = [act("a", "A", "pane:memory"), act("b", "A", "pane:daily")]
    assert overlapping(apart) == []
    together = [act("a", "Ctrl+F", "window"), act("b", "ctrl+f", "pane:daily")]
    assert overlapping(together) == [("ctrl+f", "a", "b")]


def test_key_caps():
    assert key_caps("Ctrl+Shift+K") == ["Ctrl", "Shift", "K"]
    assert key_caps("G, P") == ["G", "P"]
    assert key_caps("Ctrl++") == ["Ctrl", "+"]


def test_a_row_is_lit_while_the_pointer_is_over_it(qtbot, rows):
    view = rows.viewport()
    row = rows.visualRect(rows.rows_model.index(2, 0))
    resting = view.grab(row).toImage()
    qtbot.mouseMove(view, row.center())
    assert view.grab(row).toImage() != resting
    QApplication.sendEvent(view, QEvent(QEvent.Type.Leave))
    assert view.grab(row).toImage() == resting


def test_labels_that_were_hidden_follow_the_zoom(qtbot):
    from app.gui.look.type import font

    outer, inner = QWidget(), QWidget()
    inner.setParent(outer)
    label = T("24.3k", "small", tabular=True, parent=inner)
    inner.hide()
    theme().choose("dark", zoom=1.5)
    shown(qtbot, outer)
    inner.show()
    assert label.font().pixelSize() == font("small").pixelSize() > 15


def test_key_caps_are_whole_at_every_size_of_text(qtbot) -> None:
    caps = KeyCaps("G, P")
    qtbot.addWidget(caps)
    for zoom in (1.0, 1.5, 2.0):
        theme().choose(zoom=zoom)
        assert caps.height() >= caps_height()
