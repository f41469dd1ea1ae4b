"""What went wrong between us and a model server.

A failure is brought into one form (`Fault`: status, code, type, param, message) and classified by
the table of the specification (model-servers, section 3): rules in order, the first that fits
decides. All of it is pure. Numbers in the answer are kept: they teach the window and calibrate the
token estimate. No error code alone is trusted, because servers agree on none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, cast

from msgspec import Struct

from app.engine.llm.figures import SMALLEST, numbers, seconds, tokens_or_none, wait_named


class Kind(Enum):
    RATE_LIMIT = "rate_limit"
    BAD_REQUEST = "bad_request"
    OUTPUT_TOO_LARGE = "output_too_large"
    OVERFLOW = "overflow"
    TOOLS_REFUSED = "tools_refused"
    SERVER = "server"
    CONNECTION = "connection"
    AUTH = "auth"
    NOT_FOUND = "not_found"
    OTHER = "other"


class Fault(Struct, frozen=True):
    """A failure in one form. `status` None: an error inside a stream, or no answer at all."""

    status: int | None = None
    code: str = ""
    type: str = ""
    param: str = ""
    message: str = ""
    requested: int | None = None
    window: int | None = None
    retry_after: float | None = None
    connection: bool = False


class Verdict(Struct, frozen=True):
    """A classified failure. `requested` and `window` in tokens, `wait` in seconds."""

    kind: Kind
    fault: Fault
    requested: int | None = None
    window: int | None = None
    wait: float | None = None


# ---------------------------------------------------------------------------- normalising


def from_body(body: object, status: int | None = None) -> Fault:
    """A fault from an error body in any of the known shapes: nested, flat, or plain text."""
    if isinstance(body, str):
        return Fault(status=status, message=body)
    if not isinstance(body, Mapping):
        return Fault(status=status)
    fields = cast("Mapping[str, Any]", body)
    inner = fields.get("error")
    if isinstance(inner, Mapping):
        fields = {**fields, **cast("Mapping[str, Any]", inner)}
    elif isinstance(inner, str):
        fields = {"message": inner, **fields} if not fields.get("message") else fields
        if inner not in str(fields["message"]):
            fields = {**fields, "message": f"{inner}: {fields['message']}"}
    code = _text(fields.get("code"))
    if status is None or status == 200:
        # Some servers answer 200 and put the real status into the body.
        status = int(code) if re.fullmatch(r"[45]\d\d", code) else None
    return Fault(
        status=status,
        code=code,
        type=_text(fields.get("type")),
        param=_text(fields.get("param")),
        message=_text(fields.get("message")) or _text(fields.get("detail")),
        requested=tokens_or_none(fields.get("n_prompt_tokens")),
        window=tokens_or_none(fields.get("n_ctx")),
    )


def from_exception(error: BaseException) -> Fault:
    """A fault from one exception of the client, known by its attributes alone (no import)."""
    if isinstance(error, json.JSONDecodeError):
        return Fault(message="a line of its answer is not understood")
    body: object = getattr(error, "body", None)
    status = getattr(error, "status_code", None)
    fault = from_body(body, status if isinstance(status, int) else None)
    if not fault.message:
        fault = _with(fault, message=str(error))
    response = getattr(error, "response", None)
    headers = getattr(response, "headers", None)
    if headers is not None:
        fault = _with(fault, retry_after=seconds(headers.get("retry-after")))
    if type(error).__name__ in _CONNECTION_NAMES or isinstance(error, ConnectionError):
        fault = _with(fault, connection=True)
    return fault


_CONNECTION_NAMES = frozenset(
    {
        "APIConnectionError", "APITimeoutError", "ConnectError", "ConnectTimeout", "ReadError",
        "ReadTimeout", "WriteError", "RemoteProtocolError", "PoolTimeout",
    }
)  # fmt: skip


def _with(fault: Fault, **changes: Any) -> Fault:
    import msgspec

    return msgspec.structs.replace(fault, **changes)


def _text(value: object) -> str:
    return "" if value is None else str(value)


# ---------------------------------------------------------------------------- classifying

_RATE = ("per minute", "please wait", "try again in", "before trying again")
_TEXT = (
    "context length", "context_length_exceeded", "context size", "context window",
    "context limit", "maximum context", "does not fit", "n_ctx", "too many tokens", "token limit",
    "input length", "exceeds the model's maximum", "reduce the length", "prompt is too long",
    "超长",
)  # fmt: skip
_TEXT_PATTERNS = (re.compile(r"exceeds .*context"), re.compile(r"keep the first .*tokens"))
_MIN_OUTPUT = "max_tokens must be at least 1"
_MIN_OUTPUT_GOT = re.compile(r"max_tokens must be at least 1,? got -\d+")
_OUTPUT_PARAMS = ("max_tokens", "max_completion_tokens")
_OUTPUT_LARGE = re.compile(r"max_(?:completion_)?tokens\b.*too large")
_TOOLS_REFUSED = (
    re.compile(r"enable-auto-tool-choice|auto.{0,20}tool choice"),
    re.compile(r"does not support tools|tools? (?:are|is) not supported|tools with stream"),
    re.compile(r"tools? param requires|requires --jinja"),
)
_OVERFLOW_STATUS = (400, 413, 500, None)


def classify(fault: Fault, patterns: Sequence[str] = ()) -> Verdict:
    """The class of a fault. `patterns`: a model's own overflow wordings (regular expressions)."""
    kind = _kind(fault, patterns)
    requested, window = fault.requested, fault.window
    if kind in (Kind.OVERFLOW, Kind.OUTPUT_TOO_LARGE):
        said_requested, said_window = numbers(fault.message)
        requested, window = requested or said_requested, window or said_window
        window = window if window and window >= SMALLEST else None
    wait = None
    if kind is Kind.RATE_LIMIT:
        wait = fault.retry_after if fault.retry_after is not None else wait_named(fault.message)
    return Verdict(kind, fault, requested, window, wait)


