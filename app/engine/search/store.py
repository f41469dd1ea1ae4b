"""The index file: one SQLite database, used by one thread at a time.

Idea: a row of `docs` says where a document stands; the contentless full-text table `terms` holds
its terms under the same row id (see `writing.py`); the text itself stays in the files, but for what
stands in none (`files.text`).

Invariant: one piece of a path changes in one transaction; either all of its documents are there or
none of the new ones. Everything here can be rebuilt from the files. All of it is synchronous. What
is asked of it stands in `finding.py`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import apsw
from msgspec.structs import astuple

from app.engine.search.finding import Finding
from app.engine.search.past import HISTORY
from app.engine.search.preparing import Piece
from app.engine.search.rows import FILE_COLUMNS, FileRow
from app.engine.search.writing import EACH, Writing, bound

SCHEMA = 3
HASH_BYTES = 8_000_000
"""Bytes of new terms FTS5 gathers in memory before it writes them out."""
BUSY_SECONDS = 5.0
"""How long one waits for another program that writes into the file."""
MERGE_PAGES = 2_000
"""Pages that are merged at a time while the index is tidied up."""
PARTS, PARTS_OF_PASS = 16, 1_000
"""Parts of the full-text table that gather before a write merges them; while a pass goes on, which
merges at its end. (SQLite refuses 2,000.)"""
PAGES, PAGES_OF_PASS = 1_000, 4_000
"""Pages of 4 kB that gather in the write-ahead log before they go into the database; while a pass
goes on, which then has them there less often, and waits for the disk less."""

_TABLES = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE names(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE files(
  id INTEGER PRIMARY KEY, workspace TEXT NOT NULL, path TEXT NOT NULL, layer TEXT NOT NULL,
  session TEXT NOT NULL, size INTEGER, mtime_ns INTEGER, inode INTEGER, seen_ns INTEGER,
  crc INTEGER, offset INTEGER, line INTEGER, docs INTEGER, terms INTEGER, last REAL, text TEXT,
  hidden TEXT, problem TEXT, UNIQUE(workspace, path));
CREATE TABLE docs(
  id INTEGER PRIMARY KEY, file INTEGER NOT NULL, ord INTEGER NOT NULL, line INTEGER NOT NULL,
  offset INTEGER NOT NULL, length INTEGER NOT NULL, part INTEGER NOT NULL, entry TEXT,
  role INTEGER NOT NULL, tool INTEGER NOT NULL, flags INTEGER NOT NULL);
CREATE INDEX docs_place ON docs(file, ord);
CREATE VIRTUAL TABLE terms USING fts5(
  t, content='', contentless_delete=1, tokenize='ascii');
INSERT INTO names VALUES(0, '');
INSERT INTO meta VALUES('late', 0);
"""


Standing = Callable[[Sequence[Piece], Callable[[str], "FileRow | None"]], Sequence[Piece]]


class Damaged(Exception):
    """The file is no index of this version: it has to be built anew."""


