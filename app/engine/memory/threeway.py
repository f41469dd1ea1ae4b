"""Two edits of one text joined: what a run proposes, on a file that changed since.

Both sides are differences against the text they started from, and both cut that text into the same
blocks, so they are joined block by block. A change whose blocks nobody else touched fits by itself
and keeps its kind. One whose blocks were changed on the other side too is a conflict: it holds the
lines of the start, of the file now and of the proposal, and nothing wins unasked. What both sides
did alike is done. Additions of both sides at one place all stay (specification, section 10). Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import msgspec
from msgspec import Struct

from app.engine.memory.diff import Difference, Slot, difference
from app.engine.memory.outline import bullets, normal
from app.engine.records import Change


def joined(theirs: Difference, now: str) -> Difference:
    """The changes of `theirs`, put on the text `now` that was made from the same start."""
    start = "\n".join(theirs.base)
    if now == start:
        return theirs
    if now == "\n".join(theirs.result):
        whole = (0, len(theirs.result))
        return Difference(theirs.result, theirs.result, (), (Slot(0, whole, whole),))
    return _Join(theirs, difference(start, now)).difference()


class _Row(Struct):
    """One place of the result: lines `now` of the file or `wanted` of change `n` in their place.

    `start` are lines of the text both began with. `met`: our side changed them too.
    """

    n: int
    now: tuple[int, int]
    wanted: Sequence[str]
    start: tuple[int, int]
    rider: bool = False
    met: bool = False


class _Join:
    """Joins two differences of one text. Used once."""

    def __init__(self, theirs: Difference, ours: Difference) -> None:
        self._theirs, self._ours = theirs, ours
        self._blocks = {s.old[0]: s for s in theirs.slots if s.old[0] < s.old[1]}
        self._mine = {s.old[0]: s for s in ours.slots if s.old[0] < s.old[1]}
        self._added = frozenset(
            fact for c in ours.changes if c.kind != "moved" for fact in _facts(c.after)
        )
        instead, self._up = self._replacements()
        self._home = {**self._moved(), **instead}
        self._went = frozenset(self._home.values())
        self._met = frozenset(instead.values())
        # an addition of theirs -> the drop it is one change with
        self._part_of = {slot.n: self._blocks[at].n for at, slot in self._up.items()}
        self._grown = frozenset(self._part_of.values())

    def difference(self) -> Difference:
        rows = list(self._rows())
        of: dict[int, list[_Row]] = defaultdict(list)
        for row in rows:
            if row.n and not row.rider:
                of[row.n].append(row)
        for n, its in of.items():
            self._leave_out_what_is_there(n, its)
        done = {n for n, its in of.items() if self._is_done(its)} | self._idle(rows, of)
        return self._made([r for row in rows if (r := _settled(row, done)) is not None], of)

    # ------------------------------------------------------------------ rows

    def _rows(self) -> Iterator[_Row]:
        """The places, in the order of the file now."""
        theirs_in, mine_in = _insertions(self._theirs), _insertions(self._ours)
        up = {s.new for s in self._up.values()}
        for at in (*self._blocks, len(self._theirs.base)):
            for slot in mine_in.get(at, ()):
                home = self._home.get(slot.new)
                if home is None:
                    yield _Row(0, slot.new, (), slot.old)
                else:
                    yield self._block(home, slot.new, met=home in self._met)
            for slot in theirs_in.get(at, ()):
                if slot.new not in up:
                    n = self._part_of.get(slot.n, slot.n)
                    yield _Row(n, (0, 0), self._lines(slot), slot.old, slot.rider)
            if at in self._blocks and at not in self._went:
                ours = self._mine[at]
                yield self._block(at, ours.new, met=ours.n > 0)

    def _block(self, at: int, now: tuple[int, int], *, met: bool) -> _Row:
        slot = self._blocks[at]
        lines = self._lines(self._up.get(at, slot)) if slot.n else ()
        return _Row(slot.n, now, lines, slot.old, slot.rider, met and slot.n > 0)

    def _lines(self, slot: Slot) -> Sequence[str]:
        return self._theirs.result[slice(*slot.new)]

    def _moved(self) -> dict[tuple[int, int], int]:
        """Lines of the file -> the block that our side moved there: their change of it follows."""
        went: dict[int, int] = {}
        came: dict[int, tuple[int, int]] = {}
        for slot in self._ours.slots:
            if slot.n and not slot.rider and self._ours.changes[slot.n - 1].kind == "moved":
                if slot.old[0] < slot.old[1]:
                    went[slot.n] = slot.old[0]
                else:
                    came[slot.n] = slot.new
        return {place: went[n] for n, place in came.items() if n in went}

    def _replacements(self) -> tuple[dict[tuple[int, int], int], dict[int, Slot]]:
        """Lines of the file -> the dropped block they stand for, and block -> addition of theirs.

        Where as many lines came as went, lines too unlike to be one reworded line still are one
        when the other side rewrote them too.
        """
        ours, theirs = list(_hunks(self._ours)), list(_hunks(self._theirs))
        pairs = {g.old[0]: c for hunk in theirs for g, c in hunk}
        rewritten = pairs.keys() | {at for at, s in self._blocks.items() if s.new[0] < s.new[1]}
        instead = {
            came.new: gone.old[0]
            for hunk in ours
            for gone, came in hunk
            if gone.old[0] in rewritten and self._blocks[gone.old[0]].n
        }
        ours_too = {at for at, s in self._mine.items() if s.n and s.new[0] < s.new[1]}
        ours_too.update(instead.values())
        return instead, {at: came for at, came in pairs.items() if at in ours_too}

    # ------------------------------------------------------------------ changes

    def _leave_out_what_is_there(self, n: int, rows: Sequence[_Row]) -> None:
        """A line that our side wrote too, here or elsewhere, need not come a second time."""
        if self._theirs.changes[n - 1].kind != "moved":
            for row in rows:
                if not self._is_same(row) and self._holds(row.wanted):
                    row.wanted = ()

    def _is_done(self, rows: Sequence[_Row]) -> bool:
        """Has our side done this change already, the whole of it?"""
        return all(self._is_same(row) for row in rows)

    def _is_same(self, row: _Row) -> bool:
        return tuple(row.wanted) == self._ours.result[slice(*row.now)]

    def _holds(self, lines: Sequence[str]) -> bool:
        facts = _facts(lines)
        return bool(facts) and self._added.issuperset(facts)

    def _idle(self, rows: Sequence[_Row], of: Mapping[int, Sequence[_Row]]) -> set[int]:
        """Changes that both sides made by moving a line to the same place."""
        shown = [r for r in rows if not r.rider and (r.n or r.start[0] < r.start[1])]
        return {
            a.n
            for a, b in pairwise(shown)
            if a.n
            and a.n == b.n
            and len(of[a.n]) == 2
            and self._ours.result[slice(*a.now)] + self._ours.result[slice(*b.now)]
            == (*a.wanted, *b.wanted)
        }

    def _made(self, rows: Sequence[_Row], of: Mapping[int, Sequence[_Row]]) -> Difference:
        result: list[str] = []
        slots: list[Slot] = []
        order = {0: 0}
        places: dict[int, tuple[int, int]] = {}
        cursor = 0
        for row in rows:
            n = order.setdefault(row.n, len(order))
            now = row.now if row.now[0] < row.now[1] else (cursor, cursor)
            lines = row.wanted if row.n else self._ours.result[slice(*now)]
            new = (len(result), len(result) + len(lines))
            slots.append(Slot(n, now, new, row.rider))
            if not row.rider:
                first = places.get(n, (0, 0))
                places[n] = (
                    first[0] or (now[0] + 1 if now[0] < now[1] else 0),
                    first[1] or (new[0] + 1 if lines else 0),
                )
            result += lines
            cursor = now[1]
        made = [self._change(m, n, of.get(m, ()), places.get(n, (0, 0)))
                for m, n in order.items() if n]  # fmt: skip
        return Difference(self._ours.result, tuple(result), tuple(made), tuple(slots))

    def _change(self, was: int, n: int, rows: Sequence[_Row], place: tuple[int, int]) -> Change:
        change = self._theirs.changes[was - 1]
        met = any(row.met for row in rows)
        started = tuple(line for row in rows for line in self._theirs.base[slice(*row.start)])
        before = tuple(line for row in rows for line in self._ours.result[slice(*row.now)])
        after = tuple(line for row in rows for line in row.wanted)
        kind = "reworded" if was in self._grown else change.kind
        if before and not after:
            kind = "dropped"  # what it would write is there already
        return msgspec.structs.replace(
            change,
            n=n,
            kind=kind,
            before=before,
            after=after,
            base_line=place[0],
            result_line=place[1],
            conflict=met,
            old=started if met else (),
        )


def _facts(lines: Sequence[str]) -> list[str]:
    return [normal(b.text) for b in bullets("\n".join(lines))]


def _settled(row: _Row, done: set[int]) -> _Row | None:
    """A row of a change that is done shows the file as it is; an empty row is none."""
    if row.n in done:
        row = _Row(0, row.now, (), row.start)  # the file as it is
    return row if (row.n and row.wanted) or row.now[0] < row.now[1] else None


def _insertions(side: Difference) -> dict[int, list[Slot]]:
    found: dict[int, list[Slot]] = defaultdict(list)
    for slot in side.slots:
        if slot.old[0] == slot.old[1]:
            found[slot.old[0]].append(slot)
    return found


def _hunks(side: Difference) -> Iterator[list[tuple[Slot, Slot]]]:
    """Runs of dropped blocks with as many additions right behind them, each with each.

    What a person took apart stays apart.
    """
    went: list[Slot] = []
    came: list[Slot] = []
    for slot in (*side.slots, Slot(0, (0, 0), (0, 0))):
        change = side.changes[slot.n - 1] if slot.n else None
        kind = change.kind if change and not change.group else ""
        if slot.rider:
            continue
        if kind == "added":
            came.append(slot)
            continue
        if came or kind != "dropped":
            if len(went) == len(came):
                yield list(zip(went, came, strict=True))
            went, came = [], []
        if kind == "dropped":
            went.append(slot)
