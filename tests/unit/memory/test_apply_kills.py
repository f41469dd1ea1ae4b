"""The process goes away at any step of an apply, and again while it is put in order."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from app.engine.records import Decision
from app.engine.workspace import files
from app.engine.workspace.history import History
from tests.helpers.consolidating import START, Desk

BASE = (
    "\ufeff# Memory\r\n\r\n- Bo is the designer of the studio\r\n- The office closes at 18:00\r\n"
)
FACTS = (
    "- Ines prefers answers in Portuguese",
    "- Release 4.2 is frozen until 2026-06-10",
    "- 对账脚本每周一 07:00 运行",
)
WANTED = (
    "# Memory\n\n- Bo is the designer of the studio\n- The office closes at 19:00\n"
    + "\n".join(FACTS)
)
LATER = START + timedelta(hours=3)
SOME = [Decision(1, "accept"), Decision(2, "accept"), Decision(3, "reject")]
ALL = [*SOME, Decision(4, "accept", "- 对账脚本每周二运行")]


class Killed(BaseException):
    """The process is gone at this point."""


class Steps:
    """Counts what reaches the disk: appends, replaced files, commits. Dies at one of them."""

    def __init__(self, die_at: int = -1, *, done: bool = False) -> None:
        self.count = 0
        self._die_at, self._done = die_at, done

    def wrapped(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def step(*args: Any, **kwargs: Any) -> Any:
            self.count += 1
            if self.count - 1 == self._die_at and not self._done:
                raise Killed
            made = real(*args, **kwargs)
            if self.count - 1 == self._die_at:
                raise Killed
            return made

        return step


@contextmanager
def counted(steps: Steps, desk: Desk) -> Iterator[Steps]:
    with pytest.MonkeyPatch.context() as patch:
        for owner, name in (
            (files.os, "replace"),
            (files, "_write_or_nothing"),
            (History, "_write"),
        ):
            patch.setattr(owner, name, steps.wrapped(getattr(owner, name)))
        patch.setattr(desk, "on_index", steps.wrapped(desk.on_index))
        yield steps


def proposed(root: Path) -> str:
    desk = Desk(root, WANTED, prepare=BASE, policy="review")
    for fact in FACTS:
        desk.flush(fact)
    desk.writer.notice_external(when=START)
    return asyncio.run(desk.run()).run


def world(desk: Desk, run: str) -> dict[str, Any]:
    """Everything an apply changes. Ids of commits and of temporary files are nobody's business."""
    history = desk.writer.history
    stored = desk.store.load(run)
    return {
        "memory": desk.layout.memory_md.read_bytes(),
        "versions": [(v.number, v.cause, v.run, v.added, v.dropped) for v in history.versions()],
        "texts": [text for _, text in history.walk()],
        "provenance": history.provenance(),
        "fates": desk.fates(),
        "watermark": desk.watermark,
        "refused": [claim.text for claim in desk.refused.all()],
        "proposal": (stored.state, stored.base, stored.base_sha256, stored.candidate),
        "open": [(c.before, c.after) for c in desk.review.show(run).changes],
    }


def opened(root: Path) -> Desk:
    return Desk(root, policy="review")


@pytest.mark.parametrize("decisions", [SOME, ALL])
@pytest.mark.parametrize("done", [False, True])
def test_whatever_step_it_dies_at_the_end_is_the_same(
    tmp_path: Path, decisions: list[Decision], done: bool
) -> None:
    run = proposed(tmp_path / "start")
    shutil.copytree(tmp_path / "start", tmp_path / "whole")
    desk = opened(tmp_path / "whole")
    with counted(Steps(), desk) as steps:
        desk.review.apply(run, decisions, when=LATER)
    expected = world(desk, run)
    assert steps.count >= 7
    for at in range(steps.count):
        for again in (None, at % 5):
            root = tmp_path / f"{at}-{again}"
            shutil.copytree(tmp_path / "start", root)
            assert _survived(root, run, decisions, at, again, done=done) == expected, (at, again)
            shutil.rmtree(root)


def _survived(
    root: Path, run: str, decisions: list[Decision], at: int, again: int | None, *, done: bool
) -> dict[str, Any]:
    """Die at a step, and perhaps once more while putting things in order; then all is as it was."""
    desk = opened(root)
    with counted(Steps(at, done=done), desk), pytest.raises(Killed):
        desk.review.apply(run, decisions, when=LATER)
    if again is not None:
        desk = opened(root)
        with counted(Steps(again, done=done), desk), suppress(Killed):
            desk.review.resume_applying(when=LATER)
    desk = opened(root)
    desk.review.resume_applying(when=LATER)
    assert desk.writer.notice_external(when=LATER) is None, "our own write is no outside edit"
    if desk.writer.read().text == files.decode(BASE.encode(), "").text:
        assert desk.fates() == ["waiting"] * 3, "nothing of it happened"
        desk.review.apply(run, decisions, when=LATER)
    assert desk.review.resume_applying(when=LATER) == []
    return world(desk, run)


def test_an_edit_made_after_the_crash_is_seen_by_what_is_left_to_decide(tmp_path: Path) -> None:
    run = proposed(tmp_path)
    desk = opened(tmp_path)
    with counted(Steps(3), desk), pytest.raises(Killed):
        desk.review.apply(run, SOME, when=LATER)
    assert len(desk.writer.history.versions()) == 2, "it died after the commit"
    file = desk.layout.memory_md
    file.write_bytes(file.read_bytes().replace(b"designer", b"head designer"))
    desk = opened(tmp_path)
    desk.review.resume_applying(when=LATER)
    (left,) = desk.review.show(run).changes
    desk.review.apply(run, [Decision(left.n, "accept")], when=LATER)
    assert "head designer" in desk.memory, "the hand edit is still there"
    assert FACTS[2] in desk.memory
    assert desk.store.load(run).state == "applied"


def test_an_earlier_part_of_a_proposal_is_not_taken_for_the_one_that_was_cut_short(
    tmp_path: Path,
) -> None:
    run = proposed(tmp_path)
    desk = opened(tmp_path)
    desk.review.apply(run, SOME, when=LATER)
    (left,) = desk.review.show(run).changes
    with counted(Steps(1), desk), pytest.raises(Killed):
        desk.review.apply(run, [Decision(left.n, "accept")], when=LATER)
    file = desk.layout.memory_md
    file.write_bytes(file.read_bytes().replace(b"designer", b"head designer"))
    desk = opened(tmp_path)
    assert desk.review.resume_applying(when=LATER) == [run]
    shown = desk.review.show(run)
    assert shown.info.state == "in_review", "nothing of the second apply was written"
    assert [c.after for c in shown.changes] == [(FACTS[2],)]
    assert "waiting" in desk.fates()


def test_undo_takes_an_apply_back_that_was_finished_after_a_crash(tmp_path: Path) -> None:
    run = proposed(tmp_path)
    desk = opened(tmp_path)
    with counted(Steps(3), desk), pytest.raises(Killed):
        desk.review.apply(run, ALL, when=LATER)
    desk = opened(tmp_path)
    desk.review.resume_applying(when=LATER)
    desk.review.undo(when=LATER)
    assert desk.layout.memory_md.read_bytes() == BASE.encode()
    assert desk.fates() == ["waiting", "rejected", "waiting"]
