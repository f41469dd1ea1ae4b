"""The request that would be sent next, as the inspector groups it. Pure.

Invariant: each token of the view is in exactly one group, and a group's text is the exact text of
its parts, in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.engine.records import ContextPart, ContextView
from app.gui.look.text import number, plural, sentence, tr

GROUPS = ("rules", "memory", "summary", "history", "tools", "user")
WORDS = {
    "rules": "Rules", "memory": "Memory", "summary": "Summary", "history": "History",
    "tools": "Tools", "user": "You",
}  # fmt: skip
SOURCES = {
    "setting": "from Settings", "loaded": "as loaded", "reported": "as the server says",
    "learned": "learned", "table": "from the list of models", "default": "assumed",
}  # fmt: skip
SOURCE_SENTENCES = {
    "setting": "The limit is the one in Settings.",
    "loaded": "The limit is that of the model as the server loaded it.",
    "reported": "The limit is what the server says of the model.",
    "learned": "The limit was learned from an answer of the server.",
    "table": "The limit comes from the list of known models.",
    "default": "Nobody tells the limit; this one is assumed.",
}


@dataclass(frozen=True)
class Group:
    """One block of the inspector: its word, one detail, tokens, exact text."""

    kind: str
    word: str
    detail: str
    tokens: int
    text: str


def kind_of(part: ContextPart) -> str:
    """The group of a part: results of tools stand with the tools, knowledge with the memory."""
    if part.kind == "history" and part.role == "tool":
        return "tools"
    if part.kind == "knowledge":
        return "memory"
    return part.kind if part.kind in GROUPS else "rules"


def groups(view: ContextView) -> list[Group]:
    """The blocks of `view` that hold anything, in the order of the request."""
    out: list[Group] = []
    for kind in GROUPS:
        parts = [p for p in view.parts if kind_of(p) == kind]
        if not parts:
            continue
        tokens = sum(p.tokens for p in parts)
        out.append(Group(kind, tr(WORDS[kind]), _detail(kind, parts), tokens, text_of(parts)))
    return out


def text_of(parts: Sequence[ContextPart]) -> str:
    """The exact text; messages are told apart by a line of ours, which names role and tokens."""
    if all(p.kind in ("rules", "memory", "knowledge", "user", "summary") for p in parts):
        return "".join(p.text if p.text.endswith("\n") else p.text + "\n" for p in parts).rstrip()
    out: list[str] = []
    for part in parts:
        note = f", {part.note}" if part.note else ""
        tokens = plural(part.tokens, "{n} token", "{n} tokens")
        out.append(f"[{part.role}{note}, {tokens}]\n{part.text}")
    return "\n\n".join(out)


def _detail(kind: str, parts: Sequence[ContextPart]) -> str:
    if kind in ("rules", "memory"):
        named = [p.note for p in parts if "." in p.note]
        return sentence(named[:2])
    if kind == "history":
        return plural(len(parts), "{n} message", "{n} messages")
    if kind == "tools":
        results = [p for p in parts if p.role == "tool"]
        schemas = next((p.note for p in parts if p.kind == "tools"), "")
        aside = sum("put aside" in p.note for p in results)
        facts = [schemas]
        if results:
            facts.append(plural(len(results), "{n} result", "{n} results"))
        if aside:
            facts.append(tr("{n} put aside", n=number(aside)))
        return sentence(facts)
    if kind == "user":
        return tr("this message")
    return ""


def source_words(view: ContextView) -> str:
    """Where the size of the window comes from, in two words or three."""
    return tr(SOURCES.get(view.window.source, view.window.source))


def source_sentence(view: ContextView) -> str:
    """The same in a sentence, for the tool tip and for who listens."""
    return tr(SOURCE_SENTENCES.get(view.window.source, view.window.source))


def marks(view: ContextView) -> list[tuple[str, int]]:
    """(mark, tokens) for the meter; a flush that comes with the compaction has no mark apart."""
    limits = view.thresholds
    flush, compact = limits.get("flush", 0), limits.get("compact", 0)
    out = [("compact", compact), ("limit", limits.get("limit", 0))]
    return out if flush == compact else [("flush", flush), *out]


def since(before: ContextView | None, now: ContextView) -> str:
    """What a local model must read again: everything after the first block that changed."""
    if before is None:
        return ""
    old_parts, new_parts = _as_read(before), _as_read(now)
    same = 0
    for one, other in zip(old_parts, new_parts, strict=False):
        if (one.role, one.text) != (other.role, other.text):
            break
        same += 1
    unchanged = sum(p.tokens for p in new_parts[:same])
    fresh = now.total - unchanged
    if not fresh:
        return tr("Nothing changed since the last request")
    changed = new_parts[same] if same < len(new_parts) else None
    old = old_parts[same] if same < len(old_parts) else None
    if changed is None or old is None or kind_of(changed) in ("history", "user", "tools"):
        return tr(
            "{a} tokens as in the last request, {b} new",
            a=number(unchanged),
            b=number(fresh),
        )
    word = tr(WORDS[kind_of(changed)])
    return tr(
        "{word} changed since the last request: {n} tokens are read again",
        word=word,
        n=number(fresh),
    )


def _as_read(view: ContextView) -> list[ContextPart]:
    """Parts as a model reads them: what tools there are stands before the conversation."""
    schemas = [p for p in view.parts if p.kind == "tools"]
    return [*schemas, *(p for p in view.parts if p.kind != "tools")]
