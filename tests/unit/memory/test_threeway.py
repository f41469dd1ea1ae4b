"""A proposal on a file that changed since: what fits by itself, and what is asked."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from app.engine.memory.apart import taken_apart
from app.engine.memory.diff import Difference, changes, difference
from app.engine.memory.review import accept_all, resolved
from app.engine.memory.threeway import joined
from app.engine.records import Change, Decision
from tests.helpers.edited import ACT, change, two_versions

START = """# Memory

## Project: Tern

- Deploys with `make ship`, never on Fridays
- Sensor 7 reads 3 cm high since the storm on 9 November
- 对账脚本每周一 07:00 运行

## Decisions

- Backups go to two disks, swapped on Sundays
"""
SENSOR = "- Sensor 7 reads 3 cm high since the storm on 9 November"
BY_HAND = "- Sensor 7 reads 3 cm high and is due for a swap in January"
BY_RUN = "- Sensor 7 reads 2.4 cm high since the storm on 9 November, recalibrated on 28 November"
BACKUPS = "- Backups go to two disks, swapped on Sundays"
THREE = "- Backups go to three disks, swapped on Sundays"


def on(now: str, wanted: str, start: str = START) -> Difference:
    return joined(difference(start, wanted), now)


def sides(change: Change) -> tuple[Any, ...]:
    return change.old, change.before, change.after


def test_a_line_that_both_changed_is_shown_against_the_text_both_started_from() -> None:
    now = START.replace(SENSOR, BY_HAND).replace(BACKUPS, THREE)
    wanted = START.replace(SENSOR, BY_RUN).replace(f"{BACKUPS}\n", "- New: a third fact\n")
    diff = on(now, wanted)
    sensor, backups, *others = diff.changes
    assert sides(sensor) == ((SENSOR,), (BY_HAND,), (BY_RUN,))
    assert sides(backups) == ((BACKUPS,), (THREE,), ("- New: a third fact",))
    assert sensor.conflict
    assert backups.conflict
    assert others == []


def test_changed_here_and_dropped_there_is_a_conflict_with_an_empty_side() -> None:
    now = START.replace(BACKUPS, THREE)
    (change,) = on(now, START.replace(f"{BACKUPS}\n", "")).changes
    assert sides(change) == ((BACKUPS,), (THREE,), ())
    (other,) = on(START.replace(f"{BACKUPS}\n", ""), now).changes
    assert sides(other) == ((BACKUPS,), (), (THREE,))
    assert change.conflict
    assert other.conflict


@pytest.mark.parametrize(
    ("decision", "lines"),
    [
        (None, [BY_HAND]),
        (Decision(1, "reject"), [BY_HAND]),
        (Decision(1, "accept"), [BY_RUN]),
        (Decision(1, "accept", f"{BY_HAND}\n{BY_RUN}"), [BY_HAND, BY_RUN]),
        (Decision(1, "accept", f"{BY_RUN}\n{BY_HAND}"), [BY_RUN, BY_HAND]),
        (Decision(1, "accept", "- own words"), ["- own words"]),
        (Decision(1, "accept", ""), []),
    ],
)
def test_yours_the_runs_both_own_words_or_neither(
    decision: Decision | None, lines: list[str]
) -> None:
    diff = on(START.replace(SENSOR, BY_HAND), START.replace(SENSOR, BY_RUN))
    above, below = START.split(f"{SENSOR}\n")
    written = "".join(f"{line}\n" for line in lines)
    assert resolved(diff, [decision] if decision else []) == above + written + below


def test_neither_of_a_line_that_one_side_dropped_writes_nothing() -> None:
    now = START.replace(BACKUPS, THREE)
    diff = on(now, START.replace(f"{BACKUPS}\n", ""))
    assert resolved(diff, [Decision(1, "accept", "")]) == now.replace(f"{THREE}\n", "")


def test_adjacent_lines_that_both_changed_are_decided_one_by_one() -> None:
    base = "- door one opens at 08:00\n- gate two opens at 09:00\n- hall three opens at 10:00\n"
    now = base.replace(":00", ":15")
    wanted = base.replace(":00", ":30")
    diff = on(now, wanted, base)
    assert [c.conflict for c in diff.changes] == [True] * 3
    mixed = [Decision(1, "reject"), Decision(2, "accept"), Decision(3, "accept", "- x")]
    assert resolved(diff, mixed) == "- door one opens at 08:15\n- gate two opens at 09:30\n- x\n"


def test_unlike_lines_in_the_place_of_several_are_decided_one_by_one() -> None:
    base = "# M\n- likes tea\n- owns a boat\n# End\n"
    now = base.replace("likes tea", "drinks milk only").replace("owns a boat", "rents some ship")
    wanted = base.replace("tea", "green tea").replace("a boat", "a red boat")
    diff = on(now, wanted, base)
    assert [sides(c) for c in diff.changes] == [
        (("- likes tea",), ("- drinks milk only",), ("- likes green tea",)),
        (("- owns a boat",), ("- rents some ship",), ("- owns a red boat",)),
    ]
    assert resolved(diff, []) == now


def test_changes_elsewhere_fit_by_themselves_and_keep_their_kind() -> None:
    base = (
        "# M\n\n- Bo lives in Porto\n- Bo works at Acme\n- tea is green\n\n## Old name\n- z z z\n"
    )
    wanted = (
        "# M\n\n- Bo lives in Porto and works at Acme\n- tea is green\n\n## New name\n- z z z\n"
    )
    diff = on(base.replace("tea is green", "tea is black"), wanted, base)
    assert [(c.kind, c.conflict) for c in diff.changes] == [
        ("merged", False), ("section_renamed", False),
    ]  # fmt: skip
    assert resolved(diff, accept_all(diff.changes)) == wanted.replace("green", "black")


def test_a_merge_meets_an_edit_of_one_of_its_lines_as_one_conflict() -> None:
    base = "- Bo lives in Porto\n- else\n- Bo works at Acme\n"
    wanted = "- Bo lives in Porto and works at Acme\n- else\n"
    (change,) = on(base.replace("at Acme", "at Umbra"), wanted, base).changes
    assert change.conflict
    assert change.old == ("- Bo lives in Porto", "- Bo works at Acme")
    assert change.before == ("- Bo lives in Porto", "- Bo works at Umbra")


def test_what_the_person_did_already_is_not_asked() -> None:
    wanted = START.replace(SENSOR, BY_RUN).replace(BACKUPS, f"{BACKUPS}\n- A new fact stands here")
    assert on(wanted, wanted).changes == ()
    (left,) = on(START.replace(SENSOR, BY_RUN), wanted).changes
    assert left.after == ("- A new fact stands here",)
    saved = f"{START}## Saved\n- A new fact  stands here\n"
    (left,) = on(saved, wanted).changes
    assert left.after == (BY_RUN,), "the fact is in the file, at another place"


def test_a_line_the_person_moved_takes_the_change_with_it() -> None:
    base = "# A\n- one first fact\n- two second fact\n# B\n- three third fact\n"
    now = "# A\n- two second fact\n# B\n- three third fact\n- one first fact\n"
    diff = on(now, base.replace("one first fact", "one first fact, seen again"), base)
    assert [(c.kind, c.conflict) for c in diff.changes] == [("reworded", False)]
    assert resolved(diff, accept_all(diff.changes)).endswith("- one first fact, seen again\n")
    assert on(now, now.replace("two", "too"), base).changes[0].kind == "reworded"
    moved_too = on(now + "- mine\n", now, base)
    assert moved_too.changes == (), "both moved it to one place"


def test_a_merge_that_the_person_made_too_and_put_elsewhere_is_done() -> None:
    base = "- Bo lives in Porto\n- Bo works at Acme\n- tea is green\n- cake is sweet\n"
    both = "- Bo lives in Porto and Bo works at Acme\n"
    diff = on(f"- tea is green\n{both}- cake is sweet\n", f"{both}- tea is green\n", base)
    assert [(c.kind, c.before) for c in diff.changes] == [("dropped", ("- cake is sweet",))]
    diff = on(f"{base}{both}", base.split("\n", 1)[1].replace("- Bo works at Acme\n", both), base)
    (left,) = diff.changes
    assert (left.kind, left.before) == (
        "dropped", ("- Bo lives in Porto", "- Bo works at Acme"),
    )  # fmt: skip
    assert resolved(diff, accept_all(diff.changes)).count("Porto") == 1


@settings(max_examples=500, deadline=None)
@given(two_versions(), st.lists(ACT, max_size=6), st.integers(0, 2**12 - 1), st.integers(0, 2**16))
def test_no_edit_of_the_person_and_no_change_of_the_run_goes_unasked(
    texts: tuple[str, str], acts: list[tuple[str, int, int]], broken: int, bits: int
) -> None:
    start, wanted = texts
    lines = start.split("\n")
    for step, (act, at, to) in enumerate(acts, 100):
        change(lines, act, at % len(lines), to % len(lines), step)
        assume(lines)
    now = "\n".join(lines)
    hand = set(lines) - set(start.split("\n")) - {""}
    theirs = taken_apart(
        difference(start, wanted),
        [(c.before, c.after) for c in changes(start, wanted) if broken >> c.n % 12 & 1],
    )
    diff = joined(theirs, now)
    decided = [Decision(c.n, "accept" if bits >> c.n % 16 & 1 else "reject") for c in diff.changes]
    out = resolved(diff, decided).split("\n")
    assert resolved(diff, []) == now
    for one, decision in zip(diff.changes, decided, strict=True):
        assert set(one.after if decision.verdict == "accept" else one.before) <= set(out)
        if not one.conflict:
            assert hand.isdisjoint(one.before), "only a conflict may take a hand edit out"
    came = {line for c in diff.changes for line in c.after} | set(lines)
    gone = {line for c in diff.changes for line in (*c.before, *c.old)} | set(theirs.result)
    for one in theirs.changes:
        assert set(one.after) <= came, "a change of the run is asked, or done already"
        assert set(one.before) & set(lines) <= gone
    everything = Counter(resolved(diff, accept_all(diff.changes)).split("\n"))
    assert [line for line, n in everything.items() if line.strip() and n > 1] == []


@settings(max_examples=400, deadline=None)
@given(st.text(alphabet="-# a1`\n\r|", max_size=40), st.text(alphabet="-# a1`\n\r|", max_size=40),
       st.text(alphabet="-# a1`\n\r|", max_size=40))  # fmt: skip
def test_any_three_texts(start: str, wanted: str, now: str) -> None:
    diff = on(now, wanted, start)
    assert resolved(diff, []) == now
    assert resolved(diff, [Decision(c.n, "reject") for c in diff.changes]) == now
    assert resolved(diff, accept_all(diff.changes)) == "\n".join(diff.result)
    assert {s.n for s in diff.slots} - {0} == {c.n for c in diff.changes}
