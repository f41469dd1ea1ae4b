"""Questions laid over the window: child widgets, no nested loop, Esc closes.

`await ask(...)` returns the key of the button that was pressed, "" for Esc. Each button says
what it will do. A running reply goes on meanwhile (B89).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, QPropertyAnimation, QRectF, Qt, QUrl, Signal
from PySide6.QtGui import (
    QDesktopServices,
    QFontMetricsF,
    QGuiApplication,
    QKeyEvent,
    QMouseEvent,
    QPaintEvent,
)
from PySide6.QtWidgets import (
    QApplication,
    QGraphicsOpacityEffect,
    QHBoxLayout,
    QLineEdit,
    QPlainTextEdit,
    QVBoxLayout,
    QWidget,
)

from app.gui.look.text import neutral, tr
from app.gui.look.theme import duration, theme, token
from app.gui.look.type import code_font
from app.gui.widgets.buttons import Button
from app.gui.widgets.fields import Field
from app.gui.widgets.labels import T
from app.gui.widgets.paint import draw_shadow, rounded, smooth

SAFE_SCHEMES = ("http", "https", "mailto")


class Overlay(QWidget):
    """A scrim over the whole window with one sheet of paper on it.

    Keys stay inside: shortcuts below do not fire, Tab walks the sheet, Esc closes.
    """

    closed = Signal()

    def __init__(self, window: QWidget, width: int = 480, top: int = 0) -> None:
        super().__init__(window)
        self._over = window
        self._wide, self._top = width, top
        self._before = QApplication.focusWidget()
        self.sheet = QWidget(self)
        self.box = QVBoxLayout(self.sheet)
        self.box.setContentsMargins(20, 18, 20, 16)
        self.box.setSpacing(10)
        window.installEventFilter(self)
        theme().changed.connect(self.update)
        self._fade: QPropertyAnimation | None = None

    def open(self, first: QWidget | None = None) -> None:
        """Show it, with the focus on `first`."""
        self._place()
        self.show()
        self.raise_()
        self._place()
        (first or self.sheet).setFocus(Qt.FocusReason.PopupFocusReason)
        if wait := duration(120):
            effect = QGraphicsOpacityEffect(self)
            self.setGraphicsEffect(effect)
            self._fade = QPropertyAnimation(effect, b"opacity", self)
            self._fade.setDuration(wait)
            self._fade.setStartValue(0.0)
            self._fade.setEndValue(1.0)
            self._fade.finished.connect(self._faded)
            self._fade.start()

    def _faded(self) -> None:
        self.setGraphicsEffect(None)  # type: ignore[arg-type]
        self._fade = None

    def close_sheet(self) -> None:
        if not self.isVisible() and self.parent() is None:
            return
        self.hide()
        before = self._before
        try:
            if before is not None and before.isVisible():
                before.setFocus(Qt.FocusReason.PopupFocusReason)
        except RuntimeError:
            pass  # it was deleted meanwhile
        self.closed.emit()
        self.deleteLater()

    def _place(self) -> None:
        self.setGeometry(self._over.rect())
        wide = min(self._wide, self.width() - 32)
        self.sheet.setFixedWidth(wide)
        box = self.box
        high = box.totalHeightForWidth(wide) if box.hasHeightForWidth() else 0
        high = min(max(high, box.totalSizeHint().height()), self.height() - 48)
        y = self._top or max((self.height() - high) // 3, 24)
        self.sheet.setGeometry((self.width() - wide) // 2, min(y, self.height() - high), wide, high)
        self.update()

    def refit(self) -> None:
        """The sheet's content changed its size."""
        self._place()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self._place()
        return False

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ShortcutOverride:
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.close_sheet()
        event.accept()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if not self.sheet.geometry().contains(event.position().toPoint()):
            self.close_sheet()

    def focusNextPrevChild(self, forward: bool) -> bool:
        inside = [
            w
            for w in self.sheet.findChildren(QWidget)
            if w.isVisible() and w.isEnabled() and w.focusPolicy() & Qt.FocusPolicy.TabFocus
        ]
        if inside:
            now = QApplication.focusWidget()
            at = inside.index(now) if now in inside else -1
            step = at + (1 if forward else -1)
            inside[step % len(inside)].setFocus(
                Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason
            )
        return True

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = smooth(self)
        shade = token("scrim")
        shade.setAlphaF(0.50 if theme().scheme == "dark" else 0.22)
        painter.fillRect(self.rect(), shade)
        draw_shadow(painter, self.sheet.geometry(), 12)
        box = QRectF(self.sheet.geometry())
        edge = token("line_strong") if theme().scheme == "dark" else None
        rounded(painter, box, 12, token("raised"), edge)
        painter.end()


