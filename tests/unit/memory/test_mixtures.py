"""Any mixture of decisions: every accepted change, no rejected one, every untouched line in order.

Among the decisions are own words, "nothing at all", and merges and splits that were taken apart.
"""

from __future__ import annotations

from collections import Counter

from hypothesis import event, given, settings
from hypothesis import strategies as st

from app.engine.memory.apart import taken_apart
from app.engine.memory.diff import Difference, difference
from app.engine.memory.review import accept_all, resolved
from app.engine.records import Change, Decision
from tests.helpers.edited import two_versions


def apart(diff: Difference, bits: int) -> Difference:
    """Some of the merges and splits taken apart."""
    groups = [c for c in diff.changes if c.kind in ("merged", "split") and bits >> c.n % 12 & 1]
    if groups:
        event("taken apart")
    return taken_apart(diff, [(c.before, c.after) for c in groups])


VERDICT = st.sampled_from(["accept", "reject", "undecided", "own", "nothing"])


def decision(change: Change, verdict: str) -> list[Decision]:
    match verdict:
        case "accept" | "reject":
            return [Decision(change.n, verdict)]
        case "own":
            return [
                Decision(change.n, "accept", f"- own words {change.n}\n- of two lines{change.n}")
            ]
        case "nothing":
            return [Decision(change.n, "accept", "")]
        case _:
            return []


def wanted(change: Change, verdict: str) -> tuple[str, ...]:
    match verdict:
        case "accept":
            return change.after
        case "own":
            return (f"- own words {change.n}", f"- of two lines{change.n}")
        case "nothing":
            return ()
        case _:
            return change.before


def filled(lines: list[str]) -> list[str]:
    return [line for line in lines if line.strip()]


@settings(max_examples=600, deadline=None)
@given(two_versions(), st.integers(0, 2**12 - 1), st.data())
def test_a_mixture_holds_what_it_should_and_nothing_else(
    texts: tuple[str, str], bits: int, data: st.DataObject
) -> None:
    base, new = texts
    diff = apart(difference(base, new), bits)
    verdicts = [data.draw(VERDICT) for _ in diff.changes]
    pairs = list(zip(diff.changes, verdicts, strict=True))
    decided = [d for change, verdict in pairs for d in decision(change, verdict)]
    lines = filled(resolved(diff, decided).split("\n"))
    changed = {line for c in diff.changes for line in c.before}
    untouched = [line for line in filled(base.split("\n")) if line not in changed]
    expected = Counter(untouched)
    for change, verdict in pairs:
        expected.update(filled(list(wanted(change, verdict))))
    assert Counter(lines) == expected
    kept = set(untouched)
    assert [line for line in lines if line in kept] == untouched, "in their order"


@settings(max_examples=400, deadline=None)
@given(two_versions(), st.integers(0, 2**12 - 1))
def test_all_and_nothing_are_exact_whatever_was_taken_apart(
    texts: tuple[str, str], bits: int
) -> None:
    base, new = texts
    diff = apart(difference(base, new), bits)
    assert resolved(diff, accept_all(diff.changes)) == new
    assert resolved(diff, [Decision(c.n, "reject") for c in diff.changes]) == base
    assert resolved(diff, []) == base
    assert [c.n for c in diff.changes] == list(range(1, len(diff.changes) + 1))
    for change in diff.changes:
        if change.group:
            assert change.kind in ("dropped", "added")
            assert diff.changes[change.group - 1].group == change.group


@settings(max_examples=200, deadline=None)
@given(two_versions())
def test_the_changes_hold_each_line_of_both_texts_that_is_not_equal(texts: tuple[str, str]) -> None:
    base, new = texts
    diff = difference(base, new)
    gone = [line for c in diff.changes for line in c.before]
    came = [line for c in diff.changes for line in c.after]
    assert Counter(filled(base.split("\n"))) - Counter(gone) == (
        Counter(filled(new.split("\n"))) - Counter(came)
    )
    assert set(filled(base.split("\n"))) - set(new.split("\n")) <= set(gone), "no loss unseen"
