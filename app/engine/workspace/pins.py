"""What is pinned: lines, and whole sections. Pure.

A pin is a line of MEMORY.md, kept verbatim. A pinned heading pins its section: every line down to
the next heading of the same or a higher level. No proposal may drop or change a pinned line, and
none may add to, take from or reorder a pinned section; as a whole it may stand elsewhere. A pin
whose line the file no longer holds (a person took it out) holds nothing. A heading inside a closed
code fence is no heading.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]|$)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


def pinned_lines(text: str, pins: Collection[str]) -> tuple[int, ...]:
    """The 1-based numbers of the lines of `text` that are pinned, alone or with their section."""
    lines, wanted = _lines(text), set(pins)
    found = {n for n, line in enumerate(lines) if line in wanted}
    for start, end in _sections(lines, wanted):
        found.update(range(start, end))
    return tuple(n + 1 for n in sorted(found) if lines[n])


def section_of(text: str, line: str, pins: Collection[str]) -> str:
    """The pinned heading whose section holds `line`; "" when it is in none."""
    lines, wanted = _lines(text), set(pins)
    for start, end in _sections(lines, wanted):
        if line.rstrip() in lines[start + 1 : end]:
            return lines[start]
    return ""


def broken(base: str, text: str, pins: Collection[str]) -> str:
    """What `text` would do to a pin that `base` keeps, in a sentence; "" when all of them hold."""
    old, new = _lines(base), _lines(text)
    present = {line.strip() for line in new}
    for n in pinned_lines(base, pins):
        if old[n - 1].strip() not in present:
            return f"A pinned line would be lost: {_short(old[n - 1])}"
    before, after = _bodies(old, set(pins)), _bodies(new, set(pins))
    for heading, body in before.items():
        now = after.get(heading, [])
        more = next((line for line in now if line not in body), "")
        if more:
            return f"A line would come into the pinned section “{heading}”: {_short(more)}"
        if now != body:
            return f"The lines of the pinned section “{heading}” would be moved about."
    return ""


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.split("\n")]


def _bodies(lines: Sequence[str], pins: Collection[str]) -> dict[str, list[str]]:
    """Pinned heading -> the lines of its section that are not blank."""
    found: dict[str, list[str]] = {}
    for start, end in _sections(lines, pins):
        body = [line for line in lines[start + 1 : end] if line]
        found.setdefault(lines[start], []).extend(body)
    return found


def _sections(lines: Sequence[str], pins: Collection[str]) -> Iterator[tuple[int, int]]:
    """First line and end (0-based, excluded) of each pinned section."""
    headings = list(_headings(lines)) if any(_HEADING.match(pin) for pin in pins) else []
    for at, (start, level) in enumerate(headings):
        if lines[start] in pins:
            later = (line for line, other in headings[at + 1 :] if other <= level)
            yield start, next(later, len(lines))


def _headings(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Line and level of each heading. A fence that nothing closes hides no heading."""
    at = 0
    never_closed: dict[str, int] = {}  # a fence's character -> the least length without a closing
    while at < len(lines):
        if (fence := _FENCE.match(lines[at])) is not None:
            mark = fence.group(1)
            if len(mark) < never_closed.get(mark[0], len(mark) + 1):
                end = _closing(lines, at, mark)
                at = max(at, end)
                if end < 0:
                    never_closed[mark[0]] = len(mark)
        elif (heading := _HEADING.match(lines[at])) is not None:
            yield at, len(heading.group(1))
        at += 1


def _closing(lines: Sequence[str], at: int, mark: str) -> int:
    """The line that closes a fence; -1 when nothing does."""
    for n in range(at + 1, len(lines)):
        bare = lines[n].strip()
        if len(bare) >= len(mark) and set(bare) == {mark[0]}:
            return n
    return -1


def _short(line: str) -> str:
    return " ".join(line.split())[:80]
