"""Which block of one text became which block of another.

First what is equal (unique lines as anchors, then a longest common subsequence in small gaps),
then, among what is left, the same text elsewhere (moved), similar text (reworded), several in one
(merged) and one in several (split). Words lead to candidates, so the work stays near-linear.

Invariant: a `Link` joins blocks of the base with blocks of the result; every block is equal to
exactly one other, or in exactly one link, or blank.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import pairwise

from msgspec import Struct
from rapidfuzz import fuzz
from rapidfuzz.distance import LCSseq

from app.engine.memory import likeness
from app.engine.memory.outline import Block, normal
from app.engine.records import ChangeKind

SIMILAR = 0.6
_LCS_CELLS = 100_000_000  # bits of the table: 12 MB; larger gaps are paired by their words alone
_CANDIDATES = 6
_COMMON = 40  # a word in more blocks than this leads to the nearest of them alone
_NEAREST = 2  # of them, on either side
_FOLDED = ("bullet", "text", "table")  # what can be merged or split


class Link(Struct):
    """Blocks `old` of the base and `new` of the result that are one change."""

    kind: ChangeKind
    old: list[int]
    new: list[int]


class Alignment(Struct, frozen=True):
    """`equal`: pairs of block indices, rising on both sides. `links`: everything else."""

    equal: tuple[tuple[int, int], ...]
    links: tuple[Link, ...]


def align(base: Sequence[Block], result: Sequence[Block]) -> Alignment:
    """Match the blocks of two texts."""
    equal = _equal(base, result)
    kept_old, kept_new = {i for i, _ in equal}, {j for _, j in equal}
    old = [i for i, b in enumerate(base) if i not in kept_old and b.kind != "blank"]
    new = [j for j, b in enumerate(result) if j not in kept_new and b.kind != "blank"]
    return Alignment(tuple(equal), tuple(_Pairing(base, result, equal, old, new).links()))


# ---------------------------------------------------------------------------- what is equal


def _equal(base: Sequence[Block], result: Sequence[Block]) -> list[tuple[int, int]]:
    ids: dict[str, int] = {}
    a = [ids.setdefault(b.text, len(ids)) for b in base]
    b = [ids.setdefault(r.text, len(ids)) for r in result]
    headings = {ids[block.text] for block in base if block.kind == "heading"}
    found: list[tuple[int, int]] = []
    i = j = 0
    for p, q in [*_anchors(a, b, headings), (len(a), len(b))]:
        found += _gap(a, b, i, p, j, q)
        if p < len(a):
            found.append((p, q))
        i, j = p + 1, q + 1
    return found


def _anchors(a: list[int], b: list[int], headings: set[int]) -> list[tuple[int, int]]:
    """Texts that occur once on each side, in the heaviest run that keeps their order.

    A heading weighs a little more than a line: of the two, the line has moved.
    """
    once_a, once_b = Counter(a), Counter(b)
    place = {x: j for j, x in enumerate(b) if once_b[x] == 1}
    pairs = [(i, place[x]) for i, x in enumerate(a) if once_a[x] == 1 and x in place]
    if all(one[1] < other[1] for one, other in pairwise(pairs)):
        return pairs
    return _heaviest(pairs, [3 if a[i] in headings else 2 for i, _ in pairs])


def _heaviest(pairs: Sequence[tuple[int, int]], weights: Sequence[int]) -> list[tuple[int, int]]:
    """The subsequence of the greatest weight whose second members rise.

    `best[t]`, a Fenwick tree over the ranks of the second members, holds the heaviest run that ends
    at or below a rank, and its last pair.
    """
    ranks = {j: rank for rank, j in enumerate(sorted(j for _, j in pairs), 1)}
    best: list[tuple[int, int]] = [(0, -1)] * (len(pairs) + 1)
    before: list[int] = []
    for k, (_, j) in enumerate(pairs):
        weight, last = 0, -1
        at = ranks[j] - 1
        while at:
            if best[at][0] > weight:
                weight, last = best[at]
            at &= at - 1
        before.append(last)
        at = ranks[j]
        while at < len(best):
            if best[at][0] < weight + weights[k]:
                best[at] = (weight + weights[k], k)
            at += at & -at
    k = max(best)[1]
    found: list[tuple[int, int]] = []
    while k >= 0:
        found.append(pairs[k])
        k = before[k]
    return found[::-1]


def rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest subsequence whose second members rise; `pairs` is sorted by the first."""
    return _heaviest(pairs, [1] * len(pairs))


