"""One row of the form: name, one sentence, control at the right, hairline below.

A changed row shows its default, and a click on that takes it back. What is wrong is told under it,
with what holds until then.
"""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QHBoxLayout,
    QPlainTextEdit,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from app.gui.look.text import tr
from app.gui.look.theme import theme
from app.gui.look.type import code_font
from app.gui.panes.settings.controls import Control, PromptControl
from app.gui.panes.settings.fields import Spec
from app.gui.panes.settings.values import shown, told
from app.gui.widgets.buttons import Button
from app.gui.widgets.labels import IconLabel, Link, T
from app.gui.widgets.surfaces import Ground, Hairline

GAP = 20  # px between words and control
WORDS_LEAST = 170  # px at zoom 1 that the words keep before the control goes below them


class Prompt(QWidget):
    """The editor of a prompt, under its row. `saved(text)`; "" is the built-in one."""

    saved = Signal(str)
    left = Signal()

    def __init__(self, name: str, text: str, hint: str) -> None:
        super().__init__()
        self.edit = QPlainTextEdit(text)
        self.edit.setAccessibleName(name)
        self.edit.setPlaceholderText(hint)
        self.edit.setFont(code_font("body"))
        self.edit.setFrameShape(QPlainTextEdit.Shape.NoFrame)
        self.edit.setTabChangesFocus(True)
        self.edit.setFixedHeight(220)
        self.edit.document().setDocumentMargin(8)
        palette = self.edit.palette()
        palette.setColor(palette.ColorRole.Base, Qt.GlobalColor.transparent)
        self.edit.setPalette(palette)
        ground = Ground("sunken", radius=6)
        inner = QVBoxLayout(ground)
        inner.setContentsMargins(2, 2, 2, 2)
        inner.addWidget(self.edit)
        keep = Button(tr("Save the prompt"), "primary")
        keep.clicked.connect(lambda: self.saved.emit(self.edit.toPlainText()))
        built_in = Button(tr("Use the built-in one"), "quiet")
        built_in.clicked.connect(lambda: self.saved.emit(""))
        leave = Button(tr("Leave it"), "quiet")
        leave.clicked.connect(self.left)
        row = QHBoxLayout()
        row.setSpacing(6)
        for button in (keep, built_in, leave):
            row.addWidget(button)
        row.addStretch(1)
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 8, 0, 4)
        box.setSpacing(8)
        box.addWidget(ground)
        box.addLayout(row)


class SettingRow(QWidget):
    """`wanted(Spec, value)` when a person wants another value."""

    wanted = Signal(object, object)

    def __init__(self, spec: Spec, control: Control, *, indent: int = 0) -> None:
        super().__init__()
        self.spec, self.control = spec, control
        self._value: Any = None
        self._default: Any = None
        self._prompt: Prompt | None = None
        self.setObjectName(spec.id)
        self.name = T(spec.title, "body", weight=500)
        self.back = Link("", "small", weight=500)
        self.back.clicked.connect(lambda: self.wanted.emit(spec, self._default))
        self.name.setMinimumHeight(self.back.sizeHint().height())  # a row is as tall when changed
        self.help = T(spec.help, "small", "text_soft", wrap=True)
        self.help.setVisible(bool(spec.help))
        self.sign = IconLabel("circle-alert", 12, "lost")
        self.problem = T("", "small", "lost", weight=500, wrap=True)
        control.setAccessibleDescription(spec.help)
        control.given.connect(lambda value: self.wanted.emit(spec, value))
        control.refused.connect(self.show_problem)
        if isinstance(control, PromptControl):
            control.opened.connect(self._edit_prompt)
        self._lay_out(indent)
        self.clear_problem()

    def _lay_out(self, indent: int) -> None:
        head = QHBoxLayout()
        head.setSpacing(6)
        head.addWidget(self.name)
        head.addWidget(self.back)
        head.addStretch(1)
        wrong = QHBoxLayout()
        wrong.setSpacing(6)
        wrong.addWidget(self.sign, 0, Qt.AlignmentFlag.AlignTop)
        wrong.addWidget(self.problem, 1)
        words = QVBoxLayout()
        words.setSpacing(1)
        words.addLayout(head)
        words.addWidget(self.help)
        words.addLayout(wrong)
        self.line = line = QHBoxLayout()
        line.setContentsMargins(20 * indent, 9, 0, 9)
        line.setSpacing(GAP)
        line.addLayout(words, 1)
        line.addWidget(self.control, 0, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.box = QVBoxLayout(self)
        self.box.setContentsMargins(0, 0, 0, 0)
        self.box.setSpacing(0)
        self.box.addLayout(line)
        self.box.addWidget(Hairline())
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Too narrow for both (a small window, large text): the control goes below its words."""
        super().resizeEvent(event)
        words = max(self.name.sizeHint().width(), round(WORDS_LEAST * theme().zoom))
        margins = self.line.contentsMargins().left() + self.line.spacing()
        below = self.width() < words + self.control.sizeHint().width() + margins
        way = QBoxLayout.Direction.TopToBottom if below else QBoxLayout.Direction.LeftToRight
        if self.line.direction() != way:
            self.line.setDirection(way)
            self.line.setSpacing(8 if below else GAP)
            side = Qt.AlignmentFlag.AlignLeft if below else Qt.AlignmentFlag.AlignRight
            self.line.setAlignment(self.control, side | Qt.AlignmentFlag.AlignVCenter)

    def put(self, value: Any, default: Any) -> None:
        """Show the value in force. What is typed and still wrong stays, to be mended."""
        if self.wrong() and value == self._value and default == self._default:
            return
        self._value, self._default = value, default
        self.control.put(value)
        changed = value != default
        self.back.setVisible(changed)
        if changed:
            words = tr("changed, default {value}", value=shown(self.spec, default))
            self.back.setText(words)
            self.back.setToolTip(tr("Take the default back"))
            self.back.setAccessibleName(f"{self.spec.title}: {words}")
        self.clear_problem()

    def value(self) -> Any:
        return self._value

    def show_problem(self, sentence: str) -> None:
        """Tell under the row what is wrong and what holds until it is right."""
        text = told(self.spec, sentence, self._value)
        self.problem.setText(text)
        self.problem.show()
        self.sign.show()
        self.control.set_wrong(True)
        self.setAccessibleDescription(text)

    def clear_problem(self) -> None:
        self.problem.hide()
        self.sign.hide()
        self.control.set_wrong(False)

    def wrong(self) -> str:
        """The sentence under the row; "" when nothing is wrong."""
        return self.problem.text() if self.problem.isVisibleTo(self) else ""

    # ------------------------------------------------------------------ prompts

    def _edit_prompt(self) -> None:
        if self._prompt is not None:
            self._leave_prompt()
            return
        hint = tr("Empty: the built-in prompt is used.")
        self._prompt = Prompt(self.spec.title, self._value or "", hint)
        self._prompt.saved.connect(self._on_prompt)
        self._prompt.left.connect(self._leave_prompt)
        self.box.insertWidget(1, self._prompt)
        self._prompt.edit.setFocus()

    def _on_prompt(self, text: str) -> None:
        self.wanted.emit(self.spec, text if text.strip() else None)

    def _leave_prompt(self) -> None:
        if self._prompt is not None:
            self._prompt.hide()
            self._prompt.deleteLater()
            self._prompt = None
            self.control.setFocus()

    def settle(self) -> None:
        """What a person wanted is stored, or was given up: nothing is wrong any more."""
        self._leave_prompt()
        self.clear_problem()
