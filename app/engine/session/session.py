"""A live session: every change is an entry, appended durably and then folded (specification 15).

Invariant: what is folded is what was read back from the very bytes that were written, so a restored
session equals the live one by construction. All methods are synchronous and block on the disk: call
them in a thread, from one owner at a time. `load` and everything that only reads never writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from app.engine.errors import SessionNotFound
from app.engine.records import Message
from app.engine.session import entries as e
from app.engine.session.fold import Fold, replay
from app.engine.session.log import Log, MemoryLog
from app.engine.session.messages import (
    derive,
    derived_id,
    entry_id,
    first_entry,
    last_entry,
    pack,
    same,
    tidy,
    with_call,
)
from app.engine.session.outgoing import behind, outgoing
from app.engine.session.recorder import Kit, Recorder
from app.engine.session.snapshot import CompactionSessionState
from app.engine.session.state import Counters, OpenCall, State
from app.engine.session.unflushed import Unflushed, unflushed
from app.engine.session.view import ViewFile

PLAIN = Kit()


class Session:
    """One conversation. Make one with `create`, `load`, `fork` or `restore`."""

    def __init__(self, session_id: str, log: Log, kit: Kit = PLAIN) -> None:
        self.id = session_id
        self._record = Recorder(log, kit)
        self._view = ViewFile(kit.view) if kit.view is not None else None

    # ------------------------------------------------------------------ beginning

    @classmethod
    def create(
        cls,
        session_id: str,
        log: Log | None = None,
        kit: Kit = PLAIN,
        *,
        system_prompt: str = "",
        strategy: str = "",
        config: dict[str, Any] | None = None,
        model: str = "",
        parent: str = "",
    ) -> Session:
        """A new session. Nothing is written before its first entry. No log: in memory only."""
        made = cls(session_id, MemoryLog() if log is None else log, kit)
        made._record.wait(
            e.SessionOpen(
                session_id=session_id,
                strategy=strategy,
                config=config or {},
                system_prompt=system_prompt,
                model=model,
                parent=parent,
            )
        )
        return made

    @classmethod
    def load(
        cls,
        session_id: str,
        log: Log,
        kit: Kit = PLAIN,
        *,
        system_prompt: str | None = None,
        strategy: str | None = None,
        config: dict[str, Any] | None = None,
        model: str | None = None,
    ) -> Session:
        """A session from its log. Never writes; given values (an empty prompt, too) override the
        stored ones and are stored with the next entry. Raises `SessionNotFound` (a `ValueError`).
        """
        made = cls(session_id, log, kit)
        made._record.catch_up()
        if log.size() == 0:
            raise SessionNotFound(f"There is no session {session_id!r}.")
        # A log whose first line was torn has nothing in it yet: it is opened like a new one.
        if made._record.empty or any(v is not None for v in (strategy, config, model)):
            made._record.wait(
                e.SessionOpen(
                    session_id=session_id,
                    strategy=strategy or "",
                    config=config or {},
                    system_prompt=system_prompt,
                    model=model or "",
                )
            )
        elif system_prompt is not None:
            made._record.wait(e.SystemPrompt(system_prompt=system_prompt))
        return made

    # ------------------------------------------------------------------ what can be read

    @property
    def fold(self) -> Fold:
        """The live fold: read it, never apply to it."""
        return self._record.fold

    @property
    def in_memory(self) -> bool:
        """Whether no work on it waits for a disk; a log of one's own kind may do anything."""
        return type(self._record.log) is MemoryLog

    @property
    def context(self) -> tuple[Message, ...]:
        """The messages in the model's view, without the system prompt."""
        return self.fold.context

    def outgoing(self) -> list[Message]:
        """The context as a strict provider accepts it; see `outgoing.outgoing`."""
        return outgoing(self.fold.context)

    @property
    def system_prompt(self) -> str:
        return self.fold.system_prompt

    @property
    def open_calls(self) -> tuple[OpenCall, ...]:
        return self.fold.open_calls

    @property
    def counters(self) -> Counters:
        return self.fold.counters

    @property
    def state(self) -> State:
        return self.fold.state()

    def knows(self, some_id: str) -> bool:
        """Whether a message or entry of that id was ever in this session."""
        return self._record.place(some_id) is not None

    def entries(self, after: str = "") -> Iterator[e.Entry | e.BadLine]:
        """Entries of the log, all or those after an entry id. Reads from the disk."""
        return self._record.entries(after)

    def unflushed(self) -> Unflushed | None:
        """What no flush has seen yet; see `unflushed.unflushed`. Reads from the disk."""
        return unflushed(self._record)

    # ------------------------------------------------------------------ messages

    def add(self, message: Message, *, seconds: float | None = None) -> Message:
        """Add one message; the message as it now stands. A known id adds nothing (SES-1).

        A message without id gets one from what was said last, its role and its content.
        """
        mended = self._record.begin()
        message = self._named(with_call(tidy(message), self.fold.open_calls), self.fold.cursor)
        if not self.knows(message.id):
            self._record.commit(mended, derive(message, seconds=seconds))
            self._after_adding(message)
        return self.fold.message(message.id) or message

    def _after_adding(self, message: Message) -> None:
        turn_ends = message.role == "assistant" and not message.calls
        if self._view is not None and (turn_ends or not self._view.path.exists()):
            self._write_view()

    def offer(self, history: Sequence[Message]) -> list[Message]:
        """Add what is new of a whole history; what was added. The same history adds nothing.

        Messages without id are recognised by their place: what stands before them, role, content.
        """
        added: list[Message] = []
        cursor, at = self.fold.root, -1
        for offered in history:
            message = tidy(offered)
            following = self.fold.messages(at + 1, at + 2)
            if not message.id and following and same(following[0], message):
                message = following[0]
            message = self._named(message, cursor)
            if not self.knows(message.id):
                message = self.add(message)
                added.append(message)
            cursor = last_entry(message)
            place = self.fold.position(message.id)
            at = at if place is None else place
        return added

    def add_result(
        self,
        call_id: str,
        name: str,
        output: str,
        *,
        is_error: bool = False,
        seconds: float | None = None,
        images: tuple[str, ...] = (),
    ) -> Message:
        """Add the result of a call; one for a call that is not open is logged but not shown."""
        result = Message(
            id="", role="tool", content=output, name=name, call_id=call_id, is_error=is_error,
            images=images,
        )  # fmt: skip
        return self.add(result, seconds=seconds)

    def _named(self, message: Message, cursor: str) -> Message:
        name = entry_id(message.id or derived_id(cursor, message), message)
        place = self._record.place(name)
        resets = self.fold.resets
        if place is not None and place.epoch < resets:  # said again after a reset
            name = f"{name}:r{resets}"
        return msgspec.structs.replace(message, id=name)

    # ------------------------------------------------------------------ engine entries

    def append(self, entry: e.Entry) -> e.Entry:
        """Append any entry; id, parent, time and number are filled in where it has none."""
        return self.extend([entry])[-1]

    def extend(self, entries: Sequence[e.Entry]) -> list[e.Entry]:
        """Append several at once, all or none (an import); they may bring their own times."""
        return self._record.commit(self._record.begin(), entries)[-len(entries) :]

    def interrupt(self, reason: str) -> e.Entry:
        """Close all open calls with "interrupted" results."""
        calls = tuple(c.id for c in self.fold.open_calls)
        return self.append(e.Interrupted(tool_call_ids=calls, reason=reason))

    def rename(self, title: str) -> None:
        """Give the session a person's title."""
        self.append(e.Mark(title=title))

    def mark(
        self,
        ids: Sequence[str],
        *,
        do_not_remember: bool | None = None,
        deleted: bool | None = None,
        edited: str | None = None,
    ) -> None:
        """Mark messages: `deleted` takes them out of the context, `edited` replaces their text."""
        targets = tuple(ids)
        self.append(
            e.Mark(targets=targets, do_not_remember=do_not_remember, deleted=deleted, edited=edited)
        )

    def commit_compaction(
        self,
        *,
        summary: str,
        message: Message,
        covered: Sequence[str],
        pending: str = "",
        reason: str = "",
        format: str = "",
        before: int = 0,
        after: int = 0,
    ) -> e.Compaction | None:
        """Put `message` in the place of the covered ids (and of `pending`, which it embeds).

        None, and nothing written, when the ids are no longer the beginning of the context (after
        its system messages). Raises `ValueError` when a call would be parted from its result.
        """
        mended = self._record.begin()
        leaving = [*covered, *([pending] if pending else [])]
        rest = behind(self.fold, leaving)
        if not leaving or rest is None:
            return None
        put = e.Summary(
            id=self._record.kit.new_id(),
            summary=summary,
            format=format,
            message=pack(tidy(message)),
        )
        done = e.Compaction(
            summary_entry_id=put.id,
            first_kept_entry_id=first_entry(rest[0]) if rest else None,
            number=self.fold.compactions + 1,
            reason=reason,
            covered=tuple(covered),
            kept=len(rest),
            pending=pending,
            before=before,
            after=after,
        )
        made = self._record.commit(mended, [put, done])[-1]
        assert isinstance(made, e.Compaction)
        return made

    def set_prompt(self, system_prompt: str) -> None:
        """Change the system prompt: it counts at once, and is stored with the next entry."""
        if system_prompt != self.fold.system_prompt:
            self._record.wait(e.SystemPrompt(system_prompt=system_prompt))

    def replace_context(self, messages: Sequence[Message]) -> None:
        """Let the context be these messages from now on; the log keeps what was there before."""
        self.append(
            e.Fork(
                parent_entry=self.fold.cursor or None,
                messages=tuple(pack(self._named(tidy(m), self.fold.cursor)) for m in messages),
                compactions=self.fold.compactions,
                summaries=tuple(self.fold.summaries),
            )
        )

    def reset(self) -> dict[str, int]:
        """Clear context, summaries and open calls; the log stays. The counts of what left."""
        counts = {"messages": len(self.fold), "compactions": self.fold.compactions}
        if not self._record.empty:
            self.append(e.Reset(messages=counts["messages"], compactions=counts["compactions"]))
        return counts

    # ------------------------------------------------------------------ other sessions

    def fork(
        self, session_id: str, log: Log | None = None, kit: Kit | None = None, *, at: str = ""
    ) -> Session:
        """A new session that goes on from here, or from just after entry `at` of this log."""
        if at and not self.knows(at):
            raise ValueError(f"There is no entry {at!r} in this session.")
        fold = replay(self.entries(), until=at) if at else self.fold
        made = Session.create(
            session_id,
            log,
            kit or msgspec.structs.replace(self._record.kit, view=None),
            system_prompt=fold.system_prompt,
            strategy=fold.strategy,
            config=dict(fold.config),
            model=fold.model,
            parent=self.id,
        )
        made.append(
            e.Fork(
                parent_session=self.id,
                parent_entry=fold.cursor or None,
                messages=tuple(pack(m) for m in fold.context),
            )
        )
        return made

    def snapshot(self) -> CompactionSessionState:
        """The session as a value; `position` is where the log ends."""
        return CompactionSessionState.of(self.id, self.fold, self._record.read_to)

    @classmethod
    def restore(
        cls,
        state: CompactionSessionState,
        session_id: str,
        log: Log | None = None,
        kit: Kit = PLAIN,
    ) -> Session:
        """A new session that begins as the snapshot was."""
        made = cls.create(
            session_id,
            log,
            kit,
            system_prompt=state.system_prompt,
            strategy=state.strategy,
            config=dict(state.config),
            model=state.model,
        )
        made.append(
            e.Fork(
                parent_session=state.session_id if state.session_id != session_id else "",
                messages=tuple(pack(m) for m in state.messages),
                compactions=state.compactions,
                summaries=state.summaries,
            )
        )
        return made

    # ------------------------------------------------------------------ disk

    def sync(self) -> None:
        """At the end of a turn: log durable (`per_turn`), view current."""
        self._record.log.sync()
        self._write_view()

    def close(self) -> None:
        """Sync, and let the writer's lock go. The session can be used again; it locks anew."""
        if self._record.writing:
            self.sync()
        self._record.log.close()

    def _write_view(self) -> None:
        if self._view is not None and not self._record.empty and not self._record.gone:
            self._view.write(self.fold, self._record.stamps)
