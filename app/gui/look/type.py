"""Type: the few sizes and weights there are, as ratios of the application's font.

Roles follow look.md section 3. The system says which family; only where it names none (a bare X
server gives Qt's "Sans Serif") an installed text face is preferred. Sizes follow the zoom setting.
Figures that are compared ask for `tabular=True`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

from PySide6.QtGui import QFont, QFontDatabase, QFontInfo, QFontMetricsF
from PySide6.QtWidgets import QApplication

from app.gui.look.theme import theme

Role = Literal["display", "title", "head", "read", "body", "small", "tiny", "code"]

RATIOS: dict[str, float] = {
    "display": 1.85,
    "title": 1.31,
    "head": 1.08,
    "read": 1.08,
    "body": 1.0,
    "small": 0.92,
    "tiny": 0.85,
    "code": 0.94,
}
WEIGHTS: dict[str, int] = {"display": 600, "title": 600, "head": 600}
STEPS: dict[str, float] = {"read": 1.5, "small": 1.45, "code": 1.55}

SMALLEST_BODY = 13  # px; Qt's own default of 9 pt is what no system ever chose
_GENERIC = {"", "sans", "sans serif", "sans-serif"}
_TEXT_FACES = ("Inter", "Cantarell", "Noto Sans", "Ubuntu", "DejaVu Sans")
_CHINESE_FACES = ("Noto Sans CJK SC", "Source Han Sans SC", "WenQuanYi Micro Hei")

_base: tuple[tuple[str, ...], float] = ((), float(SMALLEST_BODY))


def install(app: QApplication) -> None:
    """Read the system's font once and make it the base of all roles."""
    global _base
    system = QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont)
    families = [system.family()]
    if system.family().lower() in _GENERIC:
        known = set(QFontDatabase.families())
        families = [f for f in _TEXT_FACES if f in known][:1] or families
        # Without a word from the system, Chinese would be drawn with Japanese shapes.
        families += [f for f in _CHINESE_FACES if f in known][:1]
    size = max(float(QFontInfo(system).pixelSize()), float(SMALLEST_BODY))
    _base = (tuple(families), size)
    _made.cache_clear()
    app.setFont(font("body"))
    theme().changed.connect(_follow_zoom)


def _follow_zoom() -> None:
    app = QApplication.instance()
    if isinstance(app, QApplication) and app.font() != font("body"):
        app.setFont(font("body"))


def body_pixels() -> float:
    """Size of body text in px, zoom included."""
    return _base[1] * theme().zoom


def font(role: Role = "body", weight: int | None = None, *, tabular: bool = False) -> QFont:
    """The font of a role. `weight` is 400, 500 or 600; the role knows its own."""
    return QFont(_made(role, weight or WEIGHTS.get(role, 400), tabular, _base, theme().zoom))


def code_font(neighbour: Role = "body", weight: int = 400) -> QFont:
    """The fixed font at 0.94 of what stands beside it."""
    made = font("code", weight)
    made.setPixelSize(max(round(body_pixels() * RATIOS[neighbour] * RATIOS["code"]), 11))
    return made


def line_step(role: Role, of: QFont | None = None) -> int:
    """Height of a text line in px, the same for every script."""
    used = of or font(role)
    return round(used.pixelSize() * STEPS.get(role, 1.4))


def row_height(least: int, lines: int = 1) -> int:
    """A row's height: the table's minimum, or what a large font needs."""
    height = QFontMetricsF(font("body")).height()
    if lines > 1:
        height += QFontMetricsF(font("small")).height() * (lines - 1) + 3
    return max(least, round(height + 12))


@lru_cache(maxsize=128)
def _made(
    role: str, weight: int, tabular: bool, base: tuple[tuple[str, ...], float], zoom: float
) -> QFont:
    if role == "code":
        made = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
        # "monospace" is an alias that a list of families would skip: name what it stands for.
        families = [QFontInfo(made).family(), *[f for f in _CHINESE_FACES if f in base[0]]]
        made.setFamilies(families)
    else:
        made = QFont()
        if base[0]:
            made.setFamilies(list(base[0]))
    made.setPixelSize(max(round(base[1] * zoom * RATIOS[role]), 11))
    made.setWeight(QFont.Weight(weight))
    if tabular:
        made.setFeature(QFont.Tag("tnum"), 1)
    return made
