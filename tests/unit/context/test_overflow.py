"""What goes when a request did not fit."""

from __future__ import annotations

from app.engine.config import CompactionConfig
from app.engine.context.overflow import adaptive_keep, forced, plan_recovery
from app.engine.context.tokens import Counter
from app.engine.context.units import Keep, choose_cut
from app.engine.records import Message
from tests.helpers.talk import answer, calls, result, user

COUNTER = Counter()


def talk(size: int, words: int = 10) -> list[Message]:
    return [
        user(f"m{n}", "word " * words) if n % 2 == 0 else answer(f"m{n}", "word " * words)
        for n in range(size)
    ]


def test_one_huge_result_among_few_messages_is_put_aside() -> None:
    context = [user("u"), calls("a", "c"), result("t", "c", "x1 " * 5_000_000), user("v")]
    plan = plan_recovery(context, COUNTER, limit=8_000, keep=Keep(messages=20))
    assert plan.evict == ("t",)
    assert plan.keep is None
    assert plan.hopeless == ""


def test_few_long_messages_are_cut_by_halving_the_tail() -> None:
    context = talk(5, words=1_500)
    plan = plan_recovery(context, COUNTER, limit=6_000, keep=Keep(messages=20))
    assert plan.evict == ()
    assert plan.keep is not None
    cut = choose_cut(context, plan.keep, COUNTER.message)
    assert cut > 0
    assert COUNTER.messages(context[cut:]) <= 6_000 * 0.8 * 0.75


def test_a_tail_that_fits_is_kept_as_configured() -> None:
    context = talk(60, words=200)
    plan = plan_recovery(context, COUNTER, limit=10_000, keep=Keep(messages=20))
    assert plan.keep == Keep(messages=20)


def test_a_person_s_own_text_that_is_too_large_is_named() -> None:
    context = [*talk(4), user("own", "word " * 50_000)]
    plan = plan_recovery(context, COUNTER, limit=8_000)
    assert plan.too_large == "own"
    assert "too long" in plan.hopeless
    assert "kept in the input field" in plan.remedy
    assert plan.evict == ()


def test_a_prompt_that_alone_is_too_large_is_named() -> None:
    plan = plan_recovery(talk(30), COUNTER, limit=4_000, fixed=5_000)
    assert "5000 tokens by itself" in plan.hopeless


def test_evicted_and_excluded_results_stay() -> None:
    gone = Message(id="e", role="tool", content="word " * 9_000, call_id="c", evicted=True)
    context = [user("u"), calls("a", "c"), gone, user("v")]
    assert plan_recovery(context, COUNTER, limit=8_000).evict == ()


def test_the_person_s_configuration_is_inherited() -> None:
    async def own(messages: list[Message], prompt: str) -> str:
        return prompt

    config = CompactionConfig(
        summary_prompt="Mine: {messages}", model="other:model", keep_messages=7, compact_fn=own
    )
    made = forced(config)
    assert made.trigger_messages == 1
    assert made.replace(trigger_messages=50, trigger_tokens=80_000) == config


def test_the_tail_is_halved_until_something_is_cut() -> None:
    context = talk(5)
    assert adaptive_keep(context, Keep(messages=20), COUNTER.message) == Keep(messages=2)
    assert adaptive_keep(context, Keep(messages=3), COUNTER.message) == Keep(messages=3)
    assert adaptive_keep([user("only")], Keep(messages=20), COUNTER.message) is None
    tokens = adaptive_keep(context, Keep(tokens=10_000), COUNTER.message)
    assert tokens is not None
    assert choose_cut(context, tokens, COUNTER.message) > 0
