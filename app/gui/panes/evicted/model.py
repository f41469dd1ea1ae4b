"""What the table of evicted results shows, as plain values.

Idea: the engine's records become rows here, sorted and filtered without Qt. Invariant: nothing is
invented: a size that is not known in characters says "at most", a missing session says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from app.engine.records import EvictedInfo, TranscriptItem
from app.gui.look.calls import call_line
from app.gui.look.text import moment, number, plain_line, plural, preview, sentence, size, tr
from app.gui.widgets.rows import Row

SORTS = ("when", "tool", "size", "session", "state")
STATES = {"present": "kept", "missing": "file missing", "orphan": "no session"}
_ICONS = {"present": "circle-check", "missing": "triangle-alert", "orphan": "unlink"}
_WARN = frozenset({"missing", "orphan"})


@dataclass(frozen=True)
class Origin:
    """Where a result came from: what the tool was asked, and its place in the session."""

    arguments: str
    item_id: str


@dataclass(frozen=True)
class Result:
    """One line of the table, ready to be painted."""

    info: EvictedInfo
    tool: str
    what: str
    size: str
    session: str
    age: str
    state: str
    state_icon: str
    warn: bool


def state_word(state: str) -> str:
    """The word for a state, as the table shows it."""
    return tr(STATES.get(state, state))


def tool_icon(tool: str) -> str:
    """The icon of a tool's kind of work."""
    name = tool.lower()
    if any(part in name for part in ("fetch", "web", "http", "browse", "page")):
        return "globe"
    if any(part in name for part in ("exec", "shell", "bash", "run", "terminal", "command")):
        return "terminal"
    if "file" in name or "grep" in name or "glob" in name:
        return "file-text"
    return "wrench" if name else "archive"


def characters(info: EvictedInfo) -> str:
    """The size in characters; of an orphan only its bytes are known, so "at most"."""
    if info.chars or info.state != "orphan":
        return number(info.chars)
    return tr("≤ {n}", n=number(info.bytes))


def weight(info: EvictedInfo) -> int:
    """What sorting by size compares."""
    return info.chars or info.bytes


def origins(items: Sequence[TranscriptItem]) -> dict[str, Origin]:
    """For each evicted file that a transcript names, the call that made it."""
    return {
        item.target: Origin(item.arguments, item.id)
        for item in items
        if item.kind == "tool" and item.target
    }


def shown(
    infos: Sequence[EvictedInfo], found: Mapping[str, Origin], *, sort: str, down: bool, needle: str
) -> list[EvictedInfo]:
    """The results that match `needle`, in the wanted order; equal ones newest first."""
    wanted = needle.casefold().split()
    kept = [i for i in infos if all(word in _haystack(i, found) for word in wanted)]
    keys = {
        "when": lambda i: i.when.timestamp() if i.when else 0.0,
        "tool": lambda i: i.tool.casefold(),
        "size": weight,
        "session": lambda i: i.session_title.casefold(),
        "state": lambda i: i.state,
    }
    return sorted(kept, key=keys.get(sort, keys["when"]), reverse=down)


def _haystack(info: EvictedInfo, found: Mapping[str, Origin]) -> str:
    origin = found.get(info.path)
    parts = (info.tool, info.session_title, info.path, state_word(info.state))
    return " ".join((*parts, origin.arguments if origin else "")).casefold()


def to_row(info: EvictedInfo, origin: Origin | None, now: datetime) -> Row:
    """One row of the table; `data` is a `Result`."""
    result = Result(
        info=info,
        tool=plain_line(info.tool) or tr("not known"),
        what=call_line(origin.arguments) if origin else "",
        size=characters(info),
        session=preview(info.session_title, 80) if info.session_id else tr("none found"),
        age=moment(info.when, now),
        state=state_word(info.state),
        state_icon=_ICONS.get(info.state, "circle-check"),
        warn=info.state in _WARN,
    )
    spoken = sentence(
        (
            result.tool,
            result.what,
            tr("{n} characters", n=result.size),
            tr("session: {name}", name=result.session),
            result.age,
            result.state,
        )
    )
    return Row(
        info.path,
        result.tool,
        icon=tool_icon(info.tool),
        icon_color="kind_tool" if info.tool else "text_soft",
        spoken=spoken,
        tip="\n".join(p for p in (result.tool, result.what, result.session, info.path) if p),
        data=result,
    )


def totals(infos: Sequence[EvictedInfo]) -> str:
    """The head's details: how many, how much, and what is wrong with some."""
    if not infos:
        return ""
    missing = sum(i.state == "missing" for i in infos)
    orphans = sum(i.state == "orphan" for i in infos)
    return sentence(
        (
            plural(len(infos), "{n} result", "{n} results"),
            size(sum(i.bytes for i in infos)),
            plural(missing, "{n} file missing", "{n} files missing") if missing else "",
            plural(orphans, "{n} without a session", "{n} without a session") if orphans else "",
        )
    )


def cleaning(infos: Sequence[EvictedInfo]) -> tuple[str, str]:
    """(how many and how much, the list of files) of a clean-up, for its preview."""
    head = sentence(
        (
            plural(len(infos), "{n} result", "{n} results"),
            size(sum(i.bytes for i in infos)),
        )
    )
    lines = [
        sentence((size(i.bytes), i.tool or tr("tool not known"), i.session_title, i.path))
        for i in infos
    ]
    return head, "\n".join(plain_line(line) for line in lines)
