"""The place of a hit: the lines around it, and where it came from and what it became.

Asks the engine and gives plain values. A hit that is no longer where it was found is shown as it
was found, and the page says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.engine.errors import UserError
from app.engine.records import Hit, HitPlace, TranscriptItem
from app.gui.look.text import (
    clock,
    moment,
    number,
    plain_line,
    preview,
    sentence,
    tr,
    without_escapes,
)
from app.gui.panes.search.model import (
    PROPOSAL,
    VERSION,
    day_of,
    flat,
    held_by,
    place_words,
    title_of,
    version_of,
)
from app.gui.widgets.pane import Target

AROUND = 60  # lines before and after
ITEMS = 12  # session items before and after
LONGEST = 600  # characters of one line that are shown
READ = 40_000  # characters of an evicted result read at a time
STATES = {
    "proposed": "waiting", "in_review": "in review", "applying": "being applied",
    "applied": "applied", "partly_applied": "partly applied", "rejected": "rejected",
    "superseded": "replaced by a newer one",
}  # fmt: skip
FARTHEST = 40  # such pages that are looked through for a line


@dataclass(frozen=True)
class PageLine:
    """One line of a place: its number (or the speaker), and its text."""

    label: str
    text: str
    head: bool = False


@dataclass(frozen=True)
class Way:
    """A link out of the preview: "Came from", "Became", "Also in"."""

    label: str
    icon: str
    text: str
    target: Target
    key: str = ""


@dataclass(frozen=True)
class Place:
    """A preview, ready to be shown. `at` is the index of the hit's line."""

    title: str
    details: str
    lines: tuple[PageLine, ...]
    at: int
    ways: tuple[Way, ...] = ()
    note: str = ""


def target_of(hit: Hit | HitPlace, find: str) -> Target:
    """The place that Enter opens, with what to find there."""
    if hit.layer == "daily":
        return Target("daily", path=hit.path, line=hit.line, find=find)
    if hit.layer == "sessions":
        return Target("timeline", session_id=hit.session_id, entry_id=hit.entry_id, find=find)
    if hit.layer == "evicted":
        return Target("evicted", path=hit.path, line=hit.line, find=find)
    if hit.path.startswith(PROPOSAL):
        return Target("memory", proposal=hit.path.removeprefix(PROPOSAL))
    if hit.path.startswith(VERSION):
        return Target("memory", version=held_by(hit), line=hit.line, find=find)
    return Target("memory", line=hit.line, find=find)


def needle_of(hit: Hit, words: str) -> str:
    """What to find in the place: the words as typed if they stand there, else what was matched."""
    typed = words.strip().strip('"')
    if typed and typed.casefold() in hit.text.casefold():
        return typed
    pieces = [hit.text[s.start : s.end] for s in hit.spans]
    return max(pieces, key=len, default=typed)


async def look(ask: Any, hit: Hit, titles: Mapping[str, str], now: datetime) -> Place:
    """The place around `hit`; the hit alone, with a note, when it cannot be read."""
    try:
        if hit.layer == "memory":
            return await _memory(ask, hit, now)
        if hit.layer == "daily":
            return await _daily(ask, hit, titles, now)
        if hit.layer == "sessions":
            return await _session(ask, hit, titles, now)
        if hit.layer == "evicted":
            return await _evicted(ask, hit, titles)
        if hit.path.startswith(PROPOSAL):
            return await _proposal(ask, hit, now)
        if hit.path.startswith(VERSION):
            return await _version(ask, hit, now)
    except UserError as error:
        return _alone(hit, titles, now, str(error))
    return _alone(hit, titles, now, "")


def _alone(hit: Hit, titles: Mapping[str, str], now: datetime, note: str) -> Place:
    line = PageLine(number(hit.line) if hit.line else "", flat(hit.text))
    return Place(place_words(hit, titles, now), moment(hit.when, now), (line,), 0, note=note)


def _gone() -> str:
    return tr("This line is no longer as it was found.")


def _item(text: str) -> str:
    """A line of a list as it is read: without its bullet."""
    bare = text.lstrip()
    return flat(_cut(bare[2:] if bare[:2] in ("- ", "* ", "+ ") else text))


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


async def _memory(ask: Any, hit: Hit, now: datetime) -> Place:
    view = await ask.memory()
    texts = view.text.split("\n")
    lines, here = _lines_around(texts, hit.line)
    there = here >= 0 and _same(hit.text, texts[hit.line - 1])
    ways: tuple[Way, ...] = ()
    if there:
        ways = await _sources(ask, hit.line, now)
    details = tr("version {n}", n=view.version) if view.version else ""
    return Place("MEMORY.md", details, lines, here, ways, "" if there else _gone())


