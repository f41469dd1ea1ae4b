"""The index file: one SQLite database, used by one thread at a time.

Idea: a row of `docs` says where a document stands; the contentless full-text table `terms` holds
its terms under the same row id; the text itself stays in the files. The row id is the document's
moment (milliseconds times 4096, plus a counter), so newest-first is the order of the table and a
span of time is a range of row ids.

Invariant: one path changes in one transaction; either all of its documents are there or none of
the new ones. Everything here can be rebuilt from the files. All of it is synchronous.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

import apsw

from app.engine.search.conditions import SLOTS, conditions
from app.engine.search.documents import EVICTED, Document, Marked
from app.engine.search.query import Filters
from app.engine.search.rows import FILE_COLUMNS, ROW_COLUMNS, FileRow, Posting, Row
from app.engine.search.terms import FENCE, STEM_MARK, index_text

SCHEMA = 1
COUNTED = 20_000
"""Documents that are counted, and among which is ranked, before an answer is called incomplete."""
POSTINGS = 4_000
"""Documents of one term that natural mode weighs; of a more frequent one, the newest."""

_TABLES = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE files(
  id INTEGER PRIMARY KEY, workspace TEXT NOT NULL, path TEXT NOT NULL, layer TEXT NOT NULL,
  session TEXT NOT NULL, size INTEGER, mtime_ns INTEGER, inode INTEGER, seen_ns INTEGER,
  crc INTEGER, offset INTEGER, line INTEGER, docs INTEGER, last REAL, text TEXT, problem TEXT,
  UNIQUE(workspace, path));
CREATE TABLE docs(
  id INTEGER PRIMARY KEY, file INTEGER NOT NULL, ord INTEGER NOT NULL, line INTEGER NOT NULL,
  offset INTEGER NOT NULL, length INTEGER NOT NULL, entry TEXT, role TEXT, tool TEXT,
  flags INTEGER NOT NULL);
CREATE INDEX docs_place ON docs(file, ord);
CREATE VIRTUAL TABLE terms USING fts5(
  t, content='', contentless_delete=1, tokenize='ascii');
"""


class Damaged(Exception):
    """The file is no index of this version: it has to be built anew."""


