"""Pictures on top of a section: the marks in the window, the length of MEMORY.md."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app.engine.errors import UserError
from app.gui.look.text import number, tr
from app.gui.widgets.labels import T
from app.gui.widgets.meter import Part, Share, TokenMeter

SOURCES = {
    "setting": "as set",
    "loaded": "as loaded by the server",
    "reported": "as reported by the server",
    "learned": "learned from an error",
    "table": "from the list of models",
    "default": "assumed",
}


class WindowPicture(QWidget):
    """The newest session in the model's window, with the marks the settings make."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.meter = TokenMeter()
        self.words = T("", "small", "text_faint", wrap=True)
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 4, 0, 0)
        box.setSpacing(4)
        box.addWidget(self.meter)
        box.addWidget(self.words)
        self.hide()

    async def look(self, ask: Any) -> None:
        """Ask the engine for the newest session's context; nothing to show hides the picture."""
        try:
            sessions = await ask.sessions()
            if not sessions:
                return
            view = await ask.context(sessions[0].id)
        except UserError:
            self.hide()
            return
        marks = [(kind, view.thresholds.get(kind, 0)) for kind in ("flush", "compact", "limit")]
        parts = [  # neighbours of one kind are one part: a talk is one stretch, not slivers
            Part(kind, sum(part.tokens for part in same), tr(kind))
            for kind, same in groupby(view.parts, key=lambda part: part.kind)
        ]
        self.meter.set_parts(parts, view.window.tokens, marks)
        source = tr(SOURCES.get(str(view.window.source), ""))
        window = number(view.window.tokens)
        self.words.setText(
            tr("The newest session in a window of {n} tokens, {source}.", n=window, source=source)
        )
        self.show()


class MemoryPicture(QWidget):
    """How much of its budget MEMORY.md takes."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.share = Share(tr("Length of MEMORY.md"), width=260)
        self.words = T("", "small", "text_faint", elide="right")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 4, 0, 0)
        row.setSpacing(12)
        row.addWidget(self.share)
        row.addWidget(self.words, 1)
        self.hide()

    async def look(self, ask: Any) -> None:
        """Ask the engine for the file's length."""
        view = await ask.memory()
        if not view.budget:
            return
        self.share.set_share(view.tokens / view.budget)
        about = tr("about ") if view.estimated else ""
        self.words.setText(
            tr("MEMORY.md has {about}{n} of {budget} tokens", about=about, n=number(view.tokens),
               budget=number(view.budget))
        )  # fmt: skip
        self.show()
