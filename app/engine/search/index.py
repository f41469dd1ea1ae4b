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
import time
from collections.abc import Callable
from contextlib import aclosing, suppress
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import TypeVar, overload

from app.engine.errors import StorageError
from app.engine.records import IndexState, LeftOut, Query, SearchResult
from app.engine.search.documents import layer_of
from app.engine.search.helper import WORTH, batches_apart
from app.engine.search.matching import WIDTH
from app.engine.search.passes import Ground, Indexed, ahead, behind, unread
from app.engine.search.past import HISTORY, is_version
from app.engine.search.preparing import batches
from app.engine.search.reader import Reader
from app.engine.search.rebuild import Building
from app.engine.search.rows import LineHit
from app.engine.search.scanner import Scan, newest_first, scan
from app.engine.search.store import Store
from app.engine.search.writer import Writer

T = TypeVar("T")
Progress = Callable[[int, int], None]

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
        self._writer = Writer(root, self._path, self._zone)
        self._reader = Reader(
            root, self._path, zone=self._zone, clock=clock, state=lambda: self._writer.state,
            damaged=self._writer.damaged, beside=lambda: self._writer.beside,
        )  # fmt: skip
        self._passing = asyncio.Lock()

    def walk(self) -> Scan:
        """The searched files as they are now; synchronous, for any thread."""
        return scan(self._root, beside=self._writer.beside)

    def evicted_in(self, folder: Path) -> None:
        """Evicted results are in `folder` (absolute) from now on: those in it, and no other file,
        are searched as well, wherever it is."""
        name = self._relative(folder)
        self._writer.beside = "" if layer_of(f"{name}/x") == "evicted" else name

    # ------------------------------------------------------------------ life

    async def open(self) -> IndexState:
        """Open the index, or find that it has to be built; never fails, never waits for a build."""
        await self._writer.run(self._writer.open)
        return self.state

    async def close(self) -> None:
        """Stop what runs and close the index. A second call does nothing."""
        if self._writer.closed:
            return
        self._writer.closed = True
        async with self._passing:  # a pass sees that it is over, and leaves nothing half-built
            await self._reader.close()
            await self._writer.end()

    @property
    def state(self) -> IndexState:
        """What the index is doing, as last known (`check` compares with the disk)."""
        return self._writer.state

    async def check(self) -> IndexState:
        """The state, compared with the files on disk: `stale` says how many are behind."""
        writer = self._writer
        if self.state.state in ("building", "unavailable"):
            return self.state
        if await self._told(lambda store: store.astray(), False):
            async with self._passing:
                if not writer.closed:
                    async with self._reader.paused():
                        await writer.run(writer.open_again)
            return self.state
        found = await self._told(lambda store: behind(self.walk().marks, store.files()), None)
        if found is not None and self.state.state not in ("building", "unavailable"):
            writer.state = found.state(self.state.terms)
        return self.state

    async def tools(self) -> list[str]:
        """Names of the tools whose calls and results can be found, in order."""
        return await self._told(lambda store: sorted(set(store.names()) - ROLES - {""}), [])

    async def left_out(self) -> list[LeftOut]:
        """The files that cannot be found, as their text cannot be read, by path."""
        return await self._told(lambda store: store.left_out(), [])

    async def sound(self) -> bool:
        """Whether the index passes its integrity checks (slow: reads all of it)."""
        return await self._told(lambda store: store.check(), False)

    async def _told(self, read: Callable[[Store], T], none: T) -> T:
        """What the index tells of itself; `none` when it cannot be used."""
        try:
            return await self._writer.run(
                lambda: none if self._writer.store is None else read(self._writer.store)
            )
        except StorageError:
            return none

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
            if self._writer.closed:
                raise asyncio.CancelledError
            return await self._whole_pass(progress, rebuild=rebuild)

    async def _whole_pass(self, progress: Progress | None, *, rebuild: bool) -> Indexed:
        begun, before, writer = time.monotonic(), self.state, self._writer
        anew = rebuild or writer.store is None or before.state == "unavailable"
        held = 0 if anew else (await writer.run(writer.figures))[2]  # a harmed one has none
        beside = Building(self._path, str(self._root)) if anew else None
        try:
            if beside is not None:
                await writer.run(beside.begin)
            changed = await self._pass(beside and beside.store, progress)
            if beside is not None:
                await writer.tidy_up(beside.store, held=0)
                await self._swap(beside)
                changed += await self._pass(None, None)
            files, documents, terms = await writer.run(writer.figures)
        except BaseException:
            if beside is not None:
                await asyncio.shield(writer.run(beside.abandon))
            self._left_off(before)
            raise
        writer.state = IndexState("ready", files, files, terms=terms)
        if changed:
            await writer.tidy_up(None, held=terms if anew else held)
        return Indexed(files, documents, terms, changed, time.monotonic() - begun, anew)

    async def _swap(self, built: Building) -> None:
        """Put the new index in its place; no search runs until that is done, also when who asked
        for it goes away: one would open the old file beside the new one's log."""
        async with self._reader.paused():
            swapping = asyncio.ensure_future(self._writer.run(self._writer.swap, built))
            try:
                await asyncio.shield(swapping)
            finally:
                await asyncio.wait({swapping})

    def _left_off(self, before: IndexState) -> None:
        """A pass ended too early: the index in use is as good as it was, and `check` says more."""
        if self.state.state != "building":
            return
        if self._writer.store is None or before.state == "unavailable":
            self._writer.damaged(before.note or "The index has to be built anew.")
        else:
            self._writer.state = IndexState("stale", note="The index is behind the files.")

    async def _pass(self, store: Store | None, progress: Progress | None) -> int:
        """One walk over the workspace into `store` (the index in use when None); what changed."""
        writer = self._writer
        found = await writer.run(self.walk)
        known = await writer.run(writer.known, store)
        ground = Ground(known)
        gone = {path for path in known.keys() - found.marks.keys() if not is_version(path)}
        order = [*newest_first(found.marks), *sorted(gone)]
        large = unread(found.marks, known) > WORTH
        made = (batches_apart if large else batches)(
            self._root, order, known, now_ns=time.time_ns(), zone=self._zone, beside=writer.beside
        )
        if large:
            await writer.run(writer.gather, store)
        changed = done = 0
        self._tell(0, len(order), progress)
        async with aclosing(ahead(made)) as coming:
            async for batch in coming:
                if writer.closed:
                    raise asyncio.CancelledError
                changed += await writer.run(writer.put, batch, store, ground)
                done += batch.paths
                self._tell(done, len(order), progress)
        for path in sorted(ground.late):
            changed += await writer.run(writer.bring_up, path)
        return changed

    def _tell(self, done: int, total: int, progress: Progress | None) -> None:
        self._writer.state = IndexState("building", done, total, self.state.note)
        if progress is not None:
            progress(done, total)

    async def update(self, path: str | Path) -> bool:
        """Make the index hold one file as it is on disk; True when something changed.

        `path` is relative to the workspace or absolute. Without a usable index: False.
        """
        relative = self._relative(path)
        changed = await self._writer.run(self._writer.bring_up, relative)
        if relative == "MEMORY.md":
            await self._writer.run(self._writer.bring_up, HISTORY)
        return changed

    async def remove(self, path: str | Path) -> bool:
        """Drop one path from the index; False when it was not there."""
        return await self._writer.run(self._writer.drop, self._relative(path))

    async def index_from_string(self, path: str, text: str) -> int:
        """Index `text` as if `path` held it (the seed's call); how many lines it has.

        It stays until the path is updated or removed, or the workspace is indexed.
        """
        return await self._writer.run(self._writer.put_text, path, text)

    def _relative(self, path: str | Path) -> str:
        given = Path(path)
        if given.is_absolute():
            with suppress(ValueError):
                return given.relative_to(self._root).as_posix()
        return given.as_posix()

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
