"""Text into terms: any text, right offsets, one eye for index and query."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.engine.search.stems import stem
from app.engine.search.terms import FENCE, STEM_MARK, asks, fold, fold_with_map, index_text, tokens

ANY = st.text(st.characters(), max_size=200)
MIXED = st.lists(
    st.sampled_from(
        ["Café", "数据库迁移", "snake_case", "camelCase", "ﾊﾞｯｸ", "don’t", "e\u0301", "ﬁ", "🎉",
         "C++", "한국어", "ß", "İ", "ﷺ", "\ud83d", "\u2028", " ", "x" * 300, "ไทย",
         "\u200d", "½", "㌔", "a1"]
    ),
    max_size=12,
).map("".join)  # fmt: skip

USUAL = st.lists(
    st.sampled_from(
        ["数据库", "迁移", "，", "。", "“", "\u3000", "snake_case", "HTTPServer", "Don't",
         "'quoted'", "it's", "a'b'c", "Running", "ab/+" * 70, "=" * 300, "x" * 64, "y" * 65, "7",
         "-", "\n", " ", " ", "\0", "\1", "ー"]
    ),
    max_size=12,
).map("".join)  # fmt: skip
"""What is cut by a quicker way, and what stands at its edges."""


@settings(deadline=None)
@given(st.one_of(ANY, MIXED))
def test_every_token_slices_to_text_that_folds_to_its_term(text: str) -> None:
    end = 0
    for token in tokens(text):
        assert 0 <= token.start < token.end <= len(text)
        assert token.start >= end - 1 or token.run
        end = token.end
        assert token.terms
        assert all(term and not any(c.isspace() for c in term) for term in token.terms)
        assert all(ord(c) > 127 or c.isalnum() for term in token.terms for c in term)


@settings(deadline=None, max_examples=500)
@given(st.one_of(ANY, MIXED, USUAL))
@example("0一")  # Python 3.11.2 takes more than it should behind a possessive group
@example("0':")
def test_what_is_indexed_are_the_tokens_and_their_number(text: str) -> None:
    indexed, count = index_text(text)
    met = list(tokens(text))
    rest = [one for token in met for one in (*token.terms[1:], STEM_MARK + token.stem)]
    fenced = [FENCE, *(one for one in rest if one != STEM_MARK)]
    main = [token.terms[0] for token in met]
    assert indexed.decode().split() == (main + fenced if len(fenced) > 1 else main)
    assert count == len(main) + len(fenced) - 1


@settings(deadline=None)
@given(st.one_of(ANY, MIXED))
def test_a_folded_text_knows_where_it_came_from(text: str) -> None:
    folded, at = fold_with_map(text)
    assert len(at) == len(folded) + 1
    assert list(at) == sorted(at)
    assert at[-1] == len(text)


@settings(deadline=None)
@given(st.text(max_size=30))
def test_stemming_never_fails_and_never_grows_a_word(word: str) -> None:
    folded = fold(word)
    assert len(stem(folded)) <= len(folded) + 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Zoë Müller", ["zoe", "muller"]),
        ("ＡＢＣ ﬁne", ["abc", "fine"]),
        ("数据库", ["数据", "据库", "库"]),
        ("喝茶", ["喝茶", "茶"]),
        ("snake_case", ["snake", "case"]),
        ("app/engine/x.py", ["app", "engine", "x", "py"]),
        ("don’t", ["dont"]),
        ("用 Rust 写", ["用", "rust", "写"]),
    ],
)
def test_main_terms(text: str, words: list[str]) -> None:
    assert [token.terms[0] for token in tokens(text)] == words


def test_identifiers_are_found_by_their_parts() -> None:
    (token,) = tokens("parseHTTPReply")
    assert set(token.terms) == {"parsehttpreply", "parse", "http", "reply"}


def test_a_picture_in_base64_yields_no_terms() -> None:
    assert list(tokens("before " + "aGVsbG8gd29ybGQ" * 40 + "==")) == list(tokens("before"))


@pytest.mark.parametrize(
    ("one", "other"),
    [("migration", "migrations"), ("paint", "painting"), ("run", "running"), ("move", "moved"),
     ("agency", "agencies"), ("class", "classes"), ("go", "went")],
)  # fmt: skip
def test_forms_of_a_word_share_a_stem(one: str, other: str) -> None:
    assert stem(one) == stem(other)


@pytest.mark.parametrize(
    ("text", "asking"),
    [
        ("Which way?", True), ("哪条路？", True), ("Which way? \n", True), ("Which way!", False),
        ("Seen this? [a photo of a dog]", True), ("Seen this? （照片）", True), ("", False),
        ("Seen this? Yes.", False), ("A list [why?]", False), ("?" + " " * 1_000, False),
    ],
)  # fmt: skip
def test_a_text_that_asks(text: str, asking: bool) -> None:
    assert asks(text) == asking
