"""`MemoryIndex`: everything the agent ever knew, findable while one types.

Idea: a thin asynchronous face over two threads. One writes (one transaction for each piece of what
changed), one reads (answering, newest question first: an older live one is interrupted). A pass
over many files has a third, which gets the next pieces (of a large pass from a process of its own)
while one is written. The files are the truth; the index is only a faster way to them.

Invariant: a search always has an answer. No index, a damaged one, one of another version or one
that is still being built means that the files themselves are scanned, and the answer says so. A
rebuild grows beside the index in use and takes its place in one step.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, suppress
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import TypeVar, overload

import apsw

from app.engine.errors import StorageError
from app.engine.records import IndexState, LeftOut, Query, SearchResult
from app.engine.search.documents import layer_of
from app.engine.search.helper import WORTH, batches_apart
from app.engine.search.matching import WIDTH
from app.engine.search.passes import Behind, Ground, Indexed, ahead, behind, unread
from app.engine.search.past import HISTORY, is_version
from app.engine.search.preparing import Batch, batches, from_string, prepare
from app.engine.search.reader import Reader
from app.engine.search.rebuild import Building, forget
from app.engine.search.rows import FileRow, LineHit
from app.engine.search.scanner import Scan, newest_first, scan
from app.engine.search.store import Damaged, Store

log = logging.getLogger(__name__)
T = TypeVar("T")
Progress = Callable[[int, int], None]

TIDY = 2_000_000
"""Terms after which a pass merges the parts that it wrote."""
TRIES = 5
"""How often a path is brought up again when another program did so meanwhile."""
ROLES = frozenset({"user", "assistant", "tool", "system", "added", "dropped", "proposed"})
SEED_LAYERS = frozenset({"memory", "daily"})


class MemoryIndex:
    """The search index of one workspace. All methods are for one event loop.

    `path` defaults to the specification's place in the workspace. `clock` gives now in UTC.
    """

    def __init__(
        self,
        root: Path,
        path: Path | None = None,
        *,
        zone: tzinfo | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._root = root
        self._path = path or root / ".palimpsest" / "index.db"
        self._clock = clock
        self._zone = zone or clock().astimezone().tzinfo or UTC
        self._writing = ThreadPoolExecutor(1, thread_name_prefix="index-writer")
        self._writer: Store | None = None
        self._state = IndexState("unavailable", note="The index is not open.")
        self._reader = Reader(
            root, self._path, zone=self._zone, clock=clock,
            state=lambda: self._state, damaged=self._damaged, beside=lambda: self._beside,
        )  # fmt: skip
        self._closed = False
        self._passing = asyncio.Lock()
        self._beside = ""

    def walk(self) -> Scan:
        """The searched files as they are now; synchronous, for any thread."""
        return scan(self._root, beside=self._beside)

    def evicted_in(self, folder: Path) -> None:
        """Evicted results are in `folder` (absolute) from now on: those in it, and no other file,
        are searched as well, wherever it is."""
        name = self._relative(folder)
        self._beside = "" if layer_of(f"{name}/x") == "evicted" else name

    # ------------------------------------------------------------------ life

    async def open(self) -> IndexState:
        """Open the index, or find that it has to be built; never fails, never waits for a build."""
        self._state = await self._write(self._open)
        return self._state

    def _open(self) -> IndexState:
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            forget(self._path)
            self._writer = Store(self._path, str(self._root))
            files, _, terms = self._writer.figures()
        except (Damaged, apsw.Error) as error:
            log.warning("the index cannot be used: %s", error)
            self._close_writer()
            return IndexState("unavailable", note="The index has to be built anew.")
        except OSError as error:
            return IndexState("unavailable", note=f"The index cannot be opened: {error.strerror}.")
        if files:
            return IndexState("ready", files, files, terms=terms)
        return IndexState("building", note="The index is still empty.")

    async def close(self) -> None:
        """Stop what runs and close the index. A second call does nothing."""
        if self._closed:
            return
        self._closed = True
        async with self._passing:  # a pass sees that it is over, and leaves nothing half-built
            await self._reader.close()
            await self._write(self._close_writer)
        self._writing.shutdown(wait=False)

    def _close_writer(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    @property
    def state(self) -> IndexState:
        """What the index is doing, as last known (`check` compares with the disk)."""
        return self._state

    async def check(self) -> IndexState:
        """The state, compared with the files on disk: `stale` says how many are behind."""
        if self._state.state in ("building", "unavailable"):
            return self._state
        if await self._write(lambda: self._writer is not None and self._writer.astray()):
            async with self._passing, self._reader.paused():
                self._state = await self._write(self._open_again)
            return self._state
        try:
            found = await self._write(self._behind)
        except StorageError:
            return self._state
        if found is not None and self._state.state not in ("building", "unavailable"):
            self._state = found.state(self._state.terms)
        return self._state

    def _open_again(self) -> IndexState:
        """The file went, or another program put a new one in its place."""
        self._close_writer()
        if self._path.exists():
            return self._open()
        return IndexState("unavailable", note="The index file is gone.")

    async def tools(self) -> list[str]:
        """Names of the tools whose calls and results can be found, in order."""
        return await self._told(lambda store: sorted(set(store.names()) - ROLES - {""}))

    async def left_out(self) -> list[LeftOut]:
        """The files that cannot be found, as their text cannot be read, by path."""
        return await self._told(lambda store: store.left_out())

    async def _told(self, read: Callable[[Store], list[T]]) -> list[T]:
        """What the index tells of itself; nothing when it cannot be used."""
        try:
            return await self._write(lambda: [] if self._writer is None else read(self._writer))
        except StorageError:
            return []

    async def sound(self) -> bool:
        """Whether the index passes its integrity checks (slow: reads all of it)."""
        return await self._write(lambda: self._writer is not None and self._writer.check())

    def _behind(self) -> Behind | None:
        return None if self._writer is None else behind(self.walk().marks, self._writer.files())

    # ------------------------------------------------------------------ writing

    async def index_all_from_workspace(
        self, progress: Progress | None = None, *, rebuild: bool = False
    ) -> Indexed:
        """Bring every file of the workspace into the index, newest first, and drop what is gone.

        Unchanged files are not read. With `rebuild`, or when the index cannot be used, a new one
        is built beside it and swapped in; searches go on meanwhile. `progress(done, total)` is
        called on the loop. Raises `StorageError` when the disk refuses.
        """
        async with self._passing:
            if self._closed:
                raise asyncio.CancelledError
            return await self._whole_pass(progress, rebuild=rebuild)

    async def _whole_pass(self, progress: Progress | None, *, rebuild: bool) -> Indexed:
        begun, before = time.monotonic(), self._state
        held = (await self._write(self._figures))[2]
        anew = rebuild or self._writer is None or before.state == "unavailable"
        beside: Building | None = None
        try:
            if anew:
                beside = await self._write(lambda: Building(self._path, str(self._root)))
            changed = await self._pass(beside and beside.store, progress)
            if beside is not None:
                await self._tidy_up(beside.store, held=0)
                await self._swap(beside)
                changed += await self._pass(None, None)
            files, documents, terms = await self._write(self._figures)
        except BaseException:
            if beside is not None:
                await asyncio.shield(self._write(beside.abandon))
            self._left_off(before)
            raise
        self._state = IndexState("ready", files, files, terms=terms)
        if changed:
            await self._tidy_up(None, held=terms if anew else held)
        return Indexed(files, documents, terms, changed, time.monotonic() - begun, anew)

    def _left_off(self, before: IndexState) -> None:
        """A pass ended too early: the index in use is as good as it was, and `check` says more."""
        if self._state.state != "building":
            return
        if self._writer is None or before.state == "unavailable":
            note = before.note or "The index has to be built anew."
            self._state = IndexState("unavailable", note=note)
        else:
            self._state = IndexState("stale", note="The index is behind the files.")

    async def _pass(self, store: Store | None, progress: Progress | None) -> int:
        """One walk over the workspace into `store` (the index in use when None); what changed."""
        found = await self._write(self.walk)
        known = await self._write(lambda: self._known(store))
        ground = Ground(known)
        gone = {path for path in known.keys() - found.marks.keys() if not is_version(path)}
        order = [*newest_first(found.marks), *sorted(gone)]
        large = unread(found.marks, known) > WORTH
        made = (batches_apart if large else batches)(
            self._root, order, known, now_ns=time.time_ns(), zone=self._zone, beside=self._beside
        )
        if large:
            await self._write(lambda: self._gather(store, passing=True))
        changed = done = 0
        self._tell(0, len(order), progress)
        async with aclosing(ahead(made)) as coming:
            async for batch in coming:
                if self._closed:
                    raise asyncio.CancelledError
                changed += await self._write(lambda batch=batch: self._put(batch, store, ground))
                done += batch.paths
                self._tell(done, len(order), progress)
        for path in sorted(ground.late):
            changed += await self._write(lambda path=path: self._bring_up(path))
        return changed

    def _tell(self, done: int, total: int, progress: Progress | None) -> None:
        self._state = IndexState("building", done, total, self._state.note)
        if progress is not None:
            progress(done, total)

    def _known(self, store: Store | None) -> dict[str, FileRow]:
        target = store or self._writer
        return {} if target is None else {row.path: row for row in target.files()}

    def _figures(self) -> tuple[int, int, int]:
        return (0, 0, 0) if self._writer is None else self._writer.figures()

    def _put(self, batch: Batch, store: Store | None, ground: Ground) -> int:
        target = store or self._writer
        if target is None or not batch.pieces:
            return 0
        # Nobody but the pass writes into an index that is being built beside the one in use.
        return target.put(batch.pieces) if store else target.put(batch.pieces, ground.standing)

    def _gather(self, store: Store | None, *, passing: bool) -> None:
        target = store or self._writer
        if target is not None:
            target.gather(passing=passing)

    async def _tidy_up(self, store: Store | None, *, held: int) -> None:
        """Merge what a pass wrote in many parts into an index that `held` so many terms: with all
        of it when that was less than what came; other work comes in between the steps."""

        def step(*, first: bool) -> bool:
            target = store or self._writer
            if target is None:
                return False
            written = target.figures()[2] - held if first else TIDY
            return written >= TIDY and target.tidy(anew=first and written >= held)

        await self._write(lambda: self._gather(store, passing=False))
        more = await self._write(lambda: step(first=True))
        while more and not self._closed:
            more = await self._write(lambda: step(first=False))

    def _bring_up(self, path: str) -> bool:
        """Make the index hold one path as it is on disk; whether something changed."""
        store = self._writer
        if store is None or self._state.state == "unavailable":
            return False
        changed = 0
        for _ in range(TRIES):
            known = store.known(path)
            ground = Ground(known)
            pieces = prepare(
                self._root, path, known, now_ns=time.time_ns(), zone=self._zone, beside=self._beside
            )
            changed += sum(store.put([piece], ground.standing) for piece in pieces)
            if not ground.late:
                break  # else another program brought it up meanwhile: it may know less
        return changed > 0

    def _damaged(self, note: str) -> None:
        """From now on the files answer, until the index is built anew."""
        self._state = IndexState("unavailable", note=note)

    def _broken(self, error: apsw.Error) -> StorageError:
        """The index refused a write; a damaged one is not used any more."""
        if isinstance(error, (apsw.CorruptError, apsw.NotADBError)):
            self._damaged("The index is damaged.")
            return StorageError(
                "The search index is damaged.", "Rebuild the index; no other file is concerned."
            )
        return StorageError(f"The search index could not be written: {error}.")

    async def update(self, path: str | Path) -> bool:
        """Make the index hold one file as it is on disk; True when something changed.

        `path` is relative to the workspace or absolute. Without a usable index: False.
        """
        relative = self._relative(path)
        changed = await self._write(lambda: self._bring_up(relative))
        if relative == "MEMORY.md":
            await self._write(lambda: self._bring_up(HISTORY))
        return changed

    async def remove(self, path: str | Path) -> bool:
        """Drop one path from the index; False when it was not there."""
        relative = self._relative(path)

        def drop() -> bool:
            return self._writer is not None and self._writer.remove(relative)

        return await self._write(drop)

    async def index_from_string(self, path: str, text: str) -> int:
        """Index `text` as if `path` held it (the seed's call); how many lines it has.

        It stays until the path is updated or removed, or the workspace is indexed.
        """

        def put() -> int:
            if self._writer is None:
                return 0
            pieces = list(from_string(path, text, now_ns=time.time_ns(), zone=self._zone))
            self._writer.put(pieces)
            return sum(len(piece.documents) for piece in pieces)

        return await self._write(put)

    def _relative(self, path: str | Path) -> str:
        given = Path(path)
        if given.is_absolute():
            with suppress(ValueError):
                return given.relative_to(self._root).as_posix()
        return given.as_posix()

    # ------------------------------------------------------------------ rebuilding

    async def _swap(self, built: Building) -> None:
        """Put the new index in the place of the old one; no search runs meanwhile."""
        async with self._reader.paused():
            await self._write(lambda: self._swap_files(built))

    def _swap_files(self, built: Building) -> None:
        self._close_writer()
        self._writer = built.take_place()

    # ------------------------------------------------------------------ searching

    @overload
    async def search(self, query: str, limit: int = 30) -> list[LineHit]: ...
    @overload
    async def search(
        self, query: Query, *, supersede: bool = False, width: int | None = WIDTH
    ) -> SearchResult: ...

    async def search(
        self,
        query: Query | str,
        limit: int = 30,
        *,
        supersede: bool = False,
        width: int | None = WIDTH,
    ) -> SearchResult | list[LineHit]:
        """Answer a query. A text gives the seed's rows from MEMORY.md and the daily logs.

        With `supersede` (live search) an older search that was also asked with it ends with
        `CancelledError`; other searches wait for their turn. `width` is how many characters of a
        long text are shown around the match; None shows all. Never fails because of the text or
        the index.
        """
        if isinstance(query, str):
            asked = Query(query, layers=SEED_LAYERS, limit=limit)  # type: ignore[arg-type]
            found = await self._reader.search(asked, supersede=False, width=None)
            return [LineHit(hit.path, hit.line, hit.text, -hit.score) for hit in found.hits]
        return await self._reader.search(query, supersede=supersede, width=width)

    # ------------------------------------------------------------------ threads

    async def _write(self, work: Callable[[], T]) -> T:
        """Do `work` on the writing thread. What SQLite refuses becomes `StorageError`."""

        def done() -> T:
            try:
                return work()
            except apsw.Error as error:
                raise self._broken(error) from error

        return await asyncio.get_running_loop().run_in_executor(self._writing, done)
