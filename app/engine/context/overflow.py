"""After an overflow: what has to go so that the same request fits.

Pure decisions; whoever runs the turn carries them out, once. Results are put aside first, largest
first, then the tail is halved until something is cut; so a short history with one huge message
recovers too. When the person's own text is what is too large, no compaction can help and the plan
says so. Specification, section 8.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from app.engine.config import CompactionConfig
from app.engine.context.tokens import Counter
from app.engine.context.units import Keep, choose_cut
from app.engine.errors import QuestionTooLong
from app.engine.records import Message

LARGE_SHARE = 8  # a result above an eighth of the limit is worth putting aside
PLACEHOLDER = 400  # tokens that stay of an evicted result, at most
TARGET = 0.8  # of the limit: our count is not the server's


class Recovery(Struct, frozen=True):
    """What to do, in this order: evict the results named, then compact with `keep`.

    `keep` is None when evicting is enough, or when there is nothing to cut. `hopeless` is a
    sentence when the request cannot fit whatever is done; `remedy` then says what a person can do.
    `too_large` is the id of the message that is to blame.
    """

    evict: tuple[str, ...] = ()
    keep: Keep | None = None
    hopeless: str = ""
    remedy: str = ""
    too_large: str = ""


def forced(config: CompactionConfig) -> CompactionConfig:
    """The person's configuration with the trigger at 1 and everything else as it is (OVF-8)."""
    return config.replace(trigger_messages=1, trigger_tokens=0)


def plan_recovery(
    context: Sequence[Message],
    counter: Counter,
    *,
    limit: int,
    fixed: int = 0,
    keep: Keep | None = None,
    may_evict: Callable[[Message], bool] = lambda message: (
        message.role == "tool" and not message.evicted
    ),
) -> Recovery:
    """How to get `context` with `fixed` tokens around it under `limit`.

    `keep` is what the configuration would keep; the plan never keeps more. `may_evict` says which
    results may be put aside at all (`ToolResultEvictor.may`).
    """
    goal = int(limit * TARGET)
    newest = next((m for m in reversed(context) if m.role == "user" and not m.origin), None)
    own = counter.message(newest) if newest is not None else 0
    if fixed >= limit:
        return Recovery(
            hopeless=f"The system prompt with the injected memory takes {fixed} tokens by itself; "
            f"the model takes {limit}.",
            remedy="Shorten AGENTS.md or lower the budget of the injected block in Settings.",
        )
    if newest is not None and own + fixed > limit and context[-1] is newest:
        return Recovery(
            hopeless=f"Your message is too long for this model: {own} tokens of {limit - fixed}.",
            remedy=QuestionTooLong.remedy,
            too_large=newest.id,
        )
    evict, freed = _results_to_evict(context, counter, limit, fixed, may_evict)
    evicted = set(evict)

    def count(message: Message) -> int:
        tokens = counter.message(message)
        return min(tokens, PLACEHOLDER) if message.id in evicted else tokens

    total = fixed + sum(count(message) for message in context)
    if freed and total <= goal:
        return Recovery(evict=evict)
    return Recovery(evict=evict, keep=_keep(context, count, keep or Keep(), goal - fixed))


def adaptive_keep(
    context: Sequence[Message], keep: Keep, count: Callable[[Message], int]
) -> Keep | None:
    """The most that may stay while something is still cut: `keep`, halved as often as needed.

    None when nothing can be cut, not even with only the last unit kept.
    """
    lead = 1 if context and context[0].role == "system" else 0
    body = context[lead:]
    while True:
        if choose_cut(body, keep, count) > 0:
            return keep
        if keep.tokens <= 0 and keep.messages <= 0:
            return None
        keep = _halved(keep, body, count)


def _keep(
    context: Sequence[Message], count: Callable[[Message], int], keep: Keep, room: int
) -> Keep | None:
    """As `adaptive_keep`, and what stays takes no more than three quarters of the room."""
    lead = 1 if context and context[0].role == "system" else 0
    body = context[lead:]
    found = adaptive_keep(context, keep, count)
    while found is not None and (found.tokens > 0 or found.messages > 0):
        cut = choose_cut(body, found, count)
        if cut > 0 and sum(count(m) for m in body[cut:]) <= room * 3 // 4:
            return found
        found = _halved(found, body, count)
    return found


def _halved(keep: Keep, body: Sequence[Message], count: Callable[[Message], int]) -> Keep:
    if keep.tokens > 0:
        tokens = min(keep.tokens, sum(count(m) for m in body)) // 2
        return Keep(messages=0, tokens=tokens) if tokens > 0 else Keep(messages=0)
    return Keep(messages=min(keep.messages, len(body)) // 2)


def _results_to_evict(
    context: Sequence[Message],
    counter: Counter,
    limit: int,
    fixed: int,
    may_evict: Callable[[Message], bool],
) -> tuple[tuple[str, ...], int]:
    """Large results, the largest first, until the whole would fit; and the tokens that frees."""
    goal = int(limit * TARGET)
    total = fixed + counter.messages(context)
    least = max(2 * PLACEHOLDER, limit // LARGE_SHARE)
    large = [m for m in context if may_evict(m) and counter.message(m) > least]
    chosen: list[str] = []
    freed = 0
    for message in sorted(large, key=counter.message, reverse=True):
        if total - freed <= goal:
            break
        chosen.append(message.id)
        freed += counter.message(message) - PLACEHOLDER
    return tuple(chosen), freed
