"""The blocks of a text are those that markdown-it finds in it, but for what is meant."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.rules_block.html_block import HTML_SEQUENCES
from markdown_it.token import Token

from app.engine.workspace.blocks import Lines, blocks
from tests.helpers.reviewing import BASE, CANDIDATE
from tests.unit.memory.test_realistic_changes import CHINESE, NESTED

MARKDOWN = MarkdownIt("commonmark", {"maxNesting": 10_000}).enable("table")
MARKDOWN.core.ruler.enableOnly(["normalize", "block"])
LEAVES = ("paragraph_open", "heading_open", "fence", "html_block")


def outside_quotes(tokens: list[Token]) -> Iterator[Token]:
    depth = 0
    for token in tokens:
        depth += (token.type == "blockquote_open") - (token.type == "blockquote_close")
        if not depth and token.map:
            yield token


def unclosed(token: Token, lines: list[str]) -> bool:
    """A fence or raw HTML that goes on only because nothing closes it."""
    first, end = token.map or (0, 0)
    if token.type == "fence":
        last = lines[end - 1].strip(" \t") if end - first > 1 else ""
        whole = not token.content or token.content.endswith("\n")
        inner = whole and token.content.count("\n") == end - first - 2
        return not (inner and last.startswith(token.markup) and not last.strip(token.markup[0]))
    if token.type == "html_block":
        closer = next(
            c for o, c, _ in HTML_SEQUENCES if o.search(token.content.lstrip(" \t").split("\n")[0])
        )
        return not closer.search("") and not closer.search(token.content)
    return False


def parsed(text: str) -> tuple[list[Token], set[int]]:
    """Tokens of a text in which every mark that nothing closes is a rule, and those lines."""
    lines, marks = text.split("\n"), set[int]()
    while True:
        tokens = MARKDOWN.parse("\n".join(lines))
        bad = [t.map[0] for t in outside_quotes(tokens) if t.map and unclosed(t, lines)]
        if not bad:
            return tokens, marks
        marks.add(bad[0])
        lines[bad[0]] = re.sub(r"(?:`{3,}|~{3,}|<).*", "___", lines[bad[0]])


def expected(text: str) -> list[Lines]:
    """What markdown-it says, in the terms of `blocks`."""
    tokens, marks = parsed(text)
    told = list(outside_quotes(tokens))
    lines = text.split("\n")
    found: dict[int, Lines] = {}
    for at, token in enumerate(told):
        first, end = token.map or (0, 0)
        if token.type == "list_item_open":
            leaf = next(
                (t for t in told[at + 1 :] if not t.type.endswith(("list_open", "item_open"))), None
            )
            own = leaf is not None and leaf.type in LEAVES and leaf.map[0] == first
            found[first] = Lines("bullet", first, leaf.map[1] if own else first + 1)
        elif first in found and found[first].kind == "bullet" and token.type != "table_open":
            continue
        elif token.type == "heading_open":
            found[first] = Lines("heading", first, end, int(token.tag[1]))
        elif token.type == "fence":
            found[first] = Lines("fence", first, end)
        elif token.type == "html_block" and token.content.lstrip().startswith("<!--"):
            found[first] = Lines("comment", first, end)
        elif token.type == "hr":
            found[first] = Lines("text" if first in marks else "rule", first, end)
        elif token.type == "table_open":
            for row in range(first, end):
                found.setdefault(row, Lines("table", row, row + 1))
    made: list[Lines] = []
    at = 0
    while at < len(lines):
        plain = Lines("text" if lines[at].strip() else "blank", at, at + 1)
        made.append(found.get(at, plain))
        at = made[-1].end
    return made


MARKS = ["", "- ", "* ", "+ ", "1. ", "2) ", "12345. ", "-   ", "-\t", "-     ", "- [ ] ", "- [x] "]
INDENTS = ["", "", "", " ", "  ", "   ", "    ", "     ", "      ", "\t", "        "]
BODIES = [
    "tea", "tea", "some words", "**bold**", "茶 | 水", "\\# no", "1986\\. a", "2026. year", "",
    "# one", "## two ##", "#none", "####### seven", "#", "===", "---", "=", "-",
    "***", "- - -", "_ _ _", "```", "```py", "````", "``` `x`", "~~~", "~~~~ a",
    "| a | b |", "|---|---|", "a | b", "---|:-:", "|--|", "| a \\| b |",
    "> quoted", "> # loud", ">", "> - in", "[a]: /tea", "[a]: /tea 'x'",
    "<!-- a -->", "<!-- b", "c -->", "<div>", "</div>", "<b>", "<b> bold", "<pre>", "</pre>",
    "<?x", "?>", "<!X",
]  # fmt: skip
LINE = st.one_of(
    st.just(""),
    st.just("  "),
    st.builds("{}{}{}{}".format, *map(st.sampled_from, (INDENTS, MARKS, MARKS[:3], BODIES))),
    st.builds("{}{}".format, st.sampled_from(INDENTS), st.sampled_from(BODIES)),
)


@settings(max_examples=1500, deadline=None)
@given(st.lists(LINE, max_size=14).map("\n".join))
def test_they_are_those_of_markdown_it(text: str) -> None:
    assert blocks(text.split("\n")) == expected(text)


PROSE = """---
title: notes
---
A heading
over two lines
===

