"""A request in the words of the OpenAI protocol. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.engine.llm.endpoint import Request, wire
from app.engine.llm.failures import Verdict


def request_body(
    model: str,
    request: Request,
    *,
    stream: bool,
    tools: bool,
    max_output: int | None,
    temperature: float | None,
    output_field: str,
    extra_body: Mapping[str, Any],
) -> dict[str, Any]:
    """Arguments for the client's `create`. What is None or empty is left to the server."""
    body: dict[str, Any] = {
        "model": model,
        "messages": wire(request.messages, request.system),
        "stream": stream,
    }
    if stream:
        body["stream_options"] = {"include_usage": True}
    if tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": one.name,
                    "description": one.description,
                    "parameters": one.parameters,
                },
            }
            for one in request.tools
        ]
    if max_output:
        body[output_field] = max_output
    if temperature is not None:
        body["temperature"] = temperature
    if request.response_format is not None:
        body["response_format"] = request.response_format
    if extra_body:
        body["extra_body"] = dict(extra_body)
    return body


def less_output(asked: int, verdict: Verdict) -> int:
    """How much output to ask for after a refusal: what is left of the window, else half."""
    if verdict.window and verdict.requested and 0 < verdict.window - verdict.requested < asked:
        return verdict.window - verdict.requested
    if verdict.window and verdict.window < asked:
        return verdict.window
    return max(1, asked // 2)