class Store(Finding):
    """One connection to an index file, for one workspace (rows of others are never seen)."""

    def __init__(self, path: Path, workspace: str, *, reading: bool = False) -> None:
        """Open `path`, making a new index where there is none. Raises `Damaged`."""
        flags = apsw.SQLITE_OPEN_READWRITE | (0 if reading else apsw.SQLITE_OPEN_CREATE)
        try:
            super().__init__(apsw.Connection(str(path), flags=flags), workspace)
        except apsw.Error as error:
            raise Damaged(str(error)) from error
        try:
            self._when_free(lambda: self._prepare(reading))
        except (apsw.Error, Damaged) as error:
            self._db.close(True)
            raise Damaged(str(error)) from error
        self._writing = Writing(self._db)
        self._path, self._opened = path, _identity(path)

    def _when_free(self, work: Callable[[], None]) -> None:
        """Do `work`, again while another program has the file: who changes how a journal is kept,
        or closes the last connection, is not waited for by SQLite itself."""
        end = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                return work()
            except apsw.BusyError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.01)

    def _prepare(self, reading: bool) -> None:
        self._db.set_busy_timeout(int(BUSY_SECONDS * 1000))
        if not reading:
            self._db.execute("PRAGMA auto_vacuum=INCREMENTAL")  # of a file that is still empty
            self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=NORMAL")
        # Not `mmap_size`: a file that another program cuts short would end this one by SIGBUS.
        self._db.execute(f"PRAGMA journal_size_limit={4 * PAGES * 1024}").fetchall()
        self._db.execute(
            "PRAGMA secure_delete=FAST"
        )  # `files.text` may have held what was forgotten
        if not reading and self._is_empty():
            self._make_tables()
        if reading:
            self._db.set_progress_handler(self._stopping, 1_000)
        found = self._db.execute("SELECT value FROM meta WHERE key='schema'").fetchone()
        if found is None or found[0] != str(SCHEMA):
            raise Damaged("another version of the index")
        self._db.execute("SELECT count(*) FROM terms WHERE terms MATCH 'a'").fetchall()

    def _is_empty(self) -> bool:
        return self._db.execute("SELECT 1 FROM sqlite_master").fetchone() is None

    def _make_tables(self) -> None:
        """All tables at once, unless another program made them while we waited for our turn."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            if self._is_empty():
                for statement in filter(str.strip, _TABLES.split(";\n")):
                    self._db.execute(statement)
                self._db.execute("INSERT INTO meta VALUES('schema', ?)", (str(SCHEMA),))
                for name, value in (("hashsize", HASH_BYTES), ("automerge", 0)):
                    self._db.execute("INSERT INTO terms(terms, rank) VALUES(?, ?)", (name, value))
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def astray(self) -> bool:
        """Whether its file is no longer at its path: it was deleted, or another took its place."""
        return _identity(self._path) != self._opened

    def close(self, *, single_file: bool = False) -> None:
        """Close; with `single_file` fold the write-ahead log into the database first."""
        if single_file:
            with suppress(apsw.Error):
                self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                self._db.execute("PRAGMA journal_mode=DELETE").fetchall()
        self._db.close(True)

    # ------------------------------------------------------------------ files

    def file(self, path: str) -> FileRow | None:
        """What is known of `path` (relative to the workspace)."""
        found = self._db.execute(
            f"SELECT {FILE_COLUMNS} FROM files WHERE workspace=? AND path=?",
            (self._workspace, path),
        ).fetchone()
        return None if found is None else FileRow(*found)

    def files(self) -> list[FileRow]:
        """All files of this workspace that are indexed."""
        found = self._db.execute(
            f"SELECT {FILE_COLUMNS} FROM files WHERE workspace=?", (self._workspace,)
        )
        return [FileRow(*row) for row in found]

    def known(self, path: str) -> dict[str, FileRow]:
        """The rows that matter for `path`: its own, of all versions those of each."""
        if path == HISTORY:
            return {row.path: row for row in self.files() if row.layer == "history"}
        row = self.file(path)
        return {} if row is None else {path: row}

    def remove(self, path: str) -> bool:
        """Drop a path and its documents; False when it was not there."""
        return self.put([Piece(path)]) > 0

    def put(self, pieces: Sequence[Piece], standing: Standing = lambda pieces, _: pieces) -> int:
        """Make pieces durable, all of them together; how many changed something.

        `standing` says which of them are still to be put, once nobody else can write.
        """
        # Not `with self._db`: its end commits while holding Python's lock, 0.2 s and more.
        self._db.execute("BEGIN IMMEDIATE")
        try:
            changed = self._put(standing(pieces, self.file))
            self._db.execute("COMMIT")
        except BaseException:
            self._writing.forget_names()
            with suppress(apsw.Error):
                self._db.execute("ROLLBACK")
            raise
        return changed

    def _put(self, pieces: Sequence[Piece]) -> int:
        # A few statements for all: at each one a thread waits for its turn to run Python.
        known = self._ids(piece.path for piece in pieces)
        old = [known[p.path] for p in pieces if p.path in known and (p.fresh or p.row is None)]
        if old:
            self._writing.drop(old)
        gone = [known[p.path] for p in pieces if p.path in known and p.row is None]
        if gone:
            self._db.execute(
                f"DELETE FROM files WHERE id IN (SELECT value FROM {EACH})", (bound(gone),)
            )
        rows = {piece.path: piece.row for piece in pieces if piece.row is not None}
        self._save(list(rows.values()))
        ids = self._ids(rows)
        self._writing.add([(ids[p.path], p) for p in pieces if p.row is not None])
        return len(gone) + sum(p.changed for p in pieces if p.row is not None)

    def _save(self, rows: list[FileRow]) -> None:
        names = FILE_COLUMNS.split(", ")
        values = ", ".join(f"value->>{n}" for n in range(len(names)))
        sets = ", ".join(f"{name}=excluded.{name}" for name in names)
        self._db.execute(
            f"INSERT INTO files(workspace, {FILE_COLUMNS}) SELECT ?, {values} FROM {EACH} WHERE 1 "
            f"ON CONFLICT(workspace, path) DO UPDATE SET {sets}",
            (self._workspace, bound([astuple(row) for row in rows])),
        )

    def _ids(self, paths: Iterable[str]) -> dict[str, int]:
        """The ids of those of `paths` that are known."""
        found = self._db.execute(
            f"SELECT path, id FROM files WHERE workspace=? AND path IN (SELECT value FROM {EACH})",
            (self._workspace, bound(list(paths))),
        )
        return dict(found.fetchall())

    # ------------------------------------------------------------------ health

    def check(self) -> bool:
        """Whether the database and the full-text table are sound (slow: reads everything)."""
        try:
            self._db.execute("INSERT INTO terms(terms) VALUES('integrity-check')")
            return self._db.execute("PRAGMA quick_check").fetchall() == [("ok",)]
        except apsw.Error:
            return False

    def names(self) -> list[str]:
        """The roles and the tools that documents were ever given, in no order."""
        return [name for (name,) in self._db.execute("SELECT name FROM names")]

    def totals(self) -> tuple[int, int]:
        """Files and documents of this workspace."""
        return self.figures()[:2]

    def figures(self) -> tuple[int, int, int]:
        """Files, documents and terms of this workspace (versions and proposals are no files)."""
        found = self._db.execute(
            "SELECT coalesce(sum(layer<>'history'), 0), coalesce(sum(docs), 0), "
            "coalesce(sum(terms), 0) FROM files WHERE workspace=?",
            (self._workspace,),
        ).fetchone()
        return found[0], found[1], found[2]

    def gather(self, *, passing: bool) -> None:
        """How much gathers before a write tidies it up: more while a pass goes on."""
        parts, pages = (PARTS_OF_PASS, PAGES_OF_PASS) if passing else (PARTS, PAGES)
        self._db.execute("INSERT INTO terms(terms, rank) VALUES('crisismerge', ?)", (parts,))
        self._db.execute(f"PRAGMA wal_autocheckpoint={pages}").fetchall()

    def tidy(self, *, anew: bool) -> bool:
        """Merge some of what was written in parts, then give back room; whether more is to do.

        `anew` asks for all of it to become one part, in as many steps as that takes.
        """
        before = self._db.total_changes()
        pages = -MERGE_PAGES if anew else MERGE_PAGES
        self._db.execute("INSERT INTO terms(terms, rank) VALUES('merge', ?)", (pages,))
        if self._db.total_changes() - before >= 2:
            return True
        free = self._db.execute("PRAGMA freelist_count").fetchone()[0]
        self._db.execute(f"PRAGMA incremental_vacuum({2 * MERGE_PAGES})").fetchall()
        return free > 2 * MERGE_PAGES


def _identity(path: Path) -> tuple[int, int] | None:
    """What tells the file at `path` from another that comes to stand there; None without one."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_dev, stat.st_ino
