"""Failures of a model server, said to a person: one sentence and a remedy."""

from __future__ import annotations

from typing import Any

from app.engine.errors import (
    ContextOverflow,
    ModelError,
    ModelUnavailable,
    OutputTooLarge,
    RateLimited,
)
from app.engine.llm.failures import Kind, Verdict


def to_error(verdict: Verdict, where: str, model: str) -> ModelError:
    """The error a person sees. `where`: the server in words, e.g. "the server at localhost:8080".

    The message of the server is quoted as data, cut at 300 characters.
    """
    said = _quoted(verdict.fault.message)
    keep: dict[str, Any] = {
        "requested": verdict.requested,
        "window": verdict.window,
        "raw": verdict.fault.message,
    }
    match verdict.kind:
        case Kind.OVERFLOW:
            size = f" of {verdict.requested:,} tokens" if verdict.requested else ""
            limit = f" ({verdict.window:,} tokens)" if verdict.window else ""
            return ContextOverflow(
                f"The request{size} does not fit {model}'s window{limit}.", **keep
            )
        case Kind.OUTPUT_TOO_LARGE:
            return OutputTooLarge(f"More output was asked for than {where} gives{said}.", **keep)
        case Kind.RATE_LIMIT:
            return RateLimited(f"{_upper(where)} asks for a pause{said}.", **keep)
        case Kind.AUTH:
            return ModelUnavailable(
                f"{_upper(where)} does not accept the key{said}.",
                "Enter a key for this server in Settings.",
                **keep,
            )
        case Kind.NOT_FOUND:
            return ModelUnavailable(
                f"{_upper(where)} has no model named {model!r}, or no such address{said}.",
                "Check the model's name, and that the address ends with /v1.",
                **keep,
            )
        case Kind.CONNECTION:
            return ModelUnavailable(
                f"{_upper(where)} does not answer.",
                "Start the server, or check its address in Settings.",
                **keep,
            )
        case Kind.SERVER:
            return ModelUnavailable(
                f"{_upper(where)} failed{said}.", "Send again, or look at the server's log.", **keep
            )
        case Kind.TOOLS_REFUSED:
            return ModelUnavailable(
                f"{_upper(where)} does not take tools for {model}{said}.",
                "Switch tool calls on when the server starts, or choose another model.",
                **keep,
            )
        case _:
            return ModelUnavailable(
                f"{_upper(where)} refused the request{said}.",
                "Check the model's name and its settings.",
                **keep,
            )


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _quoted(message: str) -> str:
    text = " ".join(message.split())
    if not text:
        return ""
    return f": “{text[:300]}{'…' if len(text) > 300 else ''}”"