def _gap(a: list[int], b: list[int], i: int, p: int, j: int, q: int) -> list[tuple[int, int]]:
    """Equal pairs of `a[i:p]` and `b[j:q]`."""
    head: list[tuple[int, int]] = []
    while i < p and j < q and a[i] == b[j]:
        head.append((i, j))
        i, j = i + 1, j + 1
    tail: list[tuple[int, int]] = []
    while i < p and j < q and a[p - 1] == b[q - 1]:
        p, q = p - 1, q - 1
        tail.append((p, q))
    middle: list[tuple[int, int]] = []
    if i < p and j < q and (p - i) * (q - j) <= _LCS_CELLS:
        for code in LCSseq.opcodes(a[i:p], b[j:q]):
            if code.tag == "equal":
                length = code.src_end - code.src_start
                middle += [(i + code.src_start + k, j + code.dest_start + k) for k in range(length)]
    return head + middle + tail[::-1]


# ---------------------------------------------------------------------------- what is alike


class _Pairing:
    """Turns the blocks without an equal into links. Used once."""

    def __init__(
        self,
        base: Sequence[Block],
        result: Sequence[Block],
        equal: Sequence[tuple[int, int]],
        old: list[int],
        new: list[int],
    ) -> None:
        self._base, self._result = base, result
        self._follower = dict(equal)
        self._old, self._new = old, new
        self._of_old: dict[int, Link] = {}
        self._of_new: dict[int, Link] = {}
        back = [(j, i) for i, j in equal]
        self._finders = {True: _Finder(base, result, old, new, equal),
                         False: _Finder(result, base, new, old, back)}  # fmt: skip

    def links(self) -> Iterable[Link]:
        self._same_text_elsewhere()
        self._similar()
        self._renamed_sections()
        self._fold(self._free_old(), forward=True)
        self._fold(self._free_new(), forward=False)
        for i in self._free_old():
            self._of_old[i] = Link("dropped", [i], [])
        for j in self._free_new():
            self._of_new[j] = Link("added", [], [j])
        seen: dict[int, Link] = {}
        for link in (*self._of_old.values(), *self._of_new.values()):
            seen.setdefault(id(link), link)
        return seen.values()

    def _free_old(self) -> list[int]:
        return [i for i in self._old if i not in self._of_old]

    def _free_new(self) -> list[int]:
        return [j for j in self._new if j not in self._of_new]

    def _join(self, kind: ChangeKind, i: int, j: int) -> None:
        link = Link(kind, [i], [j])
        self._of_old[i] = self._of_new[j] = link

    def _same_text_elsewhere(self) -> None:
        """Equal but for place: moved. Equal but for spacing or case: reworded."""
        places: dict[str, deque[int]] = defaultdict(deque)
        for j in self._new:
            places[normal(self._result[j].text)].append(j)
        for i in self._old:
            waiting = places.get(normal(self._base[i].text))
            if waiting:
                j = waiting.popleft()
                same = self._base[i].text == self._result[j].text
                self._join("moved" if same else self._kind(i), i, j)

    def _kind(self, i: int) -> ChangeKind:
        return "section_renamed" if self._base[i].kind == "heading" else "reworded"

    def _similar(self) -> None:
        """The most alike first; ties go to the nearest in order."""
        rank = {j: n for n, j in enumerate(self._free_new())}
        scored: list[tuple[float, int, int, int]] = []
        for n, i in enumerate(self._free_old()):
            for j in self._finders[True].near(i):
                if j not in rank:
                    continue
                if (self._base[i].kind == "heading") != (self._result[j].kind == "heading"):
                    continue
                score = likeness_of(self._base[i], self._result[j])
                if score >= SIMILAR:
                    scored.append((-score, abs(n - rank[j]), i, j))
        for _score, _distance, i, j in sorted(scored):
            if i not in self._of_old and j not in self._of_new:
                self._join(self._kind(i), i, j)

    def _renamed_sections(self) -> None:
        """Headings whose first content stayed are one section, whatever their names."""
        new = {self._first_after(self._result, j): j for j in self._free_new()
               if self._result[j].kind == "heading"}  # fmt: skip
        for i in self._free_old():
            if self._base[i].kind != "heading":
                continue
            first = self._first_after(self._base, i)
            link = self._of_old.get(first)
            target = self._follower.get(first, link.new[0] if link and link.new else -1)
            if target in new and new[target] not in self._of_new:
                self._join("section_renamed", i, new[target])

    @staticmethod
    def _first_after(blocks: Sequence[Block], at: int) -> int:
        return next((k for k in range(at + 1, len(blocks)) if blocks[k].kind != "blank"), -2)

    def _fold(self, free: list[int], *, forward: bool) -> None:
        """Blocks whose words are held by one block of the other side become part of its change.

        Forward: lines of the base that went into one line (merged). Backward: lines of the result
        that came out of one line (split).

        A line with a number that the other lacks is no part of it: it was dropped, or is new.
        """
        ours, theirs = (self._base, self._result) if forward else (self._result, self._base)
        for k in free:
            part = likeness.words(ours[k].text)
            if ours[k].kind not in _FOLDED or len(part) < 2:
                continue
            counts = likeness.numbers(ours[k].text)
            homes = (
                j for j in self._finders[forward].near(k)
                if theirs[j].kind in _FOLDED and counts <= likeness.numbers(theirs[j].text)
            )  # fmt: skip
            best = max(homes, key=self._holds(part, theirs), default=None)
            if best is not None and self._holds(part, theirs)(best) >= SIMILAR:
                self._attach(k, best, forward=forward)

    @staticmethod
    def _holds(part: frozenset[str], theirs: Sequence[Block]) -> Callable[[int], float]:
        return lambda k: likeness.contained(part, likeness.words(theirs[k].text))

    def _attach(self, k: int, home: int, *, forward: bool) -> None:
        link = (self._of_new if forward else self._of_old).get(home)
        if link is None:
            self._join("reworded", *((k, home) if forward else (home, k)))
            return
        mine, other = (link.old, link.new) if forward else (link.new, link.old)
        if len(other) > 1 or link.kind in ("moved", "section_renamed"):
            return
        mine.append(k)
        mine.sort()
        link.kind = "merged" if forward else "split"
        (self._of_old if forward else self._of_new)[k] = link


