"""An apply taken back: what it brought was refused by nobody, so it waits to be decided again."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

from app.engine.config import MemoryConfig
from app.engine.memory.review import accept_all
from app.engine.memory.saving import MemorySaver, Wish
from app.engine.records import Change, Decision
from tests.helpers.consolidating import START, Desk

BASE = "# Memory\n\n- Bo is the designer of the studio\n- The office closes at 18:00\n"
ONE = "- Ines prefers answers in Portuguese"
TWO = "- Release 4.2 is frozen until 2026-06-10"
THREE = "- The printer stands in room 12"
NEW = f"{BASE}{ONE}\n{TWO}\n{THREE}\n"
LATER = START + timedelta(hours=3)
LAST = LATER + timedelta(hours=1)
YES, NO = "accept", "reject"


def proposed(root: Path, policy: str = "review") -> tuple[Desk, str]:
    """A desk with one proposal of three additions from three sections."""
    desk = Desk(root, NEW, prepare=BASE, policy=policy)
    for line in (ONE, TWO, THREE):
        desk.flush(line)
    return desk, asyncio.run(desk.run()).run


def decide(desk: Desk, run: str, *verdicts: tuple[str, str]) -> None:
    """Apply what is said of the changes that bring these lines."""
    of = {c.after: c.n for c in desk.review.show(run).changes}
    desk.review.apply(run, [Decision(of[line,], said) for line, said in verdicts], when=LATER)  # pyright: ignore[reportArgumentType]


def brought(changes: tuple[Change, ...]) -> list[str]:
    return sorted(line for change in changes for line in change.after)


def test_undo_is_a_new_version_and_what_it_took_out_waits_while_a_refusal_stays(
    tmp_path: Path,
) -> None:
    desk, run = proposed(tmp_path)
    decide(desk, run, (ONE, YES), (TWO, YES), (THREE, NO))
    undone = desk.review.undo(when=LATER)
    assert (desk.memory, undone.state) == (BASE, "undo")
    assert [v.cause for v in desk.writer.history.versions()] == ["undo", "consolidation", "start"]
    assert desk.fates() == ["waiting", "waiting", "rejected"]
    assert [claim.text for claim in desk.refused.all()] == [THREE]
    assert desk.store.load(run).state == "partly_applied"
    restored = desk.review.restore(2, when=LATER)
    assert (desk.memory, restored.version) == (f"{BASE}{ONE}\n{TWO}\n", 4)


def test_the_next_consolidation_proposes_what_was_undone_and_not_what_was_refused(
    tmp_path: Path,
) -> None:
    desk, run = proposed(tmp_path)
    decide(desk, run, (ONE, YES), (TWO, YES), (THREE, NO))
    desk.review.undo(when=LATER)
    desk.model.replies = [NEW]
    outcome = asyncio.run(desk.run(LAST))
    assert outcome.state == "proposed"
    changes = desk.review.show(outcome.run).changes
    assert brought(changes) == sorted((ONE, TWO))
    desk.review.apply(outcome.run, accept_all(changes), when=LAST)
    assert desk.fates() == ["merged", "merged", "rejected"]


def test_a_line_that_was_never_proposed_stays_what_it_was(tmp_path: Path) -> None:
    desk = Desk(tmp_path, f"{BASE}{ONE}\n", prepare=BASE, policy="review")
    for line in (ONE, TWO, "- The office closes at 18:00"):
        desk.flush(line)
    run = asyncio.run(desk.run()).run
    decide(desk, run, (ONE, YES))
    assert desk.fates() == ["merged", "left_out", "merged"]
    desk.review.undo(when=LATER)
    assert desk.fates() == ["waiting", "left_out", "merged"], "the file held the last before"


def test_what_a_policy_wrote_and_a_person_took_back_is_not_written_again_by_itself(
    tmp_path: Path,
) -> None:
    desk, _ = proposed(tmp_path, policy="auto")
    assert desk.memory == NEW
    desk.review.undo(when=LATER)
    outcome = asyncio.run(desk.run(LAST))
    assert (outcome.state, desk.memory) == ("proposed", BASE)
    assert "took lines of it out of memory" in outcome.reason
    desk.flush("- The server room has a new key", at=LAST)
    assert desk.review.apply_all(outcome.run, when=LAST).state == "applied"
    desk.model.replies = [f"{NEW}- The server room has a new key\n"]
    assert asyncio.run(desk.run(LAST + timedelta(hours=1))).state == "applied"


def test_an_undo_can_be_undone_and_that_again(tmp_path: Path) -> None:
    desk, run = proposed(tmp_path)
    decide(desk, run, (ONE, YES), (TWO, YES), (THREE, YES))
    for text, fate in ((BASE, "waiting"), (NEW, "merged")) * 2:
        desk.review.undo(when=LATER)
        assert (desk.memory, desk.fates()) == (text, [fate] * 3)


def test_an_undone_part_waits_with_the_rest_of_its_proposal(tmp_path: Path) -> None:
    desk, run = proposed(tmp_path)
    decide(desk, run, (ONE, YES), (TWO, NO))
    desk.review.keep(run, [Decision(1, "accept")])
    desk.review.undo(when=LATER)
    shown = desk.review.show(run)
    assert brought(shown.changes) == sorted((ONE, THREE)), "what was refused stays away"
    (kept,) = shown.decisions
    assert shown.changes[kept.n - 1].after == (THREE,), "the decision on the other one is kept"
    assert (shown.info.state, shown.info.changes, shown.base_changed) == ("in_review", 2, False)
    assert desk.fates() == ["waiting", "rejected", "waiting"]
    assert asyncio.run(desk.run(LAST)).state == "nothing", "it waits in its review"
    desk.review.apply(run, accept_all(shown.changes), when=LAST)
    assert desk.memory == f"{BASE}{ONE}\n{THREE}\n"
    assert desk.fates() == ["merged", "rejected", "merged"]


def test_an_undone_part_is_brought_back_and_its_proposal_goes_on(tmp_path: Path) -> None:
    desk, run = proposed(tmp_path)
    decide(desk, run, (ONE, YES))
    desk.review.undo(when=LATER)
    desk.review.undo(when=LATER)
    assert brought(desk.review.show(run).changes) == sorted((TWO, THREE))
    assert desk.fates() == ["merged", "waiting", "waiting"]


def test_only_the_newest_part_of_a_proposal_is_taken_back(tmp_path: Path) -> None:
    desk, run = proposed(tmp_path)
    decide(desk, run, (ONE, YES))
    decide(desk, run, (TWO, YES))
    desk.review.undo(when=LATER)
    assert brought(desk.review.show(run).changes) == sorted((TWO, THREE))
    assert desk.fates() == ["merged", "waiting", "waiting"]
    assert desk.memory == f"{BASE}{ONE}\n"


def test_own_words_that_were_undone_wait_as_they_were_written(tmp_path: Path) -> None:
    desk, run = proposed(tmp_path)
    desk.review.show(run)
    own = "- Ines prefers short answers in Portuguese"
    desk.review.apply(run, [Decision(1, "accept", own)], when=LATER)
    desk.review.undo(when=LATER)
    assert brought(desk.review.show(run).changes) == sorted((own, TWO, THREE))
    assert desk.fates() == ["waiting"] * 3


def test_a_hand_edit_before_the_undo_leaves_the_proposal_to_be_joined_with_the_file(
    tmp_path: Path,
) -> None:
    desk, run = proposed(tmp_path)
    decide(desk, run, (ONE, YES))
    desk.layout.memory_md.write_text(desk.memory.replace("18:00", "19:00"), "utf-8")
    desk.review.undo(when=LATER)
    assert "18:00" in desk.memory
    assert ONE in desk.memory, "only the hand edit was taken back"
    assert brought(desk.review.show(run).changes) == sorted((TWO, THREE))
    assert desk.fates() == ["merged", "waiting", "waiting"]


def test_a_part_on_top_of_a_hand_edit_waits_again_beside_a_conflict(tmp_path: Path) -> None:
    answer = f"{BASE.replace('18:00', '17:00')}{ONE}\n{TWO}\n"
    desk = Desk(tmp_path, answer, prepare=BASE, policy="review")
    desk.flush(ONE, "- The office closes at 17:00")
    desk.flush(TWO)
    run = asyncio.run(desk.run()).run
    edited = BASE.replace("18:00", "19:00")
    desk.layout.memory_md.write_text(edited, "utf-8")
    decide(desk, run, (ONE, YES))
    desk.review.undo(when=LATER)
    assert desk.memory == edited
    changes = desk.review.show(run).changes
    assert sorted(c.after for c in changes if not c.conflict) == [(ONE,), (TWO,)]
    assert [c.after for c in changes if c.conflict] == [("- The office closes at 17:00",)]


def test_a_saved_fact_that_was_taken_back_waits_in_its_day(tmp_path: Path) -> None:
    desk = Desk(tmp_path, f"{BASE}{ONE}\n", prepare=BASE, policy="review")
    saver = MemorySaver(desk.layout, desk.writer, desk.states, desk.store)
    saver.save(Wish(ONE, by_person=True, when=START), MemoryConfig(policy="review"))
    assert desk.fates() == ["merged"]
    desk.review.undo(when=LATER)
    assert (desk.memory, desk.fates()) == (BASE, ["waiting"])
    desk.review.undo(when=LATER)
    assert desk.fates() == ["merged"]
