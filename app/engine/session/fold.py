"""What a session is: entries in, state out (specification 15). Pure: no clock, no disk.

`Fold` is the owned, live form: `apply` takes one entry, and adding a message costs the same at the
ten-thousandth as at the first. A restored session equals the live one because both are this fold
over the same decoded lines. `state()` is a frozen, comparable picture of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import msgspec

from app.engine.records import Message, Usage
from app.engine.session import entries as e
from app.engine.session.messages import SUMMARY_NAME as SUMMARY_NAME  # others look for it here
from app.engine.session.messages import (
    call_of,
    interrupted_result,
    owner,
    result_message,
    summary_message,
    text_message,
    unpack,
)
from app.engine.session.shown import Shown
from app.engine.session.state import Counters, OpenCall, State

REPLIES = 1_000  # a reply's usage may be reported again while it is among the newest of them


class Fold(Shown):
    """The live fold. Not thread-safe: one owner at a time.

    `tail` is the last entry of the parent chain; `cursor` the last spoken entry, from which the
    next nameless message gets its id.
    """

    def __init__(self) -> None:
        super().__init__()
        self.session_id = ""
        self.system_prompt = ""
        self.strategy = ""
        self.config: dict[str, Any] = {}
        self.model = ""
        self.title = ""
        self.parent = ""
        self.flushed = ""
        self.summaries: list[str] = []
        self.do_not_remember: set[str] = set()
        self.tail: str | None = None
        self.cursor = ""
        self.root = ""  # the cursor before the first message of the present context
        self.compactions = 0
        self.resets = 0
        self._entries = self._spoken = self._turns = 0  # apart, for they are the frequent ones
        self._counts: dict[str, int] = {}
        self._pending: dict[str, e.Summary] = {}
        self._spent = Usage()
        self._replies: dict[str, Usage] = {}  # the newest ones, part of the sum

    # ------------------------------------------------------------------ what can be read

    @property
    def counters(self) -> Counters:
        return Counters(
            entries=self._entries,
            messages=self._spoken,
            turns=self._turns,
            compactions=self.compactions,
            resets=self.resets,
            **self._counts,
        )

    @property
    def usage(self) -> Usage:
        """The sum over replies, each counted once, by its last report."""
        return self._spent

    def state(self) -> State:
        return State(
            session_id=self.session_id,
            context=self.context,
            open_calls=self.open_calls,
            counters=self.counters,
            system_prompt=self.system_prompt,
            strategy=self.strategy,
            config=dict(self.config),
            model=self.model,
            title=self.title,
            parent=self.parent,
            flushed=self.flushed,
            summaries=tuple(self.summaries),
            do_not_remember=frozenset(self.do_not_remember),
            usage=self.usage,
            version=self.version,
        )

    # ------------------------------------------------------------------ applying

    def apply(self, entry: e.Entry | e.BadLine) -> None:
        """Take one entry in. Entries that do not fit (unknown targets, …) change nothing."""
        self.apply_all((entry,))

    def apply_all(self, entries: Iterable[e.Entry | e.BadLine]) -> None:
        """Take entries in, in their order: long logs come by the hundred."""
        handlers = self._handlers
        for entry in entries:
            if isinstance(entry, e.BadLine):
                self._count("bad")
                continue
            kind = type(entry)
            self._entries += 1
            handler = handlers.get(kind)
            if handler is not None:
                handler(self, entry)
            if kind in _CONVERSATION:
                self.tail = entry.id
                if kind in _SPOKEN:
                    self.cursor = entry.id

    def _count(self, name: str) -> None:
        self._counts[name] = self._counts.get(name, 0) + 1

    def foresee(self, entry: e.Entry) -> None:
        """Show what an entry will set before it is written (prompt, configuration); idempotent."""
        self._handlers[type(entry)](self, entry)

    # ------------------------------------------------------------------ conversation

    def _message(self, entry: e.MessageEntry) -> None:
        message = text_message(entry)
        role = message.role
        if role == "tool":
            self._answer(message)
            return
        where, messages = self._where, self._messages
        known = where.get(entry.id)
        if known is not None:
            self._join(known, message)
            return
        self._spoken += 1
        if role == "user" and not message.origin:
            self._turns += 1
        # `_append`, here without a call: long logs are made of this.
        where[message.id] = at = len(messages)
        messages.append(message)
        self.version += 1
        self._shown = None
        if at < self._changed_from:
            self._changed_from = at

    def _join(self, at: int, part: Message) -> None:
        """Another row of a message that is there already: its parts are one message (B54)."""
        whole = self._messages[at]
        if whole.role != "assistant" or at != len(self._messages) - 1:
            self._count("ignored")
            return
        self._put(
            at,
            msgspec.structs.replace(
                whole,
                content=_joined(whole.content, part.content),
                reasoning=_joined(whole.reasoning, part.reasoning),
                images=whole.images + tuple(i for i in part.images if i not in whole.images),
            ),
        )

    def _use(self, entry: e.ToolUse) -> None:
        call, message_id = call_of(entry), owner(entry.id)
        at = self._where.get(message_id)
        if at is None:
            self._spoken += 1
            self._append(Message(id=message_id, role="assistant", calls=(call,)))
        else:
            whole = self._messages[at]
            if any(c.id == call.id for c in whole.calls) or whole.role != "assistant":
                self._count("ignored")
                return
            self._put(at, msgspec.structs.replace(whole, calls=(*whole.calls, call)))
        self._open[call.id] = OpenCall(call.id, call.name, message_id)

    def _result(self, entry: e.ToolResult) -> None:
        self._answer(result_message(entry))

    def _answer(self, message: Message) -> None:
        """A result closes its call; one for a call that is not open stays out of the context."""
        opened = self._open.pop(message.call_id, None)
        if opened is None or message.id in self._where:
            self._count("ignored")
            return
        if not message.name:
            message = msgspec.structs.replace(message, name=opened.name)
        self._append(message)

    def _interrupted(self, entry: e.Interrupted) -> None:
        for call_id in entry.tool_call_ids:
            opened = self._open.get(call_id)
            if opened is not None:
                self._answer(interrupted_result(opened.id, opened.name, entry.id))

    # ------------------------------------------------------------------ compaction

    def _summary(self, entry: e.Summary) -> None:
        self._pending[entry.id] = entry

    def _compaction(self, entry: e.Compaction) -> None:
        summary = self._pending.get(entry.summary_entry_id)
        span = self.covered_span(entry)
        if summary is None or span is None:
            self._count("ignored")
            return
        del self._pending[entry.summary_entry_id]
        start, end = span
        put = summary_message(summary)
        self._set([*self._messages[:start], put, *self._messages[end:]])
        self.compactions += 1
        self.summaries.append(summary.summary)

    def covered_span(self, entry: e.Compaction) -> tuple[int, int] | None:
        """Which stretch of the context a compaction covers; None when it does not fit."""
        start = self.lead
        if entry.covered is None:
            return self._span_before(start, entry.first_kept_entry_id)
        ids, end = frozenset(entry.covered), start
        while end < len(self._messages) and self._messages[end].id in ids:
            end += 1
        if end == start and ids:  # their lines are lost: the summary still says what they were
            return self._span_before(start, entry.first_kept_entry_id)
        if entry.pending and end < len(self._messages) and self._messages[end].id == entry.pending:
            end += 1
        return start, end

    def _span_before(self, start: int, first_kept: str | None) -> tuple[int, int] | None:
        if not first_kept:
            return start, len(self._messages)
        at = self._where.get(first_kept, self._where.get(owner(first_kept)))
        return None if at is None else (start, max(start, at))

    # ------------------------------------------------------------------ other forms

    def _other_form(self, entry: e.InContext) -> None:
        for target, text in entry.forms():
            self._replace_form(target, text, evicted=isinstance(entry, e.Eviction))
        if isinstance(entry, e.Eviction):
            self._count("evictions")

    def _replace_form(self, target: str, text: str, *, evicted: bool) -> None:
        at = self._where.get(owner(target))
        if at is None:
            self._count("ignored")
            return
        message = self._messages[at]
        if owner(target) == target:
            new = msgspec.structs.replace(message, content=text, evicted=message.evicted or evicted)
        else:
            calls = tuple(
                msgspec.structs.replace(c, arguments=text)
                if f"{message.id}:use:{c.id}" == target
                else c
                for c in message.calls
            )
            new = msgspec.structs.replace(message, calls=calls)
        self._put(at, new)

    def _mark(self, entry: e.Mark) -> None:
        ids = {owner(i) for i in entry.ids()}
        if entry.title is not None:
            self.title = entry.title
        if entry.do_not_remember:
            self.do_not_remember |= ids
        elif entry.do_not_remember is False:
            self.do_not_remember -= ids
        if entry.edited is not None:
            for message_id in ids:
                self._replace_form(message_id, entry.edited, evicted=False)
        if entry.deleted and any(i in self._where for i in ids):
            self._set([m for m in self._messages if m.id not in ids])

    # ------------------------------------------------------------------ the session itself

    def _session_open(self, entry: e.SessionOpen) -> None:
        self.session_id = entry.session_id or self.session_id
        self.strategy = entry.strategy or self.strategy
        self.config = entry.config or self.config
        self.model = entry.model or self.model
        self.parent = entry.parent or self.parent
        if entry.system_prompt is not None:
            self.system_prompt = entry.system_prompt

    def _system_prompt(self, entry: e.SystemPrompt) -> None:
        self.system_prompt = entry.system_prompt

    def _model_change(self, entry: e.ModelChange) -> None:
        self.model = entry.model

    def _reset(self, entry: e.Reset) -> None:
        self.resets += 1
        self.root = self.cursor
        self.compactions = 0
        self.summaries.clear()
        self._pending.clear()
        self._open.clear()
        self._set([])

    def _fork(self, entry: e.Fork) -> None:
        self.parent = entry.parent_session or self.parent
        self.cursor = entry.parent_entry or ""
        self.compactions = entry.compactions
        self.summaries = list(entry.summaries)
        messages = [unpack(m) for m in entry.messages]
        answered = {m.call_id for m in messages if m.role == "tool"}
        self._set(messages)
        self._open = {
            c.id: OpenCall(c.id, c.name, m.id)
            for m in messages
            for c in m.calls
            if c.id not in answered
        }

    def _flush(self, entry: e.Flush) -> None:
        self._count("flushes")
        self.flushed = entry.to or self.flushed

    def _used(self, entry: e.UsageEntry) -> None:
        """Reports of one reply stand near each other: only the newest replies are remembered."""
        reply = entry.message_id or entry.id
        before = self._replies.pop(reply, Usage())
        self._replies[reply] = Usage(entry.prompt, entry.completion)
        if len(self._replies) > REPLIES:
            del self._replies[next(iter(self._replies))]
        self._spent = Usage(
            self._spent.prompt + entry.prompt - before.prompt,
            self._spent.completion + entry.completion - before.completion,
        )

    _handlers: ClassVar[dict[type[e.Entry], Callable[[Fold, Any], None]]] = {
        e.MessageEntry: _message,
        e.ToolUse: _use,
        e.ToolResult: _result,
        e.Summary: _summary,
        e.Compaction: _compaction,
        e.SessionOpen: _session_open,
        e.SystemPrompt: _system_prompt,
        e.ModelChange: _model_change,
        e.Eviction: _other_form,
        e.ToolTruncation: _other_form,
        e.ArgsTruncation: _other_form,
        e.Prune: _other_form,
        e.Interrupted: _interrupted,
        e.Reset: _reset,
        e.Fork: _fork,
        e.Mark: _mark,
        e.Flush: _flush,
        e.UsageEntry: _used,
    }


_CONVERSATION = frozenset(e.CONVERSATION)
_SPOKEN = frozenset(e.SPOKEN)


def _joined(first: str, second: str) -> str:
    if not second or second == first:
        return first
    return f"{first}\n{second}" if first else second


def replay(entries: Iterable[e.Entry | e.BadLine], until: str = "") -> Fold:
    """The fold of a whole log, or of its beginning up to the entry of the id `until`."""
    fold = Fold()
    for entry in entries:
        fold.apply(entry)
        if until and isinstance(entry, e.Entry) and until in (entry.id, owner(entry.id)):
            break
    return fold
