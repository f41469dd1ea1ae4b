"""A proposal on a file that changes under it, again and again; and a merge taken apart."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path

import pytest

from app.engine.errors import BaseChanged, UserError
from app.engine.memory.apart import taken_apart
from app.engine.memory.diff import difference
from app.engine.memory.review import accept_all
from app.engine.records import Change, Decision
from tests.helpers.consolidating import START, Desk

OFFICE, TEA, BOAT = "- The office closes at 18:00", "- Ines likes green tea", "- Bo owns a boat"
BASE = f"# Memory\n\n{OFFICE}\n{TEA}\n{BOAT}\n"
OFFICE_RUN, TEA_RUN = "- The office closes at 19:00", "- Ines likes black tea"
NEW_FACT = "- Release 4.2 is frozen until 2026-06-10"
WANTED = f"# Memory\n\n{OFFICE_RUN}\n{TEA_RUN}\n{BOAT}\n{NEW_FACT}\n"
OFFICE_HAND, TEA_HAND = "- The office closes at 17:00", "- Ines likes white tea"
LATER = START + timedelta(hours=3)


def proposed(root: Path, answer: str = WANTED, base: str = BASE) -> tuple[Desk, str]:
    desk = Desk(root, answer, prepare=base, policy="review")
    desk.writer.notice_external(when=START - timedelta(hours=1))
    desk.flush(NEW_FACT)
    return desk, asyncio.run(desk.run()).run


def edit(desk: Desk, old: str, new: str) -> None:
    desk.layout.memory_md.write_text(desk.memory.replace(old, new))


def conflicts(changes: Iterable[Change]) -> list[tuple[object, ...]]:
    return [(c.old, c.before, c.after) for c in changes if c.conflict]


def number(changes: Iterable[Change], line: str) -> int:
    return next(c.n for c in changes if line in (*c.before, *c.after))


def test_each_edit_is_compared_with_what_the_run_began_with(tmp_path: Path) -> None:
    desk, run = proposed(tmp_path)
    edit(desk, OFFICE, OFFICE_HAND)
    desk.review.keep(run, [Decision(number(desk.review.show(run).changes, NEW_FACT), "accept")])
    desk.open()
    edit(desk, TEA, TEA_HAND)
    desk.open()
    shown = desk.review.show(run)
    assert conflicts(shown.changes) == [
        ((OFFICE,), (OFFICE_HAND,), (OFFICE_RUN,)),
        ((TEA,), (TEA_HAND,), (TEA_RUN,)),
    ]
    assert shown.decisions == (Decision(3, "accept"),)
    edit(desk, OFFICE_HAND, OFFICE)
    shown = desk.review.show(run)
    assert conflicts(shown.changes) == [((TEA,), (TEA_HAND,), (TEA_RUN,))]
    edit(desk, TEA_HAND, TEA)
    shown = desk.review.show(run)
    assert conflicts(shown.changes) == []
    assert not shown.base_changed
    assert shown.candidate.rstrip() == WANTED.rstrip()


def test_a_decided_conflict_stays_decided_until_its_line_changes_again(tmp_path: Path) -> None:
    desk, run = proposed(tmp_path)
    edit(desk, OFFICE, OFFICE_HAND)
    desk.review.keep(run, [Decision(1, "accept")])
    assert desk.review.show(run).decisions == (), "a yes to the change is no yes to the conflict"
    desk.review.keep(run, [Decision(1, "reject")])
    edit(desk, BOAT, f"{BOAT}\n- by hand")
    desk.open()
    assert desk.review.show(run).decisions == (Decision(1, "reject"),)
    edit(desk, OFFICE_HAND, "- The office closes at 16:00")
    assert desk.review.show(run).decisions == ()


def test_of_lines_that_are_alike_each_keeps_its_own_decision(tmp_path: Path) -> None:
    base = "# Memory\n\n- same line\n- tea\n- same line\n- cake\n"
    desk, run = proposed(tmp_path, "# Memory\n\n- tea\n- cake\n", base)
    assert [c.before for c in desk.review.show(run).changes] == [("- same line",)] * 2
    desk.review.keep(run, [Decision(1, "reject"), Decision(2, "accept")])
    edit(desk, "- cake", "- cake\n- by hand")
    assert desk.review.show(run).decisions == (Decision(1, "reject"), Decision(2, "accept"))


def test_a_conflict_outlives_the_apply_of_the_rest(tmp_path: Path) -> None:
    desk, run = proposed(tmp_path)
    edit(desk, OFFICE, OFFICE_HAND)
    edit(desk, TEA, TEA_HAND)
    shown = desk.review.show(run)
    tea, fact = number(shown.changes, TEA_RUN), number(shown.changes, NEW_FACT)
    applied = desk.review.apply(
        run, [Decision(tea, "accept"), Decision(fact, "accept")], when=LATER
    )
    assert applied.left_waiting == 1
    assert desk.memory.split("\n")[2:6] == [OFFICE_HAND, TEA_RUN, BOAT, NEW_FACT]
    desk.open()
    (left,) = desk.review.show(run).changes
    assert conflicts([left]) == [((OFFICE,), (OFFICE_HAND,), (OFFICE_RUN,))]
    edit(desk, OFFICE_HAND, "- The office closes at 16:00")
    (left,) = desk.review.show(run).changes
    assert conflicts([left]) == [((OFFICE,), ("- The office closes at 16:00",), (OFFICE_RUN,))]
    both = f"- The office closes at 16:00\n{OFFICE_RUN}"
    desk.review.apply(run, [Decision(1, "accept", both)], when=LATER)
    assert desk.memory.split("\n")[2:4] == both.split("\n")
    assert desk.store.load(run).state == "applied"


def test_the_review_names_the_version_it_began_with_and_the_one_that_changed_it(
    tmp_path: Path,
) -> None:
    desk, run = proposed(tmp_path)
    shown = desk.review.show(run)
    assert (shown.started_from, shown.changed) == (1, None)
    edit(desk, OFFICE, OFFICE_HAND)
    changed = desk.review.show(run).changed
    assert changed is not None
    assert (changed.number, changed.cause) == (0, "external"), "no version holds the edit yet"
    now = desk.writer.read()
    desk.writer.write(
        now.text.replace(TEA, TEA_HAND), base_sha256=now.sha256, cause="hand", when=LATER
    )
    shown = desk.review.show(run)
    assert shown.started_from == 1
    assert shown.changed is not None
    assert (shown.changed.number, shown.changed.cause, shown.changed.when) == (3, "hand", LATER)
    desk.review.apply(run, [Decision(number(shown.changes, NEW_FACT), "accept")], when=LATER)
    assert desk.review.show(run).started_from == 1, "a conflict is left of the first text"


def test_a_proposal_that_the_person_carried_out_by_hand_is_applied_not_rejected(
    tmp_path: Path,
) -> None:
    desk, run = proposed(tmp_path)
    shown = desk.review.show(run)
    desk.layout.memory_md.write_text(WANTED.rstrip("\n"))
    applied = desk.review.apply(run, accept_all(shown.changes), when=LATER)
    assert applied.state == "applied"
    assert desk.memory == WANTED.rstrip("\n")
    assert desk.fates() == ["merged"]
    assert desk.refused.all() == []


# ---------------------------------------------------------------------------- taken apart

ONE, TWO, BOTH = (
    "- Bo lives in Porto", "- Bo works at Acme", "- Bo lives in Porto and works at Acme",
)  # fmt: skip
PAIR = f"# Memory\n\n{ONE}\n{TEA}\n{TWO}\n"
MERGED = f"# Memory\n\n{BOTH}\n{TEA}\n{NEW_FACT}\n"


def told(changes: Iterable[Change]) -> list[tuple[object, ...]]:
    return [(c.kind, c.before, c.after, c.group) for c in changes]


APART = [
    ("dropped", (ONE,), (), 1),
    ("added", (), (BOTH,), 1),
    ("dropped", (TWO,), (), 1),
    ("added", (), (NEW_FACT,), 0),
]


def test_a_merge_comes_apart_into_lines_that_are_decided_alone(tmp_path: Path) -> None:
    desk, run = proposed(tmp_path, MERGED, PAIR)
    assert told(desk.review.show(run).changes)[0] == ("merged", (ONE, TWO), (BOTH,), 0)
    desk.review.keep(run, [Decision(1, "reject"), Decision(2, "accept")])
    desk.review.take_apart(run, 1)
    shown = desk.review.show(run)
    assert told(shown.changes) == APART
    assert shown.decisions == (Decision(4, "accept"),), "the rest stays decided, the merge is not"
    assert shown.info.changes == 4
    decided = [Decision(1, "reject"), Decision(2, "accept"), Decision(3, "accept")]
    desk.review.apply(run, [*decided, Decision(4, "reject")], when=LATER)
    assert desk.memory == f"# Memory\n\n{ONE}\n{BOTH}\n{TEA}\n"


def test_what_was_taken_apart_stays_so_over_restart_edit_and_apply(tmp_path: Path) -> None:
    desk, run = proposed(tmp_path, MERGED, PAIR)
    desk.review.take_apart(run, 1)
    desk.open()
    assert told(desk.review.show(run).changes) == APART
    edit(desk, TWO, "- Bo works at Umbra")
    shown = desk.review.show(run)
    assert [c.kind for c in shown.changes] == ["dropped", "added", "dropped", "added"]
    assert conflicts(shown.changes) == [((TWO,), ("- Bo works at Umbra",), ())]
    desk.review.apply(run, [Decision(1, "accept"), Decision(4, "accept")], when=LATER)
    desk.open()
    shown = desk.review.show(run)
    assert [(c.kind, c.group) for c in shown.changes] == [("added", 1), ("dropped", 1)]
    assert conflicts(shown.changes) == [((TWO,), ("- Bo works at Umbra",), ())]
    desk.review.apply(run, [Decision(1, "accept"), Decision(2, "reject")], when=LATER)
    assert [line for line in desk.memory.split("\n") if "Bo" in line] == [
        BOTH, "- Bo works at Umbra",
    ]  # fmt: skip


def test_a_group_is_put_together_again(tmp_path: Path) -> None:
    desk, run = proposed(tmp_path, MERGED, PAIR)
    desk.review.take_apart(run, 1)
    desk.review.keep(run, [Decision(3, "reject"), Decision(4, "reject")])
    desk.review.put_together(run, 3)
    shown = desk.review.show(run)
    assert told(shown.changes)[0] == ("merged", (ONE, TWO), (BOTH,), 0)
    assert shown.decisions == (Decision(2, "reject"),)


def test_a_split_comes_apart_too(tmp_path: Path) -> None:
    desk, run = proposed(tmp_path, f"# Memory\n\n{ONE}\n{TWO}\n", f"# Memory\n\n{BOTH}\n")
    assert [c.kind for c in desk.review.show(run).changes] == ["split"]
    desk.review.take_apart(run, 1)
    parts = desk.review.show(run).changes
    assert [c.kind for c in parts] == ["dropped", "added", "added"]
    desk.review.apply(
        run, [Decision(1, "reject"), Decision(2, "accept"), Decision(3, "reject")], when=LATER
    )
    assert desk.memory.count("Porto") == 2


def test_what_is_no_group_is_not_taken_apart(tmp_path: Path) -> None:
    desk, run = proposed(tmp_path, MERGED, PAIR)
    for call in (
        lambda: desk.review.take_apart(run, 2),
        lambda: desk.review.take_apart(run, 9),
        lambda: desk.review.put_together(run, 1),
    ):
        with pytest.raises(UserError) as caught:
            call()
        assert caught.value.remedy


def test_an_apply_that_meets_a_new_conflict_keeps_the_parts(tmp_path: Path) -> None:
    desk, run = proposed(tmp_path, MERGED, PAIR)
    desk.review.take_apart(run, 1)
    shown = desk.review.show(run)
    edit(desk, TWO, "- Bo works at Umbra")
    with pytest.raises(BaseChanged):
        desk.review.apply(run, accept_all(shown.changes), when=LATER)
    shown = desk.review.show(run)
    assert shown.decisions == (Decision(1, "accept"), Decision(2, "accept"), Decision(4, "accept"))


def test_another_change_of_the_same_lines_is_no_part_of_the_group() -> None:
    """A group is known by its lines on both sides: what only begins with them stays whole."""
    other = difference(PAIR, MERGED.replace(BOTH, f"{BOTH} since May"))
    assert other.changes[0].kind == "merged"
    assert taken_apart(other, [((ONE, TWO), (BOTH,))]) == other


def test_a_wording_that_is_turned_down_refuses_no_fact_of_the_file(tmp_path: Path) -> None:
    desk, run = proposed(tmp_path, BASE.replace(TEA, "*  ines likes GREEN tea") + NEW_FACT)
    shown = desk.review.show(run)
    (wording,) = [c for c in shown.changes if TEA in c.before]
    desk.review.apply(run, [Decision(c.n, "reject") for c in shown.changes], when=LATER)
    assert wording.kind == "reworded"
    assert [claim.text for claim in desk.refused.all()] == [NEW_FACT]
