"""`MemoryIndex`: everything the agent ever knew, findable while one types.

Idea: a thin asynchronous face over two threads. One writes (bringing files into the index, one
transaction per file), one reads (answering, newest question first: an older live one is
interrupted). The files are the truth; the index is only a faster way to them.

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
from contextlib import suppress
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import TypeVar, overload

import apsw
from msgspec import Struct

from app.engine.errors import StorageError
from app.engine.records import IndexState, Query, SearchResult
from app.engine.search import rebuild as building
from app.engine.search.indexing import bring_up, from_string
from app.engine.search.matching import WIDTH
from app.engine.search.reader import Reader
from app.engine.search.scanner import Scan, newest_first, scan
from app.engine.search.store import Damaged, Store

log = logging.getLogger(__name__)
T = TypeVar("T")
Progress = Callable[[int, int], None]

BATCH = 64
BATCH_SECONDS = 0.1
"""Files, and seconds, after which a pass over the workspace lets other work in."""
SEED_LAYERS = frozenset({"memory", "daily"})


class LineHit(Struct, frozen=True):
    """A hit in the seed's shape: 1-based line, the whole line, and bm25 (lower is better)."""

    path: str
    line_number: int
    content: str
    rank: float


class Indexed(Struct, frozen=True):
    """What a pass over the workspace did."""

    files: int
    documents: int
    changed: int
    seconds: float
    rebuilt: bool = False


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
            state=lambda: self._state, damaged=self._damaged,
        )  # fmt: skip
        self._whole = False
        self._closed = False

    # ------------------------------------------------------------------ life

    async def open(self) -> IndexState:
        """Open the index, or find that it has to be built; never fails, never waits for a build."""
        self._state = await self._write(self._open)
        return self._state

    def _open(self) -> IndexState:
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            building.forget(self._path)
            self._writer = Store(self._path, str(self._root))
        except Damaged as error:
            log.warning("the index cannot be used: %s", error)
            return IndexState("unavailable", note="The index has to be built anew.")
        except OSError as error:
            return IndexState("unavailable", note=f"The index cannot be opened: {error.strerror}.")
        files, _ = self._writer.totals()
        self._whole = files > 0
        if self._whole:
            return IndexState("ready", files, files)
        return IndexState("building", note="The index is still empty.")

    async def close(self) -> None:
        """Stop what runs and close the index. A second call does nothing."""
        if self._closed:
            return
        self._closed = True
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
        behind = await self._write(self._behind)
        total = self._state.total
        if behind:
            noun = "file is" if behind == 1 else "files are"
            note = f"{behind} {noun} newer than the index."
            self._state = IndexState("stale", max(0, total - behind), total, note)
        else:
            self._state = IndexState("ready", total, total)
        return self._state

    async def sound(self) -> bool:
        """Whether the index passes its integrity checks (slow: reads all of it)."""
        return await self._write(lambda: self._writer is not None and self._writer.check())

    def _behind(self) -> int:
        if self._writer is None:
            return 0
        marks = scan(self._root).marks
        known = {row.path: row for row in self._writer.files() if row.text is None}
        changed = sum(
            1
            for path, mark in marks.items()
            if path not in known
            or (known[path].size, known[path].mtime_ns) != (mark.size, mark.mtime_ns)
        )
        return changed + len(known.keys() - marks.keys())

    # ------------------------------------------------------------------ writing

    async def index_all_from_workspace(
        self, progress: Progress | None = None, *, rebuild: bool = False
    ) -> Indexed:
        """Bring every file of the workspace into the index, newest first, and drop what is gone.

        Unchanged files are not read. With `rebuild`, or when the index cannot be used, a new one
        is built beside it and swapped in; searches go on meanwhile. `progress(done, total)` is
        called on the loop. Raises `StorageError` when the disk refuses.
        """
        begun = time.monotonic()
        beside: Store | None = None
        anew = rebuild or self._writer is None or self._state.state == "unavailable"
        if anew:
            beside = await self._write(lambda: building.begin(self._path, str(self._root)))
        try:
            found, changed = await self._pass(beside, progress)
            if beside is not None:
                await self._swap(beside)
                beside = None
                _, more = await self._pass(None, None)
                changed += more
        except BaseException:
            if beside is not None:
                unfinished = beside
                await asyncio.shield(self._write(lambda: building.abandon(self._path, unfinished)))
            raise
        files, documents = await self._write(self._totals)
        self._whole = True
        self._state = IndexState("ready", len(found.marks), len(found.marks))
        return Indexed(files, documents, changed, time.monotonic() - begun, anew)

    async def _pass(self, store: Store | None, progress: Progress | None) -> tuple[Scan, int]:
        """One walk over the workspace into `store` (the index in use when None)."""
        found = await self._write(lambda: scan(self._root))
        known = await self._write(lambda: self._known(store))
        gone = known - found.marks.keys()
        order = [*newest_first(found.marks), *sorted(gone)]
        changed = 0
        done = 0
        while done < len(order):
            if self._closed:
                raise asyncio.CancelledError
            self._state = IndexState("building", done, len(order), self._state.note)
            if progress is not None:
                progress(done, len(order))
            batch = order[done : done + BATCH]
            brought, more = await self._write(lambda batch=batch: self._bring_up_some(batch, store))
            done += brought
            changed += more
        if progress is not None:
            progress(len(order), len(order))
        return found, changed

    def _known(self, store: Store | None) -> set[str]:
        target = store or self._writer
        return set() if target is None else {row.path for row in target.files()}

    def _totals(self) -> tuple[int, int]:
        return (0, 0) if self._writer is None else self._writer.totals()

    def _bring_up(self, path: str, store: Store | None = None) -> bool:
        target = store or self._writer
        if target is None or (store is None and self._state.state == "unavailable"):
            return False
        try:
            return bring_up(target, self._root, path, now_ns=time.time_ns(), zone=self._zone)
        except apsw.Error as error:
            raise self._broken(error) from error

    def _bring_up_some(self, paths: list[str], store: Store | None) -> tuple[int, int]:
        """As many of `paths` as fit into a short while: how many, and how many changed.

        They are made durable together; each file is still there whole or not at all.
        """
        target = store or self._writer
        if target is None:
            return len(paths), 0
        end = time.monotonic() + BATCH_SECONDS
        brought = changed = 0
        with target.together():
            for path in paths:
                changed += self._bring_up(path, target)
                brought += 1
                if time.monotonic() > end:
                    break
        return brought, changed

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
        return await self._write(lambda: self._bring_up(relative))

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
            try:
                return from_string(self._writer, path, text, now_ns=time.time_ns(), zone=self._zone)
            except apsw.Error as error:
                raise self._broken(error) from error

        return await self._write(put)

    def _relative(self, path: str | Path) -> str:
        given = Path(path)
        if given.is_absolute():
            with suppress(ValueError):
                return given.relative_to(self._root).as_posix()
        return given.as_posix()

    # ------------------------------------------------------------------ rebuilding

    async def _swap(self, built: Store) -> None:
        """Put the new index in the place of the old one; no search runs meanwhile."""
        async with self._reader.paused():
            await self._write(lambda: self._swap_files(built))

    def _swap_files(self, built: Store) -> None:
        built.close(single_file=True)
        self._close_writer()
        self._writer = building.take_place(self._path, str(self._root))

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
        return await asyncio.get_running_loop().run_in_executor(self._writing, work)
