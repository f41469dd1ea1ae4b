"""A heading that a proposal adds goes with the lines it would stand over."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from app.engine.errors import UserError
from app.engine.memory.review import accept_all
from app.engine.records import Decision
from tests.helpers.consolidating import START, Desk

BASE = "# Memory\n\n- Bo is the designer of the studio\n"
HEAD, TEA, PORTO = "## People", "- Ines likes green tea", "- Kim lives in Porto"
UNDER, DOG = "### Animals", "- The dog of Bo is called Rex"
NEW = f"{BASE}\n{HEAD}\n\n{TEA}\n{PORTO}\n\n{UNDER}\n\n{DOG}\n"


def proposed(root: Path, answer: str = NEW, base: str = BASE) -> tuple[Desk, str]:
    desk = Desk(root, answer, prepare=base, policy="review")
    for line in (TEA, PORTO, DOG):
        desk.flush(line)
    return desk, asyncio.run(desk.run()).run


def said(desk: Desk, run: str, verdicts: Mapping[str, str]) -> list[Decision]:
    """Decisions on the changes that bring these lines."""
    of = {c.after[0]: c.n for c in desk.review.show(run).changes}
    return [Decision(of[line], verdict) for line, verdict in verdicts.items()]  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("verdicts", "written", "left"),
    [
        ({TEA: "accept"}, f"\n{HEAD}\n\n{TEA}\n", 3),
        ({DOG: "accept"}, f"\n{HEAD}\n\n{UNDER}\n\n{DOG}\n", 2),
        ({HEAD: "reject", TEA: "accept", PORTO: "reject", DOG: "reject"}, f"\n{TEA}\n", 0),
        ({HEAD: "accept", TEA: "reject", PORTO: "accept", DOG: "reject"},
         f"\n{HEAD}\n\n{PORTO}\n", 0),
        ({HEAD: "accept", UNDER: "accept", TEA: "accept"}, f"\n{HEAD}\n\n{TEA}\n", 3),
    ],
)  # fmt: skip
def test_the_heading_follows_its_lines(
    tmp_path: Path, verdicts: dict[str, str], written: str, left: int
) -> None:
    desk, run = proposed(tmp_path)
    decisions = said(desk, run, verdicts)
    shown = desk.review.preview(run, decisions)
    applied = desk.review.apply(run, decisions, when=START)
    assert desk.memory.split() == f"{BASE}{written}".split()
    assert shown.text.split() == desk.memory.split(), "what was shown is what is written"
    assert (applied.left_waiting, shown.undecided) == (left, left)


def test_an_accepted_heading_whose_lines_are_all_refused_leaves_no_empty_section(
    tmp_path: Path,
) -> None:
    desk, run = proposed(tmp_path)
    wanted = {HEAD: "accept", UNDER: "accept", TEA: "reject", PORTO: "reject", DOG: "reject"}
    applied = desk.review.apply(run, said(desk, run, wanted), when=START)
    assert (desk.memory, applied.state) == (BASE, "rejected")


def test_a_heading_alone_is_not_written_while_its_lines_are_undecided(tmp_path: Path) -> None:
    desk, run = proposed(tmp_path)
    decisions = said(desk, run, {HEAD: "accept"})
    assert desk.review.preview(run, decisions).text == BASE
    with pytest.raises(UserError, match="heading"):
        desk.review.apply(run, decisions, when=START)
    assert desk.memory == BASE


def test_what_is_left_of_a_section_goes_under_its_heading_later(tmp_path: Path) -> None:
    desk, run = proposed(tmp_path)
    desk.review.apply(run, said(desk, run, {TEA: "accept"}), when=START)
    rest = desk.review.show(run).changes
    assert [c.after for c in rest] == [(PORTO,), (UNDER,), (DOG,)]
    desk.review.apply(run, accept_all(rest), when=START)
    assert desk.memory == NEW


def test_a_heading_put_over_lines_that_are_there_is_a_decision_of_its_own(tmp_path: Path) -> None:
    answer = BASE.replace("- Bo is", "## Studio\n\n- Bo is") + f"{TEA}\n"
    desk, run = proposed(tmp_path, answer)
    desk.review.apply(run, said(desk, run, {"## Studio": "accept", TEA: "reject"}), when=START)
    assert "## Studio\n\n- Bo is" in desk.memory
    assert TEA not in desk.memory


def test_lines_of_the_saved_block_are_not_those_of_the_heading_before_it(tmp_path: Path) -> None:
    saved = "\n<!-- palimpsest:saved -->\n## Saved\n- Rent is due\n<!-- /palimpsest:saved -->\n"
    desk, run = proposed(tmp_path, f"{BASE}\n{HEAD}\n\n{TEA}\n{saved}", f"{BASE}{saved}")
    with pytest.raises(UserError, match="heading"):
        desk.review.apply(run, said(desk, run, {HEAD: "accept"}), when=START)
    desk.review.apply(run, said(desk, run, {TEA: "accept"}), when=START)
    assert f"{HEAD}\n\n{TEA}\n" in desk.memory
