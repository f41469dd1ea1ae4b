"""The difference of two versions of MEMORY.md, as decisions a person can take one by one.

The texts are cut into blocks (`outline`), the blocks are matched (`alignment`), and what differs
becomes a row of `Slot`s: stretches of lines of the base and of the result, each belonging to one
change. Reading the slots in order with every change accepted gives the result, with every change
rejected the base, byte for byte. Blank lines ride with the change beside them, so that nobody has
to decide about an empty line. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct
from rapidfuzz.distance import Indel, Opcode

from app.engine.memory.alignment import Alignment, Link, align, rising
from app.engine.memory.likeness import CJK
from app.engine.memory.outline import Block, lines_of, outline
from app.engine.records import Change, Span

_Edit = tuple[int, int, int, int]  # tokens i to j of one text became k to m of the other
_TOKEN = re.compile(rf"[{CJK}]|[^\W{CJK}]+|\s+|.", re.DOTALL)


class Slot(Struct, frozen=True):
    """Lines `old` of the base or lines `new` of the result (0-based, end excluded).

    `n` is the change they belong to; 0 where both are equal. `rider` marks blank lines that go
    with change `n` without being part of what it says.
    """

    n: int
    old: tuple[int, int]
    new: tuple[int, int]
    rider: bool = False


class Difference(Struct, frozen=True):
    """Two texts, the decisions between them, and the slots that put either together again."""

    base: tuple[str, ...]
    result: tuple[str, ...]
    changes: tuple[Change, ...]
    slots: tuple[Slot, ...]


def changes(base: str, candidate: str) -> tuple[Change, ...]:
    """The decisions that lie between two texts, in file order, numbered from 1."""
    return difference(base, candidate).changes


def difference(base: str, candidate: str) -> Difference:
    """The decisions between two texts with everything needed to apply them."""
    old, new = outline(base), outline(candidate)
    aligned = align(old, new)
    raw = _walk(old, new, aligned)
    order = _numbers(raw)
    slots = _riders(raw, order)
    made = [
        _change(link, order[key], old, new)
        for key, link in enumerate(aligned.links, 1)
    ]  # fmt: skip
    if not aligned.links and any(s.n for s in slots):
        made = [Change(1, "reworded", (), ())]  # blank lines alone
    made.sort(key=lambda c: c.n)
    return Difference(tuple(lines_of(base)), tuple(lines_of(candidate)), tuple(made), slots)


def word_marks(before: str, after: str) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    """The stretches of each text that the other lacks: words of Latin script, single characters
    of Chinese, Japanese and Korean. Offsets in code points."""
    a, b = _TOKEN.findall(before), _TOKEN.findall(after)
    if len(a) * len(b) > 4_000_000:  # a line of some hundred kilobytes: marked whole
        return _whole(before), _whole(after)
    lost: list[tuple[int, int]] = []
    gained: list[tuple[int, int]] = []
    for code in _readable(Indel.opcodes(a, b), a, b):
        lost.append((code[0], code[1]))
        gained.append((code[2], code[3]))
    return _spans(a, lost), _spans(b, gained)


def _readable(codes: Iterable[Opcode], a: Sequence[str], b: Sequence[str]) -> list[_Edit]:
    """What differs, as a person would say it: words in a row are one stretch, although the spaces
    between them are the same, and so is a time of which hours and minutes differ. A stretch that
    could stand further right ("on 9 |November, then 28 |November") stands there."""
    edits = [
        (code.src_start, code.src_end, code.dest_start, code.dest_end)
        for code in codes
        if code.tag != "equal"
    ]
    touching = _merged(edits, lambda last, edit: last[1] == edit[0])
    found = _merged(touching, lambda last, edit: _is_thin(a[last[1] : edit[0]], last, edit))
    ends = [*(edit[0] for edit in found[1:]), len(a)][: len(found)]
    return [_slid(edit, a, b, end) for edit, end in zip(found, ends, strict=True)]


def _merged(edits: Sequence[_Edit], as_one: Callable[[_Edit, _Edit], bool]) -> list[_Edit]:
    """The edits, each joined with the one before it where that is `as_one`."""
    found: list[_Edit] = []
    for edit in edits:
        if found and as_one(found[-1], edit):
            edit = (found[-1][0], edit[1], found.pop()[2], edit[3])
        found.append(edit)
    return found


def _is_thin(between: Sequence[str], last: _Edit, edit: _Edit) -> bool:
    """Whether the same text between two edits is too little to part them: spaces alone, or one
    sign within a number or name."""
    if all(token.isspace() for token in between):
        return True
    replaced = all(e[0] < e[1] and e[2] < e[3] for e in (last, edit))
    return replaced and len(between) == 1 and between[0] in ":.,-/_"


def _slid(edit: _Edit, a: Sequence[str], b: Sequence[str], end: int) -> _Edit:
    """An edit that only adds or only takes away, as far right as the text around it allows."""
    i, j, k, m = edit
    while j < end and m < len(b):
        if (i == j and b[k] == b[m]) or (k == m and a[i] == a[j]):
            i, j, k, m = i + 1, j + 1, k + 1, m + 1
        else:
            break
    return i, j, k, m


def _whole(text: str) -> tuple[Span, ...]:
    return (Span(0, len(text)),) if text else ()


def _spans(tokens: Sequence[str], ranges: Sequence[tuple[int, int]]) -> tuple[Span, ...]:
    starts = [0]
    for token in tokens:
        starts.append(starts[-1] + len(token))
    found: list[Span] = []
    for i, j in ranges:
        if i == j:
            continue
        if found and found[-1].end == starts[i]:
            found[-1] = Span(found[-1].start, starts[j])
        else:
            found.append(Span(starts[i], starts[j]))
    return tuple(found)


# ---------------------------------------------------------------------------- slots


class _Raw(Struct):
    """A slot before numbers: `key` is the link's place from 1, 0 equal, -1 a blank to be given."""

    key: int
    old: tuple[int, int]
    new: tuple[int, int]


