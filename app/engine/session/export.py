"""Conversations as documents that leave the program: Markdown, and one page of HTML. Pure.

What was said stands in them whole.
"""

from __future__ import annotations

import html
from collections.abc import Iterable

from app.engine.records import TranscriptItem

Told = tuple[str, Iterable[TranscriptItem]]  # a session's title and its items, no text cut

_NO_RESULT = "(no result)"
_STYLE = (
    "body{max-width:46em;margin:2em auto;padding:0 1em;font:16px/1.5 sans-serif}"
    "pre{white-space:pre-wrap;overflow-wrap:anywhere;font:inherit}"
    ".tool pre{font:13px/1.4 monospace}.user pre{font-weight:600}"
    "h2{font-size:13px;font-weight:400;opacity:.7;margin:1.5em 0 0}"
)
_HEAD = (
    '<!doctype html>\n<html><head><meta charset="utf-8">\n'
    '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
    "style-src 'unsafe-inline'\">\n"
    f"<title>Palimpsest</title>\n<style>{_STYLE}</style></head>\n"
)


def as_markdown(sessions: Iterable[Told]) -> str:
    """Sessions as Markdown: a head a session and an item, calls and results in fences."""
    parts = (
        part
        for title, items in sessions
        for part in (f"# {' '.join(title.split())}", *map(_paragraphs, items))
    )
    return "\n\n".join(parts) + "\n"


def _paragraphs(item: TranscriptItem) -> str:
    head = f"## {_who(item)}, {_when(item)}"
    if item.kind == "tool":
        return "\n\n".join((head, *map(_fence, filter(None, _said(item)))))
    return "\n\n".join((head, *filter(None, _said(item))))


def _fence(text: str) -> str:
    """A text between marks that it does not hold itself."""
    ticks = "```"
    while ticks in text:
        ticks += "`"
    return f"{ticks}\n{text}\n{ticks}"


def as_html(sessions: Iterable[Told]) -> str:
    """Sessions as one page that loads nothing: what was said is text, never markup."""
    body = "\n".join(
        f"<h1>{html.escape(title)}</h1>\n" + "\n".join(_section(item) for item in items)
        for title, items in sessions
    )
    return f"{_HEAD}<body>\n{body}\n</body></html>\n"


def _section(item: TranscriptItem) -> str:
    body = "".join(f"<pre>{html.escape(part)}</pre>" for part in _said(item) if part)
    return (
        f'<section class="{item.kind}">'
        f"<h2>{item.seq} · {html.escape(_who(item))} · {_when(item)}</h2>{body}</section>"
    )


def _who(item: TranscriptItem) -> str:
    return f"{item.kind} {item.tool}".strip()


def _when(item: TranscriptItem) -> str:
    return item.when.astimezone().strftime("%Y-%m-%d %H:%M:%S") if item.when else "no time"


def _said(item: TranscriptItem) -> tuple[str, ...]:
    if item.kind == "tool":
        return item.arguments, _NO_RESULT if item.result is None else item.result
    return item.text, item.target
