"""How the window looks by a person's choice: colours, contrast, size of the text."""

from __future__ import annotations

from app.gui.look.theme import Wish, theme
from app.gui.window.layout_state import LayoutState


class Appearance:
    """Puts the choices of a state into force, and keeps there what is chosen."""

    def __init__(self, state: LayoutState) -> None:
        self._state = state
        theme().choose(
            state.theme if state.theme in ("light", "dark") else "system",  # type: ignore[arg-type]
            contrast=state.contrast,
            zoom=state.zoom,
        )

    def choose_theme(self, wish: Wish) -> None:
        """Light, dark, or as the system has it."""
        self._state.theme = wish
        theme().choose(wish)

    def toggle_contrast(self) -> None:
        """High contrast on or off."""
        self._state.contrast = not self._state.contrast
        theme().choose(contrast=self._state.contrast)

    def zoom(self, by: float) -> None:
        """Larger or smaller text; 0 goes back to the system's size."""
        now = 1.0 if not by else min(max(round(self._state.zoom + by, 2), 0.8), 2.0)
        self._state.zoom = now
        theme().choose(zoom=now)
