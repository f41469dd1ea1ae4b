"""What would be sent next, part by part: the inspector's and `palimpsest context`'s view.

Pure. Invariant: the parts are the very texts of the request, in its order.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from app.engine.context.injection import Injected
from app.engine.context.summaries import is_summary
from app.engine.context.tokens import Counter
from app.engine.context.window import Thresholds
from app.engine.records import ContextPart, ContextView, Message, Window


def describe(
    injected: Injected,
    context: Sequence[Message],
    counter: Counter,
    *,
    window: Window,
    thresholds: Thresholds,
    tools: Sequence[object] = (),
    draft: str = "",
    flushes: bool = False,
) -> ContextView:
    """The request as ordered parts. `tools` are the schemas; `draft` is the next user message."""
    parts = [*injected.parts, *(_part(message, counter) for message in context)]
    if tools:
        text = "\n".join(msgspec.json.encode(tool).decode() for tool in tools)
        parts.append(
            ContextPart("tools", "system", text, counter.schemas(tools), f"{len(tools)} tools")
        )
    if draft.strip():
        typed = Message(id="draft", role="user", content=draft)
        parts.append(ContextPart("user", "user", draft, counter.uncached(typed)))
    return ContextView(
        parts=tuple(parts),
        total=sum(part.tokens for part in parts),
        window=window,
        thresholds=thresholds.plain(flush=flushes),
        estimated=counter.estimated,
        truncated_lines=injected.truncated_lines,
    )


def _part(message: Message, counter: Counter) -> ContextPart:
    text = message.content
    if message.calls:
        calls = "\n".join(f"{call.name}({call.arguments})" for call in message.calls)
        text = f"{text}\n{calls}" if text else calls
    note = message.name if message.role == "tool" else message.origin
    if message.evicted:
        note = f"{note}, put aside" if note else "put aside"
    kind = "summary" if is_summary(message) else "history"
    return ContextPart(kind, message.role, text, counter.message(message), note)
