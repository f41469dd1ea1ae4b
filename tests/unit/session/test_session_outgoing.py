"""What is sent: valid for a strict provider, whatever the log went through (B57, B60)."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from app.engine.records import Message
from app.engine.session import entries as e
from app.engine.session.outgoing import outgoing
from app.engine.session.session import Session
from app.engine.session.transcript import items
from tests.helpers.session_parts import bot, load, new, result, said, summary, user


def assert_strict(sent: list[Message]) -> None:
    """Each call followed by its one result, no result elsewhere, nothing empty."""
    at = 0
    while at < len(sent):
        message = sent[at]
        assert message.role != "tool"
        assert message.content.strip() or message.calls
        answers = sent[at + 1 : at + 1 + len(message.calls)]
        assert [m.call_id for m in answers] == [c.id for c in message.calls]
        assert all(m.role == "tool" and m.content.strip() for m in answers)
        at += 1 + len(message.calls)


def restored_and_asked(tmp_path: Path) -> Session:
    session = load(tmp_path)
    session.add(user("and now?", "last"))
    return session


@pytest.mark.case("B60")
def test_aborted_answers_and_open_calls_over_several_turns(tmp_path: Path) -> None:
    session = new(tmp_path)
    for turn in range(6):
        session.add(user(f"turn {turn}", f"u{turn}"))
        session.add(bot("trying", f"a{turn}", f"c{turn}"))
        for n in range(3):
            session.add(Message(f"x{turn}-{n}", "assistant", origin="aborted"))
    session.close()
    session = restored_and_asked(tmp_path)
    sent = session.outgoing()
    assert_strict(sent)
    assert [m.content for m in sent if m.role == "user"][-1] == "and now?"
    assert sum(m.origin == "interrupted" for m in sent) == 6
    shown = items(session.entries())
    assert sum(i.detail.get("origin") == "aborted" for i in shown) == 18
    assert sum(i.kind == "tool" and i.result is None for i in shown) == 6


@pytest.mark.case("B60")
def test_an_error_answer_without_content_is_not_sent(tmp_path: Path) -> None:
    session = new(tmp_path)
    session.add(user("one", "u1"))
    session.add(Message("a1", "assistant", is_error=True))
    session.add(user("two", "u2"))
    session.close()
    session = restored_and_asked(tmp_path)
    assert_strict(session.outgoing())
    assert [m.content for m in session.outgoing()] == ["one", "two", "and now?"]
    assert [i.id for i in items(session.entries())] == ["u1", "a1", "u2", "last"]


@pytest.mark.case("B60")
def test_one_result_twice_and_the_other_missing_then_a_live_tail(tmp_path: Path) -> None:
    session = new(tmp_path)
    session.add(user("look", "u1"))
    session.add(bot("", "a1", "c1", "c2"))
    session.add(result("c1", "first", "t1"))
    session.add(result("c1", "again", "t2"))
    session.add(user("go on", "u2"))
    session.add(bot("fine", "a2"))
    session.close()
    session = restored_and_asked(tmp_path)
    sent = session.outgoing()
    assert_strict(sent)
    assert next(m.content for m in sent if m.role == "tool") == "first"
    assert "again" not in [m.content for m in sent]
    assert "again" in [i.result for i in items(session.entries())]  # the view still shows it


def test_interrupting_closes_the_open_calls(tmp_path: Path) -> None:
    session = new(tmp_path)
    session.add(bot("", "a1", "c1", "c2"))
    session.add(result("c1", "done", "t1"))
    session.interrupt("stopped by the person")
    assert session.open_calls == ()
    assert [m.origin for m in session.context] == ["", "", "interrupted"]
    session.add(result("c2", "too late", "t2"))
    assert "too late" not in said(session)
    assert load(tmp_path).state == session.state
    shown = items(session.entries())
    tools = [(i.result or "")[:11] for i in shown if i.kind == "tool"]
    assert tools == ["done", "Interrupted", "too late"]
    assert [i.text for i in shown if i.kind == "interrupted"] == ["stopped by the person"]


def test_blank_output_is_said_to_be_none() -> None:
    sent = outgoing([bot("", "a1", "c1"), result("c1", "  ", "t1")])
    assert [m.content for m in sent] == ["", "(no output)"]
    assert_strict(sent)


def test_untouched_messages_are_the_same_objects(tmp_path: Path) -> None:
    session = new(tmp_path)
    session.add(user("a", "u1"))
    session.add(bot("b", "a1", "c1"))
    session.add(result("c1", "c", "t1"))
    assert all(a is b for a, b in zip(session.outgoing(), session.context, strict=True))


def test_results_in_any_order_follow_their_call() -> None:
    calls = bot("", "a1", "c1", "c2", "c3")
    for order in itertools.permutations(["c1", "c2", "c3"]):
        context = [calls, *(result(c, f"r {c}", f"t {c}") for c in order), user("next", "u")]
        sent = outgoing(context)
        assert [m.content for m in sent] == ["", "r c1", "r c2", "r c3", "next"]
        assert_strict(sent)


@pytest.mark.parametrize("cut", range(9))
def test_every_cut_leaves_pairs_whole(tmp_path: Path, cut: int) -> None:
    session = new(tmp_path)
    session.add(user("q", "u1"))
    session.add(bot("", "a1", "c1", "c2", "c3"))
    for n in (2, 1, 3):
        session.add(result(f"c{n}", f"r{n}", f"t{n}"))
    session.add(bot("answer", "a2"))
    session.add(user("next", "u2"))
    session.add(bot("last", "a3"))
    covered = [m.id for m in session.context[:cut]]
    try:
        session.commit_compaction(summary="s", message=summary(), covered=covered)
    except ValueError:
        assert 2 <= cut <= 4  # inside the unit of the calls
    assert_strict(session.outgoing())
    assert load(tmp_path).outgoing() == session.outgoing()


def test_an_interrupted_entry_of_a_foreign_log_names_calls_nobody_knows(tmp_path: Path) -> None:
    session = new(tmp_path)
    session.add(user("a", "u1"))
    session.append(e.Interrupted(tool_call_ids=("nobody",), reason="?"))
    assert said(session) == ["a"]
