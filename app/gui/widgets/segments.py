"""Markdown cut into blocks as it arrives, so that nothing is ever rendered twice as a whole.

Pure. A block is finished when the next one begins; fences are blocks of their own. What would
freeze a text widget is taken out here: a block over 8 kB is plain, a line over 10 kB is cut and
the rest kept aside (B87, B88).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

BLOCK_LIMIT = 8_000  # characters of one block that are still parsed
CODE_PIECE = 4_000  # characters of a fence that are coloured and written at once
LIST_LIMIT = 1_200  # characters of a list after which the next item begins a new block
LINE_LIMIT = 10_000  # characters of one line that are shown at once
LINE_SHOWN = 2_000  # of a longer one

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[ \t]*([^`\r\n]*)$")
_ITEM = re.compile(r"^ {0,3}(?:[-+*]|\d{1,9}[.)])(?:\s|$)")


@dataclass(frozen=True)
class Segment:
    """One finished block. `info` is a fence's info string; `cut` what a giant line hides."""

    kind: Literal["markdown", "code", "plain"]
    text: str
    info: str = ""
    cut: str = ""


class Segmenter:
    """Feed it fragments, take finished segments; `rest` is what stands unfinished."""

    def __init__(self) -> None:
        self._line: list[str] = []  # fragments of the line that is not ended yet
        self._line_size = 0
        self._lines: list[str] = []
        self._size = 0
        self._fence = ""
        self._info = ""
        self._blank = False
        self._out: list[Segment] = []

    def feed(self, text: str) -> list[Segment]:
        """Take `text`; the segments it finished."""
        parts = text.split("\n")
        for part in parts[:-1]:
            self._line.append(part)
            self._end_line("".join(self._line))
            self._line, self._line_size = [], 0
        if parts[-1]:
            self._line.append(parts[-1])
            self._line_size += len(parts[-1])
            self._end_early(self._line[0][0])
        return self._take()

    def close(self) -> list[Segment]:
        """The end of the text; whatever stood unfinished is a segment now."""
        if self._line:
            self._end_line("".join(self._line))
            self._line, self._line_size = [], 0
        self._emit()
        return self._take()

    @property
    def rest(self) -> str:
        """Unfinished text as it may be shown plainly: never more than a block and a line."""
        line = "".join(self._line) if self._line_size <= LINE_LIMIT else self._head_of_line()
        return "\n".join([*self._lines, line]) if self._lines else line

    def _head_of_line(self) -> str:
        head = "".join(self._line[:200])[:LINE_SHOWN]
        return head + "…"

    def _end_early(self, letter: str) -> None:
        """A paragraph is over as soon as the first letter after a blank line is no space."""
        item = bool(self._lines and _ITEM.match(self._lines[0]))
        if self._blank and not self._fence and not item and letter not in " \t\r":
            self._emit()

    def _end_line(self, line: str) -> None:
        line = line.rstrip("\r")
        if len(line) > LINE_LIMIT:
            self._emit()
            self._out.append(Segment("plain", line[:LINE_SHOWN], cut=line[LINE_SHOWN:]))
            return
        if self._fence:
            self._in_fence(line)
            return
        if not line.strip():
            self._blank = bool(self._lines)
            if self._lines:
                self._lines.append("")
            return
        if self._blank and not self._continues(line):
            self._emit()
        opened = _FENCE.match(line)
        if opened and not (self._lines and line[0] == " "):
            self._emit()
            self._fence, self._info = opened[1], opened[2].strip()
            return
        if self._size > LIST_LIMIT and self._next_item(line):
            self._emit()
        self._blank = False
        self._add(line)

    def _in_fence(self, line: str) -> None:
        bare = line.strip()
        if bare and set(bare) == {self._fence[0]} and len(bare) >= len(self._fence):
            self._emit()
            self._fence = self._info = ""
            return
        self._add(line)

    def _add(self, line: str) -> None:
        self._lines.append(line)
        self._size += len(line) + 1
        if self._size > (CODE_PIECE if self._fence else BLOCK_LIMIT):
            self._emit()

    def _next_item(self, line: str) -> bool:
        return bool(
            line[0] not in " \t"
            and _ITEM.match(line)
            and self._lines
            and _ITEM.match(self._lines[0])
        )

    def _continues(self, line: str) -> bool:
        if line[0] in " \t":
            return True
        return self._next_item(line)

    def _emit(self) -> None:
        text = "\n".join(self._lines)
        if self._fence:
            if text:
                self._out.append(Segment("code", text, self._info))
        elif text.strip():
            kind = "plain" if self._size > BLOCK_LIMIT else "markdown"
            self._out.append(Segment(kind, text.rstrip("\n")))
        self._lines, self._size, self._blank = [], 0, False

    def _take(self) -> list[Segment]:
        out, self._out = self._out, []
        return out


def segments(text: str) -> list[Segment]:
    """A whole text in segments."""
    cutter = Segmenter()
    return cutter.feed(text) + cutter.close()