async def _version(ask: Any, hit: Hit, now: datetime) -> Place:
    """The version that holds the line: of a lost one the version before it went."""
    texts = (await ask.version_text(held_by(hit))).split("\n")
    lines, here = _lines_around(texts, hit.line)
    there = here >= 0 and _same(hit.text, texts[hit.line - 1])
    title = tr("MEMORY.md, version {n}", n=number(held_by(hit)))
    ways: tuple[Way, ...] = ()
    if held_by(hit) != version_of(hit):
        gone = Target("memory", version=version_of(hit))
        words = tr("version {n}", n=number(version_of(hit)))
        ways = (Way(tr("Went with"), "rotate-ccw-clock", words, gone, "G, C"),)
    return Place(title, moment(hit.when, now), lines, here, ways, "" if there else _gone())


async def _proposal(ask: Any, hit: Hit, now: datetime) -> Place:
    found = await ask.proposal(hit.path.removeprefix(PROPOSAL))
    texts = found.candidate.split("\n")
    lines, here = _lines_around(texts, hit.line)
    there = here >= 0 and _same(hit.text, texts[hit.line - 1])
    details = sentence((tr(STATES.get(found.info.state, "")), moment(hit.when, now)))
    if not there:
        lines, here = (PageLine("", flat(hit.text)),), 0
    return Place(tr("A proposal"), details, lines, here)


def _lines_around(texts: list[str], line: int) -> tuple[tuple[PageLine, ...], int]:
    """Lines of a Markdown file around a 1-based one, and its place among them (-1 for none)."""
    first = max(line - 1 - AROUND, 0)
    near = [(n, text) for n, text in enumerate(texts, 1) if first < n <= line + AROUND]
    near = [(n, text) for n, text in near if text.strip() or n == line]
    lines = tuple(
        PageLine(str(n), text.strip("# ") if text[:1] == "#" else _item(text), text[:1] == "#")
        for n, text in near
    )
    return lines, next((i for i, (n, _) in enumerate(near) if n == line), -1)


async def _sources(ask: Any, line: int, now: datetime) -> tuple[Way, ...]:
    try:
        why = await ask.why(line)
    except UserError:
        return ()
    out: list[Way] = []
    for source in why.sources[:2]:
        log = Target("daily", path=source.path, line=source.line)
        words = tr("{name}, line {n}", name=day_of(source.path, now), n=number(source.line))
        out.append(Way(tr("Came from"), "calendar-days", words, log, "" if out else "G, P"))
        if source.session_id:
            said = Target("timeline", session_id=source.session_id, entry_id=source.entry_id)
            out.append(Way(tr("Said in"), "message-square", tr("its session"), said))
    return tuple(out)


async def _daily(ask: Any, hit: Hit, titles: Mapping[str, str], now: datetime) -> Place:
    log = await ask.day(hit.path)
    lines: list[PageLine] = []
    at, section, found = 0, None, None
    for one in log.sections:
        when = tr("Saved at {time}") if one.kind == "save" else tr("Flush at {time}")
        head = when.format(time=clock(one.when)) if one.when else preview(one.heading, 60)
        lines.append(PageLine("", head, head=True))
        for line in one.lines:
            if line.line <= hit.line:
                at, section, found = len(lines), one, line
            lines.append(PageLine(str(line.line), _item(line.text)))
    first = max(at - AROUND, 0)
    there = found is not None and found.line == hit.line and _same(hit.text, found.text)
    details, ways = "", []
    if section is not None:
        title = title_of(titles, section.session_id, 40)
        details = sentence((lines[0].text if len(log.sections) == 1 else "", title))
        if section.session_id:
            target = Target("timeline", session_id=section.session_id, entry_id=section.first_entry)
            words = title or tr("its session")
            ways.append(Way(tr("Came from"), "message-square", words, target, "G, P"))
    if found is not None and there:
        ways += _became(found, hit)
    shown = tuple(lines[first : at + AROUND + 1])
    note = "" if there else log.problem or _gone()
    return Place(day_of(hit.path, now), details, shown, at - first, tuple(ways), note)


def _became(line: Any, hit: Hit) -> list[Way]:
    """What became of a line; one that waits may stand in a proposal that is open already."""
    proposed = next((p for p in hit.places if p.path.startswith(PROPOSAL)), None)
    if line.state == "waiting" and proposed is not None:
        where = tr("part of a proposal for MEMORY.md")
        return [Way(tr("Became"), "book-bookmark", where, target_of(proposed, ""), "G, C")]
    word = {
        "merged": tr("MEMORY.md, merged"),
        "waiting": tr("waiting for the next review"),
        "left_out": tr("left out of MEMORY.md"),
        "rejected": tr("rejected in review"),
    }.get(line.state, "")
    if not word:
        return []
    target = Target("memory", proposal=line.proposal) if line.proposal else Target("memory")
    if line.state == "merged":
        target = Target("memory", find=line.text.strip(" -*")[:60])
    return [Way(tr("Became"), "book-bookmark", word, target, "G, C")]


