"""What a query asks for, in a person's words. Pure."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo

from app.engine.search.query import Filters, Parsed, Term

_LAYERS = {
    "memory": "MEMORY.md", "daily": "the daily logs", "sessions": "the sessions",
    "evicted": "evicted results", "history": "the history",
}  # fmt: skip
_HAS = {"evicted": "an evicted result", "tool": "a tool", "error": "an error"}


def describe(parsed: Parsed, zone: tzinfo = UTC) -> str:
    """What is searched for, as a sentence; days are days of `zone`."""
    if parsed.empty:
        return parsed.empty
    groups = [" or ".join(_say(term) for term in group) for group in parsed.groups]
    parts = [" and ".join(groups) if groups else "everything"]
    if parsed.without:
        parts.append("without " + " or ".join(_say(term) for term in parsed.without))
    parts += _say_filters(parsed.filters) + _say_time(parsed.filters, zone)
    cut = " The query was too long; its beginning is used." if parsed.cut else ""
    note = f" {parsed.note}" if parsed.note else ""
    return f"Searching for {', '.join(parts)}.{cut}{note}"


def _say(term: Term) -> str:
    shown = " ".join(term.text.rstrip("*").split()) if term.open else " ".join(term.text.split())
    if term.quoted:
        begun = ", its last word only begun" if term.open else ""
        return f"the phrase “{shown}”{begun}"
    return f"words beginning with “{shown}”" if term.text.endswith("*") else f"“{shown}”"


def _say_filters(filters: Filters) -> list[str]:
    said: list[str] = []
    for names, word, known in (
        (filters.layers, "in", _LAYERS), (filters.not_layers, "not in", _LAYERS),
        (filters.roles, "said by", {}), (filters.not_roles, "not said by", {}),
        (filters.tools, "of the tool", {}), (filters.not_tools, "not of the tool", {}),
        (filters.sessions, "in the session", {}), (filters.has, "with", _HAS),
    ):  # fmt: skip
        if names:
            joined = " and " if known is _HAS else " or "
            said.append(f"{word} {joined.join(known.get(name, name) for name in sorted(names))}")
    return said


def _say_time(filters: Filters, zone: tzinfo) -> list[str]:
    after = _local(filters.after, zone)
    before = _local(filters.before, zone)
    if after and before and before - after == timedelta(days=1):
        return [f"on {after:%Y-%m-%d}"]
    said = [f"from {after:%Y-%m-%d} on"] if after else []
    return [*said, f"before {before:%Y-%m-%d}"] if before else said


def _local(when: datetime | None, zone: tzinfo) -> datetime | None:
    """A day's midnight on the wall clock there; None for none, and for what no clock can show."""
    try:
        return when.astimezone(zone).replace(tzinfo=None) if when else None
    except OverflowError:
        return when and when.replace(tzinfo=None)
