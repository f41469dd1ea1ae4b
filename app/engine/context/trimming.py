"""Pre-passes that need no model: long arguments of old calls, and long old results, are cut.

Both are pure and idempotent; they return the messages that changed and leave all others the same
objects, an unchanged context the same sequence. The log keeps the originals. Specification,
section 7, step 1.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

from msgspec import Struct, structs

from app.engine.config import PruneConfig, TruncateArgsConfig
from app.engine.context.summariser import both_ends
from app.engine.context.tokens import Counter
from app.engine.context.units import Keep, choose_cut
from app.engine.records import Message, ToolCall

ARGUMENT_HEAD = 20
PRUNED_NOTE = "\n[… {left} characters of this old result left out …]\n"


class Cut(Struct, frozen=True):
    """One text that was shortened, as an `args_truncation` or `prune` entry records it.

    `target` is a message's id and `text` its new content, or `<message id>:use:<call id>` and the
    new JSON of that call's arguments.
    """

    target: str
    text: str


class Trimmed(Struct, frozen=True):
    """A context after a pre-pass: the very object that came in when nothing changed."""

    context: Sequence[Message]
    cuts: tuple[Cut, ...] = ()


# ---------------------------------------------------------------------------- arguments


def truncate_args(
    context: Sequence[Message], config: TruncateArgsConfig | None, counter: Counter
) -> Trimmed:
    """Shorten long top-level string arguments of assistant messages before the keep window."""
    if config is None or not _met(context, config, counter):
        return Trimmed(context)
    body = [message for message in context if message.role != "system"]
    keep = Keep(messages=config.keep_messages, tokens=config.keep_tokens)
    border = _window_start(body, keep, counter)
    old = {id(message) for message in body[:border] if message.calls}
    cuts: list[Cut] = []
    out: list[Message] = []
    for message in context:
        calls = tuple(_shorter_call(call, config) for call in message.calls)
        if id(message) not in old or calls == message.calls:
            out.append(message)
            continue
        out.append(structs.replace(message, calls=calls))
        cuts += [
            Cut(f"{message.id}:use:{new.id}", new.arguments)
            for was, new in zip(message.calls, calls, strict=True)
            if was != new
        ]
    return Trimmed(out, tuple(cuts)) if cuts else Trimmed(context)


def _met(context: Sequence[Message], config: TruncateArgsConfig, counter: Counter) -> bool:
    count = sum(1 for message in context if message.role != "system")
    if 0 < config.trigger_messages <= count:
        return True
    return 0 < config.trigger_tokens <= counter.messages(context)


def _window_start(body: Sequence[Message], keep: Keep, counter: Counter) -> int:
    if keep.tokens > 0:
        return choose_cut(body, keep, counter.message)
    return max(0, len(body) - keep.messages)


def _shorter_call(call: ToolCall, config: TruncateArgsConfig) -> ToolCall:
    if len(call.arguments) <= config.max_arg_length:
        return call
    try:
        found: Any = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return call  # not an object we understand: it stays
    if not isinstance(found, dict):
        return call
    values = cast("dict[str, Any]", found)
    shorter = {name: _shorter(value, config) for name, value in values.items()}
    if shorter == values:
        return call
    return structs.replace(call, arguments=json.dumps(shorter, ensure_ascii=False))


def _shorter(value: Any, config: TruncateArgsConfig) -> Any:
    if not isinstance(value, str) or len(value) <= config.max_arg_length:
        return value
    shorter = value[:ARGUMENT_HEAD] + config.truncation_text
    return shorter if len(shorter) < len(value) else value


# ---------------------------------------------------------------------------- results


def prune(context: Sequence[Message], config: PruneConfig | None, counter: Counter) -> Trimmed:
    """Reduce long old results to both ends, when that frees `minimum_tokens`.

    From the newest on, results are protected until `protect_tokens` are reached.
    """
    if config is None:
        return Trimmed(context)
    protected, freed = 0, 0
    new: dict[int, Message] = {}
    for at in range(len(context) - 1, -1, -1):
        message = context[at]
        if not _prunable(message, config):
            continue
        tokens = counter.message(message)
        if protected < config.protect_tokens:
            protected += tokens
            continue
        if len(message.content) > config.max_output_chars:
            freed += tokens
            # The note is within the limit, so that a pruned result is no candidate again.
            room = max(0, config.max_output_chars - len(PRUNED_NOTE) - 8)
            text = both_ends(message.content, room, PRUNED_NOTE)
            new[at] = structs.replace(message, content=text)
    if freed < config.minimum_tokens or not new:
        return Trimmed(context)
    out = [new.get(at, message) for at, message in enumerate(context)]
    return Trimmed(out, tuple(Cut(new[at].id, new[at].content) for at in sorted(new)))


def _prunable(message: Message, config: PruneConfig) -> bool:
    return (
        message.role == "tool"
        and message.name not in config.excluded_tools
        and bool(message.content.strip())
        and not message.evicted
    )


# ---------------------------------------------------------------------------- results, by tokens


def cut_to_tokens(text: str, limit: int, suffix: str, counter: Counter) -> str:
    """Motus's `max_tool_result_tokens`: the longest head that fits with the note behind it.

    The head alone when the note leaves no room for one; the text itself when it fits, or when
    `limit` is 0 or less.
    """
    count = counter.text
    if limit <= 0 or not text or count(text) <= limit:
        return text
    suffix = suffix if count(suffix) < limit else ""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if count(text[:middle] + suffix) <= limit:
            low = middle
        else:
            high = middle - 1
    return text[:low] + suffix
