"""What a curator is asked: the prompt, the message, and batches that fit a window.

Pure. Whatever comes from files is data between tags whose look-alikes inside the text are escaped;
comments and managed blocks of daily logs are not shown (B09). Specification, section 10.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from app.engine.workspace.daily_log import section_text, source_text
from app.engine.workspace.secrets import mask
from app.engine.workspace.sections import EPOCH, WaitingSection
from app.resources import read_resource

PROMPT = "prompts/consolidation.md"
CHARACTERS_PER_TOKEN = 4
MAX_REFUSED = 60
HEADING = 24  # tokens of a section's heading in the message
_TAGS = re.compile(
    r"<(/?)(current_file|daily_logs|refused_claims|pinned_lines|kept_lines|never_remember)\b",
    re.IGNORECASE,
)

Count = Callable[[str], int]


class Part(Struct, frozen=True):
    """A section, or a stretch of one too long for a batch. `last`: nothing of it is left."""

    source: WaitingSection
    text: str
    last: bool = True


def built_in_prompt() -> str:
    """The prompt of `resources/prompts/consolidation.md`."""
    return read_resource(PROMPT).strip()


def filled(prompt: str, tokens: int) -> str:
    """Put tokens and characters in place of the two `%d`, by position; no other % is touched."""
    for number in (tokens, tokens * CHARACTERS_PER_TOKEN):
        prompt = prompt.replace("%d", str(number), 1)
    return prompt


def prompt_hash(prompt: str) -> str:
    """What the history names a prompt by."""
    return hashlib.sha256(prompt.encode("utf-8", "replace")).hexdigest()[:16]


def message(
    current: str,
    parts: Sequence[Part],
    *,
    watermark: datetime = EPOCH,
    pinned: Sequence[str] = (),
    refused: Sequence[str] = (),
    kept: Sequence[str] = (),
    never: Sequence[str] = (),
) -> str:
    """The user message: the file or an empty mark, the sections, what to keep and to leave."""
    blocks: list[str] = []
    if current.strip():
        blocks.append(f"<current_file>\n{_safe(current.strip())}\n</current_file>")
    else:
        blocks.append('<current_file empty="true"></current_file>')
    if watermark > EPOCH:
        blocks.append(f"The file was last brought up to date at {watermark.isoformat()}.")
    logs = "\n\n".join(f"### {_name(part)}\n{_safe(part.text)}" for part in parts)
    blocks.append(f"<daily_logs>\n{logs}\n</daily_logs>")
    if pinned:
        lines = "\n".join(_safe(line) for line in pinned)
        blocks.append(f"<pinned_lines>\n{lines}\n</pinned_lines>")
    if kept:
        lines = "\n".join(_safe(line) for line in kept)
        blocks.append(f"<kept_lines>\n{lines}\n</kept_lines>")
    if refused:
        lines = "\n".join(_safe(line) for line in list(refused)[-MAX_REFUSED:])
        blocks.append(f"<refused_claims>\n{lines}\n</refused_claims>")
    if never:
        lines = "\n".join(_safe(topic) for topic in never)
        blocks.append(f"<never_remember>\n{lines}\n</never_remember>")
    return "\n\n".join(blocks)


def _name(part: Part) -> str:
    name = Path(part.source.path).name
    when = part.source.section.when
    return f"{name} ({when.isoformat(timespec='minutes')})" if when else name


def _safe(text: str) -> str:
    return _TAGS.sub(lambda m: f"&lt;{m.group(1)}{m.group(2)}", text)


def shown(source: WaitingSection) -> str:
    """A section as a model may see it; "" when nothing of it is source text."""
    return mask(source_text(section_text(source.section))).text


def parts_of(sections: Sequence[WaitingSection]) -> list[Part]:
    """The sections with something to show, in order."""
    return [Part(found, text) for found in sections if (text := shown(found))]


def take(parts: Sequence[Part], budget: int, count: Count) -> tuple[list[Part], list[Part]]:
    """The next batch of at most `budget` tokens, and what is left for later ones; in order.

    A part that fits no batch is cut, at its lines where that is possible. At least one part is
    taken, so a run comes to its end.
    """
    group: list[Part] = []
    used = 0
    for place, part in enumerate(parts):
        size = count(part.text) + HEADING
        if used + size <= budget:
            group.append(part)
            used += size
            continue
        if group:
            return group, list(parts[place:])
        head, rest = _cut(part, max(1, budget - HEADING), size)
        return [head], ([rest] if rest else []) + list(parts[place + 1 :])
    return group, []


def _cut(part: Part, room: int, size: int) -> tuple[Part, Part | None]:
    """The beginning of a part that is `size` tokens long, and the rest of it."""
    at = max(1, len(part.text) * room // (size + size // 4))
    line = part.text.rfind("\n", 0, at)
    at = line if line > at // 2 else at
    head, rest = part.text[:at], part.text[at:].lstrip("\n")
    if not rest:
        return part, None
    return Part(part.source, head, last=False), Part(part.source, rest)
