"""What a session costs: adding a message to a long one, and restoring a very long one."""

from __future__ import annotations

import asyncio
import json
import statistics
import time
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import msgspec

from app.engine.memory.compaction_memory import CompactionMemory
from app.engine.memory.log_store import LocalConversationLogStore
from app.engine.memory.motus_settings import CompactionMemoryConfig
from app.engine.records import Message, Role
from app.engine.session import entries as e
from app.engine.session.codec import encode
from app.engine.session.log import SessionLog
from app.engine.session.messages import derive
from app.engine.session.pages import Pages
from app.engine.session.session import Session
from app.engine.session.store import SessionStore
from app.engine.workspace.layout import Layout, ensure

TEXT = "The ferry to the island leaves at six from the third pier, said Ines; bring the blue map. "
ROUNDS = 5


def adding(folder: Path, size: int) -> dict[str, float]:
    """One more message in an empty session and in one of `size`, without fsync, in turn.

    Measured for the agent's own session (with its view) and for `CompactionMemory`, which counts
    tokens as it adds.
    """
    layout = Layout.at(folder)
    folder.mkdir()
    ensure(layout)
    store = SessionStore(layout, fsync="never")
    short, long = store.create("short"), store.create("long")
    for n in range(size):
        long.add(_message(n))
    plain = _in_turn(
        lambda n: short.add(_message(n)), lambda n: long.add(_message(size + n)), size // 20
    )

    async def memories() -> tuple[float, float]:
        made = [_memory(folder / "logs", name) for name in ("short", "long")]
        for n in range(size):
            await made[1].add_message(_message(n))
        return await _in_turn_async(made[0], made[1], size)

    counted = asyncio.run(memories())
    return {
        "add_seconds": round(plain[1], 7),
        "add_ratio": round(plain[1] / plain[0], 3),
        "add_ratio_limit": 1.2,
        "add_counted_seconds": round(counted[1], 7),
        "add_counted_ratio": round(counted[1] / counted[0], 3),
        "add_counted_ratio_limit": 1.2,
    }


def _memory(base: Path, name: str) -> CompactionMemory:
    config = CompactionMemoryConfig(session_id=name, token_threshold=10**9)
    return CompactionMemory(config, log_store=LocalConversationLogStore(base, fsync="never"))


def _message(n: int) -> Message:
    return Message(id=f"m-{n}", role="assistant" if n % 2 else "user", content=f"{n}: {TEXT}")


def _in_turn(
    one: Callable[[int], object], other: Callable[[int], object], times: int
) -> tuple[float, float]:
    took: tuple[list[float], list[float]] = ([], [])
    for n in range(times):
        for act, spent in zip((one, other), took, strict=True):
            begun = time.process_time()
            act(n)
            spent.append(time.process_time() - begun)
    return statistics.median(took[0]), statistics.median(took[1])


