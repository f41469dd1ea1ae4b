"""Turn units and safe cuts."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.engine.context.units import Keep, choose_cut, open_calls, safe_cut, units
from app.engine.records import Message, ToolCall


def user(n: str) -> Message:
    return Message(id=n, role="user", content=f"text {n}")


def answer(n: str, *calls: str) -> Message:
    made = tuple(ToolCall(c, "execute") for c in calls)
    return Message(id=n, role="assistant", content="" if calls else "done", calls=made)


def result(n: str, call: str) -> Message:
    return Message(id=n, role="tool", content="out", name="execute", call_id=call)


def ten(_message: Message) -> int:
    return 10


@pytest.mark.case("CMP-18")
def test_a_cut_on_a_result_moves_before_its_call() -> None:
    context = [user("u1"), answer("a1", "c1"), result("t1", "c1"), user("u2")]
    assert choose_cut(context, Keep(messages=2), ten) == 1
    assert choose_cut(context, Keep(messages=1), ten) == 3


@pytest.mark.case("CMP-19")
def test_results_without_ids_are_left_behind() -> None:
    context = [user("u1"), answer("a1"), result("t1", ""), result("t2", ""), user("u2")]
    assert choose_cut(context, Keep(messages=3), ten) == 4
    assert choose_cut(context, Keep(messages=2), ten) == 4


@pytest.mark.case("CMP-20")
def test_results_nobody_asked_for_are_left_behind() -> None:
    context = [user("u1"), result("t1", "x"), result("t2", "y"), user("u2")]
    assert choose_cut(context, Keep(messages=3), ten) == 3


@pytest.mark.case("CMP-22")
def test_the_last_message_stays_whatever_its_size() -> None:
    context = [user("u1"), user("u2"), user("u3")]
    sizes = {"u1": 10, "u2": 10, "u3": 500}
    assert choose_cut(context, Keep(tokens=100), lambda m: sizes[m.id]) == 2


@pytest.mark.case("CMP-24")
def test_a_token_budget_overrides_the_message_count() -> None:
    context = [user(f"u{n}") for n in range(30)]
    assert choose_cut(context, Keep(messages=20, tokens=50), ten) == 25
    assert choose_cut(context, Keep(messages=20), ten) == 10


def test_parallel_calls_stay_together_at_every_cut() -> None:
    context = [
        user("u1"), answer("a1", "c1", "c2", "c3"),
        result("t1", "c1"), result("t2", "c2"), result("t3", "c3"), user("u2"),
    ]  # fmt: skip
    assert [safe_cut(context, n) for n in range(7)] == [0, 1, 1, 1, 1, 5, 6]


def test_an_open_call_stays_in_the_tail() -> None:
    context = [user("u1"), answer("a1", "c1", "c2"), result("t1", "c1")]
    assert open_calls(context) == ("c2",)
    assert choose_cut(context, Keep(messages=0), ten, whole=True) == 1
    assert safe_cut(context, 3) == 1


def test_the_last_unit_stays_unless_it_is_a_plain_answer() -> None:
    unit_a = [user("u1"), answer("a1"), user("u2")]
    unit_b = [user("u1"), answer("a1", "c1"), result("t1", "c1")]
    unit_c = [user("u1"), answer("a1")]
    nothing = Keep(messages=0)
    assert [choose_cut(c, nothing, ten) for c in (unit_a, unit_b, unit_c)] == [2, 1, 2]
    assert choose_cut([user("u1")], nothing, ten) == 0
    assert choose_cut([user("u1")], nothing, ten, whole=True) == 1


def test_units_cover_the_context_without_gaps() -> None:
    context = [user("u1"), answer("a1", "c1"), result("t1", "c1"), answer("a2"), result("t2", "z")]
    assert [(u.kind, u.start, u.end) for u in units(context)] == [
        ("A", 0, 1), ("B", 1, 3), ("C", 3, 4), ("R", 4, 5),
    ]  # fmt: skip


CALLS = ("c1", "c2", "c3")


@st.composite
def histories(draw: st.DrawFn) -> list[Message]:
    """Messages in any order: reused ids, missing, doubled and early results, results without id."""
    made: list[Message] = []
    for n in range(draw(st.integers(0, 14))):
        kind = draw(st.sampled_from(("user", "answer", "calls", "result", "result")))
        if kind == "user":
            made.append(user(f"m{n}"))
        elif kind == "answer":
            made.append(answer(f"m{n}"))
        elif kind == "calls":
            ids = draw(st.lists(st.sampled_from(CALLS), min_size=1, max_size=3, unique=True))
            made.append(answer(f"m{n}", *ids))
        else:
            made.append(result(f"m{n}", draw(st.sampled_from((*CALLS, "")))))
    return made


def parted(context: Sequence[Message], cut: int) -> list[str]:
    """Results in the tail whose nearest earlier call is in the prefix: written independently."""
    wrong: list[str] = []
    for at in range(cut, len(context)):
        if context[at].role != "tool" or not context[at].call_id:
            continue
        asked = next(
            (
                i
                for i in range(at - 1, -1, -1)
                if any(c.id == context[at].call_id for c in context[i].calls)
            ),
            None,
        )
        if asked is not None and asked < cut:
            wrong.append(context[at].id)
    return wrong


def lost(context: Sequence[Message], cut: int) -> list[str]:
    """Calls in the prefix that get their answer only in the tail."""
    wrong: list[str] = []
    for at in range(cut):
        for call in context[at].calls:
            later = range(at + 1, len(context))
            ends = next(
                (i for i in later if any(c.id == call.id for c in context[i].calls)), len(context)
            )
            answers = [i for i in range(at + 1, ends) if context[i].call_id == call.id]
            if answers and answers[0] >= cut:
                wrong.append(call.id)
    return wrong


@pytest.mark.case("CMP-25", "B57")
@settings(max_examples=120, deadline=None)
@given(histories(), st.integers(0, 15), st.booleans())
def test_no_cut_parts_a_call_from_its_result(
    context: list[Message], size: int, by_tokens: bool
) -> None:
    keep = Keep(tokens=size * 10 + 1) if by_tokens else Keep(messages=size)
    cut = choose_cut(context, keep, ten)
    assert parted(context, cut) == []
    assert lost(context, cut) == []
    for anywhere in range(len(context) + 1):
        moved = safe_cut(context, anywhere)
        assert parted(context, moved) == []
        assert lost(context, moved) == []
