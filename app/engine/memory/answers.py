"""Is this answer of a model memory at all?

Pure judgement of one answer before anything of it may be stored. A model may decline, think aloud,
wrap its text, give JSON, be cut, or hand on a server's error page; none of that is memory. What can
be unwrapped by a stated rule is unwrapped and flagged; the rest is a problem with a sentence.
Invariant: `text` is never thinking, a sentinel, an error page or a fence around everything.
Specification, sections 9 (flush) and 10 (checks); used by flush, consolidation and compaction.

Rules for answers that are JSON where text is due (B10): objects of one key are followed down; a
text is taken as it is (and judged once more), a list of texts becomes a list of bullets. `null`,
`""` and an empty list are empty answers. Everything else is refused as `not_text`.
"""

from __future__ import annotations

import json
import re
from typing import Any, Literal, cast

from msgspec import Struct

from app.engine.context.non_answers import is_error_page, is_refusal, split_reasoning

Problem = Literal[
    "", "empty", "truncated", "refusal", "error_page", "reasoning_trace", "not_text",
]  # fmt: skip

SENTINEL = "NO_REPLY"

SENTENCES: dict[str, str] = {
    "empty": "The model gave an empty answer.",
    "truncated": "The model's answer was cut before its end.",
    "refusal": "The model declined the task.",
    "error_page": "The server answered with an error page instead of text.",
    "reasoning_trace": "The answer holds the model's thinking.",
    "not_text": "The model answered with data where text was due.",
}


class Judged(Struct, frozen=True):
    """What an answer is worth.

    `text` is what could be used (also shown when there is a problem); `problem` is "" or why it may
    not be stored, `detail` says it in a sentence. `nothing` is set when the model said that there
    is nothing to keep. `flags` names all that was noticed, also what was mended: the problems'
    names, `code_fence`, `json`, `sentinel`, `preface`.
    """

    text: str
    problem: Problem = ""
    detail: str = ""
    flags: frozenset[str] = frozenset()
    nothing: bool = False

    @property
    def usable(self) -> bool:
        """Whether `text` may be stored."""
        return not self.problem and not self.nothing


def judge(
    answer: str,
    finish: str | None = "stop",
    *,
    reasoning: str = "",
    sentinel: bool = True,
    strip_reasoning: bool = False,
) -> Judged:
    """Judge one answer. `finish` and `reasoning` are the endpoint's own fields.

    `sentinel`: lines saying only NO_REPLY are removed, and alone they mean that there is nothing.
    `strip_reasoning`: thinking in front of an answer is taken off instead of refused (summaries).
    An empty pair of thinking tags, which some templates always write, is never held against it.
    """
    flags: set[str] = set()
    text = answer.strip().lstrip("\ufeff").strip()
    text, thought = split_reasoning(text)
    if thought.strip():
        flags.add("reasoning_trace")
    text, fenced = unwrap_fence(text)
    flags |= fenced
    text, problem = _from_json(text, flags)
    if sentinel:
        text = _without_sentinel(text, flags)
    nothing = not problem and not text and "sentinel" in flags
    if not problem and is_error_page(text):
        problem = "error_page"
    if not problem and not text and not nothing:
        problem = "reasoning_trace" if "reasoning_trace" in flags else "empty"
    if not problem and finish not in ("stop", "tool_calls"):
        problem = "truncated"
    if not problem and is_refusal(text):
        problem = "refusal"
    if not problem and "reasoning_trace" in flags and not strip_reasoning:
        problem = "reasoning_trace"
    if problem:
        flags.add(problem)
    return Judged(
        text=text,
        problem=problem,
        detail=_detail(problem, finish, reasoning),
        flags=frozenset(flags),
        nothing=nothing and not problem,
    )


def _detail(problem: Problem, finish: str | None, reasoning: str) -> str:
    if problem == "empty" and reasoning.strip():
        return "The model spent its whole answer on thinking and said nothing."
    if problem == "truncated" and finish == "length":
        return "The model's answer was cut at its length limit."
    return SENTENCES.get(problem, "")


# ---------------------------------------------------------------------------- fences

_FENCE = re.compile(r"^[ \t]{0,3}(`{3,}|~{3,})[ \t]*([\w+-]*)[ \t]*$")
_WRAPPERS = frozenset({"", "markdown", "md", "text", "txt", "plaintext", "json"})


