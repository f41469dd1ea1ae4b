"""Daily logs: the sections of a day, append-only.

Idea: the engine appends whole sections itself and never touches what is already there; reading
gives back exactly the sections that were written, whatever their text holds (a content line that
looks like one of our own marks carries a backslash on disk). Format: specification, section 3.1.
Lines end at U+000A only.
"""

from __future__ import annotations

import contextlib
import re
from bisect import bisect_right
from collections.abc import Iterable
from datetime import date, datetime
from pathlib import Path
from typing import Literal
from urllib.parse import quote, unquote

import msgspec

from app.engine.errors import PathRefused, Unreadable
from app.engine.records import DailyLine, DailySection, DayInfo, DayLog
from app.engine.workspace.confine import inside, readable, write_target
from app.engine.workspace.files import append_durable, decode, digest, read_bytes, well_formed
from app.engine.workspace.layout import Layout
from app.engine.workspace.secrets import mask

_TITLES = {"flush": "Memory Flush", "save": "Memory Save"}
_HEADING = re.compile(r"## Memory (Flush|Save) [—–-] (.*?)\r?")
_ANY_HEADING = re.compile(r"^## Memory (?:Flush|Save) [—–-] ", re.M)
_COMMENT = re.compile(r"<!-- palimpsest:(\w+)((?: [a-z]+=\S*)*) -->\r?")
_ESCAPED = re.compile(r"\\*(## Memory (?:Flush|Save) [—–-] |<!-- palimpsest:)")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_ANY_COMMENT = re.compile(r"<!--(.*?)-->", re.S)
_MARK = re.compile(r"\s*(/?)([\w.:/-]+?)(?:[:\s](start|end))?(?:\s[^>]*)?\s*")


# ---------------------------------------------------------------------------- text <-> sections


def section_text(section: DailySection) -> str:
    """The content of a section as it was given to `append_section`, stripped."""
    return "\n".join(line.text for line in section.lines).strip()


