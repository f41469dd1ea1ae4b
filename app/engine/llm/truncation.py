"""Noticing that a server cut the prompt without a word.

Some servers drop the oldest messages, or the front of the prompt, and answer as if nothing were
wrong. Their own count gives them away (model-servers, section 4). A missing count is not evidence.
"""

from __future__ import annotations

from collections.abc import Callable

from app.engine.llm.endpoint import Request
from app.engine.records import Usage

SHARE = 0.70  # reported below this share of our estimate: cut
NEAR = 0.01  # how near a count must be to half the window


def half_of(prompt: int, window: int) -> bool:
    """Whether a count is about half a window: what a prompt is cut to by some servers."""
    return abs(prompt - window / 2) <= max(2, NEAR * window)


class TruncationWatch:
    """Watches one model. `estimate` is our own count of a request, in tokens.

    The estimate is calibrated by what the server reported for requests that were fine.
    """

    def __init__(self, estimate: Callable[[Request], int]) -> None:
        self._estimate = estimate
        self._rate = 1.0
        self._last: tuple[int, int] | None = None  # (estimate, reported) of the request before

    def seen(self, request: Request, usage: Usage, window: int) -> str:
        """Why this prompt is suspected to have been cut, in a sentence; "" when it is not."""
        if usage.prompt <= 0:
            return ""
        raw = self._estimate(request)
        expected = raw * self._rate
        why = self._why(raw, expected, usage, window)
        if not why:
            if raw >= 200:  # short requests say more about the template than about the rate
                self._rate += 0.5 * (min(2.0, max(0.5, usage.prompt / raw)) - self._rate)
            self._last = (raw, usage.prompt)
        return why

    def _why(self, raw: int, expected: float, usage: Usage, window: int) -> str:
        count = f"{usage.prompt:,} of about {expected:,.0f} tokens"
        if usage.prompt < SHARE * expected:
            return f"The server read only {count}: it seems to cut long prompts."
        if window and expected > 0.6 * window:
            if half_of(usage.prompt, window):
                return f"The server read {count}, half of its window: it seems to cut prompts."
            if usage.completion and usage.prompt + usage.completion == window:
                return f"Prompt and answer fill the server's window of {window:,} tokens exactly."
        if self._last is not None:
            before_raw, before = self._last
            if raw > before_raw * 1.1 and raw - before_raw > 100 and usage.prompt <= before:
                return f"The server read {count}, no more than before: it seems to cut prompts."
        return ""
