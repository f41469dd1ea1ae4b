"""The lines that Apply would write, each with the sign of the change it comes from. Pure.

One walk over the file and the result side by side: lines that differ are known from the preview
(`touched`), the rest stand in both. What an accepted loss takes away becomes a rule at its place.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import sleep
from typing import TypeVar

from app.engine.records import Change, Decision, Preview
from app.gui.panes.memory.deciding import Deciding
from app.gui.panes.memory.lines import shown
from app.gui.panes.memory.lines_view import LineRow, line_row

Item = TypeVar("Item")
SLICE = 500  # lines between two turns of the window

SIGNS = {
    "added": "+", "reworded": "~", "moved": "↕", "merged": "⊃", "split": "⊂",
    "section_renamed": "~",
}  # fmt: skip


@dataclass(frozen=True)
class Said:
    """A change that is accepted, and the lines it writes."""

    change: Change
    lines: Sequence[str]


def accepted(deciding: Deciding) -> list[Said]:
    """What is accepted now, in the order it is asked."""
    return [Said(c, _lines(c, deciding.decision(c.n))) for c in deciding.accepted()]


def _lines(change: Change, decision: Decision | None) -> Sequence[str]:
    own = decision.text if decision is not None else None
    return own.split("\n") if own is not None else change.after


class ResultRows:
    """The rows of the result, each made when it is looked at. `rules`: the index of a line of the
    result -> how many lines went before it. `signs`: by the number of a line, from 1."""

    def __init__(
        self,
        lines: Sequence[str],
        rules: Mapping[int, int],
        signs: Mapping[int, str],
        pinned: frozenset[str] = frozenset(),
    ) -> None:
        self.lines, self._signs, self._pinned = lines, signs, pinned
        self._rules = sorted(rules.items())
        self._before = [at for at, _ in self._rules]
        last = len(lines)
        self._at = [min(at, last) + n for n, at in enumerate(self._before)]  # rows they are
        self._made: dict[int, LineRow] = {}

    def __len__(self) -> int:
        return len(self.lines) + len(self._rules)

    def __iter__(self) -> Iterator[LineRow]:
        return (self[at] for at in range(len(self)))

    def __getitem__(self, at: int) -> LineRow:
        row = self._made.get(at)
        if row is None:
            row = self._made[at] = self._row(at)
        return row

    def _row(self, at: int) -> LineRow:
        rules = bisect_left(self._at, at)
        if rules < len(self._at) and self._at[rules] == at:
            before, count = self._rules[rules]
            return LineRow(f"g{before}", "", tone="off", gone=count, tip=" ")
        number = at - rules + 1
        line = self.lines[number - 1]
        gap = number < 2 or not shown(self.lines[number - 2]).level
        sign, pinned = self._signs.get(number, ""), line in self._pinned
        return line_row(number, line, gap=gap, sign=sign, pinned=pinned)

    def place_of(self, row_id: str) -> int:
        """Index of the row with that id, -1 when there is none."""
        known, number = row_id[1:].isdigit(), int(row_id[1:] or 0)
        if row_id[:1] == "g" and known:
            found = bisect_left(self._before, number)
            held = found < len(self._before) and self._before[found] == number
            return self._at[found] if held else -1
        if row_id[:1] == "l" and known and 0 < number <= len(self.lines):
            return number - 1 + bisect_right(self._before, number - 1)
        return -1

    def first_other(self, before: ResultRows) -> int:
        """The first place at which these rows may say something else than those before."""
        line = _same(self.lines, before.lines)
        rule = _same(self._rules, before._rules)
        sign = min((n for n, _ in self._signs.items() ^ before._signs.items()), default=line + 1)
        places = [self.place_of(f"l{n}") for n in (line + 1, sign) if n <= len(self.lines)]
        places += [rows._at[rule] for rows in (self, before) if rule < len(rows._at)]
        return min(places, default=min(len(self), len(before)))


def _same(old: Sequence[object], new: Sequence[object]) -> int:
    """How many at the start of both are equal: whole slices are compared, in C."""
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


@dataclass(frozen=True)
class Result:
    """What Apply would write: `text`, and its `rows` with their signs, of which those from `first`
    on may differ from those before.

    `places`: base line -> line of the result. `written`: a line that the file now lacks -> where
    it stands. `gone`: a change -> the id of the rule in its place.
    """

    text: str
    rows: ResultRows
    first: int
    places: Mapping[int, int]
    written: Mapping[str, Sequence[int]]
    gone: Mapping[int, str]


def result_of(
    base: str,
    preview: Preview,
    said: Sequence[Said],
    pinned_lines: frozenset[str] = frozenset(),
    before: ResultRows | None = None,
) -> Result:
    """The result with its signs. Costs the whole file: made in a thread. `before`: the rows of the
    result that is shown now."""
    lines, touched = preview.text.split("\n"), frozenset(preview.touched)
    places, gone = walk(base.split("\n"), lines, touched, _becomes(said))
    kinds = {line: SIGNS.get(s.change.kind, "~") for s in said for line in s.lines}
    losses = _losses(said, gone)
    who = {n: f"g{at}" for at, (_, numbers) in losses.items() for n in numbers}
    signs: dict[int, str] = {}
    written: dict[str, list[int]] = defaultdict(list)
    for n in unhurried(sorted(touched)):
        if n <= len(lines) and (line := lines[n - 1]):
            written[line].append(n)
            signs[n] = kinds.get(line, "")
    if not lines[-1]:
        lines.pop()
    rules = {at: count for at, (count, _) in losses.items()}
    rows = ResultRows(lines, rules, signs, pinned_lines)
    first = rows.first_other(before) if before is not None else 0
    return Result(preview.text, rows, first, places, written, who)


def unhurried(items: Iterable[Item]) -> Iterator[Item]:
    """The items, with a short sleep now and then: a thread that never rests makes each of the many
    calls of a painting wait for the interpreter."""
    for n, item in enumerate(items, 1):
        yield item
        if n % SLICE == 0:
            sleep(0.001)


def walk(
    base: list[str],
    result: list[str],
    touched: frozenset[int],
    becomes: Mapping[int, frozenset[str]],
) -> tuple[dict[int, int], dict[int, int]]:
    """(base line -> result line, base line that is gone -> result index it stood before).

    Base and result lines are 1-based, the index is 0-based. `becomes`: what stands in place of a
    base line, so that a loss below a reworded line is shown below its new words.
    """
    places: dict[int, int] = {}
    gone: dict[int, int] = {}
    j = 0
    for i, line in enumerate(unhurried(base), 1):
        k = j
        while k < len(result) and (k + 1) in touched:
            k += 1
        if k < len(result) and result[k] == line:
            places[i] = k + 1
            j = k + 1
        else:
            after = becomes.get(i, frozenset())
            while j < len(result) and (j + 1) in touched and result[j] in after:
                j += 1
            gone[i] = j
    return places, gone


def _becomes(said: Sequence[Said]) -> dict[int, frozenset[str]]:
    return {
        s.change.base_line: frozenset(s.lines)
        for s in said
        if s.change.base_line and s.change.after and s.change.kind != "moved"
    }


def _losses(said: Sequence[Said], gone: dict[int, int]) -> dict[int, tuple[int, list[int]]]:
    """Result index -> (lines gone there, the changes that took them)."""
    out: dict[int, tuple[int, list[int]]] = {}
    for change in (s.change for s in said):
        if change.kind != "dropped" or not change.base_line:
            continue
        at = gone.get(change.base_line)
        if at is not None:
            count, who = out.get(at, (0, []))
            out[at] = (count + len(change.before), [*who, change.n])
    return out


def tints(result: Result, focus: Change | None, decision: Decision | None) -> dict[str, str]:
    """Row id -> ground of the rows that the change in front is about, wherever they stand now."""
    if focus is None:
        return {}
    if decision is not None and decision.verdict == "accept":
        if rule := result.gone.get(focus.n):
            return {rule: "lost_bg"}
        ground = "added_bg" if focus.kind == "added" else "accent_softer"
        wanted = dict.fromkeys(_lines(focus, decision))
        return {f"l{n}": ground for line in wanted for n in result.written.get(line, ())}
    if not focus.base_line:
        return {}
    base = range(focus.base_line, focus.base_line + len(focus.before))
    if focus.kind == "merged":
        base = _standing(result, frozenset(focus.before) - {""})
    return {f"l{result.places[i]}": "accent_softer" for i in base if i in result.places}


def _standing(result: Result, wanted: frozenset[str]) -> Sequence[int]:
    """The base lines that say what was merged; its lines may stand far from each other."""
    lines = result.rows.lines
    return [i for i, at in result.places.items() if at <= len(lines) and lines[at - 1] in wanted]
