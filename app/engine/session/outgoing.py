"""The context as a strict provider accepts it (specification 15; cases B57, B60). Pure.

Invariant of what comes out: each call is followed by exactly one result, each result follows its
call, and no message is empty. Aborted answers stay in the log and the view; they are not sent.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from app.engine.records import Message, ToolCall
from app.engine.session.messages import interrupted_result
from app.engine.session.shown import Shown

NO_OUTPUT = "(no output)"


def outgoing(context: Sequence[Message]) -> list[Message]:
    """The messages to send, the same objects wherever nothing had to be mended.

    A call without result gets an "interrupted" one; a second result, a result without call, and a
    message with nothing in it are left out. Order is kept, except that results follow their call.
    """
    answers = _answers(context)
    sent: list[Message] = []
    for at, message in enumerate(context):
        if message.role == "tool" or _empty(message):
            continue
        calls = _once(message.calls)
        if len(calls) != len(message.calls):
            message = msgspec.structs.replace(message, calls=calls)
        sent.append(message)
        for call in calls:
            found = answers.get((at, call.id))
            sent.append(
                _spoken(found) if found else interrupted_result(call.id, call.name, message.id)
            )
    return sent


def _answers(context: Sequence[Message]) -> dict[tuple[int, str], Message]:
    """For each call (place of its message, call id) the first result that follows it."""
    asked: dict[str, int] = {}
    answers: dict[tuple[int, str], Message] = {}
    for at, message in enumerate(context):
        for call in message.calls:
            asked[call.id] = at
        if message.role == "tool" and message.call_id in asked:
            answers.setdefault((asked[message.call_id], message.call_id), message)
    return answers


def _empty(message: Message) -> bool:
    return not (message.content.strip() or message.calls or message.images)


def _once(calls: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
    return tuple({c.id: c for c in reversed(calls)}.values())[::-1]


def _spoken(result: Message) -> Message:
    if result.content.strip() or result.images:
        return result
    return msgspec.structs.replace(result, content=NO_OUTPUT)


def behind(shown: Shown, ids: Sequence[str]) -> list[Message] | None:
    """What stays when the messages of these ids leave the context.

    None when they are not its beginning (after its system messages). Raises `ValueError` when a
    call would be parted from its result.
    """
    start = shown.lead
    leaving, rest = shown.messages(start, start + len(ids)), shown.messages(start + len(ids))
    if [m.id for m in leaving] != list(ids):
        return None
    if _parts_a_pair(leaving, rest):
        raise ValueError("a compaction must not part a call from its result")
    return rest


def _parts_a_pair(leaving: Sequence[Message], rest: Sequence[Message]) -> bool:
    """Whether a cut between the two would leave a result without its call."""
    asked = {c.id for m in leaving for c in m.calls}
    again = {c.id for m in rest for c in m.calls}
    return any(m.role == "tool" and m.call_id in asked - again for m in rest)
