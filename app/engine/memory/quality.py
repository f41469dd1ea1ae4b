"""What a person may want to mend in MEMORY.md: lines said twice, dates gone by, contradictions.

Rules, no model. Conservative on purpose: a remark costs attention. What is said twice differs in
nothing that counts; a date is only out of date when its line says that it was an end; lines may
contradict each other when they are the same but for a value (what stands after "at", "is", "until"
…; a number that names something, as in "room 2", is no value) or for a "not". Pure, near-linear:
lines are compared only with those that share their rarer words. Specification of the window,
section 5.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import date, timedelta

from msgspec import Struct
from rapidfuzz import fuzz

from app.engine.memory.likeness import affirmed, negations, share, specifics, words
from app.engine.memory.outline import bullets, normal
from app.engine.memory.sameness import same_fact
from app.engine.records import Remark
from app.engine.search.stems import stem

_SAME_BUT_VALUE = 90  # per cent of letters in common once the values are masked
_SAME_BUT_NOT = 0.75  # of the words, once every "not" is left out
_COMMON = 40  # a word in more lines than this leads nowhere
_CANDIDATES = 8


class _Fact(Struct, frozen=True):
    line: int
    text: str


def remarks(text: str, today: date) -> list[Remark]:
    """All remarks about a text, in the order of their first line."""
    facts = [
        _Fact(block.start + 1, block.text)
        for block in bullets(text)
        if block.kind in ("bullet", "text")
    ]
    found = [*_repeated(facts), *_stale(facts, today)]
    for one, other in _pairs(facts):
        lines = (one.line, other.line)
        if same_fact(one.text, other.text):
            found.append(Remark("near_duplicate", lines, f"{_both(lines)} say nearly the same."))
        elif why := _contradiction(one.text, other.text):
            said = f"{_both(lines)} may contradict each other: {why}."
            found.append(Remark("contradiction", lines, said))
    return sorted(found, key=lambda remark: remark.lines)


def _both(lines: Sequence[int]) -> str:
    return f"Lines {', '.join(str(n) for n in lines[:-1])} and {lines[-1]}"


# ---------------------------------------------------------------------------- said twice


def _repeated(facts: Sequence[_Fact]) -> Iterator[Remark]:
    places: dict[str, list[int]] = defaultdict(list)
    for fact in facts:
        if key := normal(fact.text):
            places[key].append(fact.line)
    for lines in places.values():
        if len(lines) > 1:
            yield Remark("duplicate", tuple(lines), f"{_both(lines)} say the same.")


def _pairs(facts: Sequence[_Fact]) -> Iterator[tuple[_Fact, _Fact]]:
    """Pairs of different lines that share rarer words, each once, the earlier line first."""
    seen: dict[str, None] = {}
    once = [
        f for f in facts if (key := normal(f.text)) not in seen and not seen.update({key: None})
    ]
    index: dict[str, list[int]] = defaultdict(list)
    for at, fact in enumerate(once):
        votes: Counter[int] = Counter()
        for word in words(fact.text):
            holders = index[word]
            if len(holders) <= _COMMON:
                votes.update(holders)
            holders.append(at)
        for other, _ in votes.most_common(_CANDIDATES):
            yield once[other], fact


# ---------------------------------------------------------------------------- gone by

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan januar", "february feb februar", "march mar märz", "april apr",
            "may mai", "june jun juni", "july jul juli", "august aug",
            "september sep sept", "october oct oktober okt", "november nov",
            "december dec dezember dez",
        ), 1,
    )
    for name in names.split(" ")
}  # fmt: skip
_NAMES = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DATE = (
    r"(?:(?P<y>\d{4})(?:[-/.](?P<m>\d{1,2})(?:[-/.](?P<d>\d{1,2}))?"
    r"|年(?P<cm>\d{1,2})月(?:(?P<cd>\d{1,2})日?)?)"
    rf"|(?P<ed>\d{{1,2}})\.?\s+(?P<em>{_NAMES})\.?,?\s+(?P<ey>\d{{4}})"
    rf"|(?P<am>{_NAMES})\.?\s+(?P<ad>\d{{1,2}}),?\s+(?P<ay>\d{{4}}))(?!\d)"
)
_END = re.compile(
    rf"(?:\b(?:until|till|by|before|through|due|deadline|expires?|ends?|bis|vor|fällig)\b"
    rf"(?:\W+(?:on|the|is|end|of|at|zum|am|den)\b){{0,2}}\W{{1,3}}|(?:截止|截至|直到|到)[^\d\n]{{0,3}})"
    rf"{_DATE}",
    re.IGNORECASE,
)
_ENDED = re.compile(rf"{_DATE}\s*(?:之前|以前|前|为止|截止|到期)")


# What was over when it was written down is history: "lived there until 2020".
_PAST = re.compile(
    r"\b(?:was|were|had|did|used to|went|ran|took|kept|held|led|left)\b"
    r"|(?<!\bis )(?<!\bare )(?<!\bbe )(?<!\bstays )\b[a-z]{3,}ed\b|[了曾过]",
    re.IGNORECASE,
)


def _stale(facts: Sequence[_Fact], today: date) -> Iterator[Remark]:
    for fact in facts:
        for found in (_ENDED.search(fact.text), _END.search(fact.text)):
            end = _day(found) if found is not None else None
            if found is None or end is None or _PAST.search(fact.text[: found.start()]):
                continue
            if end < today:
                said = " ".join(found.group().split())
                yield Remark("stale", (fact.line,), f"“{said}” has passed.")
                break


def _day(found: re.Match[str]) -> date | None:
    """The last day a found date means; None when there is no such day."""
    part = found.groupdict()
    year = int(part["y"] or part["ey"] or part["ay"])
    name = part["em"] or part["am"]
    month = _MONTHS[name.lower()] if name else int(part["m"] or part["cm"])
    day = part["d"] or part["cd"] or part["ed"] or part["ad"]
    try:
        if day:
            return date(year, month, int(day))
        return date(year + month // 12, month % 12 + 1, 1) - timedelta(days=1)
    except ValueError:
        return None


# ---------------------------------------------------------------------------- contradictions

_VALUE = re.compile(
    r"(?:(?<=\bat )|(?<=\bis )|(?<=\bare )|(?<=\bwas )|(?<=\bon )|(?<=\bto )|(?<=\bin )|(?<=\bby )"
    r"|(?<=\buntil )|(?<=\bcosts )|(?<=\bhas )|(?<=\bum )|(?<=\bbis )|(?<=\bist )|(?<=\bam )"
    r"|(?<=: )|(?<== )|(?<=[在是为于到有]))"
    r"\d[\d.,:/年月日-]*\d?"
)


def _contradiction(one: str, other: str) -> str:
    """Why two lines may contradict each other, as words; "" when nothing speaks for it."""
    if negations(one) % 2 != negations(other) % 2:
        alike = share(_stems(one), _stems(other)) >= _SAME_BUT_NOT
        return "one says “not”" if alike and _holds(one, other) and _holds(other, one) else ""
    a, b = _VALUE.sub("#", one), _VALUE.sub("#", other)
    if specifics(a) != specifics(b) or fuzz.ratio(normal(a), normal(b)) < _SAME_BUT_VALUE:
        return ""
    ours, theirs = _values(one), _values(other)
    mine = [value for value in ours if value not in theirs]
    yours = [value for value in theirs if value not in ours]
    return f"{mine[0]} and {yours[0]}" if mine and yours else ""


def _holds(one: str, other: str) -> bool:
    """Whether every name, number and date of one line occurs in the other."""
    text = other.casefold()
    return all(thing in text for thing in specifics(one))


def _values(text: str) -> list[str]:
    return [found.rstrip(".,:-") for found in _VALUE.findall(text)]


def _stems(text: str) -> frozenset[str]:
    """The words of a text in their base form, without those that say no."""
    return frozenset(stem(word) for word in words(affirmed(text)))
