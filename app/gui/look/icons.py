"""Icons: one outline family, coloured by token when loaded.

SVG texts come from `python-lucide`, whose import costs more than the whole first paint, so every
text that was ever used is kept in a file and read from there at the next start. The import happens
only for a name that file does not hold. Pixmaps are cached by name, size, token value and device
ratio.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from PySide6.QtCore import QByteArray, QRectF, QSize, Qt
from PySide6.QtGui import QIcon, QIconEngine, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from app.gui.look.theme import token

SIGN = "layers"  # the program's own sign
_EMPTY = '<svg xmlns="http://www.w3.org/2000/svg" width="24" height="24" viewBox="0 0 24 24"/>'

_texts: dict[str, str] = {}
_file: Path | None = None
_unsaved = False
_pixmaps: dict[tuple[str, int, str, float, int], QPixmap] = {}


def use_cache(folder: Path) -> None:
    """Read the texts kept in `folder` and keep new ones there (see `save`)."""
    global _file
    _file = folder / "icons.json"
    try:
        kept = json.loads(_file.read_text("utf-8"))
    except (OSError, ValueError):
        return
    if isinstance(kept, dict):
        _texts.update({k: v for k, v in kept.items() if isinstance(v, str)})


def save() -> None:
    """Write the texts in use for the next start; a cache, so a failure is no failure."""
    global _unsaved
    if _file is None or not _unsaved:
        return
    part = _file.with_suffix(".part")
    try:
        _file.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(json.dumps(_texts, indent=0, sort_keys=True), "utf-8")
        os.replace(part, _file)
        _unsaved = False
    except OSError:
        part.unlink(missing_ok=True)


def known(name: str) -> bool:
    """Whether the family has an icon of that name."""
    return _text(name) != _EMPTY


def _text(name: str) -> str:
    global _unsaved
    if name not in _texts:
        from lucide.core import lucide_icon

        found = lucide_icon(name)
        drawn = "data-missing-icon" not in found and "<svg" in found
        _texts[name] = found if drawn else _EMPTY
        _unsaved = True
    return _texts[name]


def pixmap(name: str, size: int, color: str = "text_soft", ratio: float = 1.0) -> QPixmap:
    """An icon of `size` logical px in a token's colour."""
    shade = token(color).name()
    weight = 150 if size > 14 else 120  # hundredths of a px on screen
    key = (name, size, shade, ratio, weight)
    made = _pixmaps.get(key)
    if made is None:
        made = _drawn(name, size, shade, ratio, weight / 100)
        if len(_pixmaps) > 800:
            _pixmaps.clear()
        _pixmaps[key] = made
    return made


def _drawn(name: str, size: int, shade: str, ratio: float, weight: float) -> QPixmap:
    text = _text(name).replace("currentColor", shade)
    line = f'stroke-width="{weight * 24 / size:.2f}"'
    text = re.sub(r'stroke-width="[\d.]+"', line, text, count=1)
    made = QPixmap(QSize(round(size * ratio), round(size * ratio)))
    made.fill(Qt.GlobalColor.transparent)
    painter = QPainter(made)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    QSvgRenderer(QByteArray(text.encode())).render(painter, QRectF(made.rect()))
    painter.end()
    made.setDevicePixelRatio(ratio)
    return made


def paint_icon(
    painter: QPainter, name: str, x: float, y: float, size: int, color: str = "text_soft"
) -> None:
    """Draw an icon with its top left at (x, y), sharp at the painter's device ratio."""
    ratio = painter.device().devicePixelRatioF()
    painter.drawPixmap(round(x), round(y), pixmap(name, size, color, ratio))


class _Engine(QIconEngine):
    """Draws the token's colour of the moment, so that a menu follows a change of theme."""

    def __init__(self, name: str, size: int, color: str) -> None:
        super().__init__()
        self._args = (name, size, color)

    def paint(self, painter: QPainter, rect: object, mode: object, state: object) -> None:
        name, size, color = self._args
        if mode == QIcon.Mode.Disabled:
            color = "text_off"
        ratio = painter.device().devicePixelRatioF()
        painter.drawPixmap(rect, pixmap(name, size, color, ratio))  # type: ignore[call-overload]

    def pixmap(self, size: QSize, mode: object, state: object) -> QPixmap:
        name, _, color = self._args
        return pixmap(name, size.width(), "text_off" if mode == QIcon.Mode.Disabled else color)

    def clone(self) -> QIconEngine:
        return _Engine(*self._args)


def icon(name: str, size: int = 16, color: str = "text_soft") -> QIcon:
    """A `QIcon` for menus and actions, in a token's colour at the time of painting."""
    return QIcon(_Engine(name, size, color))
