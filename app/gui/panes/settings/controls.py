"""Controls of the form: one class per kind of value. They tell a value, or what is wrong with it.

Each has `put(value)` (shows it without telling anybody) and the signals `given(object)` with a
parsed value and `refused(str)` with what is wrong. A field gives its value when it is left or Enter
is pressed, never in the middle of typing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from app.engine.config import FlushTrigger
from app.gui.look.text import tr
from app.gui.panes.settings.fields import Spec, word_of
from app.gui.panes.settings.values import Wrong, parse, text_of
from app.gui.widgets.buttons import Button, SegmentSwitch, Switch
from app.gui.widgets.fields import Choice, Field

NUMBER_WIDTH, TEXT_WIDTH, CHOICE_WIDTH, LIST_WIDTH = 128, 230, 250, 300


class Control(QWidget):
    """Base of all controls."""

    given = Signal(object)
    refused = Signal(str)

    def __init__(self, spec: Spec, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.spec = spec
        self.row = QHBoxLayout(self)
        self.row.setContentsMargins(0, 0, 0, 0)
        self.row.setSpacing(8)

    def put(self, value: Any) -> None:
        raise NotImplementedError

    def set_wrong(self, wrong: bool) -> None:
        """Draw the border of a wrong value, where there is one."""


class SwitchControl(Control):
    def __init__(self, spec: Spec, parent: QWidget | None = None) -> None:
        super().__init__(spec, parent)
        self.switch = Switch(spec.title)
        self.row.addWidget(self.switch)
        self.setFocusProxy(self.switch)
        self.switch.clicked.connect(lambda: self.given.emit(self.switch.isChecked()))

    def put(self, value: Any) -> None:
        self.switch.setChecked(value is not None and value is not False)


class SegmentControl(Control):
    def __init__(self, spec: Spec, parent: QWidget | None = None) -> None:
        super().__init__(spec, parent)
        choices = [(one, word_of(one)) for one in spec.choices]
        self.switch = SegmentSwitch(choices, name=spec.title)
        self.row.addWidget(self.switch)
        self.switch.chosen.connect(self.given.emit)

    def put(self, value: Any) -> None:
        self.switch.set_current(str(value))


class ChoiceControl(Control):
    """One of a list of (value, words); `None` is a value like others."""

    def __init__(
        self, spec: Spec, choices: Sequence[tuple[Any, str]], parent: QWidget | None = None
    ) -> None:
        super().__init__(spec, parent)
        self.choice = Choice(spec.title)
        self.choice.setFixedWidth(CHOICE_WIDTH)
        self.row.addWidget(self.choice)
        self.setFocusProxy(self.choice)
        self.set_choices(choices)
        self.choice.activated.connect(lambda at: self.given.emit(self._values[at]))

    def set_choices(self, choices: Sequence[tuple[Any, str]]) -> None:
        self._values = [value for value, _ in choices]
        self.choice.clear()
        self.choice.addItems([words for _, words in choices])

    def put(self, value: Any) -> None:
        if value not in self._values:  # a name that is no longer configured is still shown
            self._values.append(value)
            self.choice.addItem(tr("{name}, not configured", name=value))
        self.choice.setCurrentIndex(self._values.index(value))


class FieldControl(Control):
    """Numbers, minutes, texts and lists: one field with its unit."""

    def __init__(self, spec: Spec, parent: QWidget | None = None) -> None:
        super().__init__(spec, parent)
        hints = {"maybe": tr("none"), "maybe_minutes": tr("as in Memory"), "listed": tr("none")}
        self.field = Field(spec.title, hints.get(spec.kind, ""), unit=tr(spec.unit))
        wide = {"text": TEXT_WIDTH, "names": LIST_WIDTH, "listed": LIST_WIDTH}
        self.field.setFixedWidth(wide.get(spec.kind, _room(self.field, spec.unit)))
        self.row.addWidget(self.field)
        self.setFocusProxy(self.field)
        self._shown = ""
        self.field.editingFinished.connect(self._on_finished)

    def put(self, value: Any) -> None:
        text = text_of(value)
        if self.field.hasFocus() and self.field.isModified():
            return  # somebody is typing here
        self._shown = text
        if self.field.text() != text:
            self.field.setText(text)
            self.field.setCursorPosition(0)
        self.field.set_wrong(False)

    def set_wrong(self, wrong: bool) -> None:
        self.field.set_wrong(wrong)

    def _on_finished(self) -> None:
        text = self.field.text()
        if text == self._shown:
            return
        self._shown = text
        self.field.setModified(False)
        try:
            value = parse(self.spec, text)
        except Wrong as wrong:
            self.refused.emit(str(wrong))
            return
        self.given.emit(value)


def _room(field: Field, unit: str) -> int:
    """Width of a number field: its figures and its unit."""
    return max(NUMBER_WIDTH, 84 + field.fontMetrics().horizontalAdvance(unit))


class WordControl(Control):
    """A number, or a word that stands for "the program decides" or "never"."""

    def __init__(self, spec: Spec, fallback: Callable[[], Any], parent: QWidget | None = None):
        super().__init__(spec, parent)
        own = tr("After") if spec.word == "never" else tr("Own number")
        choices = [(spec.word, tr(spec.word.capitalize())), ("own", own)]
        self.switch = SegmentSwitch(choices, name=spec.title)
        self.number = FieldControl(spec)
        self._fallback = fallback
        self.row.addWidget(self.switch)
        self.row.addWidget(self.number)
        self.switch.chosen.connect(self._on_chosen)
        self.number.given.connect(self.given)
        self.number.refused.connect(self.refused)

    def put(self, value: Any) -> None:
        word = value == self.spec.word
        self.switch.set_current(self.spec.word if word else "own")
        self.number.setVisible(not word)
        if not word:
            self.number.put(value)

    def set_wrong(self, wrong: bool) -> None:
        self.number.set_wrong(wrong)

    def _on_chosen(self, key: str) -> None:
        if key == self.spec.word:
            self.given.emit(self.spec.word)
            return
        self.number.show()
        self.number.field.setFocus()
        self.given.emit(self._fallback())


class TriggerControl(Control):
    """When a finished turn is searched for facts."""

    def __init__(self, spec: Spec, parent: QWidget | None = None) -> None:
        super().__init__(spec, parent)
        choices = [
            ("always", tr("Always")), ("throttled", tr("Now and then")), ("never", tr("Never")),
        ]  # fmt: skip
        self.switch = SegmentSwitch(choices, name=spec.title)
        minutes = Spec(spec.path, tr("At most every"), "", "number", tr("min"))
        self.minutes = FieldControl(minutes)
        self.row.addWidget(self.switch)
        self.row.addWidget(self.minutes)
        self.switch.chosen.connect(self._on_chosen)
        self.minutes.given.connect(self._on_minutes)
        self.minutes.refused.connect(self.refused)

    def put(self, value: Any) -> None:
        mode = value.mode if isinstance(value, FlushTrigger) else "always"
        self.switch.set_current(mode)
        self.minutes.setVisible(mode == "throttled")
        if mode == "throttled":
            self.minutes.put(value.gap.total_seconds() / 60)

    def set_wrong(self, wrong: bool) -> None:
        self.minutes.set_wrong(wrong)

    def _on_chosen(self, mode: str) -> None:
        made = {"always": FlushTrigger.always, "never": FlushTrigger.never}
        self.given.emit(
            made[mode]() if mode in made else FlushTrigger.throttled(timedelta(minutes=30))
        )

    def _on_minutes(self, minutes: float) -> None:
        if minutes <= 0:
            self.refused.emit(tr("must be a number above 0"))
            return
        self.given.emit(FlushTrigger.throttled(timedelta(minutes=minutes)))


class PromptControl(Control):
    """A button that opens the editor under the row."""

    opened = Signal()

    def __init__(self, spec: Spec, parent: QWidget | None = None) -> None:
        super().__init__(spec, parent)
        self.button = Button(tr("Edit the prompt"), icon="pencil")
        self.button.setAccessibleName(tr("Edit: {name}", name=spec.title))
        self.row.addWidget(self.button)
        self.setFocusProxy(self.button)
        self.button.clicked.connect(self.opened)

    def put(self, value: Any) -> None:
        self.button.setText(tr("Edit the prompt") if value else tr("Write your own"))


def control_for(
    spec: Spec, models: Sequence[tuple[Any, str]], fallback: Callable[[], Any]
) -> Control:
    """The control of a field. `models` are the choices of a model field; `fallback()` is the
    number a word gives way to."""
    match spec.kind:
        case "switch" | "part":
            return SwitchControl(spec)
        case "segments":
            return SegmentControl(spec)
        case "choice":
            return ChoiceControl(spec, [(one, word_of(one)) for one in spec.choices])
        case "model":
            return ChoiceControl(spec, models)
        case "word":
            return WordControl(spec, fallback)
        case "trigger":
            return TriggerControl(spec)
        case "prompt":
            return PromptControl(spec)
        case _:
            return FieldControl(spec)
