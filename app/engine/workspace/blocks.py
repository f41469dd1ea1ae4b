"""Which lines of a Markdown text are what: the blocks that markdown-it finds, line by line.

Its blocks are read as a person decides about them, who sees lines:

* A fence, a comment or other raw HTML that nothing closes is one line of text: it must not hide
  the rest of a file (B86). The closing mark must stand in the same list item.
* A paragraph, a quote, indented code and raw HTML are single lines of `text`: each line is a
  decision of its own. What stands in a quote is not looked at.
* A list item is its first line with what begins there (paragraph, fence, HTML); what follows in it
  are blocks of their own. It is a bullet also where it begins with a heading.
* A line of white space of any script is blank, U+000A alone ends a line, and only link definitions
  of one line are known as such.

A text above `LARGE`, or one with many marks that nothing closes, is read by `block_scan`, which
knows the same rules: markdown-it takes a second for a megabyte. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from app.engine.workspace.block_scan import BlockKind as BlockKind
from app.engine.workspace.block_scan import Lines, scan

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

LARGE = 256 * 1024  # code points
_MOST_UNCLOSED = 4  # such marks: each has the text parsed once more
_DEEPEST = 100  # nested lists
_LEAVES = frozenset(("paragraph_open", "heading_open", "fence", "html_block"))
_UNCLOSED = re.compile(r"(?:`{3,}|~{3,}|<).*")


def blocks(lines: Sequence[str]) -> list[Lines]:
    """The blocks of a text given as its lines; they cover every line once, in order."""
    if sum(map(len, lines)) > LARGE:
        return scan(lines)
    found = parsed(lines)
    return scan(lines) if found is None else found


def parsed(lines: Sequence[str]) -> list[Lines] | None:
    """The blocks by markdown-it; None where too much is opened that nothing closes."""
    told = _tokens(lines)
    if told is None:
        return None
    tokens, marks = told
    starts: dict[int, Lines] = {}
    for at, token in enumerate(tokens):
        first, end = _place(token)
        if token.type == "list_item_open":
            starts[first] = _item(tokens, at)
        elif token.type == "table_open":
            for row in range(first, end):
                starts.setdefault(row, Lines("table", row, row + 1))
        elif first not in starts or starts[first].kind != "bullet":
            block = _leaf(token, first in marks)
            if block is not None:
                starts[first] = block
    found: list[Lines] = []
    at = 0
    while at < len(lines):
        plain = Lines("text" if lines[at].strip() else "blank", at, at + 1)
        found.append(starts.get(at, plain))
        at = found[-1].end
    return found


def _item(tokens: Sequence[Token], at: int) -> Lines:
    """A list item: its first line, with the block that begins on it."""
    first, _ = _place(tokens[at])
    for token in tokens[at + 1 :]:
        if not token.type.endswith(("list_open", "item_open")):
            start, end = _place(token)
            if token.type in _LEAVES and start == first:
                return Lines("bullet", first, end)
            break
    return Lines("bullet", first, first + 1)


def _leaf(token: Token, unclosed: bool) -> Lines | None:
    """A block that is more than lines of text; None for all else."""
    first, end = _place(token)
    if token.type == "heading_open":
        return Lines("heading", first, end, int(token.tag[1]))
    if token.type == "fence":
        return Lines("fence", first, end)
    if token.type == "html_block" and token.content.lstrip().startswith("<!--"):
        return Lines("comment", first, end)
    if token.type == "hr":
        return Lines("text" if unclosed else "rule", first, end)
    return None


# ---------------------------------------------------------------------------- markdown-it


def _tokens(lines: Sequence[str]) -> tuple[list[Token], set[int]] | None:
    """The tokens outside quotes, and the lines of marks that nothing closes.

    Such a mark takes in all that follows, so it is made a rule and the text parsed again.
    """
    # For markdown-it a lone U+000D ends a line, and white space of other scripts is text.
    text = ["" if line.isspace() else line.replace("\r", " ") for line in lines]
    marks = set[int]()
    while True:
        tokens = list(_outside_quotes(_markdown().parse("\n".join(text))))
        bad = next((_place(token)[0] for token in tokens if _is_unclosed(token, text)), None)
        if bad is None:
            return tokens, marks
        if len(marks) == _MOST_UNCLOSED:
            return None
        marks.add(bad)
        text[bad] = _UNCLOSED.sub("___", text[bad])


@cache
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt

    made = MarkdownIt("commonmark", {"maxNesting": _DEEPEST}).enable("table")
    made.core.ruler.enableOnly(["block"])
    return made


def _place(token: Token) -> tuple[int, int]:
    start, end = token.map or (0, 0)
    return start, end


def _outside_quotes(tokens: Sequence[Token]) -> Iterator[Token]:
    depth = 0
    for token in tokens:
        depth += (token.type == "blockquote_open") - (token.type == "blockquote_close")
        if not depth and token.map:
            yield token


def _is_unclosed(token: Token, lines: Sequence[str]) -> bool:
    """A fence or raw HTML that goes on only because nothing closes it."""
    first, end = _place(token)
    if token.type == "fence":
        last = lines[end - 1].strip(" \t") if end - first > 1 else ""
        whole = not token.content or token.content.endswith("\n")
        inner = whole and token.content.count("\n") == end - first - 2
        return not (inner and last.startswith(token.markup) and not last.strip(token.markup[0]))
    if token.type != "html_block":
        return False
    from markdown_it.rules_block.html_block import HTML_SEQUENCES

    begin = token.content.lstrip(" \t").split("\n")[0]
    closer = next(closer for opener, closer, _ in HTML_SEQUENCES if opener.search(begin))
    return not closer.search("") and not closer.search(token.content)
