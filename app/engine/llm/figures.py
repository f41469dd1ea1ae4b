"""The numbers in a model server's complaint.

Servers put them into sentences, each in its own way: how many tokens were asked for, how large the
window is, how long to wait. What is not named is None; a number is never guessed from one alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_N = r"(\d[\d,]*)"
_REQUESTED = tuple(
    re.compile(p)
    for p in (
        rf"total of (?:at least )?{_N}",
        rf"\brequested:? {_N} tokens",
        rf"\brequested:? {_N}",
        rf"resulted in (?:about )?{_N}",
        rf"\brequest \({_N} tokens",
        rf"keep the first {_N}",
        rf"(?:contains?|has) (?:at least |about )?{_N} (?:input |prompt )?tokens",
        rf"\b(?:input|prompt)(?: length)?(?: is too long)?:? \(?{_N}",
    )
)
_WINDOW = tuple(
    re.compile(p)
    for p in (
        rf"context length of only {_N}",
        rf"maximum context(?: length| size| window)?(?: is|:| of)? ?{_N}",
        rf"token limit:? ?{_N}",
        rf"\[\s*1\s*,\s*{_N}\s*\]",
        rf"maximum (?:allowed )?input length(?: is|:| of)? ?\(?{_N}",
        rf"{_N}(?: tokens?)? maximum",
        rf"context (?:length|size|window|limit)[^\d\n]{{0,40}}{_N}",
        rf"(?:limit|maximum) (?:is|of) {_N}",
    )
)


MOST = 1 << 40  # no server counts more tokens, whatever it says
SMALLEST = 128  # tokens; a window that is named and smaller is the number of something else
_WAIT = re.compile(r"(?:try again in|wait)\s+([\d.]+)\s*(ms|milliseconds?|s|sec\w*|m|min\w*)\b")


def numbers(message: str) -> tuple[int | None, int | None]:
    """(tokens requested, window) that a message names; None for what it does not name."""
    text = message.lower()
    requested, window = _first(_REQUESTED, text), _first(_WINDOW, text)
    if requested is not None and requested == window:
        requested = None
    if requested is None or window is None:
        every = sorted({_plain(n) for n in re.findall(_N, text) if _plain(n) >= 16})
        # Two numbers in a complaint about size: the larger one is what was asked for.
        if len(every) == 2 and (requested, window) != (None, None):
            other = every[0] if every[1] in (requested, window) else every[1]
            requested, window = (other, window) if requested is None else (requested, other)
        elif len(every) == 2:
            window, requested = every
    if requested is not None and window is not None and requested < window // 2:
        requested = None  # the number of something else: of the output, of the messages
    return requested, window


def tokens_or_none(value: object) -> int | None:
    """A count of tokens as a server gives it; 0, text and nonsense are none."""
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 < value < MOST else None


def _first(patterns: Sequence[re.Pattern[str]], text: str) -> int | None:
    for pattern in patterns:
        found = pattern.search(text)
        if found:
            return _plain(found.group(1)) or None
    return None


def _plain(digits: str) -> int:
    plain = digits.replace(",", "")
    return int(plain or 0) if len(plain) < 13 else 0


def wait_named(message: str) -> float | None:
    """Seconds a message asks to wait."""
    found = _WAIT.search(message.lower())
    if not found:
        return None
    unit = found.group(2)
    factor = 0.001 if unit.startswith(("ms", "milli")) else 60 if unit.startswith("m") else 1
    value = seconds(found.group(1).rstrip("."))
    return None if value is None else value * factor


def seconds(value: object) -> float | None:
    """A header's number of seconds."""
    try:
        seconds = float(str(value))
    except ValueError:
        return None
    return seconds if 0 <= seconds < 1e6 else None
