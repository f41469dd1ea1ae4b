"""Restored equals live: after any series of events, killed between any two writes and at any byte.

A `Life` goes through steps and notes what it was after each write. Then its log is cut where each
write ended, and somewhere in the middle of one: what is restored is what it was there.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from app.engine.context.units import units
from app.engine.records import Message
from app.engine.session import entries as e
from app.engine.session.fold import replay
from app.engine.session.lines import Line
from app.engine.session.log import SessionLog
from app.engine.session.session import Session
from app.engine.session.state import State
from tests.helpers.session_parts import bot, kit, load, log_path, said, summary, user

TEXTS = st.sampled_from(["", "a", "数据库", "go on", "x" * 50, "line\nline\u2028", "🍸 \ud83d"])
PLACE = st.integers(0, 5)
Step = tuple[str, Any]
STEPS = st.one_of(
    st.tuples(st.just("user"), TEXTS),
    st.tuples(st.just("bot"), TEXTS),
    st.tuples(st.just("calls"), st.integers(1, 3)),
    st.tuples(st.just("result"), st.integers(0, 3)),
    st.tuples(st.just("turn"), st.integers(1, 3)),
    st.tuples(st.just("compact"), st.integers(1, 6)),
    st.tuples(st.just("compact_units"), st.integers(1, 4)),
    st.tuples(st.just("continue"), st.just(0)),
    st.tuples(st.just("evict"), PLACE),
    st.tuples(st.just("prune"), PLACE),
    st.tuples(st.just("truncate"), PLACE),
    st.tuples(st.just("truncate_args"), PLACE),
    st.tuples(st.just("interrupt"), st.just(0)),
    st.tuples(st.just("reset"), st.just(0)),
    st.tuples(st.just("mark"), PLACE),
    st.tuples(st.just("edit"), PLACE),
    st.tuples(st.just("replace"), PLACE),
    st.tuples(st.just("prompt"), TEXTS),
    st.tuples(st.just("flush"), st.just(0)),
    st.tuples(st.just("offer"), st.integers(0, 4)),
    st.tuples(st.just("fork"), st.just(0)),
    st.tuples(st.just("fork_at"), PLACE),
    st.tuples(st.just("snapshot"), st.just(0)),
    st.tuples(st.just("reopen"), st.just(0)),
)


class NotedLog(SessionLog):
    """A log that says when it was written to."""

    def __init__(self, path: Path, wrote: Callable[[], None]) -> None:
        super().__init__(path, fsync="never")
        self._wrote = wrote

    def append(self, entries: Sequence[e.Entry]) -> list[Line]:
        made = super().append(entries)
        self._wrote()
        return made


class Life:
    """A session that lives through steps; what it was after each of its writes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = "s-0"
        self.written = False
        self.session = Session.create(
            self.name, self.log(), kit(folder / "s-0.jsonl"), system_prompt="p"
        )
        self.calls = 0
        self.sessions = 0
        self.moments: dict[int, State] = {}

    def log(self) -> SessionLog:
        return NotedLog(log_path(self.folder, self.name), self.note_write)

    def note_write(self) -> None:
        """The write before this one is folded now, and nothing else happened since."""
        self.note()
        self.written = True

    def note(self) -> None:
        if self.written:
            self.moments[self.session.snapshot().position] = self.session.state
            self.written = False

    def live(self, step: Step) -> None:
        act: Callable[[Any], None] = getattr(self, f"do_{step[0]}")
        act(step[1])
        self.note()

    def another(self, make: Callable[[str, SessionLog], Session]) -> None:
        """Go on as a session made from this one."""
        self.session.close()
        self.must_be_restored()
        self.sessions += 1
        self.name = f"s-{self.sessions}"
        self.moments, self.written = {}, False
        self.session = make(self.name, self.log())
        self.written = True

    def must_be_restored(self) -> None:
        """What is read from the disk is what lives here."""
        if log_path(self.folder, self.name).exists():
            restored, session = load(self.folder, self.name), self.session
            assert restored.state == session.state
            assert restored.fold.tail == session.fold.tail
            assert restored.fold.cursor == session.fold.cursor
            assert restored.outgoing() == session.outgoing()
            assert valid_for_a_strict_provider(restored.outgoing())

    # ------------------------------------------------------------------ what is said

    def do_user(self, text: str) -> None:
        self.session.add(user(text))

    def do_bot(self, text: str) -> None:
        self.session.add(bot(text))

    def do_calls(self, count: int) -> None:
        names = [f"c{self.calls + n}" for n in range(count)]
        self.calls += count
        self.session.add(bot("looking" if count % 2 else "", "", *names))

    def do_result(self, which: int) -> None:
        waiting = self.session.open_calls
        call = waiting[which % len(waiting)].id if waiting else "c0"
        self.session.add_result(call, "look", f"out {which}")

    def do_turn(self, count: int) -> None:
        self.do_user("look")
        self.do_calls(count)
        for n in reversed(range(count)):
            self.do_result(n)
        self.do_bot("seen")

    def do_offer(self, more: int) -> None:
        shown = [m for m in self.session.context if m.role != "tool" and not m.calls]
        self.session.offer([*shown, *(user(f"new {n}") for n in range(more))])

    # ------------------------------------------------------------------ compactions

    @property
    def body(self) -> tuple[Message, ...]:
        return self.session.context[self.session.fold.lead :]

    def do_compact(self, count: int) -> None:
        self.compact(self.body[:count])

    def do_compact_units(self, count: int) -> None:
        found = units(self.body)[:count]
        if found and self.compact(self.body[: found[-1].end]):
            for kind in {unit.kind for unit in found}:
                event(f"compacted a unit of kind {kind}")

    def do_continue(self, _: int) -> None:
        """As profile `working_state`: the newest question goes into the message."""
        body = self.body
        if body and body[-1].role == "user" and self.compact(body[:-1], body[-1].id):
            event("compacted with a pending question")

    def compact(self, covered: Sequence[Message], pending: str = "") -> bool:
        ids = [m.id for m in covered]
        try:
            done = self.session.commit_compaction(
                summary=f"sum {len(ids)}", message=summary(f"sum {len(ids)}"), covered=ids,
                pending=pending,
            )  # fmt: skip
        except ValueError:
            return False  # would have parted a call from its result
        return done is not None

    # ------------------------------------------------------------------ other forms

    def do_evict(self, at: int) -> None:
        self.shorten(at, lambda of: e.Eviction(target=of, in_context="put aside", file="f"))

    def do_truncate(self, at: int) -> None:
        self.shorten(at, lambda of: e.ToolTruncation(target=of, in_context="cut"))

    def shorten(self, at: int, make: Callable[[str], e.Entry]) -> None:
        tools = [m for m in self.session.context if m.role == "tool"]
        if tools:
            self.session.append(make(tools[at % len(tools)].id))

    def do_prune(self, at: int) -> None:
        tools = [m.id for m in self.session.context if m.role == "tool"][: at + 1]
        if tools:
            self.session.append(e.Prune(targets=tuple(tools), in_context=("…",) * len(tools)))

    def do_truncate_args(self, at: int) -> None:
        calls = [f"{m.id}:use:{c.id}" for m in self.session.context for c in m.calls][: at + 1]
        forms = tuple('{"cut":1}' for _ in calls)
        self.session.append(e.ArgsTruncation(targets=tuple(calls), in_context=forms))

    def do_interrupt(self, _: int) -> None:
        self.session.interrupt("stopped")

    def do_reset(self, _: int) -> None:
        self.session.reset()

    def do_mark(self, at: int) -> None:
        if self.session.context:
            self.session.mark([self.chosen(at)], deleted=True)

    def do_edit(self, at: int) -> None:
        if self.session.context:
            self.session.mark([self.chosen(at)], edited="edited")

    def chosen(self, at: int) -> str:
        return self.session.context[at % len(self.session.context)].id

    def do_replace(self, at: int) -> None:
        plain = [m for m in self.session.context if m.role != "tool" and not m.calls]
        self.session.replace_context([*plain[at:], user("put in its place")])

    def do_prompt(self, text: str) -> None:
        self.session.set_prompt(text)
        self.session.rename("titled")  # a prompt is stored with the next entry

    def do_flush(self, _: int) -> None:
        there = self.session.unflushed()
        if there is not None:
            self.session.append(e.Flush(from_=there.first, to=there.last))

    # ------------------------------------------------------------------ other sessions

    def do_fork(self, _: int) -> None:
        self.another(self.session.fork)

    def do_fork_at(self, at: int) -> None:
        spoken = [x.id for x in self.session.entries() if isinstance(x, e.CONVERSATION)]
        if spoken:
            entry = spoken[at % len(spoken)]
            self.another(lambda name, log: self.session.fork(name, log, at=entry))

    def do_snapshot(self, _: int) -> None:
        taken = self.session.snapshot()
        self.another(lambda name, log: Session.restore(taken, name, log, kit()))
        assert said(self.session) == [m.content for m in taken.messages]

    def do_reopen(self, _: int) -> None:
        if log_path(self.folder, self.name).exists():
            self.session.close()
            self.must_be_restored()
            self.session = Session.load(
                self.name, self.log(), kit(self.folder / f"{self.name}.jsonl")
            )


