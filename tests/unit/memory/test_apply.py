"""Decisions become a version of MEMORY.md, whatever happens on the way."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pygit2
import pytest
from msgspec import structs

from app.engine.config import MemoryConfig
from app.engine.errors import BaseChanged, StorageError, UserError
from app.engine.memory.proposals import ProposalClosed
from app.engine.memory.review import accept_all
from app.engine.memory.saving import MemorySaver, Wish
from app.engine.records import Decision
from app.engine.workspace import sections as section_states
from tests.helpers.consolidating import START, Desk

BASE = "# Memory\n\n- Bo is the designer of the studio\n- The office closes at 18:00\n"
ONE = "- Ines prefers answers in Portuguese"
TWO = "- Release 4.2 is frozen until 2026-06-10"
NEW = f"{BASE}{ONE}\n{TWO}\n"
LATER = START + timedelta(hours=3)


def proposed(root: Path, answer: str = NEW, base: str = BASE) -> tuple[Desk, str]:
    """A desk with one proposal of two additions from two sections."""
    desk = Desk(root, answer, prepare=base, policy="review")
    desk.flush(ONE)
    desk.flush(TWO)
    return desk, asyncio.run(desk.run()).run


def test_a_mixture_is_written_and_each_section_gets_its_fate(tmp_path: Path) -> None:
    desk, run = proposed(tmp_path)
    desk.review.show(run)
    applied = desk.review.apply(run, [Decision(1, "accept"), Decision(2, "reject")], when=LATER)
    assert desk.memory == f"{BASE}{ONE}\n"
    assert (applied.state, applied.added, applied.left_waiting) == ("partly_applied", 1, 0)
    assert desk.fates() == ["merged", "rejected"]
    assert desk.watermark == START
    assert [claim.text for claim in desk.refused.all()] == [TWO]


def test_what_is_undecided_stays_waiting_and_holds_the_watermark(tmp_path: Path) -> None:
    desk, run = proposed(tmp_path)
    applied = desk.review.apply(run, [Decision(1, "accept")], when=LATER)
    assert (applied.left_waiting, applied.state) == (1, "in_review")
    assert desk.fates() == ["merged", "waiting"]
    assert desk.watermark < START
    shown = desk.review.show(run)
    assert [c.after for c in shown.changes] == [(TWO,)]
    assert shown.decisions == ()
    done = desk.review.apply(run, accept_all(shown.changes), when=LATER)
    assert (done.version, done.state) == (applied.version + 1, "applied")
    assert desk.memory.rstrip() == NEW.rstrip()
    assert desk.fates() == ["merged", "merged"]


def test_a_loss_that_is_undecided_stays_waiting_too(tmp_path: Path) -> None:
    desk, run = proposed(tmp_path, answer=f"# Memory\n\n- Bo is the designer of the studio\n{ONE}")
    changes = desk.review.show(run).changes
    kept = next(c for c in changes if c.kind == "added")
    desk.review.apply(run, [Decision(kept.n, "accept")], when=LATER)
    rest = desk.review.show(run).changes
    assert [(c.kind, c.before) for c in rest] == [("dropped", ("- The office closes at 18:00",))]
    assert "The office closes" in desk.memory


def test_a_refused_claim_is_told_to_the_model_and_filtered_when_it_comes_back(
    tmp_path: Path,
) -> None:
    desk, run = proposed(tmp_path)
    desk.review.apply(run, [Decision(1, "accept"), Decision(2, "reject")], when=LATER)
    desk.flush("- The printer is new", at=LATER)
    again = "- release 4.2 is  frozen until 2026-06-10"
    desk.model.replies = [f"{BASE}{ONE}\n{again}\n- The printer is new"]
    outcome = asyncio.run(desk.run(LATER + timedelta(hours=1)))
    assert f"<refused_claims>\n{TWO}" in desk.model.asked
    changes = desk.review.show(outcome.run).changes
    assert [c.after for c in changes] == [("- The printer is new",)]


def test_refusing_everything_writes_nothing_and_rejects_the_proposal(tmp_path: Path) -> None:
    desk, run = proposed(tmp_path)
    both = [Decision(1, "reject"), Decision(2, "reject")]
    assert desk.review.apply(run, both, when=LATER).state == "rejected"
    assert desk.memory == BASE
    assert desk.fates() == ["rejected", "rejected"]
    with pytest.raises(ProposalClosed):
        desk.review.apply(run, both, when=LATER)


def test_nothing_decided_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    desk, run = proposed(tmp_path)
    with pytest.raises(UserError) as caught:
        desk.review.apply(run, [], when=LATER)
    assert caught.value.remedy
    assert desk.store.load(run).state == "proposed"


def test_kept_decisions_are_there_again_after_a_restart(tmp_path: Path) -> None:
    desk, run = proposed(tmp_path)
    desk.review.keep(run, [Decision(2, "accept", "- Release 4.2 is frozen")])
    desk.open()
    shown = desk.review.show(run)
    assert shown.info.state == "in_review"
    assert shown.decisions == (Decision(2, "accept", "- Release 4.2 is frozen"),)
    assert desk.review.preview(run, shown.decisions).undecided == 1


def test_an_opened_review_of_other_sections_outlives_the_apply_of_another(tmp_path: Path) -> None:
    desk, run = proposed(tmp_path)
    desk.review.keep(run, [Decision(1, "accept")])
    desk.flush("- The printer is new", at=START)
    desk.model.replies = [f"{BASE}- The printer is new"]
    other = asyncio.run(desk.run(START + timedelta(hours=1))).run
    desk.review.apply(other, [Decision(1, "accept")], when=LATER)
    assert desk.store.load(run).state == "in_review"
    shown = desk.review.show(run)
    assert "The printer is new" in shown.base
    assert not any(c.conflict for c in shown.changes), "both add at one place: both may stay"
    assert shown.decisions == (Decision(1, "accept"),), "what was decided is not asked again"
    desk.review.apply(run, [Decision(c.n, "reject") for c in shown.changes], when=LATER)
    assert "The printer is new" in desk.memory


def test_accepting_one_withdraws_its_unopened_rivals(tmp_path: Path) -> None:
    desk, run = proposed(tmp_path)
    twin = structs.replace(desk.store.load(run), id="r-twin")
    desk.store.add(twin)
    desk.review.apply(run, accept_all(desk.review.show(run).changes), when=LATER)
    assert desk.store.load("r-twin").state == "superseded"


def test_a_saved_fact_that_waits_outlives_the_apply_of_another_proposal(tmp_path: Path) -> None:
    desk, run = proposed(tmp_path)
    shown = desk.review.show(run)
    saver = MemorySaver(desk.layout, desk.writer, desk.states, desk.store)
    wish = Wish("- The printer is new", False, START)
    saved = saver.save(wish, MemoryConfig(policy="review")).proposal
    desk.review.apply(run, accept_all(shown.changes), when=LATER)
    assert desk.store.load(saved).state == "proposed"
    desk.review.apply(saved, accept_all(desk.review.show(saved).changes), when=LATER)
    assert ONE in desk.memory
    assert "- The printer is new" in desk.memory


def test_a_pinned_line_cannot_be_taken_out(tmp_path: Path) -> None:
    desk, run = proposed(tmp_path, answer=f"# Memory\n\n- The office closes at 18:00\n{ONE}")
    desk.writer.set_pins(["- Bo is the designer of the studio"])
    shown = desk.review.show(run)
    with pytest.raises(UserError, match="pinned"):
        desk.review.apply(run, accept_all(shown.changes), when=LATER)
    assert desk.memory == BASE
    assert desk.store.load(run).state == "proposed"


# ---------------------------------------------------------------------------- changed meanwhile


def test_a_hand_edit_elsewhere_merges_alone(tmp_path: Path) -> None:
    desk, run = proposed(tmp_path)
    shown = desk.review.show(run)
    desk.layout.memory_md.write_text(BASE.replace("# Memory", "# Memory\n- by hand"))
    desk.review.apply(run, accept_all(shown.changes), when=LATER)
    assert desk.memory == NEW.replace("# Memory", "# Memory\n- by hand")
    causes = [v.cause for v in desk.writer.history.versions()]
    assert causes == ["consolidation", "start"]


def test_a_hand_edit_of_the_same_line_asks_again_and_keeps_the_other_decisions(
    tmp_path: Path,
) -> None:
    desk, run = proposed(tmp_path, answer=NEW.replace("18:00", "19:00"))
    shown = desk.review.show(run)
    assert [c.kind for c in shown.changes] == ["reworded", "added", "added"]
    edited = BASE.replace("18:00", "17:00")
    desk.layout.memory_md.write_text(edited)
    with pytest.raises(BaseChanged):
        desk.review.apply(run, accept_all(shown.changes), when=LATER)
    assert desk.memory == edited
    shown = desk.review.show(run)
    assert shown.base_changed
    assert shown.changes[0].conflict
    assert shown.changes[0].old == ("- The office closes at 18:00",)
    assert shown.changes[0].before == ("- The office closes at 17:00",)
    assert shown.decisions == (Decision(2, "accept"), Decision(3, "accept"))
    desk.review.apply(run, [*shown.decisions, Decision(1, "reject")], when=LATER)
    assert desk.memory == NEW.replace("18:00", "17:00")


def test_an_automatic_apply_never_decides_a_conflict(tmp_path: Path) -> None:
    desk = Desk(tmp_path, prepare=BASE)
    edited = BASE.replace("18:00", "17:00")

    def answer(_request: Any) -> str:
        desk.layout.memory_md.write_text(edited)
        return f"{BASE.replace('office closes', 'office always closes')}{ONE}"

    desk.model.replies = [answer]
    desk.flush(ONE)
    outcome = asyncio.run(desk.run())
    assert outcome.state == "proposed"
    assert desk.memory == edited


# ---------------------------------------------------------------------------- crashes


class Killed(BaseException):
    """The process is gone at this point."""


def _kill(*_args: Any, **_kwargs: Any) -> Any:
    raise Killed


def test_an_edit_after_the_crash_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk, run = proposed(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(section_states.SectionStates, "set", _kill)
        with pytest.raises(Killed):
            desk.review.apply(run, [Decision(1, "accept"), Decision(2, "accept")], when=LATER)
    desk.layout.memory_md.write_text(desk.memory + "\n- by hand\n")
    desk.open()
    desk.review.resume_applying(when=LATER)
    assert desk.memory.endswith("- by hand\n")
    assert desk.store.load(run).state == "applied"
    assert desk.fates() == ["merged", "merged"]


def test_a_decision_on_a_change_that_is_not_there_is_refused(tmp_path: Path) -> None:
    desk, run = proposed(tmp_path)
    for n in (0, -1, 99):
        decisions = [Decision(1, "accept"), Decision(n, "accept")]
        for work in (
            lambda d=decisions: desk.review.keep(run, d),
            lambda d=decisions: desk.review.preview(run, d),
            lambda d=decisions: desk.review.apply(run, d, when=START),
        ):
            with pytest.raises(UserError, match=f"no change {n}"):
                work()
    assert desk.memory == BASE
    assert (desk.store.load(run).state, desk.store.load(run).decisions) == ("proposed", ())


def test_of_two_decisions_on_one_change_the_later_counts(tmp_path: Path) -> None:
    desk, run = proposed(tmp_path)
    desk.review.show(run)
    decisions = [Decision(1, "accept"), Decision(1, "reject"), Decision(2, "accept")]
    desk.review.apply(run, decisions, when=START)
    assert desk.memory == f"{BASE}{TWO}\n"
    assert [claim.text for claim in desk.refused.all()] == [ONE]


def test_own_words_and_reasons_with_half_a_character_are_written(tmp_path: Path) -> None:
    desk, run = proposed(tmp_path)
    desk.review.show(run)
    own = Decision(1, "accept", "- tea \ud83d\r\n- and cake")
    desk.review.keep(run, [own])
    desk.review.apply(run, [own], when=START)
    assert desk.memory == f"{BASE}- tea \ufffd\n- and cake\n"
    desk.review.reject(run, "no \udc00", when=START)
    assert desk.store.load(run).note == "no \ufffd"


@pytest.mark.parametrize("before", [BASE.encode(), BASE.replace("\n", "\r\n", 1).encode(), None])
def test_when_the_version_cannot_be_added_the_file_is_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: bytes | None
) -> None:
    desk, run = proposed(tmp_path)
    if before is None:
        desk.layout.memory_md.unlink()
    else:
        desk.layout.memory_md.write_bytes(before)
    desk.writer.notice_external(when=START)
    changes = desk.review.show(run).changes

    def full(*_args: Any, **_more: Any) -> Any:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(pygit2.Repository, "create_blob", full)
        for work in (
            lambda: desk.review.apply(run, accept_all(changes), when=START),
            lambda: desk.writer.save("- Rhea keeps bees", when=START),
        ):
            with pytest.raises(StorageError):
                work()
            found = desk.layout.memory_md.read_bytes() if desk.layout.memory_md.exists() else None
            assert found == before
    assert desk.review.apply(run, accept_all(changes), when=START).state == "applied"
    assert desk.writer.history.versions(1)[0].cause == "consolidation"
