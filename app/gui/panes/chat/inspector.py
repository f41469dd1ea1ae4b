"""The context inspector: what would be sent next, block by block, and what a compaction would do.

Shows values; asks for nothing itself. Folds and scroll position survive a newer view.
"""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QPalette, QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from app.engine.errors import UserError
from app.engine.records import CompactionReport, ContextView, ModelStatus
from app.gui.look.text import compact, number, plural, tr
from app.gui.panes.chat.blocks import Group, groups, marks, since, source_sentence, source_words
from app.gui.panes.chat.texts import Well
from app.gui.widgets.buttons import Button, IconButton
from app.gui.widgets.labels import Link, T
from app.gui.widgets.marks import KindMark
from app.gui.widgets.meter import Part, Swatch, TokenMeter
from app.gui.widgets.pane import Target
from app.gui.widgets.surfaces import Fold, Hairline

SIDE = 17  # px of margin


class GroupFold(Fold):
    """One block: swatch, word, detail, tokens; unfolded, its exact text."""

    def __init__(self, group: Group) -> None:
        super().__init__(group.word, self._text, title=False, height=31)
        self._well: Well | None = None
        self.word = T(group.word, "body", weight=500)
        self.detail = T("", "small", "text_faint", elide="right")
        self.tokens = T("", "small", "text_soft", tabular=True)
        row = self.head.row
        row.setContentsMargins(32, 0, 9, 0)
        row.addWidget(Swatch(group.kind))
        row.addWidget(self.word)
        row.addWidget(self.detail, 1)
        row.addWidget(self.tokens)
        self.group = group
        self.foot: QWidget | None = None
        self.toggled.connect(lambda on: self.word.set_weight(600 if on else 500))
        self.set_group(group)

    def set_group(self, group: Group) -> None:
        self.group = group
        self.detail.setText(group.detail)
        self.tokens.setText(compact(group.tokens))
        self.head.setAccessibleName(f"{group.word}, {group.detail}, {number(group.tokens)} tokens")
        if self._well is not None and self._well.text() != group.text:
            at = self._well.verticalScrollBar().value()
            self._well.set_text(group.text)
            self._well.verticalScrollBar().setValue(at)

    def _text(self) -> QWidget:
        self._well = Well(self.group.word, self.group.text, most=260, margin=10)
        body = QWidget()
        box = QVBoxLayout(body)
        box.setContentsMargins(32, 2, 9, 8)
        box.addWidget(self._well)
        return body