TALK: list[Step] = [("user", "a"), ("calls", 2), ("result", 1), ("result", 0), ("bot", "done")]


@pytest.mark.case("MOT-81")
@settings(max_examples=120, deadline=None)
@example(steps=[*TALK, ("compact_units", 1), ("user", "b")], cut=900)  # a question
@example(steps=[*TALK[1:], ("compact_units", 1), ("user", "b")], cut=900)  # calls with results
@example(steps=[("bot", "hi"), *TALK, ("compact_units", 1)], cut=500)  # a plain answer
@example(steps=[*TALK, ("user", "b"), ("continue", 0), ("bot", "c"), ("reset", 0)], cut=1_500)
@example(steps=[*TALK, ("evict", 0), ("prune", 1), ("compact", 4), ("fork", 0)], cut=100)
@given(steps=st.lists(STEPS, min_size=8, max_size=30), cut=st.integers(1, 6_000))
def test_restored_equals_live_whatever_happened(steps: list[Step], cut: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        life = Life(Path(name))
        for step in steps:
            life.live(step)
        if not log_path(life.folder, life.name).exists():
            return
        life.session.close()
        life.must_be_restored()
        cut_between_writes(life)
        cut_anywhere(life, cut)


def cut_between_writes(life: Life) -> None:
    """Killed after each write in turn: the session is what it was then."""
    path = log_path(life.folder, life.name)
    body = path.read_bytes()
    assert len(body) in life.moments
    for size, state in life.moments.items():
        path.write_bytes(body[:size])
        assert load(life.folder, life.name).state == state
    path.write_bytes(body)


def cut_anywhere(life: Life, cut: int) -> None:
    """Killed at any byte: restore, go on, restore again. What came before the write is there."""
    path = log_path(life.folder, life.name)
    body = path.read_bytes()
    at = cut % len(body) + 1
    path.write_bytes(body[:at])
    restored = load(life.folder, life.name)
    assert restored.state == replay(restored.entries()).state() or body[at - 1 : at] != b"\n"
    before = max((size for size in life.moments if size <= at), default=0)
    if before and b"\n" not in body[before:at]:
        complete = at < len(body) and body[at : at + 1] == b"\n"  # only its newline is missing
        assert complete or restored.state == life.moments[before]
    restored.add(user("after the crash", "after"))
    restored.close()
    again = load(life.folder, life.name)
    assert again.state == restored.state
    assert again.context[-1].content == "after the crash"
    assert again.counters.bad == 0


def valid_for_a_strict_provider(sent: list[Message]) -> bool:
    at = 0
    while at < len(sent):
        message = sent[at]
        assert message.role != "tool", "a result without its call"
        assert message.content.strip() or message.calls or message.images
        following = sent[at + 1 : at + 1 + len(message.calls)]
        assert [m.call_id for m in following] == [c.id for c in message.calls]
        assert all(m.role == "tool" and m.content.strip() for m in following)
        at += 1 + len(message.calls)
    return True
