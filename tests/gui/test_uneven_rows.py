"""Heights of many rows, and prose that a giant line cannot slow down."""

from __future__ import annotations

import random

from app.gui.look.type import font
from app.gui.widgets.heights import Heights
from app.gui.widgets.prose import inline, lay, units


def test_sums_and_places_agree_with_adding_up() -> None:
    chance = random.Random(7)
    each = [chance.randint(1, 90) for _ in range(137)]
    heights = Heights(each)
    for _ in range(60):
        at, high = chance.randrange(137), chance.randint(1, 200)
        assert heights.set(at, high) == high - each[at]
        each[at] = high
    assert [heights.top(n) for n in range(138)] == [sum(each[:n]) for n in range(138)]
    for y in range(0, heights.total(), 13):
        row = heights.at(y)
        assert heights.top(row) <= y < heights.top(row + 1)
    assert heights.at(heights.total() + 50) == 136
    assert Heights().at(5) == -1


def test_weight_is_understood_and_counted_as_qt_counts() -> None:
    text, spans = inline("a 🙂 **bold** and `code`\n## Head")
    assert text == "a 🙂 bold and code\nHead"
    assert [(s.style, s.start, s.length) for s in spans] == [
        ("bold", 5, 4), ("code", 14, 4), ("bold", 19, 4),
    ]  # fmt: skip
    assert units("🙂a") == 3


def test_a_giant_line_is_cut_to_what_is_shown(qapp: object) -> None:
    prose = lay("x" * 400_000, font("read"), 400, 21, most_lines=12)
    assert prose.cut
    assert prose.lines == 12
    assert prose.height == 12 * 21
    short = lay("one\ntwo", font("read"), 400, 21)
    assert (short.cut, short.lines) == (False, 2)


def test_a_point_finds_its_place_in_the_text(qapp: object) -> None:
    prose = lay("first line\nsecond", font("read"), 400, 20)
    assert prose.unit_at(0, 5) == 0
    assert prose.unit_at(0, 25) == len("first line\n")
    assert (
        prose.y_of(len("first line\n") + 2)
        == prose.paras[1].y + prose.paras[1].layout.lineAt(0).y()
    )


def test_prose_that_is_cut_lays_out_no_line_more_than_it_shows() -> None:
    prose = lay("word " * 400, font("read"), 200, 21, most_lines=3)
    assert prose.cut
    assert [para.layout.lineCount() for para in prose.paras] == [3]
    whole = lay("one\n\ntwo", font("read"), 200, 21, most_lines=3)
    assert not whole.cut
    assert [para.layout.lineCount() for para in whole.paras] == [1, 1, 1]
