"""F6: walking through the parts of the window by keyboard."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QWidget


def walk(parts: Sequence[QWidget], by: int) -> bool:
    """Give the focus to the next (1) or previous (-1) visible part. False when none takes it."""
    seen = [part for part in parts if part.isVisible()]
    now = QApplication.focusWidget()
    at = next((i for i, part in enumerate(seen) if holds(part, now)), -1 if by > 0 else 0)
    for step in range(1, len(seen) + 1):
        first = first_focusable(seen[(at + by * step) % len(seen)])
        if first is not None:
            first.setFocus(Qt.FocusReason.TabFocusReason)
            return True
    return False


def holds(part: QWidget, widget: QWidget | None) -> bool:
    return widget is not None and (part is widget or part.isAncestorOf(widget))


def takes_focus(widget: QWidget) -> bool:
    return widget.isEnabled() and bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus)


def first_focusable(part: QWidget) -> QWidget | None:
    """The part itself, else the checked button in it, else the first widget that takes focus."""
    if takes_focus(part):
        return part
    inside = [w for w in part.findChildren(QWidget) if w.isVisible() and takes_focus(w)]
    chosen = [w for w in inside if getattr(w, "isChecked", bool)()]
    return next(iter([*chosen, *inside]), None)


def selected_text() -> str:
    """What is selected in the widget with the focus, as one line of at most 200 characters."""
    widget = QApplication.focusWidget()
    if widget is None:
        return ""
    cursor = getattr(widget, "textCursor", None)
    if callable(cursor):
        text = cursor().selectedText()  # type: ignore[attr-defined]
    else:
        selected = getattr(widget, "selectedText", getattr(widget, "marked_text", None))
        text = selected() if callable(selected) else ""
    return " ".join(str(text).replace("\u2029", " ").split())[:200]
