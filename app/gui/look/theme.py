"""Colour: the only file that knows hex values.

Every colour on screen is a token of the table below, looked up by name at paint time, so a change
of theme is one new palette and one repaint. Another theme is one more table of the same names. The
state (which scheme, contrast, motion) is one `Theme` object; `token()` reads it. Contrast is
measured in tests/gui/test_look.py.
"""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication

Scheme = Literal["light", "dark"]
Wish = Literal["system", "light", "dark"]

# name: (light, dark)
TOKENS: dict[str, tuple[str, str]] = {
    "canvas": ("#FCFBF9", "#1D1C1B"),
    "side": ("#F3F1ED", "#171615"),
    "raised": ("#FFFFFF", "#272523"),
    "sunken": ("#F1EEE9", "#141312"),
    "hover": ("#ECE9E3", "#2B2927"),
    "press": ("#E2DED6", "#35322F"),
    "line": ("#E6E2DB", "#302D2A"),
    "line_strong": ("#CFC9BF", "#48443F"),
    "edge": ("#8B8478", "#7F796F"),
    "text": ("#24221F", "#E8E5DF"),
    "text_soft": ("#5C5850", "#B3ADA3"),
    "text_faint": ("#6A655C", "#979187"),
    "text_off": ("#A9A399", "#6A655D"),
    "accent": ("#4150B4", "#A6B0F4"),
    "accent_fill": ("#4150B4", "#5A67D0"),
    "on_fill": ("#FFFFFF", "#FFFFFF"),
    "accent_soft": ("#E7E9F7", "#2B2E49"),
    "accent_softer": ("#F1F2FA", "#232433"),
    "added": ("#086375", "#6DC8D4"),
    "added_bg": ("#D9EDF3", "#122A32"),
    "added_mark": ("#A3D5E0", "#18566A"),
    "lost": ("#A63C06", "#F49C68"),
    "lost_bg": ("#FBE8D6", "#3C2613"),
    "lost_mark": ("#F8C79F", "#7F4317"),
    "ok": ("#0A675A", "#74CBB8"),
    "ok_bg": ("#E3F1EE", "#172B27"),
    "warn": ("#7D5200", "#E2B65F"),
    "warn_bg": ("#FAF3E3", "#322815"),
    "hit": ("#FBE3A2", "#665016"),
    "kind_message": ("#6B665D", "#A39D93"),
    "kind_tool": ("#2C7FA6", "#7CC3EA"),
    "kind_flush": ("#0A7A6A", "#5FC2AC"),
    "kind_compaction": ("#976200", "#DDA63F"),
    "kind_eviction": ("#8C2F74", "#CF82BB"),
    "kind_memory": ("#4150B4", "#A6B0F4"),
    "scrim": ("#24221F", "#000000"),
    "ansi_red": ("#A8321A", "#F29A76"),
    "ansi_green": ("#2E6B1F", "#9CCB86"),
    "ansi_yellow": ("#7D5200", "#E2B65F"),
    "ansi_blue": ("#2B5A94", "#82B1DA"),
    "ansi_magenta": ("#863A72", "#D591C2"),
    "ansi_cyan": ("#0A675A", "#74CBB8"),
}

# Terminal colours, by their code 0 to 7; black and white become the well's own greys.
ANSI = (
    "text_faint", "ansi_red", "ansi_green", "ansi_yellow",
    "ansi_blue", "ansi_magenta", "ansi_cyan", "text_soft",
)  # fmt: skip

# High contrast: hairlines become outlines, soft ink becomes ink, soft accents become paper (the
# accent then stands as a 2 px outline, see `soft_outline`).
_CONTRAST = {
    "line": "edge",
    "line_strong": "edge",
    "text_soft": "text",
    "text_faint": "text",
    "accent_soft": "raised",
    "accent_softer": "raised",
}


class Theme(QObject):
    """What the window looks like now. `changed` fires after the palette has been set."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.wish: Wish = "system"
        self.scheme: Scheme = "light"
        self.contrast = False
        self.still = False  # reduce motion
        self.zoom = 1.0

    def choose(
        self,
        wish: Wish | None = None,
        *,
        contrast: bool | None = None,
        still: bool | None = None,
        zoom: float | None = None,
    ) -> None:
        """Take over a person's settings; `None` leaves one as it is."""
        self.wish = self.wish if wish is None else wish
        self.contrast = self.contrast if contrast is None else contrast
        self.still = self.still if still is None else still
        self.zoom = self.zoom if zoom is None else zoom
        self.refresh()

    def refresh(self) -> None:
        """Look again at the system and dress the application."""
        self.scheme = system_scheme() if self.wish == "system" else self.wish
        app = QApplication.instance()
        if isinstance(app, QApplication):
            app.setPalette(palette_for(self.scheme, self.contrast))
            # Setting it again resets fonts that widgets chose for themselves: only when it differs.
            if app.styleSheet() != (sheet := style_sheet()):
                app.setStyleSheet(sheet)
        self.changed.emit()
        if isinstance(app, QApplication):
            for window in app.topLevelWidgets():
                window.update()


