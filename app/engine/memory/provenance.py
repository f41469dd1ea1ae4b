"""Where a line of MEMORY.md comes from: bullet, daily-log line, session entries.

Computed by matching texts, never by a model. What is kept with each version maps a bullet's content
hash to its `Origin`s; it holds places and hashes, no text, so that a text is only where it was
written. A line that was reworded, merged or split keeps the origins of what it was made of.
Specification, sections 3.7 and 10. Pure but for `explain`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from rapidfuzz import fuzz

from app.engine.memory import likeness
from app.engine.memory.outline import bullet_key, bullets, outline
from app.engine.records import Change, Provenance, Source, Version
from app.engine.workspace.memory_file import MemoryWriter
from app.engine.workspace.sections import SectionStates, WaitingSection

MATCH = 0.5
_BEST = 3
ROLES = {"user": "user", "model": "assistant", "assistant": "assistant", "tool": "tool"}


class Origin(Struct, frozen=True, omit_defaults=True):
    """Lines `line` to `end` of a daily log, in the section of that hash, and the entries behind.

    `row` counts within the section's content, so the line is found again when others came before.
    `role` is whose words they are: user, assistant, tool, or "" when nobody knows.
    """

    path: str
    line: int
    end: int
    section: str
    row: int = 0
    session: str = ""
    first: str = ""
    last: str = ""
    entry: str = ""
    role: str = ""


class Entry(Struct, frozen=True):
    """One session entry of a flushed range, as far as matching needs it."""

    id: str
    role: str
    text: str


Entries = Callable[[str, str, str], Sequence[Entry]]
"""(session id, first entry id, last entry id) -> the entries of that range."""


class Matcher:
    """Finds the daily-log lines that stand behind a text. Built once per run, asked per bullet."""

    def __init__(self, sections: Sequence[WaitingSection], entries: Entries | None = None) -> None:
        self._entries = entries
        self._lines: list[tuple[WaitingSection, int, str]] = [
            (found, row, line.text)
            for found in sections
            for row, line in enumerate(found.section.lines)
            if line.text.strip()
        ]
        self._index: dict[str, list[int]] = defaultdict(list)
        for k, (_, _, text) in enumerate(self._lines):
            for word in likeness.words(text):
                self._index[word].append(k)

    def origins(self, text: str) -> tuple[Origin, ...]:
        """The places `text` stems from, the best first; () when nothing is like it."""
        scored = sorted(((self._score(text, k), -k) for k in self._candidates(text)), reverse=True)
        best = scored[0][0] if scored else 0.0
        floor = max(MATCH, best * 0.8)
        return tuple(self._origin(text, -k) for score, k in scored[:_BEST] if score >= floor)

    def _candidates(self, text: str) -> list[int]:
        votes: Counter[int] = Counter()
        for word in likeness.words(text):
            holders = self._index.get(word, ())
            for k in holders[:2_000]:
                votes[k] += 1
        return [k for k, _ in votes.most_common(12)]

    def _score(self, text: str, k: int) -> float:
        return resemblance(text, self._lines[k][2])

    def _origin(self, text: str, k: int) -> Origin:
        found, row, _ = self._lines[k]
        section = found.section
        number = section.lines[row].line
        entry, role = self._entry(text, found)
        return Origin(
            path=found.path, line=number, end=number, section=section.hash, row=row,
            session=section.session_id, first=section.first_entry, last=section.last_entry,
            entry=entry, role=role,
        )  # fmt: skip

    def _entry(self, text: str, found: WaitingSection) -> tuple[str, str]:
        """The entry that is most like the text, and whose it is."""
        section = found.section
        known = ROLES.get(section.origin, "")
        if self._entries is None or not section.session_id:
            return section.first_entry, known
        entries = self._entries(section.session_id, section.first_entry, section.last_entry)
        words = likeness.words(text)
        best = max(
            entries, key=lambda e: likeness.contained(words, likeness.words(e.text)), default=None
        )
        if best is None or likeness.contained(words, likeness.words(best.text)) < 0.25:
            return section.first_entry, known
        return best.id, best.role


def resemblance(text: str, line: str) -> float:
    """How much `line` speaks for `text`, 0 to 1: alike, or one holds the words of the other."""
    ours, theirs = likeness.words(text), likeness.words(line)
    score = likeness.contained(ours, theirs)
    if len(theirs) > 1:
        score = max(score, likeness.contained(theirs, ours))
    if score >= MATCH:
        return max(score, fuzz.ratio(text, line) / 100)
    return score


def of_changes(found: Iterable[Change], matcher: Matcher) -> dict[str, tuple[Origin, ...]]:
    """For each new or altered fact of a proposal, by bullet key, the inputs it stems from."""
    return {
        bullet_key(block.text): origins
        for change in found
        if change.kind != "dropped"
        for block in bullets("\n".join(change.after))
        if (origins := matcher.origins(block.text))
    }


def carried(
    text: str,
    found: Iterable[Change],
    before: Mapping[str, Sequence[Origin]],
    new: Mapping[str, Sequence[Origin]],
) -> dict[str, tuple[Origin, ...]]:
    """The provenance of `text`: what its lines had, what they were made of, what is new.

    `found` are the changes that led to `text` from the text that `before` belongs to.
    """
    inherited: dict[str, list[Origin]] = defaultdict(list)
    for change in found:
        old = [
            o for b in bullets("\n".join(change.before)) for o in before.get(bullet_key(b.text), ())
        ]
        for block in bullets("\n".join(change.after)):
            inherited[bullet_key(block.text)] += old
    made: dict[str, tuple[Origin, ...]] = {}
    for block in bullets(text):
        key = bullet_key(block.text)
        origins = [*before.get(key, ()), *inherited.get(key, ()), *new.get(key, ())]
        if origins:
            made[key] = tuple(dict.fromkeys(origins))
    return made


# ---------------------------------------------------------------------------- as it is stored


def to_record(origins: Mapping[str, Sequence[Origin]]) -> dict[str, Any]:
    """The content of `provenance.json`."""
    return {
        "v": 1,
        "bullets": {key: msgspec.to_builtins(list(value)) for key, value in origins.items()},
    }


def from_record(record: Mapping[str, Any]) -> dict[str, tuple[Origin, ...]]:
    """The origins of a `provenance.json`; what is not understood is left out."""
    made: dict[str, tuple[Origin, ...]] = {}
    for key, value in dict(record.get("bullets") or {}).items():
        try:
            made[key] = msgspec.convert(value, tuple[Origin, ...])
        except msgspec.ValidationError:
            continue
    return made


# ---------------------------------------------------------------------------- why


def why(
    text: str,
    line: int,
    stored: Mapping[str, Sequence[Origin]],
    sections: Sequence[WaitingSection],
    since: Callable[[str], Version | None],
) -> Provenance:
    """Why line `line` (1-based) of `text` is there.

    `sections` are all sections on the disk: a daily log that was archived or edited is found by the
    section's hash. A link that leads nowhere is said, not hidden.
    """
    lines = text.split("\n")
    if not 1 <= line <= len(lines):
        return Provenance(line, "", None, (), "MEMORY.md has no such line.")
    block = next(b for b in outline(text) if b.start < line <= b.end)
    version = since(lines[line - 1])
    origins = stored.get(bullet_key(block.text), ())
    if block.kind in ("heading", "blank", "comment"):
        return Provenance(line, lines[line - 1], version, ())
    if not origins:
        ran = version is not None and version.cause == "consolidation"
        how = "the run named none" if ran else "it was written by hand or came from elsewhere"
        said = f"No source is on record: {how}."
        return Provenance(line, lines[line - 1], version, (), said)
    homes = {found.section.hash: found for found in sections}
    known = [_source(o, homes[o.section]) for o in origins if o.section in homes]
    gone = len(origins) - len(known)
    broken = (
        f"{gone} of {len(origins)} sources can no longer be found in the daily logs."
        if gone
        else ""
    )
    return Provenance(line, lines[line - 1], version, tuple(known), broken)


def explain(writer: MemoryWriter, states: SectionStates, line: int) -> Provenance:
    """Why line `line` of MEMORY.md as it is now is there. Blocks: call it in a thread."""
    history = writer.history
    stored = from_record(history.provenance())
    return why(writer.readable().text, line, stored, states.known(), history.since)


def _source(origin: Origin, found: WaitingSection) -> Source:
    """The place as it is now: the file may have moved, and lines may have come before."""
    section = found.section
    line = section.lines[min(origin.row, len(section.lines) - 1)]
    return Source(
        path=found.path,
        line=line.line,
        text=line.text,
        session_id=origin.session,
        entry_id=origin.entry or origin.first,
        section=section.hash,
    )


def source_of(origin: Origin, text: str = "") -> Source:
    """An origin as the window shows it beside a change."""
    return Source(
        origin.path, origin.line, text, origin.session, origin.entry or origin.first, origin.section
    )
