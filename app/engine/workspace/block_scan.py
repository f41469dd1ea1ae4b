"""The blocks of a large Markdown text in one pass over its lines.

The rules are those by which `blocks` reads what markdown-it found, followed line by line: that
takes a twentieth of the time, and of text that opens what it never closes it needs no more. A
property test holds both against each other.

Lists may be nested without end here. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Literal, NamedTuple

BlockKind = Literal[
    "heading", "bullet", "fence", "table", "comment", "rule", "text", "blank"
]  # fmt: skip

_Open = Literal["", "paragraph", "quote", "html"]

_HEADING = re.compile(r"(#{1,6})(?:[ \t]|$)")
_MARKER = re.compile(r"(?:[-*+]|\d{1,9}[.)])(?=[ \t]|$)")
_FENCE = re.compile(r"(`{3,})(?!.*`)|(~{3,})")
_RULE = re.compile(r"([-*_])(?:[ \t]*\1){2,}$")
_UNDERLINE = re.compile(r"(?:=+|-+)$")
_DELIMITERS = re.compile(r"\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?$")
_CELL = re.compile(r"(?<!\\)\|")
_DEFINITION = re.compile(
    r"\[(?!\s*\])(?:[^\[\]\\]|\\.)+\]:[ \t]*(?:<[^<>]*>|[^\s<]\S*)"
    r"(?:[ \t]+(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?$"
)
_BEGINS = {"#": _HEADING, "`": _FENCE, "~": _FENCE, "-": _RULE, "*": _RULE, "_": _RULE}
_OPENERS = frozenset("#`~>-*_+<0123456789")


class Lines(NamedTuple):
    """Lines `start` up to `end` (0-based, end excluded); `level` is that of a heading, else 0."""

    kind: BlockKind
    start: int
    end: int
    level: int = 0


def scan(lines: Sequence[str]) -> list[Lines]:
    """The blocks of a text given as its lines; they cover every line once, in order."""
    return _Scan(lines).run()


class _Item:
    """An open list item: its content's column, the sign of its mark, and what is known of the
    lines it holds."""

    def __init__(self, column: int, sign: str) -> None:
        self.column = column
        self.sign = sign
        self.end = -1  # its first line that it does not hold; -1 until somebody asks
        self.never_closed: dict[str, int] = {}  # fence character -> least length without a closer
        self.no_end: set[str] = set()  # raw HTML of these closers has no end any more


class _Scan:
    """One pass. `_open` is what the next line may go on with."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._found: list[Lines] = []
        self._items = [_Item(0, "")]  # the first stands for the text itself
        self._list = ""  # the sign of the list that the next line may go on with
        self._open: _Open = ""
        self._first = 0  # where in `_found` the open block begins
        self._joined = False  # its lines are those of the list item before
        self._lazy = False  # a quote's paragraph is open for a line without its mark
        self._empty_item = False  # the line before was a list mark and nothing else

    def run(self) -> list[Lines]:
        at = 0
        while at < len(self._lines):
            line = self._lines[at]
            if not line or line.isspace():
                self._blank(at)
                at += 1
                continue
            bare, column = _indent(line)
            if self._open and self._goes_on(at, bare, column):
                at += 1
                continue
            self._open, self._empty_item = "", False
            while column < self._items[-1].column:
                self._list = self._items.pop().sign
            at = self._begin(at, bare, column)
            self._list = ""
        return self._found

    def _blank(self, at: int) -> None:
        self._open = ""
        if self._empty_item:
            self._list = self._items.pop().sign
            self._empty_item = False
        self._found.append(Lines("blank", at, at + 1))

    # ------------------------------------------------------------------ what goes on

    def _goes_on(self, at: int, bare: str, column: int) -> bool:
        """Whether a line belongs to the open block; it is taken in then."""
        indent = column - self._items[-1].column
        if self._open == "html":
            if indent < 0:
                return False
        elif self._open == "quote" and bare[0] == ">" and indent >= 0:
            self._lazy = _quotes_text(bare)
        elif self._open == "quote" and not self._lazy:
            return False
        elif self._open == "paragraph" and 0 <= indent < 4 and _UNDERLINE.match(bare):
            self._underlined(at, 1 if bare[0] == "=" else 2)
            return True
        elif indent < 4 and self._interrupts(at, bare, column):
            return False
        self._take(at)
        return True

    def _take(self, at: int) -> None:
        if self._joined:
            self._found[-1] = self._found[-1]._replace(end=at + 1)
        else:
            self._found.append(Lines("text", at, at + 1))

    def _underlined(self, at: int, level: int) -> None:
        """The open paragraph was a heading all along, unless it is a list item's."""
        if self._joined:
            self._take(at)
        else:
            start = self._found[self._first].start
            self._found[self._first :] = [Lines("heading", start, at + 1, level)]
        self._open = ""

    def _interrupts(self, at: int, bare: str, column: int) -> bool:
        """Whether a line that is not indented as code ends the open paragraph."""
        paragraph, inside = self._open == "paragraph", column >= self._items[-1].column
        if paragraph and "|" in bare and self._is_table(at, bare):
            return True
        if bare[0] not in _OPENERS:
            return False
        if _starts_block(bare):
            return True
        marker = _MARKER.match(bare)
        if marker is None or self._is_outdented_far(column):
            return False
        if not (paragraph and inside):
            return True
        return len(marker[0]) < len(bare) and (not bare[0].isdigit() or int(marker[0][:-1]) == 1)

    def _is_outdented_far(self, column: int) -> bool:
        """A list mark left of the item's content, but four columns into the one around it."""
        if len(self._items) < 2:
            return False
        return self._items[-2].column + 4 <= column < self._items[-1].column

    # ------------------------------------------------------------------ what begins

    def _begin(self, at: int, bare: str, column: int) -> int:
        """Take in the block that begins at a line; the line after it."""
        item = False
        while True:
            indent = column - self._items[-1].column
            marker = _MARKER.match(bare)
            next_item = marker is not None and marker[0][-1] == self._list
            if indent < 4 and "|" in bare and not next_item and self._is_table(at, bare):
                return self._table(at, item=item)
            if indent >= 4:
                return self._put("text", at, at + 1, item=item)
            if marker is None or _RULE.match(bare):
                break
            item, self._list = True, ""
            bare, column = self._into_item(bare, column, marker)
            if not bare:
                self._empty_item = True
                return self._put("bullet", at, at + 1, item=True)
        return self._leaf(at, bare, item=item)

    def _into_item(self, bare: str, column: int, marker: re.Match[str]) -> tuple[str, int]:
        """Open the item that a mark begins: its content on that line, and its column."""
        rest = bare[marker.end() :]
        content = rest.lstrip(" \t")
        start = column + marker.end()
        after = start + _width(rest[: len(rest) - len(content)], start)
        space = after - start
        indent = space if content and space <= 4 else 1
        self._items.append(_Item(start + indent, marker[0][-1]))
        return content, after

    def _leaf(self, at: int, bare: str, *, item: bool) -> int:
        """Rule, heading, fence, quote, raw HTML, definition; else a paragraph."""
        first = bare[0]
        if _RULE.match(bare):
            return self._put("rule", at, at + 1, item=item)
        if heading := _HEADING.match(bare):
            return self._put("heading", at, at + 1, item=item, level=len(heading[1]))
        if fence := _FENCE.match(bare):
            end = self._fence_end(at, fence[0])
            return self._put("fence" if end else "text", at, end or at + 1, item=item)
        if first == "<" and (html := _html(bare)) is not None:
            return self._raw(at, bare, html.closer, item=item)
        if first == ">":
            self._go_on("quote", joined=False)
            self._lazy = _quotes_text(bare)
        elif not (first == "[" and _DEFINITION.match(bare)):
            self._go_on("paragraph", joined=item)
        return self._put("text", at, at + 1, item=item)

    def _go_on(self, what: _Open, *, joined: bool) -> None:
        """The block put next is open for more lines; `joined`: they are the list item's."""
        self._open, self._first, self._joined = what, len(self._found), joined

    def _put(self, kind: BlockKind, at: int, end: int, *, item: bool, level: int = 0) -> int:
        self._found.append(Lines("bullet", at, end) if item else Lines(kind, at, end, level))
        return end

    # ------------------------------------------------------------------ what has an end

    def _table(self, at: int, *, item: bool) -> int:
        """A table's rows: what follows the delimiters up to a blank line or another block."""
        self._put("table", at, at + 1, item=item)
        self._found.append(Lines("table", at + 1, at + 2))
        for row in range(at + 2, len(self._lines)):
            bare, column = _indent(self._lines[row])
            indent = column - self._items[-1].column
            if not bare or not 0 <= indent < 4 or _starts_block(bare) or _MARKER.match(bare):
                return row
            self._found.append(Lines("table", row, row + 1))
        return len(self._lines)

    def _is_table(self, at: int, bare: str) -> bool:
        """Whether a line and the one below it are head and delimiters of a table."""
        if at + 1 >= len(self._lines):
            return False
        below, column = _indent(self._lines[at + 1])
        if not 0 <= column - self._items[-1].column < 4 or not _DELIMITERS.match(below):
            return False
        if len(below) < 2 or (below[0] == "-" and below[1] in " \t"):
            return False
        return len(_cells(bare)) == len(_cells(below))

    def _fence_end(self, at: int, mark: str) -> int:
        """The line after a fence's closing mark; 0 when there is none."""
        item = self._items[-1]
        if len(mark) >= item.never_closed.get(mark[0], len(mark) + 1):
            return 0
        for row in range(at + 1, self._end_of(item, at)):
            bare, column = _indent(self._lines[row])
            closes = len(bare) >= len(mark) and bare[:3] == mark[:3] and not bare.strip(mark[0])
            if closes and column - item.column < 4:
                return row + 1
        item.never_closed[mark[0]] = len(mark)
        return 0

    def _raw(self, at: int, bare: str, closer: re.Pattern[str], *, item: bool) -> int:
        """Raw HTML: to the line that has its closer, or to the next blank line."""
        comment = bare.startswith("<!--")
        if closer.search(""):
            self._go_on("html", joined=item)
            return self._put("text", at, at + 1, item=item)
        end = at + 1 if closer.search(bare) else self._closed(at, closer)
        if comment or item or not end:
            return self._put("comment" if comment and end else "text", at, end or at + 1, item=item)
        for row in range(at, end):
            self._found.append(Lines("text" if self._lines[row].strip() else "blank", row, row + 1))
        return end

    def _closed(self, at: int, closer: re.Pattern[str]) -> int:
        item = self._items[-1]
        if closer.pattern not in item.no_end:
            for row in range(at + 1, self._end_of(item, at)):
                if closer.search(self._lines[row]):
                    return row + 1
            item.no_end.add(closer.pattern)
        return 0

    def _end_of(self, item: _Item, at: int) -> int:
        """The first line after `at` that an open item does not hold."""
        if item.end < 0:
            item.end = len(self._lines)
            if item.column:
                for row in range(at + 1, len(self._lines)):
                    bare, column = _indent(self._lines[row])
                    if bare and column < item.column:
                        item.end = row
                        break
        return item.end


