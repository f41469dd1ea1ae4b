"""Why an answer has no hits, and which words would have had some. Synchronous."""

from __future__ import annotations

from collections.abc import Callable

from app.engine.search.natural import natural_expression, natural_terms
from app.engine.search.nearest import nearest_words
from app.engine.search.query import Filters, Parsed, without_expression, words_expression
from app.engine.search.store import Store

MOST_WORDS = 4
"""Words of a query for which others are looked for."""


def why_none(
    store: Store | None, parsed: Parsed, always: Filters, *, gone: int, partial: bool
) -> str:
    """One sentence, or two when files are left out of the index altogether.

    `always` are filters the person did not set, of which nothing is told. `gone` matches stand in
    the index, but no longer in their files; `partial`: not everything could be looked through in
    time.
    """
    behind = 0 if store is None else _behind_filters(store, parsed, always)
    if behind:
        noun = "match" if behind == 1 else "matches"
        return f"The filters leave out {behind} {noun}."
    if gone:
        noun = "match has" if gone == 1 else "matches have"
        return f"{gone} {noun} gone from the files since they were indexed."
    said = [_nothing(parsed, partial)]
    left_out = 0 if store is None else len(store.left_out())
    if left_out:
        noun, whose = ("file is", "its") if left_out == 1 else ("files are", "their")
        said.append(f"{left_out} {noun} not indexed, as {whose} text cannot be read.")
    return " ".join(said)


def _nothing(parsed: Parsed, partial: bool) -> str:
    if partial:
        return "Nothing was found in what could be looked through in time."
    single = [t.text for t in parsed.terms if len(t.main) == 1 and len(t.main[0]) == 1]
    if single and len(single) == len(parsed.groups) and not parsed.terms[0].open:
        one = single[0]
        return f"“{one}” is too short: no word is it alone. {one}* finds words that begin with it."
    return "No line or message holds this."


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
    return nearest_words(store, missing[:MOST_WORDS], halt)
