"""What the disk is asked to do: durable appends, and the list of a large workspace."""

from __future__ import annotations

import os
import statistics
import time
from datetime import date, timedelta
from pathlib import Path

from app.engine.session import entries as e
from app.engine.session.codec import encode
from app.engine.session.log import SessionLog
from app.engine.session.store import SessionStore
from app.engine.workspace.layout import Layout, ensure


def appending(folder: Path, times: int) -> dict[str, float]:
    """One entry through the log against a bare write and fsync of the same bytes, in turn."""
    folder.mkdir()
    log = SessionLog(folder / "s.log.jsonl")
    bare = os.open(folder / "bare", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    ours: list[float] = []
    theirs: list[float] = []
    for n in range(times):
        text = f"{n}: " + "plain words " * 20
        entry = e.MessageEntry(id=f"m-{n}", role="USER", content=text, seq=n + 1)
        data = encode(entry)

        def through_the_log(entry: e.Entry = entry) -> None:
            log.append([entry])

        def bare_write(data: bytes = data) -> None:
            os.write(bare, data)
            os.fsync(bare)

        pair = [(through_the_log, ours), (bare_write, theirs)]
        for act, spent in pair if n % 2 else reversed(pair):  # neither always goes first
            begun = time.perf_counter()
            act()
            spent.append(time.perf_counter() - begun)
    os.close(bare)
    log.close()
    return {
        "append_seconds": round(statistics.median(ours), 6),
        "append_ratio": round(statistics.median(ours) / statistics.median(theirs), 3),
        "append_ratio_limit": 2.0,
    }


def listing(folder: Path, sessions: int, days: int) -> dict[str, float]:
    """The list of a workspace as a fresh start has it, against one walk over its files."""
    layout = _workspace(folder, sessions, days)
    begun = time.perf_counter()
    first = len(SessionStore(layout).list())
    cold = time.perf_counter() - begun
    walks: list[float] = []
    lists: list[float] = []
    for _ in range(15):
        begun = time.process_time()  # the kernel's part is in it; what others do meanwhile is not
        files = _walk(folder)
        middle = time.process_time()
        found = SessionStore(layout).list()
        walks.append(middle - begun)
        lists.append(time.process_time() - middle)
        assert len(found) == first == sessions
    return {
        "list_files": files,
        "list_first_time_seconds": round(cold, 3),
        "list_seconds": round(min(lists), 4),
        "list_ratio": round(min(lists) / min(walks), 3),
        "list_ratio_limit": 1.5,
    }


def _walk(folder: str | Path) -> int:
    files = 0
    with os.scandir(folder) as found:
        for one in found:
            if one.is_dir(follow_symlinks=False):
                files += _walk(one.path)
            else:
                one.stat(follow_symlinks=False)
                files += 1
    return files


def _workspace(folder: Path, sessions: int, days: int) -> Layout:
    layout = Layout.at(folder)
    folder.mkdir()
    ensure(layout)
    layout.sessions_dir.mkdir(parents=True, exist_ok=True)
    for n in range(sessions):
        at = f"{1 + n % 28:02}T01:{n // 60 % 60:02}:{n % 60:02}"
        opened = e.SessionOpen(id="o", seq=1, session_id=f"s-{n}", timestamp=f"2026-06-{at}+00:00")
        spoken = [
            e.MessageEntry(
                id="u", seq=2, role="USER", content=f"Question {n} about the boats in the harbour",
                timestamp=f"2026-07-{at}+00:00",
            ),
            e.MessageEntry(
                id="a", seq=3, role="ASSISTANT", content="They leave at six.",
                timestamp=f"2026-07-{at}.5+00:00",
            ),
        ]  # fmt: skip
        layout.session_log(f"s-{n}").write_bytes(b"".join(map(encode, [opened, *spoken])))
        layout.session_view(f"s-{n}").write_bytes(b"".join(map(encode, spoken)))
    newest = date(2026, 6, 2)
    for n in range(days):
        day = newest - timedelta(days=n)
        heading = f"\n## Memory Flush — {day}T03:15:09+00:00\n"
        layout.daily(day).write_text(f"{heading}- fact {n}\n", encoding="utf-8")
    return layout
