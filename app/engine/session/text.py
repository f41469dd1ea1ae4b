"""Cutting texts without parting what is read as one character."""

from __future__ import annotations

import unicodedata

_JOINER = "\u200d"


def cut_text(text: str, limit: int) -> tuple[str, int]:
    """The first `limit` characters, or a few fewer so that no cluster is parted; and how many there
    are in all, 0 when nothing was cut."""
    if len(text) <= limit:
        return text, 0
    end = limit
    while end > max(0, limit - 32) and _belongs_to_previous(text, end):
        end -= 1
    return text[:end], len(text)


def _belongs_to_previous(text: str, at: int) -> bool:
    here, previous = text[at], text[at - 1]
    return (
        unicodedata.combining(here) != 0
        or here == _JOINER
        or previous == _JOINER
        or "\ufe00" <= here <= "\ufe0f"  # variation selectors
        or "\U0001f3fb" <= here <= "\U0001f3ff"  # skin tones
        or ("\U0001f1e6" <= here <= "\U0001f1ff" and "\U0001f1e6" <= previous <= "\U0001f1ff")
        or (previous == "\r" and here == "\n")
    )
