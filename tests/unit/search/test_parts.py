"""The parts in which the full-text table is written, and when they become one."""

from __future__ import annotations

import time
from datetime import UTC
from pathlib import Path

import apsw
import pytest

from app.engine.search import writer as search_writer
from app.engine.search.index import MemoryIndex
from app.engine.search.preparing import from_string
from app.engine.search.store import PARTS, Store
from tests.helpers.searching import put, with_index


def write_day(store: Store, number: int) -> None:
    path = f"memory/day-{number}.md"
    store.put(list(from_string(path, f"- kayak {number}\n", now_ns=time.time_ns(), zone=UTC)))


def parts(path: Path) -> int:
    """How many parts there are."""
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    found = db.execute("SELECT count(DISTINCT segid) FROM terms_idx").fetchone()
    db.close()
    assert found is not None
    return int(str(found[0]))


def test_parts_gather_while_a_pass_goes_on_and_are_few_otherwise(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    store = Store(path, "here")
    store.gather(passing=True)
    for number in range(3 * PARTS):
        write_day(store, number)
    assert parts(path) == 3 * PARTS
    store.gather(passing=False)
    for number in range(3 * PARTS, 6 * PARTS):
        write_day(store, number)
        assert parts(path) <= PARTS
    assert store.check()
    store.close()


def test_the_room_that_the_log_took_while_a_pass_went_on_is_given_back(tmp_path: Path) -> None:
    store = Store(tmp_path / "index.db", "here")
    log = tmp_path / "index.db-wal"
    kept = 4_200_000
    store.gather(passing=True)
    for number in range(6):
        words = "\n".join(f"kayak{number}x{word}" for word in range(30_000))
        path = f"memory/long-{number}.md"
        store.put(list(from_string(path, words, now_ns=time.time_ns(), zone=UTC)))
    assert log.stat().st_size > 2 * kept
    store.gather(passing=False)
    for number in range(2):
        write_day(store, number)
    assert log.stat().st_size < kept
    store.close()


def test_all_can_be_found_before_the_parts_are_merged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_writer, "TIDY", 0)
    seen: list[tuple[str, int]] = []
    found: list[int] = []
    tidy = Store.tidy

    async def work(index: MemoryIndex) -> None:
        def watched(store: Store, *, anew: bool) -> bool:
            seen.append((index.state.state, store.totals()[0]))
            return tidy(store, anew=anew)

        monkeypatch.setattr(Store, "tidy", watched)
        for number, lines in enumerate((1, 50, 2), 1):
            text = "".join(f"- kayak {number} {line}\n" for line in range(lines))
            put(tmp_path, f"memory/2026-06-0{number}.md", text)
            await index.index_all_from_workspace()
            found.append(parts(tmp_path / ".palimpsest" / "index.db"))

    with_index(tmp_path, work, whole=False)
    assert {state for state, _ in seen} == {"ready"}
    assert [files for _, files in seen][-1] == 3
    assert found == [1, 1, 2], "what comes later costs no merge of all that is there"
