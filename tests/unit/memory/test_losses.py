"""What MEMORY.md lost is listed with who took it out, and a line comes back to its place."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from app.engine.memory.losses import NothingToBringBack
from app.engine.records import Loss
from app.engine.workspace.history import VersionNotFound
from tests.helpers.workspaces import EngineDesk, engine_on, to_the_end

BASE = """# Memory

## People
- Ines likes green tea
- Bo lives in Porto
- Kim leads the design team

## Work
- Backups run at 03:00
- Release 4.2 is frozen
  until June
- 用户的数据库迁移定在6月
"""


async def write(desk: EngineDesk, text: str) -> None:
    now = await desk.engine.ask.memory()
    await desk.engine.do.write_memory(text, now.sha256)


async def memory(desk: EngineDesk) -> str:
    return (await desk.engine.ask.memory()).text


async def loss_of(desk: EngineDesk, words: str) -> Loss:
    return next(one for one in await desk.engine.ask.losses() if words in one.text)


async def back(desk: EngineDesk, words: str) -> str:
    loss = await loss_of(desk, words)
    await desk.engine.do.bring_back(loss.held, loss.line)
    return await memory(desk)


@to_the_end
async def test_a_dropped_fact_is_listed_and_a_reworded_moved_or_merged_one_is_not(
    tmp_path: Path,
) -> None:
    async with engine_on(tmp_path) as desk:
        await write(desk, BASE)
        await write(desk, BASE.replace("- Bo lives in Porto\n", ""))
        text = await memory(desk)
        text = text.replace("- Ines likes green tea", "- Ines likes strong green tea")
        text = text.replace("- Backups run at 03:00\n", "") + "- Backups run at 03:00\n"
        await write(desk, text)
        (loss,) = await desk.engine.ask.losses()
        assert (loss.text, loss.section) == ("- Bo lives in Porto", "People")
        assert (loss.held, loss.line, loss.version.number) == (1, 5, 2)
        assert (loss.version.cause, loss.run) == ("hand", "")


@to_the_end
async def test_a_line_comes_back_to_its_place_as_a_version_of_its_own(tmp_path: Path) -> None:
    async with engine_on(tmp_path) as desk:
        await write(desk, BASE)
        await write(desk, BASE.replace("- Bo lives in Porto\n", ""))
        assert await back(desk, "Porto") == BASE
        newest = (await desk.engine.ask.versions())[0]
        assert (newest.number, newest.cause, newest.added) == (3, "restored", 1)
        assert newest.note == "brings back line 5 of version 1"
        assert await desk.engine.ask.losses() == []
        await desk.engine.do.undo()
        assert "Porto" not in await memory(desk)


@to_the_end
async def test_a_fact_of_several_lines_and_a_chinese_one_come_back_whole(tmp_path: Path) -> None:
    async with engine_on(tmp_path) as desk:
        await write(desk, BASE)
        await write(desk, BASE[: BASE.index("- Release")])
        assert (await back(desk, "Release")).endswith("- Release 4.2 is frozen\n  until June\n")
        assert await back(desk, "数据库") == BASE


@to_the_end
async def test_neighbours_give_the_place_wherever_their_section_went(tmp_path: Path) -> None:
    async with engine_on(tmp_path) as desk:
        await write(desk, BASE)
        people = "## People\n- Kim leads the design team\n- x\n"
        await write(desk, f"## Work\n- new\n- Backups run at 03:00\n\n{people}")
        assert "## People\n- Bo lives in Porto\n- Kim" in await back(desk, "Bo lives")
        assert "## People\n- Ines likes green tea\n- Bo" in await back(desk, "Ines")
        assert "03:00\n- Release 4.2 is frozen\n  until June\n\n## P" in await back(desk, "Release")


@to_the_end
async def test_a_section_that_is_gone_is_made_again_after_the_one_before_it(
    tmp_path: Path,
) -> None:
    async with engine_on(tmp_path) as desk:
        await write(desk, BASE)
        await write(desk, "# Memory\n\n## Work\n- Backups run at 03:00\n")
        text = await back(desk, "Bo lives")
        assert text == (
            "# Memory\n\n## People\n- Bo lives in Porto\n\n## Work\n- Backups run at 03:00\n"
        )
        await write(desk, "")
        assert await back(desk, "Kim leads") == "## People\n- Kim leads the design team\n"


@to_the_end
async def test_a_saved_fact_comes_back_into_the_saved_block(tmp_path: Path) -> None:
    async with engine_on(tmp_path) as desk:
        await write(desk, "- one\n")
        await desk.engine.do.remember("Backup window moved to 03:00")
        saved = await memory(desk)
        await write(desk, "- one\n")
        assert await back(desk, "Backup window") == saved


@to_the_end
async def test_lines_before_any_heading_come_back_there(tmp_path: Path) -> None:
    async with engine_on(tmp_path) as desk:
        await write(desk, "- alone\n\n## A\n- x\n")
        await write(desk, "## A\n- x\n")
        assert await back(desk, "alone") == "- alone\n\n## A\n- x\n"


@to_the_end
async def test_what_cannot_come_back_says_why_and_writes_nothing(tmp_path: Path) -> None:
    async with engine_on(tmp_path) as desk:
        await write(desk, BASE)
        for line in (2, 99):
            with pytest.raises(NothingToBringBack, match="holds no fact"):
                await desk.engine.do.bring_back(1, line)
        with pytest.raises(NothingToBringBack, match="holds that line"):
            await desk.engine.do.bring_back(1, 4)
        with pytest.raises(VersionNotFound):
            await desk.engine.do.bring_back(7, 4)
        assert [v.number for v in await desk.engine.ask.versions()] == [1]


@to_the_end
async def test_after_thirty_rounds_every_loss_comes_back_by_itself(tmp_path: Path) -> None:
    facts = [f"- fact number {n} is about thing{n} and place{n}" for n in range(100)]
    draw = random.Random(4)
    async with engine_on(tmp_path) as desk:
        left = list(facts)
        await write(desk, "\n".join(["# Memory", *left, ""]))
        for _ in range(30):
            left.remove(draw.choice(left))
            await write(desk, "\n".join(["# Memory", *left, ""]))
        losses = await desk.engine.ask.losses()
        assert [one.version.number for one in losses] == list(range(31, 1, -1))
        assert {one.text for one in losses} == set(facts) - set(left)
        for one in losses:
            await desk.engine.do.bring_back(one.held, one.line)
        assert await memory(desk) == "\n".join(["# Memory", *facts, ""])
        assert await desk.engine.ask.losses() == []


@to_the_end
async def test_an_external_edit_between_loses_nothing(tmp_path: Path) -> None:
    async with engine_on(tmp_path) as desk:
        await write(desk, BASE)
        await write(desk, BASE.replace("- Bo lives in Porto\n", ""))
        (tmp_path / "MEMORY.md").write_text("# Memory\n\n## People\n- by hand\n")
        loss = await loss_of(desk, "Porto")
        await desk.engine.do.bring_back(loss.held, loss.line)
        assert await memory(desk) == "# Memory\n\n## People\n- by hand\n- Bo lives in Porto\n"
        causes = [v.cause for v in await desk.engine.ask.versions()]
        assert causes[:2] == ["restored", "external"]
        assert "Ines likes green tea" in {one.text[2:] for one in await desk.engine.ask.losses()}
