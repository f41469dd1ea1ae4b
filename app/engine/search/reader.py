"""The asking half of the index: one thread, one connection, the newest live question first.

Idea: every search is a job that can be told to stop. A live search stops the live one before it;
others (the agent's tools) wait for their turn and are never stopped by someone typing.
Invariant: whatever the index does, there is an answer: when it fails, the files are scanned.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from datetime import datetime, tzinfo
from pathlib import Path

import apsw
from msgspec.structs import replace

from app.engine.records import IndexState, Query, SearchResult
from app.engine.search.answers import Answering
from app.engine.search.literal import Stopped
from app.engine.search.store import Damaged, Store

log = logging.getLogger(__name__)
_BROKEN = (apsw.CorruptError, apsw.NotADBError)
GROWING = "The index is still being built"


class _Job:
    """One search; `halted` asks its thread to stop, `live` says that somebody is typing it."""

    def __init__(self, *, live: bool) -> None:
        self.live = live
        self.halted = False

    def halt(self) -> bool:
        return self.halted


class Reader:
    """Answers queries on its own thread. `damaged` is called (there) when the index fails."""

    def __init__(
        self, root: Path, path: Path, *, zone: tzinfo, clock: Callable[[], datetime],
        state: Callable[[], IndexState], damaged: Callable[[str], None],
        beside: Callable[[], str] = lambda: "",
    ) -> None:  # fmt: skip
        self._root = root
        self._path = path
        self._zone = zone
        self._clock = clock
        self._state = state
        self._damaged = damaged
        self._beside = beside
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="index-reader")
        self._store: Store | None = None
        self._lock = threading.Lock()
        self._running: _Job | None = None
        self._live: _Job | None = None

    async def search(self, query: Query, *, supersede: bool, width: int | None) -> SearchResult:
        """Answer one query; `CancelledError` when a newer live one took its place."""
        job = _Job(live=supersede)
        if supersede:
            self._halt(self._live)
            self._live = job
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._thread, self._answer, job, query, width)
        except Stopped:
            raise asyncio.CancelledError from None
        except asyncio.CancelledError:
            self._halt(job)
            raise
        finally:
            if self._live is job:
                self._live = None

    @asynccontextmanager
    async def paused(self) -> AsyncGenerator[None, None]:
        """No search runs within, and the connection is closed; searches wait."""
        gate, held = threading.Event(), threading.Event()

        def hold() -> None:
            self._close()
            held.set()
            gate.wait()

        loop = asyncio.get_running_loop()
        holding = loop.run_in_executor(self._thread, hold)
        try:
            await asyncio.to_thread(held.wait)
            yield
        finally:
            gate.set()
            await holding

    async def close(self) -> None:
        """Stop what runs and close the connection."""
        self._halt(self._live)
        with self._lock:
            running = self._running
        self._halt(running)
        await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
        self._thread.shutdown(wait=False)

    def _close(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None

    def _halt(self, job: _Job | None) -> None:
        if job is None:
            return
        job.halted = True
        with self._lock:
            if self._running is job and self._store is not None:
                self._store.interrupt()

    def _answer(self, job: _Job, query: Query, width: int | None) -> SearchResult:
        if job.halted:
            raise Stopped
        with self._lock:
            self._running = job
        try:
            store, note = self._usable()
            return _noted(self._ask(job, store, query, width), note)
        except (apsw.InterruptError, apsw.AbortError):
            raise Stopped from None
        except apsw.Error as error:
            log.warning("the index failed while searching: %s", error)
            self._close()
            if isinstance(error, _BROKEN):
                self._damaged("The index is damaged.")
            note = "The index failed; the files were read instead."
            return _noted(self._ask(job, None, query, width), note)
        finally:
            with self._lock:
                self._running = None

    def _ask(self, job: _Job, store: Store | None, query: Query, width: int | None) -> SearchResult:
        if store is not None:
            store.stop_when(job.halt)
        try:
            return Answering(
                self._root, store, query,
                now=self._clock(), zone=self._zone, halt=job.halt, width=width,
                live=job.live, beside=self._beside(),
            ).answer()  # fmt: skip
        finally:
            if store is not None:
                store.stop_when(None)

    def _usable(self) -> tuple[Store | None, str]:
        """The store if there is one to ask, and what to say about it."""
        state = self._state()
        if state.state == "unavailable":
            return None, f"{state.note} The files were read instead."
        if self._store is None:
            try:
                self._store = Store(self._path, str(self._root), reading=True)
            except Damaged as error:
                if isinstance(error.__cause__, (*_BROKEN, apsw.SQLError)):  # or of no tables
                    self._damaged("The index is damaged.")
                return None, "The index cannot be used; the files were read instead."
        if state.state == "building":
            return self._store, f"{GROWING} ({state.done} of {state.total} files)."
        return self._store, ""


def _noted(result: SearchResult, note: str) -> SearchResult:
    if not note:
        return result
    causes = result.causes | {"building"} if note.startswith(GROWING) else result.causes
    reason = f"{note} {result.reason}".strip()
    return replace(result, reason=reason, causes=causes, complete=False)
