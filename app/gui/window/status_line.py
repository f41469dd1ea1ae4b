"""The status line: workspace, model, its real window and that number's source, tokens, jobs,
reviews."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtGui import QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QWidget

from app.gui.look.text import compact, number, plain_line, plural, tr
from app.gui.look.theme import theme, token
from app.gui.look.type import row_height
from app.gui.widgets.labels import Clickable, IconLabel, T, plain_tip
from app.gui.widgets.meter import Share
from app.gui.widgets.paint import focus_ring, smooth
from app.gui.widgets.rings import RunningRing

if TYPE_CHECKING:
    from app.engine.records import JobInfo, Status

SOURCES = {
    "setting": "set by you",
    "loaded": "loaded by the server",
    "reported": "reported by server",
    "learned": "learned from an error",
    "table": "from the list of models",
    "default": "assumed",
}
DOING = {
    "flush": "Flushing to today's log",
    "consolidate": "Consolidating memory",
    "archive": "Archiving old logs",
    "prune": "Removing old sessions",
    "reindex": "Updating the index",
    "compact": "Compacting",
}


class Item(Clickable):
    """A part of the line that leads somewhere."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.row = QHBoxLayout(self)
        self.row.setContentsMargins(6, 0, 6, 0)
        self.row.setSpacing(7)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = smooth(self)
        if self.underMouse():
            painter.fillRect(self.rect(), token("hover"))
        if self.hasFocus():
            focus_ring(painter, self.rect().toRectF(), 4)
        painter.end()


class StatusLine(QWidget):
    """`go_wanted(place)` as its parts are pressed."""

    go_wanted = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.workspace = T("", "small", "text_soft", weight=500, elide="right")
        self.workspace.setMaximumWidth(180)
        self.model = Item(tr("Model"))
        self._model_name = T(tr("Starting"), "small", "text_soft", weight=500)
        self._model_window = T("", "small", "text_faint", tabular=True)
        self.model.row.addWidget(IconLabel("cpu", 14))
        self.model.row.addWidget(self._model_name)
        self.model.row.addWidget(self._model_window)
        self.share = Share(tr("Part of the window that is used"))
        self.used = T("", "small", "text_soft", tabular=True)
        self.work = Item(tr("Jobs and index"))
        self._ring = RunningRing("text_soft", 13)
        self._sign = IconLabel("circle-check", 14)
        self._work_text = T("", "small", "text_soft", tabular=True)
        for part in (self._ring, self._sign, self._work_text):
            self.work.row.addWidget(part)
        self.reviews = Item(tr("Reviews waiting"))
        self._reviews_text = T("", "small", "accent", weight=500)
        self.reviews.row.addWidget(IconLabel("git-pull-request-arrow", 14, "accent"))
        self.reviews.row.addWidget(self._reviews_text)
        row = QHBoxLayout(self)
        row.setContentsMargins(9, 1, 8, 0)
        row.setSpacing(4)
        row.addSpacing(6)
        row.addWidget(self.workspace)
        row.addSpacing(6)
        row.addWidget(self.model)
        row.addSpacing(6)
        row.addWidget(self.share)
        row.addSpacing(4)
        row.addWidget(self.used)
        row.addStretch(1)
        row.addWidget(self.work)
        row.addSpacing(4)
        row.addWidget(self.reviews)
        self.model.clicked.connect(lambda: self.go_wanted.emit("settings"))
        self.work.clicked.connect(lambda: self.go_wanted.emit("activity"))
        self.reviews.clicked.connect(lambda: self.go_wanted.emit("memory"))
        self._tokens = (0, 0)
        self._fit()
        theme().changed.connect(self._fit)
        self.show_tokens(0, 0)
        self.reviews.hide()
        self.work.hide()

    def _fit(self) -> None:
        self.setFixedHeight(row_height(28))

    def show_status(self, status: Status) -> None:
        self.workspace.setText(plain_line(status.name))
        self.workspace.setToolTip(plain_tip(status.workspace))
        model = status.model
        name = plain_line(model.name) or tr("No model")
        word = {"loading": tr("loading"), "failed": tr("not reachable"), "unset": tr("none set")}
        state = word.get(model.state, "")
        self._model_name.setText(f"{name}, {state}" if state else name)
        self._model_name.set_color("lost" if model.state == "failed" else "text_soft")
        source = tr(SOURCES.get(model.window.source, model.window.source))
        text = tr("{n} window, {source}", n=number(model.window.tokens), source=source)
        self._model_window.setText(text if model.window.tokens else "")
        where = model.host or tr("inside this program")
        self.model.setToolTip(plain_tip(f"{name}, {where}\n{text}\n{model.note}".strip()))
        self.model.setAccessibleName(f"{tr('Model')} {name}, {text}")
        if not self._tokens[1]:
            self.show_tokens(self._tokens[0], model.window.tokens)
        self._show_work(status)
        self.reviews.setVisible(status.reviews > 0)
        words = plural(status.reviews, "{n} review waiting", "{n} reviews waiting")
        self._reviews_text.setText(words)
        self.reviews.setAccessibleName(words)

    def show_tokens(self, used: int, window: int) -> None:
        self._tokens = (used, window)
        self.share.set_share(used / window if window else 0.0)
        self.used.setText(compact(used))
        seen = window > 0
        self.share.setVisible(seen)
        self.used.setVisible(seen)

    def _show_work(self, status: Status) -> None:
        running = bool(status.running)
        index = status.index
        building = index.state == "building"
        if running:
            text = job_words(status.running[0])
            if len(status.running) > 1:
                text = plural(len(status.running) - 1, "{t}, {n} more", "{t}, {n} more", t=text)
        elif building:
            text = tr("Index {done} of {total}", done=number(index.done), total=number(index.total))
        elif index.state == "unavailable":
            text = tr("No index")
        elif index.state == "stale":
            text = tr("Index is catching up")
        else:
            text = tr("Index up to date")
        self._ring.setVisible(running or building)
        self._sign.setVisible(not (running or building))
        bad = index.state == "unavailable" and not running
        self._sign.set_icon(
            "triangle-alert" if bad else "circle-check", "warn" if bad else "text_soft"
        )
        self._work_text.setText(text)
        self.work.setToolTip(plain_tip(index.note or text))
        self.work.setAccessibleName(text)
        self.work.show()

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._model_window.setVisible(self.width() >= 1000)
        super().resizeEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = smooth(self)
        painter.fillRect(self.rect(), token("side"))
        painter.fillRect(0, 0, self.width(), 1, token("line"))
        painter.end()


def job_words(job: JobInfo) -> str:
    """What a running job does, in words."""
    words = tr(DOING.get(job.kind, job.kind))
    return f"{words}, {job.done} / {job.total}" if job.total > 1 else words
