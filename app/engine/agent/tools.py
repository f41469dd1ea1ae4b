"""Tools a model may call: what they are, and running one so that nothing escapes.

Whatever a tool does, the model gets one result for its call: its output, or an error in words.
Tools that write ask first; who answers is not the toolbox's business.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, cast

from msgspec import Struct

from app.engine.errors import Interrupted, UserError
from app.engine.llm.endpoint import ToolSpec
from app.engine.records import ToolCall

log = logging.getLogger(__name__)

Approve = Callable[[ToolCall], Awaitable[bool]]


class Tool(Struct, frozen=True):
    """One tool. `run` takes the call's arguments and returns plain text; `asks` before it runs."""

    spec: ToolSpec
    run: Callable[[dict[str, Any]], Awaitable[str]]
    asks: bool = False

    @property
    def name(self) -> str:
        return self.spec.name


class ToolOutcome(Struct, frozen=True):
    """What goes back to the model, and how long it took in seconds."""

    output: str
    is_error: bool
    seconds: float


class ToolFailed(UserError):
    """A tool could not do what was asked; the text goes to the model as an error result."""


def tool(
    name: str,
    description: str,
    run: Callable[[dict[str, Any]], Awaitable[str]],
    *,
    asks: bool = False,
    required: tuple[str, ...] = (),
    **parameters: tuple[str, str],
) -> Tool:
    """A tool from its parameters: `name=("type", "what it is")`."""
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {
            key: {"type": kind, "description": what} for key, (kind, what) in parameters.items()
        },
        "required": list(required),
        "additionalProperties": False,
    }
    return Tool(ToolSpec(name, description, schema), run, asks)


def arguments_of(call: ToolCall) -> dict[str, Any]:
    """The arguments as a mapping. Raises `ToolFailed` for anything else."""
    try:
        value: object = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError) as error:
        raise ToolFailed(f"The arguments of {call.name} are not valid JSON.") from error
    if not isinstance(value, dict):
        raise ToolFailed(f"The arguments of {call.name} must be an object.")
    return cast("dict[str, Any]", value)


def text_argument(arguments: dict[str, Any], name: str) -> str:
    """A text argument; "" when it is missing or of another type."""
    value = arguments.get(name)
    return value if isinstance(value, str) else ""


def number_argument(arguments: dict[str, Any], name: str, default: int) -> int:
    """A whole number, also when it came as text; `default` when it is missing or unusable."""
    value = arguments.get(name)
    if isinstance(value, bool) or value is None:
        return default
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return default


class Toolbox:
    """The tools of one agent, by name."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools = {one.name: one for one in tools}

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(one.spec for one in self._tools.values())

    async def run(self, call: ToolCall, approve: Approve | None = None) -> ToolOutcome:
        """Run one call. Never raises, except for cancellation and `Interrupted`."""
        began = time.monotonic()

        def outcome(output: str, is_error: bool) -> ToolOutcome:
            return ToolOutcome(output, is_error, time.monotonic() - began)

        one = self._tools.get(call.name)
        if one is None:
            known = ", ".join(self._tools) or "none"
            return outcome(f"There is no tool named {call.name}. Tools: {known}.", True)
        try:
            arguments = arguments_of(call)
            if one.asks and not (approve and await approve(call)):
                return outcome(f"The person did not allow {call.name}.", True)
            began = time.monotonic()
            return outcome(await one.run(arguments), False)
        except Interrupted:
            raise
        except UserError as error:
            return outcome(f"{error} {error.remedy}".strip(), True)
        except Exception as error:
            log.exception("tool %s failed", call.name)
            return outcome(f"{call.name} failed: {type(error).__name__}: {error}", True)
