"""Find in a transcript: hits among the items that are loaded. Pure, but for the marks' colour."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtGui import QColor

from app.engine.records import TranscriptItem
from app.gui.look.theme import theme, token
from app.gui.panes.timeline.ink import Laid
from app.gui.widgets.prose import units


def hits_in(items: Sequence[TranscriptItem], needle: str) -> list[int]:
    """Places of the items that hold `needle`, not case sensitive."""
    wanted = needle.casefold()
    if not wanted.strip():
        return []
    return [i for i, item in enumerate(items) if wanted in _text(item).casefold()]


def _text(item: TranscriptItem) -> str:
    if item.kind == "tool":
        return f"{item.tool}\n{item.arguments}\n{item.result or ''}"
    return f"{item.text}\n{item.reasoning}"


def marks_in(laid: Laid, needle: str, current: bool) -> dict[int, list[tuple[int, int, QColor]]]:
    """Stretches to mark in a laid-out block, by part, in UTF-16 units."""
    wanted = needle.casefold()
    out: dict[int, list[tuple[int, int, QColor]]] = {}
    if not wanted.strip():
        return out
    ground = token("hit")
    if current:
        dark = theme().scheme == "dark"
        ground = ground.lighter(130) if dark else ground.darker(112)
    for text in laid.texts:
        shown = text.prose.text
        low = shown.casefold()
        if len(low) != len(shown):
            low = shown.lower()
        at = low.find(wanted)
        found: list[tuple[int, int, QColor]] = []
        while at >= 0 and len(found) < 500:
            start = units(shown[:at])
            found.append((start, start + units(shown[at : at + len(wanted)]), ground))
            at = low.find(wanted, at + max(len(wanted), 1))
        if found:
            out[text.source] = found
    return out
