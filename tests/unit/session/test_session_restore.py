"""Restored equals live, for stated situations; `test_restored_is_live` has any series of events."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from app.engine.records import Message, ToolCall, Usage
from app.engine.session import entries as e
from app.engine.session.log import SessionLog
from app.engine.session.session import Session
from app.engine.session.snapshot import CompactionSessionState, SessionState
from tests.helpers.session_parts import (
    bot,
    ids,
    lines,
    load,
    log_path,
    new,
    of_type,
    result,
    said,
    summary,
    user,
)


@pytest.mark.case("SES-13")
def test_context_is_the_summary_then_what_was_kept(tmp_path: Path) -> None:
    """A log as AgentScope writes it: no list of covered ids, times as numbers, no `seq`."""
    log_path(tmp_path).write_text(
        '{"type":"message","id":"e1","parentId":null,"timestamp":1.0,"role":"USER","content":"Plan"}\n'
        '{"type":"message","id":"e2","parentId":"e1","timestamp":2.0,"role":"ASSISTANT","content":"Ok"}\n'
        '{"type":"message","id":"e3","parentId":"e2","timestamp":3.0,"role":"USER","content":"More"}\n'
        '{"type":"summary","id":"e4","parentId":"e3","timestamp":4.0,"summary":"Trip planned.",'
        '"format":"structured"}\n'
        '{"type":"compaction","id":"e5","parentId":"e4","timestamp":5.0,'
        '"firstKeptEntryId":"e3","summaryEntryId":"e4"}\n'
        '{"type":"message","id":"e6","parentId":"e5","timestamp":6.0,"role":"ASSISTANT","content":"Yes"}\n'
    )  # fmt: skip
    session = load(tmp_path)
    assert said(session) == ["Trip planned.", "More", "Yes"]
    assert [m.role for m in session.context] == ["user", "user", "assistant"]


@pytest.mark.case("MOT-63", "MOT-64", "MOT-65", "MOT-68")
def test_messages_prompt_config_and_id_come_back(tmp_path: Path) -> None:
    config = {"safety_ratio": 0.6, "token_threshold": 5_000}
    session = new(tmp_path, system_prompt="Be brief.", config=config)
    for text in ("one", "two", "three"):
        session.add(user(text))
    restored = load(tmp_path)
    assert said(restored) == ["one", "two", "three"]
    assert restored.system_prompt == "Be brief."
    assert restored.fold.config == config
    assert (restored.id, restored.fold.session_id) == ("s-1", "s-1")


@pytest.mark.case("MOT-69")
def test_a_restored_session_goes_on_in_the_same_log(tmp_path: Path) -> None:
    session = new(tmp_path)
    for text in ("one", "two", "three"):
        session.add(user(text))
    session.close()
    restored = load(tmp_path)
    restored.add(user("four"))
    assert len(restored.context) == 4
    assert lines(log_path(tmp_path))[-1]["content"] == "four"


@pytest.mark.case("MOT-71", "MOT-88")
def test_given_prompt_and_config_override_the_stored_ones(tmp_path: Path) -> None:
    session = new(tmp_path, system_prompt="old", config={"a": 1})
    session.add(user("one"))
    session.close()
    assert load(tmp_path).system_prompt == "old"
    before = log_path(tmp_path).read_bytes()
    changed = load(tmp_path, system_prompt="new", config={"a": 2})
    assert (changed.system_prompt, changed.fold.config) == ("new", {"a": 2})
    assert load(tmp_path, system_prompt="").system_prompt == ""
    assert log_path(tmp_path).read_bytes() == before
    changed.add(user("two"))
    assert load(tmp_path).state == changed.state
    assert load(tmp_path).system_prompt == "new"


@pytest.mark.case("MOT-82")
def test_the_log_keeps_the_full_text_of_a_truncated_result(tmp_path: Path) -> None:
    session = new(tmp_path)
    session.add(bot("", "a1", "c1"))
    session.add(result("c1", "long " * 500, "t1"))
    target = session.context[-1].id
    session.append(e.ToolTruncation(target=target, in_context="long …"))
    assert session.context[-1].content == "long …"
    assert load(tmp_path).context == session.context
    assert of_type(log_path(tmp_path), "tool_result")[0]["output"] == "long " * 500


@pytest.mark.case("MOT-83")
def test_open_calls_come_back_open(tmp_path: Path) -> None:
    session = new(tmp_path)
    session.add(bot("", "a1", "c1", "c2"))
    session.close()
    restored = load(tmp_path)
    assert [c.id for c in restored.open_calls] == ["c1", "c2"]
    restored.add(result("c2", "two"))
    assert not restored.fold.at_boundary()
    restored.add(result("c1", "one"))
    assert restored.fold.at_boundary()


@pytest.mark.case("MOT-86", "MOT-61")
def test_what_was_reset_does_not_come_back(tmp_path: Path) -> None:
    session = new(tmp_path)
    session.add(user("one"))
    session.add(bot("two"))
    session.commit_compaction(summary="s", message=summary(), covered=ids(session, 1))
    session.reset()
    assert log_path(tmp_path).exists()
    assert session.state.summaries == ()
    session.add(user("three"))
    assert said(load(tmp_path)) == ["three"]
    assert load(tmp_path).state == session.state


@pytest.mark.case("MOT-87")
def test_a_fork_has_the_parents_context_and_goes_its_own_way(tmp_path: Path) -> None:
    parent = new(tmp_path)
    for n in range(4):
        parent.add(user(f"p{n}"))
    parent.commit_compaction(summary="s", message=summary("sum"), covered=ids(parent, 1))
    child = fork(parent, tmp_path)
    assert child.id == "s-2"
    assert child.state.summaries == ()
    child.add(user("c0"))
    child.add(user("c1"))
    child.close()
    shutil.move(log_path(tmp_path), tmp_path / "gone")  # a fork needs no other file
    restored = load(tmp_path, "s-2")
    assert said(restored) == ["sum", "p1", "p2", "p3", "c0", "c1"]
    assert restored.state == child.state
    assert len(parent.context) == 4
    done = restored.commit_compaction(summary="t", message=summary("t"), covered=ids(restored, 2))
    assert done is not None
    assert done.number == 1
    assert of_type(log_path(tmp_path, "s-2"), "fork")[0]["parentSession"] == "s-1"


def fork(parent: Session, folder: Path, at: str = "") -> Session:
    return parent.fork("s-2", SessionLog(log_path(folder, "s-2"), fsync="never"), at=at)


def test_a_fork_from_an_earlier_entry(tmp_path: Path) -> None:
    parent = new(tmp_path)
    for n in range(4):
        parent.add(user(f"p{n}", f"m{n}"))
    assert said(fork(parent, tmp_path, at="m1")) == ["p0", "p1"]


@pytest.mark.case("MOT-98")
def test_loading_writes_nothing(tmp_path: Path) -> None:
    session = new(tmp_path)
    session.add(user("one"))
    session.add(bot("", "a1", "c1"))
    session.close()
    before = {p: p.read_bytes() for p in tmp_path.iterdir()}
    restored = load(tmp_path)
    restored.outgoing()
    restored.unflushed()
    restored.close()
    assert {p: p.read_bytes() for p in tmp_path.iterdir()} == before


@pytest.mark.case("MOT-78")
def test_a_snapshot_survives_as_plain_values(tmp_path: Path) -> None:
    session = new(tmp_path, system_prompt="Be brief.", config={"safety_ratio": 0.6})
    session.add(user("one"))
    session.add(bot("two"))
    session.commit_compaction(summary="first", message=summary("first"), covered=ids(session, 1))
    session.add(bot("", "a9", "c1"))
    taken = session.snapshot()
    plain = taken.to_dict()
    assert plain["type"] == "compaction_session"
    back = SessionState.from_dict(plain)
    assert isinstance(back, CompactionSessionState)
    assert back == taken
    assert back.messages == session.context
    assert (back.system_prompt, back.config) == ("Be brief.", {"safety_ratio": 0.6})
    assert (back.compactions, back.summaries, back.open_calls) == (1, ("first",), ("c1",))
    with pytest.raises(ValueError, match="mystery"):
        SessionState.from_dict({**plain, "type": "mystery"})
    again = Session.restore(back, "s-9")
    assert again.context == session.context
    assert again.state.summaries == ("first",)
    assert [c.id for c in again.open_calls] == ["c1"]


@pytest.mark.case("MOT-108")
def test_one_log_serves_all_strategies(tmp_path: Path) -> None:
    session = new(tmp_path, strategy="basic")
    session.add(user("one"))
    for strategy in ("compact", "background"):
        session.close()
        session = load(tmp_path, strategy=strategy)
        session.add(user(strategy))
        assert load(tmp_path).fold.strategy == strategy
    assert said(load(tmp_path)) == ["one", "compact", "background"]
    assert len(list(tmp_path.glob("*.log.jsonl"))) == 1


@pytest.mark.case("B54")
def test_rows_of_one_answer_are_one_message_and_one_cost(tmp_path: Path) -> None:
    session = new(tmp_path)
    session.add(user("go", "u1"))
    for row, tokens in (
        (e.MessageEntry(id="a1", role="ASSISTANT", content="", reasoning="thinking"), 3),
        (e.MessageEntry(id="a1", role="ASSISTANT", content="the text"), 9),
        (e.ToolUse(id="a1:use:c1", tool_call_id="c1", name="look", input={}), 40),
    ):
        session.append(row)
        session.append(e.UsageEntry(message_id="a1", prompt=100, completion=tokens))
    for each in (session, load(tmp_path)):
        (_, answer) = each.context
        assert (answer.reasoning, answer.content) == ("thinking", "the text")
        assert answer.calls == (ToolCall("c1", "look", "{}"),)
        assert each.fold.usage == Usage(100, 40)


def test_marks_change_what_they_name(tmp_path: Path) -> None:
    session = new(tmp_path)
    for n in range(3):
        session.add(user(f"t{n}", f"m{n}"))
    session.mark(["m0"], deleted=True)
    session.mark(["m1"], edited="changed")
    session.mark(["m2"], do_not_remember=True)
    session.rename("A title")
    assert said(session) == ["changed", "t2"]
    assert session.fold.title == "A title"
    told = session.unflushed()
    assert told is not None
    assert [m.content for m in told.messages] == ["changed"]
    assert load(tmp_path).state == session.state


def test_a_range_is_flushed_once_and_in_its_original_form(tmp_path: Path) -> None:
    session = new(tmp_path)
    session.add(user("a", "m0"))
    session.add(Message("r", "user", "recalled", origin="recall"))
    session.add(bot("", "a1", "c1"))
    session.add(result("c1", "full text", "t1"))
    session.append(e.Eviction(target="t1:result:c1", in_context="cut", file="x", chars=9))
    session.commit_compaction(summary="s", message=summary(), covered=ids(session, 4))
    first = session.unflushed()
    assert first is not None
    assert [m.content for m in first.messages] == ["a", "", "full text"]
    assert (first.first, first.last) == ("m0", "t1:result:c1")
    session.append(e.Flush(from_=first.first, to=first.last))
    assert session.unflushed() is None
    session.add(user("b", "m9"))
    again = load(tmp_path).unflushed()
    assert again is not None
    assert [m.content for m in again.messages] == ["b"]


def test_a_call_that_runs_is_flushed_with_its_result(tmp_path: Path) -> None:
    session = new(tmp_path)
    session.add(user("a", "m0"))
    session.add(bot("", "a1", "c1", "c2"))
    asked = session.unflushed()
    assert asked is not None
    assert [m.content for m in asked.messages] == ["a"]
    session.append(e.Flush(from_=asked.first, to=asked.last))
    session.add(result("c1", "one", "t1"))
    assert session.unflushed() is None
    session.add(result("c2", "two", "t2"))
    answered = session.unflushed()
    assert answered is not None
    assert [m.content for m in answered.messages] == ["", "one", "two"]
    session.append(e.Flush(from_=answered.first, to=answered.last))
    assert session.unflushed() is None


def steps(work: Callable[[], object]) -> int:
    """How many steps of Python the work takes: the same each time, on any machine."""
    taken = 0

    def trace(_frame: FrameType, _event: str, _arg: object) -> Any:
        nonlocal taken
        taken += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return taken


def test_adding_takes_the_same_steps_late_as_early() -> None:
    session = Session.create("s-1")
    session.add(user("first"))
    early = steps(lambda: session.add(user("early")))
    for n in range(5_000):
        session.add(user(f"t{n}"))
    assert steps(lambda: session.add(user("late"))) <= early
