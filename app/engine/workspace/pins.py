"""What is pinned: lines, and whole sections. Pure.

A pin is a line of MEMORY.md, kept verbatim. A pinned heading pins its section: every line down to
the next heading of the same or a higher level. No proposal may drop or change a pinned line, and
none may add to, take from or reorder a pinned section; as a whole it may stand elsewhere. A pin
whose line the file no longer holds (a person took it out) holds nothing. What is a heading is said
by `blocks`: one inside a closed code fence is none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from app.engine.workspace.blocks import blocks


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
    headings = [block for block in blocks(lines) if block.kind == "heading"] if pins else []
    for at, heading in enumerate(headings):
        if lines[heading.start] in pins:
            later = (other.start for other in headings[at + 1 :] if other.level <= heading.level)
            yield heading.start, next(later, len(lines))


def _short(line: str) -> str:
    return " ".join(line.split())[:80]
