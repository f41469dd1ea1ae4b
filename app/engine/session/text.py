"""Cutting texts without parting what is read as one character."""

from __future__ import annotations

import unicodedata

_JOINER = "\u200d"
_VIRAMA = 9  # the combining class of what joins two consonants of an Indic script
_FLAGS = ("\U0001f1e6", "\U0001f1ff")  # two of these letters are one flag


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
        unicodedata.category(here)[0] == "M"  # marks: accents, vowel signs, variation selectors
        or here == _JOINER
        or previous == _JOINER
        or "\U0001f3fb" <= here <= "\U0001f3ff"  # skin tones
        or (unicodedata.combining(previous) == _VIRAMA and here.isalpha())
        or "\u1160" <= here <= "\u11ff"  # Hangul letters after the first of a syllable
        or _second_of_flag(text, at)
        or (previous == "\r" and here == "\n")
    )


def _second_of_flag(text: str, at: int) -> bool:
    """Whether an odd number of flag letters stands before the one at `at`."""
    low, high = _FLAGS
    if not low <= text[at] <= high:
        return False
    start = at
    while start and low <= text[start - 1] <= high:
        start -= 1
    return (at - start) % 2 == 1
