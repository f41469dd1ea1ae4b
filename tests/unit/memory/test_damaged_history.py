"""MEMORY.md is the truth: with its history gone or damaged it stays as it is, and that is said."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from app.engine.errors import StorageError, Unreadable
from app.engine.memory.losses import Losses
from app.engine.memory.review import accept_all
from tests.helpers.consolidating import START, Desk
from tests.helpers.fake_server import say
from tests.helpers.workspaces import engine_on, to_the_end

BASE = "# Memory\n- Bo is the designer\n- Ada plays chess\n"
NEW = f"{BASE}- Ines prefers tea\n"


def proposed(root: Path) -> tuple[Desk, str]:
    desk = Desk(root, NEW, prepare=BASE, policy="review")
    desk.writer.notice_external(when=START)
    desk.flush("- Ines prefers tea")
    return desk, asyncio.run(desk.run()).run


def without_objects(history: Path) -> None:
    shutil.rmtree(history / "objects")
    (history / "objects").mkdir()


def without_tip(history: Path) -> None:
    tip = (history / "refs" / "heads" / "main").read_text().strip()
    (history / "objects" / tip[:2] / tip[2:]).unlink()


def with_torn_reference(history: Path) -> None:
    (history / "refs" / "heads" / "main").write_text("not a commit\n")


def without_head(history: Path) -> None:
    (history / "HEAD").unlink()


DAMAGES = [without_objects, without_tip, with_torn_reference, without_head]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_history_is_named_and_nothing_is_written(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    desk, run = proposed(tmp_path)
    damage(desk.layout.history)
    desk.open()
    for work in (
        desk.writer.history.versions,
        desk.writer.history.latest_text,
        desk.writer.history.provenance,
        lambda: desk.writer.history.text(1),
        lambda: desk.writer.history.blame(["- Ada plays chess"]),
        lambda: list(desk.writer.history.walk()),
        lambda: Losses(desk.writer).find(),
        lambda: desk.writer.notice_external(when=START),
        lambda: desk.writer.save("- Rhea keeps bees", when=START),
        lambda: desk.review.undo(when=START),
        lambda: desk.review.apply(
            run, accept_all(desk.review.show(run).changes), when=START
        ),
    ):  # fmt: skip
        with pytest.raises(StorageError) as told:
            work()
        assert "history.git aside" in told.value.remedy
    assert desk.memory == BASE
    assert desk.store.load(run).state == "proposed"


def test_without_its_history_the_file_begins_a_new_one(tmp_path: Path) -> None:
    desk, run = proposed(tmp_path)
    without_objects(desk.layout.history)
    desk.layout.history.rename(tmp_path / "aside.git")
    desk.open()
    desk.writer.notice_external(when=START)
    desk.review.apply(run, accept_all(desk.review.show(run).changes), when=START)
    assert desk.memory == NEW
    assert [(v.number, v.cause) for v in desk.writer.history.versions()] == [
        (2, "consolidation"), (1, "start"),
    ]  # fmt: skip


@to_the_end
async def test_the_workspace_opens_and_shows_the_file_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_text(BASE)
    async with engine_on(tmp_path):
        pass
    without_objects(tmp_path / ".palimpsest" / "history.git")
    async with engine_on(tmp_path, say("Hello")) as desk:
        assert (await desk.send("Hi")).reply == "Hello"
        shown = await desk.engine.ask.memory()
        assert (shown.text, shown.version) == (BASE, 0)
        assert "history.git aside" in shown.problem
        findings = await desk.engine.ask.doctor()
        assert any(f.severity == "error" and "history.git aside" in f.remedy for f in findings)


def test_an_apply_on_an_unreadable_file_says_what_is_wrong_with_it(tmp_path: Path) -> None:
    desk, run = proposed(tmp_path)
    desk.layout.memory_md.unlink()
    desk.layout.memory_md.mkdir()
    changes = desk.review.show(run).changes
    with pytest.raises(Unreadable, match="not a regular file") as told:
        desk.review.apply(run, accept_all(changes), when=START)
    assert told.value.remedy == "Move it out of the way."
    assert desk.store.load(run).state == "proposed"