- [ ] water the plants
  lazily
goes on
- nested
    - deep
        - deeper

  a second paragraph
  # a heading in an item
1. one
\t* two

> said Ines
> - of Bo
lazily

    indented code

<div>
- no bullet
</div>

<!-- palimpsest:saved -->
## Saved
- a fact
<!-- /palimpsest:saved -->
<!-- a comment

## of some lines -->
* * *
- ```
  # in a fence
  ```
| no | table |
"""


@pytest.mark.parametrize("text", [BASE, CANDIDATE, CHINESE, NESTED, PROSE])
def test_they_are_in_files_as_people_write_them(text: str) -> None:
    assert blocks(text.split("\n")) == expected(text)


def told(text: str) -> list[tuple[str, int, int, int]]:
    return [tuple(block) for block in blocks(text.split("\n")) if block.kind != "blank"]


def test_underlined_headings_have_their_level_and_rules_are_no_facts() -> None:
    assert told("One\n===\n\nTwo\nand more\n---\n\n---\n- - -") == [
        ("heading", 0, 2, 1), ("heading", 3, 6, 2), ("rule", 7, 8, 0), ("rule", 8, 9, 0),
    ]  # fmt: skip


@pytest.mark.parametrize("mark", ["```", "~~~~", "<!-- never", "<pre>", "<?x"])
def test_what_nothing_closes_hides_nothing(mark: str) -> None:
    assert told(f"- one\n{mark}\n# Still\n- two") == [
        ("bullet", 0, 1, 0), ("text", 1, 2, 0), ("heading", 2, 3, 1), ("bullet", 3, 4, 0),
    ]  # fmt: skip
    assert [kind for kind, *_ in told(f"- one\n\n  {mark}\n  two\n# Out\n{mark}")] == [
        "bullet", "text", "text", "heading", "text",
    ]  # fmt: skip


def test_a_fence_in_a_list_item_ends_where_it_is_closed_there() -> None:
    assert told("- ```\n  # no\n  ```\n- a\n\n  ~~~\n  - b\n  ~~~\n# Yes") == [
        ("bullet", 0, 3, 0), ("bullet", 3, 4, 0), ("fence", 5, 8, 0), ("heading", 8, 9, 1),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "line", ["  ```py", "  <!-- a", "  <pre>", "> <pre>", "- ```", "a | b", "["]
)
def test_a_hundred_thousand_marks_without_an_end_are_read_in_one_pass(line: str) -> None:
    assert len(blocks(["- one", "", *([line] * 100_000)])) == 100_002  # else it never ends
