"""The index file: one SQLite database, used by one thread at a time.

Idea: a row of `docs` says where a document stands; the contentless full-text table `terms` holds
its terms under the same row id (see `writing.py`); the text itself stays in the files, but for what
stands in none (`files.text`).

Invariant: one piece of a path changes in one transaction; either all of its documents are there or
none of the new ones. Everything here can be rebuilt from the files. All of it is synchronous.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import apsw
from msgspec.structs import astuple

from app.engine.search.conditions import conditions
from app.engine.search.past import HISTORY
from app.engine.search.preparing import Piece
from app.engine.search.query import Filters
from app.engine.search.rows import FILE_COLUMNS, ROW_COLUMNS, FileRow, Posting, Row
from app.engine.search.terms import FENCE, STEM_MARK
from app.engine.search.writing import EACH, Writing, bound

SCHEMA = 3
COUNTED = 10_000
"""Documents that are counted, and among which is ranked, before an answer is called incomplete."""
POSTINGS = 4_000
"""Documents of one term that natural mode weighs; of a more frequent one, the newest."""
ALL_POSTINGS = 24_000
"""The same of all terms of a question, about."""

LOOKED_UP = 4
"""Words that are counted before one looks whether to stop."""
HASH_BYTES = 8_000_000
"""Bytes of new terms FTS5 gathers in memory before it writes them out."""
MERGE_PAGES = 2_000
"""Pages that are merged at a time while the index is tidied up."""

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


class Damaged(Exception):
    """The file is no index of this version: it has to be built anew."""


class Store:
    """One connection to an index file, for one workspace (rows of others are never seen)."""

    def __init__(self, path: Path, workspace: str, *, reading: bool = False) -> None:
        """Open `path`, making a new index where there is none. Raises `Damaged`."""
        self._workspace = workspace
        self._halt: Callable[[], bool] | None = None
        flags = apsw.SQLITE_OPEN_READWRITE | (0 if reading else apsw.SQLITE_OPEN_CREATE)
        try:
            # apsw types a value as bytes, numbers or text; which it is, the statement says.
            self._db: Any = apsw.Connection(str(path), flags=flags)
        except apsw.Error as error:
            raise Damaged(str(error)) from error
        try:
            self._prepare(reading)
        except (apsw.Error, Damaged) as error:
            self._db.close(True)
            raise Damaged(str(error)) from error
        self._writing = Writing(self._db)

    def _prepare(self, reading: bool) -> None:
        self._db.set_busy_timeout(5_000)
        tables = {name for (name,) in self._db.execute("SELECT name FROM sqlite_master")}
        if not tables and not reading:
            self._db.execute("PRAGMA auto_vacuum=INCREMENTAL")
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=NORMAL")
        self._db.execute("PRAGMA mmap_size=268435456")
        self._db.execute(
            "PRAGMA secure_delete=FAST"
        )  # `files.text` may have held what was forgotten
        if not tables and not reading:
            with self._db:
                for statement in filter(str.strip, _TABLES.split(";\n")):
                    self._db.execute(statement)
                self._db.execute("INSERT INTO meta VALUES('schema', ?)", (str(SCHEMA),))
                for name, value in (("hashsize", HASH_BYTES), ("automerge", 0)):
                    self._db.execute("INSERT INTO terms(terms, rank) VALUES(?, ?)", (name, value))
        if reading:
            self._db.set_progress_handler(self._stopping, 1_000)
        found = self._db.execute("SELECT value FROM meta WHERE key='schema'").fetchone()
        if found is None or found[0] != str(SCHEMA):
            raise Damaged("another version of the index")
        self._db.execute("SELECT count(*) FROM terms WHERE terms MATCH 'a'").fetchall()

    def close(self, *, single_file: bool = False) -> None:
        """Close; with `single_file` fold the write-ahead log into the database first."""
        if single_file:
            with suppress(apsw.Error):
                self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                self._db.execute("PRAGMA journal_mode=DELETE").fetchall()
        self._db.close(True)

    # ------------------------------------------------------------------ stopping

    def stop_when(self, halt: Callable[[], bool] | None) -> None:
        """From now on a statement ends with `apsw.InterruptError` once `halt()` is true."""
        self._halt = halt

    def _stopping(self) -> bool:
        return self._halt is not None and self._halt()

    def interrupt(self) -> None:
        """End the statement that runs now; safe from any thread."""
        with suppress(apsw.Error):
            self._db.interrupt()

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

    def put(self, pieces: Sequence[Piece]) -> int:
        """Make pieces durable, all of them together; how many changed something."""
        # Not `with self._db`: its end commits while holding Python's lock, 0.2 s and more.
        self._db.execute("BEGIN IMMEDIATE")
        try:
            changed = self._put(pieces)
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

    # ------------------------------------------------------------------ finding

    def _where(self, match: str, without: str, filters: Filters) -> tuple[list[str], list[Any]]:
        found = self._db.execute("SELECT value FROM meta WHERE key='late'").fetchone()
        return conditions(self._workspace, match, without, filters, found[0])

    def find(
        self, expression: str, without: str, filters: Filters, *, limit: int, newest: bool,
        start: int = 0,
    ) -> list[Row]:  # fmt: skip
        """Documents that match, best or newest first, without the first `start` of them. An empty
        expression means all, newest first.

        Ranking looks at the newest `COUNTED` matches only, so that a word of every line costs no
        more than a rare one.
        """
        where, values = self._where(expression, without, filters)
        rank = "t.rank" if expression and not newest else "0.0"
        source = "docs d"
        if expression:
            source = "terms t JOIN docs d ON d.id=t.rowid"
            if not newest:
                floor = self._floor(expression)
                if floor:
                    where.append("t.rowid>=?")
                    values.append(floor)
        order = "t.rank, d.id DESC" if expression and not newest else "d.id DESC"
        if expression and newest:
            order = "t.rowid DESC"
        sql = (
            f"SELECT {ROW_COLUMNS}, {rank} FROM {source} CROSS JOIN files f ON f.id=d.file "
            f"WHERE {' AND '.join(where)} ORDER BY {order} LIMIT ? OFFSET ?"
        )
        return [Row(*row) for row in self._db.execute(sql, (*values, limit, start))]

    def count(self, expression: str, without: str, filters: Filters) -> tuple[dict[str, int], bool]:
        """Matches per layer, and whether all were counted."""
        where, values = self._where(expression, without, filters)
        source = "terms t JOIN docs d ON d.id=t.rowid" if expression else "docs d"
        order = "t.rowid" if expression else "d.id"
        sql = (
            "SELECT layer, count(*) FROM (SELECT f.layer AS layer "
            f"FROM {source} CROSS JOIN files f ON f.id=d.file "
            f"WHERE {' AND '.join(where)} ORDER BY {order} DESC LIMIT ?) GROUP BY layer"
        )
        counts: dict[str, int] = dict(self._db.execute(sql, (*values, COUNTED)).fetchall())
        return counts, sum(counts.values()) < COUNTED

    def postings(
        self, expression: str, without: str, filters: Filters, most: int = POSTINGS
    ) -> tuple[list[Posting], int]:
        """The `most` newest documents that match one expression, and how many match (bounded)."""
        where, values = self._where(expression, without, filters)
        sql = (
            "SELECT d.file, d.ord, d.flags FROM terms t JOIN docs d ON d.id=t.rowid "
            f"CROSS JOIN files f ON f.id=d.file WHERE {' AND '.join(where)} "
            "ORDER BY t.rowid DESC LIMIT ?"
        )
        found = [Posting(*row) for row in self._db.execute(sql, (*values, most))]
        if len(found) < most:
            return found, len(found)
        counted = self._db.execute(
            "SELECT count(*) FROM (SELECT 1 FROM terms WHERE terms MATCH ? LIMIT ?)",
            (expression, COUNTED),
        ).fetchone()
        return found, counted[0]

    def near(self, places: Iterable[tuple[int, int]], filters: Filters) -> Iterator[Row]:
        """The documents at these (file, order) places that pass the filters."""
        where, values = self._where("", "", filters)
        sql = (
            f"SELECT {ROW_COLUMNS}, 0.0 FROM docs d CROSS JOIN files f ON f.id=d.file "
            f"WHERE d.file=? AND d.ord=? AND {' AND '.join(where)}"
        )
        for place in places:
            if self._stopping():
                raise apsw.InterruptError
            for row in self._db.execute(sql, (*place, *values)):
                yield Row(*row)

    def session_files(self) -> frozenset[int]:
        """The ids of files in which neighbours belong together."""
        return frozenset(
            number for (number,) in self._db.execute("SELECT id FROM files WHERE layer='sessions'")
        )

    def _floor(self, expression: str) -> int:
        found = self._db.execute(
            "SELECT rowid FROM terms WHERE terms MATCH ? ORDER BY rowid DESC LIMIT 1 OFFSET ?",
            (expression, COUNTED),
        ).fetchone()
        return 0 if found is None else found[0]

    def unread(self) -> int:
        """How many files are known, but left out as their text cannot be read."""
        return self._db.execute(
            "SELECT count(*) FROM files WHERE workspace=? AND problem<>''", (self._workspace,)
        ).fetchone()[0]

    # ------------------------------------------------------------------ vocabulary

    def spelled(self, beginning: str, shortest: int, longest: int, most: int) -> list[str]:
        """Words (no stems) that begin so, by length in characters; among the first `most`."""
        end = beginning + "\U0010ffff" if beginning else FENCE
        found = self._vocabulary(
            "SELECT term FROM (SELECT term FROM temp.vocabulary WHERE term>=? AND term<? LIMIT ?) "
            "WHERE length(term) BETWEEN ? AND ?",
            (beginning, end, most, shortest, longest),
        )
        return [term for (term,) in found if term[0] not in (FENCE, STEM_MARK)]

    def documents_with(self, words: Iterable[str]) -> dict[str, int]:
        """In how many documents each word or stem stands."""
        counts = dict.fromkeys(words, 0)
        asked = [*counts, *(STEM_MARK + word for word in counts)]
        for at in range(0, len(asked), LOOKED_UP):
            if self._stopping():  # SQLite does not ask while it counts one word
                raise apsw.InterruptError
            some = tuple(asked[at : at + LOOKED_UP])
            marks = ",".join("?" * len(some))
            found = self._vocabulary(
                f"SELECT term, doc FROM temp.vocabulary WHERE term IN ({marks})", some
            )
            for term, documents in found:
                counts[term.removeprefix(STEM_MARK)] += documents
        return counts

    def _vocabulary(self, sql: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        self._db.execute(
            "CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary USING fts5vocab(main, terms, row)"
        )
        return self._db.execute(sql, values).fetchall()

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
