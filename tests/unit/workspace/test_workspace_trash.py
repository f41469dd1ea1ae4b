"""The trash: move, list, restore, purge."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from app.engine.errors import PathRefused, StorageError
from app.engine.workspace.layout import Layout, ensure
from app.engine.workspace.trash import Trash

WHEN = datetime(2026, 6, 2, tzinfo=UTC)


@pytest.fixture
def at(tmp_path: Path) -> Layout:
    layout = Layout.at(tmp_path / "w")
    ensure(layout)
    for name in ("a.log.jsonl", "a.jsonl", "b.log.jsonl"):
        (layout.sessions_dir / name).write_text(name)
    return layout


def paths(at: Layout, *names: str) -> list[str]:
    return [at.relative(at.sessions_dir / name) for name in names]


def test_a_move_is_listed_with_time_and_rule_and_can_be_taken_back(at: Layout) -> None:
    trash = Trash(at)
    both = paths(at, "a.log.jsonl", "a.jsonl")
    moved = trash.move("r-1", [*both, "missing"], rule="older than 180 days", when=WHEN)
    assert [item.path for item in moved] == both
    assert not (at.sessions_dir / "a.jsonl").exists()
    listed = Trash(at).list()
    assert sorted(item.path for item in listed) == sorted(both)
    assert {(item.run, item.rule, item.when) for item in listed} == {
        ("r-1", "older than 180 days", WHEN)
    }
    assert sorted(trash.restore(listed)) == sorted(both)
    assert (at.sessions_dir / "a.log.jsonl").read_text() == "a.log.jsonl"
    assert trash.list() == []


def test_one_run_may_move_twice_and_the_same_name_twice(at: Layout) -> None:
    trash = Trash(at)
    name = paths(at, "a.jsonl")
    trash.move("r-1", name, rule="x", when=WHEN)
    (at.sessions_dir / "a.jsonl").write_text("second")
    trash.move("r-1", name, rule="x", when=WHEN + timedelta(hours=1))
    newest, oldest = trash.list()
    assert (newest.path, oldest.path) == (name[0], name[0])
    trash.restore([newest])
    assert (at.sessions_dir / "a.jsonl").read_text() == "second"
    with pytest.raises(StorageError):
        trash.restore([oldest])
    assert trash.list() == [oldest]


def test_purge_goes_by_the_time_of_the_move(at: Layout) -> None:
    trash = Trash(at)
    trash.move("r-1", paths(at, "a.jsonl"), rule="x", when=WHEN)
    trash.move("r-2", paths(at, "b.log.jsonl"), rule="x", when=WHEN + timedelta(days=5))
    assert trash.purge(now=WHEN + timedelta(days=29), days=30) == 0
    assert trash.purge(now=WHEN + timedelta(days=30), days=30) == 1
    assert [item.run for item in trash.list()] == ["r-2"]
    assert not at.trash_run("r-1").exists()


def test_nothing_to_move_makes_nothing(at: Layout) -> None:
    assert Trash(at).move("r-1", ["missing"], rule="x", when=WHEN) == []
    assert list(at.trash_dir.iterdir()) == []


def test_a_run_of_an_unfit_name_is_refused(at: Layout) -> None:
    with pytest.raises(PathRefused):
        Trash(at).move("../r", paths(at, "a.jsonl"), rule="x", when=WHEN)


def test_a_forged_manifest_restores_nothing_outside(at: Layout) -> None:
    trash = Trash(at)
    trash.move("r-1", paths(at, "a.jsonl"), rule="x", when=WHEN)
    manifest = at.trash_run("r-1") / "manifest.jsonl"
    manifest.write_text(manifest.read_text().replace('"path":"agents', '"path":"../agents'))
    with pytest.raises(PathRefused):
        trash.restore(trash.list())
    assert not (at.root.parent / "agents").exists()
