"""The asking half of an index file: which documents match, in what order, and how many.

Idea: a word may stand in every line, so a question looks at the newest of its documents, as many as
a person waits for, and at all of them only when its filters let few of those pass. Synchronous; a
statement ends with `apsw.InterruptError` once nobody waits any more.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import apsw
from msgspec import Struct, json

from app.engine.records import LeftOut
from app.engine.search.bm25 import Measure, Standing
from app.engine.search.conditions import conditions, within
from app.engine.search.query import Filters, any_form
from app.engine.search.rows import ROW_COLUMNS, Posting, Row
from app.engine.search.terms import FENCE, STEM_MARK, fold
from app.engine.search.writing import EACH, bound

COUNTED, FEW = 2_500, 30
"""Documents with the words that are looked at, newest first, before an answer is called incomplete;
when only a few of them pass the filters, the older ones are, until `RANKED` pass."""
RANKED = 400
"""Documents that are put in order by how well they match; of more, the newest."""
FREQUENT, SAMPLE = 1_000, 10_000
"""Documents of a phrase that are counted to know how rare it is; of one that stands in more, its
share of so many of the newest tells."""
POSTINGS = 4_000
"""Documents of one term that natural mode weighs; of a more frequent one, the newest."""
ALL_POSTINGS = 24_000
"""The same of all terms of a question, about."""
_LAST_SIGN = "\U0010ffff"
_PHRASE = re.compile(r'"[^"]*"\*?')


class Ranked(Struct, frozen=True):
    """Scores and row ids, best first; matches per layer, and whether all were counted; the row id
    below which further, older matches were not put in order (0 when there are none)."""

    best: list[tuple[float, int]]
    counts: dict[str, int]
    complete: bool
    floor: int


def _matching(expression: str) -> tuple[str, str]:
    """Where documents that match come from, and what their row id is called there."""
    if not expression:
        return "docs d", "d.id"
    return "terms t JOIN docs d ON d.id=t.rowid", "t.rowid"


def less(counts: dict[str, int], lost: dict[str, int]) -> dict[str, int]:
    """Counts without the documents that turned out to be gone."""
    left = {layer: number - lost.get(layer, 0) for layer, number in counts.items()}
    return {layer: number for layer, number in left.items() if number > 0}


class Finding:
    """Asks one connection about one workspace (documents of others are never seen)."""

    def __init__(self, db: apsw.Connection, workspace: str) -> None:
        # apsw types a value as bytes, numbers or text; which it is, the statement says.
        self._db: Any = db
        self._measure = Measure(db)
        self._db.create_scalar_function("folded", fold, 1, deterministic=True)
        self._workspace = workspace
        self._halt: Callable[[], bool] | None = None

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

    # ------------------------------------------------------------------ finding

    def _where(self, match: str, without: str, filters: Filters) -> tuple[list[str], list[Any]]:
        found = self._db.execute("SELECT value FROM meta WHERE key='late'").fetchone()
        return conditions(self._workspace, match, without, filters, found[0])

    def find(
        self, expression: str, without: str, filters: Filters, *, limit: int, start: int = 0,
        below: int = 0,
    ) -> list[Row]:  # fmt: skip
        """Documents that match, newest first, without the first `start` of them; with `below` only
        those with a smaller row id. An empty expression means all."""
        where, values = self._where(expression, without, filters)
        source, number = _matching(expression)
        if below:
            where.append(f"{number}<?")
            values.append(below)
        sql = (
            f"SELECT {ROW_COLUMNS} FROM {source} CROSS JOIN files f ON f.id=d.file "
            f"WHERE {' AND '.join(where)} ORDER BY {number} DESC LIMIT ? OFFSET ?"
        )
        return [Row(*row) for row in self._db.execute(sql, (*values, limit, start))]

    def ranked(self, expression: str, without: str, filters: Filters) -> Ranked:
        """The newest `RANKED` documents that match, best first, and how many match.

        One walk over the matches, newest first and bounded, so that a word of every line costs
        little more than a rare one.
        """
        self._measure.take(self._standing(expression))
        lowest = self._lowest(expression, filters)
        found = self._newest(expression, without, filters, lowest)
        few = bool(lowest) and len(found) < FEW
        if few:
            lowest = 0
            found = self._newest(expression, without, filters, lowest)
        last = found[-1][1] if len(found) == RANKED else 0
        counts = Counter(layer for _, _, layer in found)
        if last and not few:  # of what hardly ever passes the filters, the rest may be far away
            further, _ = self.count(
                expression, without, filters, below=last, lowest=lowest, most=COUNTED - RANKED
            )
            counts.update(further)
        complete = not lowest and counts.total() < (RANKED if few else COUNTED)
        found.sort(reverse=True)
        best = [(score, number) for score, number, _ in found]
        return Ranked(best, dict(counts), complete, last or lowest)

    def _standing(self, expression: str) -> list[Standing]:
        """Where each phrase of an expression stands, in their order. Nothing of a single one."""
        phrases: list[str] = _PHRASE.findall(expression)
        if len(phrases) == 1:
            return []
        counts = [self._counted(phrase, FREQUENT) for phrase in phrases]
        newest = "SELECT id FROM docs ORDER BY id DESC LIMIT 1 OFFSET ?"
        frequent = FREQUENT in counts
        begin = self._db.execute(newest, (SAMPLE - 1,)).fetchone() if frequent else None
        return [
            self._frequent(phrase, begin) if count == FREQUENT else Standing(count)
            for phrase, count in zip(phrases, counts, strict=True)
        ]

    def _frequent(self, phrase: str, begin: tuple[int] | None) -> Standing:
        """Where a frequent phrase stands, by the `SAMPLE` documents from row id `begin`; by all
        when there are no more."""
        sql = "SELECT count(*) FROM terms WHERE terms MATCH ? AND rowid>=?"
        count = self._db.execute(sql, (phrase, begin[0] if begin else 0)).fetchone()[0]
        return Standing(FREQUENT, count / SAMPLE) if begin else Standing(count)

    def _lowest(self, expression: str, filters: Filters) -> int:
        """The row id down to which filters are held against matches; 0 for all of them."""
        if not filters:
            return 0
        late = self._db.execute("SELECT value FROM meta WHERE key='late'").fetchone()[0]
        where, values = within(filters, "rowid", late)
        found = self._db.execute(
            f"SELECT rowid FROM terms WHERE {' AND '.join(['terms MATCH ?', *where])} "
            "ORDER BY rowid DESC LIMIT 1 OFFSET ?",
            (expression, *values, COUNTED),
        ).fetchone()
        return 0 if found is None else found[0]

    def _newest(
        self, expression: str, without: str, filters: Filters, lowest: int
    ) -> list[tuple[float, int, str]]:
        """(score, row id, layer) of the newest matches."""
        where, values = self._where(expression, without, filters)
        sql = (
            "SELECT measured(t.terms), t.rowid, f.layer FROM terms t JOIN docs d ON d.id=t.rowid "
            f"CROSS JOIN files f ON f.id=d.file WHERE {' AND '.join(where)} AND t.rowid>=? "
            "ORDER BY t.rowid DESC LIMIT ?"
        )
        return self._db.execute(sql, (*values, lowest, RANKED)).fetchall()

    def rows(self, numbers: Sequence[int]) -> list[Row]:
        """The documents with these row ids, in that order."""
        sql = (
            f"SELECT {ROW_COLUMNS} FROM {EACH} e CROSS JOIN docs d ON d.id=e.value "
            "CROSS JOIN files f ON f.id=d.file"
        )
        found = {row[0]: Row(*row) for row in self._db.execute(sql, (bound(list(numbers)),))}
        return [found[number] for number in numbers if number in found]

    def count(
        self, expression: str, without: str, filters: Filters, *, lowest: int = 0, below: int = 0,
        most: int = COUNTED,
    ) -> tuple[dict[str, int], bool]:  # fmt: skip
        """Matches per layer, `most` at most, and whether all were counted. Their row ids are at
        least `lowest`, and smaller than `below`, when that is not 0."""
        where, values = self._where(expression, without, filters)
        source, number = _matching(expression)
        if below:
            where.append(f"{number}<? AND {number}>=?")
            values += [below, lowest]
        sql = (  # one row, and none sorted: both would take longer than counting
            f"SELECT json_group_array(layer) FROM (SELECT f.layer AS layer FROM {source} "
            f"CROSS JOIN files f ON f.id=d.file WHERE {' AND '.join(where)} "
            f"ORDER BY {number} DESC LIMIT ?)"
        )
        layers: list[str] = json.decode(self._db.execute(sql, (*values, most)).fetchone()[0])
        return dict(Counter(layers)), len(layers) < most

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
        return found, self._counted(expression)

    def near(self, places: Iterable[tuple[int, int]], filters: Filters) -> Iterator[Row]:
        """The documents at these (file, order) places that pass the filters."""
        where, values = self._where("", "", filters)
        sql = (
            f"SELECT {ROW_COLUMNS} FROM docs d CROSS JOIN files f ON f.id=d.file "
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

    def left_out(self) -> list[LeftOut]:
        """The files that are known, but whose text cannot be read, by path."""
        found = self._db.execute(
            "SELECT path, problem FROM files WHERE workspace=? AND problem<>'' ORDER BY path",
            (self._workspace,),
        )
        return [LeftOut(*row) for row in found]

    # ------------------------------------------------------------------ vocabulary

    def begins(self, beginning: str) -> bool:
        """Whether a word begins so."""
        # Not asked of `vocabulary`: it counts all places of a word before it tells the word.
        self._vocabulary("places", "instance")
        sql = "SELECT 1 FROM temp.places WHERE term>=? AND term<? LIMIT 1"
        return self._db.execute(sql, (beginning, beginning + _LAST_SIGN)).fetchone() is not None

    def spelled(self, beginning: str, shortest: int, longest: int, most: int) -> Iterator[str]:
        """Words (no stems) that begin so, by length in characters; among the first `most`."""
        self._vocabulary("vocabulary", "row")
        found = self._db.execute(
            "SELECT term FROM (SELECT term FROM temp.vocabulary WHERE term>=? AND term<? LIMIT ?) "
            "WHERE length(term) BETWEEN ? AND ?",
            (beginning, beginning + _LAST_SIGN if beginning else FENCE, most, shortest, longest),
        )
        return (term for (term,) in found if term[0] not in (FENCE, STEM_MARK))

    def documents_with(self, words: Iterable[str], most: int = COUNTED) -> dict[str, int]:
        """In how many documents each word or stem stands, up to `most`."""
        return {word: self._counted(any_form(word), most) for word in words}

    def has_session(self, begun: str) -> bool:
        """Whether there is a session whose id begins so."""
        sql = "SELECT 1 FROM files WHERE workspace=? AND instr(session,?)=1 LIMIT 1"
        return self._db.execute(sql, (self._workspace, begun)).fetchone() is not None

    def _counted(self, expression: str, most: int = COUNTED) -> int:
        if self._stopping():
            raise apsw.InterruptError
        sql = "SELECT count(*) FROM (SELECT 1 FROM terms WHERE terms MATCH ? LIMIT ?)"
        return self._db.execute(sql, (expression, most)).fetchone()[0]

    def _vocabulary(self, name: str, kind: str) -> None:
        """Make sure that there is a table of this kind of the index's words."""
        sql = f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.{name} USING fts5vocab(main, terms, {kind})"
        self._db.execute(sql)