def source_text(text: str) -> str:
    """`text` without managed blocks and comments, as a model may see it (sections 3.1, B09).

    A managed block stands between `<!-- x:start -->` and `<!-- x:end -->`, or `<!-- x -->` and
    `<!-- /x -->`. A block or comment that is never closed hides nothing.
    """
    marks = [(m, *_mark(m.group(1))) for m in _ANY_COMMENT.finditer(text)]
    ends: dict[str, list[int]] = {}
    for match, name, role in marks:
        if role == "end":
            ends.setdefault(name, []).append(match.end())
    kept: list[str] = []
    at = 0
    for match, name, role in marks:
        if match.start() < at:
            continue
        kept.append(text[at : match.start()])
        later = ends.get(name, [])
        close = bisect_right(later, match.end()) if role == "start" else len(later)
        at = later[close] if close < len(later) else match.end()
    plain = "".join([*kept, text[at:]])
    lines = [line.rstrip() for line in plain.split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _mark(comment: str) -> tuple[str, str]:
    """The name a comment gives to a managed block, and whether it is its start or its end."""
    match = _MARK.fullmatch(comment)
    if match is None:
        return "", ""
    return match.group(2), match.group(3) or ("end" if match.group(1) else "start")


def parse(text: str) -> list[DailySection]:
    """The sections of a day's text, in order; what precedes the first heading is one, if any."""
    lines = text.split("\n")
    starts = [n for n, line in enumerate(lines) if _HEADING.fullmatch(line)]
    blocks = list(zip([0, *starts], [*starts, len(lines)], strict=True))
    sections: list[DailySection] = []
    for begin, end in blocks:
        section = _section(lines, begin, end, len(sections) + 1)
        if section is not None:
            sections.append(section)
    return sections


def _section(lines: list[str], begin: int, end: int, ordinal: int) -> DailySection | None:
    heading = _HEADING.fullmatch(lines[begin]) if begin < end else None
    first = begin + 1 if heading else begin
    comment = _COMMENT.fullmatch(lines[first]) if heading and first < end else None
    content = _content(lines, first + 1 if comment else first, end)
    if not heading and not content:
        return None
    fields = _fields(comment.group(2)) if comment else {}
    kind = comment.group(1) if comment and comment.group(1) in _TITLES else "foreign"
    return DailySection(
        ordinal=ordinal,
        kind=kind,
        line=begin + 1 if heading else content[0].line,
        when=_instant(heading.group(2)) if heading else None,
        lines=content,
        hash=content_hash("\n".join(line.text for line in content)),
        run=fields.get("run", ""),
        session_id=fields.get("session", ""),
        first_entry=fields.get("from", ""),
        last_entry=fields.get("to", ""),
        origin=fields.get("origin", ""),
        heading=lines[begin].rstrip("\r")[3:] if heading else "",
    )


def content_hash(text: str) -> str:
    """What identifies a section's content: the SHA-256 of its stripped text."""
    return digest(well_formed(text.strip()).encode())


def _content(lines: list[str], begin: int, end: int) -> tuple[DailyLine, ...]:
    while begin < end and not lines[begin].strip():
        begin += 1
    while begin < end and not lines[end - 1].strip():
        end -= 1
    return tuple(DailyLine(n + 1, _unescape(lines[n])) for n in range(begin, end))


def _escape(line: str) -> str:
    return "\\" + line if _ESCAPED.match(line) else line


def _unescape(line: str) -> str:
    return line[1:] if line.startswith("\\") and _ESCAPED.match(line) else line


def _fields(text: str) -> dict[str, str]:
    pairs = (word.split("=", 1) for word in text.split())
    return {key: unquote(value) for key, value in pairs}


def _instant(text: str) -> datetime | None:
    """The heading's time; None when it is no instant (a naive one belongs to no zone)."""
    try:
        when = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return when if when.tzinfo else None


# ---------------------------------------------------------------------------- writing


def append_section(
    layout: Layout,
    *,
    kind: Literal["flush", "save"],
    text: str,
    now: datetime,
    run: str = "",
    session: str = "",
    first: str = "",
    last: str = "",
    origin: str = "",
) -> DailySection:
    """Append one section to the day `now` falls on; `now` is aware, in the local zone.

    Secrets in `text` are masked (section 16). Existing bytes never change. Raises `ValueError` for
    a blank text or a naive `now`, `Unreadable` when the day's file is not UTF-8, `StorageError`,
    `PathRefused`. Safe between processes: one locked append, on the disk when it returns.
    """
    body = well_formed(mask(text).text).replace("\r\n", "\n").strip()
    if not body or now.tzinfo is None:
        raise ValueError("a section needs a text and a time with its zone")
    path = write_target(layout.root, layout.daily(now.date()))
    existing = read_bytes(path)
    if existing is not None:
        decode(existing, path.name)  # never add UTF-8 to a file of another encoding
    values = {"run": run, "session": session, "from": first, "to": last, "origin": origin}
    named = "".join(f" {k}={quote(v, safe=':._+@~')}" for k, v in values.items() if v)
    lines = [
        "",
        f"## {_TITLES[kind]} — {now.isoformat()}",
        f"<!-- palimpsest:{kind}{named} -->",
        *(_escape(line) for line in body.split("\n")),
        "",
    ]
    data = "\n".join(lines).encode()
    offset = append_durable(path, data)
    before = (read_bytes(path) or b"")[:offset].decode()
    return _placed(parse(data.decode())[0], before)


def _placed(section: DailySection, before: str) -> DailySection:
    """A section parsed by itself, as it stands after the text `before`."""
    lines = before.count("\n")
    first = _ANY_HEADING.search(before)
    lead = bool(before[: first.start() if first else len(before)].strip("\ufeff \t\r\n"))
    return msgspec.structs.replace(
        section,
        ordinal=len(_ANY_HEADING.findall(before)) + lead + 1,
        line=section.line + lines,
        lines=tuple(
            msgspec.structs.replace(line, line=line.line + lines) for line in section.lines
        ),
    )


# ---------------------------------------------------------------------------- reading


def read_day(layout: Layout, path: str) -> DayLog:
    """One file of `memory/` by its workspace path; an unreadable one has a `problem`.

    Raises `PathRefused` for a path that is no regular file below `memory/`.
    """
    file = readable(layout.root, path, areas=("memory/",))
    day, _ = day_of(Path(path).name)
    try:
        text = decode(read_bytes(file) or b"", file.name).text
    except Unreadable as error:
        return DayLog(path, day, (), str(error))
    return DayLog(path, day, tuple(parse(text)))


def day_of(name: str) -> tuple[date | None, bool]:
    """The day a file name belongs to, and whether it is a variant (`2026-03-03-topic.md`)."""
    stem = name.removesuffix(".md")
    match = _DAY.match(stem)
    if stem == name or not match:
        return None, False
    rest = stem[match.end() :]
    if rest and rest[0] not in "-_ .":
        return None, False
    try:
        return date.fromisoformat(match.group()), bool(rest)
    except ValueError:
        return None, False


def list_days(layout: Layout) -> list[DayInfo]:
    """The files of `memory/` and its archive: newest day first, the undated ones last (B08)."""
    found = [_info(layout, path) for path in day_paths(layout)]
    return sorted(
        (info for info in found if info is not None),
        key=lambda d: (-(d.day.toordinal() if d.day else 0), d.variant, d.archived, d.path),
    )


def day_paths(layout: Layout) -> list[str]:
    """The workspace paths of the same files, unread, in file-name order."""
    paths = [*_notes(layout.memory_dir), *_notes(layout.archive_dir)]
    names = sorted(paths, key=lambda path: (path.name, path))
    return [name for path in names if _ours(layout, name := layout.relative(path))]


def _ours(layout: Layout, name: str) -> bool:
    """A link that leaves `memory/` is not a day of ours."""
    try:
        inside(layout.root, name, areas=("memory/",))
    except PathRefused:
        return False
    return True


def _notes(folder: Path) -> Iterable[Path]:
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return []
    return [p for p in entries if p.suffix == ".md" and not p.name.startswith(".") and p.is_file()]


def _info(layout: Layout, name: str) -> DayInfo | None:
    path = layout.root / name
    day, variant = day_of(path.name)
    data, sections = b"", list[DailySection]()
    with contextlib.suppress(Unreadable):
        found = read_bytes(path)
        if found is None:
            return None
        data = found
        sections = parse(decode(data, path.name).text)
    lines = sum(1 for s in sections for line in s.lines if line.text.strip())
    archived = path.parent == layout.archive_dir
    return DayInfo(name, day, len(sections), lines, len(data), archived, variant)