def _walk(old: Sequence[Block], new: Sequence[Block], aligned: Alignment) -> list[_Raw]:
    key_old: dict[int, int] = {}
    key_new: dict[int, int] = {}
    paired: dict[int, int] = {}
    for key, link in enumerate(aligned.links, 1):
        key_old.update(dict.fromkeys(link.old, key))
        key_new.update(dict.fromkeys(link.new, key))
        if link.old and link.new and link.kind != "moved":
            paired[link.old[0]] = link.new[0]
    raw: list[_Raw] = []
    i = j = 0
    for p, q in [*aligned.equal, (len(old), len(new))]:
        raw += _gap(old, new, (i, p), (j, q), key_old, key_new, paired)
        if p < len(old):
            raw.append(_Raw(0, (old[p].start, old[p].end), (new[q].start, new[q].end)))
        i, j = p + 1, q + 1
    return raw


def _gap(
    old: Sequence[Block],
    new: Sequence[Block],
    mine: tuple[int, int],
    theirs: tuple[int, int],
    key_old: dict[int, int],
    key_new: dict[int, int],
    paired: dict[int, int],
) -> list[_Raw]:
    """The slots between two equal blocks: pairs that keep their order side by side."""
    pairs = [
        (i, paired[i]) for i in range(*mine) if i in paired and theirs[0] <= paired[i] < theirs[1]
    ]
    raw: list[_Raw] = []
    i, j = mine[0], theirs[0]
    for p, q in [*rising(pairs), (mine[1], theirs[1])]:
        at = new[j - 1].end if j else 0
        raw += [_Raw(key_old.get(k, -1), (old[k].start, old[k].end), (at, at)) for k in range(i, p)]
        here = old[p - 1].end if p else 0
        raw += [_Raw(key_new.get(k, -1), (here, here), (new[k].start, new[k].end))
                for k in range(j, q)]  # fmt: skip
        if p < mine[1]:
            raw.append(_Raw(key_old[p], (old[p].start, old[p].end), (new[q].start, new[q].end)))
        i, j = p + 1, q + 1
    return raw


def _numbers(raw: Sequence[_Raw]) -> dict[int, int]:
    order: dict[int, int] = {}
    for slot in raw:
        if slot.key > 0:
            order.setdefault(slot.key, len(order) + 1)
    return order


def _riders(raw: Sequence[_Raw], order: dict[int, int]) -> tuple[Slot, ...]:
    """Give each blank slot to a change: the next one of its gap, else the one before, else the
    nearest of the file; without any change at all blanks are change 1 by themselves."""
    owner = [order.get(slot.key, 0) for slot in raw]
    ahead = _nearest(raw, owner, backwards=True)
    behind = _nearest(raw, owner, backwards=False)
    slots: list[Slot] = []
    for k, slot in enumerate(raw):
        if slot.key >= 0:
            slots.append(Slot(owner[k], slot.old, slot.new))
            continue
        near, far = (ahead[k], behind[k])
        choice = near[0] or far[0] or near[1] or far[1] or 1
        slots.append(Slot(choice, slot.old, slot.new, rider=True))
    return tuple(slots)


def _nearest(
    raw: Sequence[_Raw], owner: Sequence[int], *, backwards: bool
) -> list[tuple[int, int]]:
    """For each slot the nearest change in one direction: within the gap, and in the whole file."""
    found: list[tuple[int, int]] = [(0, 0)] * len(raw)
    gap = whole = 0
    for k in reversed(range(len(raw))) if backwards else range(len(raw)):
        if raw[k].key == 0:
            gap = 0
        elif raw[k].key > 0:
            gap = whole = owner[k]
        found[k] = (gap, whole)
    return found


def _change(link: Link, n: int, old: Sequence[Block], new: Sequence[Block]) -> Change:
    home = new[link.new[0]] if link.new else old[link.old[0]]
    return Change(
        n=n,
        kind=link.kind,
        before=tuple(line for i in link.old for line in lines_of(old[i].text)),
        after=tuple(line for j in link.new for line in lines_of(new[j].text)),
        section=home.section,
        came_from=old[link.old[0]].section if link.kind == "moved" else "",
        base_line=old[link.old[0]].start + 1 if link.old else 0,
        result_line=new[link.new[0]].start + 1 if link.new else 0,
    )
