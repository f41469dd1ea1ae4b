"""Changes of MEMORY.md as decisions a person can take one by one."""

from __future__ import annotations

import random
from typing import Any

import pytest

from app.engine.memory import alignment
from app.engine.memory import outline as outlines
from app.engine.memory.diff import changes, difference, word_marks
from app.engine.memory.outline import bullet_key, bullets, outline
from app.engine.memory.review import accept_all, resolved

BASE = """# Memory

## Prefs
- Likes tea
- Lives in Porto
- Works at Acme as an engineer
- Release 4.2 is frozen until 2026-06-10

## People
- Ines is the manager
- Bo is the designer
"""


def kinds(base: str, new: str) -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    return [(c.kind, c.before, c.after) for c in changes(base, new)]


def test_equal_texts_have_no_changes() -> None:
    assert changes(BASE, BASE) == ()


def test_each_bullet_of_a_replaced_block_is_a_decision_of_its_own() -> None:
    new = BASE.replace("tea", "green tea").replace("in Porto", "in Porto now")
    assert kinds(BASE, new) == [
        ("reworded", ("- Likes tea",), ("- Likes green tea",)),
        ("reworded", ("- Lives in Porto",), ("- Lives in Porto now",)),
    ]


def test_unlike_lines_are_a_drop_and_an_addition() -> None:
    new = BASE.replace("- Likes tea", "- The printer on floor two is broken")
    assert kinds(BASE, new) == [
        ("dropped", ("- Likes tea",), ()),
        ("added", (), ("- The printer on floor two is broken",)),
    ]


def test_merged_split_moved_and_renamed() -> None:
    merged = BASE.replace(
        "- Lives in Porto\n- Works at Acme as an engineer",
        "- Lives in Porto and works at Acme as an engineer",
    )
    assert [k for k, _, _ in kinds(BASE, merged)] == ["merged"]
    assert [k for k, _, _ in kinds(merged, BASE)] == ["split"]
    moved = BASE.replace("- Likes tea\n", "") + "- Likes tea\n"
    assert kinds(BASE, moved) == [("moved", ("- Likes tea",), ("- Likes tea",))]
    assert [c.came_from for c in changes(BASE, moved)] == ["Prefs"]
    renamed = BASE.replace("## Prefs", "## What she is fond of")
    assert [k for k, _, _ in kinds(BASE, renamed)] == ["section_renamed"]


def test_a_change_knows_its_places_and_its_section() -> None:
    new = BASE.replace("- Bo is the designer\n", "- Bo is the designer\n- Cy writes the manual\n")
    (change,) = changes(BASE, new)
    assert (change.n, change.section) == (1, "People")
    assert (change.base_line, change.result_line) == (0, 12)
    (change,) = changes(new, BASE)
    assert (change.kind, change.base_line, change.result_line) == ("dropped", 12, 0)


def test_blank_lines_ride_with_the_change_beside_them() -> None:
    new = BASE.rstrip("\n") + "\n\n## Tools\n\n- Uses a plotter"
    found = changes(BASE, new)
    assert [c.after for c in found] == [("## Tools",), ("- Uses a plotter",)]
    assert changes("a\n", "a") != ()


def test_headings_in_fences_are_no_headings_and_an_open_fence_hides_nothing() -> None:
    text = "```\n## no heading\n```\n## Real\n- one\n```py\n## Also real\n- two"
    assert [(b.kind, b.section) for b in outline(text)] == [
        ("fence", ""),
        ("heading", "Real"),
        ("bullet", "Real"),
        ("text", "Real"),
        ("heading", "Also real"),
        ("bullet", "Also real"),
    ]


def test_bullets_keep_their_continuation_lines() -> None:
    text = "- one\n  goes on\nand on\n- two\n\npara"
    assert [b.text for b in outline(text)] == ["- one\n  goes on\nand on", "- two", "", "para"]


def test_the_key_of_a_bullet_does_not_see_its_mark_or_spacing() -> None:
    assert bullet_key("-  Likes   tea ") == bullet_key("* likes tea")
    assert bullet_key("- Likes tea") != bullet_key("- Likes teas")


