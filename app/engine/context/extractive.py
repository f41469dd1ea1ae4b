"""A summary without a model: picked from the messages, in the same four parts.

It is plain and safe: the first request, what the person said later, the paths that occur, the last
state. Every line is a quotation, cut where it is long; nothing is invented. Specification,
sections 7 and 10.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.engine.context.summaries import cut, is_summary, summary_text
from app.engine.records import Message

LINE = 300
FIRST = 1_200
MESSAGES = 40
PATHS = 40
HEADINGS = 160  # characters of the four headings, and of what says that something was left out
PARTS = ("SESSION INTENT", "SUMMARY", "ARTIFACTS", "NEXT STEPS")
_START = r"(?<![\w/.:@+-])(?:~|\.{1,2})?"
_FILE = re.compile(rf"{_START}(?:/?[\w.@+-]+/)*[\w@+-]{{2,}}\.[A-Za-z][A-Za-z0-9]{{0,7}}\b")
_FOLDER = re.compile(rf"{_START}(?:/[\w.@+-]+){{2,}}")


def extractive_summary(prefix: Sequence[Message], limit: int = 12_000) -> str:
    """A summary of at most `limit` characters under the four headings of the default profile.

    Parts of an earlier summary are carried on: its intent stays first, its paths stay listed.
    """
    earlier = _earlier_parts(prefix)
    said = [m.content.strip() for m in prefix if _is_said(m)]
    line = min(LINE, limit // 6)
    intent = earlier.get("SESSION INTENT", "")
    if not intent and said:
        intent = said.pop(0)
    intent = cut(intent, min(FIRST, limit // 4))
    summary = _join(earlier.get("SUMMARY", ""), _bullets(said, line))
    artifacts = _join(earlier.get("ARTIFACTS", ""), _paths(prefix, earlier.get("ARTIFACTS", "")))
    last = next(
        (m.content for m in reversed(prefix) if m.role == "assistant" and m.content.strip()), ""
    )
    state = f"Last state: {' '.join(last.split())}" if last else earlier.get("NEXT STEPS", "")
    state = cut(state, line * 2)
    room = max(0, limit - len(intent) - len(state) - HEADINGS)
    artifacts = _tail(artifacts, room // 3)
    summary = _tail(summary, room - len(artifacts))
    texts = (intent, summary, artifacts, state)
    return "\n\n".join(
        f"## {heading}\n{text or 'None'}" for heading, text in zip(PARTS, texts, strict=True)
    )


def _is_said(message: Message) -> bool:
    own = message.role == "user" and not message.origin and not is_summary(message)
    return own and bool(message.content.strip())


def _bullets(said: Sequence[str], longest: int) -> str:
    lines = [f"- The person said: {cut(' '.join(text.split()), longest)}" for text in said]
    return "\n".join(lines[-MESSAGES:])


def _paths(prefix: Sequence[Message], known: str) -> str:
    found: dict[str, None] = {}
    for message in prefix:
        if is_summary(message):
            continue
        texts = [message.content[:20_000], *(call.arguments[:20_000] for call in message.calls)]
        for text in texts:
            for path in (*_FILE.findall(text), *_FOLDER.findall(text)):
                found.setdefault(path)
    fresh = [path for path in found if path not in known]
    return "\n".join(f"- {path}" for path in fresh[-PATHS:])


def _earlier_parts(prefix: Sequence[Message]) -> dict[str, str]:
    """The parts of the summaries in the prefix, by heading; a text without headings is context."""
    parts: dict[str, str] = {}
    for message in prefix:
        if not is_summary(message):
            continue
        text = summary_text(message)
        pieces = re.split(rf"^## ({'|'.join(PARTS)})[ \t]*$", text, flags=re.MULTILINE)
        named = list(zip(pieces[1::2], pieces[2::2], strict=True)) or [("SUMMARY", text)]
        for heading, piece in named:
            if piece.strip() and piece.strip() != "None":
                parts[heading] = _join(parts.get(heading, ""), piece.strip())
    return parts


def _join(first: str, second: str) -> str:
    return "\n".join(text for text in (first, second) if text)


def _tail(text: str, limit: int) -> str:
    """The last lines that fit, whole; what is newer matters more."""
    lines: list[str] = []
    used = 0
    for line in reversed(text.splitlines()):
        used += len(line) + 1
        if used > limit:
            return "\n".join(["- (earlier lines left out)", *reversed(lines)])
        lines.append(line)
    return text
