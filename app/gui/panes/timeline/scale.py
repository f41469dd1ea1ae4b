"""The axis of a session as numbers. Pure.

Places on the axis are in seconds of "kept time": idle gaps (over a minute and ten times the usual)
are folded to a short stretch that keeps their length in words. By order, each item is one second
from the next. A missing time is a hollow mark beside its neighbour, never an invented time.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from statistics import median

from app.engine.records import TranscriptItem

LANES = ("message", "tool", "flush", "compaction", "eviction", "consolidation")
LANE_OF = {
    "user": 0, "assistant": 0, "failure": 0, "overflow": 0, "interrupted": 0, "gap": 0,
    "tool": 1, "flush": 2, "compaction": 3, "eviction": 4, "consolidation": 5, "recall": 5,
}  # fmt: skip
STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, 86_400)  # fmt: skip # noqa: E501

SAME = 1e-4  # seconds within which two times are one


@dataclass(frozen=True, slots=True)
class Mark:
    """One mark: where (`v`), of which item (`at`), how long its text is (`size`, 0 to 1)."""

    v: float
    kind: str
    at: int
    size: float = 0.4
    hollow: bool = False


@dataclass(frozen=True)
class Fold:
    """An idle gap that was folded: its stretch on the axis and how long it really was."""

    start: float
    end: float
    seconds: float


@dataclass(frozen=True)
class Scale:
    """Marks by lane (each sorted by place), folds, and what maps places to times."""

    lanes: tuple[tuple[Mark, ...], ...]
    folds: tuple[Fold, ...] = ()
    length: float = 1.0
    by_order: bool = False
    places: tuple[float, ...] = ()  # of every item, in item order
    times: tuple[float, ...] = field(default=(), repr=False)
    _kept: tuple[float, ...] = field(default=(), repr=False)

    def when(self, v: float) -> datetime | None:
        """The instant at a place; None by order or without times."""
        if self.by_order or not self.times:
            return None
        return _instant(_between(self._kept, self.times, v))

    def moved_to(self, other: Scale, v: float, shift: int) -> float:
        """The place of the same moment on another scale of the session, whose items begin `shift`
        before ours; it may lie outside of what that one shows."""
        if self.by_order or not self.times or not other.times:
            return v + shift if self.by_order and other.by_order else v
        stamp = _between(self._kept, self.times, v)
        near = bisect_left(other.times, stamp - SAME)
        if near < len(other.times) and abs(other.times[near] - stamp) < SAME:
            return other._kept[near]  # an edge on a mark stays on it
        return _between(other.times, other._kept, stamp)

    def between(self, start: float, end: float) -> list[int]:
        """Items (in order) whose place lies in the range."""
        return [i for i, v in enumerate(self.places) if start <= v <= end]

    def stretches(self) -> list[tuple[float, float]]:
        """What lies between the folds."""
        out, at = [], 0.0
        for fold in self.folds:
            out.append((at, fold.start))
            at = fold.end
        return [*out, (at, self.length)]


def build_scale(items: Sequence[TranscriptItem], *, by_order: bool = False) -> Scale:
    """The scale of a session's items."""
    times = sorted({i.when.timestamp() for i in items if i.when is not None})
    kept, folds = _keep(times)
    places: list[float] = []
    last = 0.0
    for n, item in enumerate(items):
        if by_order:
            last = float(n)
        elif item.when is not None:
            last = kept[bisect_left(times, item.when.timestamp())]
        places.append(last)
    longest = max((_length(item) for item in items), default=1) or 1
    lanes: list[list[Mark]] = [[] for _ in LANES]
    for n, item in enumerate(items):
        lane = LANE_OF.get(item.kind)
        if lane is None or (item.kind == "assistant" and not item.text and not item.reasoning):
            continue
        size = min(1.0, 0.25 + 0.75 * (_length(item) / longest) ** 0.5)
        hollow = item.when is None and not by_order
        lanes[lane].append(Mark(places[n], item.kind, n, size, hollow))
    for lane_marks in lanes:
        lane_marks.sort(key=lambda mark: mark.v)
    length = float(len(items)) if by_order else (kept[-1] if kept else 0.0)
    return Scale(
        tuple(tuple(lane) for lane in lanes),
        () if by_order else tuple(folds),
        max(length, 1.0),
        by_order,
        tuple(places),
        tuple(times),
        tuple(kept),
    )


def _keep(times: Sequence[float]) -> tuple[list[float], list[Fold]]:
    """Place of each time with idle gaps folded, and the folds."""
    gaps = [b - a for a, b in pairwise(times)]
    usual = median(gaps) if gaps else 0.0
    idle = max(60.0, 10 * usual)
    busy = sum(g for g in gaps if g <= idle)
    folded = max(busy / 14, min(idle / 2, 30.0))
    kept, folds, at = [0.0] if times else [], [], 0.0
    for gap in gaps:
        width = gap if gap <= idle else min(folded, gap)
        if gap > idle:
            folds.append(Fold(at, at + width, gap))
        at += width
        kept.append(at)
    return kept, folds


def _between(known: Sequence[float], values: Sequence[float], at: float) -> float:
    """The value at a place between known ones; beyond them one goes on as far as `at` does."""
    n = bisect_right(known, at) - 1
    if n < 0:
        return values[0] + at - known[0]
    if n + 1 < len(known):
        span = known[n + 1] - known[n]
        share = (at - known[n]) / span if span else 0.0
        return values[n] + share * (values[n + 1] - values[n])
    return values[n] + at - known[n]


def _length(item: TranscriptItem) -> int:
    return max(item.cut, len(item.text) + len(item.result or ""))


def _instant(stamp: float) -> datetime:
    return datetime.fromtimestamp(stamp, UTC)


def ticks(scale: Scale, start: float, end: float, pixels: float) -> list[tuple[float, datetime]]:
    """Places and times worth a label in the visible range; at least about 76 px apart."""
    if scale.by_order or not scale.times:
        return []
    per = pixels / max(end - start, 1e-6)
    step = next((s for s in STEPS if s * per >= 84), STEPS[-1])
    found: list[tuple[float, datetime]] = []
    for left, right in scale.stretches():
        first = scale.when(left)
        if first is None or right < start or left > end:
            continue
        found.append((left, first))
        local = first.astimezone()
        midnight = local.replace(hour=0, minute=0, second=0, microsecond=0)
        passed = (local - midnight).total_seconds()
        at = left + (step - passed % step)
        skip = max(0, int((start - at) // step))
        at += skip * step
        while at <= min(right, end):
            found.append((at, first + timedelta(seconds=at - left)))
            at += step
    return _apart(sorted(found), start, per)


def _apart(
    found: list[tuple[float, datetime]], start: float, per: float
) -> list[tuple[float, datetime]]:
    out: list[tuple[float, datetime]] = []
    for v, when in found:
        if v < start - 1e-6:
            continue
        if out and (v - out[-1][0]) * per < 52:
            continue
        out.append((v, when))
    return out
