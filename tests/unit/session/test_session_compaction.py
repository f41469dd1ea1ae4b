"""A compaction in the log: what it may cover, what it leaves, and how it comes back."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.engine.records import Message
from app.engine.session import entries as e
from tests.helpers.session_parts import (
    bot,
    ids,
    load,
    log_path,
    new,
    of_type,
    result,
    said,
    summary,
    user,
)


def test_a_summary_without_its_compaction_changes_nothing(tmp_path: Path) -> None:
    session = new(tmp_path)
    session.add(user("one", "m1"))
    session.append(e.Summary(id="s1", summary="half done"))
    assert said(session) == said(load(tmp_path)) == ["one"]


def test_a_compaction_is_refused_when_the_context_moved(tmp_path: Path) -> None:
    session = new(tmp_path)
    for n in range(4):
        session.add(user(f"t{n}", f"m{n}"))
    covered = ids(session, 2)
    session.add(user("later", "m9"))  # only grown: still fits
    session.mark(["m0"], deleted=True)
    size = log_path(tmp_path).stat().st_size
    assert session.commit_compaction(summary="s", message=summary(), covered=covered) is None
    assert log_path(tmp_path).stat().st_size == size
    assert session.commit_compaction(summary="s", message=summary(), covered=["m1", "m2"])
    assert said(session) == ["what was said", "t3", "later"]


def test_a_compaction_may_not_part_a_call_from_its_result(tmp_path: Path) -> None:
    session = new(tmp_path)
    session.add(user("look", "u1"))
    session.add(bot("", "a1", "c1", "c2"))
    session.add(result("c1", "one", "t1"))
    session.add(result("c2", "two", "t2"))
    for cut in (2, 3):
        with pytest.raises(ValueError, match="part"):
            session.commit_compaction(summary="s", message=summary(), covered=ids(session, cut))
    assert session.commit_compaction(summary="s", message=summary(), covered=ids(session, 4))


def test_system_messages_stay_first(tmp_path: Path) -> None:
    session = new(tmp_path)
    session.add(Message("s", "system", "rules"))
    for n in range(3):
        session.add(user(f"t{n}", f"m{n}"))
    assert session.commit_compaction(summary="s", message=summary(), covered=["m0", "m1"])
    assert said(session) == said(load(tmp_path)) == ["rules", "what was said", "t2"]


@pytest.mark.case("MOT-79")
def test_a_pending_request_is_in_the_restored_context(tmp_path: Path) -> None:
    session = new(tmp_path)
    for n, m in enumerate([user("a"), bot("b"), user("and now?")]):
        session.add(Message(f"m{n}", m.role, m.content))
    goes_on = Message("k", "user", "went on <pending_request>and now?</pending_request>")
    done = session.commit_compaction(
        summary="went on", message=goes_on, covered=["m0", "m1"], pending="m2"
    )
    assert done is not None
    assert (done.kept, done.covered, done.pending) == (0, ("m0", "m1"), "m2")
    assert load(tmp_path).context == session.context
    assert "and now?" in said(load(tmp_path))[0]


@pytest.mark.case("MOT-80")
def test_an_open_unit_follows_the_restored_continuation(tmp_path: Path) -> None:
    session = new(tmp_path)
    session.add(user("a", "m0"))
    session.add(bot("", "a1", "c1"))
    session.add(result("c1", "found", "t1"))
    assert session.commit_compaction(summary="s", message=summary("on"), covered=["m0"])
    restored = load(tmp_path)
    assert [m.role for m in restored.context] == ["user", "assistant", "tool"]
    assert restored.context == session.context


@pytest.mark.case("MOT-66", "MOT-67")
def test_compactions_come_back_with_count_and_summaries(tmp_path: Path) -> None:
    session = new(tmp_path)
    session.add(user("a"))
    session.add(bot("b"))
    session.commit_compaction(summary="first", message=summary("first"), covered=ids(session, 2))
    session.add(user("c"))
    assert said(load(tmp_path)) == ["first", "c"]
    assert load(tmp_path).context == session.context
    session.commit_compaction(summary="second", message=summary("second"), covered=ids(session, 2))
    restored = load(tmp_path)
    assert restored.counters.compactions == 2
    assert restored.state.summaries == ("first", "second")
    assert [n["number"] for n in of_type(log_path(tmp_path), "compaction")] == [1, 2]


@pytest.mark.case("MOT-46")
def test_a_compaction_is_one_entry_with_its_summary_beside_it(tmp_path: Path) -> None:
    session = new(tmp_path)
    session.add(user("a"))
    session.add(bot("b"))
    session.commit_compaction(summary="told", message=summary(), covered=ids(session, 2))
    (entry,) = of_type(log_path(tmp_path), "compaction")
    (beside,) = of_type(log_path(tmp_path), "summary")
    assert (entry["number"], len(entry["covered"])) == (1, 2)
    assert (entry["summaryEntryId"], beside["summary"]) == (beside["id"], "told")
    assert entry["parentId"] == beside["id"]
