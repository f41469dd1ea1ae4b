"""The writing half of the index: one thread, one connection, and what is known of the index.

Idea: everything that writes, and whatever asks the connection that writes, is done on this thread,
one piece of work at a time, so that what waits comes in between two pieces of a long one.
Invariant: an index that cannot be used has no store, and its state says so.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import tzinfo
from pathlib import Path
from typing import ParamSpec, TypeVar

import apsw

from app.engine.errors import StorageError
from app.engine.records import IndexState
from app.engine.search.passes import Ground
from app.engine.search.preparing import Batch, from_string, prepare
from app.engine.search.rebuild import Building, forget
from app.engine.search.rows import FileRow
from app.engine.search.store import Damaged, Store

log = logging.getLogger(__name__)
T = TypeVar("T")
P = ParamSpec("P")

TIDY = 2_000_000
"""Terms after which a pass merges the parts that it wrote."""
TRIES = 5
"""How often a path is brought up again when another program did so meanwhile."""


class Writer:
    """Writes into the index at `path`. `await run(work)` does work on its thread.

    All else but `tidy_up` is synchronous and for that thread. `store` is the index in use, None
    when it cannot be used; where a `store` is given, None means that one.
    """

    def __init__(self, root: Path, path: Path, zone: tzinfo) -> None:
        self._root = root
        self._path = path
        self._zone = zone
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="index-writer")
        self.store: Store | None = None
        self.state = IndexState("unavailable", note="The index is not open.")
        self.beside = ""  # where evicted results lie, when elsewhere than usual
        self.closed = False  # nothing more is begun

    async def run(self, work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
        """Do `work` on the writing thread. What SQLite refuses becomes `StorageError`."""

        def done() -> T:
            try:
                return work(*args, **named)
            except apsw.Error as error:
                raise self._broken(error) from error

        return await asyncio.get_running_loop().run_in_executor(self._thread, done)

    async def end(self) -> None:
        """Close the index and let the thread go."""
        await self.run(self.close)
        self._thread.shutdown(wait=False)

    # ------------------------------------------------------------------ life

    def open(self) -> None:
        """Open the index, or say in `state` why it cannot be used."""
        self.state = self._opened()

    def _opened(self) -> IndexState:
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            forget(self._path)
            self.store = Store(self._path, str(self._root))
            files, _, terms = self.store.figures()
        except (Damaged, apsw.Error) as error:
            log.warning("the index cannot be used: %s", error)
            self.close()
            return IndexState("unavailable", note="The index has to be built anew.")
        except OSError as error:
            return IndexState("unavailable", note=f"The index cannot be opened: {error.strerror}.")
        if files:
            return IndexState("ready", files, files, terms=terms)
        return IndexState("building", note="The index is still empty.")

    def close(self) -> None:
        """Close the index; a second call does nothing."""
        if self.store is not None:
            self.store.close()
            self.store = None

    def open_again(self) -> None:
        """The file went, or another program put a new one in its place."""
        self.close()
        if self._path.exists():
            self.open()
        else:
            self.damaged("The index file is gone.")

    def swap(self, built: Building) -> None:
        """Put a new index in the place of the one in use, which nobody else may have open."""
        self.close()
        self.store = built.take_place()

    # ------------------------------------------------------------------ work

    def known(self, store: Store | None) -> dict[str, FileRow]:
        """What the index holds of each file, by path."""
        target = store or self.store
        return {} if target is None else {row.path: row for row in target.files()}

    def figures(self) -> tuple[int, int, int]:
        """(files, documents, terms)"""
        return (0, 0, 0) if self.store is None else self.store.figures()

    def put(self, batch: Batch, store: Store | None, ground: Ground) -> int:
        """Write what a pass has read; how many files changed by it."""
        target = store or self.store
        if target is None or not batch.pieces:
            return 0
        # Nobody but the pass writes into an index that is being built beside the one in use.
        return target.put(batch.pieces) if store else target.put(batch.pieces, ground.standing)

    def gather(self, store: Store | None, *, passing: bool = True) -> None:
        """Let parts of the index gather while a large pass is on, or no longer (`Store.gather`)."""
        target = store or self.store
        if target is not None:
            target.gather(passing=passing)

    async def tidy_up(self, store: Store | None, *, held: int) -> None:
        """Merge what a pass wrote in many parts into an index that `held` so many terms: with all
        of it when that was less than what came; other work comes in between the steps."""

        def step(*, first: bool) -> bool:
            target = store or self.store
            if target is None:
                return False
            written = target.figures()[2] - held if first else TIDY
            return written >= TIDY and target.tidy(anew=first and written >= held)

        await self.run(self.gather, store, passing=False)
        more = await self.run(step, first=True)
        while more and not self.closed:
            more = await self.run(step, first=False)

    def bring_up(self, path: str) -> bool:
        """Make the index hold one path as it is on disk; whether something changed."""
        store = self.store
        if store is None or self.state.state == "unavailable":
            return False
        changed = 0
        for _ in range(TRIES):
            known = store.known(path)
            ground = Ground(known)
            pieces = prepare(
                self._root, path, known, now_ns=time.time_ns(), zone=self._zone, beside=self.beside
            )
            changed += sum(store.put([piece], ground.standing) for piece in pieces)
            if not ground.late:
                break  # else another program brought it up meanwhile: it may know less
        return changed > 0

    def drop(self, path: str) -> bool:
        """Take one path out; False when it was not there."""
        return self.store is not None and self.store.remove(path)

    def put_text(self, path: str, text: str) -> int:
        """Hold `text` as if `path` did; how many lines it has."""
        if self.store is None:
            return 0
        pieces = list(from_string(path, text, now_ns=time.time_ns(), zone=self._zone))
        self.store.put(pieces)
        return sum(len(piece.documents) for piece in pieces)

    # ------------------------------------------------------------------ trouble

    def damaged(self, note: str) -> None:
        """From now on the files answer, until the index is built anew."""
        self.state = IndexState("unavailable", note=note)

    def _broken(self, error: apsw.Error) -> StorageError:
        """The index refused a write; a damaged one is not used any more."""
        if isinstance(error, (apsw.CorruptError, apsw.NotADBError)):
            self.damaged("The index is damaged.")
            return StorageError(
                "The search index is damaged.", "Rebuild the index; no other file is concerned."
            )
        return StorageError(f"The search index could not be written: {error}.")