def unwrap_fence(text: str) -> tuple[str, frozenset[str]]:
    """Take one fence off that holds the whole answer; (text, flags).

    The closing fence may be missing. Up to three lines of talk before and after it are taken off
    too (flag `preface`). A fence that is only a part of the text stays.
    """
    lines = text.split("\n")
    start = next((i for i, line in enumerate(lines[:4]) if _FENCE.match(line)), None)
    if start is None or not _is_talk(lines[:start]):
        return text, frozenset()
    opening = _FENCE.match(lines[start])
    assert opening is not None
    if opening.group(2).lower() not in _WRAPPERS:
        return text, frozenset()
    end = _closing(lines, start, opening.group(1))
    if end is None:
        return text, frozenset()
    after = [line for line in lines[end + 1 :] if line.strip()]
    if len(after) > 3 or not _is_talk(after):
        return text, frozenset()
    flags = {"code_fence"}
    if after or any(line.strip() for line in lines[:start]):
        flags.add("preface")
    return "\n".join(lines[start + 1 : end]).strip(), frozenset(flags)


def _closing(lines: list[str], start: int, mark: str) -> int | None:
    """The line that closes the fence at `start`; past the end when it is missing.

    Inner fences with a language open and close their own. None: the fence is closed early and
    another one follows, so it does not hold the whole.
    """
    inner = False
    for i in range(start + 1, len(lines)):
        fence = _FENCE.match(lines[i])
        if fence is None or fence.group(1)[0] != mark[0]:
            continue
        if fence.group(2):
            inner = True
        elif inner:
            inner = False
        elif len(fence.group(1)) >= len(mark):
            return None if any(_FENCE.match(line) for line in lines[i + 1 :]) else i
    return len(lines)


def _is_talk(lines: list[str]) -> bool:
    """Whether these lines are chatter around an answer: no bullet, no heading, no quote."""
    return not any(re.match(r"\s*(?:[-*+>#]|\d+[.)]\s)", line) for line in lines)


# ---------------------------------------------------------------------------- JSON


def _from_json(text: str, flags: set[str]) -> tuple[str, Problem]:
    """Text that was wrapped in JSON, by the rule of the module's docstring."""
    for _ in range(2):
        if text[:1] not in '{["' and text != "null":
            return text, ""
        try:
            value: Any = json.loads(text)
        except ValueError:
            return text, ""  # not JSON after all: "[x] done", a quotation …
        flags.add("json")
        if _is_error_object(value):
            return text, "error_page"
        found = _only_text(value)
        if found is None:
            return text, "not_text"
        text = found.strip()
    return text, ""


def _only_text(value: Any) -> str | None:
    """The one text in a JSON value; "" for an empty one; None when there is no such thing."""
    while isinstance(value, dict):
        items = list(cast("dict[str, Any]", value).values())
        if len(items) != 1:
            return None
        value = items[0]
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        parts = cast("list[Any]", value)
        if not all(isinstance(part, str) for part in parts):
            return None
        return "\n".join(_bullet(part) for part in parts if part.strip())
    return None


def _bullet(text: str) -> str:
    flat = " ".join(text.split())
    return flat if re.match(r"[-*+]\s", flat) else f"- {flat}"


def _is_error_object(value: Any) -> bool:
    """An API's error as JSON: an `error` that says something, or a message with a code."""
    if not isinstance(value, dict):
        return False
    keys = cast("dict[str, Any]", value)
    if keys.get("error") or keys.get("errors") or keys.get("object") == "error":
        return True
    code = any(isinstance(keys.get(k), int) for k in ("code", "status", "status_code"))
    return code and any(isinstance(keys.get(k), str) for k in ("message", "detail", "msg"))


# ---------------------------------------------------------------------------- sentinel

_SENTINEL_LINE = re.compile(rf"^\s*(?:[-*+]\s+)?[*_`\"'(\[]*{SENTINEL}[*_`\"')\].!。]*\s*$")


def _without_sentinel(text: str, flags: set[str]) -> str:
    """The text without lines that are only the sentinel; a line about it stays (FLU-16)."""
    lines = text.split("\n")
    kept = [line for line in lines if not _SENTINEL_LINE.match(line)]
    if len(kept) == len(lines):
        return text
    flags.add("sentinel")
    return "\n".join(kept).strip()
