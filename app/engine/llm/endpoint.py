"""The protocol a model is spoken to through, and the values that travel on it.

An endpoint turns a `Request` into a stream of deltas that ends with exactly one `Answer`. Errors
are raised as `ModelError` kinds (`app.engine.errors`), never as a client library's own. An answer
without a finish reason is never returned: it is raised as `IncompleteAnswer`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from app.engine.records import Message, ToolCall, Usage, Window


class ToolSpec(Struct, frozen=True):
    """A tool as it is offered to a model. `parameters` is a JSON schema of an object."""

    name: str
    description: str
    parameters: dict[str, Any]


class Request(Struct, frozen=True):
    """One request. `system` is sent first when it is not blank; reasoning is never sent."""

    messages: tuple[Message, ...]
    system: str = ""
    tools: tuple[ToolSpec, ...] = ()
    max_output: int | None = None
    temperature: float | None = None
    response_format: dict[str, Any] | None = None


class TextDelta(Struct, frozen=True):
    text: str


class ReasoningDelta(Struct, frozen=True):
    text: str


class WaitingDelta(Struct, frozen=True):
    """Nothing to show yet: what the server is busy with, in words, with a share if known (0-1)."""

    what: str
    share: float | None = None


class Answer(Struct, frozen=True):
    """The whole answer. `finish`: stop, tool_calls or length. `usage` is None when unknown.

    `truncated` says in a sentence why the server is suspected to have cut the prompt.
    """

    text: str
    reasoning: str = ""
    calls: tuple[ToolCall, ...] = ()
    finish: str = "stop"
    usage: Usage | None = None
    model: str = ""
    truncated: str = ""


Delta = TextDelta | ReasoningDelta | WaitingDelta | Answer


class Endpoint(Protocol):
    """A model behind a server. `host` is "" for the built-in one."""

    @property
    def name(self) -> str:
        """The model's name, as shown."""
        ...

    @property
    def host(self) -> str: ...
    @property
    def fit_for_memory(self) -> bool: ...
    @property
    def supports_tools(self) -> bool: ...

    def stream(self, request: Request) -> AsyncIterator[Delta]:
        """Deltas, the last of which is an `Answer`. Closing the iterator closes the connection."""
        ...

    async def window(self) -> Window:
        """The window as it is really loaded, with the source of the number. Never raises."""
        ...

    async def close(self) -> None: ...


async def complete(endpoint: Endpoint, request: Request) -> Answer:
    """The answer alone, for jobs that show nothing while they wait."""
    answer: Answer | None = None
    async for delta in endpoint.stream(request):
        if isinstance(delta, Answer):
            answer = delta
    assert answer is not None, "an endpoint's stream ends with an answer"
    return answer


def user(text: str, id: str = "u") -> Message:
    """A user message, for prompts that are built by code."""
    return Message(id=id, role="user", content=text)


def _sendable(arguments: str) -> str:
    """Malformed arguments are never sent back: templates of several servers fail on them."""
    try:
        good = isinstance(msgspec.json.decode(arguments), dict)
    except (msgspec.DecodeError, RecursionError):
        good = False
    return arguments if good else "{}"


def wire(messages: Sequence[Message], system: str = "") -> list[dict[str, Any]]:
    """Messages in the form of the OpenAI protocol. No reasoning, no empty text blocks."""
    out: list[dict[str, Any]] = []
    if system.strip():
        out.append({"role": "system", "content": system})
    for m in messages:
        if m.role == "tool":
            out.append(
                {"role": "tool", "tool_call_id": m.call_id, "content": m.content or "(no output)"}
            )
            continue
        one: dict[str, Any] = {"role": m.role, "content": m.content}
        if m.calls:
            one["tool_calls"] = [
                {
                    "id": c.id,
                    "type": "function",
                    "function": {"name": c.name, "arguments": _sendable(c.arguments)},
                }
                for c in m.calls
            ]
            if not m.content:
                one["content"] = None
        elif not m.content.strip() and not m.images:
            continue
        if m.images:
            blocks: list[dict[str, Any]] = (
                [{"type": "text", "text": m.content}] if m.content else []
            )
            blocks += [{"type": "image_url", "image_url": {"url": url}} for url in m.images]
            one["content"] = blocks
        out.append(one)
    return out
