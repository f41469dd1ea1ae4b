"""Conversations as text: what `show` prints and `export` writes. Pure."""

from __future__ import annotations

import html
from collections.abc import Iterable

from app.engine.records import TranscriptItem

SHOWN = 2_000  # characters of a result that `show` prints

Told = tuple[str, Iterable[TranscriptItem]]  # a session's title and its items

_STYLE = (
    "body{max-width:46em;margin:2em auto;padding:0 1em;font:16px/1.5 sans-serif}"
    "pre{white-space:pre-wrap;overflow-wrap:anywhere;font:inherit}"
    ".tool pre{font:13px/1.4 monospace}.user pre{font-weight:600}"
    "h2{font-size:13px;font-weight:400;opacity:.7;margin:1.5em 0 0}"
)
HEAD = (
    '<!doctype html>\n<html><head><meta charset="utf-8">\n'
    '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
    "style-src 'unsafe-inline'\">\n"
    f"<title>Palimpsest</title>\n<style>{_STYLE}</style></head>\n"
)


def readable(item: TranscriptItem, limit: int = 0) -> str:
    """One item as a paragraph; a result is cut at `limit` characters, and says so (0: whole)."""
    when = item.when.astimezone().strftime("%H:%M:%S") if item.when else "--:--:--"
    if item.kind == "tool":
        return f"{when} [{item.seq}] {item.tool} {item.arguments}\n    {_result(item, limit)}"
    said = " ".join(part for part in (item.text, item.target) if part)
    more = f" … ({item.cut:,} characters in all)" if item.cut else ""
    return f"{when} [{item.seq}] {item.kind}: {said}{more}".rstrip()


def _result(item: TranscriptItem, limit: int) -> str:
    text = "(no result)" if item.result is None else item.result
    whole = max(len(text), item.cut)
    if not limit or whole <= limit:
        return text
    return f"{text[:limit]} … ({whole:,} characters in all)"


def as_markdown(sessions: Iterable[Told]) -> str:
    """Sessions as Markdown, whole."""
    parts = (part for title, items in sessions for part in (f"# {title}", *map(readable, items)))
    return "\n\n".join(parts) + "\n"


def as_html(sessions: Iterable[Told]) -> str:
    """Sessions as one page that loads nothing: what was said is text, never markup."""
    body = "\n".join(
        f"<h1>{html.escape(title)}</h1>\n" + "\n".join(_section(item) for item in items)
        for title, items in sessions
    )
    return f"{HEAD}<body>\n{body}\n</body></html>\n"


def _section(item: TranscriptItem) -> str:
    when = item.when.astimezone().strftime("%Y-%m-%d %H:%M:%S") if item.when else "no time"
    who = f"{item.kind} {item.tool}".strip()
    parts = [item.arguments, _result(item, 0)] if item.kind == "tool" else [item.text, item.target]
    body = "".join(f"<pre>{html.escape(part)}</pre>" for part in parts if part)
    return (
        f'<section class="{item.kind}"><h2>{item.seq} · {html.escape(who)} · {when}</h2>'
        f"{body}</section>"
    )
