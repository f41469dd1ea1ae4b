"""The lines that Apply would write, each with the sign of the change it comes from. Pure.

One walk over the file and the result side by side: lines that differ are known from the preview
(`touched`), the rest stand in both. What an accepted loss takes away becomes a rule at its place.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from app.engine.records import Change, Decision, Preview
from app.gui.panes.memory.deciding import Deciding
from app.gui.panes.memory.lines_view import LineRow, line_rows

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


@dataclass(frozen=True)
class Result:
    """What Apply would write. `plain` are the rows of its text alone, `rows` those with signs.

    `places`: base line -> line of the result. `written`: a line that the file now lacks -> where
    it stands. `gone`: a change -> the id of the rule in its place.
    """

    text: str
    plain: Sequence[LineRow]
    rows: Sequence[LineRow]
    places: Mapping[int, int]
    written: Mapping[str, Sequence[int]]
    gone: Mapping[int, str]


def result_of(
    base: str,
    preview: Preview,
    said: Sequence[Said],
    pinned_lines: frozenset[str] = frozenset(),
    known: Sequence[LineRow] = (),
) -> Result:
    """The result with its signs. Costs the whole file: made in a thread. `known`: the rows of the
    text before it, of which those are taken that still say the same."""
    plain = line_rows(preview.text, known, aside=True)
    lines, touched = preview.text.split("\n"), frozenset(preview.touched)
    places, gone = walk(base.split("\n"), lines, touched, _becomes(said))
    kinds = {line: SIGNS.get(s.change.kind, "~") for s in said for line in s.lines}
    losses = _losses(said, gone)
    who = {n: f"g{at}" for at, (_, numbers) in losses.items() for n in numbers}
    out: list[LineRow] = []
    for row in plain:
        at = row.number - 1
        if at in losses:
            out.append(_gone(at, losses.pop(at)[0]))
        sign = kinds.get(str(row.data), "") if row.number in touched else ""
        pinned = str(row.data) in pinned_lines
        out.append(replace(row, sign=sign, pinned=pinned) if sign or pinned else row)
    out += [_gone(at, count) for at, (count, _) in sorted(losses.items())]
    written: dict[str, list[int]] = defaultdict(list)
    for n in sorted(touched):
        if n <= len(lines) and lines[n - 1]:
            written[lines[n - 1]].append(n)
    return Result(preview.text, plain, out, places, written, who)


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
    for i, line in enumerate(base, 1):
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


def _gone(at: int, count: int) -> LineRow:
    return LineRow(f"g{at}", "", tone="off", gone=count, tip=" ")


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
    plain = result.plain
    return [i for i, at in result.places.items()
            if at <= len(plain) and plain[at - 1].data in wanted]  # fmt: skip
