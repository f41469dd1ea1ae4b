"""Noticing that a server cut the prompt without a word.

Some servers drop the oldest messages, or the front of the prompt, and answer as if nothing were
wrong. Their own count gives them away (model-servers, section 4). A missing count is not evidence.
"""

from __future__ import annotations

from app.engine.llm.gauge import SHARE
from app.engine.records import Usage

NEAR = 0.01  # how near a count must be to half the window


def half_of(prompt: int, window: int) -> bool:
    """Whether a count is about half a window: what a prompt is cut to by some servers."""
    return abs(prompt - window / 2) <= max(2, NEAR * window)


class TruncationWatch:
    """Watches one model, request by request."""

    def __init__(self) -> None:
        self._last: tuple[int, int] | None = None  # (counted, reported) of the request before

    def seen(self, counted: int, expected: float, usage: Usage, window: int) -> str:
        """Why a prompt is suspected to have been cut, in a sentence; "" when it is not.

        `counted` is our own count of the request, `expected` the least this model makes of it.
        """
        if usage.prompt <= 0:
            return ""
        why = self._why(counted, expected, usage, window)
        if not why:
            self._last = (counted, usage.prompt)
        return why

    def _why(self, counted: int, expected: float, usage: Usage, window: int) -> str:
        count = f"{usage.prompt:,} of about {expected:,.0f} tokens"
        if usage.prompt < SHARE * expected:
            return f"The server read only {count}: it seems to cut long prompts."
        if window and expected > 0.6 * window:
            if half_of(usage.prompt, window):
                return f"The server read {count}, half of its window: it seems to cut prompts."
            if usage.completion and usage.prompt + usage.completion == window:
                return f"Prompt and answer fill the server's window of {window:,} tokens exactly."
        if self._last is not None:
            counted_before, before = self._last
            grew = counted > counted_before * 1.1 and counted - counted_before > 100
            if grew and usage.prompt <= before:
                return f"The server read {count}, no more than before: it seems to cut prompts."
        return ""