# ---------------------------------------------------------------------------- one line


def _indent(line: str) -> tuple[str, int]:
    """A line without the white space around it, and the column at which it begins."""
    bare = line.lstrip(" \t")
    return bare.rstrip(), _width(line[: len(line) - len(bare)], 0)


def _width(space: str, column: int) -> int:
    """The columns that white space takes after `column`; a tab goes on to the next fourth."""
    if "\t" not in space:
        return len(space)
    return len((" " * (column % 4) + space).expandtabs(4)) - column % 4


def _cells(row: str) -> list[str]:
    cells = _CELL.split(row)
    if not cells[0]:
        cells = cells[1:]
    return cells if cells and cells[-1] else cells[:-1]


def _starts_block(bare: str) -> bool:
    """Whether a line begins what ends a paragraph, list items and tables aside."""
    if bare[0] == "<":
        return (html := _html(bare)) is not None and html.interrupts
    pattern = _BEGINS.get(bare[0])
    return bare[0] == ">" or (pattern is not None and pattern.match(bare) is not None)


def _quotes_text(bare: str) -> bool:
    """Whether a quote's line ends in a paragraph, which a line without its mark may go on with."""
    inner = bare
    while inner.startswith(">"):
        inner = inner[1:].strip(" \t")
        while marker := _MARKER.match(inner):
            inner = inner[marker.end() :].strip(" \t")
    return bool(inner) and not _starts_block(inner)


class _Html(NamedTuple):
    """A kind of raw HTML: what begins it, what ends it, and whether it ends a paragraph."""

    opener: re.Pattern[str]
    closer: re.Pattern[str]
    interrupts: bool


@cache
def _kinds_of_html() -> tuple[_Html, ...]:
    from markdown_it.rules_block.html_block import HTML_SEQUENCES

    return tuple(_Html(*sequence) for sequence in HTML_SEQUENCES)


def _html(bare: str) -> _Html | None:
    """The kind of raw HTML that a line begins; None when it begins none."""
    return next((kind for kind in _kinds_of_html() if kind.opener.search(bare)), None)
