"""Turn units, open calls, and where a history may be cut.

A unit is A: a user message; B: an assistant message with calls and all their results; C: an
assistant message without calls. Invariant of every cut: no call is parted from its result, in
either direction, and calls that still wait for a result stay. Rules: specification, section 7.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import Struct

from app.engine.records import Message

Count = Callable[[Message], int]


class Keep(Struct, frozen=True):
    """How much of the end stays: `tokens` when above 0, else that many messages."""

    messages: int = 20
    tokens: int = 0


class Unit(Struct, frozen=True):
    """Messages `start` to `end` (exclusive). S is a system message, R results without a call."""

    kind: Literal["A", "B", "C", "S", "R"]
    start: int
    end: int


def units(context: Sequence[Message]) -> list[Unit]:
    """The context in units, in order and without gaps."""
    found: list[Unit] = []
    at = 0
    while at < len(context):
        message = context[at]
        end = at + 1
        if message.role == "assistant":
            kind = "B" if message.calls else "C"
        elif message.role == "tool":
            kind = "R"
        else:
            kind = "A" if message.role == "user" else "S"
        if kind in ("B", "R"):
            end = _run_end(context, end)
        found.append(Unit(kind, at, end))
        at = end
    return found


def spans(context: Sequence[Message]) -> list[tuple[int, int]]:
    """Pairs (first, last) of places that belong together: each call's message and its result.

    A result belongs to the nearest call of its id before it that has none yet; one without an id
    to the first unanswered call before it; one whose call comes only later, to that one.
    """
    return _pair(context)[0]


def open_calls(context: Sequence[Message]) -> tuple[str, ...]:
    """Ids of calls that still wait: those of the last message with calls, if only results follow.

    Older calls without a result are abandoned, not open; nothing will ever answer them.
    """
    last = next((i for i in range(len(context) - 1, -1, -1) if context[i].role != "tool"), None)
    if last is None or not context[last].calls:
        return ()
    waiting = _pair(context)[1]
    return tuple(call for where, call in waiting if where == last)


def choose_cut(context: Sequence[Message], keep: Keep, count: Count, *, whole: bool = False) -> int:
    """Index of the first message that stays; 0 when nothing is to be cut.

    `context` holds no leading system message. `whole` (a compaction by hand) lets a history that is
    all one closed unit be taken as a whole when `keep` asks for nothing.
    """
    size = len(context)
    if keep.tokens > 0:
        cut = _by_tokens(context, keep.tokens, count)
    elif keep.messages > 0:
        cut = max(0, size - keep.messages)
    else:
        cut = _before_last_unit(context, whole=whole)
    return safe_cut(context, cut)


def safe_cut(context: Sequence[Message], cut: int) -> int:
    """The nearest place to `cut` that parts nothing: see the module's invariant."""
    size = len(context)
    cut = max(0, min(cut, size))
    if 0 < cut < size and context[cut].role == "tool":
        cut = _off_results(context, cut)
    pairs, waiting = _pair(context)
    still_open = set(open_calls(context))
    borders = [*pairs, *((where, size) for where, call in waiting if call in still_open)]
    moved = True
    while moved:
        moved = False
        for first, last in borders:
            if first < cut <= last:
                cut, moved = first, True
    return cut


# ---------------------------------------------------------------------------- inside


def _by_tokens(context: Sequence[Message], budget: int, count: Count) -> int:
    total = 0
    for at in range(len(context) - 1, -1, -1):
        total += count(context[at])
        if total > budget:
            return min(at + 1, len(context) - 1)
    return 0


def _before_last_unit(context: Sequence[Message], *, whole: bool) -> int:
    """Keep 0: the last unit stays unless it is a C."""
    if not context:
        return 0
    last = units(context)[-1]
    if last.kind == "C":
        return last.end
    if last.start == 0 and whole and not open_calls(context):
        return last.end
    return last.start


def _off_results(context: Sequence[Message], cut: int) -> int:
    """Before the message that issued any of these results' calls; without one, after the run."""
    end = _run_end(context, cut)
    ids = {context[i].call_id for i in range(cut, end)} - {""}
    for at in range(cut - 1, -1, -1):
        if ids.intersection(call.id for call in context[at].calls):
            return at
    return end


def _run_end(context: Sequence[Message], start: int) -> int:
    end = start
    while end < len(context) and context[end].role == "tool":
        end += 1
    return end


def _pair(context: Sequence[Message]) -> tuple[list[tuple[int, int]], list[tuple[int, str]]]:
    """(places that belong together, calls without a result as (place, id))."""
    waiting: list[tuple[int, str]] = []
    orphans: list[tuple[int, str]] = []
    pairs: list[tuple[int, int]] = []
    answered: dict[str, int] = {}
    for at, message in enumerate(context):
        for call in message.calls:
            waiting.append((at, call.id))
        if message.role != "tool":
            continue
        found = _waiting_call(waiting, message.call_id)
        if found is not None:
            where, call_id = waiting.pop(found)
            pairs.append((where, at))
            answered[call_id] = where
        elif message.call_id in answered:  # a second result for one call stays with it
            pairs.append((answered[message.call_id], at))
        elif message.call_id:
            orphans.append((at, message.call_id))
    for at, call_id in orphans:
        later = next((i for i, w in enumerate(waiting) if w[1] == call_id and w[0] > at), None)
        if later is not None:
            pairs.append((at, waiting.pop(later)[0]))
    return pairs, waiting


def _waiting_call(waiting: list[tuple[int, str]], call_id: str) -> int | None:
    if not waiting:
        return None
    if not call_id:
        last = waiting[-1][0]
        return next(i for i, w in enumerate(waiting) if w[0] == last)
    for i in range(len(waiting) - 1, -1, -1):
        if waiting[i][1] == call_id:
            return i
    return None
