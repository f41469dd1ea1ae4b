"""Pinned lines and sections: no proposal touches them, whatever it is made by; code sees to it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from app.engine.config import EngineConfig, MemoryConfig
from app.engine.errors import UserError
from app.engine.memory.review import accept_all
from app.engine.workspace.memory_file import Pinned
from app.engine.workspace.pins import broken, pinned_lines
from tests.helpers.consolidating import START, Desk
from tests.helpers.fake_server import call, say, use
from tests.helpers.workspaces import engine_on, to_the_end

BASE = """# Memory

## Allergies
- Ines cannot eat nuts

### Medicine
- Ines takes none

## Work
- Bo lives in Porto
"""
SECTION = ("## Allergies",)


def test_a_heading_pins_all_below_it_down_to_the_next_of_its_level() -> None:
    assert pinned_lines(BASE, SECTION) == (3, 4, 6, 7)
    assert pinned_lines(BASE, ["### Medicine"]) == (6, 7)
    assert pinned_lines(BASE, ["# Memory"]) == (1, 3, 4, 6, 7, 9, 10)
    assert pinned_lines(BASE, ["- Bo lives in Porto", "- gone"]) == (10,)
    assert pinned_lines(BASE, []) == ()
    assert pinned_lines("## A\n- x\n## A\n- y\n", ["## A"]) == (1, 2, 3, 4)
    assert pinned_lines("A\n---\n- x\n\nB\n---\n- y\n", ["A"]) == (1, 2, 3)


def test_a_heading_in_a_closed_fence_is_none_and_an_open_fence_hides_none() -> None:
    text = "## A\n```\n## B\n```\n- x\n## B\n- y\n```\n## C\n- z\n"
    assert pinned_lines(text, ["## A"]) == (1, 2, 3, 4, 5)
    assert pinned_lines(text, ["## C"]) == (9, 10)
    many = "\n".join(["```", "~~~"] * 20_000 + ["## A", "- x"])
    assert pinned_lines(many, ["## A"])[-1] == 40_002


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("- Ines takes none\n", "", "would be lost: - Ines takes none"),
        ("cannot eat nuts", "cannot eat almonds", "would be lost: - Ines cannot eat nuts"),
        ("nuts\n", "nuts\n- Bo neither\n", "come into the pinned section “## Allergies”: - Bo"),
        ("## Allergies\n", "## Allergy\n", "would be lost: ## Allergies"),
        ("### Medicine\n", "## Medicine\n", "would be lost: ### Medicine"),
        ("## Work\n", "### Work\n", "come into the pinned section “## Allergies”: ### Work"),
        ("## Work\n", "## Allergies\n- twice\n\n## Work\n", "“## Allergies”: - twice"),
    ],
)
def test_what_touches_a_pinned_section_is_named(old: str, new: str, said: str) -> None:
    assert said in broken(BASE, BASE.replace(old, new), SECTION)


def test_the_order_inside_counts_and_the_place_of_the_whole_does_not() -> None:
    one, two = "- Ines cannot eat nuts", "- Ines takes none"
    swapped = BASE.replace(one, "@").replace(two, one).replace("@", two)
    assert "moved about" in broken(BASE, swapped, SECTION)
    head, rest = BASE.split("## Work")
    allergies = head.removeprefix("# Memory\n\n")
    assert broken(BASE, f"# Memory\n\n## Work{rest}\n{allergies}", SECTION) == ""
    assert broken(BASE, BASE.replace("nuts\n", "nuts\n\n\n"), SECTION) == ""
    assert broken(BASE, BASE + "- more work\n", SECTION) == ""


def test_a_pin_on_what_a_person_took_out_holds_nothing_up() -> None:
    assert broken("- b\n", "- c\n", ["- a", "## Gone"]) == ""


def test_an_addition_to_a_pinned_section_fails_its_check_and_cannot_be_applied(
    tmp_path: Path,
) -> None:
    new = "- Bo cannot eat nuts"
    answer = BASE.replace("eat nuts\n", f"eat nuts\n{new}\n").strip()
    desk = Desk(tmp_path, answer, prepare=BASE, policy="auto")
    desk.writer.set_pins(SECTION)
    desk.flush(new)
    outcome = asyncio.run(desk.run())
    assert outcome.state == "proposed"
    assert "<pinned_lines>\n## Allergies\n- Ines cannot eat nuts\n" in desk.model.asked
    shown = desk.review.show(outcome.run)
    check = next(c for c in shown.checks if c.name == "pinned_line")
    assert not check.ok
    assert new in check.detail
    with pytest.raises(UserError, match="pinned section “## Allergies”") as caught:
        desk.review.apply(outcome.run, accept_all(shown.changes), when=START)
    assert "Reject that change" in caught.value.remedy
    assert desk.memory == BASE
    desk.writer.set_pins([])
    desk.review.apply(outcome.run, accept_all(desk.review.show(outcome.run).changes), when=START)
    assert new in desk.memory


@to_the_end
async def test_pins_of_sections_are_set_shown_and_taken_off_through_the_engine(
    tmp_path: Path,
) -> None:
    async with engine_on(tmp_path) as desk:
        await desk.engine.do.write_memory(BASE, (await desk.engine.ask.memory()).sha256)
        await desk.engine.do.pin("## Allergies", True)
        await desk.engine.do.pin("- Bo lives in Porto", True)
        assert (await desk.engine.ask.memory()).pinned == (3, 4, 6, 7, 10)
        with pytest.raises(Pinned, match="“## Allergies”"):
            await desk.engine.do.pin("- Ines takes none", False)
        await desk.engine.do.pin("## Allergies", False)
        await desk.engine.do.pin("- Ines takes none", False)  # not pinned: nothing to do
        assert (await desk.engine.ask.memory()).pinned == (10,)


@to_the_end
async def test_the_agents_save_into_a_pinned_block_waits_and_a_persons_goes_in(
    tmp_path: Path,
) -> None:
    save = use(call("memory_save", {"content": "- The printer is new"}))
    config = EngineConfig(memory=MemoryConfig(policy="auto", curator="extractive"))
    async with engine_on(tmp_path, save, say("Saved."), config=config) as desk:
        await desk.engine.do.remember("The window is open")
        await desk.engine.do.pin("## Saved", True)
        await desk.send("keep that the printer is new")
        assert "printer" not in (await desk.engine.ask.memory()).text
        waiting = await desk.engine.ask.proposals(waiting=True)
        assert [p.model for p in waiting] == ["memory_save"]
        assert waiting[0].failed_checks == 1
        await desk.engine.do.remember("The door is shut")
        assert "The door is shut" in (await desk.engine.ask.memory()).text
