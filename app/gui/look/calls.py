"""How a tool call is told in one line, the same in the chat, the timeline and the evicted."""

from __future__ import annotations

import json

from app.gui.look.text import plain_line, preview

# The argument that says most about a call stands alone, the first of these that is there.
TELLING = ("cmd", "command", "path", "query", "pattern", "text", "url", "sessionId", "content")
NAMED, CUT = 4, 200  # arguments that are named, and characters of each that are looked at


def call_line(arguments: str, limit: int = 120) -> str:
    """A call's arguments (JSON, or what a model wrote instead) as one safe line; "" without any."""
    try:
        given = json.loads(arguments or "{}")
    except ValueError:
        return preview(arguments, limit, blank=" ").strip()
    if not given:
        return ""
    if not isinstance(given, dict):
        return preview(arguments, limit)
    for name in TELLING:
        if isinstance(given.get(name), str) and given[name].strip():
            return preview(given[name], limit)
    named = [f"{name}: {_value(value)}" for name, value in list(given.items())[:NAMED]]
    return preview(", ".join(named), limit)


def _value(value: object) -> str:
    if isinstance(value, str):
        return plain_line(value[:CUT])
    return json.dumps(value, ensure_ascii=False)[:CUT]