class Question(Overlay):
    """Head, sentences, buttons. `answered(key)`, "" for Esc."""

    answered = Signal(str)

    def __init__(
        self,
        window: QWidget,
        head: str,
        text: str = "",
        buttons: Sequence[tuple[str, str, str]] = (),
        *,
        field: str | None = None,
        label: str = "",
        code: str = "",
        width: int = 480,
    ) -> None:
        super().__init__(window, width)
        self.setAccessibleName(head)
        self._answer = ""
        self.box.addWidget(T(head, "head", wrap=True))
        if text:
            self.box.addWidget(T(text, "body", "text_soft", wrap=True))
        if code:
            self.box.addWidget(_well(code))
        self.field: QLineEdit | None = None
        if field is not None:
            self.field = Field(label or head)
            self.field.setText(field)
            self.field.selectAll()
            self.box.addWidget(self.field)
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addStretch(1)
        self._buttons: list[Button] = []
        for key, title, kind in buttons:
            button = Button(title, kind)  # type: ignore[arg-type]
            button.clicked.connect(lambda _=False, k=key: self.answer(k))
            row.addWidget(button)
            self._buttons.append(button)
        self.box.addSpacing(4)
        self.box.addLayout(row)
        if self.field is not None and self._buttons:
            self.field.returnPressed.connect(self._buttons[-1].click)
        self.closed.connect(lambda: self.answered.emit(self._answer))

    def answer(self, key: str) -> None:
        self._answer = key
        self.close_sheet()

    def first(self) -> QWidget:
        """Where the focus goes: the field, else the last button that destroys nothing."""
        safe = [b for b in self._buttons if b.kind != "danger"]
        return self.field or (safe[-1] if safe else self.sheet)


def _well(text: str) -> QPlainTextEdit:
    well = QPlainTextEdit(neutral(text))
    well.setReadOnly(True)
    well.setFrameShape(QPlainTextEdit.Shape.NoFrame)
    well.setFont(code_font("body"))
    well.setAccessibleName(tr("Details"))
    well.document().setDocumentMargin(10)
    step = QFontMetricsF(well.font()).lineSpacing()
    lines = sum(1 + len(line) // 60 for line in text.split("\n"))
    well.setFixedHeight(min(240, round(step * lines) + 24))
    palette = well.palette()
    palette.setColor(palette.ColorRole.Base, token("sunken"))
    well.setPalette(palette)
    return well


async def ask(
    window: QWidget,
    head: str,
    text: str = "",
    buttons: Sequence[tuple[str, str, str]] = (),
    *,
    code: str = "",
    width: int = 480,
) -> str:
    """Ask over `window`: `buttons` are (key, title, kind), the main one last; "" for Esc."""
    question = Question(window, head, text, buttons, code=code, width=width)
    return await _answer(question)


async def ask_text(
    window: QWidget, head: str, label: str, value: str = "", *, act: str = "", text: str = ""
) -> str | None:
    """Ask for one line; None for Esc."""
    buttons = (("", tr("Keep it"), "quiet"), ("done", act or tr("Save"), "primary"))
    question = Question(window, head, text, buttons, field=value, label=label)
    typed = ""

    def keep(now: str) -> None:
        nonlocal typed
        typed = now

    if question.field is not None:
        typed = question.field.text()
        question.field.textChanged.connect(keep)
    return typed if await _answer(question) == "done" else None


async def _answer(question: Question) -> str:
    done: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    question.answered.connect(lambda key: done.done() or done.set_result(key))
    question.open(question.first())
    try:
        return await done
    except asyncio.CancelledError:
        question.close_sheet()
        raise


async def open_link(window: QWidget, url: str) -> None:
    """Show where a link leads and open it in the browser when told so (http, https, mailto)."""
    target = QUrl(url)
    if target.scheme().lower() not in SAFE_SCHEMES:
        return
    said = await ask(
        window,
        tr("Open this address?"),
        tr("It opens in your browser, outside Palimpsest."),
        (("copy", tr("Copy the address"), "plain"), ("open", tr("Open it"), "primary")),
        code=target.toString(QUrl.ComponentFormattingOption.FullyEncoded),
    )
    if said == "open":
        QDesktopServices.openUrl(target)
    elif said == "copy":
        QGuiApplication.clipboard().setText(url)


def show_fault(window: QWidget, sentence: str, text: str) -> Question:
    """The dialog for a bug: text to copy; the program goes on."""
    question = Question(
        window,
        tr("Something went wrong inside Palimpsest"),
        tr("Your files are as they were, and you can go on. The text below helps to mend it.")
        + "\n"
        + sentence,
        (("copy", tr("Copy the text"), "plain"), ("go", tr("Go on"), "primary")),
        code=text,
        width=620,
    )

    def done(key: str) -> None:
        if key == "copy":
            QGuiApplication.clipboard().setText(text)

    question.answered.connect(done)
    question.open(question.first())
    return question
