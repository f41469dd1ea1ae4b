"""Decisions become text exactly; a hand edit made meanwhile survives."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given, settings
from hypothesis import strategies as st

from app.engine.memory.diff import Difference, changes, difference
from app.engine.memory.review import accept_all, carried, preview, resolved
from app.engine.memory.threeway import joined
from app.engine.records import Decision


def resolve(base: str, new: str, decisions: Iterable[Decision]) -> str:
    return resolved(difference(base, new), decisions)


def on(now: str, base: str, new: str) -> Difference:
    """What turns `base` into `new`, on a file that is `now` meanwhile."""
    return joined(difference(base, new), now)


LINE = st.sampled_from(
    [
        "", "- Ines likes green tea", "- Ines likes black tea", "- Bo lives in Porto",
        "- Bo lives in Porto and works at Acme", "- Bo works at Acme", "## People", "## Persons",
        "# Memory", "```", "```py", "text alone", "  continued", "| a | b |", "<!-- c -->",
        "- 用户的数据库迁移定在6月", "- 数据库迁移改到7月", "- x\r", "\t", "1. one",
        "- one two three four",
    ]
)  # fmt: skip
TEXT = st.one_of(st.lists(LINE, max_size=14).map("\n".join), st.text(max_size=60))


@settings(max_examples=400, deadline=None)
@given(TEXT, TEXT)
def test_accepting_all_gives_the_candidate_and_rejecting_all_the_base(base: str, new: str) -> None:
    found = changes(base, new)
    assert resolve(base, new, accept_all(found)) == new
    assert resolve(base, new, [Decision(c.n, "reject") for c in found]) == base
    assert resolve(base, new, []) == base
    assert [c.n for c in found] == list(range(1, len(found) + 1))
    assert bool(found) == (base != new)


def test_the_words_of_a_person_take_the_place_of_a_change() -> None:
    base, new = "# M\n- likes tea\n- b\n", "# M\n- likes green tea\n- b\n"
    text = resolve(base, new, [Decision(1, "accept", text="- likes white tea")])
    assert text == "# M\n- likes white tea\n- b\n"


def test_a_merge_is_one_decision_and_rejecting_it_brings_back_every_line() -> None:
    base = "- Bo lives in Porto\n- something else entirely\n- Bo works at Acme\n"
    new = "- Bo lives in Porto and works at Acme\n- something else entirely\n"
    found = changes(base, new)
    assert [(c.kind, c.before) for c in found] == [
        ("merged", ("- Bo lives in Porto", "- Bo works at Acme"))
    ]
    assert resolve(base, new, [Decision(1, "reject")]) == base


def test_the_preview_counts_what_is_decided_and_names_the_lines_it_would_touch() -> None:
    base, new = "- a one\n- b two\n", "- a one\n- c three and more\n- b two\n- d four is new\n"
    diff = difference(base, new)
    shown = preview(diff, [Decision(2, "accept")])
    assert shown.text == "- a one\n- b two\n- d four is new\n"
    assert shown.touched == (3,)
    assert (shown.accepted, shown.rejected, shown.undecided) == (1, 0, 1)


def test_both_sides_changing_one_line_is_a_conflict_and_an_older_yes_does_not_count() -> None:
    base = "- the window is at 02:00\n- b two\n"
    new = "- the window is at 03:00\n- b two\n- c three is new\n"
    now = "- the window is at 04:00\n- b two\n"
    diff = on(now, base, new)
    assert [(c.before, c.after, c.conflict, c.old) for c in diff.changes] == [
        (
            ("- the window is at 04:00",),
            ("- the window is at 03:00",),
            True,
            ("- the window is at 02:00",),
        ),
        ((), ("- c three is new",), False, ()),
    ]
    old = changes(base, new)
    assert carried(accept_all(old), old, diff.changes) == (Decision(2, "accept"),)


def test_a_conflict_of_unlike_lines_is_still_one_decision() -> None:
    base, new, now = "# M\n- likes tea\n", "# M\n- likes green tea\n", "# M\n- drinks milk only\n"
    diff = on(now, base, new)
    assert [(c.kind, c.before, c.after, c.conflict) for c in diff.changes] == [
        ("reworded", ("- drinks milk only",), ("- likes green tea",), True)
    ]
    assert resolved(diff, accept_all(diff.changes)) == new
    assert resolved(diff, ()) == now
