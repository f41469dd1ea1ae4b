"""Parts of a text that may hold a word: what they leave out can be none of what is looked for."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.engine.search.likely import beginnings, likely_tokens
from app.engine.search.stems import stem
from app.engine.search.terms import Token, tokens

PIECES = st.lists(
    st.sampled_from(
        ["Café", "数据库迁移", "，", "snake_case", "camelCase", "ﾊﾞｯｸ", "don’t", "users'", "ann's",
         "ﬁ", "C++", "한국어", "ß", "İ", "K", "\u2028", " ", "\n", "x" * 300, "ไทย", "\u200d",
         "—", "“went”", "possibly", "Hoping", "a1", "e\u0301", ".", "茶", "🎉", "/", "_", "-a", "=",
         "HTTPServer", "aBAba", "b64/" * 70]
    ),
    max_size=14,
).map("".join)  # fmt: skip
TEXTS = st.one_of(st.text(st.characters(), max_size=120), PIECES)
ROOTS = st.text("aeioubcdlnrsty", min_size=1, max_size=6)
RULES = """
s es ies ed ing eed y ly li al ation ational ization izer ator iveness fulness ousness bility abli
ably ibly enci ance ic ical icate ative alize ness ful ment ion e ll
"""
ENDINGS = st.lists(st.sampled_from(RULES.split()), max_size=3).map("".join)


def _same_as_all(text: str, wanted: Token, letters: frozenset[str]) -> None:
    all_of_them = list(tokens(text))
    found = list(likely_tokens(text, letters))
    assert wanted in found
    for here, after in pairwise(found):
        if here.terms[0] and after.terms[0]:
            at = all_of_them.index(here)
            assert all_of_them[at + 1] == after


@settings(deadline=None)
@given(TEXTS)
def test_a_term_of_a_text_is_in_its_likely_parts(text: str) -> None:
    for token in tokens(text):
        for term in token.terms:
            _same_as_all(text, token, frozenset({term}))


@settings(deadline=None)
@given(st.one_of(st.text("一二三茶a1 ，,.かカー한々éß'\u0301", max_size=24), TEXTS), st.data())
def test_several_terms_of_a_text_are_in_its_likely_parts(text: str, data: st.DataObject) -> None:
    all_of_them = list(tokens(text))
    if not all_of_them or len(set(all_of_them)) < len(all_of_them):
        return
    some = data.draw(st.lists(st.sampled_from(all_of_them), min_size=1, max_size=4))
    letters = frozenset(token.terms[0] for token in some)
    for token in some:
        _same_as_all(text, token, letters)
    in_a_row = [token for token in likely_tokens(text, letters) if token.terms[0]]
    assert list(likely_tokens(text, letters, row=False)) == in_a_row


@settings(deadline=None)
@given(TEXTS)
def test_a_word_is_found_by_its_stem(text: str) -> None:
    for token in tokens(text):
        _same_as_all(text, token, beginnings(token.stem or stem(token.terms[0])))


@settings(deadline=None, max_examples=2_000)
@given(ROOTS, ENDINGS)
def test_no_rule_of_stemming_reaches_what_is_looked_for(root: str, ending: str) -> None:
    word = root + ending
    assert any(letters in word for letters in beginnings(stem(word)))


@pytest.mark.parametrize("word", ["went", "children", "thought", "wives", "gotten"])
def test_a_form_that_no_rule_reaches_is_found(word: str) -> None:
    assert any(letters in word for letters in beginnings(stem(word)))


def test_within_base64_no_word_is_found() -> None:
    text = "x" * 150 + "/needle/" + "y" * 150 + " a needle"
    found = [one for one in likely_tokens(text, frozenset({"needle"})) if one.terms[0]]
    assert [(one.start, one.terms) for one in found] == [(311, ("needle",))]


def test_of_a_run_no_more_is_taken_than_holds_the_signs() -> None:
    text = "用户的数据库迁移定在六月"
    found = [one.terms[0] for one in likely_tokens(text, frozenset({"据库"})) if one.terms[0]]
    assert found == ["据库", "库迁"]


def test_what_stands_far_away_is_passed_over() -> None:
    text = "some other words, and more of them. " * 1_000 + "needle here"
    found = [token for token in likely_tokens(text, frozenset({"needle"})) if token.terms[0]]
    assert [text[one.start : one.end] for one in found] == ["needle"]
