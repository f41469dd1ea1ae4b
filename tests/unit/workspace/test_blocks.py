"""The blocks of a text are those that markdown-it finds; one pass over the lines finds the same."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.engine.workspace.block_scan import scan
from app.engine.workspace.blocks import LARGE, blocks, parsed
from tests.helpers.reviewing import BASE, CANDIDATE
from tests.unit.memory.test_realistic_changes import CHINESE, NESTED

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
    st.sampled_from(["", "  ", "\u3000", "\r", "- tea\r", "some\rwords"]),
    st.builds("{}{}{}{}".format, *map(st.sampled_from, (INDENTS, MARKS, MARKS[:3], BODIES))),
    st.builds("{}{}".format, st.sampled_from(INDENTS), st.sampled_from(BODIES)),
)


@settings(max_examples=1500, deadline=None)
@given(st.lists(LINE, max_size=14).map("\n".join))
def test_one_pass_finds_those_of_markdown_it(text: str) -> None:
    found = parsed(text.split("\n"))
    assert found is None or found == scan(text.split("\n"))


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
def test_both_agree_on_files_as_people_write_them(text: str) -> None:
    assert parsed(text.split("\n")) == scan(text.split("\n"))


def test_large_texts_and_a_crowd_of_open_marks_are_read_in_one_pass() -> None:
    large = ["- tea", "", "One", "===", *(["some words"] * (LARGE // 10))]
    assert blocks(large) == scan(large)
    crowd = ["```py", "# One", "- tea"] * 20
    assert parsed(crowd) is None
    assert blocks(crowd) == scan(crowd)


def told(text: str) -> list[tuple[str, int, int, int]]:
    """What both readers say, without blanks."""
    found = parsed(text.split("\n"))
    assert found == scan(text.split("\n"))
    return [tuple(block) for block in found if block.kind != "blank"]


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
