"""What no flush has seen yet (specification 9): the range after the last flushed entry."""

from __future__ import annotations

from msgspec import Struct

from app.engine.records import Message
from app.engine.session import entries as e
from app.engine.session.fold import replay
from app.engine.session.messages import owner
from app.engine.session.recorder import Recorder


class Unflushed(Struct, frozen=True):
    """Messages in their original form; `first` and `last` are the entry ids of the range."""

    messages: tuple[Message, ...]
    first: str
    last: str


def unflushed(record: Recorder) -> Unflushed | None:
    """The range to flush next; None when there is nothing to tell.

    Left out: marked turns ("do not remember", deleted), recalled text, summaries, session context,
    system messages. Edited messages appear as edited. The range ends before a call that still runs:
    its result would be told of no more. Reads the log; never writes.
    """
    waiting = {call.message_id for call in record.fold.open_calls}
    spoken: list[e.Entry] = []
    marks: list[e.Entry] = []
    for entry in record.entries(record.fold.flushed):
        if isinstance(entry, e.SPOKEN):
            if owner(entry.id) in waiting:
                break
            spoken.append(entry)
        elif isinstance(entry, e.Mark):
            marks.append(entry)
    if not spoken:
        return None
    told = replay([*spoken, *marks])
    messages = tuple(
        m
        for m in told.context
        if not m.origin and m.role != "system" and m.id not in told.do_not_remember
    )
    return Unflushed(messages, spoken[0].id, spoken[-1].id) if messages else None