class Inspector(QWidget):
    """The side panel. `preview_wanted`, `compact_wanted`, `folded`, `go(Target)`."""

    preview_wanted = Signal()
    compact_wanted = Signal()
    folded = Signal()
    go = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(tr("Context"))
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.setSpacing(0)
        whole.addWidget(self._head())
        self.area = QScrollArea()
        self.area.setFrameShape(QFrame.Shape.NoFrame)
        self.area.setWidgetResizable(True)
        self.area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        palette = QPalette(self.area.palette())
        palette.setColor(QPalette.ColorRole.Window, Qt.GlobalColor.transparent)
        self.area.setPalette(palette)
        self.area.viewport().setAutoFillBackground(False)
        sheet = QWidget()
        self.box = QVBoxLayout(sheet)
        self.box.setContentsMargins(0, 0, 0, 16)
        self.box.setSpacing(0)
        self.area.setWidget(sheet)
        sheet.setAutoFillBackground(False)  # the area switched it on
        whole.addWidget(self.area, 1)
        self._totals()
        self.folds: dict[str, GroupFold] = {}
        self._list = QVBoxLayout()
        self._list.setContentsMargins(8, 8, 8, 10)
        self._list.setSpacing(0)
        self.box.addLayout(self._list)
        self._cut_line()
        self._compaction()
        self.box.addStretch(1)
        self.view: ContextView | None = None
        self.nothing = ""  # why there is nothing to compact
        self._busy = self._replies = False

    # ------------------------------------------------------------------ parts

    def _head(self) -> QWidget:
        head = QWidget()
        head.setFixedHeight(52)
        row = QHBoxLayout(head)
        row.setContentsMargins(SIDE, 0, 8, 0)
        row.addWidget(T(tr("Context"), "head"))
        row.addStretch(1)
        fold = IconButton("panel-right-close", tr("Fold the inspector"), key="Ctrl+I")
        fold.clicked.connect(self.folded)
        row.addWidget(fold)
        return head

    def _totals(self) -> None:
        self.total = T("", "body", weight=600, tabular=True)
        self.of = T("", "small", "text_soft", tabular=True)
        self.source = T("", "small", "text_soft", elide="right")
        self.source.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.meter = TokenMeter()
        self.prefix = T("", "small", "text_faint", wrap=True)
        self.prefix.hide()
        row = QHBoxLayout()
        row.setSpacing(6)
        row.addWidget(self.total)
        row.addWidget(self.of)
        row.addStretch(1)
        self._row = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._row.setSpacing(6)
        self._row.addLayout(row)
        self._row.addWidget(self.source, 1)
        part = QVBoxLayout()
        part.setContentsMargins(SIDE, 2, SIDE, 0)
        part.setSpacing(5)
        part.addLayout(self._row)
        part.addWidget(self.meter)
        part.addWidget(self.prefix)
        self.box.addLayout(part)

    def _cut_line(self) -> None:
        self.cut = QWidget()
        row = QHBoxLayout(self.cut)
        row.setContentsMargins(40, 0, SIDE, 8)
        self.cut_words = T("", "small", "warn", wrap=True)
        why = Link(tr("Why"))
        why.clicked.connect(lambda: self.go.emit(Target("settings", section="injection")))
        row.addWidget(self.cut_words, 1)
        row.addWidget(why)
        self.cut.hide()

    def _compaction(self) -> None:
        self.box.addWidget(Hairline())
        part = QVBoxLayout()
        part.setContentsMargins(SIDE, 14, SIDE, 8)
        part.setSpacing(6)
        head = QHBoxLayout()
        head.setSpacing(8)
        head.addWidget(KindMark("compaction"))
        head.addWidget(T(tr("If compaction ran now"), "body", weight=600))
        head.addStretch(1)
        self.would = T("", "body", "text_soft", wrap=True)
        self.unflushed = T("", "body", "lost", wrap=True)
        self.unflushed.hide()
        self.preview = Button(tr("Preview"), icon="eye")
        self.compact = Button(tr("Compact now"), icon="fold-vertical", key="")
        self.compact.setToolTip(tr("Compact now (Ctrl+Shift+K)"))
        self.preview.clicked.connect(self.preview_wanted)
        self.compact.clicked.connect(self.compact_wanted)
        acts = QHBoxLayout()
        acts.setSpacing(8)
        acts.addWidget(self.preview)
        acts.addWidget(self.compact)
        acts.addStretch(1)
        self.note = T("", "small", "text_soft", wrap=True)
        self.note.hide()
        part.addLayout(head)
        part.addWidget(self.would)
        part.addWidget(self.unflushed)
        part.addSpacing(4)
        part.addLayout(acts)
        part.addSpacing(14)
        part.addWidget(self.note)
        self.box.addLayout(part)

    # ------------------------------------------------------------------ values

    def show_view(self, view: ContextView, before: ContextView | None = None) -> None:
        """Show a request; `before` is the one that was sent last."""
        self.view = view
        about = "" if not view.estimated else tr("about ")
        self.total.setText(about + compact(view.total))
        self.of.setText(tr("of {n} tokens", n=compact(view.window.tokens)))
        self.source.setText(source_words(view))
        self.of.setToolTip(source_sentence(view))
        self.source.setAccessibleName(source_sentence(view))
        self._settle_source()
        found = groups(view)
        parts = [Part(g.kind, g.tokens, g.word) for g in found]
        self.meter.set_parts(parts, view.window.tokens, marks(view))
        said = since(before, view)
        self.prefix.setText(said)
        self.prefix.setVisible(bool(said))
        self._show_groups(found)
        cut = view.truncated_lines
        self.cut_words.setText(
            plural(cut, "{n} line of memory cut by budget", "{n} lines of memory cut by budget")
        )
        self.cut.setVisible(cut > 0)

    def _settle_source(self) -> None:
        """Where the window's size comes from stands beside it, or below when that is too long."""
        parts = (self.total, self.of, self.source)
        room = self.width() - 2 * SIDE - 20
        wide = sum(p.fontMetrics().horizontalAdvance(p.text()) for p in parts)
        beside = wide + 12 <= room
        way = QBoxLayout.Direction
        self._row.setDirection(way.LeftToRight if beside else way.TopToBottom)
        self._row.setSpacing(6 if beside else 0)
        left, right = Qt.AlignmentFlag.AlignLeft, Qt.AlignmentFlag.AlignRight
        self.source.setAlignment(right if beside else left)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._settle_source()

    def _show_groups(self, found: list[Group]) -> None:
        kinds = [g.kind for g in found]
        for kind in [k for k in self.folds if k not in kinds]:
            self.folds.pop(kind).deleteLater()
        for at, group in enumerate(found):
            fold = self.folds.get(group.kind)
            if fold is None:
                fold = self.folds[group.kind] = GroupFold(group)
                self._list.insertWidget(at, fold)
            else:
                fold.set_group(group)
                if self._list.indexOf(fold) != at:
                    self._list.removeWidget(fold)
                    self._list.insertWidget(at, fold)
        self._list.removeWidget(self.cut)
        after = kinds.index("memory") + 1 if "memory" in kinds else len(kinds)
        self._list.insertWidget(after, self.cut)

    def show_report(self, report: CompactionReport) -> None:
        """What a compaction would do now."""
        self.nothing = ""
        if not report.covered:
            self.nothing = report.reason or tr("There is nothing to summarise yet.")
            self.would.setText(self.nothing)
            self.unflushed.hide()
        else:
            covered = plural(
                report.covered,
                "{n} message would be summarised",
                "{n} messages would be summarised",
            )
            self.would.setText(tr("{covered}, {n} stay.", covered=covered, n=number(report.kept)))
            waiting = plural(
                report.unflushed,
                "{n} is not flushed yet and goes to today's log first.",
                "{n} are not flushed yet and go to today's log first.",
            )
            self.unflushed.setText(waiting)
            self.unflushed.setVisible(report.unflushed > 0)
        self.preview.set_off(self.nothing)
        self._settle_compact()

    def show_problem(self, error: UserError) -> None:
        """The context cannot be worked out; what was shown stays."""
        self.would.setText(f"{error} {error.remedy}".strip())
        self.unflushed.hide()

    def show_model(self, model: ModelStatus) -> None:
        self.note.setText(model.note if model.state == "ready" else "")
        self.note.setVisible(bool(self.note.text()))

    def set_busy(self, on: bool) -> None:
        """A compaction runs."""
        self._busy = on
        self.compact.set_running(on, tr("Compacting") if on else tr("Compact now"))
        self._settle_compact()

    def set_reply_running(self, on: bool) -> None:
        self._replies = on
        self._settle_compact()

    def _settle_compact(self) -> None:
        reason = self.nothing
        if self._busy:
            reason = tr("A compaction is running.")
        elif self._replies:
            reason = tr("A reply is being made; stop it or wait.")
        self.compact.set_off(reason)
        if not reason:
            self.compact.setToolTip(tr("Compact now (Ctrl+Shift+K)"))
