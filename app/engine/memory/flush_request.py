"""What a flush asks a model: one system prompt and one user message, in batches that fit.

Pure. The user message holds MEMORY.md under a read-only label and today's log under a label that
says the output follows it (each only when it is not blank), then the conversation with bracketed
role names; arguments of calls are cut at 500 characters, results at 1 000 (specification,
section 9). Invariant: every message of a range is in exactly one batch, or, when it is longer than
a batch, in pieces of consecutive ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date

from msgspec import Struct, structs

from app.engine.llm.endpoint import Request, user
from app.engine.memory.likeness import contained, words
from app.engine.memory.outline import bullets
from app.engine.records import Message

ARGUMENT_CHARS = 500
RESULT_CHARS = 1_000
NOT_FLUSHED = frozenset({"summary", "continuation", "session_context", "recall", "interrupted"})


class References(Struct, frozen=True):
    """What the model is shown beside the conversation. Texts are without our comments.

    `never` are topics that are not to be remembered.
    """

    curated: str
    log: str
    log_path: str
    today: date
    never: tuple[str, ...] = ()


class Batch(Struct, frozen=True):
    """One stretch of a range. `last` is "" when its last message goes on in the next batch."""

    text: str
    messages: tuple[Message, ...]
    first: str
    last: str


def remembered(messages: Sequence[Message]) -> tuple[Message, ...]:
    """What of these messages a flush may see: no system messages, summaries or recalled text."""
    return tuple(m for m in messages if m.role != "system" and m.origin not in NOT_FLUSHED)


def last_entry(message: Message) -> str:
    """The id of the last log entry a message was written as (specification, section 3.4)."""
    return f"{message.id}:use:{message.calls[-1].id}" if message.calls else message.id


def first_entry(message: Message) -> str:
    """The id of the first log entry of a message: its text, or its first call when it has none."""
    if message.calls and not (message.content or message.reasoning or message.images):
        return f"{message.id}:use:{message.calls[0].id}"
    return message.id


def render(message: Message) -> str:
    """One message as the model reads it; "" when it holds no text and no call."""
    lines: list[str] = []
    if message.role == "tool":
        name = f"tool {message.name}".strip()
        return f"[{name}] {_cut(message.content, RESULT_CHARS)}"
    if message.content.strip():
        lines.append(f"[{message.role}] {message.content.strip()}")
    lines += [f"[{message.role}] (an image)"] * len(message.images)
    lines += [
        f"[{message.role} calls {call.name}] {_cut(call.arguments, ARGUMENT_CHARS)}"
        for call in message.calls
    ]
    return "\n".join(lines)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[:limit] + "…"


Size = Callable[[str], int]


def batches(messages: Sequence[Message], budget: int, size_of: Size = len) -> Iterator[Batch]:
    """Split a range so that the text of each batch has at most `budget` by `size_of` (tokens).

    A call and its results stay together where they fit.
    """
    texts: list[str] = []
    held: list[Message] = []
    size = 0
    for unit in _units(messages):
        text = "\n".join(part for m in unit if (part := render(m)))
        length = size_of(text)
        if held and size + length > budget:
            yield Batch("\n".join(texts), tuple(held), first_entry(held[0]), last_entry(held[-1]))
            texts, held, size = [], [], 0
        if length > budget:
            yield from _pieces(text, unit, max(1, len(text) * budget // length))
            continue
        held += unit
        if text:
            texts.append(text)
        size += length + 1
    if held:
        yield Batch("\n".join(texts), tuple(held), first_entry(held[0]), last_entry(held[-1]))


def _units(messages: Sequence[Message]) -> Iterator[list[Message]]:
    unit: list[Message] = []
    for message in messages:
        if unit and message.role != "tool":
            yield unit
            unit = []
        unit.append(message)
    if unit:
        yield unit


def _pieces(text: str, unit: Sequence[Message], budget: int) -> Iterator[Batch]:
    """A unit longer than a batch, in pieces of `budget` characters, cut at line ends near by."""
    at = 0
    while at < len(text):
        end = min(at + budget, len(text))
        if end < len(text):
            line = text.rfind("\n", at + budget // 2, end)
            end = line + 1 if line > 0 else end
        last = last_entry(unit[-1]) if end == len(text) else ""
        yield Batch(text[at:end], tuple(unit), first_entry(unit[0]), last)
        at = end


def build(prompt: str, references: References, conversation: str) -> Request:
    """The request of one batch: exactly one system and one user message (FLU-7)."""
    today = f"{references.today.isoformat()} ({references.today:%A})"
    parts = [f"Today is {today}."]
    if references.curated.strip():
        parts.append(
            "## MEMORY.md (read-only, for reference: do not restate it)\n\n"
            + references.curated.strip()
        )
    if references.log.strip():
        parts.append(
            f"## {references.log_path} (today's log: your output follows this, do not repeat it)"
            + "\n\n"
            + references.log.strip()
        )
    if references.never:
        topics = "\n".join(f"- {topic}" for topic in references.never)
        parts.append("## Topics never to be remembered: leave out all about them\n\n" + topics)
    parts.append("## The conversation\n\n" + conversation)
    return Request(messages=(user("\n\n".join(parts), id="flush"),), system=prompt)


def fitted(references: References, limit: int, size_of: Size = len) -> References:
    """The references within `limit` by `size_of`: of MEMORY.md its head, of the log its tail."""
    log = _shortened(references.log, limit // 2, size_of, tail=True)
    curated = _shortened(references.curated, limit - size_of(log), size_of, tail=False)
    return structs.replace(references, curated=curated, log=log)


def _shortened(text: str, limit: int, size_of: Size, *, tail: bool) -> str:
    """Whole lines of a text from its head or its tail, with a mark where it was cut."""
    size = size_of(text)
    if size <= limit:
        return text
    chars = len(text) * max(0, limit - 2) // size
    if chars <= 0:
        return ""
    if tail:
        return "…\n" + text[-chars:].partition("\n")[2]
    return text[:chars].rpartition("\n")[0] + "\n…"


def origin_of(text: str, messages: Sequence[Message]) -> str:
    """Who said what these bullets say: user, model, tool, or mixed.

    Each bullet counts for the role of the message that holds most of its words; a person's message
    wins a tie with a model's, and a tool's wins over both only by holding more. Bullets that match
    nothing count as mixed.
    """
    roles = {"user": "user", "assistant": "model", "tool": "tool"}
    spoken = [(roles[m.role], words(m.content)) for m in messages if m.role in roles]
    found: set[str] = set()
    for bullet in bullets(text):
        told = words(bullet.text)
        best = max(
            spoken, key=lambda one: (contained(told, one[1]), one[0] == "user"), default=None
        )
        found.add(best[0] if best is not None and contained(told, best[1]) > 0 else "mixed")
    return found.pop() if len(found) == 1 else "mixed"
