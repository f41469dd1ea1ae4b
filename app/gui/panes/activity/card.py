"""The job that runs now: a card with its share and Cancel; under it, what comes next."""

from __future__ import annotations

from datetime import datetime

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from app.engine.records import JobInfo
from app.gui.look.text import plain_line, seconds, sentence, tr
from app.gui.panes.activity.model import kind_word, mark_kind, took, trigger_words
from app.gui.widgets.buttons import Button
from app.gui.widgets.labels import IconLabel, T
from app.gui.widgets.marks import KindMark
from app.gui.widgets.meter import Share
from app.gui.widgets.rings import RunningRing
from app.gui.widgets.surfaces import Card


class RunningCard(Card):
    """One running job. `cancelled()` when a person wants it to end."""

    cancelled = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(radius=8, parent=parent)
        self.job: JobInfo | None = None
        self.mark = KindMark("flush")
        self.kind = T("", "body", weight=600)
        self.words = T("", "body", "text_soft", elide="right")
        self.words.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.time = T("", "small", "text_soft", tabular=True)
        self.cancel = Button(tr("Cancel"), key=tr("Del"), height=26)
        self.cancel.clicked.connect(self.cancelled)
        self.ring = RunningRing()
        self.share = Share(tr("Share done"), width=0)
        row = QHBoxLayout()
        row.setSpacing(8)
        for widget in (self.mark, self.kind):
            row.addWidget(widget)
        row.addSpacing(2)
        row.addWidget(self.words, 1)
        row.addWidget(self.ring)
        row.addWidget(self.time)
        row.addSpacing(4)
        row.addWidget(self.cancel)
        inner = QVBoxLayout()
        inner.setContentsMargins(13, 9, 9, 9)
        inner.setSpacing(6)
        inner.addLayout(row)
        inner.addWidget(self.share)
        self.box.addLayout(inner)
        self.hide()

    def show_job(self, job: JobInfo | None, now: datetime, said: str = "") -> None:
        """Show this job (none hides the card); `said` is the newest word about its progress."""
        self.job = job
        self.setVisible(job is not None)
        if job is None:
            return
        self.mark.set_kind(mark_kind(job.kind))
        self.kind.setText(kind_word(job.kind))
        words = sentence([trigger_words(job.trigger), plain_line(said)])
        self.words.setText(words)
        self.share.setVisible(job.total > 0)
        if job.total > 0:
            self.share.set_share(job.done / job.total)
        self.tick(now)

    def tick(self, now: datetime) -> None:
        """A second passed."""
        if self.job is None:
            return
        passed = took(self.job, now) or 0.0
        known = tr("{n} of {m}", n=self.job.done, m=self.job.total) if self.job.total else ""
        text = sentence([known, seconds(int(passed))])
        self.time.setText(text)
        self.setAccessibleName(sentence([self.kind.text(), tr("running"), self.words.text(), text]))


class NextLine(QWidget):
    """What comes next: a few things in one line, each with its clock."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words: list[str] = []
        self.row = QHBoxLayout(self)
        self.row.setContentsMargins(0, 6, 0, 4)
        self.row.setSpacing(7)
        self.row.addWidget(T(tr("Next"), "small", "text_soft", weight=600))
        self._kept = self.row.count()
        self.hide()

    def words(self) -> list[str]:
        return list(self._words)

    def set_words(self, words: list[str]) -> None:
        """Show these; none hides the line."""
        if words == self._words:
            return
        self._words = list(words)
        while (item := self.row.takeAt(self._kept)) is not None:
            if (old := item.widget()) is not None:
                old.hide()
                old.deleteLater()
        for one in words:
            self.row.addSpacing(8)
            self.row.addWidget(IconLabel("clock", 14, "text_faint"))
            label = T(one, "small", "text_soft", elide="right")
            label.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
            self.row.addWidget(label)
        self.row.addStretch(1)
        self.setAccessibleName(sentence([tr("Next"), *words]))
        self.setVisible(bool(words))
