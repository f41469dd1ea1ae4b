"""One job in full: figures, why it ended so, what the model was asked and said, what moved."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QSizePolicy, QVBoxLayout, QWidget

from app.engine.records import JobInfo, ModelCall
from app.gui.look.text import moment, number, plain_line, plural, seconds, sentence, tr
from app.gui.panes.activity.model import (
    kind_word,
    mark_kind,
    result_target,
    state_word,
    took,
    took_words,
    trigger_words,
)
from app.gui.widgets.buttons import Button, IconButton
from app.gui.widgets.labels import Link, T
from app.gui.widgets.marks import KindMark
from app.gui.widgets.paged import PagedText
from app.gui.widgets.pane import Target
from app.gui.widgets.surfaces import Ground, Hairline

SIDE = 18


class Fact(QWidget):
    """A name at the left, its value at the right; a value with a target is a link."""

    clicked = Signal()

    def __init__(self, name: str, value: str, *, link: bool = False) -> None:
        super().__init__()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(12)
        row.addWidget(T(name, "small", "text_soft"))
        if link:
            row.addStretch(1)
            shown = Link(value)
            shown.setAccessibleName(f"{name}: {value}")
            shown.clicked.connect(self.clicked)
            row.addWidget(shown)
            return
        text = T(value, "small", tabular=True, elide="middle")
        text.setAlignment(Qt.AlignmentFlag.AlignRight)
        text.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        row.addWidget(text, 1)


class Well(QWidget):
    """A headed well of foreign text with Copy."""

    def __init__(self, head: str, detail: str, text: str, least: int) -> None:
        super().__init__()
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(2)
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(T(head, "small", weight=600))
        row.addWidget(T(detail, "small", "text_faint", elide="right", tabular=True), 1)
        copy = Link(tr("Copy"))
        copy.setAccessibleName(tr("Copy: {what}", what=head))
        copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(text))
        row.addWidget(copy)
        box.addLayout(row)
        ground = Ground("sunken", radius=6)
        inside = QVBoxLayout(ground)
        inside.setContentsMargins(4, 4, 4, 4)
        self.text = PagedText(head)
        self.text.set_text(text)
        lines = sum(1 + len(line) // 36 for line in text[:4_000].split("\n"))
        step = self.text.fontMetrics().lineSpacing()
        self.text.setFixedHeight(max(least, min(lines * step + 40, 250)))
        inside.addWidget(self.text)
        box.addWidget(ground)


class JobDetail(QWidget):
    """The panel at the right. `again()` runs the same again; `go(Target)` opens what it names."""

    go = Signal(object)
    again = Signal()
    closed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.job: JobInfo | None = None
        self.mark = KindMark("flush")
        self.title = T("", "head", elide="right")
        self.repeat = IconButton("rotate-ccw", tr("Run it again"))
        self.repeat.clicked.connect(self.again)
        head = QHBoxLayout()
        head.setContentsMargins(SIDE, 12, 12, 8)
        head.setSpacing(10)
        head.addWidget(self.mark)
        head.addWidget(self.title, 1)
        head.addWidget(self.repeat)
        self.area = QScrollArea()
        self.area.setFrameShape(QFrame.Shape.NoFrame)
        self.area.setWidgetResizable(True)
        self.area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.area.viewport().setAutoFillBackground(False)
        self.area.setAccessibleName(tr("The chosen job"))
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.setSpacing(0)
        whole.addLayout(head)
        whole.addWidget(self.area, 1)
        self.show_job(None, datetime.now().astimezone())

    def show_job(
        self,
        job: JobInfo | None,
        now: datetime,
        calls: Sequence[ModelCall] = (),
        moves: Sequence[Any] = (),
        title: str = "",
    ) -> None:
        """Show a job with the model calls of its run and the files it moved."""
        place = self.area.verticalScrollBar().value() if _same(self.job, job) else 0
        self.job = job
        self.mark.setVisible(job is not None)
        self.repeat.setVisible(job is not None and job.kind in AGAIN)
        body = QWidget()
        box = QVBoxLayout(body)
        box.setContentsMargins(SIDE, 4, SIDE, 16)
        box.setSpacing(9)
        if job is None:
            self.title.setText(tr("No job chosen"))
            said = tr("Choose one at the left to see what it read, what it was told and why.")
            box.addWidget(T(said, "small", "text_faint", wrap=True))
        else:
            self.title.setText(kind_word(job.kind))
            self.mark.set_kind(mark_kind(job.kind))
            self._facts(box, job, now, calls, title)
            self._why(box, job)
            for n, call in enumerate(calls, 1):
                self._call(box, call, n, len(calls))
            self._moves(box, moves)
        box.addStretch(1)
        old = self.area.takeWidget()
        if old is not None:
            old.deleteLater()
        self.area.setWidget(body)
        body.setAutoFillBackground(False)
        self.area.verticalScrollBar().setValue(place)

    # ------------------------------------------------------------------ its parts

    def _facts(
        self, box: QVBoxLayout, job: JobInfo, now: datetime, calls: Sequence[ModelCall], title: str
    ) -> None:
        target = result_target(job)
        if target is not None:
            words = tr("the proposal") if target.proposal else plain_line(target.path)
            self._link(box, tr("Result"), words, target)
        if job.session_id:
            words = plain_line(title)[:34] or tr("the session")
            self._link(box, tr("Session"), words, Target("timeline", session_id=job.session_id))
        facts = [
            (tr("State"), state_word(job.state)),
            (tr("Asked for"), trigger_words(job.trigger)),
            (tr("Began"), moment(job.started or job.queued, now)),
        ]
        if (passed := took(job, now)) is not None:
            facts.append((tr("Took"), took_words(passed)))
        if calls:
            facts.append((tr("Model"), plain_line(calls[-1].model)))
            facts.append((tr("Tokens"), usage_words(calls)))
        for name, value in facts:
            if value:
                box.addWidget(Fact(name, value))
        if job.result:
            box.addWidget(T(plain_line(job.result)[:2_000], "small", "text_soft", wrap=True))
        box.addSpacing(2)
        box.addWidget(Hairline())
        box.addSpacing(2)

    def _link(self, box: QVBoxLayout, name: str, words: str, target: Target) -> None:
        fact = Fact(name, words, link=True)
        fact.clicked.connect(lambda: self.go.emit(target))
        box.addWidget(fact)

    def _why(self, box: QVBoxLayout, job: JobInfo) -> None:
        if not job.reason:
            return
        failed = job.state == "failed"
        head = tr("Why it failed") if failed else tr("Why")
        box.addWidget(T(head, "small", "lost" if failed else "text", weight=600))
        box.addWidget(T(job.reason[:4_000], "small", wrap=True, selectable=True))
        if job.remedy:
            box.addWidget(T(job.remedy[:2_000], "small", "text_soft", wrap=True, selectable=True))
        if failed and job.kind in AGAIN:
            retry = Button(tr("Run it again"), icon="rotate-ccw", height=26)
            retry.clicked.connect(self.again)
            box.addWidget(retry, 0, Qt.AlignmentFlag.AlignLeft)
        box.addSpacing(4)

    def _call(self, box: QVBoxLayout, call: ModelCall, n: int, of: int) -> None:
        part = tr("{n} of {m}", n=n, m=of) if of > 1 else ""
        read = plural(call.usage.prompt, "{n} token", "{n} tokens") if call.usage.prompt else ""
        box.addWidget(Well(tr("Prompt"), sentence([part, read]), call.prompt, 44))
        written = call.usage.completion
        wrote = plural(written, "{n} token", "{n} tokens") if written else ""
        answer = call.answer or tr("(nothing)")
        box.addWidget(Well(tr("Answer"), sentence([seconds(call.seconds), wrote]), answer, 44))
        if call.error:
            box.addWidget(T(call.error[:2_000], "small", "lost", wrap=True, selectable=True))
        box.addSpacing(4)

    def _moves(self, box: QVBoxLayout, moves: Sequence[Any]) -> None:
        if not moves:
            return
        box.addWidget(
            T(plural(len(moves), "{n} file moved", "{n} files moved"), "small", weight=600)
        )
        for move in moves[:60]:
            line = T(f"{move.source} → {move.target}", "small", "text_soft", elide="middle")
            line.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
            box.addWidget(line)
        rules = sorted({plain_line(move.rule) for move in moves})
        for rule in rules[:6]:
            box.addWidget(T(rule, "small", "text_faint", wrap=True))


AGAIN = frozenset({"flush", "consolidate", "maintain", "reindex"})


def _same(one: JobInfo | None, other: JobInfo | None) -> bool:
    return one is not None and other is not None and one.id == other.id


def usage_words(calls: Sequence[ModelCall]) -> str:
    """Tokens in and out over all calls of a run; "" where no server said."""
    read = sum(call.usage.prompt for call in calls)
    written = sum(call.usage.completion for call in calls)
    if not read and not written:
        return ""
    return tr("{read} in, {written} out", read=number(read), written=number(written))
