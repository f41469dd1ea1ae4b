"""The checks of a proposal: failed ones a row each, passed ones in one; folds to one row."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF, Signal
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from app.engine.records import Check
from app.gui.look.text import number, plural, tr
from app.gui.look.theme import theme, token
from app.gui.widgets.buttons import IconButton
from app.gui.widgets.labels import IconLabel, Link, T
from app.gui.widgets.paint import rounded, smooth

NAMES = {
    "loss": "Loss limit",
    "pinned_line": "Pinned lines",
    "source_missing": "Missing source",
    "over_budget": "Budget",
    "empty": "Empty answer",
    "truncated": "Cut answer",
    "reasoning_trace": "Thinking",
    "code_fence": "Fence",
    "error_page": "Error page",
    "refusal": "Refusal",
    "language_changed": "Language",
    "instruction_like": "Instruction-like",
    "specifics_lost": "Names and numbers",
}
# Checks after which the whole answer is in doubt; the others are about single lines.
GRAVE = ("empty", "truncated", "reasoning_trace", "error_page", "refusal", "loss")


def name_of(check: str) -> str:
    return tr(NAMES.get(check, check.replace("_", " ").capitalize()))


def told(check: Check) -> str:
    """What the check says, without the bullets of the lines it names."""
    return check.detail.replace(": - ", ": ").replace(": * ", ": ")


class Checklist(QWidget):
    """`go_wanted(name)`: show the change that check is about."""

    go_wanted = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._checks: tuple[Check, ...] = ()
        self._links: frozenset[str] = frozenset()
        self._folded = False
        self._all = False
        self._word = ""
        self._box = QVBoxLayout(self)
        self._box.setContentsMargins(14, 6, 10, 6)
        self._box.setSpacing(0)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        theme().changed.connect(self.update)

    def set_checks(self, checks: Sequence[Check], links: frozenset[str], word: str = "") -> None:
        """Show these checks; those in `links` have a change to go to. `word`: how far one is."""
        now = (tuple(checks), links, word)
        if now != (self._checks, self._links, self._word):
            self._checks, self._links, self._word = now
            self._fill()

    def set_folded(self, on: bool) -> None:
        """One row while the list is scrolled."""
        if on != self._folded:
            self._folded = on
            self._fill()

    def failed(self) -> list[Check]:
        return [check for check in self._checks if not check.ok]

    def lines(self) -> list[str]:
        """What is said, row by row."""
        return [w.text() for w in self.findChildren(T) if not w.isHidden()]

    def _fill(self) -> None:
        while (item := self._box.takeAt(0)) is not None:
            if (old := item.widget()) is not None:
                old.hide()
                old.setParent(None)
                old.deleteLater()
        self.setVisible(bool(self._checks))
        failed = self.failed()
        passed = [check for check in self._checks if check.ok]
        if self._folded and failed:
            self._box.addWidget(self._one_row(failed, passed))
        else:
            for check in failed:
                self._box.addWidget(self._failed_row(check))
            self._box.addWidget(self._passed_row(passed))
            if self._all:
                for check in passed:
                    row = self._row("check", "ok", name_of(check.name), check.detail)
                    self._box.addWidget(row)
        said = [f"{name_of(c.name)}: {c.detail}" for c in failed]
        said.append(plural(len(passed), "{n} check passed", "{n} checks passed"))
        self.setAccessibleName(". ".join(said))
        self.updateGeometry()
        self.update()

    def _row(self, icon: str, ink: str, name: str, detail: str, *more: QWidget) -> QWidget:
        row = QWidget()
        line = QHBoxLayout(row)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(10)
        line.addWidget(IconLabel(icon, 16, ink))
        title = T(name, "body", weight=600)
        line.addWidget(title)
        words = T(detail, "body", "text_soft", elide="right")
        words.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        line.addWidget(words, 1)
        for widget in more:
            line.addWidget(widget)
        row.setMinimumHeight(26)
        return row

    def _failed_row(self, check: Check) -> QWidget:
        more: list[QWidget] = []
        if check.name in self._links:
            link = Link(tr("Go to it"))
            link.clicked.connect(lambda: self.go_wanted.emit(check.name))
            more.append(link)
        icon = "triangle-alert" if check.name in GRAVE else "circle-question-mark"
        return self._row(icon, "warn", name_of(check.name), told(check), *more)

    def _passed_row(self, passed: Sequence[Check]) -> QWidget:
        link = Link(tr("Hide") if self._all else tr("Show"))
        link.clicked.connect(self._toggle_all)
        names = ", ".join(name_of(check.name).lower() for check in passed)
        title = tr("{n} passed", n=number(len(passed)))
        return self._row("circle-check", "ok", title, names, link)

    def _one_row(self, failed: Sequence[Check], passed: Sequence[Check]) -> QWidget:
        title = plural(len(failed), "{n} check needs a look", "{n} checks need a look")
        names = ", ".join(name_of(check.name).lower() for check in failed)
        count = T(tr("{n} passed", n=number(len(passed))), "body", "text_soft")
        unfold = IconButton("chevron-down", tr("Show the checks"), size=14, side=24)
        unfold.clicked.connect(lambda: self.set_folded(False))
        detail = self._word or names
        return self._row("triangle-alert", "warn", title, detail, count, unfold)

    def _toggle_all(self) -> None:
        self._all = not self._all
        self._fill()

    def paintEvent(self, event: object) -> None:
        painter = smooth(self)
        ground = "warn_bg" if self.failed() else "ok_bg"
        rounded(painter, QRectF(self.rect()), 8, token(ground))
        painter.end()