def _kind(fault: Fault, patterns: Sequence[str]) -> Kind:
    message = fault.message.lower()
    if any(words in message for words in _RATE):
        return Kind.RATE_LIMIT
    if _MIN_OUTPUT in message:
        return Kind.OVERFLOW if _MIN_OUTPUT_GOT.search(message) else Kind.BAD_REQUEST
    if fault.code != "unsupported_parameter" and (
        fault.param in _OUTPUT_PARAMS or _OUTPUT_LARGE.search(message)
    ):
        return Kind.OUTPUT_TOO_LARGE
    if (
        fault.code == "context_length_exceeded"
        or fault.type in ("exceed_context_size_error", "context_exceeded")
        or fault.param in ("input_tokens", "input_text")
    ):
        return Kind.OVERFLOW
    if any(p.search(message) for p in _TOOLS_REFUSED):
        return Kind.TOOLS_REFUSED
    if (
        fault.status in _OVERFLOW_STATUS
        and not fault.connection
        and _says_overflow(message, patterns)
    ):
        return Kind.OVERFLOW
    return _by_status(fault)


def _says_overflow(message: str, patterns: Sequence[str]) -> bool:
    return (
        any(words in message for words in _TEXT)
        or any(p.search(message) for p in _TEXT_PATTERNS)
        or any(re.search(p, message, re.IGNORECASE) for p in patterns)
    )


def _by_status(fault: Fault) -> Kind:
    status = fault.status
    if fault.connection:
        return Kind.CONNECTION
    if status is None:
        return Kind.OTHER
    if status == 429:
        return Kind.RATE_LIMIT
    if status >= 500:
        return Kind.SERVER
    by_status = {401: Kind.AUTH, 403: Kind.AUTH, 404: Kind.NOT_FOUND}
    return by_status.get(status, Kind.OTHER)


def classify_exception(error: BaseException, patterns: Sequence[str] = ()) -> Verdict:
    """The class of an exception: the first in its cause chain that says more than "other"."""
    first: Verdict | None = None
    for one in chain(error):
        verdict = classify(from_exception(one), patterns)
        first = first or verdict
        if verdict.kind is not Kind.OTHER:
            return verdict
    assert first is not None
    return first


def chain(error: BaseException) -> Iterator[BaseException]:
    """An exception and what caused it, outermost first; a cycle ends it."""
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        yield one
        one = one.__cause__ or one.__context__
