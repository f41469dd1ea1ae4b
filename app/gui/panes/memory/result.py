"""The lines that Apply would write, each with the sign of the change it comes from. Pure.

One walk over the file and the result side by side: lines that differ are known from the preview
(`touched`), the rest stand in both. What an accepted loss takes away becomes a rule at its place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from app.engine.records import Change, Preview
from app.gui.panes.memory.deciding import Deciding
from app.gui.panes.memory.lines_view import LineRow, line_rows

SIGNS = {
    "added": "+", "reworded": "~", "moved": "↕", "merged": "⊃", "split": "⊂",
    "section_renamed": "~",
}  # fmt: skip


def result_rows(
    base: str,
    preview: Preview,
    deciding: Deciding,
    pinned_lines: frozenset[str] = frozenset(),
    plain: Sequence[LineRow] | None = None,
) -> list[LineRow]:
    """The rows of the result; the change in focus is tinted, wherever it stands now. `plain`: the
    rows of its text, where they are at hand."""
    rows = line_rows(preview.text) if plain is None else plain
    lines = preview.text.split("\n")
    places, gone = walk(base.split("\n"), lines, frozenset(preview.touched), _becomes(deciding))
    kinds = _kinds(deciding)
    focus = deciding.change(deciding.focus)
    tints = _tinted(focus, deciding, places, lines, frozenset(preview.touched))
    out: list[LineRow] = []
    losses = _losses(deciding, gone)
    for row in rows:
        at = row.number - 1
        if at in losses:
            out.append(_gone(at, *losses.pop(at), focus))
        sign = kinds.get(str(row.data), "") if row.number in preview.touched else ""
        tint = tints.get(row.number, "")
        pinned = str(row.data) in pinned_lines
        if sign or tint or pinned:
            row = replace(row, sign=sign, tint=tint, pinned=pinned)
        out.append(row)
    out += [_gone(at, *found, focus) for at, found in sorted(losses.items())]
    return out


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


def _becomes(deciding: Deciding) -> dict[int, frozenset[str]]:
    found: dict[int, frozenset[str]] = {}
    for change in deciding.accepted():
        if change.base_line and change.after and change.kind != "moved":
            decision = deciding.decision(change.n)
            own = decision.text if decision is not None else None
            lines = own.split("\n") if own is not None else change.after
            found[change.base_line] = frozenset(lines)
    return found


def _kinds(deciding: Deciding) -> dict[str, str]:
    found: dict[str, str] = {}
    for change in deciding.accepted():
        decision = deciding.decision(change.n)
        own = decision.text if decision is not None else None
        for line in own.split("\n") if own is not None else change.after:
            found[line] = SIGNS.get(change.kind, "~")
    return found


def _losses(deciding: Deciding, gone: dict[int, int]) -> dict[int, tuple[int, list[int]]]:
    """Result index -> (lines gone there, the changes that took them)."""
    out: dict[int, tuple[int, list[int]]] = {}
    for change in deciding.accepted():
        if change.kind != "dropped" or not change.base_line:
            continue
        at = gone.get(change.base_line)
        if at is not None:
            count, who = out.get(at, (0, []))
            out[at] = (count + len(change.before), [*who, change.n])
    return out


def _gone(at: int, count: int, who: list[int], focus: Change | None) -> LineRow:
    tint = "lost_bg" if focus is not None and focus.n in who else ""
    return LineRow(f"g{at}", "", tone="off", gone=count, tint=tint, tip=" ")


def _tinted(
    focus: Change | None,
    deciding: Deciding,
    places: dict[int, int],
    lines: list[str],
    touched: frozenset[int],
) -> dict[int, str]:
    if focus is None:
        return {}
    decision = deciding.decision(focus.n)
    if decision is not None and decision.verdict == "accept":
        own = decision.text
        wanted = set(own.split("\n") if own is not None else focus.after) - {""}
        ground = "added_bg" if focus.kind == "added" else "accent_softer"
        return {n: ground for n in touched if n <= len(lines) and lines[n - 1] in wanted}
    if not focus.base_line:
        return {}
    wanted = set(focus.before) - {""}
    if focus.kind == "merged":
        base = [i for i, at in places.items() if lines[at - 1] in wanted]
    else:
        base = list(range(focus.base_line, focus.base_line + len(focus.before)))
    return {places[i]: "accent_softer" for i in base if i in places}