@pytest.mark.parametrize(
    ("before", "after", "lost", "gained"),
    [
        ("runs at 07:00 daily", "runs at 06:30 daily", ["07:00"], ["06:30"]),
        (
            "3 cm high since the storm on 9 November",
            "3 cm high and is due for a swap in January",
            ["since the storm on 9 November"],
            ["and is due for a swap in January"],
        ),
        (
            "high since 9 November",
            "high since 9 November, recalibrated on 28 November",
            [],
            [", recalibrated on 28 November"],
        ),
        ("a b, a b", "a b", [", a b"], []),
    ],
)
def test_word_marks_are_stretches_a_person_would_name(
    before: str, after: str, lost: list[str], gained: list[str]
) -> None:
    gone, come = word_marks(before, after)
    assert [before[s.start : s.end] for s in gone] == lost
    assert [after[s.start : s.end] for s in come] == gained


def test_word_marks_are_words_of_latin_and_characters_of_chinese() -> None:
    before, after = "Likes tea, 数据库迁移", "Likes green tea, 数据备份"
    lost, gained = word_marks(before, after)
    assert [before[s.start : s.end] for s in lost] == ["库迁移"]
    assert [after[s.start : s.end] for s in gained] == ["green ", "备份"]
    assert word_marks("same", "same") == ((), ())


@pytest.mark.parametrize("alike", [True, False])
def test_of_thousands_of_changed_lines_each_is_compared_with_a_few(
    alike: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = random.Random(7)
    pool = [f"word{n}" for n in range(4_000)]
    lines = ["- " + " ".join(draw.choices(pool, k=9)) for _ in range(2_000)]
    other = [f"{line} more" for line in lines] if alike else [
        "- " + " ".join(draw.choices(pool, k=9)) for _ in range(2_000)
    ]  # fmt: skip
    base, new = "\n".join(lines), "\n".join(other)
    compared = 0
    likeness_of = alignment.likeness_of

    def counted(*blocks: Any) -> float:
        nonlocal compared
        compared += 1
        assert compared <= 8 * len(lines), "each line with a few of the other text"
        return likeness_of(*blocks)

    monkeypatch.setattr(alignment, "likeness_of", counted)
    diff = difference(base, new)
    assert resolved(diff, accept_all(diff.changes)) == new
    if alike:
        assert {c.kind for c in diff.changes} == {"reworded"}


class Counted(list[str]):
    """Lines that are read a few times each, and no more."""

    reads = 0

    def __getitem__(self, at: Any) -> Any:
        self.reads += 1
        assert self.reads <= 5 * len(self), "the lines are read over and over"
        return super().__getitem__(at)


def test_thousands_of_open_fences_are_read_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "\n".join(f"```lang{n}" for n in range(20_000))
    lines = Counted(text.split("\n"))
    monkeypatch.setattr(outlines, "lines_of", lambda _: lines)
    assert len(outline(text)) == 20_000
    assert lines.reads >= len(lines)


def test_lines_of_six_hundred_characters_are_shown_whole() -> None:
    long = "- " + "a rather long fact without end " * 20
    (change,) = changes(f"{long}\n- x", f"{long} and more\n- x")
    assert change.before == (long,)
    assert change.after == (f"{long} and more",)


def test_an_underlined_heading_is_a_section_and_a_rule_is_no_fact() -> None:
    text = "People\n======\n- Bo is the designer\n\n---\n\n- - -\n"
    assert [(b.kind, b.section) for b in outline(text) if b.kind != "blank"] == [
        ("heading", "People"), ("bullet", "People"), ("rule", "People"), ("rule", "People"),
    ]  # fmt: skip
    assert [b.text for b in bullets(text)] == ["- Bo is the designer"]
    renamed = text.replace("People", "Friends")
    (change,) = changes(text, renamed)
    assert (change.kind, change.before, change.after) == (
        "section_renamed", ("People", "======"), ("Friends", "======"),
    )  # fmt: skip