async def _session(ask: Any, hit: Hit, titles: Mapping[str, str], now: datetime) -> Place:
    items: list[TranscriptItem] = await ask.transcript(
        hit.session_id, around=hit.entry_id, limit=2 * ITEMS + 1
    )
    items = [item for item in items if item.text.strip() or item.kind == "tool"]
    at = _at(items, hit)
    lines = tuple(
        PageLine(_speaker(item), _said(item, hit if i == at else None))
        for i, item in enumerate(items)
    )
    title = title_of(titles, hit.session_id) or tr("A session")
    details = moment(hit.when, now)  # `hit.line` is a line of the log, no number of a message
    if at < 0:
        return _alone(hit, titles, now, _gone())
    ways: list[Way] = []
    item = items[at]
    if item.kind == "tool" and item.target:
        put = Target("evicted", path=item.target)
        ways.append(Way(tr("Put aside in"), "archive", tr("Evicted"), put, "G, C"))
    return Place(title, details, lines, at, tuple(ways))


def _at(items: list[TranscriptItem], hit: Hit) -> int:
    """The item that a hit's entry became: itself, or the call whose result it is."""
    for i, item in enumerate(items):
        if hit.entry_id in (item.id, item.detail.get("result_id")):
            return i
    before = [i for i, item in enumerate(items) if item.seq <= hit.line]
    return before[-1] if before else -1


def _speaker(item: TranscriptItem) -> str:
    if item.kind == "tool":
        return plain_line(item.tool) or tr("tool")
    return {"user": tr("You"), "assistant": tr("Agent")}.get(item.kind, tr(item.kind.capitalize()))


def _said(item: TranscriptItem, hit: Hit | None) -> str:
    text = item.text
    if item.kind == "tool":
        parts = (item.arguments, without_escapes(item.result or ""))
        text = "  ".join(part for part in parts if part)
    if hit is not None:
        whole = flat(text)
        needle = flat(without_escapes(hit.text)).strip("… ")
        at = whole.find(needle[:200]) if needle else -1
        if at > LONGEST // 3:
            return "…" + _cut(whole[at:])
        return _cut(whole) if at >= 0 else _cut(flat(hit.text))
    return _cut(flat(text)) if text.strip() else "–"


async def _evicted(ask: Any, hit: Hit, titles: Mapping[str, str]) -> Place:
    """The lines around the hit's own; far down in a huge result, the hit alone."""
    begun, line, start = "", 1, 0
    before: list[str] = []
    title = sentence((plain_line(hit.tool), title_of(titles, hit.session_id, 40)))
    for _ in range(FARTHEST):
        page = await ask.evicted_page(hit.path, start, READ)
        texts = without_escapes(begun + page.text).split("\n")
        last = page.end >= page.total
        begun = "" if last else texts.pop()
        if line + len(texts) > hit.line or last:
            near = before[-20:] + texts
            first = line - min(len(before), 20)
            at = min(hit.line - first, len(near) - 1)
            low = max(at - 20, 0)
            lines = [
                PageLine(str(first + low + i), flat(_cut(text)))
                for i, text in enumerate(near[low : at + 40])
            ]
            here = at - low
            lines[here] = PageLine(lines[here].label, _cut(_near(near[at], hit)))
            words = tr("line {n}", n=number(hit.line))
            return Place(title or tr("Result put aside"), words, tuple(lines), here)
        line += len(texts)
        before = texts
        start = page.end
        if len(begun) > 4 * READ:
            break
    line_ = PageLine(number(hit.line), flat(without_escapes(hit.text)))
    return Place(title or tr("Result put aside"), tr("line {n}", n=hit.line), (line_,), 0)


def _near(text: str, hit: Hit) -> str:
    needle = flat(without_escapes(hit.text)).strip("… ")[:200]
    whole = flat(text)
    at = whole.find(needle) if needle else -1
    return "…" + whole[at:] if at > LONGEST // 3 else whole


def _same(one: str, other: str) -> bool:
    """Whether a hit's text (perhaps an excerpt) is still in a line."""
    needle = re.sub(r"\s+", " ", flat(one)).strip("… -")
    return not needle or needle[:80] in re.sub(r"\s+", " ", flat(other))
