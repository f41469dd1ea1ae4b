"""The query language: nothing a person types can fail."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.engine.search.describe import describe
from app.engine.search.matching import (
    excerpt,
    literal_match,
    merged,
    natural_match,
    words_match,
)
from app.engine.search.natural import natural_expression, natural_terms
from app.engine.search.query import parse, words_expression
from app.engine.search.terms import fold

TODAY = date(2026, 9, 12)
SIGNS = st.lists(
    st.sampled_from(
        ['"', "-", "*", "OR", "NOT", "NEAR(", "(", ")", " ", "in:", "in:daily", "day:2026-09",
         "day:x", "role:user", "not:", "word", "数据", "C++", ":", "\x00", "\ud800", "a", "'"]
    ),
    max_size=14,
).map("".join)  # fmt: skip
ANYTHING = st.one_of(st.text(st.characters(), max_size=80), SIGNS)


@settings(deadline=None)
@given(ANYTHING)
def test_any_text_is_a_query_and_can_be_said_in_words(text: str) -> None:
    parsed = parse(text, today=TODAY)
    assert describe(parsed)
    words_expression(parsed, typing=True)
    natural_expression(natural_terms(parsed))
    assert bool(parsed.empty) != bool(parsed.groups or parsed.without or parsed.filters)


@settings(deadline=None)
@given(ANYTHING, ANYTHING)
def test_spans_lie_inside_and_hold_what_was_matched(query: str, text: str) -> None:
    parsed = parse(query, today=TODAY)
    natural = natural_match(natural_terms(parsed), parsed.without, text)
    for places in (
        words_match(parsed, text) or [],
        natural[0] if natural else [],
        literal_match(parsed.literal, text),
    ):
        shown, spans = excerpt(text, places, 40)
        end = -1
        for span in spans:
            assert end < span.start < span.end <= len(shown)
            end = span.end
        for start, stop in merged(places):
            assert 0 <= start < stop <= len(text)


@settings(deadline=None)
@given(st.text(min_size=1, max_size=20), st.text(max_size=30), st.text(max_size=30))
def test_a_literal_match_slices_to_the_needle(needle: str, before: str, after: str) -> None:
    text = before + needle + after
    folded = fold(needle)
    for start, end in literal_match(folded, text):
        assert folded in fold(text[start:end])


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("friday database", '("friday") AND ("database")'),
        ("a OR b c", '("a" OR "b") AND ("c")'),
        ("OR a", '("or") AND ("a")'),
        ("foo AND bar", '("foo") AND ("and") AND ("bar")'),
        ('"two words" x*', '("two words") AND ("x"*)'),
        ("数据库", '("数据 据库")'),
        ("茶", '("茶"*)'),
        ("memory:safe", '("memory safe")'),
        ("in:nowhere", '("in nowhere")'),
        ("day:soon", '("day soon")'),
        ('say "hi', '("say") AND ("hi")'),
    ],
)
def test_words(text: str, expression: str) -> None:
    assert words_expression(parse(text, today=TODAY)) == expression


def test_minus_and_not_mean_the_same() -> None:
    for text in ("a -b", "a not:b"):
        parsed = parse(text, today=TODAY)
        assert [term.main for term in parsed.without] == [("b",)]
        assert [term.main for term in parsed.terms] == [("a",)]


def test_a_dash_inside_a_word_is_a_dash() -> None:
    assert not parse("pre-edit - --", today=TODAY).without


def test_filters() -> None:
    parsed = parse("in:daily,memory role:user tool:grep session:s-4 has:evicted x", today=TODAY)
    assert parsed.filters.layers == {"daily", "memory"}
    assert parsed.filters.roles == {"user"}
    assert parsed.filters.tools == {"grep"}
    assert parsed.filters.sessions == {"s-4"}
    assert parsed.filters.has == {"evicted"}
    assert parsed.literal == "x"


@pytest.mark.parametrize(
    ("text", "after", "before"),
    [
        ("day:2026-09", (2026, 9, 1), (2026, 10, 1)),
        ("day:2026-12", (2026, 12, 1), (2027, 1, 1)),
        ("day:2026", (2026, 1, 1), (2027, 1, 1)),
        ("day:today", (2026, 9, 12), (2026, 9, 13)),
        ("after:2026-09-02 before:2026-09-05", (2026, 9, 2), (2026, 9, 5)),
    ],
)
def test_days_are_days_of_the_persons_own_zone(
    text: str, after: tuple[int, int, int], before: tuple[int, int, int]
) -> None:
    zone = timezone(timedelta(hours=8))
    filters = parse(text, today=TODAY, zone=zone).filters
    assert filters.after == datetime(*after, tzinfo=zone).astimezone(UTC)
    assert filters.before == datetime(*before, tzinfo=zone).astimezone(UTC)


def test_a_question_loses_its_function_words() -> None:
    parsed = parse("When did Caroline go to the support group?", today=TODAY)
    kept = [term.text for term in natural_terms(parsed)]
    assert "When" not in kept
    assert {"Caroline", "support", "group?"} <= set(kept)


def test_a_chinese_question_loses_its_function_words() -> None:
    parsed = parse("数据库迁移是什么时候定的？", today=TODAY)
    kept = "".join(term.text for term in natural_terms(parsed))
    assert "什么时候" not in kept
    assert "数据库迁移" in kept


def test_a_question_of_function_words_alone_keeps_them() -> None:
    assert natural_terms(parse("who is it", today=TODAY))


def test_a_huge_paste_is_cut_and_says_so() -> None:
    parsed = parse("word " * 1_000_000, today=TODAY)
    assert parsed.cut
    assert "too long" in describe(parsed)