class Store:
    """One connection to an index file, for one workspace (rows of others are never seen)."""

    def __init__(self, path: Path, workspace: str, *, reading: bool = False) -> None:
        """Open `path`, making a new index where there is none. Raises `Damaged`."""
        self._workspace = workspace
        self._slots: dict[int, int] = {}
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

    def _prepare(self, reading: bool) -> None:
        self._db.set_busy_timeout(5_000)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=NORMAL")
        self._db.execute("PRAGMA mmap_size=268435456")
        tables = {name for (name,) in self._db.execute("SELECT name FROM sqlite_master")}
        if not tables and not reading:
            with self._db:
                for statement in filter(str.strip, _TABLES.split(";\n")):
                    self._db.execute(statement)
                self._db.execute("INSERT INTO meta VALUES('schema', ?)", (str(SCHEMA),))
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

    def together(self) -> AbstractContextManager[Any]:
        """Writes within become durable together; each file still changes whole or not at all."""
        return self._db

    def touch(self, row: FileRow) -> None:
        """Remember size, time and place of a file whose documents did not change."""
        with self._db:
            self._save(row)

    def remove(self, path: str) -> bool:
        """Drop a path and its documents; False when it was not there."""
        with self._db:
            found = self._file_id(path)
            if found is None:
                return False
            self._drop(found)
            self._db.execute("DELETE FROM files WHERE id=?", (found,))
        return True

    def write(
        self, row: FileRow, documents: Iterable[Document | Marked], moment_ms: int, *, append: bool
    ) -> int:
        """Put the documents of one file in, in one transaction; how many there were.

        `row` is read after the last document, so that its place may be filled in while they are
        made. `moment_ms` is for documents without a time. Without `append` the old ones go first.
        """
        count = 0
        self._slots.clear()
        with self._db:
            known = self._file_id(row.path)
            if known is None:
                self._save(row)
                known = self._file_id(row.path)
                assert known is not None
            elif not append:
                self._drop(known)
            for document in documents:
                if isinstance(document, Marked):
                    self._mark(known, document.entry)
                else:
                    self._insert(known, document, moment_ms)
                    count += 1
            self._save(row)
        return count

    def _insert(self, file: int, doc: Document, moment_ms: int) -> None:
        ms = moment_ms if doc.when is None else int(doc.when.timestamp() * 1000)
        number = self._number(min(max(ms, 0), 1 << 48))
        self._db.execute(
            "INSERT INTO docs VALUES(?,?,?,?,?,?,?,?,?,?)",
            (
                number, file, doc.order, doc.line, doc.offset, doc.length, doc.entry, doc.role,
                doc.tool, doc.flags,
            ),
        )  # fmt: skip
        self._db.execute("INSERT INTO terms(rowid, t) VALUES(?,?)", (number, index_text(doc.text)))

    def _number(self, ms: int) -> int:
        """The next free row id of a millisecond (or of a later one, when it is full)."""
        start = ms << SLOTS
        free = self._slots.get(ms)
        if free is None:
            found = self._db.execute(
                "SELECT max(id) FROM docs WHERE id>=? AND id<?", (start, (ms + 1) << SLOTS)
            ).fetchone()
            free = start if found is None or found[0] is None else found[0] + 1
        while self._taken(free, start):
            free = self._number(free >> SLOTS)
        self._slots[ms] = free + 1
        return free

    def _taken(self, free: int, start: int) -> bool:
        if free < start + (1 << SLOTS):
            return False
        return bool(self._db.execute("SELECT 1 FROM docs WHERE id=?", (free,)).fetchone())

    def _mark(self, file: int, entry: str) -> None:
        self._db.execute(
            "UPDATE docs SET flags=flags|? WHERE file=? AND entry=?", (EVICTED, file, entry)
        )

    def _drop(self, file: int) -> None:
        self._db.execute(
            "DELETE FROM terms WHERE rowid IN (SELECT id FROM docs WHERE file=?)", (file,)
        )
        self._db.execute("DELETE FROM docs WHERE file=?", (file,))

    def _save(self, row: FileRow) -> None:
        values = (
            self._workspace, row.path, row.layer, row.session, row.size, row.mtime_ns, row.inode,
            row.seen_ns, row.crc, row.offset, row.line, row.docs, row.last, row.text, row.problem,
        )  # fmt: skip
        marks = ",".join("?" * len(values))
        columns = f"workspace, {FILE_COLUMNS}"
        sets = ", ".join(f"{name}=excluded.{name}" for name in FILE_COLUMNS.split(", "))
        self._db.execute(
            f"INSERT INTO files({columns}) VALUES({marks}) "
            f"ON CONFLICT(workspace, path) DO UPDATE SET {sets}",
            values,
        )

    def _file_id(self, path: str) -> int | None:
        found = self._db.execute(
            "SELECT id FROM files WHERE workspace=? AND path=?", (self._workspace, path)
        ).fetchone()
        return None if found is None else found[0]

    # ------------------------------------------------------------------ finding

    def find(
        self, expression: str, without: str, filters: Filters, *, limit: int, newest: bool,
        start: int = 0,
    ) -> list[Row]:  # fmt: skip
        """Documents that match, best or newest first, without the first `start` of them. An empty
        expression means all, newest first.

        Ranking looks at the newest `COUNTED` matches only, so that a word of every line costs no
        more than a rare one.
        """
        where, values = conditions(self._workspace, expression, without, filters)
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
        where, values = conditions(self._workspace, expression, without, filters)
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
        self, expression: str, without: str, filters: Filters
    ) -> tuple[list[Posting], int]:
        """The newest documents that match one expression, and how many match (both bounded)."""
        where, values = conditions(self._workspace, expression, without, filters)
        sql = (
            "SELECT d.file, d.ord, d.flags, t.rank FROM terms t JOIN docs d ON d.id=t.rowid "
            f"CROSS JOIN files f ON f.id=d.file WHERE {' AND '.join(where)} "
            "ORDER BY t.rowid DESC LIMIT ?"
        )
        found = [Posting(*row) for row in self._db.execute(sql, (*values, POSTINGS))]
        if len(found) < POSTINGS:
            return found, len(found)
        counted = self._db.execute(
            "SELECT count(*) FROM (SELECT 1 FROM terms WHERE terms MATCH ? LIMIT ?)",
            (expression, COUNTED),
        ).fetchone()
        return found, counted[0]

    def near(self, places: Iterable[tuple[int, int]], filters: Filters) -> Iterator[Row]:
        """The documents at these (file, order) places that pass the filters."""
        where, values = conditions(self._workspace, "", "", filters)
        sql = (
            f"SELECT {ROW_COLUMNS}, 0.0 FROM docs d CROSS JOIN files f ON f.id=d.file "
            f"WHERE d.file=? AND d.ord=? AND {' AND '.join(where)}"
        )
        for place in places:
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
        """Words (no stems) of the vocabulary that begin so, by length in characters, in order."""
        found = self._vocabulary(
            "SELECT term FROM temp.vocabulary WHERE term>=? AND term<? "
            "AND length(term) BETWEEN ? AND ? LIMIT ?",
            (beginning, beginning + "\U0010ffff", shortest, longest, most),
        )
        return [term for (term,) in found if term[0] not in (FENCE, STEM_MARK)]

    def documents_with(self, words: Iterable[str]) -> dict[str, int]:
        """In how many documents each word or stem stands; those removed lately still count."""
        counts: dict[str, int] = {}
        for word in words:
            found = self._vocabulary(
                "SELECT sum(doc) FROM temp.vocabulary WHERE term IN (?, ?)",
                (word, STEM_MARK + word),
            )
            counts[word] = found[0][0] or 0
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

    def totals(self) -> tuple[int, int]:
        """Files and documents of this workspace."""
        found = self._db.execute(
            "SELECT count(*), coalesce(sum(docs), 0) FROM files WHERE workspace=?",
            (self._workspace,),
        ).fetchone()
        return found or (0, 0)
