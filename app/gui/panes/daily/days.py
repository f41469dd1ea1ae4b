"""Files of `memory/` by day, and a day as rows of cards. Pure.

A day gathers its own file and its variants (`2026-03-03-topic.md`), which are never merged: each
keeps its name over its cards (case B08). Files without a day and the archive are listed by what
they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

from app.engine.records import DailyLine, DailySection, DayInfo, DayLog
from app.gui.look.text import number, plural, preview, short_day, tr
from app.gui.widgets.rows import Row

STATES = ("merged", "waiting", "left_out", "rejected")
STATE_LOOK = {
    "waiting": ("circle-dashed", "text_soft", "waiting"),
    "merged": ("circle-check", "ok", "merged"),
    "left_out": ("circle-minus", "text_soft", "left out"),
    "rejected": ("circle-x", "lost", "rejected"),
}


def by_day(files: Iterable[DayInfo]) -> dict[date, list[DayInfo]]:
    """The files of each day that are not archived; the plain name first."""
    out: dict[date, list[DayInfo]] = {}
    for info in files:
        if info.day is not None and not info.archived:
            out.setdefault(info.day, []).append(info)
    for found in out.values():
        found.sort(key=lambda info: (info.variant, info.path))
    return out


def counts(days: dict[date, list[DayInfo]]) -> dict[date, int]:
    """Lines of each day, all its files together."""
    return {of: sum(info.lines for info in found) for of, found in days.items()}


def file_name(path: str) -> str:
    return path.rpartition("/")[2]


def file_rows(files: Sequence[DayInfo], *, archive_open: bool, today: date) -> list[Row]:
    """What stands under the calendar: variants, files without a day, the archive."""
    rows: list[Row] = []
    for info in files:
        if info.archived:
            continue
        name = preview(file_name(info.path), 80)
        if info.day is None:
            count = number(info.lines)
            rows.append(Row(info.path, name, right=count, icon="file-text", tone="soft", data=info,
                            spoken=tr("{name}, a note without a day", name=name)))  # fmt: skip
        elif info.variant:
            rows.append(Row(info.path, name, right=tr("variant"), icon="file-question-mark",
                            tone="soft", data=info,
                            spoken=tr("{name}, a variant of a day", name=name)))  # fmt: skip
    archived = [info for info in files if info.archived]
    if archived:
        rows.append(_archive_row(archived, archive_open, today))
        if archive_open:
            rows += [
                Row(info.path, preview(file_name(info.path), 80), right=number(info.lines),
                    icon="archive", tone="soft", indent=1, data=info,
                    spoken=tr("{name}, archived", name=file_name(info.path)))
                for info in archived
            ]  # fmt: skip
    return rows


def _archive_row(archived: Sequence[DayInfo], is_open: bool, today: date) -> Row:
    known = sorted(info.day for info in archived if info.day is not None)
    title = tr("Archive")
    if known:
        first, last = short_day(known[0], today), short_day(known[-1], today)
        span = first if first == last else tr("{a} to {b}", a=first, b=last)
        title = tr("Archive, {span}", span=span)
    state = tr("open") if is_open else tr("folded")
    icon = "chevron-down" if is_open else "chevron-right"
    return Row("archive", title, right=number(len(archived)), icon=icon, tone="soft",
               spoken=f"{title}, {number(len(archived))}, {state}")  # fmt: skip


# ---------------------------------------------------------------------------- a day as rows


@dataclass(frozen=True)
class CardRow:
    """One row of a day: the name of a file, a card's head, or one of its lines.

    `ends` says that the card ends with this row.
    """

    id: str
    form: Literal["file", "head", "line", "problem"]
    path: str
    section: DailySection | None = None
    line: DailyLine | None = None
    ends: bool = False
    problem: str = ""
    name: str = ""


def card_rows(logs: Sequence[DayLog]) -> list[CardRow]:
    """The rows of a day's files, newest section first within each file."""
    out: list[CardRow] = []
    for log in logs:
        if len(logs) > 1:
            out.append(CardRow(f"{log.path}#file", "file", log.path, name=file_name(log.path)))
        if log.problem:
            out.append(CardRow(f"{log.path}#problem", "problem", log.path, problem=log.problem))
        for section in sorted(log.sections, key=_age, reverse=True):
            lines = [line for line in section.lines if line.text.strip()]
            key = f"{log.path}#{section.ordinal}"
            out.append(CardRow(key, "head", log.path, section, ends=not lines))
            out += [
                CardRow(f"{key}:{line.line}", "line", log.path, section, line,
                        ends=line is lines[-1])
                for line in lines
            ]  # fmt: skip
    return out


def _age(section: DailySection) -> tuple[float, int]:
    return (section.when.timestamp() if section.when else 0.0, section.ordinal)


def row_at_line(rows: Sequence[CardRow], path: str, line: int) -> int:
    """The row of a file's line, or the nearest one before it; -1 when the file is not shown."""
    found = [
        (row.line.line if row.line is not None else row.section.line if row.section else 0, at)
        for at, row in enumerate(rows)
        if row.path == path
    ]
    before = [pair for pair in found if pair[0] <= line]
    if before:
        return max(before)[1]
    return min(found)[1] if found else -1


def row_of_run(rows: Sequence[CardRow], run: str) -> int:
    """The head of the card that a run of the engine wrote; -1 when it is not shown."""
    found = (i for i, r in enumerate(rows) if r.section is not None and r.section.run == run)
    return next(found, -1)


def day_words(logs: Sequence[DayLog]) -> str:
    """A day in figures: 3 flushes, 1 save, 10 lines."""
    sections = [s for log in logs for s in log.sections]
    flushes = sum(s.kind == "flush" for s in sections)
    saves = sum(s.kind == "save" for s in sections)
    others = len(sections) - flushes - saves
    lines = sum(1 for s in sections for line in s.lines if line.text.strip())
    parts = [
        plural(n, one, many)
        for n, one, many in (
            (flushes, "{n} flush", "{n} flushes"),
            (saves, "{n} save", "{n} saves"),
            (others, "{n} note", "{n} notes"),
            (lines, "{n} line", "{n} lines"),
        )
        if n
    ]
    return tr(", ").join(parts)


def tally(logs: Iterable[DayLog]) -> dict[str, int]:
    """How many lines are merged, waiting, left out, rejected."""
    out: dict[str, int] = dict.fromkeys(STATES, 0)
    for log in logs:
        for section in log.sections:
            for line in section.lines:
                if line.state in out:
                    out[line.state] += 1
    return out


def reason_of(line: DailyLine) -> str:
    """Why a line is where it is, as a sentence."""
    if line.reason:
        return line.reason
    return {
        "waiting": tr("It waits for the next consolidation."),
        "merged": tr("A consolidation took it into MEMORY.md."),
        "left_out": tr("A consolidation saw it and proposed nothing from it."),
        "rejected": tr("What was made of it was rejected."),
    }.get(line.state, tr("Nothing is known of this line: no consolidation has seen it."))


def bullet(text: str) -> str:
    """A line without its bullet."""
    shown = text.strip()
    return shown[2:].lstrip() if shown[:2] in ("- ", "* ", "+ ") else shown