class _Finder:
    """For a block of one text the few of the other that may be the same.

    They share its rarer words, or stand where it would stand by the equal blocks before it. Where
    there are few blocks, all are looked at. `equal` are pairs of ours and theirs.
    """

    def __init__(
        self,
        ours: Sequence[Block],
        theirs: Sequence[Block],
        left: Sequence[int],
        right: Sequence[int],
        equal: Sequence[tuple[int, int]],
    ) -> None:
        self._ours, self._theirs, self._right = ours, theirs, right
        self._all = len(left) * len(right) <= 2_500
        self._marks = [(-1, -1), *equal]
        self._before = [mark[0] for mark in self._marks]
        self._known: dict[int, Sequence[int]] = {}

    @cached_property
    def _holders(self) -> dict[str, list[int]]:
        index: dict[str, list[int]] = defaultdict(list)
        for j in self._right:
            for word in likeness.words(self._theirs[j].text):
                index[word].append(j)
        return index

    def near(self, i: int) -> Sequence[int]:
        """Blocks of theirs, the most promising first."""
        if self._all:
            return self._right
        known = self._known.get(i)
        if known is None:
            known = self._known[i] = self._look(i)
        return known

    def _look(self, i: int) -> Sequence[int]:
        here, there = self._marks[bisect_left(self._before, i) - 1]
        place = there + i - here
        votes = list(_nearest(self._right, place))
        index = self._holders
        for word in likeness.words(self._ours[i].text):
            if word in index:
                holders = index[word]
                votes += holders if len(holders) <= _COMMON else _nearest(holders, place)
        counts = Counter(votes)
        if len(counts) <= _CANDIDATES:
            return list(counts)
        return [j for j, _ in counts.most_common(_CANDIDATES)]


def _nearest(places: Sequence[int], place: int) -> Sequence[int]:
    at = bisect_left(places, place)
    return places[max(0, at - _NEAREST) : at + _NEAREST]


def likeness_of(one: Block, other: Block) -> float:
    """How alike two blocks are, 0 to 1: characters in order, or words in any order."""
    a, b = one.body, other.body
    ratio = fuzz.ratio(a, b, score_cutoff=100 * SIMILAR) / 100
    if ratio >= SIMILAR:
        return ratio
    shared = likeness.share(likeness.words(one.text), likeness.words(other.text))
    return max(ratio, shared)
