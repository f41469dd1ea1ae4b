"""Where a person has been: back and forward over targets. Pure."""

from __future__ import annotations

from app.gui.widgets.pane import Target

MOST = 100


class Places:
    """A line of targets with a place in it, as in a browser."""

    def __init__(self) -> None:
        self._line: list[Target] = []
        self._at = -1

    def visit(self, target: Target) -> None:
        """Remember `target` as the newest; what lay ahead is forgotten."""
        if self._line and self._line[self._at] == target:
            return
        self._line = [*self._line[: self._at + 1], target][-MOST:]
        self._at = len(self._line) - 1

    def current(self) -> Target | None:
        return self._line[self._at] if self._line else None

    def can_back(self) -> bool:
        return self._at > 0

    def can_forward(self) -> bool:
        return self._at < len(self._line) - 1

    def step(self, by: int) -> Target | None:
        """Go back (-1) or forward (1); None at the end."""
        at = self._at + by
        if not 0 <= at < len(self._line):
            return None
        self._at = at
        return self._line[at]
