"""Request filters: an embedding program's last word on the messages of a request.

They run after everything else (specification, section 5: "… injection → request filters → send")
and see a copy: log and context stay as they are. A filter that fails stops the request, for what it
was to take out must not be sent.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from app.engine.context.eviction import merge_view
from app.engine.errors import UserError, interruption
from app.engine.records import Message
from app.engine.session.messages import tidy

RequestFilter = Callable[[Sequence[Message]], Sequence[Message] | Awaitable[Sequence[Message]]]
REMEDY = "Your message is kept. Mend the filter, or open the workspace without it, and send again."


class FilterFailed(UserError):
    """A request filter raised an error, or gave back something else than messages."""

    remedy = REMEDY


async def filtered(
    filters: Sequence[RequestFilter],
    messages: tuple[Message, ...],
    context: Sequence[Message],
    longest: int,
) -> tuple[Message, ...]:
    """What `filters` make of `messages`, one after the other; the same tuple without any.

    `context` is the session's own, which knows the results that were put aside; `longest` is how
    many characters a result may have. Raises `FilterFailed`.
    """
    if not filters:
        return messages
    view = messages
    for one in filters:
        view = await _through(one, view)
    return _paired(merge_view(view, context, longest))


async def _through(one: RequestFilter, view: tuple[Message, ...]) -> tuple[Message, ...]:
    name = getattr(one, "__name__", type(one).__name__)
    try:
        made = one(view)
        found = tuple(await made if inspect.isawaitable(made) else made)
    except Exception as error:
        if interruption(error) is not None or isinstance(error, UserError):
            raise
        why = _said(error) or type(error).__name__
        raise FilterFailed(f"The request filter {name} failed: {why}") from error
    known = set(map(id, view))
    try:
        return tuple(one if id(one) in known else _checked(one) for one in found)
    except msgspec.ValidationError as error:
        words = f"The request filter {name} gave back something else than messages: {error}"
        raise FilterFailed(words) from error


def _said(error: Exception) -> str:
    """An error's own words; none when it cannot say them, for it is a program's like the filter."""
    try:
        return str(error)
    except Exception:
        return ""


def _checked(made: object) -> Message:
    """A message that a filter made; a program may put anything into its fields."""
    if not isinstance(made, Message):
        raise msgspec.ValidationError(f"Got `{type(made).__name__}`")
    return tidy(msgspec.convert(msgspec.to_builtins(made), Message))


def _paired(view: Sequence[Message]) -> tuple[Message, ...]:
    """Without calls whose result a filter took out, and results whose call it took out: a
    provider refuses one without the other."""
    answered = {message.call_id for message in view if message.role == "tool"}
    asked = {call.id for message in view for call in message.calls}
    out: list[Message] = []
    for message in view:
        calls = tuple(call for call in message.calls if call.id in answered)
        if message.role == "tool" and message.call_id not in asked:
            continue
        if len(calls) != len(message.calls):
            if not (calls or message.content.strip()):
                continue
            message = msgspec.structs.replace(message, calls=calls)
        out.append(message)
    return tuple(out)