async def _in_turn_async(
    short: CompactionMemory, long: CompactionMemory, size: int
) -> tuple[float, float]:
    took: tuple[list[float], list[float]] = ([], [])
    for n in range(size // 20):
        for memory, spent in zip((short, long), took, strict=True):
            message = _message(size + n)
            begun = time.process_time()
            await memory.add_message(message)
            spent.append(time.process_time() - begun)
    return statistics.median(took[0]), statistics.median(took[1])


# ---------------------------------------------------------------------------- restoring


def restoring(folder: Path, entries: int) -> dict[str, float]:
    """Restore a log of that many entries against one decoding pass.

    The log is one of the agent's own: turns with a call, what was sent, what it cost, and a
    compaction every two hundred messages.
    """
    folder.mkdir()
    path = folder / "s.log.jsonl"
    with path.open("wb") as file:
        for n, entry in enumerate(islice(_turns(), entries), 1):
            file.write(encode(msgspec.structs.replace(entry, seq=n)))
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(ROUNDS):
        begun = time.process_time()
        decoded = _decoded(path)
        middle = time.process_time()
        session = Session.load("s", SessionLog(path))
        ours.append(time.process_time() - middle)
        theirs.append(middle - begun)
        assert session.counters.entries == len(decoded) == entries
        del decoded, session
    beyond = _memory_beyond(path) / entries
    newest, far = _pages(path, entries // 20)
    return {
        "restore_entries": entries,
        "restore_seconds": round(min(ours), 3),
        "restore_ratio": round(min(ours) / min(theirs), 3),
        "restore_ratio_limit": 4.0,
        "restore_bytes_per_entry": round(beyond, 1),
        "restore_memory_ratio": round(beyond / 150, 3),
        "restore_memory_ratio_limit": 1.0,
        "page_far_seconds": round(far, 5),
        "page_far_ratio": round(far / newest, 3),
        "page_far_ratio_limit": 5.0,
    }


def _pages(path: Path, turn: int) -> tuple[float, float]:
    """The newest two hundred items, and as many around one of an early turn, once its log was read
    for that."""
    log, pages, around = SessionLog(path), Pages(), f"u-{turn:032x}"
    pages.page(log, around=around, limit=1)
    took: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for some_id, spent in zip(("", around), took, strict=True):
            begun = time.process_time()
            page = pages.page(log, around=some_id, limit=200)
            spent.append(time.process_time() - begun)
            assert len(page) == 200
            assert not some_id or some_id in (item.id for item in page)
    return min(took[0]), min(took[1])


def _decoded(path: Path) -> list[object]:
    decoder = msgspec.json.Decoder()
    with path.open("rb") as file:
        return [decoder.decode(line) for line in file]


def _memory_beyond(path: Path) -> int:
    """Bytes a restored session holds beyond the messages of its live context."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        session = Session.load("s", SessionLog(path))
        held = tracemalloc.get_traced_memory()[0] - before
        data = msgspec.json.encode(session.context)
        before = tracemalloc.get_traced_memory()[0]
        copy = msgspec.json.decode(data, type=tuple[Message, ...])
        live = tracemalloc.get_traced_memory()[0] - before
        assert copy == session.context
        return held - live
    finally:
        tracemalloc.stop()


def _turns() -> Iterator[e.Entry]:
    yield e.SessionOpen(id="open", session_id="s", timestamp=_time(0))
    tail: str | None = None
    turn = 0
    live: list[str] = []
    while True:
        turn += 1
        for entry in _turn(turn, live):
            spoken = isinstance(entry, e.CONVERSATION)
            yield msgspec.structs.replace(entry, parent_id=tail, timestamp=_time(turn))
            tail = entry.id if spoken else tail
        if len(live) >= 200:
            covered, live[:] = live[:180], live[180:]
            text = "## SUMMARY\n" + TEXT * 10
            message = e.SyntheticMessage(
                id=f"sum-{turn}", role="USER", content=text, origin="summary"
            )
            live.insert(0, message.id)
            yield e.Summary(
                id=f"s-{turn}", parent_id=tail, timestamp=_time(turn), summary=text, message=message
            )
            tail = f"c-{turn}"
            yield e.Compaction(
                id=tail, parent_id=f"s-{turn}", timestamp=_time(turn), summary_entry_id=f"s-{turn}",
                first_kept_entry_id=live[1], covered=tuple(covered), kept=20, reason="messages",
            )  # fmt: skip


def _turn(turn: int, live: list[str]) -> list[e.Entry]:
    """A question, a call with its result, and an answer."""
    user, asks, answers = f"u-{turn:032x}", f"a-{turn:032x}", f"b-{turn:032x}"
    call = f"call_{turn:024x}"
    result = f"m-{turn:020x}:result:{call}"
    live += [user, asks, result, answers]
    parts = tuple(
        {"kind": kind, "note": "", "tokens": 120, "hash": f"{turn:064x}"}
        for kind in ("session", "memory", "history", "tools")
    )
    return [
        e.MessageEntry(id=user, role="USER", content=f"{turn}: {TEXT}"),
        e.Request(id=f"r-{turn}-1", parts=parts),
        e.MessageEntry(id=asks, role="ASSISTANT", content="I look it up.", reasoning=TEXT),
        e.ToolUse(
            id=f"{asks}:use:{call}", tool_call_id=call, name="memory_search",
            input={"query": "ferry island", "limit": turn},
        ),
        e.UsageEntry(id=f"x-{turn}-1", message_id=asks, prompt=2_000, completion=40, model="m"),
        e.ToolResult(
            id=result, tool_call_id=call, name="memory_search", output=TEXT * 8,
            output_block_types=("text",), seconds=0.01,
        ),
        e.Request(id=f"r-{turn}-2", parts=parts),
        e.MessageEntry(id=answers, role="ASSISTANT", content=f"{turn}: {TEXT * 3}"),
        e.UsageEntry(id=f"x-{turn}-2", message_id=answers, prompt=2_100, completion=60, model="m"),
    ]  # fmt: skip


def _time(turn: int) -> str:
    day, hour, minute = 1 + turn // 86_400 % 28, turn // 3_600 % 24, turn // 60 % 60
    return f"2026-06-{day:02}T{hour:02}:{minute:02}:{turn % 60:02}.512345+00:00"


# ---------------------------------------------------------------------------- for Motus


def said(n: int) -> Message:
    """One message of a talk with tools in it: a question, an answer of a page, a result; about 850
    characters on the average, with which Motus takes as long as the specification says it does."""
    role: Role = "assistant" if n % 2 else "user"
    return Message(id=f"m-{n}", role=role, content=f"{n}: {TEXT * (1, 12, 3, 21)[n % 4]}")


def plain_messages(count: int) -> str:
    """The same messages for another program, as JSON: role and content."""
    return json.dumps([{"role": m.role, "content": m.content} for m in map(said, range(count))])


def logged(path: Path, count: int) -> None:
    """The same messages in a log of ours."""
    with path.open("wb") as file:
        for n in range(count):
            entry = derive(said(n))[0]
            parent = f"m-{n - 1}" if n else None
            file.write(
                encode(
                    msgspec.structs.replace(
                        entry, seq=n + 1, parent_id=parent, timestamp="2026-06-02T01:15:12.5+00:00"
                    )
                )
            )
