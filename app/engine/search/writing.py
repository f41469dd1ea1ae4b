"""Putting pieces into the index: row ids, documents, terms.

Idea: a row id is the second of a document's moment, or the next free one; so newest-first is the
order of the table, a span of time is a range of ids, and the ids of neighbours lie so close that a
term's list of them is short. Many rows travel in one statement, as JSON, and terms as an array of
bytes (a tenth quicker): a thread that steps through them one by one would have to wait for Python's
lock at each.
Invariant: within one file, ids rise with the order of documents of the same second. Synchronous.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar, cast

import apsw
import msgspec

from app.engine.search.preparing import Piece
from app.engine.search.rows import EVICTED, Document

T = TypeVar("T")
STATEMENT = 500_000
"""Bytes of terms that travel in one statement."""
LATEST = 1 << 40
"""Seconds after the epoch beyond which no moment is believed."""

bound = msgspec.json.encode
"""A list as it is bound in a statement; `EACH` is what reads it there."""
EACH = "json_each(CAST(? AS TEXT))"
_DOCS = f"INSERT INTO docs SELECT {', '.join(f'value->>{n}' for n in range(11))} FROM {EACH}"
_DIGITS = 20
"""Digits of a row id in front of its terms: an array has one column only."""
_TERMS = (
    f"INSERT INTO terms(rowid, t) SELECT CAST(substr(value, 1, {_DIGITS}) AS INTEGER), "
    f"substr(value, {_DIGITS + 1}) FROM carray(?)"
)
_array = cast("Any", apsw).carray  # its types name some that are told from Python 3.12 on only


class Writing:
    """Writes into one database. All calls are within a transaction of the caller's."""

    def __init__(self, db: Any) -> None:
        self._db = db
        self._names: dict[str, int] = {"": 0}

    def forget_names(self) -> None:
        """After a transaction that failed: what it named is not there."""
        self._names = {"": 0}

    def add(self, found: Sequence[tuple[int, Piece]]) -> None:
        """Put the documents of pieces in, each with its file's id, and what they say of others."""
        for file, piece in found:
            self._mark(file, piece.marked)  # what is there; the piece's own documents know of it
        self._put(found)
        for file, piece in found:
            self._hide(file, piece.hidden)

    def _put(self, found: Sequence[tuple[int, Piece]]) -> None:
        ours = [
            (file, _moment(doc, piece), doc, terms)
            for file, piece in found
            for doc, terms in zip(piece.documents, piece.terms, strict=True)
        ]
        if not ours:
            return
        numbers = self._numbers([ms // 1000 for _, ms, _, _ in ours])
        met = {name for _, _, doc, _ in ours for name in (doc.role, doc.tool)}
        names = {name: self._name(name) for name in met}
        rows = [
            (
                number, file, doc.order, doc.line, doc.offset, doc.length, ms - number * 1000,
                doc.entry, names[doc.role], names[doc.tool], doc.flags,
            )
            for number, (file, ms, doc, _) in zip(numbers, ours, strict=True)
        ]  # fmt: skip
        for part in _parts(rows, lambda row: 100 + len(row[7])):
            self._db.execute(_DOCS, (bound(part),))
        # In rising order: otherwise the full-text table would begin a new segment at each step back
        terms = sorted(zip(numbers, (one[3] for one in ours), strict=True))
        for part in _parts(terms, lambda row: len(row[1])):
            numbered = tuple(b"%*d%b" % (_DIGITS, number, text) for number, text in part)
            self._db.execute(_TERMS, (_array(numbered),))

    def drop(self, files: list[int]) -> None:
        """Take all documents of these files out."""
        theirs = f"file IN (SELECT value FROM {EACH})"
        self._db.execute(
            f"DELETE FROM terms WHERE rowid IN (SELECT id FROM docs WHERE {theirs})",
            (bound(files),),
        )
        self._db.execute(f"DELETE FROM docs WHERE {theirs}", (bound(files),))

    # ------------------------------------------------------------------ row ids

    def _numbers(self, seconds: list[int]) -> list[int]:
        """A free row id for each second, or the next one behind it."""
        free = _Free()
        numbers = [free.take(second) for second in seconds]
        while taken := self._taken(numbers):
            for number in taken:
                if free.known(number):
                    continue
                free.skip(number, self._end_of_run(number))
            free.again()
            numbers = [free.take(second) for second in seconds]
        late = max((n - s for n, s in zip(numbers, seconds, strict=True)), default=0)
        self._db.execute("UPDATE meta SET value=max(value, ?) WHERE key='late'", (late,))
        return numbers

    def _taken(self, numbers: list[int]) -> list[int]:
        found = self._db.execute(
            "SELECT d.id FROM json_each(CAST(? AS TEXT)) e JOIN docs d ON d.id=e.value",
            (bound(numbers),),
        )
        return [number for (number,) in found]

    def _end_of_run(self, number: int) -> int:
        """The first free row id behind a row."""
        found = self._db.execute(
            "SELECT id+1 FROM docs d WHERE id>=? AND NOT EXISTS (SELECT 1 FROM docs WHERE "
            "id=d.id+1) ORDER BY id LIMIT 1",
            (number,),
        ).fetchone()
        return found[0]

    # ------------------------------------------------------------------ the rest

    def _name(self, name: str) -> int:
        """The number of a role or a tool."""
        if name not in self._names:
            self._db.execute("INSERT OR IGNORE INTO names(name) VALUES(?)", (name,))
            found = self._db.execute("SELECT id FROM names WHERE name=?", (name,)).fetchone()
            self._names[name] = found[0]
        return self._names[name]

    def _mark(self, file: int, entries: list[str]) -> None:
        if entries:
            self._db.execute(
                "UPDATE docs SET flags=flags|? WHERE file=? AND entry IN "
                f"(SELECT value FROM {EACH})",
                (EVICTED, file, bound(entries)),
            )

    def _hide(self, file: int, messages: Iterable[str]) -> None:
        """Take out what belongs to these messages: themselves, their calls and results."""
        for message in messages:
            found = self._db.execute(
                "SELECT id FROM docs WHERE file=? AND (entry=? OR substr(entry, 1, ?)=?)",
                (file, message, len(message) + 1, f"{message}:"),
            ).fetchall()
            numbers = bound([number for (number,) in found])
            for table, column in (("terms", "rowid"), ("docs", "id")):
                self._db.execute(
                    f"DELETE FROM {table} WHERE {column} IN (SELECT value FROM {EACH})",
                    (numbers,),
                )


class _Free:
    """Row ids that are still free, as far as is known: each taken one points behind itself."""

    def __init__(self) -> None:
        self._occupied: dict[int, int] = {}
        self._next: dict[int, int] = {}

    def take(self, number: int) -> int:
        """The first free id from `number` on; it is taken from now on."""
        passed: list[int] = []
        while number in self._next:
            passed.append(number)
            number = self._next[number]
        for one in passed:
            self._next[one] = number + 1
        self._next[number] = number + 1
        return number

    def known(self, number: int) -> bool:
        return number in self._occupied

    def skip(self, begin: int, end: int) -> None:
        """The ids from `begin` to before `end` are taken by others."""
        self._occupied |= dict.fromkeys(range(begin, end), end)

    def again(self) -> None:
        """Give back what was taken, but for what others have."""
        self._next = dict(self._occupied)


def _moment(doc: Document, piece: Piece) -> int:
    """A document's time in milliseconds; its file's where it has none."""
    if doc.when is not None:
        ms = int(doc.when.timestamp() * 1000)
    else:
        ms = piece.row.mtime_ns // 1_000_000 if piece.row else 0
    return min(max(ms, 0), LATEST * 1000)


def _parts(rows: list[T], size: Callable[[T], int]) -> Iterator[list[T]]:
    part: list[T] = []
    room = STATEMENT
    for row in rows:
        part.append(row)
        room -= size(row)
        if room < 0:
            yield part
            part, room = [], STATEMENT
    if part:
        yield part
