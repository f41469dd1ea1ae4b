"""The widgets of the change in focus: Accept, Reject, Edit, links to sources, own words."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPalette, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app.engine.records import Source
from app.gui.look.text import tr
from app.gui.look.theme import theme, token
from app.gui.look.type import font
from app.gui.panes.memory.change_rows import ChangeRow, source_name
from app.gui.panes.memory.conflict_bed import ConflictBed
from app.gui.panes.memory.conflicts import choice_of
from app.gui.widgets.buttons import Button, IconButton
from app.gui.widgets.labels import IconLabel, KeyCaps, Link, T
from app.gui.widgets.paint import focus_ring, rounded, smooth
from app.gui.widgets.raw_field import RawField


class ChangeCard(QWidget):
    """Lies over the painted row of one change, transparent where it has nothing."""

    accepted = Signal(int)
    rejected = Signal(int)
    edit_wanted = Signal(int)
    source_wanted = Signal(object)  # Source
    raw_wanted = Signal()
    saved = Signal(int, str)
    left = Signal()
    apart_wanted = Signal(int)  # a merge or split into its lines, or together again
    choice_wanted = Signal(int, str)  # of a conflict: what it becomes

    def __init__(self, row: ChangeRow, bed: float, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.n = row.n
        self._at = bed
        self.accept = Button(tr("Accept"), "plain", icon="check", key="A", height=26)
        self.reject = Button(tr("Reject"), "plain", icon="x", key="R", height=26)
        self.edit = IconButton("pencil", tr("Edit before accepting"), key="E")
        self.apart = IconButton("ungroup", "", key="T")
        self.apart.clicked.connect(lambda: self.apart_wanted.emit(self.n))
        self.accept.clicked.connect(lambda: self.accepted.emit(self.n))
        self.reject.clicked.connect(lambda: self.rejected.emit(self.n))
        self.edit.clicked.connect(lambda: self.edit_wanted.emit(self.n))
        self.effect = T("", "small", "accent", weight=500)
        self.take = Button(tr("Take this"), "primary", icon="check", key="A", height=26)
        self.take.clicked.connect(lambda: self.accepted.emit(self.n))
        top = QWidget()
        top.setMinimumHeight(28)
        head = QHBoxLayout(top)
        head.setContentsMargins(0, 0, 0, 0)
        head.setSpacing(6)
        head.addStretch(1)
        for widget in (self.effect, self.accept, self.reject, self.apart, self.edit):
            head.addWidget(widget)
        self.foot = QHBoxLayout()
        self.foot.setContentsMargins(42, 0, 0, 0)
        self.foot.setSpacing(2)
        self.field = OwnWords(self)
        self.field.hide()
        self.bed: ConflictBed | None = None
        if row.data.conflict:
            self.bed = ConflictBed(row.data, self)
            self.bed.chosen.connect(lambda choice: self.choice_wanted.emit(self.n, choice))
        self.field.taken.connect(self._on_taken)
        self.field.left.connect(self.left)
        box = QVBoxLayout(self)
        box.setContentsMargins(18, 6, 24, 6)
        box.setSpacing(2)
        box.addWidget(top)
        box.addStretch(1)
        box.addLayout(self.foot)
        self._foot_says: object = None
        self.show_row(row, bed)

    def head_width(self) -> int:
        """Px at the right of the title that the buttons take."""
        standing = (self.effect, self.accept, self.reject, self.apart)
        return 40 + sum(w.sizeHint().width() + 6 for w in standing if not w.isHidden())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._settle()

    def _settle(self) -> None:
        """What lies between the painted lines stands where the list left room for it."""
        left, wide = 18 + 42, self.width() - 18 - 42 - 24
        y = 37.0
        if self.bed is not None:
            self.bed.setGeometry(left, round(self._at), wide, 32)
            y = self._at + 36
        self.field.setGeometry(left, round(y), wide, self.field.height())

    def sizeHint(self) -> QSize:
        return QSize(200, 60)

    def show_row(self, row: ChangeRow, bed: float) -> None:
        """Follow the row: its decision, its sources. `bed`: where a conflict's choice stands."""
        change = row.data
        self.n, self._at = row.n, bed
        self.effect.setText(row.effect)
        self.effect.setVisible(self.bed is not None and bool(row.effect))
        if self.bed is not None:
            for widget in (self.accept, self.reject, self.edit):
                widget.hide()
            self.bed.show_choice("own" if row.editing else row.choice)
            off = "" if row.choice else tr("Choose first what is written.")
            self.take.set_off(tr("It is taken already.") if self._held(row) else off)
        else:
            self.accept.setText(tr("Accepted") if row.verdict == "accept" else tr("Accept"))
            self.reject.setText(tr("Rejected") if row.verdict == "reject" else tr("Reject"))
            self.edit.setVisible(bool(change.after))
        self.apart.setVisible(change.kind in ("merged", "split") or bool(change.group))
        self.apart.set_icon("group" if change.group else "ungroup")
        self.apart.set_name(
            tr("Put together again") if change.group else tr("Take apart, line by line")
        )
        key = (change.sources, row.source, row.editing)
        if key != self._foot_says:
            self._foot_says = key
            self._fill_foot(row)
        self._settle()

    @staticmethod
    def _held(row: ChangeRow) -> bool:
        return bool(row.verdict) and choice_of(row.data, row.decision) == row.choice

    def _fill_foot(self, row: ChangeRow) -> None:
        while (item := self.foot.takeAt(0)) is not None:
            if (old := item.widget()) is not None and old is not self.take:
                old.hide()
                old.deleteLater()
        self.take.setVisible(self.bed is not None and not row.editing)
        if row.editing:
            self.foot.addWidget(T(tr("Edited by you"), "small", "text_soft"))
            self.foot.addStretch(1)
            back = Button(tr("Go back"), "quiet", key="Esc", height=26)
            take = Button(tr("Take this"), "primary", icon="check", key="Ctrl+S", height=26)
            back.clicked.connect(self.left)
            take.clicked.connect(self.field.take)
            self.foot.addWidget(back)
            self.foot.addWidget(take)
            return
        sources = row.data.sources
        if sources:
            self.foot.addWidget(IconLabel("quote", 12, "text_soft"))
            for source in sources[:3]:
                self.foot.addWidget(self._link(source))
            self.foot.addSpacing(6)
            self.foot.addWidget(T(tr("Sources"), "small", "text_soft"))
            self.foot.addSpacing(4)
            self.foot.addWidget(KeyCaps("G, P"))
        elif row.source:
            warn = bool(row.source_tone)
            icon = "circle-question-mark" if warn else "corner-down-right"
            self.foot.addWidget(IconLabel(icon, 12, "warn" if warn else "text_soft"))
            self.foot.addSpacing(4)
            weight = 600 if warn else None
            words = T(row.source, "small", "warn" if warn else "text_soft", weight=weight)
            self.foot.addWidget(words)
            if warn and row.answered:
                raw = Link(tr("Open the model's answer"))
                raw.clicked.connect(self.raw_wanted)
                self.foot.addSpacing(6)
                self.foot.addWidget(raw)
        self.foot.addStretch(1)
        if self.bed is not None:
            self.foot.addWidget(self.take)

    def _link(self, source: Source) -> Link:
        link = Link(source_name(source.path, source.line))
        link.clicked.connect(lambda: self.source_wanted.emit(source))
        return link

    def start_editing(self, text: str) -> None:
        """Show the field for own words over the change's lines."""
        for widget in (self.accept, self.reject, self.edit):
            widget.hide()
        self.field.show()
        self.field.setPlainText(text)
        self.field.selectAll()
        self.field.setFocus()

    def _on_taken(self, text: str) -> None:
        self.saved.emit(self.n, text)


class OwnWords(RawField):
    """A small field for the words a change gets instead: `taken(text)` when they are saved."""

    taken = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(tr("Your own words for this change"), parent)
        self.setFixedHeight(92)
        self.document().setDocumentMargin(8)
        self.save_wanted.connect(self.take)
        self._dress()
        theme().changed.connect(self._dress)

    def _dress(self) -> None:
        self.setFont(font("read"))
        palette = QPalette(self.palette())
        palette.setColor(QPalette.ColorRole.Base, Qt.GlobalColor.transparent)
        palette.setColor(QPalette.ColorRole.Text, token("text"))
        self.setPalette(palette)

    def take(self) -> None:
        self.taken.emit(self.words())

    def paintEvent(self, event: object) -> None:
        painter = smooth(self.viewport())
        box = QRectF(self.viewport().rect())
        rounded(painter, box, 6, token("raised"), token("line_strong"))
        if self.hasFocus():
            focus_ring(painter, box, 6)
        painter.end()
        super().paintEvent(event)  # type: ignore[arg-type]
