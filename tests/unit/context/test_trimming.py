"""The pre-passes: argument truncation and pruning."""

from __future__ import annotations

import json

import pytest

from app.engine.config import PruneConfig, TruncateArgsConfig
from app.engine.context.tokens import Counter
from app.engine.context.trimming import prune, truncate_args
from app.engine.records import Message, ToolCall
from tests.helpers.talk import answer, calls, result, system, user

NOTE = TruncateArgsConfig().truncation_text


def with_call(index: int, context: list[Message], arguments: object) -> list[Message]:
    call = Message(
        id=f"call{index}",
        role="assistant",
        calls=(ToolCall("c1", "write_file", json.dumps(arguments)),),
    )
    return [*context[:index], call, result(f"r{index}", "c1"), *context[index + 2 :]]


def talk(size: int) -> list[Message]:
    return [user(f"m{n}") if n % 2 == 0 else answer(f"m{n}") for n in range(size)]


@pytest.mark.case("TRU-1")
def test_without_a_config_the_same_list_comes_back() -> None:
    context = talk(40)
    assert truncate_args(context, None, Counter()).context is context
    assert prune(context, None, Counter()).context is context
    assert truncate_args(context, TruncateArgsConfig(), Counter()).context is context


@pytest.mark.case("TRU-2")
def test_one_character_too_many_is_cut_and_the_limit_is_not() -> None:
    arguments = {"content": "x" * 2_001, "other": "y" * 2_000, "path": "a.txt"}
    context = with_call(1, talk(25), arguments)
    assert len(context) == 25
    trimmed = truncate_args(context, TruncateArgsConfig(), Counter())
    cut = json.loads(trimmed.context[1].calls[0].arguments)
    assert cut == {"content": "x" * 20 + NOTE, "other": "y" * 2_000, "path": "a.txt"}
    assert trimmed.context[1].id == "call1"
    assert trimmed.context[1].calls[0].id == "c1"
    assert [c.target for c in trimmed.cuts] == ["call1:use:c1"]
    assert json.loads(trimmed.cuts[0].text) == cut
    for n in (0, 2, 3, 24):
        assert trimmed.context[n] is context[n]
    assert json.loads(context[1].calls[0].arguments) == arguments


@pytest.mark.case("TRU-3")
def test_inside_the_window_nested_and_user_texts_stay() -> None:
    long = "x" * 5_000
    inside = with_call(10, talk(25), {"content": long})
    nested = with_call(1, talk(25), {"edit": {"content": long}, "lines": [long]})
    told = [user("big", long), *talk(24)]
    for context in (inside, nested, told):
        trimmed = truncate_args(context, TruncateArgsConfig(), Counter())
        assert trimmed.context is context
        assert trimmed.cuts == ()


def test_either_trigger_starts_it_and_zero_is_off() -> None:
    context = with_call(0, [*talk(4), user("long", "word " * 60_000)], {"content": "x" * 3_000})
    config = TruncateArgsConfig(keep_messages=1)
    assert truncate_args(context, config, Counter()).cuts
    off = config.replace(trigger_tokens=0)
    assert not truncate_args(context, off, Counter()).cuts


def test_system_messages_are_not_counted() -> None:
    context = with_call(1, [*talk(24), system()], {"content": "x" * 3_000})
    assert not truncate_args(context, TruncateArgsConfig(), Counter()).cuts


def test_truncation_is_done_once() -> None:
    context = with_call(1, talk(25), {"content": "x" * 3_000})
    once = truncate_args(context, TruncateArgsConfig(), Counter()).context
    assert truncate_args(once, TruncateArgsConfig(), Counter()).context is once


# ---------------------------------------------------------------------------- results


def outputs(count: int, tokens: int, name: str = "execute") -> list[Message]:
    """`count` results of about `tokens` tokens each, the oldest first."""
    counter, text = Counter(), "word " * tokens
    made: list[Message] = []
    for n in range(count):
        body = f"begin{n} {text} end{n}"
        made += [user(f"u{n}"), calls(f"a{n}", f"c{n}", name=name)]
        made.append(result(f"t{n}", f"c{n}", body, name=name))
    assert counter.message(made[2]) > tokens * 0.8
    return made


@pytest.mark.case("PRN-1")
def test_little_to_gain_leaves_everything() -> None:
    context = outputs(11, 5_000)  # 55 000 tokens: 15 000 could go
    trimmed = prune(context, PruneConfig(), Counter())
    assert trimmed.context is context
    assert trimmed.cuts == ()


@pytest.mark.case("PRN-2")
def test_the_newest_are_protected_and_old_ones_keep_both_ends() -> None:
    counter = Counter()
    old = outputs(20, 5_000)
    excluded = [
        calls("ax", "cx", name="read_file"),
        result("tx", "cx", "word " * 5_000, "read_file"),
    ]
    short = [calls("as", "cs"), result("ts", "cs", "short")]
    context = [*short, *excluded, *old]
    trimmed = prune(context, PruneConfig(), counter)
    pruned = {c.target for c in trimmed.cuts}
    results = [m for m in context if m.role == "tool" and m.id.startswith("t")]
    newest: set[str] = set()
    total = 0
    for message in reversed(results):
        if total >= 40_000:
            break
        total += counter.message(message)
        newest.add(message.id)
    assert pruned == {m.id for m in old if m.role == "tool"} - newest
    assert len(pruned) >= 8
    before = {m.id: m for m in context}
    assert [m.id for m in trimmed.context] == [m.id for m in context]
    for message in trimmed.context:
        was = before[message.id]
        if message.id not in pruned:
            assert message is was
            continue
        assert len(message.content) <= 2_000
        assert message.content.startswith(was.content[:900])
        assert message.content.endswith(was.content[-900:])
        assert (message.call_id, message.name) == (was.call_id, was.name)
    assert prune(trimmed.context, PruneConfig(), counter).context is trimmed.context


def test_blank_and_evicted_results_are_passed_over() -> None:
    evicted = Message(
        id="e", role="tool", content="x " * 5_000, name="execute", call_id="c", evicted=True
    )
    context = [evicted, result("b", "c2", "   "), *outputs(20, 5_000)]
    trimmed = prune(context, PruneConfig(), Counter())
    assert trimmed.context[0] is evicted
    assert trimmed.context[1] is context[1]
