"""The query language: nothing a person types can fail."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from app.engine.search.describe import describe
from app.engine.search.literal import Stopped
from app.engine.search.matching import (
    excerpt,
    literal_match,
    merged,
    natural_match,
    words_match,
)
from app.engine.search.natural import natural_expression, natural_terms
from app.engine.search.query import (
    LONGEST_QUERY,
    MOST_TERMS,
    Term,
    parse,
    words_expression,
)
from app.engine.search.stems import stem
from app.engine.search.terms import Token, fold, tokens

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


NEAR_TEXTS = st.lists(
    st.sampled_from(
        ["Café", "cafe", "数据库迁移", "数据", "库", "snake_case", "camelCase", "camel", "don’t",
         "dont", "e\u0301a", "\u0301", "ﬁne", "fine", "C++", "한국어", "ß", "İs", "ﷺ", "\u200d",
         "½", "㌔", "a1", "Running", "run", " ", "ｶﾞｷﾞ", "ガギ", "Zoë’s", "ไทย", "\ud83d", "🎉"]
    ),
    max_size=8,
).map("".join)  # fmt: skip


@settings(deadline=None, max_examples=300)
@given(st.one_of(ANYTHING, NEAR_TEXTS), st.one_of(ANYTHING, NEAR_TEXTS))
def test_a_span_holds_the_words_it_was_made_for(query: str, around: str) -> None:
    parsed = parse(query, today=TODAY)
    text = f"{around} {query} {around}"
    for term in parsed.terms:
        for start, end in words_match(replace(parsed, groups=((term,),), without=()), text) or []:
            assert holds(term, text[start:end])
        found = natural_match([term], (), text)
        for start, end in found[0] if found else []:
            inside = list(tokens(text[start:end]))
            assert term.quoted or any(resembles(term, token) for token in inside)


def holds(term: Term, piece: str) -> bool:
    """Whether the slice reads as the term, folded: its words in a row, or a part of one word."""
    inside = list(tokens(piece))
    if len(term.main) == 1:
        wanted = term.main[0]
        return any(
            one.startswith(wanted) if term.open else one == wanted
            for token in inside
            for one in token.terms
        )
    *first, last = term.main
    main = [token.terms[0] for token in inside]
    meant = main[len(first)].startswith(last) if term.open else main[len(first)] == last
    return main[: len(first)] == first and meant


def resembles(term: Term, token: Token) -> bool:
    """Whether a token is a word of the term in some form."""
    forms = {*token.terms, token.stem or stem(token.terms[0])}
    if term.needle or (term.open and any(one.startswith(term.stems[-1]) for one in forms)):
        return True
    return not forms.isdisjoint(term.stems)


@settings(deadline=None)
@given(st.text(min_size=1, max_size=20), st.text(max_size=30), st.text(max_size=30))
def test_a_literal_match_slices_to_the_needle(needle: str, before: str, after: str) -> None:
    text = before + needle + after
    folded = fold(needle)
    for start, end in literal_match(folded, text):
        assert folded in fold(text[start:end])


@pytest.mark.parametrize(
    ("needle", "text", "marked"), [("f", "a ﬁne", "ﬁ"), ("k", "5 ㎞ on", "㎞"), ("1", "½", "½")]
)
def test_a_letter_within_a_sign_marks_the_sign(needle: str, text: str, marked: str) -> None:
    ((start, end),) = literal_match(needle, text)
    assert text[start:end] == marked


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("friday database", '("friday") AND ("database")'),
        ("a OR b c", '("a" OR "b") AND ("c")'),
        ("OR a", '("or") AND ("a")'),
        ("foo AND bar", '("foo") AND ("and") AND ("bar")'),
        ('"two words" xy*', '("two words") AND ("xy"*)'),
        ('"two words" x* "the y"*', '("two words") AND ("the")'),
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


@pytest.mark.parametrize("text", ["after:0001-01-01", "before:9999-12-31", "day:9999", "day:0001"])
@pytest.mark.parametrize("hours", [-12, 14])
def test_the_ends_of_the_calendar_are_no_error(text: str, hours: int) -> None:
    zone = timezone(timedelta(hours=hours))
    assert describe(parse(text, today=TODAY, zone=zone), zone)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("day:2025-13", "“2025-13” is no day: year, year-month or year-month-day."),
        ("after:9999", "“9999” is no day: year, year-month or year-month-day."),
        ("role:tol", "“tol” is no role: you, agent, tool, system."),
        ("role:user,tol", "“tol” is no role: you, agent, tool, system."),
        ("in:memori", "“memori” is no place: memory, history, daily, sessions, evicted."),
        ("has:bug", "“bug” is no thing that a message has: evicted, tool, error."),
        ("-day:2026", "“-day:” leaves nothing out: only -in, -role and -tool do."),
        ('session:""', "“session:” has no value."),
    ],
)
def test_what_looks_like_a_filter_and_is_none_is_told(text: str, told: str) -> None:
    parsed = parse(f"probe {text}", today=TODAY)
    assert parsed.note == f"{told} It is taken as words."
    assert not parsed.filters
    assert len(parsed.terms) + len(parsed.without) == 2
    assert describe(parsed).endswith(parsed.note)


def test_a_query_of_many_wrong_filters_names_a_few() -> None:
    text = " ".join(f"role:x{n}" for n in range(40))
    assert parse(text, today=TODAY).note.count("is no role") == 3
    assert parse("probe day:2026-02 role:tool http://x:1", today=TODAY).note == ""


def test_roles_are_called_as_the_hits_call_them() -> None:
    assert parse("role:you,agent x", today=TODAY).filters.roles == {"user", "assistant"}
    assert parse("-role:Agent x", today=TODAY).filters.not_roles == {"assistant"}


def test_a_slash_at_the_end_of_a_word_is_no_part_of_it() -> None:
    for text in ("/probe", "probe/", "//probe/", "\\probe"):
        assert words_match(parse(text, today=TODAY), "the probe (bed 4)") == [(4, 9)], text
    assert words_match(parse("memory/probe", today=TODAY), "memory probe") is None


def test_minus_and_not_mean_the_same() -> None:
    for text in ("a -b", "a not:b"):
        parsed = parse(text, today=TODAY)
        assert [term.main for term in parsed.without] == [("b",)]
        assert [term.main for term in parsed.terms] == [("a",)]


def test_of_a_word_with_signs_only_the_places_with_the_signs_are_marked() -> None:
    text = "C# code, then C++ code, and C alone"
    assert words_match(parse("C++", today=TODAY), text) == [(14, 15)]


def test_a_filter_is_turned_round_by_either() -> None:
    for sign in ("-", "not:"):
        filters = parse(f"{sign}role:user {sign}in:daily {sign}tool:grep a", today=TODAY).filters
        assert (filters.not_roles, filters.not_layers) == ({"user"}, {"daily"})
        assert (filters.not_tools, filters.roles) == ({"grep"}, frozenset())


def test_what_cannot_be_turned_round_is_not_searched_for_instead() -> None:
    for text in ("a -session:s-4", "a not:session:s-4", "a -role:nobody"):
        parsed = parse(text, today=TODAY)
        assert [term.main for term in parsed.terms] == [("a",)]
        assert len(parsed.without) == 1
        assert parsed.literal == "a"


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
        ("after:2026-09-02 after:2026-09-01 day:2026-09", (2026, 9, 2), (2026, 10, 1)),
        ("before:2026-09-05 before:2026-09-07 after:2026", (2026, 1, 1), (2026, 9, 5)),
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


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("deploy key", "Searching for “deploy” and “key”."),
        ('"deploy key" OR rota* -old', "Searching for the phrase “deploy key” or words beginning "
         "with “rota”, without “old”."),
        ("in:daily role:user has:evicted,error", "Searching for everything, in the daily logs, "
         "said by user, with an error and an evicted result."),
        ("pump day:2026-09-12", "Searching for “pump”, on 2026-09-12."),
        ("pump after:2026-09 before:2026-10-05", "Searching for “pump”, from 2026-09-01 on, "
         "before 2026-10-05."),
    ],
)  # fmt: skip
def test_what_is_searched_for_is_said_in_plain_words(text: str, said: str) -> None:
    zone = timezone(timedelta(hours=8))
    assert describe(parse(text, today=TODAY, zone=zone), zone) == said


def test_a_word_said_again_is_one_word() -> None:
    assert words_expression(parse("a b a b OR c OR c b OR c", today=TODAY)) == (
        '("a") AND ("b") AND ("b" OR "c")'
    )
    parsed = parse("a -a not:a", today=TODAY)
    assert (len(parsed.terms), len(parsed.without)) == (1, 1)


@pytest.mark.parametrize(
    ("text", "typing"),
    [("a wor", True), ("a wor ", False), ("a w", False), ("茶叶", True), ('"a wor', False),
     ("a -wor", False), ("wor*", False), ("a OR", False), ("wor a wor", False)],
)  # fmt: skip
def test_the_last_word_may_go_on(text: str, typing: bool) -> None:
    assert parse(text, today=TODAY).typing == typing


def test_beginnings_are_few() -> None:
    parsed = parse(" ".join(f"{letter}*" for letter in "abcdefghijklmnop"), today=TODAY)
    assert parsed.cut
    assert len(parsed.terms) == 8


def test_one_word_without_end_is_told_from_no_word() -> None:
    assert "without end" in parse("a" * 2_000, today=TODAY).empty
    assert "no letters or digits" in parse("(" * 200, today=TODAY).empty


def test_a_huge_paste_is_cut_and_says_so() -> None:
    parsed = parse("word " * 1_000_000, today=TODAY)
    assert parsed.cut
    assert "too long" in describe(parsed)


@pytest.mark.parametrize(
    "one", ["w{n} ", "w{n} OR ", "-w{n} ", '"w{n} x" ', "数{n}据 ", "w{n}+x ", "role:x{n} ", "w{n}"]
)
def test_whatever_is_pasted_its_query_is_small(one: str) -> None:
    parsed = parse("".join(one.format(n=n) for n in range(100_000)), today=TODAY)
    assert len(parsed.terms) + len(parsed.without) <= MOST_TERMS
    assert sum(len(term.text) for term in (*parsed.terms, *parsed.without)) <= LONGEST_QUERY
    assert len(parsed.literal) <= LONGEST_QUERY


def test_a_long_text_is_left_when_nobody_waits_any_more() -> None:
    parsed = parse("zebra", today=TODAY)
    text = "some zebras " * 20_000
    assert words_match(parsed, text, halt=lambda: False) is None
    with pytest.raises(Stopped):
        words_match(parsed, text, halt=lambda: True)
    with pytest.raises(Stopped):
        natural_match(parsed.terms, (), text, lambda: True)