_theme: Theme | None = None


def theme() -> Theme:
    """The one theme of this process."""
    global _theme
    if _theme is None:
        _theme = Theme()
    return _theme


def install(app: QApplication, wish: Wish = "system") -> Theme:
    """Dress `app`: Fusion, palette, style sheet; follow the system from now on."""
    app.setStyle("Fusion")
    one = theme()
    hints = app.styleHints()
    hints.colorSchemeChanged.connect(one.refresh)
    one.choose(wish)
    return one


def system_scheme() -> Scheme:
    """What the system wants; by the palette's lightness where it does not say."""
    hints = QGuiApplication.styleHints()
    said = hints.colorScheme() if hints else Qt.ColorScheme.Unknown
    if said == Qt.ColorScheme.Dark:
        return "dark"
    return "light"


def token(name: str, alpha: float = 1.0) -> QColor:
    """The colour of a token now. `alpha` below 1 only for the uses look.md lists."""
    now = theme()
    color = color_of(name, now.scheme, now.contrast)
    if alpha < 1.0 and not now.contrast:
        color.setAlphaF(alpha)
    return color


def color_of(name: str, scheme: Scheme, contrast: bool = False) -> QColor:
    """The colour of a token in a theme; pure."""
    if contrast:
        name = _CONTRAST.get(name, name)
    return QColor(TOKENS[name][scheme == "dark"])


def soft_outline() -> bool:
    """Whether what is selected needs a 2 px accent outline instead of a soft ground."""
    return theme().contrast


def duration(milliseconds: int) -> int:
    """How long a movement takes: 0 for people who want none."""
    return 0 if theme().still else milliseconds


def palette_for(scheme: Scheme, contrast: bool = False) -> QPalette:
    """Qt's palette made of tokens; pure, so that it can be tested without a system."""

    def c(name: str) -> QColor:
        return color_of(name, scheme, contrast)

    out = QPalette()
    role = QPalette.ColorRole
    for name, roles in {
        "canvas": (role.Window, role.AlternateBase),
        "raised": (role.Base, role.Button, role.ToolTipBase),
        "text": (role.WindowText, role.Text, role.ButtonText, role.ToolTipText),
        "accent_fill": (role.Highlight, role.Accent),
        "on_fill": (role.HighlightedText, role.BrightText),
        "accent": (role.Link, role.LinkVisited),
        "text_faint": (role.PlaceholderText,),
        "hover": (role.Midlight,),
        "line": (role.Light,),
        "line_strong": (role.Mid,),
        "edge": (role.Dark,),
    }.items():
        for one in roles:
            out.setColor(one, c(name))
    for one in (role.WindowText, role.Text, role.ButtonText, role.PlaceholderText):
        out.setColor(QPalette.ColorGroup.Disabled, one, c("text_off"))
    return out


def style_sheet() -> str:
    """Scroll bars and tool tips; all else is painted (a `Field` paints its own ground below)."""
    c = {name: token(name).name() for name in ("press", "line_strong", "raised", "text", "line")}
    return f"""
QScrollBar:vertical {{ width: 10px; background: transparent; margin: 0; }}
QScrollBar:horizontal {{ height: 10px; background: transparent; margin: 0; }}
QScrollBar::handle {{ background: {c["press"]}; border-radius: 3px; }}
QScrollBar::handle:vertical {{ margin: 2px; min-height: 32px; }}
QScrollBar::handle:horizontal {{ margin: 2px; min-width: 32px; }}
QScrollBar::handle:hover {{ background: {c["line_strong"]}; }}
QScrollBar::add-line, QScrollBar::sub-line {{ width: 0; height: 0; }}
QScrollBar::add-page, QScrollBar::sub-page {{ background: transparent; }}
Field {{ background: transparent; border: none; }}
QToolTip {{ background: {c["raised"]}; color: {c["text"]};
  border: 1px solid {c["line_strong"]}; padding: 4px 6px; }}
"""


def contrast_ratio(one: QColor, other: QColor) -> float:
    """WCAG 2.1 contrast of two opaque colours, 1 to 21."""

    def part(value: float) -> float:
        return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4

    def light(color: QColor) -> float:
        r, g, b = (part(v) for v in (color.redF(), color.greenF(), color.blueF()))
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    high, low = sorted((light(one), light(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)
