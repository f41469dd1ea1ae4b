"""Adding messages: derivation of entries, identity of messages, the files that are made."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.engine.records import Message, ToolCall
from app.engine.session import entries as e
from tests.helpers.session_parts import (
    bot,
    load,
    log_path,
    new,
    of_type,
    result,
    said,
    summary,
    user,
)


@pytest.mark.case("SES-1")
def test_a_history_offered_again_adds_only_what_is_new(tmp_path: Path) -> None:
    session = new(tmp_path)
    history = [user("one", "m1"), bot("two", "m2"), user("three", "m3"), bot("four", "m4")]
    session.offer(history[:2])
    session.offer(history)
    made = of_type(log_path(tmp_path), "message")
    assert [m["id"] for m in made] == ["m1", "m2", "m3", "m4"]
    assert [m["parentId"] for m in made] == [None, "m1", "m2", "m3"]


@pytest.mark.case("SES-2")
def test_nameless_messages_are_known_by_their_place(tmp_path: Path) -> None:
    session = new(tmp_path)
    history = [user("go on"), bot("done"), user("go on"), bot("done")]
    assert len(session.offer(history)) == 4
    assert session.offer(history) == []
    assert load(tmp_path).offer(history) == []
    assert said(session) == ["go on", "done", "go on", "done"]
    assert len(of_type(log_path(tmp_path), "message")) == 4


def test_adding_and_offering_give_a_message_the_same_id(tmp_path: Path) -> None:
    session = new(tmp_path)
    history = [user("look"), bot("", "", "c1"), result("c1", "found"), bot("done"), user("look")]
    for message in history:
        session.add(message)
    assert session.offer(history) == []
    assert load(tmp_path).offer(history) == []


def test_a_nameless_history_is_known_also_after_a_compaction(tmp_path: Path) -> None:
    session = new(tmp_path)
    history = [user("a"), bot("b"), user("c"), bot("d")]
    for message in history:
        session.add(message)
    covered = [m.id for m in session.context[:2]]
    assert session.commit_compaction(summary="s", message=summary(), covered=covered)
    session.add(user("e"))
    assert session.offer([*history, user("e")]) == []  # the caller never saw the compaction
    shown = [Message(id="", role=m.role, content=m.content) for m in session.context[1:]]
    assert session.offer([session.context[0], *shown]) == []  # or it did


@pytest.mark.case("SES-3")
def test_a_summary_message_is_stored_once_before_what_follows(tmp_path: Path) -> None:
    session = new(tmp_path)
    session.offer([summary("early"), user("next", "m1")])
    session.offer([summary("early"), user("next", "m1"), bot("yes", "m2")])
    ids = [m["id"] for m in of_type(log_path(tmp_path), "message")]
    assert ids == ["__compaction_summary__:early", "m1", "m2"]


@pytest.mark.case("SES-4")
def test_text_with_calls_becomes_entries_that_results_pair_with(tmp_path: Path) -> None:
    session = new(tmp_path)
    session.add(user("look twice", "u-1"))
    session.add(bot("I will look.", "a-1", "c1", "c2"))
    own = [n for n in session.entries("u-1") if isinstance(n, e.Entry)]
    assert [(e.type_of(n), n.id) for n in own] == [
        ("message", "a-1"), ("tool_use", "a-1:use:c1"), ("tool_use", "a-1:use:c2"),
    ]  # fmt: skip
    session.add(result("c2", "second", "t-1"))
    session.add(result("c1", "first", "t-1"))
    assert [(m.call_id, m.content) for m in session.context[2:]] == [
        ("c2", "second"), ("c1", "first"),
    ]  # fmt: skip
    results = of_type(log_path(tmp_path), "tool_result")
    assert [r["id"] for r in results] == ["t-1:result:c2", "t-1:result:c1"]
    assert [m.content for m in session.outgoing()[2:]] == ["first", "second"]
    assert session.open_calls == ()


def test_calls_alone_make_no_empty_message(tmp_path: Path) -> None:
    session = new(tmp_path)
    session.add(bot("", "a-1", "c1"))
    assert of_type(log_path(tmp_path), "message") == []
    assert load(tmp_path).context == session.context == (bot("", "a-1", "c1"),)


def test_calls_without_ids_get_numbers(tmp_path: Path) -> None:
    session = new(tmp_path)
    session.add(Message("a-1", "assistant", calls=(ToolCall("", "x"), ToolCall("", "y"))))
    assert [c.id for c in session.open_calls] == ["idx-0", "idx-1"]
    session.add(Message("t-1", "tool", "one", call_id="idx-1"))
    session.add(Message("", "tool", "zero"))
    assert session.open_calls == ()
    assert [m.call_id for m in session.context[1:]] == ["idx-1", "idx-0"]


@pytest.mark.case("SES-5")
def test_an_image_alone_leaves_a_placeholder(tmp_path: Path) -> None:
    session = new(tmp_path)
    session.add(Message("u-1", "user", images=("data:image/png;base64,AAAA",)))
    (entry,) = of_type(log_path(tmp_path), "message")
    assert entry["content"] == ""
    assert entry["blockTypes"] == ["image"]
    assert load(tmp_path).context[0].images == ("data:image/png;base64,AAAA",)


@pytest.mark.case("SES-6")
def test_both_files_are_there_after_the_first_turn(tmp_path: Path) -> None:
    session = new(tmp_path)
    assert list(tmp_path.iterdir()) == []
    session.add(user("hello", "m1"))
    session.add(bot("hi", "m2"))
    assert log_path(tmp_path).exists()
    assert [m["id"] for m in of_type(tmp_path / "s-1.jsonl", "message")] == ["m1", "m2"]


def test_the_view_holds_the_compacted_context(tmp_path: Path) -> None:
    session = new(tmp_path)
    for n in range(6):
        session.add(user(f"q{n}", f"u{n}"))
        session.add(bot(f"r{n}", f"a{n}"))
    covered = [m.id for m in session.context[:8]]
    session.commit_compaction(summary="s", message=summary("short"), covered=covered)
    session.sync()
    shown = of_type(tmp_path / "s-1.jsonl", "message")
    assert [m["content"] for m in shown] == ["short", "q4", "r4", "q5", "r5"]
    session.add(user("q6", "u6"))
    session.add(bot("r6", "a6"))
    shown = of_type(tmp_path / "s-1.jsonl", "message")
    assert [m["content"] for m in shown][-2:] == ["q6", "r6"]
    assert [m["parentId"] for m in shown][-2:] == ["a5", "u6"]


@pytest.mark.case("B52")
@pytest.mark.parametrize("named", [True, False])
def test_a_history_offered_every_turn_is_stored_once(tmp_path: Path, named: bool) -> None:
    history: list[Message] = []
    session = new(tmp_path)
    for turn in range(5):
        if turn == 3:
            session.close()
            session = load(tmp_path)  # a restart in between
        text = "继续" if turn in (1, 2) else f"question {turn}"
        history.append(user(text, f"u{turn}" if named else ""))
        session.offer(history)
        history.append(bot(f"answer {turn}", f"a{turn}" if named else ""))
        session.offer(history)
        last = list(session.entries())[-1]
        assert isinstance(last, e.Entry)
        session.append(e.Flush(from_=last.id, to=last.id, path="memory/2026-06-02.md"))
        session.offer(history)
    stored = [m["content"] for m in of_type(log_path(tmp_path), "message")]
    assert stored == [m.content for m in history]
    assert stored.count("继续") == 2


def test_a_message_said_again_after_a_reset_comes_back_once(tmp_path: Path) -> None:
    session = new(tmp_path)
    history = [user("one", "m1"), bot("two")]
    session.offer(history)
    assert session.reset() == {"messages": 2, "compactions": 0}
    assert session.context == ()
    session.offer(history)
    session.offer(history)
    assert said(session) == ["one", "two"]
    assert said(load(tmp_path)) == ["one", "two"]


def test_lone_surrogates_never_reach_the_file(tmp_path: Path) -> None:
    session = new(tmp_path)
    session.add(user("ok \ud83d and \ud83c\udf78", "m1"))
    session.add(Message("a\udc00", "assistant", calls=(ToolCall("c", "x", '{"p": "\\ud83d"}'),)))
    assert said(session)[0] == "ok \ufffd and 🍸"
    log_path(tmp_path).read_bytes().decode("utf-8")
    assert load(tmp_path).state == session.state


def test_arguments_that_are_no_object_are_kept_as_they_came(tmp_path: Path) -> None:
    session = new(tmp_path)
    calls = (ToolCall("c1", "x", '{"a": '), ToolCall("c2", "x", "[1]"), ToolCall("c3", "x", ""))
    session.add(Message("a-1", "assistant", calls=calls))
    assert [c.arguments for c in session.context[0].calls] == ['{"a": ', "[1]", "{}"]
    assert load(tmp_path).state == session.state
