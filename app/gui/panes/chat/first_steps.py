"""First steps: three numbered questions in the order of worth, shown on the demo at first start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QPalette
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from app.engine.records import ModelStatus, ProposalInfo
from app.gui.look.text import number, plural, tr
from app.gui.widgets.buttons import Button
from app.gui.widgets.labels import IconLabel, Link, T
from app.gui.widgets.pane import Target
from app.gui.widgets.surfaces import Card

if TYPE_CHECKING:
    from app.gui.panes.chat.pane import ChatPane

DONE = "chat.steps_done"
WIDEST = 660


class Step(Card):
    """One numbered question: what it is, one sentence, one button."""

    def __init__(self, number_: int, head: str, button: Button) -> None:
        super().__init__(radius=10, ground="canvas")
        first = number_ == 1
        self.set_focused(first)
        self.set_border("line")
        self.sentence = T("", "body", "text_soft", wrap=True)
        self.button = button
        count = T(number(number_), "title", "accent" if first else "text_soft", weight=600)
        count.setFixedWidth(14)
        words = QVBoxLayout()
        words.setSpacing(4)
        words.addWidget(T(head, "head", weight=600))
        words.addWidget(self.sentence)
        row = QHBoxLayout()
        row.setContentsMargins(18, 14, 16, 14)
        row.setSpacing(18)
        row.addWidget(count, 0, Qt.AlignmentFlag.AlignVCenter)
        row.addLayout(words, 1)
        row.addWidget(button, 0, Qt.AlignmentFlag.AlignVCenter)
        self.box.addLayout(row)
        self.setMinimumHeight(84)


class FirstSteps(QScrollArea):
    """`review_wanted(proposal id)`, `talk_wanted()`, `folder_wanted()`, `models_wanted()`."""

    review_wanted = Signal(str)
    talk_wanted = Signal()
    folder_wanted = Signal()
    models_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        palette = QPalette(self.palette())
        palette.setColor(QPalette.ColorRole.Window, Qt.GlobalColor.transparent)
        self.setPalette(palette)
        self.viewport().setAutoFillBackground(False)
        self._proposal = ""
        self.review = Step(
            1, tr("Decide what it may remember"), Button(tr("Review it"), "primary", key="Enter")
        )
        self.talk = Step(2, tr("Talk to it"), Button(tr("Open a chat"), height=30))
        choose = Button(tr("Choose a folder"), icon="folder-open", height=30)
        self.own = Step(3, tr("Open your own workspace"), choose)
        self.own.sentence.setText(
            tr("A folder of Markdown and JSONL files. An empty folder is fine; files you have stay "
               "as they are.")
        )  # fmt: skip
        self.review.button.clicked.connect(lambda: self.review_wanted.emit(self._proposal))
        self.talk.button.clicked.connect(self.talk_wanted)
        choose.clicked.connect(self.folder_wanted)
        self._build()
        self.show_state(None, None)

    def _build(self) -> None:
        sheet = QWidget()
        inner = QWidget()
        inner.setMaximumWidth(WIDEST)
        box = QVBoxLayout(inner)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(10)
        box.addWidget(T(tr("Your agent's memory, under your eye"), "display", wrap=True))
        box.addWidget(
            T(
                tr("This is a demo workspace with a few days of talk in it. Nothing here is yours, "
                   "and nothing you do here can break anything."),
                "head", "text_soft", weight=400, wrap=True,
            )
        )  # fmt: skip
        box.addSpacing(14)
        for step in (self.review, self.talk, self.own):
            box.addWidget(step)
        box.addSpacing(14)
        self.server = T("", "small", "text_soft", elide="right")
        enter = Link(tr("Enter one"))
        enter.clicked.connect(self.models_wanted)
        box.addLayout(_line("server", self.server, enter))
        stays = tr("Nothing leaves this computer unless you enter a server that is elsewhere.")
        box.addLayout(_line("lock", T(stays, "small", "text_soft", elide="right")))
        box.addStretch(1)
        row = QHBoxLayout(sheet)
        row.setContentsMargins(72, 88, 24, 24)
        row.addWidget(inner, 1_000)
        row.addStretch(1)
        self._row = row
        self.setWidget(sheet)
        sheet.setAutoFillBackground(False)  # the area switched it on

    def show_state(self, proposal: ProposalInfo | None, model: ModelStatus | None) -> None:
        """Say what waits and who answers, as it is now."""
        self._proposal = proposal.id if proposal is not None else ""
        if proposal is None:
            self.review.sentence.setText(
                tr("Nothing waits now. What was decided stands in Memory, line by line.")
            )
        else:
            changes = plural(proposal.changes, "{n} change", "{n} changes")
            losses = plural(
                proposal.dropped,
                "{n} of them would lose a line",
                "{n} of them would lose a line",
            )
            facts = f"{changes}, {losses}" if proposal.dropped else changes
            self.review.sentence.setText(
                tr("A proposal waits: {facts}. Accept or reject each with one key.", facts=facts)
            )
        self.review.button.setText(tr("Review it") if proposal else tr("Open Memory"))
        self._show_model(model)

    def _show_model(self, model: ModelStatus | None) -> None:
        if model is None:
            self.talk.sentence.setText(tr("Write, and see what of it would be kept."))
            self.server.setText(tr("No model server was found on this computer."))
        elif model.state == "failed":
            self.talk.sentence.setText(tr("No model answers yet: {why}", why=model.note))
            self.server.setText(tr("No model server is set up."))
        elif model.host:
            self.talk.sentence.setText(tr("{name} is ready.", name=model.name))
            self.server.setText(tr("The model is at {host}.", host=model.host))
        else:
            self.talk.sentence.setText(
                tr("The built-in model is ready. It is small and slow, but it is here and needs no "
                   "network.")
            )  # fmt: skip
            self.server.setText(tr("No other model server is set up."))

    def resizeEvent(self, event: object) -> None:
        super().resizeEvent(event)  # type: ignore[arg-type]
        wide, high = self.width() >= 800, self.height() >= 600
        self._row.setContentsMargins(72 if wide else 24, 88 if high else 24, 24, 24)


def _line(icon: str, words: T, link: Link | None = None) -> QHBoxLayout:
    row = QHBoxLayout()
    row.setSpacing(8)
    row.addWidget(IconLabel(icon, 14, "text_soft"))
    row.addWidget(words)
    if link is not None:
        row.addWidget(link)
    row.addStretch(1)
    return row


class Guide:
    """When the first steps are shown: at first on the demo, later when asked for."""

    def __init__(self, pane: ChatPane) -> None:
        self.pane = pane
        self.sheet = FirstSteps()
        self.sheet.review_wanted.connect(self._on_review)
        self.sheet.talk_wanted.connect(self._on_talk)
        self.sheet.folder_wanted.connect(self._on_folder)
        models = Target("settings", section="models")
        self.sheet.models_wanted.connect(lambda: pane.go.emit(models))

    def wanted(self) -> bool:
        """Whether this is the demo and nobody has taken a step yet."""
        demo = bool(getattr(self.pane.window(), "is_demo", False))
        return demo and not self.pane.desk.kept.get(DONE)

    def shown(self) -> bool:
        return self.pane.pages.currentWidget() is self.sheet

    async def show(self) -> None:
        ask = self.pane.desk.engine.ask
        waiting = await ask.proposals(waiting=True)
        self.sheet.show_state(waiting[0] if waiting else None, await ask.model())
        self.pane.head.hide()
        self.pane.pages.setCurrentWidget(self.sheet)
        self.pane.inspector_changed.emit()
        self.sheet.review.button.setFocus()

    def leave(self) -> None:
        """Back to the talk; the steps do not come again by themselves."""
        if self.shown():
            self.pane.desk.kept[DONE] = True
            self.pane.head.show()
            self.pane.pages.setCurrentIndex(0)
            self.pane.inspector_changed.emit()

    def _on_review(self, proposal_id: str) -> None:
        self.leave()
        self.pane.go.emit(Target("memory", proposal=proposal_id))

    def _on_talk(self) -> None:
        self.leave()
        self.pane.go.emit(Target("chat", section="new"))

    def _on_folder(self) -> None:
        opener = self.pane.window().findChild(QAction, "workspace.open")
        if isinstance(opener, QAction):
            opener.trigger()
