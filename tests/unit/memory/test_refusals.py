"""Rejections that stick: what a person refused is told to the next prompt and taken out by code."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from app.engine.memory.review import accept_all
from app.engine.records import Decision
from tests.helpers.consolidating import START, Desk
from tests.helpers.workspaces import engine_on

BASE = "- Ines likes tea\n"
CLAIM = "- Bo moved from Lisbon to Porto in 2021"
LATER = START + timedelta(hours=1)


def refused_once(root: Path, claim: str = CLAIM) -> Desk:
    """A desk on which a person has refused `claim`, found in one section of the log."""
    desk = Desk(root, BASE + claim, prepare=BASE, policy="review")
    desk.flush(claim)
    run = asyncio.run(desk.run()).run
    desk.review.show(run)
    desk.review.apply(run, [Decision(1, "reject")], when=START)
    return desk


def next_run(desk: Desk, answer: str, *lines: str) -> tuple[str, list[tuple[str, ...]]]:
    """(state, what the changes would write) of a run over a new section of `lines`."""
    desk.flush(*(lines or ("- Kim plays chess",)), at=LATER - timedelta(minutes=1))
    desk.model.replies = [answer]
    outcome = asyncio.run(desk.run(LATER, manual=True))
    if outcome.state != "proposed":
        return outcome.state, []
    return "proposed", [c.after for c in desk.review.show(outcome.run).changes]


@pytest.mark.parametrize(
    "again", [CLAIM, "*  bo MOVED from lisbon to Porto in 2021", CLAIM + ".", CLAIM + "。"]
)
def test_a_refused_claim_is_told_and_does_not_come_back_however_written(
    tmp_path: Path, again: str
) -> None:
    desk = refused_once(tmp_path)
    state, written = next_run(desk, f"{BASE}{again}\n- Kim plays chess")
    assert (state, written) == ("proposed", [("- Kim plays chess",)])
    assert f"<refused_claims>\n{CLAIM}\n</refused_claims>" in desk.model.asked
    newest = desk.store.all()[0]
    assert "Refused before and left out again: 1." in newest.note
    assert again in newest.raw  # the answer itself is kept


def test_it_comes_back_neither_as_the_rewording_of_a_line_nor_alone(tmp_path: Path) -> None:
    desk = refused_once(tmp_path, "- Ines likes tea with milk")
    answer = "- Ines likes tea with milk\n- Kim plays chess"
    assert next_run(desk, answer) == ("proposed", [("- Kim plays chess",)])
    desk = refused_once(tmp_path / "two")
    assert next_run(desk, BASE + CLAIM)[0] == "unchanged"


def test_nearly_the_same_words_come_back_only_from_another_source(tmp_path: Path) -> None:
    near = "- Bo moved from Lisbon to Porto, in 2021"
    answer = f"{BASE}{near}\n- Kim plays chess"
    desk = refused_once(tmp_path)
    first = desk.store.all()[0]
    desk.states.set([i.key for i in first.inputs], "waiting", when=START)
    assert next_run(desk, answer) == ("proposed", [("- Kim plays chess",)])
    desk = refused_once(tmp_path / "two")
    assert next_run(desk, BASE + near, near) == ("proposed", [(near,)])


@pytest.mark.parametrize(
    "other",
    [
        CLAIM.replace("2021", "2022"), CLAIM.replace("Bo", "Kim"),
        CLAIM.replace("moved", "never moved"),
    ],
)  # fmt: skip
def test_a_corrected_claim_is_another_one(tmp_path: Path, other: str) -> None:
    desk = refused_once(tmp_path)
    inputs = desk.store.all()[0].inputs
    desk.states.set([i.key for i in inputs], "waiting", when=START)
    assert next_run(desk, BASE + other) == ("proposed", [(other,)])


def test_what_a_person_wrote_by_hand_is_never_filtered(tmp_path: Path) -> None:
    desk = refused_once(tmp_path)
    now = desk.writer.read()
    desk.writer.write(BASE + CLAIM, base_sha256=now.sha256, cause="hand", when=START)
    answer = f"{BASE}{CLAIM}\n- Kim plays chess"
    assert next_run(desk, answer) == ("proposed", [("- Kim plays chess",)])
    assert CLAIM in desk.memory


def test_the_list_outlives_a_restart_and_a_line_not_understood(tmp_path: Path) -> None:
    desk = refused_once(tmp_path)
    path = desk.layout.refused
    path.write_bytes(b'{"half": \n' + path.read_bytes() + b"\xff\n")
    desk.open()
    (claim,) = desk.refused.all()
    assert claim.text == CLAIM
    assert claim.sources == tuple(i.hash for i in desk.store.all()[0].inputs)
    desk.refused.remove(claim.key)
    assert desk.refused.all() == []
    assert path.read_bytes() == b'{"half": \n\xff\n'
    desk.refused.remove("not there")
    state, written = next_run(desk, f"{BASE}{CLAIM}")
    assert (state, written) == ("proposed", [(CLAIM,)])


def test_the_list_is_shown_and_edited_through_the_engine(tmp_path: Path) -> None:
    desk = refused_once(tmp_path)
    desk.flush("- Kim plays chess", at=LATER)
    desk.model.replies = [BASE + "- Kim plays chess"]
    run = asyncio.run(desk.run(LATER)).run
    desk.review.show(run)
    desk.review.reject(run, "", when=LATER)

    async def in_the_window() -> None:
        async with engine_on(tmp_path) as window:
            texts = [claim.text for claim in await window.engine.ask.refused()]
            assert texts == ["- Kim plays chess", CLAIM]
            await window.engine.do.forget_refusal((await window.engine.ask.refused())[0].key)
            assert [claim.text for claim in await window.engine.ask.refused()] == [CLAIM]

    asyncio.run(in_the_window())


KEEP = "- Kim plays chess on Fridays"
FILE = f"- Ines likes tea\n{KEEP}\n- Bo lives in Porto\n"


def kept_once(root: Path) -> Desk:
    """A desk on which a person has refused to lose `KEEP`."""
    desk = Desk(root, FILE.replace(f"{KEEP}\n", ""), prepare=FILE, policy="review")
    desk.flush("- Rhea keeps bees")
    run = asyncio.run(desk.run()).run
    (change,) = desk.review.show(run).changes
    assert change.kind == "dropped"
    desk.review.apply(run, [Decision(change.n, "reject")], when=START)
    return desk


def test_a_refused_loss_is_told_and_not_proposed_again(tmp_path: Path) -> None:
    desk = kept_once(tmp_path)
    assert [(one.what, one.text) for one in desk.refused.all()] == [("loss", KEEP)]
    answer = "- Bo lives in Porto\n- Rhea keeps bees"
    desk.flush("- Rhea keeps bees", at=LATER - timedelta(minutes=1))
    desk.model.replies = [answer]
    run = asyncio.run(desk.run(LATER, manual=True)).run
    assert f"<kept_lines>\n{KEEP}\n</kept_lines>" in desk.model.asked
    assert KEEP not in desk.model.asked.split("</kept_lines>")[1]
    shown = desk.review.show(run)
    assert [(c.kind, c.before, c.after) for c in shown.changes] == [
        ("dropped", ("- Ines likes tea",), ()), ("added", (), ("- Rhea keeps bees",)),
    ]  # fmt: skip
    assert "Refused before and left out again: 1." in shown.note
    desk.review.apply(run, accept_all(shown.changes), when=LATER)
    assert desk.memory == f"{KEEP}\n- Bo lives in Porto\n- Rhea keeps bees\n"


def test_a_kept_line_may_be_reworded_and_goes_when_it_is_off_the_list(tmp_path: Path) -> None:
    desk = kept_once(tmp_path)
    reworded = FILE.replace("chess on Fridays", "chess on Fridays and Mondays")
    assert next_run(desk, reworded) == ("proposed", [("- Kim plays chess on Fridays and Mondays",)])
    desk = kept_once(tmp_path / "two")
    (one,) = desk.refused.all()
    desk.refused.add([KEEP], run="r", when=START)  # as a claim it is another refusal
    desk.refused.remove(one.key)
    assert [left.what for left in desk.refused.all()] == ["claim"]
    assert next_run(desk, FILE.replace(f"{KEEP}\n", "")) == ("proposed", [()])
    assert "kept_lines" not in desk.model.asked


def test_a_refused_move_is_no_claim_and_no_loss(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "- b second\n- c third\n- a first",
                prepare="- a first\n- b second\n- c third\n", policy="review")  # fmt: skip
    desk.flush("- a first")
    run = asyncio.run(desk.run()).run
    (change,) = desk.review.show(run).changes
    assert change.kind == "moved"
    desk.review.apply(run, [Decision(change.n, "reject")], when=START)
    assert desk.refused.all() == []
