"""What stands in a transcript, one block under the other. Pure.

A block is a row of the sheet: an item, or something about items (a day, a folded run). Nothing of
the log is left out: what is folded says how many there are and opens. Words are made later, for the
rows that are seen (`words.py`), so that 100,000 items are cheap.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

from app.engine.records import TranscriptItem

Form = Literal[
    "say", "tool", "card", "rule", "line", "fold", "calls", "more", "day", "older", "newer"
]
Mode = Literal["log", "model"]

SHOWN_OF_GROUP = 4  # blocks of compacted messages that stand open beside their summary
CALLS_FOLD = 3  # compacted calls in a row that become one line

_FORMS: dict[str, Form] = {
    "user": "say", "assistant": "say", "tool": "tool", "eviction": "card", "compaction": "rule",
    "reset": "rule", "fork": "line", "flush": "line", "consolidation": "line", "gap": "line",
    "failure": "line", "overflow": "line", "interrupted": "line", "note": "line",
    "system": "fold", "recall": "fold",
}  # fmt: skip
_OUTSIDE = {"flush", "consolidation", "gap", "eviction", "note", "failure", "overflow", "fork"}


@dataclass(frozen=True, slots=True)
class Block:
    """One row. `at` is the index of its (first) item, `count` how many items it stands for.

    `group` is the id of the compaction that took it out of the model's view, "" for none.
    """

    id: str
    form: Form
    at: int
    item: TranscriptItem | None = None
    group: str = ""
    count: int = 1
    day: date | None = None


def build(
    items: Sequence[TranscriptItem],
    *,
    mode: Mode = "log",
    opened: frozenset[str] = frozenset(),
    older: bool = False,
    newer: bool = False,
) -> list[Block]:
    """Blocks of items in log order. `opened`: ids of folded runs that stand open.

    `older` says that the log goes on before the first item, `newer` that it does behind the last.
    """
    out: list[Block] = []
    if older:
        out.append(Block("older", "older", 0, count=0))
    if mode == "model":
        out += [_block(i, items[i]) for i in model_view(items)]
        return out
    last: date | None = None
    at = 0
    groups = groups_of(items)
    while at < len(items):
        run = _run_end(groups, at)
        for block in _folded(items, groups, at, run, opened):
            when = block.item.when if block.item is not None else None
            if when is not None:
                of = when.astimezone().date()
                if last is not None and of != last:
                    out.append(Block(f"day:{block.id}", "day", block.at, group="", day=of))
                last = of
            out.append(block)
        at = run
    if newer:
        out.append(Block("newer", "newer", max(len(items) - 1, 0), count=0))
    return out


def model_view(items: Sequence[TranscriptItem]) -> list[int]:
    """Places of what the model would see now: the summary first, then what it does not cover."""
    start = max((i for i, item in enumerate(items) if item.kind == "reset"), default=-1) + 1
    seen = [
        i
        for i in range(start, len(items))
        if not items[i].covered_by and items[i].kind not in _OUTSIDE
        and not items[i].detail.get("deleted")
    ]  # fmt: skip
    summaries = [i for i in seen if items[i].kind == "compaction"]
    return [*summaries, *(i for i in seen if items[i].kind != "compaction")]


def groups_of(items: Sequence[TranscriptItem]) -> list[str]:
    """The compaction each item stands with: its own, or for what the engine did in the middle of
    a compacted run (a flush, an eviction) that of its neighbours."""
    groups = [item.covered_by for item in items]
    before, waiting = "", list[int]()
    for at, item in enumerate(items):
        if item.covered_by or item.kind not in _OUTSIDE:
            if before and before == item.covered_by:
                for n in waiting:
                    groups[n] = before
            before, waiting = item.covered_by, []
        elif before:
            waiting.append(at)
    return groups


def _block(at: int, item: TranscriptItem, group: str = "") -> Block:
    return Block(item.id, _FORMS.get(item.kind, "line"), at, item, group)


def _run_end(groups: Sequence[str], at: int) -> int:
    """The end of the run of items that one compaction covers (or that none does)."""
    end = at + 1
    while end < len(groups) and groups[end] == groups[at]:
        end += 1
    return end


def _folded(
    items: Sequence[TranscriptItem], groups: Sequence[str], start: int, end: int,
    opened: frozenset[str],
) -> Iterable[Block]:  # fmt: skip
    group = groups[start]
    if not group:
        for at in range(start, end):
            yield _block(at, items[at])
        return
    blocks = list(_calls(items, group, start, end, opened))
    fold = f"more:{group}:{items[start].id}"
    if len(blocks) <= SHOWN_OF_GROUP + 4:
        yield from blocks
        return
    yield from blocks[:SHOWN_OF_GROUP]
    if fold in opened:
        yield from blocks[SHOWN_OF_GROUP:]
    hidden = blocks[SHOWN_OF_GROUP:]
    count = sum(b.count for b in hidden)
    yield Block(fold, "more", hidden[0].at, None, group, count)


def _calls(
    items: Sequence[TranscriptItem], group: str, start: int, end: int, opened: frozenset[str]
) -> Iterable[Block]:
    """Blocks of a compacted run, with long rows of calls folded to one line each."""
    at = start
    while at < end:
        stop = at
        while stop < end and items[stop].kind == "tool":
            stop += 1
        fold = f"calls:{items[at].id}"
        if stop - at >= CALLS_FOLD:
            yield Block(fold, "calls", at, items[at], group, stop - at)
            if fold in opened:
                for n in range(at, stop):
                    yield _block(n, items[n], group)
            at = stop
        else:
            yield _block(at, items[at], group)
            at += 1


def folds_around(items: Sequence[TranscriptItem], at: int) -> frozenset[str]:
    """Ids of the folds that would hide item `at`."""
    item, groups = items[at], groups_of(items)
    if not groups[at]:
        return frozenset()
    start = at
    while start > 0 and groups[start - 1] == groups[at]:
        start -= 1
    out = {f"more:{groups[at]}:{items[start].id}"}
    if item.kind == "tool":
        first = at
        while first > start and items[first - 1].kind == "tool":
            first -= 1
        out.add(f"calls:{items[first].id}")
    return frozenset(out)


def place_of_entry(items: Sequence[TranscriptItem], entry_id: str) -> int:
    """The item an entry of the log became; -1 when it is not among these."""
    owner = entry_id.rpartition(":use:")[0]
    second = -1
    for at, item in enumerate(items):
        if item.id == entry_id or item.detail.get("result_id") == entry_id:
            return at
        if second < 0 and (
            (owner and item.id == owner) or item.id.startswith(f"{entry_id}:use:")
        ):  # fmt: skip
            second = at
    return second
