"""The queue on disk: states, damage, and managed blocks that are no source."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from app.engine.errors import Unreadable
from app.engine.llm.endpoint import Request, user
from app.engine.memory.proposals import (
    Input,
    ProposalClosed,
    ProposalNotFound,
    ProposalStore,
    RefusedClaims,
    Stored,
)
from app.engine.records import Check
from app.engine.workspace.layout import Layout, ensure
from tests.helpers.consolidating import START, echo


def stored(name: str = "r-1", state: Any = "proposed") -> Stored:
    return Stored(
        id=name, state=state, when=START, model="m", curator="llm", base="a", base_sha256="x",
        candidate="b", raw="raw b",
        inputs=(Input("memory/2026-06-02.md", "2026-06-02.md", 1, "h"),),
        checks=(Check("empty", True, "It holds text."), Check("loss", False, "Too much.")),
        counts=(3, 1, 2),
    )  # fmt: skip


def make(root: Path) -> tuple[ProposalStore, Layout]:
    layout = Layout.at(root)
    ensure(layout)
    return ProposalStore(layout), layout


def test_a_proposal_is_read_as_it_was_written(tmp_path: Path) -> None:
    store, layout = make(tmp_path)
    store.add(stored())
    assert ProposalStore(layout).load("r-1") == stored()
    assert (tmp_path / ".palimpsest" / "proposals" / "r-1.json").exists()
    (info,) = store.infos()
    assert (info.changes, info.dropped, info.added, info.failed_checks) == (3, 1, 2, 1)
    assert info.inputs == ("memory/2026-06-02.md#1",)


@pytest.mark.parametrize(
    ("state", "allowed"),
    [
        ("proposed", {"in_review", "applying", "superseded"}),
        ("in_review", {"applying", "rejected", "superseded"}),
        ("applying", {"applied", "partly_applied", "in_review"}),
        ("applied", set()),
        ("partly_applied", set()),
        ("rejected", set()),
        ("superseded", set()),
        ("failed", set()),
    ],
)
def test_only_the_moves_of_the_table_are_possible(
    tmp_path: Path, state: str, allowed: set[str]
) -> None:
    store, _ = make(tmp_path)
    every = (
        "proposed", "in_review", "applying", "applied", "partly_applied", "rejected",
        "superseded", "failed",
    )  # fmt: skip
    for target in every:
        before = stored(state=state)
        store.add(before)
        if target in allowed or target == state:
            assert store.update(before, state=target).state == target
        else:
            with pytest.raises(ProposalClosed):
                store.update(before, state=target)
            assert store.load("r-1").state == state


def test_a_damaged_file_is_named_and_left_alone(tmp_path: Path) -> None:
    store, layout = make(tmp_path)
    store.add(stored("r-2"))
    broken = layout.proposal("r-1")
    broken.write_text('{"id": "r-1", "state"')
    assert [p.id for p in store.all()] == ["r-2"]
    assert store.damaged == ("r-1.json",)
    with pytest.raises(Unreadable):
        store.load("r-1")
    assert broken.read_text() == '{"id": "r-1", "state"'
    with pytest.raises(ProposalNotFound):
        store.load("r-9")


def test_a_copy_under_another_name_neither_hides_nor_doubles_a_proposal(tmp_path: Path) -> None:
    store, layout = make(tmp_path)
    store.add(stored())
    for name in ("r-1 (copy).json", "r-1-copy.json"):
        (layout.proposals_dir / name).write_bytes(layout.proposal("r-1").read_bytes())
    (layout.proposals_dir / "old.json").mkdir()
    assert [info.id for info in store.infos()] == ["r-1"]
    assert store.damaged == ("old.json", "r-1 (copy).json", "r-1-copy.json")


def test_what_a_newer_program_wrote_is_not_rewritten(tmp_path: Path) -> None:
    store, layout = make(tmp_path)
    store.add(stored())
    path = layout.proposal("r-1")
    path.write_bytes(path.read_bytes().replace(b'"id"', b'"v": 2, "votes": [1], "id"', 1))
    assert store.infos() == []
    assert store.damaged == ("r-1.json",)
    with pytest.raises(Unreadable):
        store.load("r-1")


def test_newest_first_and_waiting_ones_alone(tmp_path: Path) -> None:
    store, _ = make(tmp_path)
    for n, state in enumerate(["applied", "proposed", "in_review", "failed"]):
        store.add(
            msgspec.structs.replace(stored(f"r-{n}", state), when=START + timedelta(minutes=n))
        )
    assert [i.id for i in store.infos()] == ["r-3", "r-2", "r-1", "r-0"]
    assert [i.id for i in store.infos(waiting=True)] == ["r-2", "r-1"]


def test_a_refused_claim_is_kept_once_however_it_is_written(tmp_path: Path) -> None:
    _, layout = make(tmp_path)
    claims = RefusedClaims(layout)
    claims.add(["- Likes tea", "## Heading"], run="r-1", when=START)
    claims.add(["*  likes  TEA", "- Likes coffee"], run="r-2", when=START)
    assert [c.text for c in RefusedClaims(layout).all()] == ["- Likes tea", "- Likes coffee"]


def test_an_echo_keeps_each_line_once() -> None:
    assert echo(Request((user("- a\n- a\n- b"),))) == "- a\n- b"
