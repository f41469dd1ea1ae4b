"""Items of a conversation as `show` prints them. Pure."""

from __future__ import annotations

from app.engine.records import TranscriptItem

SHOWN = 2_000  # characters of a result that `show` prints


def readable(item: TranscriptItem) -> str:
    """One item as a paragraph; a result is cut at `SHOWN` characters, and says so."""
    when = item.when.astimezone().strftime("%H:%M:%S") if item.when else "--:--:--"
    if item.kind == "tool":
        return f"{when} [{item.seq}] {item.tool} {item.arguments}\n    {_result(item)}"
    said = " ".join(part for part in (item.text, item.target) if part)
    more = f" … ({item.cut:,} characters in all)" if item.cut else ""
    return f"{when} [{item.seq}] {item.kind}: {said}{more}".rstrip()


def _result(item: TranscriptItem) -> str:
    text = "(no result)" if item.result is None else item.result
    whole = max(len(text), item.cut)
    return text if whole <= SHOWN else f"{text[:SHOWN]} … ({whole:,} characters in all)"
