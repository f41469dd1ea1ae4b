"""What another process prepares: the same, in the same order, whatever becomes of the process."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC
from pathlib import Path

import pytest

from app.engine.search import helper
from app.engine.search.helper import batches_apart
from app.engine.search.preparing import Batch, Piece, batches
from tests.helpers.searching import put, said, talk

NOW_NS = 1_790_000_000_000_000_000


def workspace(root: Path) -> list[str]:
    """Paths in the order of a pass; one is gone, a log is longer than one piece."""
    put(root, "MEMORY.md", "- kayak\n- 数据库迁移\n")
    put(root, "memory/2026-06-02.md", "- canoe\n" * 40)
    filler = "lorem ipsum dolor sit amet " * 33
    for name, count in (("s-1", 1_200), ("s-2", 3), ("s-3", 40)):
        talk(root, name, *(said(n, f"raft {n} {filler}") for n in range(count)))
    logs = [f"agents/bot/sessions/s-{n}.log.jsonl" for n in (1, 2, 3)]
    return ["MEMORY.md", "memory/2026-06-02.md", *logs, "memory/gone.md"]


def pieces(made: Iterable[Batch]) -> list[Piece]:
    return [piece for batch in made for piece in batch.pieces]


@pytest.mark.parametrize("first", [0, 500, 1_000_000, 1_000_000_000])
def test_another_process_prepares_what_would_be_prepared_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: int
) -> None:
    paths = workspace(tmp_path)
    monkeypatch.setattr(helper, "FIRST", first)
    here = list(batches(tmp_path, paths, {}, now_ns=NOW_NS, zone=UTC))
    apart = list(batches_apart(tmp_path, paths, {}, now_ns=NOW_NS, zone=UTC))
    assert len(pieces(here)) == 6
    assert pieces(apart) == pieces(here)
    assert sum(batch.paths for batch in apart) == len(paths)


def test_what_a_process_that_ends_too_soon_left_is_prepared_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = workspace(tmp_path)
    monkeypatch.setattr(helper, "FIRST", 500)
    begin = helper.begin
    asked: list[list[str]] = []

    def begin_badly(request: tuple[object, ...]) -> object:
        assert isinstance(request[1], list)
        asked.append(request[1])
        return begin(("not what it expects",))

    monkeypatch.setattr(helper, "begin", begin_badly)
    apart = batches_apart(tmp_path, paths, {}, now_ns=NOW_NS, zone=UTC)
    assert pieces(apart) == pieces(batches(tmp_path, paths, {}, now_ns=NOW_NS, zone=UTC))
    assert asked == [paths[2:]]
