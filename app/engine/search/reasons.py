"""Why an answer has no hits, which words stand nowhere, and which would have had hits.

Synchronous.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from app.engine.records import Cause
from app.engine.search.natural import natural_expression, natural_terms
from app.engine.search.nearest import in_turn, nearest_words
from app.engine.search.query import (
    NO_SIGNS,
    Filters,
    Parsed,
    Term,
    without_expression,
    words_expression,
)
from app.engine.search.store import Store

MOST_WORDS = 4
"""Words of a query for which others are looked for."""
MOST_LIKE = 3
"""Words of nearly the same spelling that a sentence names."""


class Why(NamedTuple):
    """Why there are no hits, in a sentence or two, and as what a program can go by."""

    words: str
    causes: frozenset[Cause]


def why(words: str, *causes: Cause) -> Why:
    """The same, its causes one by one."""
    return Why(words, frozenset(causes))


def why_nothing_asked(parsed: Parsed) -> Why:
    """Why a query that holds nothing to look for has no hits."""
    return why(parsed.empty, "signs") if parsed.empty == NO_SIGNS else why(parsed.empty)


def why_none(
    store: Store | None, parsed: Parsed, always: Filters, *, gone: int, partial: bool
) -> Why:
    """Two sentences when files are left out of the index altogether.

    `always` are filters the person did not set, of which nothing is told. `gone` matches stand in
    the index, but no longer in their files; `partial`: not everything could be looked through in
    time.
    """
    behind = 0 if store is None else _behind_filters(store, parsed, always)
    unknown = "" if store is None else _unknown_sessions(store, parsed.filters)
    if behind:
        noun = "match" if behind == 1 else "matches"
        words = f"{unknown} The filters leave out {behind} {noun}.".strip()
        return why(words, "filters", "session") if unknown else why(words, "filters")
    if unknown:
        return why(unknown, "session")
    if gone:
        noun = "match has" if gone == 1 else "matches have"
        words = f"{gone} {noun} gone from the files since they were indexed."
        return why(words, "gone")
    nothing = _nothing(parsed, partial)
    left_out = 0 if store is None else len(store.left_out())
    if not left_out:
        return nothing
    noun, whose = ("file is", "its") if left_out == 1 else ("files are", "their")
    said = f"{nothing.words} {left_out} {noun} not indexed, as {whose} text cannot be read."
    return why(said, *nothing.causes, "left_out")


def _nothing(parsed: Parsed, partial: bool) -> Why:
    if partial:
        words = "Nothing was found in what could be looked through in time."
        return why(words, "late")
    single = [t.text for t in parsed.terms if len(t.main) == 1 and len(t.main[0]) == 1]
    if single and len(single) == len(parsed.groups) and not parsed.terms[0].open:
        one = single[0]
        words = f"“{one}” is too short: no word is it alone. {one}* finds words that begin with it."
        return why(words, "short")
    return why("No line or message holds this.")


def _unknown_sessions(store: Store, filters: Filters) -> str:
    """Said when no session of the filter exists."""
    names = sorted(filters.sessions)
    if not names or any(map(store.has_session, names)):
        return ""
    return f"There is no session whose id begins with {' or '.join(f'“{n}”' for n in names)}."


def _behind_filters(store: Store, parsed: Parsed, always: Filters) -> int:
    """How many documents would match without the filters."""
    if parsed.filters == always or not parsed.groups:
        return 0
    without = without_expression(parsed)
    for expression in (
        words_expression(parsed),
        words_expression(parsed, typing=parsed.typing),
        natural_expression(natural_terms(parsed)),
    ):
        counts, _ = store.count(expression, without, always) if expression else ({}, True)
        if counts:
            return sum(counts.values())
    return 0


def words_instead(store: Store | None, parsed: Parsed, halt: Callable[[], bool]) -> tuple[str, ...]:
    """Words of the index to offer instead of those that are not in it."""
    if store is None:
        return ()
    words = list(dict.fromkeys(word for term in parsed.terms for word in term.main))
    counts = store.documents_with(words[: MOST_WORDS * 2])
    missing = [word for word in words[: MOST_WORDS * 2] if not counts[word]]
    return in_turn(nearest_words(store, missing[:MOST_WORDS], halt))


def nowhere(store: Store, parsed: Parsed, halt: Callable[[], bool]) -> tuple[str, tuple[str, ...]]:
    """Of a question that found something: which of its words stand nowhere, in a sentence for all
    ("" for none), and the words of the index that are spelled like those."""
    missing = [term for term in _plain(store, parsed) if _stands_nowhere(store, term)][:MOST_WORDS]
    words = [term.main[0] for term in missing if len(term.main) == 1]
    near = nearest_words(store, words, halt, close=True)
    return _say_nowhere(missing, in_turn(near)[:MOST_LIKE]), in_turn(near)


def _plain(store: Store, parsed: Parsed) -> list[Term]:
    """The first terms that are just words; of a last one that grows only what begins no other."""
    terms = [t for t in natural_terms(parsed) if not (t.quoted or t.open or t.needle)]
    last = parsed.terms[-1]
    if parsed.typing and last in terms and store.begins(last.main[-1]):
        terms.remove(last)
    return terms[: MOST_WORDS * 2]


def _stands_nowhere(store: Store, term: Term) -> bool:
    """No document has it in any form; of a run of signs, none has any pair of it."""
    counts = store.documents_with(term.stems, 1).values()
    return not (any(counts) if not term.text.isascii() else all(counts))


def _say_nowhere(missing: Sequence[Term], near: Sequence[str]) -> str:
    """One sentence for all of them; "" for none."""
    words = [f"“{term.main[0] if len(term.main) == 1 else term.text}”" for term in missing]
    if not words:
        return ""
    like = f"; like {'them' if len(words) > 1 else 'it'}: {', '.join(near)}" if near else ""
    if len(words) == 1:
        return f"{words[0]} is nowhere{like}."
    return f"{', '.join(words[:-1])} and {words[-1]} are nowhere{like}."
