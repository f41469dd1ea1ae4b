"""Summaries: what is asked, what counts as an answer, and the message that carries it.

Two prompt profiles (specification, section 7): `four_part` puts the history as text into one user
message; `working_state` sends the messages as they are, followed by an instruction. Invariant: text
of a conversation can never end the tag that holds it.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence

from msgspec import Struct, structs

from app.engine.context.non_answers import is_error_page, is_refusal, split_reasoning
from app.engine.records import Message
from app.engine.session.fold import SUMMARY_NAME
from app.engine.session.outgoing import outgoing
from app.resources import read_resource

RENDERED_CHARS = 500  # of a call's arguments, and of a result
_IDS = uuid.UUID("6f1c1a52-7d0e-5b0c-9d58-0a7f6f3f9c11")
_SPEAKER = {"user": "Human", "assistant": "AI", "tool": "Tool", "system": "System"}
_LEAD_IN = "The earlier part of this conversation was compacted; this summary stands in its place."
_CONTINUES = "This conversation goes on from an earlier session whose window was full."
_CARRY_ON = (
    "Carry on from there without asking what to do again and without remarking on this account."
)
_BLOCKS = ("context_summary", "pending_request")
_ANSWER_PENDING = "The person's newest message, which is still to be answered:"


class SummaryRequest(Struct, frozen=True):
    """What a summary model is asked. No tools are ever offered with it.

    `max_output` is the room in tokens that was kept free for the answer.
    """

    messages: tuple[Message, ...]
    system: str = ""
    max_output: int | None = None


class SummaryAnswer(Struct, frozen=True):
    """What it answered. `finish` is the finish reason as it came; "" when there was none."""

    text: str
    finish: str = "stop"


def is_summary(message: Message) -> bool:
    """Whether a message carries an earlier summary, by its origin or its name."""
    return message.origin in ("summary", "continuation") or message.name == SUMMARY_NAME


def for_flush(prefix: Sequence[Message]) -> tuple[Message, ...]:
    """What the flush step gets: no system messages, summaries, session context or recalled text."""
    return tuple(
        message
        for message in prefix
        if message.role != "system"
        and not is_summary(message)
        and message.origin not in ("recall", "session_context")
    )


# ---------------------------------------------------------------------------- the request


def request(
    profile: str, prefix: Sequence[Message], *, prompt: str | None = None, system: str = ""
) -> SummaryRequest:
    """The request for a prefix. A custom `prompt` holds `{messages}` and is always one message."""
    if profile == "working_state" and prompt is None:
        asked = Message(
            id="summarise", role="user", content=read_resource("prompts/summary_working_state.md")
        )
        plain = [_without_reasoning(m) for m in outgoing(prefix) if m.role != "system"]
        return SummaryRequest(messages=(*plain, asked), system=system)
    text = prompt if prompt is not None else read_resource("prompts/summary_four_part.md")
    filled = text.replace("{messages}", render(prefix))
    return SummaryRequest(messages=(Message(id="summarise", role="user", content=filled),))


def render(messages: Sequence[Message]) -> str:
    """Messages as lines of text: Human, AI and Tool, arguments and results cut at 500."""
    return "\n".join(line for message in messages for line in _rendered(message))


def _rendered(message: Message) -> list[str]:
    if is_summary(message):
        return [f"Earlier summary: {escape(summary_text(message), 'messages')}"]
    speaker = _SPEAKER[message.role]
    content = escape(message.content, "messages")
    if message.role == "tool":
        of = f" ({message.name})" if message.name else ""
        return [f"{speaker}{of}: {cut(content, RENDERED_CHARS)}"]
    lines: list[str] = []
    if content.strip():
        lines.append(f"{speaker}: {content}")
    lines += [f"{speaker}: [image]"] * len(message.images)
    lines += [
        f"{speaker} calls {call.name}: {cut(escape(call.arguments, 'messages'), RENDERED_CHARS)}"
        for call in message.calls
    ]
    return lines


def _without_reasoning(message: Message) -> Message:
    return structs.replace(message, reasoning="") if message.reasoning else message


# ---------------------------------------------------------------------------- the message


def summary_message(text: str, *, log_path: str = "") -> Message:
    """The message of profile `four_part`. The same text gives the same id (CMP-26)."""
    where = f" The whole of it is in {log_path}." if log_path else ""
    content = f"{_LEAD_IN}{where}\n\n<summary>\n{escape(text, 'summary')}\n</summary>"
    return Message(
        id=summary_id(content), role="user", content=content, name=SUMMARY_NAME, origin="summary"
    )


def continuation_message(
    text: str, *, pending: Message | None = None, log_path: str = ""
) -> Message:
    """The message of profile `working_state`; a pending user message is taken into it."""
    where = f" The whole of it is in {log_path}." if log_path else ""
    content = (
        f"{_CONTINUES}{where} What happened so far:\n\n"
        f"<context_summary>\n{escape(text, *_BLOCKS)}\n</context_summary>\n\n{_CARRY_ON}"
    )
    if pending is not None:
        inner = escape(pending.content, *_BLOCKS)
        content += f"\n\n{_ANSWER_PENDING}\n\n<pending_request>\n{inner}\n</pending_request>"
    return Message(
        id=summary_id(content),
        role="user",
        content=content,
        images=pending.images if pending is not None else (),
        origin="continuation",
    )


def summary_id(content: str) -> str:
    """An id made of the content alone."""
    return f"{SUMMARY_NAME}:{uuid.uuid5(_IDS, content)}"


def summary_text(message: Message) -> str:
    """The summary inside a synthetic message, with what was still to be answered; else all."""
    parts = [
        unescape(found.group(2), found.group(1), *_BLOCKS)
        for found in re.finditer(
            r"<(summary|context_summary|pending_request)>\n(.*?)\n</\1>", message.content, re.DOTALL
        )
    ]
    return "\n\n".join(parts) if parts else message.content


# ---------------------------------------------------------------------------- text


def escape(text: str, *tags: str) -> str:
    """Opening and closing forms of these tags made harmless, everything else untouched."""
    names = "|".join(re.escape(tag) for tag in tags)
    return re.sub(rf"<(?=/?\s*(?:{names})\b)", "&lt;", text, flags=re.IGNORECASE)


def unescape(text: str, *tags: str) -> str:
    names = "|".join(re.escape(tag) for tag in tags)
    return re.sub(rf"&lt;(?=/?\s*(?:{names})\b)", "<", text, flags=re.IGNORECASE)


def cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}…"


# ---------------------------------------------------------------------------- the answer

_REPORT = re.compile(
    r"(?:error generating summary|an error (?:has )?occurred|"
    r"[{\[]\s*\"(?:error|detail|errors|status)\"\s*:)",
    re.IGNORECASE,
)
_SHORT = 800  # a real summary may begin with an apology; a refusal is short and has no heading


def said(answer: SummaryAnswer) -> str:
    """The answer without what was only thought."""
    return split_reasoning(answer.text)[0]


def problem_with(answer: SummaryAnswer) -> str:
    """Why an answer is no summary, in a sentence; "" when it is one."""
    text = said(answer)
    if not text:
        return "The model gave an empty answer."
    if answer.finish in ("length", "max_tokens"):
        return "The answer was cut at the output limit."
    if answer.finish in ("", "content_filter", "error", "tool_calls"):
        return "The answer did not come to its end."
    if is_error_page(text) or _REPORT.match(text):
        return "The answer is an error report."
    if is_refusal(text) and len(text) < _SHORT and "## " not in text:
        return "The model declined."
    return ""
